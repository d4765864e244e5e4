

# ---- gradients


_LEARNED = tuple((name, dtype, shape) for name, dtype, shape, from_seed in PARAMETERS
                 if not from_seed and dtype != "i32")
Gradients = collections.namedtuple(
    "Gradients", ["dq", "dk", "dv"] + ["d" + name.replace(".", "_") for name, _, _ in _LEARNED])


class Saved:
    """What forward() leaves to backward(), a few numbers for each row. It serves one call after the other."""

    def __init__(self):
        self._memory = self._sizes = None

    def _take(self, call):
        """Room for what a call of forward leaves."""
        bytes_ = call.kernel.saved(ctypes.byref(call.problem))
        if self._memory is None or len(self._memory) < bytes_ + 64:
            self._memory = (ctypes.c_char * (bytes_ + 64))()
        self._sizes = dict(call.sizes)
        call.problem.saved, call.problem.saved_bytes = _aligned(self._memory), bytes_

    def _give(self, call):
        """The same for backward, of arrays that are as large."""
        if self._sizes is None:
            raise ValueError("saved is empty; pass it to forward() first")
        for word, size in call.sizes.items():
            if self._sizes.get(word, size) != size:
                raise ValueError(f"saved is of a call of forward() with {word} = {self._sizes[word]}, not {size}")
        self._take(call)


def _check_saved(value):
    if value is not None and not isinstance(value, Saved):
        raise TypeError(f"saved is a {type(value).__name__}; expected {NAME}.Saved()")


def _wanted(wanted, given):
    """Which gradients are computed: those that are wanted, all where that is left open."""
    if wanted is None:
        return Gradients._fields
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in wanted:
        if name not in Gradients._fields:
            raise ValueError(f"there is no gradient {name!r}; there are {', '.join(Gradients._fields)}")
    for name, value in given.items():
        if value is not None and name not in wanted:
            raise ValueError(f"{name}= is given, but wanted has no {name}")
    return wanted


def _backward(q, k, v, out, dout, given, seed, saved, wanted, gradients, threads):
    call = _Call(threads, seed)
    wanted = _wanted(wanted, gradients)
    arrays = call.inputs(q, k, v)
    arrays += [call.reads(name, value, ("B", "H", "n_q", VALUE_DIM)) for name, value in (("out", out), ("dout", dout))]
    call.parameters(given)
    targets, parameters = [], (ctypes.c_void_p * (len(_LEARNED) + 1))()
    for name, like, like_array, shape in (("dq", q, arrays[0], ("B", "H", "n_q", HEAD_DIM)),
                                          ("dk", k, arrays[1], ("B", "G", "n_k", HEAD_DIM)),
                                          ("dv", v, arrays[2], ("B", "G", "n_k", VALUE_DIM))):
        made = call.writes(name, gradients[name], like, like_array, shape) if name in wanted else None
        targets.append(made and made.address)
    for number, (name, dtype, shape) in enumerate(_LEARNED):
        word = name.replace(".", "_")
        if "d" + word in wanted:
            like = next(array for array in call.read if array.name == word)
            parameters[number] = call.writes("d" + word, gradients["d" + word], given[name], like, shape, dtype).address
    if saved is not None:
        saved._give(call)
    made = call.run(call.kernel.backward, call.kernel.backward_workspace, *(array.address for array in arrays),
                    *targets, ctypes.addressof(parameters) if _LEARNED else None)
    return Gradients(*map(made.get, Gradients._fields))
