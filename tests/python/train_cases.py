"""Tests examples/train: every attention learns, stopped runs continue, and runs can be repeated."""
import csv
import json
import os
import re
import signal
import subprocess
import types

from common import *

TRAIN = os.path.join(os.path.dirname(os.path.dirname(HERE)), 'examples', 'train')
sys.path.insert(0, TRAIN)


def command(folder, *words):
    return [sys.executable, os.path.join(TRAIN, 'train.py'), '--out', folder, '--jobs', '1', *words]


def say(folder, *words):
    done = subprocess.run(command(folder, *words), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def one(**changes):
    import dataclasses

    import experiments
    run = next(run for run in experiments.quick() if run.variant == 'learned 2')
    return dataclasses.replace(run, steps=60, every=10, until=0.0, **changes)


def curve(folder, run, stops=(), text=''):
    """Returns the losses of a run that is stopped after each step in `stops` and then continued."""
    import results
    import worker
    for step in (*stops, None):
        seen = []

        def is_stopped():
            seen.append(0)
            return step is not None and len(seen) >= step
        done = worker.train(run, folder, text, is_stopped, lambda *at: None)
        check(done == (step is None), 'whether it is done: %s' % done)
        kept = os.path.exists(os.path.join(folder, 'runs', run.name + '.pt'))
        check(kept != done, 'a checkpoint, and only while there is need of one')
    return [point['loss'] for point in results.record_of(folder, run.name)['curve']]


def text_of_squares(folder):
    import tasks
    path = os.path.join(folder, 'text')
    with open(path, 'wb') as file:
        file.write((b''.join(b'%d squared is %d.\n' % (n, n * n) for n in range(20000)))[:tasks.HELD_OUT + 20000])
    return path


@case
def quick(folder):
    """Trains some of the attentions of --quick: carried states and quadratic forms, coefficients, learned features
    and the control. `./dev test whole` adds random features."""
    status, out, err = say(folder, '--quick', '--list')
    check(status == 0 and len(out.splitlines()) == 12, '%d\n%s%s' % (status, out, err))
    names = ['learned 2', 'control', 'hedgehog', 'window', *['polysketch random'] * WHOLE]
    status, out, err = say(folder, '--quick', *(word for name in names for word in ('--only', name)))
    lines = out.splitlines()
    check(status == 0, 'exit status %d\n%s%s' % (status, out, err[-2000:]))
    check(len(lines) == len(names) and all(line.startswith('ok ') for line in lines), out)
    check(len([line for line in lines if 'a control' in line]) == 1, 'the control:\n' + out)
    with open(os.path.join(folder, 'quick', 'results.csv')) as file:
        check(len(list(csv.DictReader(file))) == len(names), 'rows of results.csv')


@case
def a_run_that_stops_goes_on_as_if_it_had_not(folder):
    run = one()
    straight = curve(os.path.join(folder, 'straight'), run)
    check(len(straight) == 6, 'points: %s' % straight)
    check(straight == curve(os.path.join(folder, 'stopped'), run, stops=(7, 26)), 'another curve after two stops')
    check(straight != curve(os.path.join(folder, 'seed'), one(seed=2)), 'another seed has the same curve')


@case
def texts_that_are_too_short(folder):
    small = os.path.join(folder, 'small')
    with open(small, 'wb') as file: file.write(b'short')
    for path, says in (small, 'it has 5 bytes; expected 263170 or more'), (folder + '/none', 'No such file or directory'), (
            folder, 'Is a directory'):
        status, out, err = say(folder, 'text', '--only', 'text/softmax/512/1', '--text', path)
        check(status == 1 and 'train: error: --text %s: %s' % (path, says) in err and 'Traceback' not in err, err)


@case
def a_loss_is_said_when_it_is_known(folder):
    import worker
    told, run = [], one()   # the clock goes on by a second at each look
    usual, worker.time = worker.time, types.SimpleNamespace(**{**vars(worker.time), 'monotonic': iter(range(100000)).__next__})
    try:
        worker.train(run, folder, '', lambda: False, lambda *at: told.append(at))
    finally:
        worker.time = usual
    check([loss is None for _, loss in told] == [step < 10 for step, _ in told] and told[0][0] == 1, told)


@case
def ctrl_c(folder):
    words = ('thesis', '--only', 'thesis/softmax/50/1')
    for begun, shown in (('runs: ', ''), (' running, ', r'thesis/softmax/50/1 +10000 steps  step \d+( .*)?\n')):
        process = subprocess.Popen(command(folder, *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        read = ''
        for line in process.stderr:
            read += line
            if begun in line:
                break
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
        err = read + err
        check(process.returncode == 130, 'exit status %d: %s' % (process.returncode, err))
        check(err.endswith('train: stopped; the same command goes on\n'), err)
        check(re.fullmatch(shown, out), out)
        check(not out or out == say(folder, *words, '--list')[1], '--list says what is there')
    check(not [name for _, _, names in os.walk(folder) for name in names if name.endswith('.new')], 'half a file is left')


@case
def easier_tasks_come_first(folder):
    import dataclasses

    import experiments
    import results
    import worker
    run = dataclasses.replace(next(run for run in experiments.synthetic() if run.group == 'copying'), length=16, copied=4,
                              easier=((4, 1), (8, 2)), width=16, heads=1, layers=1, steps=36, every=9, until=0.0)
    at = worker.Training(run, os.path.join(folder, 'sizes'), '', worker.Ranks())
    for length, copied in (4, 1), (8, 2), (16, 4):
        given, wanted = at.task.batch(3, at.draw)
        check((given.shape, wanted.shape) == ((3, length), (3, copied)), '%s %s' % (given.shape, wanted.shape))
        check(at.is_last_task == (length == 16), 'the last task')
        at.losses = [0.2] * 10
        at.advance()
        check(at.task.length == length, 'it goes on before the task is learned')
        at.losses = [0.01] * 10
        at.advance()
    worker.LEARNED, usual = 100, worker.LEARNED  # each task now ends after ten steps
    try:
        straight = curve(os.path.join(folder, 'straight'), run)
        check(straight == curve(os.path.join(folder, 'stopped'), run, stops=(13, 9)), 'another curve after two stops')
    finally:
        worker.LEARNED = usual
    row = results.row_of(run, os.path.join(folder, 'straight'))
    check((row['easier'], row['steps']) == (20, 36), 'steps of easier tasks: %s' % row)


@case
def tasks_ask_what_was_given(folder):
    import tasks
    draw = tasks.Generator().manual_seed(1)
    given, wanted = tasks.Induction(20).batch(50, draw)
    for row, (answer,) in zip(given.tolist(), wanted.tolist()):
        first = row.index(15)
        check(row.count(15) == 2 and row[-1] == 15 and row[first + 1] == answer < 15, '%s: %s' % (row, answer))
    given, wanted = tasks.Copying(20, 5).batch(50, draw)
    for row, answer in zip(given.tolist(), wanted.tolist()):
        check([symbol for symbol in row if symbol < 14] == answer and row[15:] == [15] * 5, '%s: %s' % (row, answer))
    given, wanted = tasks.Mirror(8).batch(5, draw)
    check(given[:, :4].flip(1).equal(wanted) and (given[:, 4:] == 10).all(), 'mirror')


@case
def processes_that_share_a_sequence_have_the_curve_of_one(folder):
    import dataclasses

    import experiments
    text = text_of_squares(folder)
    for variant, stops in (('gated deltanet', (5,)), ('window 256', ())):
        run = next(run for run in experiments.long() if run.variant == variant)
        run = dataclasses.replace(run, length=301, layers=1, steps=12, every=3, warmup=2)
        straight = curve(os.path.join(folder, 'one'), run, text=text)
        shared = curve(os.path.join(folder, 'three'), experiments.divided(run, 3), stops, text)
        check(len(straight) == 4 and straight[-1] < straight[0] - 0.1, '%s: %s' % (variant, straight))
        check(max(abs(a - b) for a, b in zip(straight, shared)) < 1e-4, '%s: %s, not %s' % (variant, shared, straight))


@case
def keys_and_values_are_stored_in_fewer_bytes(folder):
    import dataclasses

    import experiments
    import models
    import results
    import tables
    import torch
    run = dataclasses.replace(experiments.stored()[0], length=70, layers=1, batch=4, steps=12, every=6, warmup=2)
    curve(folder, run, text=text_of_squares(folder))
    final = results.record_of(folder, run.name)['final']
    losses = [final['loss, ' + kind] for kind in experiments.STORED]
    check(abs(losses[0] - final['loss']) < 1e-5, 'f32: %s' % final)
    check(len(set(losses)) == len(losses) and max(abs(loss - losses[0]) for loss in losses) < 0.05, 'losses: %s' % losses)
    lines = tables.stored(results.rows_of(run, folder)).splitlines()
    check(lines[0] == '| type | bytes of a row | softmax, bits | more than f32 |' and len(lines) == 2 + len(losses), lines[0])
    check(lines[2].startswith('| f32 | 256 | ') and lines[2].endswith(' | +0.00000 |'), lines[2])
    spec = {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 64}}
    q, k, v = arrays(H=2, n=50, m=50, D=64)
    attend = models.attention(spec, 2, 1)
    for kind, size in list(experiments.STORED.items())[1:]:
        rows = [attnc.quantize(a, kind) for a in (k, v)]
        check(rows[0].rows.strides[2] == size, '%s: a row has %s bytes' % (kind, rows[0].rows.strides[2]))
        if kind not in ('fp8', 'q4_0'): continue
        wanted = attend(*map(torch.from_numpy, (q, *(a.dequantize() for a in rows))))
        close(models.Stored(attend, spec, kind)(*map(torch.from_numpy, (q, k, v))), wanted.detach(), 1e-5, kind)


@case
def what_is_fixed_was_learned(folder):
    import worker
    learned = one()
    fixed = one(variant='fixed', coefficients_of=learned.name)
    try:
        worker.spec_of(fixed, folder)
    except worker.Missing as missing:
        check(str(missing) == learned.name, str(missing))
    else:
        raise Failure('no error without the run that learns')
    curve(folder, learned)
    with open(os.path.join(folder, 'runs', learned.name + '.json')) as file:
        coefficients = json.load(file)['coefficients']
    check(worker.spec_of(fixed, folder)['similarity'] ==
          {'polynomial_square': {'degree': 2, 'coefficients': coefficients}}, 'the spec')
    curve(folder, fixed)


@case
def a_column_has_one_number_of_steps(folder):
    import tables
    made = tables.text_bits([{'variant': 'softmax', 'length': 512.0, 'steps': steps, 'loss': loss, 'done': done} for
                             steps, loss, done in ((64.0, 2.0, 1.0), (64.0, 3.0, 1.0), (128.0, 1.0, 1.0), (256.0, 1.0, 0.0))])
    wanted = ['|  | 512, 64 steps | 512, 128 steps |', '| --- | --- | --- |', '| softmax | 3.607 | 1.443 |']
    check(made.splitlines() == wanted, made)


@case
def tables_keep_runs_that_were_made_elsewhere(folder):
    import results
    kept = os.path.join(folder, 'kept.csv')
    with open(kept, 'w') as file: file.write('group,variant,length,seed,loss\ntext,softmax,8,1,3\ntext,elu + 1,8,1,2\n')
    made = results._with_kept([{'group': 'text', 'variant': 'softmax', 'length': 8, 'seed': 1, 'loss': 1}], kept)
    check([(row['variant'], str(row['loss'])) for row in made] == [('elu + 1', '2'), ('softmax', '1')], made)


@case
def compositions_compute_what_kernels_do(folder):
    import torch

    import models
    import variants
    every = variants.causal_variants(16)
    local = variants.polysketch(8, 'random', 16, local=16)
    for name, spec in (('softmax', every['softmax']), ('sketched', variants.polysketch(8, 'random', 16)), ('local', local)):
        q, k, v = (torch.from_numpy(a) for a in arrays(H=2, G=2, n=50, m=50, D=16))
        ours, theirs = (models.attention(spec, 2, 1, kernels)(q, k, v) for kernels in ('attnc', 'torch'))
        close(ours.detach(), theirs.detach(), 2e-4, name)


@case
def wrong_use(folder):
    for words, message in ((('thess',), "train: error: unknown group 'thess'; expected one of thesis, "),
                           (('--only', 'nothing'), 'train: error: no run matches'),
                           (('delta', '--ranks', '2'), 'train: error: --ranks cannot divide the sequences of '
                            'delta/gated_deltanet_+_conv,_2_processes/512/1; '),
                           (('--ranks', '0'), 'train: error: --ranks takes a number from 1'),
                           (('--jobs', '0'), 'train: error: --jobs takes a number from 1')):
        status, out, err = say(folder, *words)
        check(status == 2 and not out and err.startswith(message), '%s: %d %s%s' % (words, status, out, err))
    status, out, err = say(folder, '--tables')
    check(status == 1 and 'train: error: there are no runs in ' + folder in err, '--tables: %d %s%s' % (status, out, err))
    status, out, err = say(folder, '--list')
    check(status == 0 and out.count('thesis/') == 90 and 'text/softmax/8192/1' in out, out[:300])
    check(not os.listdir(folder), 'listing leaves files')


if __name__ == '__main__':
    sys.exit(main(__doc__))
