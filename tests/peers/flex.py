#!/usr/bin/env python3
"""Compares kernels with arrays, biases and masks of the caller with PyTorch's FlexAttention, compiled.

flex.py [--only PATTERN] [--threads N] [--n N] [--heads N] [--limit SECONDS] [--thread-time] [--no-peer] [--mla]

It needs PyTorch 2.13, NumPy, g++ and ./dev build, and prints a table. README.md says how to read it. The kernel, the
nearest kernel without the feature, and FlexAttention are called alternately. The times are the best of each.
--thread-time measures CPU time, for a busy machine; use it with --threads 1. After the table, or alone with --mla, it
measures one token of multi-head latent attention, scaled_dot_product_attention and the machine's bandwidth."""
import argparse
import collections
import fnmatch
import math
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
os.environ.setdefault('KMP_BLOCKTIME', '5')   # idle threads of one library must not take cores from the other one

import numpy as np
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import measure
import ours
from measure import alternate, difference, normal

# - spec, settings: the kernel; nearest: the spec and the settings of the nearest kernel without the feature
# - arrays: its parameters by name; tiles: the caller makes the tables of the tiles of masks
# - score, mask: FlexAttention's functions; prepare: what happens to q and k before; scale; added: keys of zeros after k
# - sizes: batch, heads, queries, keys, size of the head
Row = collections.namedtuple('Row', 'job spec settings nearest arrays score mask prepare scale added sizes tiles',
                             defaults=(None, None, None, None, 0, None, False))
BLOCK = 128


def causal(b, h, i, j):
    return i >= j


def of(array):
    return torch.from_numpy(array)


def biases(n, heads):
    """Rows whose logits read arrays."""
    near = np.array([d if d < 8 else min(15, int(8 + math.log(d / 8) / math.log(16) * 8)) for d in range(n)])
    bucket, buckets, swin = of(near), normal(11, heads, 32), normal(12, heads, 13, 13)
    yield Row('T5: 32 buckets of distances', 'softmax_t5', {}, ('softmax', {'similarity': '{softmax: {scale: 1}}'}),
              {'table': buckets}, lambda s, b, h, i, j: s + of(buckets)[h, torch.where(j > i, 16, 0) + bucket[(i - j).abs()]],
              scale=1.0)
    one = 's + table[h][i - j + 16]'
    yield Row('table of 32 distances', 'softmax_t5', {'similarity': '{softmax: {modify: "%s"}}' % one}, ('softmax', {}),
              {'table': buckets}, lambda s, b, h, i, j: s + of(buckets)[h, torch.clamp(i - j + 16, 0, 31)])
    yield Row('Swin: windows of 7 x 7, batch of 64', 'softmax_swin', {}, ('softmax', {'shape.head_dim': 32}), {'table': swin},
              lambda s, b, h, i, j: s + of(swin)[h, i // 7 - j // 7 + 6, i % 7 - j % 7 + 6], sizes=(64, heads, 49, 49, 32))
    sink, window = normal(13, heads), 'mask={window: {left: 127}}'.partition('=')[2]
    yield Row('gpt-oss: sink, causal', 'softmax_gpt_oss', {'prepare': '[]', 'mask': 'causal'}, ('softmax_causal', {}),
              {'sink': sink}, lambda s, b, h, i, j: torch.where(j == n, of(sink)[h], s),
              lambda b, h, i, j: (i >= j) | (j == n), added=1)
    yield Row('gpt-oss: sink, window of 128', 'softmax_gpt_oss', {'prepare': '[]'}, ('softmax_causal', {'mask': window}),
              {'sink': sink}, lambda s, b, h, i, j: torch.where(j == n, of(sink)[h], s),
              lambda b, h, i, j: ((i >= j) & (i - j < 128)) | (j == n), added=1)
    factor, a, c, slope = (np.abs(normal(seed, heads)) / 4 for seed in (14, 15, 16, 17))
    yield Row('SSMax', 'softmax_ssmax', {}, ('softmax_causal', {}), {'factor': factor},
              lambda s, b, h, i, j: s * of(factor)[h] * torch.log(i + 1.0), causal)
    yield Row('KERPLE', 'softmax_kerple', {}, ('softmax_causal', {}), {'a': a, 'c': c},
              lambda s, b, h, i, j: s - of(a)[h] * torch.log1p(of(c)[h] * (i - j).abs()), causal)
    yield Row('ALiBi, slopes of the caller', 'softmax_slopes', {},
              ('softmax_causal', {'similarity': '{softmax: {bias: alibi}}'}), {'slope': slope},
              lambda s, b, h, i, j: s - of(slope)[h] * (i - j), causal)
    fire = {'w1': normal(18, 4), 'shift': normal(19, 4), 'w2': normal(20, heads, 4), 'offset': normal(21, heads),
            'c': np.array(0.5, np.float32), 'threshold': np.array(64, np.float32)}
    w1, shift, w2, offset, *_ = map(of, fire.values())

    def of_fire(s, b, h, i, j):
        x = torch.log1p(0.5 * (i - j).clamp(min=0)) / torch.log1p(0.5 * torch.clamp(i, min=64))
        for unit in range(4):
            s = s + w2[h, unit] * torch.relu(w1[unit] * x + shift[unit])
        return s + offset[h]
    yield Row('FIRE, 4 hidden units', 'softmax_fire', {}, ('softmax_causal', {}), fire, of_fire, causal)
    yield Row('Gemma 2: cap 50, window of 1024', 'softmax_softcap',
              {'prepare': '[]', 'mask': '{window: {left: 1023}}', 'shape.head_dim': 64},
              ('softmax_causal', {'mask': '{window: {left: 1023}}'}), {}, lambda s, b, h, i, j: 50 * torch.tanh(s / 50),
              lambda b, h, i, j: (i >= j) & (i - j < 1024))


def rotated(angles, halves):
    """Returns a function that rotates rows by angles [positions, pairs]. Elements after the pairs stay."""
    cos, sin, pairs = of(np.cos(angles).astype(np.float32)), of(np.sin(angles).astype(np.float32)), angles.shape[1]

    def rotate(x):
        first, second = ((x[..., :pairs], x[..., pairs:2 * pairs]) if halves else (x[..., :2 * pairs:2], x[..., 1:2 * pairs:2]))
        one, two = first * cos - second * sin, first * sin + second * cos
        both = torch.cat([one, two], -1) if halves else torch.stack([one, two], -1).flatten(-2)
        return torch.cat([both, x[..., 2 * pairs:]], -1)
    return rotate


def ropes(n, heads):
    i, wide, t = np.arange(n)[:, None], (1, heads, n, n, 128), np.arange(64)
    turns = 10000 ** (-2 * t / 128)
    yarn = i * (turns / 16 * (1 + 15 * np.clip((4096 * turns / 6.283185307179586 - 1) / 31, 0, 1)))
    whole = ('softmax_causal', {'prepare': '[rope: {pairs: halves}]', 'shape.head_dim': 128})
    yield Row('YaRN, 128 elements', 'softmax_yarn', {}, whole, {}, None, causal, rotated(yarn, True), 0.1441958865, sizes=wide)
    yield Row('rope of 64 of 128 elements', 'softmax_causal',
              {'prepare': '[rope: {pairs: halves, dims: 64}]', 'shape.head_dim': 128}, whole, {}, None, causal,
              rotated(i * 10000 ** (-2 * np.arange(32) / 64), True), sizes=wide)
    t = np.arange(32)
    yield Row('rope in 2 dimensions, 32 patches in a row', 'softmax_rope_2d', {}, ('softmax', {'prepare': '[rope]'}), {}, None,
              None, rotated(np.where(t % 2, i // 32, i % 32) * 100 ** (-(t // 2) / 16), False))


def masks(n, heads):
    yield Row('NATTEN, 7 x 7 of an image 32 wide', 'softmax_natten', {'shape.head_dim': 64},
              ('softmax', {'mask': '{window: {left: 99, right: 99}}'}), {}, None,
              lambda b, h, i, j: ((i // 32 - j // 32).abs() <= 3) & ((i % 32 - j % 32).abs() <= 3))
    length = np.array([n - n // 4], np.int32)
    yield Row('window of 256 to each side, a quarter is padding', 'softmax_window_padding', {},
              ('softmax', {'mask': '{window: {left: 256, right: 256}}'}), {'lengths': length}, None,
              lambda b, h, i, j: ((i - j).abs() <= 256) & (j < of(length)[b]))
    draft, parent = np.ones((1, 64, n), np.uint8), np.random.default_rng(22).integers(0, np.maximum(1, np.arange(64)))
    draft[:, :, n - 64:] = 0
    for token in range(64):
        up = token
        while draft[0, token, n - 64 + up] == 0:
            draft[0, token, n - 64 + up], up = 1, parent[up]

    def seen(mask):
        true = of(mask[0]).bool()
        return lambda b, h, i, j: true[i, j]
    yield Row('tree of 64 draft tokens', 'softmax_tree', {}, ('softmax', {}), {'tree': draft}, None, seen(draft),
              sizes=(1, heads, 64, n, 64))
    for density in 1, 2, 8:
        blocks = np.zeros((n // BLOCK, n // BLOCK), np.uint8)
        for row in range(len(blocks)):
            blocks[row, np.random.default_rng(row).permutation(len(blocks))[:max(1, len(blocks) // density)]] = 1
        given = blocks.repeat(BLOCK, 0).repeat(BLOCK, 1)[None].copy()
        for tiles in False, True:
            yield Row('given mask, %s%s' % ('all true' if density == 1 else '1/%d of the blocks of 128' % density,
                                            ', table of tiles' if tiles else ''),
                      'softmax_tree', {}, ('softmax', {}), {'tree': given}, None, seen(given), tiles=tiles)


def flex(row, q, k, v):
    """Returns a call of FlexAttention."""
    torch._dynamo.reset()
    longer = [np.pad(x, ((0, 0), (0, 0), (0, row.added), (0, 0))) for x in (k, v)]
    made = row.mask and create_block_mask(row.mask, None, None, q.shape[2], k.shape[2] + row.added, device='cpu')

    prepare = row.prepare and torch.compile(row.prepare, dynamic=False)
    compiled, arrays = torch.compile(flex_attention, dynamic=False), [of(x) for x in (q, *longer)]

    def call():
        with torch.no_grad():
            q, k, v = (prepare(x) if prepare and x is not arrays[2] else x for x in arrays)
            return compiled(q, k, v, score_mod=row.score, block_mask=made, scale=row.scale)
    return call


def errors(row):
    """Returns the largest errors of forward and of gradients, divided by the tolerance, as `attnc check` finds them.
    Gradients are None if the spec has none."""
    for emit, gradients in ('[forward, backward]', True), ('[forward]', False):
        options = [word for key, value in {**row.settings, 'emit': emit}.items() for word in ('--set', '%s=%s' % (key, value))]
        done = subprocess.run([os.path.join(ours.BUILD, 'attnc'), 'check', '--verbose', *options,
                               os.path.join(ours.ROOT, 'specs', row.spec + '.yaml')], capture_output=True, text=True, check=False)
        found = [re.search(r'^ *%s +(\S+) of the tolerance' % what, done.stdout, re.M) for what in
                 ('the compiled kernel', "the kernel's gradients")]
        if done.returncode == 0 and found[0]:
            return float(found[0][1]), float(found[1][1]) if gradients and found[1] else None
    raise RuntimeError(done.stdout + done.stderr)


def measured(row, n, options):
    batch, heads, n_q, n_k, dim = row.sizes or (1, options.heads, n, n, 64)
    q, k, v = (normal(seed, batch, heads, rows, dim) for seed, rows in ((1, n_q), (2, n_k), (3, n_k)))
    kernel = ours.Kernel(row.spec, row.settings, q, k, v, row.arrays, options.threads, row.tiles)
    calls = [kernel, ours.Kernel(*row.nearest, q, k, v, {}, options.threads)]
    far = None
    if not options.no_peer:
        calls.append(flex(row, q, k, v))
        far = difference(calls[2](), kernel())
        if not far < 1e-4:
            raise measure.Differs('%s: a row differs by %.1e of its largest number' % (row.job, far))
    return alternate(calls, options.limit, least=6, most=400)[0], far


def table(options):
    measure.say('PyTorch %s, %d threads, n = %d, %d heads' % (torch.__version__, options.threads, options.n, options.heads))
    print('| job | error / allowed | of gradients | nearest | attnc | attnc / nearest | FlexAttention | FlexAttention / attnc | '
          'difference |\n' + '| --- ' * 9 + '|')
    for make in biases, ropes, masks:
        for row in make(options.n, options.heads):
            if not fnmatch.fnmatch(row.job, options.only): continue
            (here, near, *there), far = measured(row, options.n, options)
            one, two = errors(row)
            print('| %s | %.2f | %s | %.3g ms | %.3g ms | %.3f | %s | %s | %s |' % (
                row.job, one, '' if two is None else '%.2f' % two, 1e3 * near, 1e3 * here, here / near,
                '%.3g ms' % (1e3 * there[0]) if there else '', '%.2f' % (there[0] / here) if there else '',
                '' if far is None else '%.0e' % far), flush=True)


def mla(options):
    """One token of 128 heads over n keys of 576 elements. The kernel reads each key once."""
    n = options.n
    for dtype in 'f32', 'bf16':
        q, k = normal(1, 1, 128, 1, 576), normal(2, 1, 1, n, 576)
        if dtype == 'bf16':
            q, k = (of(x).bfloat16().view(torch.uint16).numpy() for x in (q, k))
        kernel = ours.Kernel('softmax_mla', {'emit': '[forward]', 'dtype': dtype}, q, k, k[..., :512].copy(), {}, options.threads)
        floats = [of(x) if dtype == 'f32' else of(x.view(np.int16)).view(torch.bfloat16) for x in (q, k)]
        keys = floats[1].expand(1, 128, n, 576)

        def sdpa():
            with torch.no_grad():
                return torch.nn.functional.scaled_dot_product_attention(floats[0], keys, keys[..., :512], scale=0.07216878364870322)

        def grouped():
            """All heads as queries of one head."""
            with torch.no_grad():
                one = floats[0].transpose(1, 2)
                return torch.nn.functional.scaled_dot_product_attention(one, floats[1], floats[1][..., :512],
                                                                        scale=0.07216878364870322).transpose(1, 2)
        read = of(np.ones(1 << 26, np.float32))   # 256 MiB
        far = max(difference(call().float(), kernel() if dtype == 'f32' else kernel.floats(kernel())) for call in (sdpa, grouped))
        (here, there, best, sums), _ = alternate([kernel, sdpa, grouped, lambda: read.sum()], options.limit, least=6, most=400)
        bandwidth, size = read.nbytes / sums, 576 * n * (4 if dtype == 'f32' else 2)
        work = 2 * 128 * n * (576 + 512) / here
        print('%s, n = %d: attnc %.2f ms, %.1f GB/s of the keys, %.0f%% of the %.1f GB/s of a sum, %.0f GFLOP/s; '
              'scaled_dot_product_attention %.1f ms, heads as queries %.2f ms; difference %.0e' % (
                  dtype, n, 1e3 * here, size / here / 1e9, 100 * size / here / bandwidth, bandwidth / 1e9, work / 1e9,
                  1e3 * there, 1e3 * best, far), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    p.add_argument('--only', default='*', help='rows whose job matches this pattern')
    p.add_argument('--threads', type=int, default=2)
    p.add_argument('--n', type=int, default=4096)
    p.add_argument('--heads', type=int, default=4)
    p.add_argument('--limit', type=float, default=3, help='seconds of calls for a row')
    p.add_argument('--thread-time', action='store_true', help='measure CPU time')
    p.add_argument('--no-peer', action='store_true', help='without FlexAttention')
    p.add_argument('--mla', action='store_true', help='only one token of multi-head latent attention')
    options = p.parse_args()
    torch.set_num_threads(options.threads)
    if options.thread_time: measure.clock = time.process_time
    if not options.mla: table(options)
    if options.mla or options.only == '*': mla(options)


if __name__ == '__main__':
    main()
