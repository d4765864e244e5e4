#!/usr/bin/env python3
"""Times text generation by models of transformers with the shapes of published ones and random weights.

For each model: tokens in a second while the prompt is read, and after it, with attn_implementation='sdpa' (that of
transformers) and 'attnc' in turn. Exit status: 0 done, 2 wrong usage.
"""
import argparse
import os
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
os.environ['HF_HUB_OFFLINE'] = '1'
os.environ.setdefault('KMP_BLOCKTIME', '5')   # as in run.py
if 'ATTNC' not in os.environ and os.path.exists(os.path.join(ROOT, 'build', 'attnc')):
    os.environ['ATTNC'] = os.path.join(ROOT, 'build', 'attnc')
    sys.path.insert(0, os.path.join(ROOT, 'runtime', 'python'))

import run as peers

ENDS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
# {model: (class, settings)}: sizes from the config.json of each
MODELS = {
    'Llama-3.2-1B': ('LlamaForCausalLM', dict(
        hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8,
        head_dim=64, vocab_size=128256, tie_word_embeddings=True, max_position_embeddings=131072)),
    'Qwen3-0.6B': ('Qwen3ForCausalLM', dict(
        hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16, num_key_value_heads=8,
        head_dim=128, vocab_size=151936, tie_word_embeddings=True, max_position_embeddings=40960)),
    'Qwen3.5-0.8B': ('Qwen3_5ForCausalLM', dict(
        hidden_size=1024, intermediate_size=3584, num_hidden_layers=24, num_attention_heads=8, num_key_value_heads=2,
        head_dim=256, vocab_size=248320, tie_word_embeddings=True, max_position_embeddings=262144,
        linear_num_key_heads=16, linear_num_value_heads=16, linear_key_head_dim=128, linear_value_head_dim=128,
        layer_types=(['linear_attention'] * 3 + ['full_attention']) * 6)),
}
CONFIGS = {'Qwen3_5ForCausalLM': 'Qwen3_5TextConfig'}
KINDS = ('sdpa', 'attnc')


def command_line():
    p = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    p.add_argument('--only', metavar='MODEL,…', default=','.join(MODELS), help='these models: ' + ', '.join(MODELS))
    p.add_argument('--prompt', type=int, default=4096, metavar='N', help='tokens of the prompt (default 4096)')
    p.add_argument('--tokens', type=int, default=16, metavar='N', help='tokens after it (default 16)')
    p.add_argument('--rounds', type=int, default=2, help='the number of times that each is measured; the best counts (default 2)')
    p.add_argument('--threads', type=int, default=2)
    p.add_argument('--layers', type=int, metavar='N', help='make models with N layers, for a try')
    p.add_argument('--dtype', choices=('float32', 'bfloat16'), default='bfloat16')
    options = p.parse_args()
    for name in options.only.split(','):
        if name not in MODELS:
            p.error("there is no model '%s'" % name)
    return options


def model_of(name, options):
    """Makes a model. One block of random numbers fills all matrices, which takes a second."""
    import torch
    import transformers
    class_name, settings = MODELS[name]
    settings = {**ENDS, **settings}
    if options.layers:
        settings['num_hidden_layers'] = options.layers
        if 'layer_types' in settings: settings['layer_types'] = settings['layer_types'][-options.layers:]
    config = getattr(transformers, CONFIGS.get(class_name, class_name.replace('ForCausalLM', 'Config')))(**settings)
    dtype = getattr(torch, options.dtype)
    torch.manual_seed(0)
    block = (0.02 * torch.randn(1 << 20)).to(dtype)
    before, init = torch.get_default_dtype(), transformers.PreTrainedModel.init_weights
    torch.set_default_dtype(dtype)
    transformers.PreTrainedModel.init_weights = lambda self: self.tie_weights()
    try:
        model = getattr(transformers, class_name)(config)
    finally:
        torch.set_default_dtype(before)
        transformers.PreTrainedModel.init_weights = init
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                flat = parameter.view(-1)
                for at in range(0, len(flat), len(block)):
                    flat[at:at + len(block)] = block[:len(flat) - at]
    return model.eval()


def times(model, kind, options, prompt, tokens):
    """Returns the seconds for the prompt and for the tokens after it, and the tokens."""
    import torch
    import transformers
    import attnc.transformers
    model.set_attn_implementation(kind)
    cache = attnc.transformers.Cache(model.config) if kind == 'attnc' else transformers.DynamicCache(config=model.config)
    ids = torch.randint(3, 32000, (1, prompt), generator=torch.Generator().manual_seed(1))
    made = []
    with torch.no_grad():
        start = time.perf_counter()
        logits = model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1).logits
        middle = time.perf_counter()
        for _ in range(tokens):
            ids = logits[:, -1:].argmax(-1)
            made.append(int(ids))
            logits = model(input_ids=ids, past_key_values=cache, use_cache=True).logits
        return middle - start, time.perf_counter() - middle, made


def main():
    options = command_line()
    import torch
    import transformers
    import attnc.transformers
    torch.set_num_threads(options.threads)
    transformers.logging.set_verbosity_error()
    print('%s, %d threads; PyTorch %s, transformers %s; %s, a prompt of %d tokens, then %d. Tokens in a second.\n' % (
        peers.processor(), options.threads, torch.__version__, transformers.__version__, options.dtype, options.prompt,
        options.tokens))
    print('| shape | prompt, sdpa | prompt, attnc | | after it, sdpa | after it, attnc | | equal tokens |')
    print('|' + ' --- |' * 8, flush=True)
    for name in options.only.split(','):
        model = model_of(name, options)
        model.set_attn_implementation('attnc')
        attnc.transformers.prepare(model)
        best = {}
        for round_number in range(options.rounds + 1):
            for kind in KINDS:
                # The first round is short: it warms up.
                *seconds, made = times(model, kind, options, *(
                    (options.prompt, options.tokens) if round_number else (256, 2)))
                if round_number:
                    known = best.get(kind, (seconds, made))[0]
                    best[kind] = [min(pair) for pair in zip(known, seconds)], made
        (sdpa, of_sdpa), (ours, of_ours) = (best[kind] for kind in KINDS)
        same = sum(a == b for a, b in zip(of_sdpa, of_ours))
        rates = [(n / s, n / o) for n, s, o in zip((options.prompt, options.tokens), sdpa, ours)]
        print('| %s | %s | %d of %d |' % (name, ' | '.join('%.3g | %.3g | %.2fx' % (s, o, o / s) for s, o in rates), same,
                                         options.tokens), flush=True)
        del model
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
