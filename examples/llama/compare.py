#!/usr/bin/env python3
"""Runs a model in llama.cpp with and without libggml-attnc.so, compares the results, and measures both.

    compare.py MODEL.gguf LIBRARY.so

Needs llama-cpp-python of PyPI. Each side runs in its own process; with several rounds, they take turns."""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np


def work(options):
    """Runs the model in this process. Prints a line of JSON, with the logits in a file."""
    os.environ.pop('GGML_BACKEND_PATH', None)
    import llama_cpp
    if options.work != 'none':
        os.environ['GGML_BACKEND_PATH'] = options.work
        # A wheel has copies in place of links. libllama uses this one.
        ggml = os.path.join(os.path.dirname(llama_cpp.__file__), 'lib', 'libggml.so.0')
        ctypes.CDLL(ggml).ggml_backend_load_all()
    clock = time.process_time if options.cpu else time.perf_counter
    kind = {'f32': 0, 'f16': 1, 'q4_0': 2, 'q8_0': 8, 'bf16': 30}[options.type]
    length = options.prompt + options.tokens
    model = llama_cpp.Llama(options.model, n_ctx=length, n_batch=options.prompt, n_ubatch=options.batch,
                            n_threads=options.threads, n_threads_batch=options.threads, flash_attn=True, type_k=kind,
                            type_v=kind, logits_all=True, verbose=options.verbose)
    text = np.random.default_rng(0).integers(3, model.n_vocab(), options.prompt).tolist()
    model.eval(text[:8])   # starts threads
    model.reset()
    started = clock()
    model.eval(text)
    prompt, drawn, at = clock() - started, [], clock()
    for _ in range(options.tokens):
        drawn.append(int(np.argmax(model.scores[model.n_tokens - 1])))
        model.eval(drawn[-1:])
    seconds = clock() - at
    if options.logits: np.save(options.logits, model.scores[:model.n_tokens])
    print(json.dumps({'prompt': options.prompt / prompt, 'tokens': options.tokens / max(seconds, 1e-9),
                      'drawn': drawn}))


def one(arguments, options, library, logits):
    command = [sys.executable, os.path.abspath(__file__), *arguments, '--work', library, '--logits', logits]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('model')
    parser.add_argument('library')
    for name, value in ('prompt', 512), ('tokens', 32), ('batch', 512), ('threads', os.cpu_count()), ('rounds', 1):
        parser.add_argument('--' + name, type=int, default=value, help='default: %(default)s')
    parser.add_argument('--type', default='f16', help='of keys and values (default: %(default)s)')
    parser.add_argument('--cpu', action='store_true', help='with one thread, count seconds of CPU')
    parser.add_argument('--verbose', action='store_true', help='print what llama.cpp says')
    parser.add_argument('--work', help=argparse.SUPPRESS)
    parser.add_argument('--logits', default='', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work: return work(options)

    best = {'none': None, 'attnc': None}
    with tempfile.TemporaryDirectory() as folder:
        files = {who: os.path.join(folder, who + '.npy') for who in best}
        for _ in range(options.rounds):
            for who, library in ('none', 'none'), ('attnc', os.path.abspath(options.library)):
                new = one(sys.argv[1:], options, library, files[who])
                old = best[who] or new
                best[who] = new | {key: max(new[key], old[key]) for key in ('prompt', 'tokens')}
        ggml, ours = (np.load(files[who]) for who in ('none', 'attnc'))
    same = best['none']['drawn'] == best['attnc']['drawn']
    error = np.abs(ggml[:options.prompt] - ours[:options.prompt]).max() / np.abs(ggml[:options.prompt]).max()
    print('logits of the prompt: largest difference %.1e of the largest; greedy tokens: %s'
          % (error, 'equal' if same else 'different'))
    for key, says in ('prompt', 'prompt of %d' % options.prompt), ('tokens', '%d tokens after it' % options.tokens):
        a, b = best['none'][key], best['attnc'][key]
        print('%-20s ggml %8.1f tokens/s   attnc %8.1f tokens/s   %.2fx' % (says, a, b, b / a))
    return 0 if same else 1


if __name__ == '__main__':
    sys.exit(main())
