"""Comparing and timing: what every peer does with its rows."""
import json
import sys
import time

import numpy as np

REST = 0.03  # seconds before each call, in which the threads of the call before stop to spin


def say(text):
    print('peers: ' + text, file=sys.stderr, flush=True)


def report(**row):
    print(json.dumps(row), flush=True)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


class Differs(Exception):
    """A peer and a kernel that do not do the same job."""


def difference(a, b):
    """The largest difference of a row, over the largest number of that row of b; of gradients, which come as tuples and
    have rows that are 0, over the largest number of the array. What is in `a` may be tensors of any type."""
    if isinstance(b, tuple):
        return max(difference(x.reshape(1, -1), y.reshape(1, -1)) for x, y in zip(a, b))
    a, b = np.asarray(a.float() if hasattr(a, 'float') else a, np.float64).reshape(b.shape), np.asarray(b, np.float64)
    if not np.isfinite(a).all() or not np.isfinite(b).all():
        return float('inf')
    return float((np.abs(a - b).max(-1) / np.maximum(np.abs(b).max(-1), 1e-30)).max())


def seconds(call):
    time.sleep(REST)
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def alternate(calls, limit, least=3, most=25):
    """Calls each in turn, again and again for about `limit` seconds;
    returns the best time of each, and the number of rounds."""
    best, end, rounds = [float('inf')] * len(calls), time.perf_counter() + limit, 0
    while rounds < least or (rounds < most and time.perf_counter() < end):
        best = [min(b, seconds(call)) for b, call in zip(best, calls)]
        rounds += 1
    return best, rounds


def same_job(label, out, kernel, tolerance):
    """The difference of a peer's result from the kernel's, which has to be within the tolerance."""
    far = difference(out, kernel.values())
    if not far <= tolerance:
        raise Differs('%s: not the same job: a row differs by %.1e of its largest number' % (label, far))
    return far


def attempt(label, form, kernel, tolerance, best):
    """Calls a form of a peer until it is warm, compares it with what the kernel gave,
    and returns (its time, the difference)."""
    form()
    out = []
    first = seconds(lambda: out.append(form()))
    far = same_job(label, out[0], kernel, tolerance)
    return first if first > 3 * best else min(first, seconds(form), seconds(form)), far


def row(job, peer, kernel, forms, tolerance, limit):
    """Measures one row: the fastest of the forms {label: call that returns an array} against the kernel."""
    say('%s: %s' % (peer, job))
    common = dict(table='jobs', job=job, peer=peer)
    kernel()
    tried, errors, differs = [], [], False
    for label, form in forms.items():
        try:
            best = min((t[0] for t in tried), default=float('inf'))
            tried.append((*attempt(label, form, kernel, tolerance, best), label, form))
            say('  %-40s %9.1f ms' % (label, 1e3 * tried[-1][0]))
        except Exception as error:  # what a library cannot do is a result too
            differs = differs or isinstance(error, Differs)
            errors.append(' '.join(('%s: %s' % (label, error) if not isinstance(error, Differs)
                                    else str(error)).split())[:240])
            say('  ' + errors[-1])
    if not tried:
        report(**common, error='; '.join(errors), differs=differs)
        return
    _, far, label, form = min(tried, key=lambda t: t[0])
    (theirs, ours), rounds = alternate([form, kernel], limit)
    say('  %s %.1f ms, attnc %.1f ms: %.2f' % (peer, 1e3 * theirs, 1e3 * ours, theirs / ours))
    report(**common, form=label, peer_ms=1e3 * theirs, ours_ms=1e3 * ours, difference=far, rounds=rounds,
           errors=errors, differs=differs)
