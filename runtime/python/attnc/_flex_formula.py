"""score_mod and mask_mod of flex_attention as formulas of a kernel. They are called once with symbols in place of numbers.
Each operation on a symbol adds to a C expression, and each captured tensor becomes an array of the kernel. PyTorch itself
says which dtype a result has: it computes the operation once, on ones."""
from __future__ import annotations

import contextlib
import dataclasses
import linecache
import math
import operator
import os
import re
import sys
import traceback
from typing import Any, Callable, List, Optional, Sequence, Tuple, TypeVar, Union

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

from . import _operators
from ._formula import Declared
from ._operators import _NARROW

_INT32 = torch.iinfo(torch.int32)
_HERE = (os.path.dirname(os.path.abspath(__file__)), os.path.dirname(torch.__file__))
_ONES = {dtype: torch.ones((), dtype=dtype, device="cpu") for dtype in (
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
    torch.float64)}


class Untranslatable(NotImplementedError):
    """A score_mod or mask_mod has an operation that no kernel can compute."""


def _line() -> str:
    """Returns the line of the user's function that is running, with its place, or ""."""
    for frame, line in traceback.walk_stack(sys._getframe(1)):
        file = frame.f_code.co_filename
        if not os.path.abspath(file).startswith(_HERE):
            return f"\n  {file}:{line}: {linecache.getline(file, line).strip()}"
    return ""


def _refuse(what: str) -> Untranslatable:
    """Returns the error for an operation, with the line of the user's function that has the operation."""
    return Untranslatable(f"flex_attention cannot compile {what}{_line()}")


# ---- symbols

_Number = Union[int, float]
_Ends = Tuple[Optional[_Number], Optional[_Number]]  # the least and the greatest value, None if unknown


def _kind(dtype: torch.dtype) -> str:
    """Returns "bool", "int" or "real"."""
    return "bool" if dtype == torch.bool else "real" if dtype.is_floating_point else "int"


@dataclasses.dataclass(eq=False)
class Symbol:
    """A scalar of a formula: its C text, its dtype in PyTorch, and its least and greatest value. `hidden` is a C condition
    under which it is -inf, "" if it never is; the text has any value then. `source` is the captured tensor of which the
    text is an element. `number` is its value if it is a constant."""

    trace: _Trace
    text: str
    dtype: torch.dtype
    low: Optional[_Number] = None
    high: Optional[_Number] = None
    hidden: str = ""
    source: Optional[_Captured] = None
    number: Optional[_Number] = None
    shape = torch.Size()
    device = torch.device("cpu")
    ndim = 0
    requires_grad = False

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _apply(func, args, kwargs or {})

    def __bool__(self) -> bool:
        raise _refuse("a Python condition on a position or a score; torch.where() chooses between two values")

    def __index__(self) -> int:
        raise _refuse("the use of a position as a Python integer")

    def __float__(self) -> float:
        raise _refuse("the use of a position or a score as a Python number; functions of torch take it")

    __int__ = __index__

    def __getattr__(self, name: str) -> Any:
        function = getattr(Tensor, name, None)
        if name.startswith("__") or not callable(function):
            raise AttributeError(name)
        return lambda *args, **kwargs: _apply(function, (self, *args), kwargs)

    @property
    def kind(self) -> str:
        return _kind(self.dtype)

    @property
    def ends(self) -> _Ends:
        return (0, 1) if self.dtype == torch.bool else (self.low, self.high)

    def used(self) -> Symbol:
        """Returns this symbol, whose value is now used for more than comparisons with captured integers."""
        if self.source is not None:
            self.source.use()
        return self


@dataclasses.dataclass(eq=False)
class _Captured:
    """A captured tensor, and the texts of the subscripts of each axis so far. `ends` are its least and greatest integer if
    they are known. `used` is where its integers were used for more than comparisons, or "". `constants` are the numbers
    that they are compared with, and `peers` the tensors."""

    name: str
    tensor: Tensor
    axes: list[set[str]]
    ends: _Ends
    used: str = ""
    constants: set[int] = dataclasses.field(default_factory=set)
    peers: list[_Captured] = dataclasses.field(default_factory=list)

    def use(self) -> None:
        if not self.used and self.tensor.dtype == torch.int64:
            self.used = _too_wide(self.tensor.shape) + _line()
            if self.ends[0] is not None and not _fits(self.ends):
                raise Untranslatable(self.used)


def _too_wide(shape: Any) -> str:
    return (f"flex_attention cannot compile this use of the captured tensor of shape {list(shape)}: it has integers that do "
            "not fit 32 bits, which may only be compared with one another")


def _fits(ends: _Ends) -> bool:
    return ends[0] is not None and ends[1] is not None and ends[0] >= _INT32.min and ends[1] <= _INT32.max


@dataclasses.dataclass(eq=False)
class _Row:
    """A part of a captured tensor, after fewer subscripts than it has axes."""

    trace: _Trace
    tensor: Tensor
    subscripts: tuple[Any, ...]

    def __getitem__(self, item: Any) -> Any:
        return self.trace.element(self.tensor, (*self.subscripts, *(item if isinstance(item, tuple) else (item,))))

    def __getattr__(self, name: str) -> Any:
        raise _refuse(f"a row of a tensor of shape {list(self.tensor.shape)} without further subscripts")


# ---- tracing


def _known_range(size: Any) -> Optional[int]:
    """Returns the last index of an axis, or None if torch.compile has a symbol for its size."""
    return size - 1 if type(size) is int else None


def _same_size(one: Any, two: Any) -> bool:
    """Compares sizes. Those for which torch.compile has symbols are equal if their expressions are."""
    if type(one) is int and type(two) is int:
        return one == two
    return isinstance(one, torch.SymInt) and isinstance(two, torch.SymInt) and bool(one.node.expr == two.node.expr)


class _Trace(TorchFunctionMode):
    """Sees every function of torch that is called while a score_mod or a mask_mod runs. If `traced` is true, torch.compile
    is making a graph, and captured tensors have no values yet."""

    def __init__(self, batch: int, heads: int, n_q: int, n_k: int, traced: bool, dtype: torch.dtype,
                 differentiates: bool = False) -> None:
        """dtype: that of the query. differentiates: whether the score has gradients"""
        super().__init__()
        self.traced, self.differentiates = traced, differentiates
        self.score_dtype = torch.float64 if dtype == torch.float64 else torch.float32
        self.narrow = dtype != torch.float64  # whether the kernel can read captured tensors of 16 bits
        self.captured: dict[int, _Captured] = {}
        self.given: list[tuple[Any, Tensor]] = []  # numbers that are given with the call, and their tensors
        self.row = "i" if _same_size(n_q, n_k) else "row"  # i equals row, and masks of i and j have more fast forms
        self.sizes = {"b": ("B", batch), "h": ("H", heads), self.row: ("Nq", n_q), "j": ("Nk", n_k)}
        self.n_q, self.n_k = n_q, n_k

    def positions(self) -> tuple[Symbol, ...]:
        return tuple(Symbol(self, text, torch.int64, 0, _known_range(size)) for text, (_, size) in self.sizes.items())

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.__getitem__:
            items = args[1] if isinstance(args[1], tuple) else (args[1],)
            if any(isinstance(item, (Symbol, _Row)) for item in items):
                return self.element(args[0], items)
        if any(isinstance(a, (Symbol, _Row)) for a in _leaves(args, kwargs)):
            return _apply(func, args, kwargs)
        if func in _CREATORS and not kwargs.get("requires_grad"):
            with self.undisturbed():
                try:
                    made = func(*args, **kwargs)
                    if made.dim() == 0 and made.dtype in _ONES and made.device.type == "cpu":
                        return _constant(self, made.item(), made.dtype)
                except (TypeError, RuntimeError):  # of symbolic sizes, which the modes of torch.compile take
                    pass
        return func(*args, **kwargs)

    @contextlib.contextmanager
    def undisturbed(self) -> Any:
        """Within, operations of PyTorch are computed, and no mode of torch.compile or of this trace sees them."""
        with torch._C.DisableTorchFunction():
            if not self.traced:
                yield
                return
            with _disable_current_modes():
                yield

    def run(self, function: Callable[..., Any], *arguments: Symbol) -> Symbol:
        with self:
            return self.symbol(function(*arguments))

    def symbol(self, x: Any) -> Symbol:
        """Returns the symbol of a number, a symbol or a captured tensor without axes."""
        if isinstance(x, Symbol):
            return x
        if isinstance(x, torch.SymInt):
            for name, size in self.sizes.values():
                if _same_size(size, x):
                    return Symbol(self, name, torch.int64, 0)
            return self.of_call(x, torch.int32, torch.int64)
        if isinstance(x, torch.SymFloat):
            return self.of_call(x, self.score_dtype, torch.float32)
        if isinstance(x, (bool, int, float)):
            dtype = torch.bool if isinstance(x, bool) else torch.int64 if isinstance(x, int) else self.score_dtype
            return _constant(self, x, dtype)
        if isinstance(x, Tensor) and x.dim() == 0:
            return self.number_of(x)
        if isinstance(x, Tensor):
            raise _refuse(f"a tensor of shape {list(x.shape)} without subscripts")
        if isinstance(x, _Row):
            raise _refuse(f"a row of a tensor of shape {list(x.tensor.shape)} without further subscripts")
        raise _refuse(f"a value of type {type(x).__name__}")

    def of_call(self, x: Any, dtype: torch.dtype, meant: torch.dtype) -> Symbol:
        """Returns the symbol of a number that each call of a graph gives."""
        made = next((tensor for number, tensor in self.given if number.node.expr == x.node.expr), None)
        if made is None:
            with torch._C.DisableTorchFunction():
                made = torch.full((), x, dtype=dtype, device="cpu")
            self.given.append((x, made))
        return dataclasses.replace(self.value(self.array(made), ""), dtype=meant, source=None)

    def number_of(self, x: Tensor) -> Symbol:
        if x.dtype.is_floating_point and not x.requires_grad:
            known = getattr(x, "constant", None) if self.traced else x  # torch.compile knows the values of constants
            if known is not None:
                with self.undisturbed():
                    value = float(known)
                if value == -math.inf:
                    return _constant(self, value, x.dtype)
        return self.value(self.array(x), "")

    def array(self, tensor: Tensor) -> _Captured:
        known = self.captured.get(id(tensor))
        if known is None:
            ends: _Ends = (None, None)
            if _kind(tensor.dtype) == "int" and not self.traced and tensor.numel():
                least, greatest = torch.aminmax(tensor.detach())
                ends = int(least), int(greatest)
            elif _kind(tensor.dtype) == "int" and torch.iinfo(tensor.dtype).bits < 32:
                ends = torch.iinfo(tensor.dtype).min, torch.iinfo(tensor.dtype).max
            known = _Captured(f"captured{len(self.captured)}", tensor, [set() for _ in tensor.shape], ends)
            self.captured[id(tensor)] = known
        return known

    def element(self, tensor: Any, items: Sequence[Any]) -> Any:
        """Returns the element of a captured tensor with these subscripts. Returns a row if there are fewer subscripts
        than axes."""
        if not isinstance(tensor, Tensor):
            raise _refuse("a subscript of a value that is no captured tensor")
        if any(not isinstance(item, (Symbol, int, torch.SymInt, Tensor)) or isinstance(item, bool) for item in items):
            raise _refuse("a subscript that is no integer")
        if len(items) > tensor.dim():
            raise _refuse(f"{len(items)} subscripts of a tensor of shape {list(tensor.shape)}")
        if len(items) < tensor.dim():
            return _Row(self, tensor, tuple(items))
        array, text = self.array(tensor), ""
        for axis, (item, size) in enumerate(zip(items, tensor.shape)):
            at = self.symbol(item).used()
            if at.dtype not in (torch.int64, torch.int32):
                raise _refuse(f"a subscript of dtype {str(at.dtype).removeprefix('torch.')}; PyTorch takes int64 and int32")
            subscript = at.text
            if at.low is None or at.low < 0:  # as in Python, -1 is the last element
                subscript = f"{subscript} < 0 ? {subscript} + {self.symbol(size).text} : {subscript}"
            array.axes[axis].add(subscript)
            text += f"[{'@%s.%d@' % (array.name, axis) if subscript == self.row else subscript}]"
        return self.value(array, text)

    def value(self, array: _Captured, subscripts: str) -> Symbol:
        if array.tensor.dtype not in _ONES:
            raise _refuse(f"a captured tensor of dtype {str(array.tensor.dtype).removeprefix('torch.')}")
        source = array if _kind(array.tensor.dtype) == "int" else None
        return Symbol(self, array.name + subscripts, array.tensor.dtype, *array.ends, source=source)

    def declared(self) -> tuple[Declared, ...]:
        """Returns the arrays as a spec declares them. An axis with the subscript of a position gets the name of its
        size, so that one kernel serves all sizes."""
        made = []
        for array in self.captured.values():
            shape: list[int | str] = []
            for words, size in zip(array.axes, array.tensor.shape):
                if words == {"i", "j"} and _same_size(size, self.n_k):
                    symbol = "Nk"
                else:
                    symbol, extent = self.sizes.get(next(iter(words)), ("", 0)) if len(words) == 1 else ("", 0)
                    symbol = symbol if _same_size(extent, size) else ""
                shape.append(symbol if symbol and symbol not in shape else self.extent(size))
            kind = _kind(array.tensor.dtype)
            made.append((array.name, tuple(shape), _NARROW.get(array.tensor.dtype, kind) if self.narrow else kind))
        return tuple(made)

    def extent(self, size: Any) -> int:
        """Returns the extent of an axis. If torch.compile has a symbol for it, it is the next power of two, to which
        arrays() extends the axis, so that a few kernels serve all sizes."""
        if type(size) is int:
            return size
        extent = 1
        while bool(size > extent):
            extent *= 2
        return extent

    def score(self) -> Symbol:
        return Symbol(self, "@s@", self.score_dtype)

    def mask(self, hidden: str, seen: str, s: str, declared: Sequence[Declared]) -> Any:
        """Returns the mask of a spec for the condition that hides a pair and the one that shows it. s: the C text of the
        score. Conditions on scores and real arrays are separate, because tiles are skipped by the others alone."""
        reals = re.compile(r"@s@|\b(?:%s)\b" % "|".join(["@", *(name for name, _, kind in declared if kind not in ("int", "bool"))]))
        parts = [one for c in (_not(hidden), seen) for one in conjuncts(c or "0") if one != "1"]
        masks = []
        for of_reals in False, True:
            text = " && ".join(one for one in parts if bool(reals.search(one)) == of_reals)
            if of_reals and text and "@s@" not in text:
                text = f"({text}) || (s < 0 && 0)"  # a mask reads real arrays only together with s
            if text:
                masks.append({"expr": self.text(text, declared, s)})
        return {"all": masks} if len(masks) > 1 else masks[0]["expr"] if masks else None

    def text(self, formula: str, declared: Sequence[Declared], s: str) -> str:
        if len(formula) > _LONGEST:
            raise Untranslatable(f"flex_attention cannot compile a formula whose text has {len(formula)} bytes; that of a "
                                 f"kernel has at most {_LONGEST}. A value that is used twice is written twice")
        shapes = {name: shape for name, shape, _ in declared}

        def subscript(match: re.Match[str]) -> str:
            return "row" if shapes[match[1]][int(match[2])] == "Nq" else self.row
        return re.sub(r"@(\w+)\.(\d+)@", subscript, formula).replace("@s@", s)

    def arrays(self, declared: Sequence[Declared]) -> dict[str, Tensor]:
        """Returns the tensors that the kernel reads."""
        kinds = {"bool": torch.bool, "int": torch.int32, "real": self.score_dtype}
        made, narrowed = {}, self.narrowed()
        for array, (name, shape, kind) in zip(self.captured.values(), declared):
            tensor = narrowed.get(name, array.tensor)
            more = [0 if isinstance(extent, str) or type(size) is int else extent - size
                    for extent, size in zip(shape, tensor.shape)]
            if any(type(by) is not int or by for by in more):
                tensor = torch.nn.functional.pad(tensor, [by for one in reversed(more) for by in (0, one)])
            made[name] = tensor.to(kinds[kind]) if kind in kinds else tensor
        return made

    def narrowed(self) -> dict[str, Tensor]:
        """Returns the captured int64 as int32, by name. Those that are only compared may have any values."""
        made: dict[str, Tensor] = {}
        seen: set[str] = set()
        for array in self.captured.values():
            if array.tensor.dtype != torch.int64 or array.name in seen:
                continue
            group = [array]
            for one in group:  # those that are compared with one another, directly or not
                group += [peer for peer in one.peers if peer not in group]
            seen.update(one.name for one in group)
            used = next((one.used for one in group if one.used), "")
            constants = sorted({constant for one in group for constant in one.constants})
            function = narrow_in_graphs if self.traced else narrow
            made.update(zip((one.name for one in group), function([one.tensor.detach() for one in group], constants, used)))
        return made


def narrow(tensors: List[Tensor], constants: List[int], used: str) -> List[Tensor]:
    """Returns tensors of integers as int32. If they do not fit 32 bits, they are replaced by numbers that compare in the
    same way, with one another and with the constants. `used` is the error if they may not be replaced, or "".

    The result is numbered upward from the constants, so it is equal to a constant where a tensor is."""
    ends = [torch.aminmax(one) for one in tensors if one.numel()]
    if all(_fits((int(least), int(greatest))) for least, greatest in ends):
        return [one.to(torch.int32, copy=True) for one in tensors]
    if used:
        raise Untranslatable(used)
    fixed = torch.tensor(constants or [0], dtype=torch.int64)
    values, places = torch.unique(torch.cat([fixed, *(one.reshape(-1) for one in tensors)]), return_inverse=True)
    known = places[:len(fixed)]
    before = (torch.searchsorted(known, torch.arange(len(values)), right=True) - 1).clamp(min=0)
    ranks = (fixed[before] + torch.arange(len(values)) - known[before])[places[len(fixed):]]
    return [part.reshape(one.shape).to(torch.int32)
            for part, one in zip(ranks.split([one.numel() for one in tensors]), tensors)]


narrow_in_graphs = _operators.operator("narrow", narrow, lambda tensors, constants, used: [
    torch.empty_like(one, dtype=torch.int32, memory_format=torch.contiguous_format) for one in tensors])


def _constant(trace: _Trace, x: Any, dtype: torch.dtype) -> Symbol:
    """Returns the symbol of a number, as PyTorch converts it to the dtype."""
    kind = _kind(dtype)
    if isinstance(x, float) and not math.isfinite(x):
        if x == -math.inf and kind == "real":
            return Symbol(trace, "0.0", dtype, hidden="1")
        raise _refuse(f"the number {x}")
    value = bool(x) if kind == "bool" else float(x) if kind == "real" else int(x)
    if kind == "int":
        bits = torch.iinfo(dtype)
        value = (value - bits.min) % (1 << bits.bits) + bits.min
    text = repr(float(value) if kind == "real" else int(value))
    return Symbol(trace, text if value >= 0 else f"({text})", dtype, value, value, number=value)


def _leaves(args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    return [leaf for a in (*args, *kwargs.values()) for leaf in (a if isinstance(a, (list, tuple)) else (a,))]


# ---- conditions in C, "" and "1" where they are known


def _not(c: str) -> str:
    if c.startswith("!(") and _closes(c) == len(c):
        return c[1:]
    return "1" if not c else "" if c == "1" else f"!{c}"


def _closes(c: str) -> int:
    """Returns the place after the parenthesis that closes the first one."""
    depth = 0
    for place, letter in enumerate(c):
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            return place + 1
    return 0


def conjuncts(c: str) -> list[str]:
    """Returns conditions that all hold if and only if c does."""
    for sign, turn in (" && ", lambda x: x), (" || ", _not):
        part = c[1:] if sign == " || " and c.startswith("!(") else c if sign == " && " else ""
        if part.startswith("(") and _closes(part) == len(part):
            depth, begin = 0, 1
            parts: list[str] = []
            for place in range(1, len(part) - 1):
                depth += (part[place] in "([") - (part[place] in ")]")
                if depth == 0 and part.startswith(("?", " || ", " && "), place) and not part.startswith(sign, place):
                    parts = []
                    break
                if depth == 0 and part.startswith(sign, place):
                    parts.append(part[begin:place])
                    begin = place + len(sign)
            if parts:
                return [one for text in (*parts, part[begin:-1]) for one in conjuncts(turn(text))]
    return [c]


def _both(a: str, b: str) -> str:
    return "" if not a or not b else a if b == "1" or a == b else b if a == "1" else f"({a} && {b})"


def _either(a: str, b: str) -> str:
    return "1" if "1" in (a, b) else a if not b or a == b else b if not a else f"({a} || {b})"


def _choice(c: str, a: str, b: str) -> str:
    """Returns the condition that `a` holds where c does, and `b` elsewhere."""
    if a == b or c == "1" or not c:
        return a if c else b
    return _either(_not(c), a) if b == "1" else _either(c, b) if a == "1" else _either(_both(c, a), _both(_not(c), b))


# ---- ranges


def _of_ends(function: Callable[..., _Number]) -> Callable[..., _Ends]:
    """Returns the range of an operation on two numbers that is monotonic in each."""
    def made(a: _Ends, b: _Ends) -> _Ends:
        if None in (*a, *b):
            return None, None
        all_ends = [function(x, y) for x in a for y in b]
        return (None, None) if any(x != x for x in all_ends) else (min(all_ends), max(all_ends))
    return made


def _of_quotient(function: Callable[..., _Number]) -> Callable[..., _Ends]:
    """Does the same for a quotient, if the divisor is positive."""
    return lambda a, b: _of_ends(function)(a, b) if (b[0] or 0) > 0 else (None, None)


def _of_operand(number: int, function: Callable[..., _Ends]) -> Callable[..., _Ends]:
    """Returns the range of an operation that depends on the range of one operand."""
    return lambda *ends: (None, None) if None in ends[number] else function(*ends[number])


def _unknown(*ends: _Ends) -> _Ends:
    return None, None


def _ends_of_bits(a: _Ends, b: _Ends) -> _Ends:
    if a[0] is None or a[1] is None or b[0] is None or b[1] is None or a[0] < 0 or b[0] < 0:
        return None, None
    return 0, (1 << max(int(a[1]), int(b[1])).bit_length()) - 1


def _ends_of_and(a: _Ends, b: _Ends) -> _Ends:
    tops = [x[1] for x in (a, b) if x[0] is not None and x[0] >= 0 and x[1] is not None]
    return (0, min(tops)) if tops else (None, None)


# ---- operations, as rows of a table


@dataclasses.dataclass(frozen=True)
class _Elementwise:
    """An operation on each element. texts: C text by the kind of the operands, which are {0}, {1}, … . A result of reals is
    a real in C, too. ends: the range of the result from those of the operands. common: the operands have the dtype to which
    PyTorch promotes them; otherwise that of the result. at_hidden: the result for -inf, "-inf" if it stays so, "" if it
    cannot be followed."""

    texts: dict[str, str]
    ends: Callable[..., _Ends] = _unknown
    common: bool = False
    at_hidden: str = ""

    def __call__(self, trace: _Trace, dtype: torch.dtype, *values: Any) -> Symbol:
        of = _common(trace, values) if self.common else dtype
        operands = [_cast(trace, value, of).used() for value in values]
        hidden = ""
        if any(one.hidden for one in operands):
            if not self.at_hidden or len(operands) > 1:
                raise _refuse("this operation on -inf")
            hidden = operands[0].hidden
        text = self.texts.get(_kind(of))
        if text is None:
            raise _refuse(f"this operation on {str(of).removeprefix('torch.')}")
        made = _made(trace, text, operands, dtype, self.ends)
        if hidden and self.at_hidden == "-inf":
            return dataclasses.replace(made, hidden=hidden)
        if hidden:
            text = self.at_hidden if hidden == "1" else f"({hidden} ? {self.at_hidden} : {made.text})"
            return dataclasses.replace(made, text=text, low=None, high=None)
        return made


def _made(trace: _Trace, text: str, operands: Sequence[Symbol], dtype: torch.dtype, ends: Callable[..., _Ends]) -> Symbol:
    """Returns the symbol of an operation on operands, whose dtypes are right."""
    words = [one.text for one in operands]
    if _kind(dtype) == "real" and all(one.number is None and one.text.startswith(_WHOLE) for one in operands):
        words[0] = f"({words[0][1:]} * 1.0)"
    return _within(Symbol(trace, text.format(*(word.removeprefix(_WHOLE) for word in words)), dtype,
                          *ends(*(one.ends for one in operands))))


_LONGEST = 4096  # bytes of an expression in a spec
_WHOLE = "\0"  # begins the text of an integer that is used as a real


def _common(trace: _Trace, values: Sequence[Any]) -> torch.dtype:
    """Returns the dtype to which PyTorch promotes one or two operands."""
    with trace.undisturbed():
        samples = [_sample(value) for value in values]
        return torch.result_type(*samples) if len(samples) == 2 else samples[0].dtype


def _within(s: Symbol) -> Symbol:
    """Returns an integer as PyTorch stores it in its dtype, which drops higher bits."""
    if s.kind != "int" or s.dtype == torch.int64:
        return s
    bits = torch.iinfo(s.dtype)
    if s.low is not None and s.high is not None and s.low >= bits.min and s.high <= bits.max:
        return s
    if (s.low is None or s.high is None) and bits.bits == 32:  # unknown int32 are assumed to fit
        return s
    most = (1 << bits.bits) - 1
    text = f"({s.text} & {most})" if bits.min == 0 else f"((({s.text} & {most}) ^ {-bits.min}) - {-bits.min})"
    return Symbol(s.trace, text, s.dtype, bits.min, bits.max)


def _cast(trace: _Trace, x: Any, dtype: torch.dtype, explicit: bool = False) -> Symbol:
    """Returns a value as PyTorch converts it to a dtype. An integer that becomes an operand of reals is marked by _WHOLE,
    unless the conversion is explicit."""
    s, kind = trace.symbol(x), _kind(dtype)
    if s.dtype == dtype:
        return s
    if s.number is not None:
        return _constant(trace, s.number, dtype)
    if s.kind == kind == "int":
        own, other = torch.iinfo(s.dtype), torch.iinfo(dtype)
        if s.source is not None and other.min <= own.min and other.max >= own.max:
            return dataclasses.replace(s, dtype=dtype)
        return _within(dataclasses.replace(s.used(), dtype=dtype))
    if s.kind == kind == "real":
        return dataclasses.replace(s, dtype=dtype)
    if kind == "bool":
        return _truth(s)
    if kind == "int" and s.kind == "real":
        if s.hidden:
            raise _refuse("-inf as an integer")
        return _within(Symbol(trace, f"(int)({s.text})", dtype))
    s = s.used()
    if kind == "real":
        text = f"({s.text} * 1.0)" if explicit else _WHOLE + s.text
        return Symbol(trace, text, dtype, *s.ends)
    return dataclasses.replace(s, dtype=dtype, low=0, high=1)


def _solid(s: Symbol) -> Symbol:
    """Returns a value whose text is a real if it is one."""
    return dataclasses.replace(s, text=f"({s.text[1:]} * 1.0)") if s.text.startswith(_WHOLE) else s


def _truth(s: Symbol) -> Symbol:
    if s.kind == "bool":
        return s
    return _compared("!=", s.trace, s, False)


_Function = TypeVar("_Function", bound=Callable[..., Any])
_OPERATIONS: dict[str, Any] = {}


def _operation(*names: str) -> Callable[[_Function], _Function]:
    """Registers the function for operations of torch with these names, without underscores at their ends."""
    def register(function: _Function) -> _Function:
        _OPERATIONS.update(dict.fromkeys(names, function))
        return function
    return register


def _sample(x: Any) -> Any:
    """Returns a one in place of a symbol or a captured tensor without axes."""
    if isinstance(x, Symbol):
        return _ONES[x.dtype]
    if isinstance(x, Tensor):
        return _ONES[x.dtype] if x.dim() == 0 and x.dtype in _ONES else x
    if isinstance(x, torch.SymInt):
        return 1
    if isinstance(x, torch.SymFloat):
        return 1.0
    return x


_FACTS = ("dim", "ndimension", "size", "numel", "nelement", "is_floating_point", "is_complex", "element_size")
_IGNORED = ("dtype", "device", "memory_format", "copy", "non_blocking", "layout", "pin_memory", "requires_grad")
_FIRST = {"input": 0, "self": 0, "other": 1, "exponent": 1}  # keywords of arguments that rows take by their places


def _apply(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    name = str(getattr(func, "__name__", func)).split(".")[0]
    if "out" in kwargs and kwargs["out"] is not None:
        raise _refuse("the argument out=")
    leaves = _leaves(args, kwargs)
    traces = [leaf.trace for leaf in leaves if isinstance(leaf, (Symbol, _Row))]
    trace: _Trace = traces[0]
    in_place = name.endswith("_") and not name.endswith("__") and getattr(func, "__module__", "") != "_operator"
    name = name.strip("_")
    if name in ("getitem", "index"):
        items = args[1] if isinstance(args[1], (list, tuple)) else (args[1],)
        return trace.element(args[0], items)
    function: Any = _OPERATIONS.get(name)
    if function is None and name not in _FACTS:
        raise _refuse(f"torch.{name}()")
    for leaf in leaves:
        if isinstance(leaf, (_Row, Tensor)):
            trace.symbol(leaf)  # refuses tensors with axes
    with trace.undisturbed():
        try:
            samples: list[Any] = [[_sample(one) for one in a] if isinstance(a, (list, tuple)) else _sample(a) for a in args]
            if in_place:
                samples[0] = samples[0].clone()
            result = func(*samples, **{key: _sample(value) for key, value in kwargs.items()})
        except (TypeError, RuntimeError, ValueError, IndexError, NotImplementedError) as error:
            raise _refuse(f"torch.{name}(), which PyTorch refuses: {str(error).splitlines()[0]}") from None
    if name in _FACTS:
        return result
    if not isinstance(result, Tensor):
        raise _refuse(f"torch.{name}(), whose result is no tensor")
    if result.dim() or result.dtype not in _ONES:
        raise _refuse(f"torch.{name}() with a result of shape {list(result.shape)} and {result.dtype}")
    places = list(args)
    for key in [key for key in kwargs if key in _FIRST and _FIRST[key] == len(places)]:
        places.append(kwargs[key])
        kwargs = {other: value for other, value in kwargs.items() if other != key}
    kwargs = {key: value for key, value in kwargs.items() if key not in _IGNORED}
    try:
        made = function(trace, result.dtype, *places, **kwargs)
    except TypeError as error:
        raise _refuse(f"these arguments of torch.{name}()") from error
    made = _cast(trace, made, result.dtype, explicit=True)
    if in_place:
        args[0].__dict__.update(made.__dict__)
        return args[0]
    return made


_OPERATIONS.update({
    "mul": _Elementwise({"bool": "({0} && {1})", "int": "({0} * {1})", "real": "({0} * {1})"}, _of_ends(operator.mul)),
    "bitwise_and": _Elementwise({"bool": "({0} && {1})", "int": "({0} & {1})"}, _ends_of_and),
    "bitwise_or": _Elementwise({"bool": "({0} || {1})", "int": "({0} | {1})"}, _ends_of_bits),
    "bitwise_xor": _Elementwise({"bool": "({0} != {1})", "int": "({0} ^ {1})"}, _ends_of_bits),
    "bitwise_not": _Elementwise({"bool": "!{0}", "int": "(-1 - {0})"},
                         lambda a: (None if a[1] is None else -1 - a[1], None if a[0] is None else -1 - a[0])),
    "bitwise_left_shift": _Elementwise({"int": "({0} << {1})"}, lambda a, b: (-2**63, 2**63 - 1)),
    "bitwise_right_shift": _Elementwise({"int": "({0} >> {1})"}, _of_operand(0, lambda low, high: (min(low, 0), max(high, 0)))),
    "neg": _Elementwise({"int": "(-{0})", "real": "(-{0})"},
                 lambda a: (None if a[1] is None else -a[1], None if a[0] is None else -a[0])),
    "abs": _Elementwise({"int": "fabs({0})", "real": "fabs({0})"},
                 lambda a: (0, None) if None in a else (max(a[0], -a[1], 0), max(map(abs, a)))),
    "sign": _Elementwise({"bool": "{0}", "int": "(({0} > 0) - ({0} < 0))", "real": "((({0} > 0) - ({0} < 0)) * 1.0)"},
                  lambda a: (-1, 1), at_hidden="(-1.0)"),
    "pow_of_reals": _Elementwise({"real": "pow({0}, {1})"}),
    "isnan": _Elementwise({"bool": "({0} && 0)", "int": "({0} != {0})", "real": "({0} != {0})"}, common=True, at_hidden="0"),
    # functions of reals
    **{name: _Elementwise({"real": text.replace("NAME", name)}, at_hidden=at_hidden) for name, text, at_hidden in (
        ("exp", "NAME({0})", "0.0"), ("exp2", "NAME({0})", "0.0"), ("expm1", "NAME({0})", "(-1.0)"),
        ("log", "NAME({0})", ""), ("log2", "NAME({0})", ""), ("log1p", "NAME({0})", ""),
        ("log10", "(log({0}) * 0.43429448190325176)", ""), ("sqrt", "NAME({0})", ""), ("rsqrt", "(1.0 / sqrt({0}))", ""),
        ("reciprocal", "(1.0 / {0})", "0.0"), ("sin", "NAME({0})", ""), ("cos", "NAME({0})", ""),
        ("tan", "(sin({0}) / cos({0}))", ""), ("tanh", "NAME({0})", "(-1.0)"), ("erf", "NAME({0})", "(-1.0)"),
        ("sigmoid", "NAME({0})", "0.0"))},
    **{name: _Elementwise({"int": "{0}", "real": text}, lambda a: a, at_hidden="-inf") for name, text in (
        ("floor", "floor({0})"), ("ceil", "ceil({0})"), ("trunc", "trunc({0})"), ("whole", "round({0})"))},
})
# names of the same operations
for _name, _others in (
        ("mul", "multiply"), ("bitwise_and", "and"), ("bitwise_or", "or"), ("bitwise_xor", "xor"),
        ("bitwise_not", "invert"), ("bitwise_left_shift", "lshift"), ("bitwise_right_shift", "rshift"),
        ("neg", "negative"), ("abs", "absolute fabs"), ("sign", "sgn"), ("sigmoid", "expit"), ("trunc", "fix")):
    _OPERATIONS.update(dict.fromkeys(_others.split(), _OPERATIONS[_name]))


def _sum(sign: str, function: Callable[..., _Number]) -> Any:
    def made(trace: _Trace, dtype: torch.dtype, a: Any, b: Any, alpha: Any = 1) -> Symbol:
        left, right = _cast(trace, a, dtype).used(), _cast(trace, b, dtype).used()
        if alpha != 1:
            right = _OPERATIONS["mul"](trace, dtype, right, alpha)
        if sign == "-" and right.hidden:
            raise _refuse("a difference of -inf")
        text = "({0} || {1})" if dtype == torch.bool else f"({{0}} {sign} {{1}})"
        return dataclasses.replace(_made(trace, text, (left, right), dtype, _of_ends(function)),
                                   hidden=_either(left.hidden, right.hidden))
    return made


_operation("add")(_sum("+", operator.add))
_operation("sub", "subtract")(_sum("-", operator.sub))
_operation("rsub")(lambda trace, dtype, a, b, alpha=1: _OPERATIONS["sub"](trace, dtype, b, a, alpha))


def _of_positive(function: Any, refused: bool) -> Any:
    """Returns a product or a quotient, where -inf may have a positive factor or divisor. refused: as a divisor, -inf is
    refused"""
    def made(trace: _Trace, dtype: torch.dtype, a: Any, b: Any) -> Symbol:
        left, right = trace.symbol(a), trace.symbol(b)
        if not left.hidden and not right.hidden:
            return function(trace, dtype, a, b)  # type: ignore[no-any-return]
        other = right if left.hidden else left
        if (left.hidden and right.hidden) or (refused and right.hidden) or not (other.ends[0] or 0) > 0:
            raise _refuse("-inf times or divided by a number that may be negative or 0")
        plain: Symbol = function(trace, dtype, *(dataclasses.replace(one, hidden="") for one in (left, right)))
        return dataclasses.replace(plain, hidden=left.hidden or right.hidden)
    return made


_operation("mul", "multiply")(_of_positive(_OPERATIONS["mul"], False))


def _quotient(trace: _Trace, dtype: torch.dtype, a: Any, b: Any) -> Symbol:
    return _made(trace, "({0} / {1})", [_cast(trace, x, dtype).used() for x in (a, b)], dtype, _unknown)


def _plain(trace: _Trace, a: Any) -> Symbol:
    s = trace.symbol(a)
    if s.hidden:
        raise _refuse("this operation on -inf")
    return s


def _division(of_reals: str, of_integers: str, of_positive: str, fold: Callable[..., _Number],
              ends: Callable[..., _Ends]) -> Any:
    """Returns a quotient or a remainder.

    of_reals, of_integers, of_positive: its C text, the last one for integers that are not negative
    fold: the result for two numbers, because a kernel's formula has no 1 / 8, which is 0 in C alone"""
    def made(trace: _Trace, dtype: torch.dtype, a: Any, b: Any) -> Symbol:
        left, right = (_cast(trace, _plain(trace, x), dtype).used() for x in (a, b))
        if _kind(dtype) == "real":
            return _made(trace, of_reals, (left, right), dtype, _unknown)
        low, high = right.ends
        if right.source is None and low is not None and high is not None and low <= 0 <= high:
            raise _refuse("a division of integers by a number that may be 0")
        if left.number is not None and right.number is not None:
            return _constant(trace, fold(left.number, right.number), dtype)
        positive = left.low is not None and left.low >= 0 and right.low is not None and right.low > 0
        return _made(trace, of_positive if positive else of_integers, (left, right), dtype, ends)
    return made


def _truncated(x: _Number, y: _Number) -> int:
    return int(abs(x) // abs(y)) * (1 if x * y > 0 else -1)


_REST = "(({0} % {1} + {1}) % {1})"  # the remainder with the sign of the divisor
_truncating = _division("trunc(({0} / {1}))", "({0} / {1})", "({0} / {1})", _truncated, _of_quotient(_truncated))
_operation("floor_divide", "floordiv")(_division(
    "floor(({0} / {1}))", f"(({{0}} - {_REST}) / {{1}})", "({0} / {1})", operator.floordiv, _of_quotient(operator.floordiv)))
_operation("remainder", "mod")(_division(
    "({0} - {1} * floor({0} / {1}))", _REST, "({0} % {1})", operator.mod,
    _of_operand(1, lambda low, high: (0, high - 1) if low > 0 else (low + 1, 0) if high < 0 else (low, high))))
_operation("fmod")(_division(
    "({0} - {1} * trunc({0} / {1}))", "({0} % {1})", "({0} % {1})", lambda x, y: int(math.fmod(x, y)),
    _of_operand(1, lambda low, high: (-max(-low, high), max(-low, high)))))


@_operation("div", "divide", "truediv", "true_divide")
def _divide(trace: _Trace, dtype: torch.dtype, a: Any, b: Any, rounding_mode: Optional[str] = None) -> Any:
    if rounding_mode == "floor":
        return _OPERATIONS["floor_divide"](trace, dtype, a, b)
    if _kind(dtype) == "int":
        return _truncating(trace, dtype, a, b)
    made = _of_positive(_quotient, True)(trace, dtype, a, b)
    return made if rounding_mode is None else _OPERATIONS["trunc"](trace, dtype, made)


@_operation("pow", "float_power")
def _power(trace: _Trace, dtype: torch.dtype, a: Any, b: Any) -> Any:
    if _kind(dtype) == "real":
        return _OPERATIONS["pow_of_reals"](trace, dtype, _plain(trace, a), _plain(trace, b))
    base, exponent = trace.symbol(a), trace.symbol(b)
    if exponent.number is not None and 0 <= exponent.number <= 8:
        made: Any = _constant(trace, 1, dtype)
        for count in range(int(exponent.number)):
            made = base if count == 0 else _OPERATIONS["mul"](trace, dtype, made, base)
        return made
    by = None if base.number is None or base.number < 2 else int(base.number).bit_length() - 1
    if by is None or base.number != 1 << by:
        raise _refuse("a power of integers, unless its base is the number 2, 4, 8, … or its exponent one from 0 to 8")
    count = _OPERATIONS["mul"](trace, torch.int64, exponent, by)
    one = Symbol(trace, "1", torch.int64)
    return _cast(trace, _OPERATIONS["bitwise_left_shift"](trace, torch.int64, one, count), dtype)


# ---- comparisons and truth values


def _compared(sign: str, trace: _Trace, a: Any, b: Any) -> Symbol:
    of = _common(trace, (a, b))
    left, right = _cast(trace, a, of), _cast(trace, b, of)
    sides = (left, right)
    if _kind(of) == "int" and any(s.source for s in sides) and all(
            s.source or (s.number is not None and _fits((s.number, s.number))) for s in sides):
        for one, other in ((left, right), (right, left)):
            if one.source and other.source:
                one.source.peers.append(other.source)
            elif one.source and other.number is not None:
                one.source.constants.add(int(other.number))
    else:
        left.used(), right.used()
    words = [s.text.removeprefix(_WHOLE) for s in sides]
    text = f"({words[0]} {sign} {words[1]})"
    a_hidden, b_hidden = left.hidden, right.hidden
    if a_hidden or b_hidden:
        if sign in (">", ">="):
            sign, a_hidden, b_hidden = {">": "<", ">=": "<="}[sign], b_hidden, a_hidden
        text = {"<": _both(_not(b_hidden), _either(a_hidden, text)), "<=": _either(a_hidden, _both(_not(b_hidden), text)),
                "==": _choice(a_hidden, b_hidden, _both(_not(b_hidden), text)),
                "!=": _choice(a_hidden, _not(b_hidden), _either(b_hidden, text))}[sign] or "0"
    return Symbol(trace, text, torch.bool)


def _comparison(sign: str) -> Any:
    return lambda trace, dtype, a, b: _compared(sign, trace, a, b)


for _names, _sign in ((("lt", "less"), "<"), (("le", "less_equal"), "<="), (("gt", "greater"), ">"),
                      (("ge", "greater_equal"), ">="), (("eq",), "=="), (("ne", "not_equal"), "!=")):
    _operation(*_names)(_comparison(_sign))


def _condition(trace: _Trace, x: Any) -> str:
    """Returns the C condition that a value is not 0."""
    s = trace.symbol(x)
    text = _truth(s).text
    return {"0": "", "1": "1"}.get(text, text)


def _of_truths(join: Callable[[str, str], str]) -> Any:
    return lambda trace, dtype, a, b: Symbol(trace, join(_condition(trace, a), _condition(trace, b)) or "0", torch.bool)


_operation("logical_and")(_of_truths(_both))
_operation("logical_or")(_of_truths(_either))
_operation("logical_xor")(_of_truths(lambda a, b: f"({a or '0'} != {b or '0'})"))
_operation("logical_not")(lambda trace, dtype, a: Symbol(trace, _not(_condition(trace, a)) or "0", torch.bool))
_operation("any", "all")(lambda trace, dtype, a: _truth(trace.symbol(a)))


def _infinite(text: str, of_minus: bool, of_integer: str = "0") -> Any:
    """Returns a test of a number, in which {1} is the largest finite number. of_minus: its result for -inf"""
    def made(trace: _Trace, dtype: torch.dtype, a: Any) -> Symbol:
        s = trace.symbol(a)
        if s.kind != "real":
            return Symbol(trace, of_integer, torch.bool)
        made = text.format(s.text, repr(torch.finfo(trace.score_dtype).max))
        return Symbol(trace, (_either if of_minus else _both)(s.hidden if of_minus else _not(s.hidden), made) or "0", torch.bool)
    return made


_operation("isinf")(_infinite("(fabs({0}) > {1})", True))
_operation("isfinite")(_infinite("(fabs({0}) <= {1})", False, "1"))
_operation("isposinf")(_infinite("({0} > {1})", False))
_operation("isneginf")(_infinite("({0} < -{1})", True))


# ---- choices


@_operation("where")
def _where(trace: _Trace, dtype: torch.dtype, condition: Any, a: Any, b: Any) -> Symbol:
    test = _condition(trace, condition)
    left, right = _cast(trace, a, dtype).used(), _cast(trace, b, dtype).used()
    hidden = _choice(test, left.hidden, right.hidden)
    for one, other, never in ((left, right, "1"), (right, left, "")):
        if other.hidden == "1" or test == never:
            return dataclasses.replace(_solid(one), hidden=hidden, source=None, number=None)
    (p, q), (r, s) = left.ends, right.ends
    ends: _Ends = (None, None) if p is None or q is None or r is None or s is None else (min(p, r), max(q, s))
    made = _made(trace, f"({test} ? {{0}} : {{1}})", (left, right), dtype,
                 lambda x, y: ends)
    return dataclasses.replace(made, hidden=hidden)


_operation("masked_fill")(lambda trace, dtype, a, mask, value: _where(trace, dtype, mask, value, a))


def _extreme(function: str, choose: Callable[..., _Number]) -> Any:
    def made(trace: _Trace, dtype: torch.dtype, a: Any, b: Any = None) -> Symbol:
        if b is None:
            return trace.symbol(a)
        left, right = _cast(trace, a, dtype).used(), _cast(trace, b, dtype).used()
        text = {"fmin": "({0} && {1})", "fmax": "({0} || {1})"}[function] if dtype == torch.bool else f"{function}({{0}}, {{1}})"
        (p, q), (r, s) = left.ends, right.ends
        ends = (None if p is None or r is None else choose(p, r), None if q is None or s is None else choose(q, s))
        result = _made(trace, text, (left, right), dtype, lambda x, y: ends)
        if not left.hidden and not right.hidden:
            return result
        if function == "fmin":
            return dataclasses.replace(result, hidden=_either(left.hidden, right.hidden))
        for one, other in ((left, right), (right, left)):
            result = result if not one.hidden else dataclasses.replace(
                result, text=f"({one.hidden} ? {other.text.removeprefix(_WHOLE)} : {result.text})", low=None, high=None)
        return dataclasses.replace(result, hidden=_both(left.hidden, right.hidden))
    return made


_operation("minimum", "fmin", "min")(_extreme("fmin", min))
_operation("maximum", "fmax", "max")(_extreme("fmax", max))


@_operation("clamp", "clip", "hardtanh")
def _clamp(trace: _Trace, dtype: torch.dtype, a: Any, min: Any = None, max: Any = None, **ends: Any) -> Any:
    if "min_val" in ends or "max_val" in ends:
        min, max = ends.pop("min_val", -1.0), ends.pop("max_val", 1.0)
    made: Any = trace.symbol(a)
    if min is not None:
        made = _OPERATIONS["maximum"](trace, dtype, made, min)
    return made if max is None else _OPERATIONS["minimum"](trace, dtype, made, max)


_operation("clamp_min")(lambda trace, dtype, a, min: _clamp(trace, dtype, a, min))
_operation("clamp_max")(lambda trace, dtype, a, max: _clamp(trace, dtype, a, None, max))
_operation("relu")(lambda trace, dtype, a, inplace=False: _clamp(trace, dtype, a, 0))
_operation("relu6")(lambda trace, dtype, a, inplace=False: _clamp(trace, dtype, a, 0, 6))


@_operation("round")
def _round(trace: _Trace, dtype: torch.dtype, a: Any, decimals: int = 0) -> Any:
    if decimals == 0 or _kind(dtype) != "real":
        return _OPERATIONS["whole"](trace, dtype, a)
    power = 10.0 ** abs(decimals)
    up, down = (torch.mul, torch.div) if decimals > 0 else (torch.div, torch.mul)
    scaled = _apply(up, (trace.symbol(a), power), {})
    return _apply(down, (_OPERATIONS["whole"](trace, dtype, scaled), power), {})


@_operation("nan_to_num")
def _nan_to_num(trace: _Trace, dtype: torch.dtype, a: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    s, most = trace.symbol(a), torch.finfo(trace.score_dtype).max
    if s.kind != "real":
        return s
    made = _where(trace, dtype, _OPERATIONS["isposinf"](trace, torch.bool, s), most if posinf is None else posinf, s)
    made = _where(trace, dtype, _OPERATIONS["isneginf"](trace, torch.bool, s), -most if neginf is None else neginf, made)
    return _where(trace, dtype, _OPERATIONS["isnan"](trace, torch.bool, s), 0.0 if nan is None else nan, made)


# ---- functions that are written with others: the result has the dtype that PyTorch says


def _written(*names: str) -> Callable[[_Function], _Function]:
    def register(function: _Function) -> _Function:
        def made(trace: _Trace, dtype: torch.dtype, a: Any, *args: Any, **kwargs: Any) -> Any:
            kwargs.pop("inplace", None)
            return function(_cast(trace, a, dtype, explicit=True), *args, **kwargs)
        _operation(*names)(made)
        return function
    return register


@_written("gelu")
def _gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + torch.erf(x * 0.7071067811865476))


@_written("softplus")
def _softplus(x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    if isinstance(beta, Symbol) or isinstance(threshold, Symbol):
        raise TypeError
    small = torch.log1p(torch.exp(torch.clamp(x * beta, max=float(threshold)))) / beta
    return torch.where(x * beta > threshold, x, small)


_written("leaky_relu")(lambda x, negative_slope=0.01: torch.where(x > 0, x, x * negative_slope))
_written("elu")(lambda x, alpha=1.0: torch.where(x > 0, x, alpha * torch.expm1(x)))
_written("silu")(lambda x: x * torch.sigmoid(x))
_written("square")(lambda x: x * x)
_written("logsigmoid", "log_sigmoid")(lambda x: torch.clamp(x, max=0) - torch.log1p(torch.exp(-torch.abs(x))))
_written("softsign")(lambda x: x / (1 + torch.abs(x)))
_written("tanhshrink")(lambda x: x - torch.tanh(x))
_written("mish")(lambda x: x * torch.tanh(_softplus(x)))
_written("frac")(lambda x: x - torch.trunc(x))
_written("hardsigmoid")(lambda x: torch.clamp(x + 3, 0, 6) / 6)
_written("hardswish")(lambda x: x * torch.clamp(x + 3, 0, 6) / 6)
_written("threshold")(lambda x, threshold, value: torch.where(x <= threshold, value, x))
_written("logaddexp")(lambda x, other: torch.maximum(x, other) + torch.log1p(torch.exp(-torch.abs(x - other))))
_written("hypot")(lambda x, other: torch.sqrt(x * x + other * other))
_written("addcmul")(lambda x, tensor1, tensor2, value=1: x + value * tensor1 * tensor2)
_written("addcdiv")(lambda x, tensor1, tensor2, value=1: x + value * tensor1 / tensor2)
_written("lerp")(lambda x, end, weight: x + weight * (end - x))


# ---- conversions and constants


def _same(trace: _Trace, dtype: torch.dtype, a: Any, *args: Any, **kwargs: Any) -> Any:
    return _cast(trace, a, dtype, explicit=True)


_operation("to", "type", "type_as", "float", "double", "half", "bfloat16", "byte", "char", "short", "int", "long", "bool",
           "clone", "contiguous", "squeeze", "view", "reshape", "expand", "positive", "pos", "tensor", "as_tensor",
           "sum", "prod", "mean", "amax", "amin")(_same)


@_operation("detach", "detach_copy")
def _detach(trace: _Trace, dtype: torch.dtype, a: Any) -> Any:
    if _kind(dtype) == "real" and trace.differentiates:
        raise _refuse("detach() in a call that has gradients")
    return a


def _new(value: Optional[float]) -> Any:
    """Returns a function that makes a constant. value: None if the caller gives it"""
    def made(trace: _Trace, dtype: torch.dtype, a: Any, *args: Any, **kwargs: Any) -> Any:
        if value is not None:
            return _constant(trace, value, dtype)
        given = kwargs.get("fill_value", args[-1] if args else None)
        return _cast(trace, given, dtype, explicit=True)
    return made


_operation("new_ones", "ones_like")(_new(1))
_operation("new_zeros", "zeros_like", "new_empty", "empty_like")(_new(0))
_operation("full_like", "full", "new_full", "new_tensor")(_new(None))
_CREATORS = frozenset((torch.tensor, torch.scalar_tensor, torch.full, torch.zeros, torch.ones, torch.as_tensor))


# ---- operators of Python


def _operator(function: Any, reflected: bool) -> Any:
    def made(self: Symbol, *other: Any) -> Any:
        if other and not isinstance(other[0], (Symbol, _Row, Tensor, bool, int, float, torch.SymInt, torch.SymFloat)):
            return NotImplemented
        return _apply(function, (*other, self) if reflected else (self, *other), {})
    return made


for _word in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift"):
    _function = getattr(operator, _word)
    setattr(Symbol, f"__{_word.strip('_')}__", _operator(_function, False))
    setattr(Symbol, f"__r{_word.strip('_')}__", _operator(_function, True))
for _word in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "invert", "abs", "pos"):
    setattr(Symbol, f"__{_word}__", _operator(getattr(operator, _word), False))
Symbol.__hash__ = object.__hash__  # type: ignore[method-assign]
