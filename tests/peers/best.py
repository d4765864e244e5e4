#!/usr/bin/env python3
"""Compares kernels that list the best keys of a row with PyTorch: products of an indexer, topk, gather and
scaled_dot_product_attention.

Needs PyTorch and NumPy. The kernels are those of the Python package, made by $ATTNC. Prints a table."""
import argparse
import os
import sys
import time

sys.dont_write_bytecode = True
os.environ.setdefault('KMP_BLOCKTIME', '5')   # idle threads of one library must not take cores from the other one
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), 'runtime/python')]

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

import attnc
import measure

HEADS, DIM, INDEX = 16, 128, 32   # query heads on one, their elements, elements of the index head
COUNT, BLOCK = 2048, 64


def spec(block):
    """Returns a spec that shows a row its COUNT best keys, or the best blocks with as many keys."""
    top = {'count': COUNT, 'by': 'r'} if block == 1 else {'count': COUNT // block, 'block': block, 'by': 'r'}
    return {'arrays': {'qi': {'shape': ['B', 1, 'Nq', INDEX]}, 'ki': {'shape': ['B', 1, 'Nk', INDEX]}},
            'scores': {'r': {'query': 'qi', 'key': 'ki', 'sum': 'r'}}, 'similarity': 'softmax',
            'mask': {'all': ['causal', {'top': top}]}, 'shape': {'head_dim': DIM}}


def values(qi, ki, first):
    """Returns the indexer's values of rows first, first + 1, …, with -inf for later keys."""
    made = qi @ ki.T
    row = torch.arange(first, first + len(qi))[:, None]
    return made if len(qi) == 1 else made.masked_fill_(torch.arange(len(ki)) > row, -torch.inf)


def best(made, block):
    """Returns the numbers of the best keys of each row, and which of them the row sees."""
    if block == 1:
        found = torch.topk(made, min(COUNT, made.shape[1]), sorted=False)
        return found.indices, found.values > -torch.inf
    blocks = torch.topk(made.unflatten(1, (-1, block)).amax(2), min(COUNT, made.shape[1]) // block, sorted=False).indices
    keys = (blocks[:, :, None] * block + torch.arange(block)).flatten(1)
    return keys, made.gather(1, keys) > -torch.inf


def gathered(q, k, v, qi, ki, block, piece):
    """The rows of the best keys are copied, for `piece` queries at a time. The heads of a query are its rows."""
    out, first = torch.empty_like(q), k.shape[2] - q.shape[2]
    for at in range(0, q.shape[2], piece):
        some = slice(at, at + piece)
        keys, seen = best(values(qi[some], ki, first + at), block)
        rows = [x[0, 0].index_select(0, keys.flatten()).view(len(keys), 1, -1, DIM) for x in (k, v)]
        out[0, :, some] = sdpa(q[0, :, some].transpose(0, 1)[:, None], *rows, attn_mask=seen[:, None, None])[:, 0].transpose(0, 1)
    return out


def masked(q, k, v, qi, ki, block, piece):
    """All keys are read, with a mask that has the best keys."""
    out, first = torch.empty_like(q), k.shape[2] - q.shape[2]
    for at in range(0, q.shape[2], piece):
        some = slice(at, at + piece)
        made = values(qi[some], ki, first + at)
        keys, seen = best(made, block)
        mask = torch.zeros(made.shape, dtype=torch.bool).scatter_(1, keys, seen)
        out[:, :, some] = sdpa(q[:, :, some], k, v, attn_mask=mask, enable_gqa=True)
    return out


def difference(a, b):
    """Returns a difference that 19 of 20 rows do not exceed: of nearly equal values, rounding may choose another key."""
    a, b = a.numpy(), np.asarray(b)
    return float(np.quantile(np.abs(a - b).max(-1) / np.abs(b).max(-1), 0.95))


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    p.add_argument('--threads', type=int, default=2)
    p.add_argument('--thread-time', action='store_true', help='count CPU time: for one thread on a busy machine')
    p.add_argument('--prompt', type=int, default=8192, metavar='N', help='the tokens of a prompt, or 0 for none')
    p.add_argument('--keys', type=int, default=131072, metavar='N', help='the tokens before one token')
    p.add_argument('--block', type=int, action='append', help='keys of a block (default: 1, and %d)' % BLOCK)
    p.add_argument('--limit', type=float, default=3, metavar='SECONDS', help='for the alternating calls of a row')
    options = p.parse_args()
    if options.thread_time: measure.clock = time.process_time
    torch.set_num_threads(options.threads)
    print('| job | PyTorch, its fastest form | PyTorch | attnc | PyTorch / attnc | difference |\n'
          '| --- | --- | --- | --- | --- | --- |')
    for n_q, n_k in (options.prompt, options.prompt), (1, options.keys):
        if not n_k: continue
        q, k, v = (measure.normal(s, 1, h, n, DIM) for s, h, n in ((1, HEADS, n_q), (2, 1, n_k), (3, 1, n_k)))
        qi, ki = (measure.normal(s, 1, 1, n, INDEX) for s, n in ((4, n_q), (5, n_k)))
        for block in options.block or (1, BLOCK):
            kernel, out = attnc.kernel(spec(block)), np.empty(q.shape, np.float32)
            ours = lambda: kernel(q, k, v, qi=qi, ki=ki, out=out, threads=options.threads)
            tensors = [torch.from_numpy(x) for x in (q, k, v, qi[0, 0], ki[0, 0])]
            forms = {'%s, %d queries at a time' % (form.__name__, piece): lambda form=form, piece=piece: form(*tensors, block, piece)
                     for form in (gathered, masked) for piece in ((16, 64) if n_q > 1 else (1,))}
            with torch.inference_mode():
                fastest = min(forms, key=lambda name: measure.seconds(forms[name]))
                far = difference(forms[fastest](), ours())
                if not far <= 1e-4: sys.exit('another result: %.1e' % far)
                (them, us), _ = measure.alternate([forms[fastest], ours], options.limit)
            print('| %s, %s | %s | %.3g ms | %.3g ms | %.1f | %.0e |' % (
                'a prompt of %d tokens' % n_q if n_q > 1 else 'one token after %d' % n_k,
                'the best %d keys' % COUNT if block == 1 else 'the best %d blocks of %d' % (COUNT // block, block),
                fastest if n_q > 1 else fastest.split(',')[0], 1e3 * them, 1e3 * us, them / us, far), flush=True)


if __name__ == '__main__':
    main()
