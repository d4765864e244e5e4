"""Computes linear attention with decays or the delta rule token by token, in float64, for long sequences."""
import numpy as np


def recurrence(q, k, v, kept, rate=None, start=0.0):
    """Returns the output of each token, the sum of the sizes of its terms q_d S_de, and the last state. q, k and `kept`, the
    factors of the state's rows, are [heads, tokens, d]; v is [heads, tokens, e], a state [heads, d, e]. `rate`, which
    is [heads, tokens], selects the delta rule.

    Blocks of tokens are computed side by side: first how each changes a state, then its tokens from its own first
    state."""
    heads, n, d = k.shape
    length = max(1, int(n ** 0.5))
    blocks = -(-n // length)

    def in_blocks(x):   # the tokens after the end change nothing
        more = np.zeros((heads, blocks * length - n, *x.shape[2:]))
        return np.concatenate([x, more], 1).reshape(heads, blocks, length, *x.shape[2:])

    kept = np.concatenate([np.broadcast_to(kept, k.shape), np.ones((heads, blocks * length - n, d))], 1)
    kept = kept.reshape(heads, blocks, length, d)
    q, k, v, rate = in_blocks(q), in_blocks(k), in_blocks(v), None if rate is None else in_blocks(rate)

    def step(state, t, values):
        state = state * kept[:, :, t, :, None]
        key = k[:, :, t]
        if rate is not None: values = rate[:, :, t, None] * (values - np.einsum('hbde,hbd->hbe', state, key))
        return state + key[..., None] * values[:, :, None]

    change, added = np.broadcast_to(np.eye(d), (heads, blocks, d, d)), np.zeros((heads, blocks, d, v.shape[-1]))
    for t in range(length):
        change, added = step(change, t, np.zeros((heads, blocks, d))), step(added, t, v[:, :, t])
    states = [np.broadcast_to(start, added[:, 0].shape)]
    for b in range(blocks): states.append(change[:, b] @ states[-1] + added[:, b])
    state, out, sizes = np.stack(states[:-1], 1), np.empty_like(v), np.empty_like(v)
    for t in range(length):
        state = step(state, t, v[:, :, t])
        out[:, :, t] = np.einsum('hbde,hbd->hbe', state, q[:, :, t])
        sizes[:, :, t] = np.einsum('hbde,hbd->hbe', np.abs(state), np.abs(q[:, :, t]))
    of_tokens = lambda x: x.reshape(heads, blocks * length, -1)[:, :n]
    return of_tokens(out), of_tokens(sizes), states[-1]
