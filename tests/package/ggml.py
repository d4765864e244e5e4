"""Calls ggml through ctypes: tensors as NumPy arrays, graphs of one operation, backends."""
import ctypes
import glob
import os

import numpy as np

TYPES = {'f32': 0, 'f16': 1, 'bf16': 30, 'i32': 26, 'q8_0': 8, 'q4_0': 2, 'q4_1': 3, 'q5_0': 6, 'q5_1': 7, 'iq4_nl': 20,
         'q1_0': 41}
PLAIN = {'f32': np.float32, 'f16': np.float16, 'i32': np.int32}
P, I, L, F = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_float


class InitParams(ctypes.Structure):
    _fields_ = [('mem_size', ctypes.c_size_t), ('mem_buffer', P), ('no_alloc', ctypes.c_bool)]


class Ggml:
    """ggml's libraries in a folder, or in the Python package libggml."""

    def __init__(self, folder):
        libraries = [self.load(folder, name) for name in ('libggml-base.so', 'libggml-cpu.so', 'libggml.so')]
        self.functions = {}
        self.libraries = libraries
        self.cpu = self('ggml_backend_cpu_init', P)
        self('ggml_backend_cpu_set_n_threads', None, P, I)(self.cpu(), 2)

    @staticmethod
    def load(folder, name):
        return ctypes.CDLL(next(iter(sorted(glob.glob(os.path.join(glob.escape(folder), 'lib*', name)) +
                                            glob.glob(os.path.join(glob.escape(folder), name))))))

    def __call__(self, name, result, *arguments):
        for library in self.libraries:
            if hasattr(library, name):
                function = library[name]   # a new object each time, so that its types are its own
                function.restype, function.argtypes = result, arguments
                return function
        raise AttributeError(name)

    def backend(self, path):
        """Loads a backend with two threads, and returns it with its device."""
        library = self('ggml_backend_load', P, ctypes.c_char_p)(os.fsencode(path))
        if not library:
            return None, None
        device = self('ggml_backend_reg_dev_get', P, P, ctypes.c_size_t)(library, 0)
        backend = self('ggml_backend_dev_init', P, P, P)(device, None)
        self.set_threads(library, backend, 2)
        return backend, device

    def set_threads(self, library, backend, threads):
        name = b'ggml_backend_set_n_threads'
        address = self('ggml_backend_reg_get_proc_address', P, P, ctypes.c_char_p)(library, name)
        ctypes.CFUNCTYPE(None, P, I)(address)(backend, threads)


class Graph:
    """Tensors in memory of the CPU, and one operation on them."""

    def __init__(self, ggml, backend):
        self.ggml, self.backend, self.data = ggml, backend, []
        self.context = ggml('ggml_init', P, InitParams)(InitParams(1 << 20, None, True))

    def tensor(self, array, kind='f32'):
        """Returns a new tensor with the elements of the array, whose axes ggml counts from the last one."""
        shape = (1,) * (4 - array.ndim) + array.shape
        t = self.ggml('ggml_new_tensor_4d', P, P, I, L, L, L, L)(self.context, TYPES[kind], *shape[::-1])
        self.data.append((t, array, kind))
        return t

    def permute(self, tensor, *axes):
        return self.ggml('ggml_permute', P, P, P, I, I, I, I)(self.context, tensor, *axes)

    def view(self, tensor, shape, strides, offset=0):
        """strides: in bytes, without that of the first axis."""
        return self.ggml('ggml_view_4d', P, P, P, L, L, L, L, *(ctypes.c_size_t,) * 4)(
            self.context, tensor, *shape, *strides, offset)

    def stored(self, array, kind):
        """Returns the bytes of the array in a type of ggml."""
        if kind in PLAIN:
            return np.ascontiguousarray(array, PLAIN[kind])
        flat = np.ascontiguousarray(array, np.float32)
        rows, columns = flat.size // flat.shape[-1], flat.shape[-1]
        size = self.ggml('ggml_row_size', ctypes.c_size_t, I, L)(TYPES[kind], columns) * rows
        out = np.empty(size, np.uint8)
        self.ggml('ggml_quantize_chunk', ctypes.c_size_t, I, P, P, L, L, L, P)(
            TYPES[kind], flat.ctypes.data, out.ctypes.data, 0, rows, columns, None)
        return out

    def values(self, array, kind):
        """Returns the array with the values that a type can store."""
        stored, flat = self.stored(array, kind), array.astype(np.float32)
        if kind in PLAIN: return stored.astype(np.float32)
        if kind == 'bf16': return (stored.view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(flat.shape)
        block = stored.reshape(-1, {'q8_0': 34, 'q4_0': 18}[kind])
        scale, bits = block[:, :2].copy().view(np.float16).astype(np.float32), block[:, 2:]
        number = bits.view(np.int8) if kind == 'q8_0' else np.concatenate([bits & 15, bits >> 4], 1).astype(np.int8) - 8
        return (scale * number).reshape(flat.shape).astype(np.float32)

    def ready(self, result):
        """Allocates and fills the tensors. Returns the graph and its memory."""
        g = self.ggml
        graph = g('ggml_new_graph', P, P)(self.context)
        g('ggml_build_forward_expand', None, P, P)(graph, result)
        buffer = g('ggml_backend_alloc_ctx_tensors', P, P, P)(self.context, self.backend)
        for tensor, array, kind in self.data:
            stored = self.stored(array, kind)
            g('ggml_backend_tensor_set', None, P, P, ctypes.c_size_t, ctypes.c_size_t)(
                tensor, stored.ctypes.data, 0, stored.nbytes)
        return graph, buffer

    def out(self, result):
        out = np.empty(self.ggml('ggml_nelements', L, P)(result), np.float32)
        self.ggml('ggml_backend_tensor_get', None, P, P, ctypes.c_size_t, ctypes.c_size_t)(
            result, out.ctypes.data, 0, out.nbytes)
        return out

    def compute(self, result, backends):
        """Returns the result by each backend, flat."""
        g = self.ggml
        graph, buffer = self.ready(result)
        results = []
        for backend in backends:
            unset = np.full(g('ggml_nelements', L, P)(result), np.nan, np.float32)
            g('ggml_backend_tensor_set', None, P, P, ctypes.c_size_t, ctypes.c_size_t)(
                result, unset.ctypes.data, 0, unset.nbytes)
            status = g('ggml_backend_graph_compute', I, P, P)(backend, graph)
            results.append((status, self.out(result)))
        g('ggml_backend_buffer_free', None, P)(buffer)
        return results

    def free(self):
        self.ggml('ggml_free', None, P)(self.context)
