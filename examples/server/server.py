#!/usr/bin/env python3
"""The loop of a server in Python: sequences share a prompt, arrive, grow and end, in one call of extend a step.

    server.py [SPEC.yaml]      default: softmax.yaml"""
import os
import sys
import time

import attnc
import numpy as np

SEQUENCES, HEADS, KV_HEADS, D, SHARED_TOKENS, PAGE = 64, 8, 2, 64, 1024, 64
SHARED = SEQUENCES   # the sequence with the prompt that all others begin with


class Server:
    def __init__(self, path):
        self.rng = np.random.default_rng(1)
        self.pages = attnc.Pages(4096, tokens=PAGE)
        self.table = np.full((SEQUENCES + 1, 64), -1, "int32")
        self.free = list(range(self.pages.count))
        self.users = np.zeros(self.pages.count, int)
        self.length = np.zeros(SEQUENCES + 1, int)
        self.state = attnc.kernel(path).state(SEQUENCES + 1, pages=self.pages, table=self.table)

    def extend(self, tokens):
        """Appends tokens[b] tokens to sequence b."""
        for b in np.flatnonzero(tokens):
            first, end = (-(-n // PAGE) for n in (self.length[b], self.length[b] + tokens[b]))
            for x in range(first, end):
                self.table[b, x] = self.free.pop()
                self.users[self.table[b, x]] = 1
        total = int(tokens.sum())
        q = self.rng.standard_normal((1, HEADS, total, D), np.float32)
        k, v = self.rng.standard_normal((2, 1, KV_HEADS, total, D), np.float32)
        starts = np.concatenate([[0], np.cumsum(tokens)])
        self.state.extend(q, k, v, cu_seqlens=starts)
        self.length += tokens

    def share(self, b):
        """Sequence b begins with the pages of the shared prompt."""
        self.table[b] = self.table[SHARED]
        self.users[self.table[b, :SHARED_TOKENS // PAGE]] += 1
        self.state.assign(b, self.state, SHARED)
        self.length[b] = SHARED_TOKENS

    def end(self, b):
        for page in self.table[b, :-(-self.length[b] // PAGE)]:
            self.users[page] -= 1
            if self.users[page] == 0: self.free.append(int(page))
        self.state.truncate(0, int(b))
        self.table[b], self.length[b] = -1, 0


def main():
    server = Server(sys.argv[1] if len(sys.argv) > 1 else
                    os.path.join(os.path.dirname(os.path.abspath(__file__)), "softmax.yaml"))
    rng = np.random.default_rng(2)
    arrives = 6 * np.arange(SEQUENCES)
    prompt, grows = rng.integers(16, 128, SEQUENCES), rng.integers(64, 512, SEQUENCES)
    tokens = np.zeros(SEQUENCES + 1, int)
    tokens[SHARED] = SHARED_TOKENS
    server.extend(tokens)
    started, step, total, most = time.perf_counter(), 0, 0, 0
    waiting = set(range(SEQUENCES))
    while waiting or server.length[:SEQUENCES].any():
        tokens[:] = 0
        for b in range(SEQUENCES):
            if b in waiting and arrives[b] <= step:
                waiting.remove(b)
                server.share(b)
                tokens[b] = prompt[b]
            elif server.length[b] == SHARED_TOKENS + prompt[b] + grows[b]:
                server.end(b)
            elif server.length[b]:
                tokens[b] = 1
        if tokens.any(): server.extend(tokens)
        total += int(tokens.sum())
        most = max(most, server.pages.count - len(server.free))
        step += 1
    seconds = time.perf_counter() - started
    print("%d tokens, %.0f tokens/s, at most %d pages, %.2f MiB"
          % (total, total / seconds, most, most * server.pages.bytes / 2 ** 20))


if __name__ == "__main__":
    main()
