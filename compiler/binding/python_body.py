
_OTHER_NAMES = {"f32": ("float32",), "f64": ("float64",), "f16": ("float16",),
                "bf16": ("bfloat16", "uint16"), "i32": ("int32",)}
_BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "uint16": 2, "int32": 4}
_DTYPES = ("f32", "bf16", "f16", "f64", "i32")  # enum attn_dtype

_ERRORS = {  # enum attn_error of attnrt.h
    -1: (ValueError, "a size or stride of the problem is negative, or heads is no multiple of kv_heads"),
    -2: (ValueError, "an array is missing"),
    -3: (ValueError, "a parameter is missing"),
    -4: (MemoryError, "the workspace is too small"),
    -5: (ValueError, "sizes whose product overflows"),
    -6: (RuntimeError, "the workspace is not aligned"),
    -7: (MemoryError, "out of memory"),
    -8: (OSError, "a file could not be read or written"),
    -9: (ValueError, "a file is not what it should be"),
    -10: (RuntimeError, "this machine has none of the instruction sets the kernel was made for"),
    -11: (ValueError, "ids fall from a key to the next; their order has to be ascending"),
}


# ---- attnrt.h


class _Strides(ctypes.Structure):
    _fields_ = [("batch", ctypes.c_int64), ("head", ctypes.c_int64), ("row", ctypes.c_int64)]


class _Problem(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("batch", "heads", "kv_heads", "n_q", "n_k")] + [
        ("q", _Strides), ("k", _Strides), ("v", _Strides), ("out", _Strides),
        ("threads", ctypes.c_int), ("workspace_bytes", ctypes.c_size_t), ("saved", ctypes.c_void_p),
        ("saved_bytes", ctypes.c_size_t), ("dout", _Strides), ("dq", _Strides), ("dk", _Strides), ("dv", _Strides)]


class _Param(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int),
                ("shape", ctypes.c_int64 * 4), ("offset", ctypes.c_size_t), ("random", ctypes.c_int)]


class _Kernel(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("version", ctypes.c_char_p), ("dtype", ctypes.c_int),
        ("head_dim", ctypes.c_int64), ("value_dim", ctypes.c_int64),
        ("params", ctypes.c_int), ("param", ctypes.POINTER(_Param)), ("params_bytes", ctypes.c_size_t),
        ("params_size", ctypes.CFUNCTYPE(ctypes.c_size_t)),
        ("params_init", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)),
        ("workspace", ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.POINTER(_Problem))),
        ("forward", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Problem), *[ctypes.c_void_p] * 6)),
        ("saved", ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.POINTER(_Problem))),
        ("backward_workspace", ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.POINTER(_Problem))),
        ("backward", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Problem), *[ctypes.c_void_p] * 11))]


_lock = threading.Lock()
_local = threading.local()
# the library, whether it runs on GNU's OpenMP, its description of the kernel, the offset of each parameter's pointer
_loaded = None
_seeded = {}  # what the last few seeds made: the parameters, and the memory they point to
# The process that has called a kernel on several threads;
# the modules of all kernels share it, as they share OpenMP's threads.
_threaded = sys.modules.setdefault("_attnc_threaded", types.SimpleNamespace(process=None))


def load(path=None):
    """Loads the compiled kernel from `path`;
    else from libNAME.so beside this file, as the first call of forward() does."""
    global _loaded
    if path is None:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib" + NAME + ".so")
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path} is not there; compile it: {COMPILE}")
    library = ctypes.CDLL(os.path.abspath(path))
    try:
        kernel = _Kernel.in_dll(library, NAME + "_kernel")
    except ValueError:
        raise OSError(f"{path} has no kernel {NAME}") from None
    offsets = {kernel.param[k].name.decode(): kernel.param[k].offset for k in range(kernel.params)}
    found = kernel.version.decode(), _DTYPES[kernel.dtype], kernel.head_dim, kernel.value_dim, sorted(offsets)
    if found != (VERSION, DTYPE, HEAD_DIM, VALUE_DIM, sorted(name for name, *_ in PARAMETERS)):
        raise OSError(f"{path} was compiled from other C than was made with {os.path.basename(__file__)}; "
                      f"compile it anew: {COMPILE}")
    gnu = hasattr(library, "GOMP_parallel") and not hasattr(library, "__kmpc_fork_call")  # LLVM's OpenMP has both
    with _lock:
        _loaded = library, gnu, kernel, offsets
        _seeded.clear()


# ---- arrays of others, where they are


class _Tensor(ctypes.Structure):  # DLTensor of dlpack.h
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64)]


class _VersionedTensor(ctypes.Structure):  # DLManagedTensorVersioned
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


def _is(value, module, kind):
    """Whether a value is of a class of a library that may not be there."""
    kind = getattr(sys.modules.get(module), kind, None)  # there is none while another thread imports the module
    return kind is not None and isinstance(value, kind)


class _Array:
    """An array's address, dtype, shape and strides in elements; `keep` keeps it there."""

    def __init__(self, name, value, writable=False):
        self.name = name
        if writable and (_is(value, "jax", "Array") or _is(value, "tensorflow", "Tensor")):
            raise ValueError(f"{name} is an immutable array ({type(value).__name__}); "
                             f"without {name}= the result is a new one")
        if hasattr(value, "__array_interface__"):
            self._from_interface(name, value, writable)
        elif hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
            self._from_dlpack(name, value, writable)
        elif _is(value, "jax", "Array"):
            raise TypeError(f"{name} is traced by JAX (jit, grad, vmap) and has no elements; "
                            f"call {NAME} outside of it, or by jax.pure_callback on NumPy arrays")
        else:
            raise TypeError(f"{name} is a {type(value).__name__}; expected a NumPy array, or a tensor with __dlpack__")
        if self.strides is None:
            self.strides = [1] * len(self.shape)
            for axis in range(len(self.shape) - 2, -1, -1):
                self.strides[axis] = self.strides[axis + 1] * max(self.shape[axis + 1], 1)
        if self.dtype in _BYTES and 0 not in self.shape and self.address % _BYTES[self.dtype]:
            raise ValueError(f"{name} is not aligned to its elements")

    def _from_interface(self, name, value, writable):
        interface = value.__array_interface__
        if _is(value, "numpy.ma", "MaskedArray") or interface.get("mask") is not None:
            raise TypeError(f"{name} is a masked array, and its mask would be lost; pass {name}.filled(…)")
        typestr = interface["typestr"]
        kinds = {"f": "float", "i": "int", "u": "uint", "b": "bool", "c": "complex"}
        self.dtype = kinds.get(typestr[1], typestr) + (str(8 * int(typestr[2:])) if typestr[1] in "fiuc" else "")
        if typestr[1:] == "V2" and str(getattr(value, "dtype", "")) == "bfloat16":
            self.dtype = "bfloat16"
        if typestr[0] == (">" if sys.byteorder == "little" else "<") and int(typestr[2:]) > 1:
            self.dtype += " of the other byte order"
        if interface.get("data") is None:
            raise TypeError(f"{name} does not say where its elements are")
        self.address, read_only = interface["data"]
        if writable and read_only:
            raise ValueError(f"{name} is read-only")
        self.shape, self.strides, self.keep = list(interface["shape"]), interface.get("strides"), value
        if self.strides is not None:
            size = int(typestr[2:])
            if any(stride % size for stride in self.strides):
                raise ValueError(f"{name}: its strides {list(self.strides)} are no multiples of {size} bytes")
            self.strides = [stride // size for stride in self.strides]

    def _from_dlpack(self, name, value, writable):
        device = tuple(int(number) for number in value.__dlpack_device__())
        if device[0] not in (1, 3):  # kDLCPU, kDLCUDAHost
            raise ValueError(f"{name} is on another device ({getattr(value, 'device', device)}); "
                             f"{NAME} runs on the CPU")
        try:
            try:
                self.keep = value.__dlpack__(max_version=(1, 0))  # the capsule frees what it holds unless it is renamed
            except TypeError:  # DLPack before 1.0
                self.keep = value.__dlpack__()
        except (BufferError, RuntimeError) as error:
            raise ValueError(f"{name}: {error}") from error
        kind = _capsule_name(self.keep)
        address = _capsule_pointer(self.keep, kind)
        if kind == b"dltensor_versioned":
            versioned = _VersionedTensor.from_address(address)
            if writable and versioned.flags & 1:
                raise ValueError(f"{name} is read-only")
            tensor = versioned.tensor
        else:
            tensor = _Tensor.from_address(address)
        kinds = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
        self.dtype = kinds.get(tensor.code, "dtype code %d, " % tensor.code) + str(tensor.bits)
        if tensor.lanes != 1:
            self.dtype += "x%d" % tensor.lanes
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.shape = [tensor.shape[axis] for axis in range(tensor.ndim)]
        self.strides = [tensor.strides[axis] for axis in range(tensor.ndim)] if tensor.strides else None


def _expect(name, array, dtype, shape, sizes):
    """Checks dtype and shape, in which words stand for sizes that are met for the first time
    or have to be as they were."""
    if array.dtype not in _OTHER_NAMES[dtype]:
        raise TypeError(f"{name} is {array.dtype}; {NAME} takes {' or '.join(_OTHER_NAMES[dtype])}")
    fits = len(array.shape) == len(shape)
    for want, have in zip(shape, array.shape) if fits else ():
        fits = fits and have == (sizes.get(want, have) if isinstance(want, str) else want)
    if not fits:
        known = ", ".join(f"{word} = {sizes[word]}" for word in shape if word in sizes)
        wanted = ", ".join(map(str, shape))
        raise ValueError(f"{name} has shape {array.shape}; expected [{wanted}]{' with ' + known if known else ''}")
    sizes.update((want, have) for want, have in zip(shape, array.shape) if isinstance(want, str))


def _strides(name, array, written=False):
    """Strides of [batch, heads, rows, columns] as the kernel takes them."""
    columns, rows = array.shape[3], array.shape[2]
    if 0 in array.shape:
        return _Strides(0, 0, columns)
    if columns > 1 and array.strides[3] != 1:
        raise ValueError(f"{name}: its last axis has to be contiguous, "
                         f"but has a stride of {array.strides[3]} elements (strides {list(array.strides)})")
    row = array.strides[2] if rows > 1 else columns
    batch, head = (stride if extent > 1 else 0 for stride, extent in zip(array.strides, array.shape[:2]))
    if row < columns or batch < 0 or head < 0:
        raise ValueError(f"{name}: rows that overlap or run backwards (strides {list(array.strides)})")
    if written and any(extent > 1 and stride == 0 for stride, extent in zip(array.strides, array.shape[:3])):
        raise ValueError(f"{name}: elements that share memory (strides {list(array.strides)})")
    return _Strides(batch, head, row)


def _check_contiguous(name, array):
    stride = 1
    for extent, has in zip(reversed(array.shape), reversed(array.strides)):
        if extent > 1 and has != stride and 0 not in array.shape:
            raise ValueError(f"{name} has to be contiguous, but has strides {list(array.strides)}")
        stride *= extent


def _extent(array):
    """An array's first byte and the end of its last, how many are contiguous,
    and the strides in bytes from one such run to others."""
    size = _BYTES[array.dtype]
    run, strides, end = size, [], array.address + size
    for stride, extent in sorted((stride * size, extent)
                                 for stride, extent in zip(array.strides, array.shape) if extent > 1):
        end += stride * (extent - 1)
        if not strides and stride <= run:
            run += stride * (extent - 1)
        else:
            strides.append(stride)
    return array.address, end, run, strides


def _overlap(one, two):
    """Whether two arrays share memory.
    Slices of one array are told apart where the same distances lead from run to run in both."""
    if 0 in one.shape or 0 in two.shape:
        return False
    begin, end, run, strides = _extent(one)
    other_begin, other_end, other_run, other_strides = _extent(two)
    if end <= other_begin or other_end <= begin:
        return False
    period = 0  # every run of either begins a multiple of it after the first one
    for stride in strides + other_strides:
        period = math.gcd(period, stride)
    offset = (other_begin - begin) % period if period else 0
    return not run <= offset <= period - other_run


def _empty(like, array, shape):
    """A new array that becomes the result where `like` is q."""
    if _is(like, "torch", "Tensor"):
        return sys.modules["torch"].empty(shape, dtype=like.dtype, device="cpu")
    import numpy

    dtype = getattr(like, "dtype", array.dtype) if hasattr(like, "__array_interface__") else array.dtype
    if str(dtype) == "bfloat16":
        try:
            from ml_dtypes import bfloat16 as dtype  # NumPy has none of its own; JAX brings this one
        except ImportError:
            raise TypeError("NumPy has no bfloat16 to make the result with; install ml_dtypes, or pass out=") from None
    return numpy.empty(shape, dtype)


def _result(q, made):
    """What _empty made, as an array of q's library."""
    if _is(q, "torch", "Tensor") or hasattr(q, "__array_interface__") or not hasattr(q, "__array_namespace__"):
        return made
    namespace = q.__array_namespace__()
    # DLPack takes no bfloat16 from NumPy
    return namespace.asarray(made) if str(made.dtype) == "bfloat16" else namespace.from_dlpack(made)


def _check_fork(library, threads):
    """GNU's OpenMP hangs in the child of a process in which it has had several threads."""
    if (threads or library.omp_get_max_threads()) < 2:
        return
    if _threaded.process not in (None, os.getpid()):
        raise RuntimeError(
            f"{NAME}: this process was forked from one that had called a kernel on several threads, "
            "and would hang on several; "
            "pass threads=1, or start processes by the method 'spawn' of multiprocessing")
    _threaded.process = os.getpid()


def _aligned(memory):
    address = ctypes.addressof(memory)
    return address + -address % 64


def _workspace(size):
    """Memory of this thread, which is kept for its next calls."""
    memory = getattr(_local, "workspace", None)
    if memory is None or len(memory) < size + 64:
        memory = _local.workspace = (ctypes.c_char * (size + 64))()
    return _aligned(memory)


def _checked(error):
    if error:
        kind, says = _ERRORS.get(error, (RuntimeError, "error %d" % error))
        raise kind(f"{NAME}: {says}")


def _parameters(kernel, offsets, given, seed, sizes):
    """The kernel's struct of parameters, and what has to stay alive with it."""
    if not PARAMETERS:
        return None, []
    params, keep = (ctypes.c_char * kernel.params_bytes)(), []
    wanted = [name for name, _, _, from_seed in PARAMETERS if from_seed and given[name] is None]
    if wanted and seed is None:
        shapes = ", ".join(f"{name.replace('.', '_')} {list(shape)}"
                           for name, _, shape, _ in PARAMETERS if name in wanted)
        raise ValueError(f"{NAME} needs seed=, or the parameters {shapes}")
    if wanted:
        with _lock:
            made = _seeded.get(seed)
            if made is None:
                made = (ctypes.c_char * kernel.params_bytes)(), (ctypes.c_char * (kernel.params_size() + 64))()
                _checked(kernel.params_init(ctypes.addressof(made[0]), seed, _aligned(made[1])))
                while len(_seeded) > 3:
                    del _seeded[next(iter(_seeded))]
                _seeded[seed] = made
        ctypes.memmove(params, made[0], kernel.params_bytes)
        keep.append(made)
    for name, dtype, shape, from_seed in PARAMETERS:
        word = name.replace(".", "_")
        if given[name] is None:
            if not from_seed:
                raise ValueError(f"{NAME} needs the parameter {word}, "
                                 f"{_OTHER_NAMES[dtype][0]} [{', '.join(map(str, shape))}]")
            continue
        array = _Array(word, given[name])
        _expect(word, array, dtype, shape, sizes)
        _check_contiguous(word, array)
        ctypes.c_void_p.from_buffer(params, offsets[name]).value = array.address
        keep.append(array)
    return params, keep


_Written = collections.namedtuple("_Written", "array given like made")


class _Call:
    """A call in the making: the kernel, the sizes and strides of its arrays, what it reads, and where it writes."""

    def __init__(self, threads, seed):
        if _loaded is None:
            load()
        self.library, self.gnu, self.kernel, self.offsets = _loaded
        for word, value, most in (("threads", threads, 2**31 - 1), ("seed", seed, 2**64 - 1)):
            if value is not None and not 0 <= operator.index(value) <= most:
                raise ValueError(f"{word} is {value}; expected 0 to {most}")
        self.sizes, self.problem, self.seed, self.params = {}, _Problem(threads=threads), seed, None
        self.read, self.written, self.keep = [], [], []

    def reads(self, name, value, shape):
        """An array of [batch, heads, rows, columns] that is read."""
        array = _Array(name, value)
        _expect(name, array, DTYPE, shape, self.sizes)
        setattr(self.problem, name, _strides(name, array))
        self.read.append(array)
        return array

    def inputs(self, q, k, v):
        """Reads q, k and v, which say how large everything is."""
        arrays = [self.reads("q", q, ("B", "H", "n_q", HEAD_DIM)), self.reads("k", k, ("B", "G", "n_k", HEAD_DIM)),
                  self.reads("v", v, ("B", "G", "n_k", VALUE_DIM))]
        sizes = self.sizes
        if sizes["H"] and (sizes["G"] == 0 or sizes["H"] % sizes["G"]):
            raise ValueError(
                f"q has {sizes['H']} heads and k {sizes['G']}: the first has to be a multiple of the second")
        for field, word in zip(("batch", "heads", "kv_heads", "n_q", "n_k"), ("B", "H", "G", "n_q", "n_k")):
            setattr(self.problem, field, sizes[word])
        return arrays

    def parameters(self, given):
        params, keep = _parameters(self.kernel, self.offsets, given, self.seed, self.sizes)
        self.params = ctypes.addressof(params) if params is not None else None
        self.keep = [params] + keep
        self.read += [array for array in keep if isinstance(array, _Array)]

    def writes(self, name, value, like, like_array, shape, dtype=DTYPE):
        """An array that is written: the caller's, or a new one like another; a parameter's has no strides."""
        extents = [self.sizes.get(extent, extent) for extent in shape]
        made = _empty(like, like_array, extents) if value is None else value
        array = _Array(name, made, writable=True)
        _expect(name, array, dtype, shape, self.sizes)
        if hasattr(self.problem, name):
            setattr(self.problem, name, _strides(name, array, written=True))
        else:
            _check_contiguous(name, array)
        self.written.append(_Written(array, value is not None, like, made))
        return array

    def run(self, function, workspace, *arguments):
        """Calls the kernel, unless there is nothing to write. Returns what it wrote, by name."""
        for number, written in enumerate(self.written):
            array = written.array
            others = [(other, "read") for other in self.read]
            others += [(other.array, "written") for other in self.written[:number]]
            for other, what in others if written.given else ():
                if _overlap(array, other):
                    raise ValueError(
                        f"{array.name} shares memory with {other.name}, which is {what} while {array.name} is written")
        if any(0 not in written.array.shape for written in self.written):
            if self.gnu:
                _check_fork(self.library, self.problem.threads)
            self.problem.workspace_bytes = workspace(ctypes.byref(self.problem))
            room = _workspace(self.problem.workspace_bytes)
            _checked(function(ctypes.byref(self.problem), self.params, *arguments, room))
        return {written.array.name: written.made if written.given else _result(written.like, written.made)
                for written in self.written}


def _forward(q, k, v, given, seed, out, threads, saved=None):
    call = _Call(threads, seed)
    arrays = call.inputs(q, k, v)
    target = call.writes("out", out, q, arrays[0], ("B", "H", "n_q", VALUE_DIM))
    call.parameters(given)
    if saved is not None:
        saved._take(call)
    return call.run(call.kernel.forward, call.kernel.workspace, *(array.address for array in arrays),
                    target.address)["out"]
