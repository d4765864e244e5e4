"""Compares results of all peers, and measures their times."""
import json
import sys
import time

import numpy as np

REST = 0.03  # the seconds of rest until the threads of the last call stop spinning
clock = time.perf_counter  # what `seconds` reads
TURN = 0.01  # a call of fewer seconds is repeated, because waking threads takes as long


def say(text):
    print('peers: ' + text, file=sys.stderr, flush=True)


def report(**row):
    print(json.dumps(row), flush=True)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


class Differs(Exception):
    """A peer and a kernel compute different results."""


def difference(a, b):
    """Returns the largest difference between a and b, relative to the largest number in the row of b. In a tuple of
    gradients, each array counts as one row. `a` may be tensors."""
    if isinstance(b, tuple):
        return max(difference(x.reshape(1, -1), y.reshape(1, -1)) for x, y in zip(a, b))
    a, b = np.asarray(a.float() if hasattr(a, 'float') else a, np.float64).reshape(b.shape), np.asarray(b, np.float64)
    if not np.isfinite(a).all() or not np.isfinite(b).all():
        return float('inf')
    return float((np.abs(a - b).max(-1) / np.maximum(np.abs(b).max(-1), 1e-30)).max())


def later(make, *arguments):
    """Returns a form that is created at its first call. So a failure to create it becomes a result."""
    made = []

    def call():
        if not made:
            made.append(make(*arguments))
        return made[0]()
    return call


def seconds(call, times=1):
    """Returns the mean time of several calls."""
    time.sleep(REST)
    start = clock()
    for _ in range(times):
        call()
    return (clock() - start) / times


def in_a_turn(once):
    """Returns how many calls fit into a slice of TURN seconds if a call takes `once` seconds."""
    return max(1, int(TURN / once))


def alternate(calls, limit, least=3, most=25):
    """Alternates between the callables for about `limit` seconds. Returns the best time of each and the number of
    rounds."""
    best, end, rounds = [seconds(call) for call in calls], time.perf_counter() + limit, 1
    for _ in range(2):  # first calls take longer, so they do not tell how many calls fit into a turn
        times = [in_a_turn(b) for b in best]
        best = [min(b, seconds(call, n)) for b, call, n in zip(best, calls, times)]
    while rounds < least or (rounds < most and time.perf_counter() < end):
        best = [min(b, seconds(call, n)) for b, call, n in zip(best, calls, times)]
        rounds += 1
    return best, rounds


def same_job(label, out, kernel, tolerance):
    """Returns the difference between a peer's result and the kernel's. Raises Differs if it exceeds the tolerance."""
    far = difference(out, kernel.values())
    if not far <= tolerance:
        raise Differs('%s: not the same job: a row differs by %.1e of its largest number' % (label, far))
    return far


def attempt(label, form, kernel, tolerance, best):
    """Warms up a form of a peer, compares it with the kernel, and returns (its time, the difference)."""
    form()
    out = []
    once = seconds(lambda: out.append(form()))
    far = same_job(label, out[0], kernel, tolerance)
    times = in_a_turn(once)
    first = once if times == 1 else seconds(form, times)
    return first if first > 3 * best else min(first, seconds(form, times), seconds(form, times)), far


def row(job, peer, kernel, forms, tolerance, limit, table='jobs'):
    """Measures the kernel and the fastest of the forms {label: call}."""
    say('%s: %s' % (peer, job))
    common = dict(table=table, job=job, peer=peer)
    kernel()
    tried, errors, differs = [], [], False
    for label, form in forms.items():
        try:
            best = min((t[0] for t in tried), default=float('inf'))
            tried.append((*attempt(label, form, kernel, tolerance, best), label, form))
            say('  %-40s %9.2f ms' % (label, 1e3 * tried[-1][0]))
        except Exception as error:  # a failure of a library is a result
            differs = differs or isinstance(error, Differs)
            errors.append(' '.join(('%s: %s' % (label, error) if not isinstance(error, Differs)
                                    else str(error)).split())[:240])
            say('  ' + errors[-1])
    if not tried:
        report(**common, error='; '.join(errors), differs=differs)
        return
    _, far, label, form = min(tried, key=lambda t: t[0])
    (theirs, ours), rounds = alternate([form, kernel], limit)
    say('  %s %.2f ms, attnc %.2f ms: %.2f' % (peer, 1e3 * theirs, 1e3 * ours, theirs / ours))
    report(**common, form=label, peer_ms=1e3 * theirs, ours_ms=1e3 * ours, difference=far, rounds=rounds,
           errors=errors, differs=differs)
