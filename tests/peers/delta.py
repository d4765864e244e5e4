#!/usr/bin/env python3
"""Times the gated delta rule: attnc, a kernel written by hand, ggml and transformers, in one run and one process.

    delta.py --floor FILE.c --prepare DIR   compiles the kernels into DIR; needs attnc and clang
    delta.py --use DIR                      times them; needs no compiler

DIR can be copied to another machine. Each peer that is missing is left out."""
import argparse
import ctypes
import glob
import json
import os
import shutil
import subprocess
import sys
import time

# Idle threads of one library must not take cores from the next one.
os.environ.setdefault('KMP_BLOCKTIME', '5')

import numpy as np

import measure
import ours

D = 128
GATED = {'prepare': '[]', 'shape.head_dim': D}
PLAIN = {'shape.head_dim': D, 'emit': '[forward]'}
KERNELS = {  # name: (spec, settings)
    'raw': ('gated_deltanet', {**GATED, 'emit': '[forward]'}),
    'prepared': ('gated_deltanet', PLAIN),
    'bf16': ('gated_deltanet', {**PLAIN, 'dtype': 'bf16'}),
    'trained': ('gated_deltanet', {'shape.head_dim': D, 'emit': '[forward, backward]'}),
    'decode': ('gated_deltanet', {'shape.head_dim': D, 'emit': '[forward, decode]'}),
    'kda': ('kda', PLAIN),
    'softmax': ('softmax_causal', PLAIN),
    'softmax_decay': ('softmax_causal', {**PLAIN, 'arrays': '{gate: {shape: [B, H, Nk]}}',
                                         'decay': '{log: "gate[b][h][t]"}'}),
    'elu': ('linear_elu', PLAIN),
    'elu_decay': ('linear_elu', {**PLAIN, 'arrays': '{gate: {shape: [B, H, Nk]}}', 'decay': '{log: "gate[b][h][t]"}'}),
}


# ---- compiling ----

def libomp(compiler, folder):
    """Copies LLVM's OpenMP library into the folder, where the kernels look for it."""
    found = subprocess.run([*compiler, '-print-file-name=libomp.so.5'], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(found):
        found = subprocess.run([*compiler, '-print-file-name=libomp.so'], capture_output=True, text=True).stdout.strip()
    shutil.copy(os.path.realpath(found), os.path.join(folder, 'libomp.so.5'))


def prepare(folder, floor):
    os.makedirs(os.path.join(folder, 'ggml'), exist_ok=True)
    compiler, here = ours.compiler(), os.path.dirname(os.path.abspath(__file__))
    share = ['-shared', '-fPIC', '-fopenmp', '-Wl,-rpath,$ORIGIN']
    libomp(compiler, folder)
    for name, (spec, settings) in KERNELS.items():
        measure.say('compiling %s' % name)
        options = [word for key, value in settings.items() for word in ('--set', '%s=%s' % (key, value))]
        ours.make([os.path.join(ours.BUILD, 'attnc'), '--quiet', '-o', folder, *options,
                   os.path.join(ours.ROOT, 'specs', spec + '.yaml')], 'attnc')
        ours.make([*compiler, '-O2', '-std=gnu11', *share, '-I', os.path.join(ours.ROOT, 'runtime'),
                   os.path.join(folder, spec + '.c'), os.path.join(ours.BUILD, 'libattnrt.a'), '-lm',
                   '-o', os.path.join(folder, name + '.so')], name)
    if floor:
        ours.make([*compiler, '-O3', '-march=x86-64-v4', '-mprefer-vector-width=512', '-ffast-math', *share,
                   '-DFLOOR="%s"' % os.path.abspath(floor), os.path.join(here, 'delta_floor.c'), '-lm',
                   '-o', os.path.join(folder, 'floor.so')], 'the floor')
    for path in sys.path:
        for file in glob.glob(os.path.join(path, 'libggml', 'lib*', 'libggml*.so.0')):
            shutil.copy(file, os.path.join(folder, 'ggml'))
    with open(os.path.join(folder, 'kernels.json'), 'w') as f:
        json.dump({name: spec for name, (spec, _) in KERNELS.items()}, f)


# ---- kernels ----

class Kernel:
    """A compiled kernel on arrays [B,H,N,D]. `parameters` are its arrays by name."""

    def __init__(self, folder, name, threads):
        with open(os.path.join(folder, 'kernels.json')) as f:
            spec = json.load(f)[name]
        self.library = ctypes.CDLL(os.path.join(folder, name + '.so'))
        self.kernel, self.threads = ours.Description.in_dll(self.library, spec + '_kernel'), threads

    def bind(self, q, k, v, parameters):
        self.kept = [q, k, v, parameters]
        batch, heads, n, _ = q.shape
        self.problem = ours.Problem(batch=batch, heads=heads, kv_heads=heads, n_q=n, n_k=n, threads=self.threads)
        self.at = ctypes.addressof(self.problem)
        self.table = ctypes.create_string_buffer(max(self.kernel.params_bytes, 8))
        for p in self.kernel.param[:self.kernel.params]:
            ctypes.c_void_p.from_buffer(self.table, p.offset).value = ours.pointer(parameters[p.name.decode()])
        self.out = np.zeros_like(v)
        self.inputs = (ctypes.addressof(self.table), *map(ours.pointer, (q, k, v)))

    def memory(self, size):
        self.kept.append(np.zeros(size + 64, np.uint8))
        return -(-ours.pointer(self.kept[-1]) // 64) * 64

    def call(self, function, *arguments):
        def run():
            error = function(self.at, *arguments)
            if error:
                raise RuntimeError('%s: error %d' % (self.kernel.name.decode(), error))
            return self.out
        return run

    def forward(self, saved=False):
        if saved:
            self.problem.saved = self.memory(self.kernel.saved(self.at))
        return self.call(self.kernel.forward, *self.inputs, ours.pointer(self.out),
                         self.memory(self.kernel.workspace(self.at)))

    def backward(self, dout):
        """Backward with the values that forward saved."""
        gradients = [np.zeros_like(x) for x in self.kept[:3]]
        owned = [np.zeros_like(x) for x in self.kept[3].values()]
        table = (ctypes.c_void_p * len(owned))(*map(ours.pointer, owned))
        self.kept += [dout, gradients, owned, table]
        return self.call(self.kernel.backward, *self.inputs, ours.pointer(self.out), ours.pointer(dout),
                         *map(ours.pointer, gradients), ctypes.addressof(table),
                         self.memory(self.kernel.backward_workspace(self.at)))

    def extend(self):
        state = self.memory(self.kernel.state(self.at))
        self.kernel.state_init(self.at, state)
        return self.call(self.kernel.extend, *self.inputs, ours.pointer(self.out), state,
                         self.memory(self.kernel.extend_workspace(self.at)))


# ---- peers ----

class Init(ctypes.Structure):
    _fields_ = [('size', ctypes.c_size_t), ('buffer', ctypes.c_void_p), ('no_alloc', ctypes.c_bool)]


class Ggml:
    """One operation of ggml on its own arrays [B,N,H,D]."""

    def __init__(self, folder, threads, q, k, v, gate, beta):
        for name in ('base', 'cpu'):
            self.library = ctypes.CDLL(os.path.join(folder, 'ggml', 'libggml-%s.so.0' % name), ctypes.RTLD_GLOBAL)
        call = self.library
        for name in ('init', 'new_tensor_4d', 'gated_delta_net', 'new_graph', 'get_data'):
            getattr(call, 'ggml_' + name).restype = ctypes.c_void_p
        pointer, size = ctypes.c_void_p, ctypes.c_int64
        call.ggml_init.argtypes = [Init]
        call.ggml_new_tensor_4d.argtypes = [pointer, ctypes.c_int] + [size] * 4
        call.ggml_gated_delta_net.argtypes = [pointer] * 7 + [size]
        call.ggml_new_graph.argtypes = call.ggml_get_data.argtypes = [pointer]
        call.ggml_build_forward_expand.argtypes = [pointer] * 2
        call.ggml_graph_compute_with_ctx.argtypes = [pointer, pointer, ctypes.c_int]
        batch, heads, n, dim = q.shape
        arrays = [x.transpose(0, 2, 1, 3) for x in (q, k, v, gate[..., None], beta[..., None])]
        arrays.append(np.zeros((batch, heads, dim, dim), np.float32))
        self.context = call.ggml_init(Init(sum(4 * x.size for x in arrays) + 8 * q.size + (64 << 20), None, False))
        tensors = [self.tensor(np.ascontiguousarray(x)) for x in arrays]
        self.result = call.ggml_gated_delta_net(self.context, *tensors, 1)
        self.graph, self.threads, self.shape = call.ggml_new_graph(self.context), threads, (batch, n, heads, dim)
        call.ggml_build_forward_expand(self.graph, self.result)

    def tensor(self, x):
        t = self.library.ggml_new_tensor_4d(self.context, 0, *x.shape[::-1])
        ctypes.memmove(self.library.ggml_get_data(t), ours.pointer(x), x.nbytes)
        return t

    def __call__(self):
        if self.library.ggml_graph_compute_with_ctx(self.context, self.graph, self.threads):
            raise RuntimeError('ggml_graph_compute failed')
        return self

    def values(self):
        count = int(np.prod(self.shape))
        data = (ctypes.c_float * count).from_address(self.library.ggml_get_data(self.result))
        return np.frombuffer(data, np.float32).reshape(self.shape).transpose(0, 2, 1, 3)


def floor_call(library, threads, q, k, v, gate, beta, out):
    _, heads, n, _ = q.shape
    library.floor_scratch.restype = ctypes.c_size_t
    scratch = np.zeros(library.floor_scratch(n, heads), np.uint8)
    pointers = [ctypes.c_void_p(ours.pointer(x)) for x in (q, k, v, gate, beta, out, scratch)]
    kept = [q, k, v, gate, beta, out, scratch]

    def run():
        library.floor_forward(n, heads, threads, *pointers)
        return kept[5]
    return run


def chunked_of_transformers():
    for model in ('qwen3_next', 'qwen3_5', 'olmo_hybrid'):
        try:
            module = __import__('transformers.models.%s.modeling_%s' % (model, model), fromlist=['x'])
            return module.torch_chunk_gated_delta_rule
        except (ImportError, AttributeError):
            continue
    raise RuntimeError('transformers has no torch_chunk_gated_delta_rule')


def of_torch(q, k, v, gate, beta, dout):
    """Returns the calls of transformers: forward, and forward with backward."""
    import torch
    chunked = chunked_of_transformers()
    with_heads_last = [torch.from_numpy(x).transpose(1, 2).contiguous() for x in (q, k, v, gate, beta, dout)]
    *inputs, upstream = with_heads_last
    leaves = [x.clone().requires_grad_() for x in inputs]

    def forward():
        with torch.no_grad():
            return chunked(*inputs, use_qk_l2norm_in_kernel=True)[0].transpose(1, 2)

    def both():
        for x in leaves:
            x.grad = None
        chunked(*leaves, use_qk_l2norm_in_kernel=True)[0].backward(upstream)
    return forward, both


# ---- the table ----

class Table:
    def __init__(self, limit):
        self.limit, self.rows = limit, []

    def group(self, calls, limit=None, least=3):
        """Times the calls {label: call} alternately. Returns milliseconds by label."""
        usable = {}
        for label, call in calls.items():
            try:
                call()
                usable[label] = call
            except Exception as error:  # a failure of a library is a result
                measure.say('%s: %s' % (label, ' '.join(str(error).split())[:200]))
        best, _ = measure.alternate(list(usable.values()), limit or self.limit, least=least)
        times = dict(zip(usable, (1e3 * b for b in best)))
        for label, t in times.items():
            measure.say('  %-34s %10.3f ms' % (label, t))
        return times

    def row(self, what, top, bottom, target):
        if top and bottom:
            self.rows.append((what, top, bottom, top / bottom, target))

    def print(self):
        print('| figure | ms | ms | ratio | wanted |\n| --- | --- | --- | --- | --- |')
        for what, top, bottom, ratio, target in self.rows:
            print('| %s | %.3f | %.3f | %.2f | %s |' % (what, top, bottom, ratio, target))


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def bf16(x):
    return ((x.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)


def agree(what, a, b, tolerance):
    far = measure.difference(a, b)
    measure.say('difference of %s: %.1e%s' % (what, far, '' if far <= tolerance else ' IS TOO LARGE'))


def long_sequences(table, o, wanted):
    """Forward and backward of o.n tokens."""
    n, heads, threads, folder = o.n, o.heads, o.threads, o.use
    q, k, v, dout = (measure.normal(seed, 1, heads, n, D) for seed in range(4))
    k = unit(k).astype(np.float32)
    gate, beta = -0.05 * np.abs(measure.normal(5, 1, heads, n)), measure.normal(6, 1, heads, n)
    beta = (1 / (1 + np.exp(-beta))).astype(np.float32)
    channel = -0.05 * np.abs(measure.normal(7, 1, heads, n, D))
    kernels = {}

    def forward(name, *arrays, gate=gate):
        kernels[name] = kernel = Kernel(folder, name, threads)
        kernel.bind(*arrays, {'gate': gate, 'beta': beta})
        return kernel.forward(saved=name == 'trained')
    calls = {'attnc, no prepare': forward('raw', q, k, v), 'attnc': forward('prepared', q, k, v),
             'attnc, bf16': forward('bf16', *map(bf16, (q, k, v))),
             'attnc, decay per channel': forward('kda', q, k, v, gate=channel)}
    floor = os.path.join(folder, 'floor.so')
    if os.path.exists(floor) and 'floor' in wanted:
        calls['floor'] = floor_call(ctypes.CDLL(floor), threads, q, k, v, gate, beta, np.zeros_like(v))
    if 'trained' in wanted:
        calls['attnc, forward that saves'] = forward('trained', q, k, v)
        calls['attnc, backward'] = kernels['trained'].backward(dout)
    times = table.group(calls)
    if 'floor' in times:
        agree('floor', calls['floor'](), calls['attnc, no prepare'](), 1e-4)
    table.row('floor / attnc without prepare', times.get('floor'), times['attnc, no prepare'], '>= 0.97')
    table.row('floor / attnc', times.get('floor'), times['attnc'], '')
    table.row('bf16 / f32', times['attnc, bf16'], times['attnc'], '<= 1')
    table.row('decay per channel / scalar', times['attnc, decay per channel'], times['attnc'], '<= 1.3')
    table.row('backward / forward', times.get('attnc, backward'), times.get('attnc, forward that saves'), '<= 3')
    peers = {}
    if 'ggml' in wanted:
        peers['ggml'] = measure.later(Ggml, folder, threads, q, k, v, gate, beta)
    if 'torch' in wanted:
        try:
            peers['transformers'], both = of_torch(q, k, v, gate, beta, dout)
            if 'trained' in wanted:
                peers['transformers, autograd'] = both
        except Exception as error:
            measure.say('transformers: %s' % error)
    if peers:
        peers['attnc, no prepare'], peers['attnc'] = calls['attnc, no prepare'], calls['attnc']
        if 'trained' in wanted:
            peers['attnc, forward and backward'] = lambda: (calls['attnc, forward that saves'](),
                                                            calls['attnc, backward']())
        times = table.group(peers, 4 * table.limit)
    if 'ggml' in times:  # ggml scales q by 1 / sqrt(D)
        agree('ggml', peers['ggml']().values() * D ** 0.5, calls['attnc, no prepare'](), 1e-4)
    if 'transformers' in times:  # the spec scales by 1/8
        agree('transformers', peers['transformers']() * (D ** 0.5 / 8), calls['attnc'](), 1e-4)
    table.row('ggml / attnc', times.get('ggml'), times['attnc, no prepare'], '>= 4')
    table.row('transformers / attnc', times.get('transformers'), times['attnc'], '>= 10')
    table.row('autograd / attnc', times.get('transformers, autograd'), times.get('attnc, forward and backward'),
              '>= 10')


def decays(table, o):
    """The price of a decay for each token."""
    q, k, v = (measure.normal(seed, 1, o.heads, o.n, D) for seed in range(3))
    gate = -0.05 * np.abs(measure.normal(5, 1, o.heads, o.n))
    calls = {}
    for name in ('softmax', 'softmax_decay', 'elu', 'elu_decay'):
        kernel = Kernel(o.use, name, o.threads)
        kernel.bind(q, k, v, {'gate': gate})
        calls[name] = kernel.forward()
    linear = table.group({name: calls[name] for name in ('elu', 'elu_decay')})
    table.row('ELU + 1: with decay / without', linear['elu_decay'], linear['elu'], '<= 1.08')
    if not o.no_softmax:
        quadratic = table.group({name: calls[name] for name in ('softmax', 'softmax_decay')}, least=2)
        table.row('softmax: with decay / without', quadratic['softmax_decay'], quadratic['softmax'], '<= 1.05')


def one_token(table, o, wanted):
    for batch in (1, 16):
        q, k, v = (measure.normal(seed, batch, o.heads, 1, D) for seed in range(3))
        k = unit(k).astype(np.float32)
        gate, beta = -0.05 * np.abs(measure.normal(5, batch, o.heads, 1)), np.full((batch, o.heads, 1), 0.5, np.float32)
        kernel = Kernel(o.use, 'decode', o.threads)
        kernel.bind(q, k, v, {'gate': gate, 'beta': beta})
        calls = {'attnc, one token': kernel.extend()}
        if 'ggml' in wanted:
            calls['ggml, one token'] = measure.later(Ggml, o.use, o.threads, q, k, v, gate, beta)
        floor = os.path.join(o.use, 'floor.so')
        if os.path.exists(floor):
            state, library = np.ones(batch * o.heads * D * D, np.float32), ctypes.CDLL(floor)
            calls['one pass over the states'] = lambda: library.pass_over(
                ctypes.c_long(state.size), o.threads, ctypes.c_void_p(ours.pointer(state)), ctypes.c_float(1))
        times = table.group(calls)
        own = times['attnc, one token']
        table.row('%d sequences, one token: ggml / attnc' % batch, times.get('ggml, one token'), own, '')
        table.row('%d sequences: one pass over the states / attnc' % batch, times.get('one pass over the states'), own,
                  '')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--prepare', metavar='DIR', help='compile the kernels into DIR')
    parser.add_argument('--floor', metavar='FILE', help='the C file of the kernel written by hand, for --prepare')
    parser.add_argument('--use', metavar='DIR', help='time the kernels in DIR')
    parser.add_argument('--threads', type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument('--heads', type=int, default=32)
    parser.add_argument('--n', type=int, default=4096)
    parser.add_argument('--limit', type=float, default=6, help='seconds of calls for a group of rows')
    parser.add_argument('--without', default='', help='any of floor,ggml,torch,trained,long,decays,token')
    parser.add_argument('--no-softmax', action='store_true', help='leave out the two quadratic kernels')
    parser.add_argument('--thread-time', action='store_true', help='count CPU time: for one thread on a busy machine')
    o = parser.parse_args()
    if not o.prepare and not o.use:
        parser.error('--prepare or --use is needed')
    if o.prepare:
        prepare(o.prepare, o.floor)
    if not o.use:
        return
    if o.thread_time:
        measure.clock = time.thread_time
    if 'torch' not in o.without:
        try:
            import torch
            torch.set_num_threads(o.threads)
        except ImportError as error:
            measure.say(str(error))
    wanted = {'floor', 'ggml', 'torch', 'trained', 'long', 'decays', 'token'} - set(o.without.split(','))
    table = Table(o.limit)
    if 'long' in wanted:
        long_sequences(table, o, wanted)
    if 'decays' in wanted:
        decays(table, o)
    if 'token' in wanted:
        one_token(table, o, wanted)
    print('%d threads, %d heads of %d, %d tokens' % (o.threads, o.heads, D, o.n))
    table.print()


if __name__ == '__main__':
    main()
