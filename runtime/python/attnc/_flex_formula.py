"""score_mod and mask_mod of flex_attention as formulas of a kernel. They are called once with symbols in place of numbers.
Each operation on a symbol adds to a C expression, and each captured tensor becomes an array of the kernel."""
from __future__ import annotations

import dataclasses
import inspect
import linecache
import math
import os
import re
from typing import Any, Callable, Optional, Sequence, TypeVar

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ._kernel import _Declared
from .torch import _NARROW

_INT32 = torch.iinfo(torch.int32)
_HERE = (os.path.dirname(os.path.abspath(__file__)), os.path.dirname(torch.__file__))


class Untranslatable(NotImplementedError):
    """A score_mod or mask_mod has an operation that no kernel can compute."""


def _refuse(what: str) -> Untranslatable:
    """Returns the error for an operation, with the line of the user's function that has the operation."""
    for frame in inspect.stack()[1:]:
        if not os.path.abspath(frame.filename).startswith(_HERE):
            line = linecache.getline(frame.filename, frame.lineno).strip()
            return Untranslatable(f"flex_attention cannot compile {what}\n  {frame.filename}:{frame.lineno}: {line}")
    return Untranslatable(f"flex_attention cannot compile {what}")


# ---- symbols


@dataclasses.dataclass(eq=False)
class Symbol:
    """A scalar of a formula: its C text, its kind ("int", "real" or "bool"), and the range of an integer. `hidden` is
    a C condition under which a logit is -inf, that is, the key is masked. It is "" if there is none."""

    text: str
    kind: str
    low: Optional[int] = None
    high: Optional[int] = None
    hidden: str = ""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _apply(func, args, kwargs or {})

    def __bool__(self) -> bool:
        raise _refuse("a Python condition on a position or a score; torch.where() chooses between two values")

    def __index__(self) -> int:
        raise _refuse("the use of a position as a Python integer")

    def __getattr__(self, name: str) -> Any:
        function = getattr(Tensor, name, None)
        if name.startswith("__") or not callable(function):
            raise AttributeError(name)
        return lambda *args, **kwargs: _apply(function, (self, *args), kwargs)


@dataclasses.dataclass(eq=False)
class _Captured:
    """A captured tensor, and the texts of the subscripts of each axis so far."""

    name: str
    tensor: Tensor
    axes: list[set[str]]


@dataclasses.dataclass(eq=False)
class _Row:
    """A part of a captured tensor, after fewer subscripts than it has axes."""

    tensor: Tensor
    subscripts: tuple[Any, ...]

    def __getitem__(self, item: Any) -> Any:
        return _active().element(self.tensor, (*self.subscripts, *(item if isinstance(item, tuple) else (item,))))


def _binary(name: str) -> Any:
    def operator(self: Symbol, other: Any) -> Any:
        return _FUNCTIONS[name](self, other)
    return operator


def _reflected(name: str) -> Any:
    def operator(self: Symbol, other: Any) -> Any:
        return _FUNCTIONS[name](other, self)
    return operator


# ---- tracing


def _known_range(size: int) -> Optional[int]:
    """Returns the last index of an axis, or None if torch.compile has a symbol for its size."""
    return size - 1 if type(size) is int else None


class _Trace(TorchFunctionMode):
    """Sees every function of torch that is called while a score_mod or a mask_mod runs. If `traced` is true, torch.compile
    is making a graph, and captured tensors have no values yet."""

    def __init__(self, batch: int, heads: int, n_q: int, n_k: int, traced: bool, narrow: bool) -> None:
        """narrow: whether the kernel can read captured tensors of 16 bits"""
        super().__init__()
        self.narrow = narrow
        self.traced = traced
        self.captured: dict[int, _Captured] = {}
        row = "i" if n_q == n_k else "row"  # for n_q == n_k, i equals row, and masks of i and j have more fast forms
        self.query = Symbol(row, "int", 0, _known_range(n_q))
        self.positions = (Symbol("b", "int", 0, _known_range(batch)), Symbol("h", "int", 0, _known_range(heads)), self.query,
                          Symbol("j", "int", 0, _known_range(n_k)))
        self.sizes = {"b": ("B", batch), "h": ("H", heads), "j": ("Nk", n_k)}
        self.n_q, self.n_k = n_q, n_k

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.__getitem__:
            items = args[1] if isinstance(args[1], tuple) else (args[1],)
            if any(isinstance(item, (Symbol, _Row)) for item in items):
                return self.element(args[0], items)
        if any(isinstance(a, (Symbol, _Row)) for a in (*args, *kwargs.values())):
            return _apply(func, args, kwargs)
        return func(*args, **kwargs)

    def run(self, function: Callable[..., Any], *arguments: Symbol) -> Symbol:
        with self:
            _traces.append(self)
            try:
                return _symbol(function(*arguments))
            finally:
                _traces.pop()

    def array(self, tensor: Tensor) -> _Captured:
        known = self.captured.get(id(tensor))
        if known is None:
            known = _Captured(f"captured{len(self.captured)}", tensor, [set() for _ in tensor.shape])
            self.captured[id(tensor)] = known
        return known

    def element(self, tensor: Tensor, items: Sequence[Any]) -> Any:
        """Returns the element of a captured tensor with these subscripts. Returns a row if there are fewer subscripts
        than axes."""
        if any(not isinstance(item, (Symbol, int, Tensor)) or isinstance(item, bool) for item in items):
            raise _refuse("a subscript that is no integer")
        if len(items) < tensor.dim():
            return _Row(tensor, tuple(items))
        array, text = self.array(tensor), ""
        for axis, (item, size) in enumerate(zip(items, tensor.shape)):
            at = _symbol(item)
            if at.kind == "real":
                raise _refuse("a subscript that is no integer")
            subscript = at.text
            if at.low is None or at.low < 0:  # as in Python, -1 is the last element
                subscript = f"{subscript} < 0 ? {subscript} + {size} : {subscript}"
            array.axes[axis].add(subscript)
            text += f"[{'@%s.%d@' % (array.name, axis) if at is self.query else subscript}]"
        return self.value(array, text)

    def value(self, array: _Captured, subscripts: str) -> Symbol:
        kind = _kind_of(array.tensor)
        low = high = None
        if kind == "int" and not self.traced and array.tensor.numel():
            low, high = (int(x) for x in torch.aminmax(array.tensor.detach()))
            if low < _INT32.min or high > _INT32.max:
                raise _refuse(f"a captured tensor of integers from {low} to {high}: arrays of kernels have 32 bits")
        return Symbol(array.name + subscripts, kind, low, high)

    def declared(self) -> tuple[_Declared, ...]:
        """Returns the arrays as a spec declares them. An axis with the subscript of a position gets the name of its
        size, so that one kernel serves all sizes."""
        made = []
        for array in self.captured.values():
            shape: list[int | str] = []
            for words, size in zip(array.axes, array.tensor.shape):
                if words == {self.query.text} and size == self.n_q:
                    symbol = "Nq"
                elif words == {"i", "j"} and size == self.n_k:
                    symbol = "Nk"
                else:
                    symbol, extent = self.sizes.get(next(iter(words)), ("", 0)) if len(words) == 1 else ("", 0)
                    symbol = symbol if extent == size else ""
                shape.append(symbol if symbol and symbol not in shape else int(size))
            kind = _NARROW.get(array.tensor.dtype, _kind_of(array.tensor)) if self.narrow else _kind_of(array.tensor)
            made.append((array.name, tuple(shape), kind))
        return tuple(made)

    def text(self, formula: str, declared: Sequence[_Declared]) -> str:
        shapes = {name: shape for name, shape, _ in declared}

        def subscript(match: re.Match[str]) -> str:
            return "row" if shapes[match[1]][int(match[2])] == "Nq" else self.query.text
        return re.sub(r"@(\w+)\.(\d+)@", subscript, formula)

    def arrays(self, dtype: torch.dtype) -> dict[str, Tensor]:
        kinds = {"bool": torch.bool, "int": torch.int32, "real": torch.float64 if dtype == torch.float64 else torch.float32}
        return {a.name: a.tensor if self.narrow and a.tensor.dtype in _NARROW else a.tensor.to(kinds[_kind_of(a.tensor)])
                for a in self.captured.values()}


_traces: list[_Trace] = []


def _active() -> _Trace:
    return _traces[-1]


def _kind_of(tensor: Tensor) -> str:
    if tensor.dtype == torch.bool:
        return "bool"
    if tensor.dtype.is_complex:
        raise _refuse("a captured tensor of complex numbers")
    return "real" if tensor.dtype.is_floating_point else "int"


def _symbol(x: Any) -> Symbol:
    if isinstance(x, Symbol):
        return x
    if isinstance(x, (torch.SymInt, torch.SymFloat)):  # torch.compile makes another graph for another number
        x = int(x) if isinstance(x, torch.SymInt) else float(x)
    if isinstance(x, bool):
        return Symbol(str(int(x)), "bool")
    if isinstance(x, int):
        return Symbol(str(x) if x >= 0 else f"({x})", "int", x, x)
    if isinstance(x, float):
        if not math.isfinite(x):
            raise _refuse(f"the number {x}; -inf may only be a branch of the outermost torch.where()")
        return Symbol(repr(x) if x >= 0 else f"({x!r})", "real")
    if isinstance(x, Tensor) and x.dim() == 0:
        return _active().value(_active().array(x), "")
    if isinstance(x, Tensor):
        raise _refuse(f"a tensor of shape {list(x.shape)} without subscripts")
    raise _refuse(f"a value of type {type(x).__name__}")


# ---- operations

_Function = TypeVar("_Function", bound=Callable[..., Any])
_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _operation(*names: str) -> Callable[[_Function], _Function]:
    """Registers the function for operations of torch with these names. The names have no underscores at their ends."""
    def register(function: _Function) -> _Function:
        _FUNCTIONS.update(dict.fromkeys(names, function))
        return function
    return register


def _apply(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    name = getattr(func, "__name__", str(func)).strip("_")
    function = _FUNCTIONS.get(name)
    if function is None:
        raise _refuse(f"torch.{name}()")
    kwargs = {key: value for key, value in kwargs.items() if key not in ("device", "memory_format", "copy", "non_blocking")}
    try:
        return function(*args, **kwargs)
    except TypeError:
        raise _refuse(f"these arguments of torch.{name}()") from None


def _is_number_kind(*symbols: Symbol) -> str:
    return "real" if any(s.kind == "real" for s in symbols) else "int"


def _range(*ends: Optional[int]) -> tuple[Optional[int], Optional[int]]:
    known = [e for e in ends if e is not None]
    return (min(known), max(known)) if len(known) == len(ends) else (None, None)


def _ends(s: Symbol) -> tuple[Optional[int], Optional[int]]:
    return (0, 1) if s.kind == "bool" else (s.low, s.high)


def _plain(*symbols: Symbol) -> None:
    if any(s.hidden for s in symbols):
        raise _refuse("-inf inside a formula; it may only be a branch of the outermost torch.where()")


def _arithmetic(sign: str, a: Any, b: Any, alpha: Any = 1) -> Symbol:
    if alpha != 1:
        b = _arithmetic("*", b, alpha)
    left, right = _symbol(a), _symbol(b)
    _plain(left, right)
    (p, q), (r, s) = _ends(left), _ends(right)
    ends: tuple[Optional[int], ...] = (None,)
    if None not in (p, q, r, s):
        assert p is not None and q is not None and r is not None and s is not None
        ends = {"+": (p + r, q + s), "-": (p - s, q - r), "*": (p * r, p * s, q * r, q * s)}[sign]
    return Symbol(f"({left.text} {sign} {right.text})", _is_number_kind(left, right), *_range(*ends))


_operation("add")(lambda a, b, alpha=1: _arithmetic("+", a, b, alpha))
_operation("sub", "subtract")(lambda a, b, alpha=1: _arithmetic("-", a, b, alpha))
_operation("rsub")(lambda a, b, alpha=1: _arithmetic("-", b, a, alpha))
_operation("mul", "multiply")(lambda a, b: _arithmetic("*", a, b))


@_operation("truediv", "div", "true_divide", "divide")
def _divide(a: Any, b: Any, rounding_mode: Optional[str] = None) -> Symbol:
    left, right = _symbol(a), _symbol(b)
    _plain(left, right)
    if rounding_mode == "floor":
        return _floor_divide(a, b)
    if rounding_mode is not None:
        raise _refuse(f"a division with rounding_mode={rounding_mode!r}")
    return Symbol(f"({left.text} * 1.0 / {right.text})" if _is_number_kind(left, right) == "int"
                  else f"({left.text} / {right.text})", "real")


@_operation("floordiv", "floor_divide")
def _floor_divide(a: Any, b: Any) -> Symbol:
    left, right = _symbol(a), _symbol(b)
    _plain(left, right)
    if _is_number_kind(left, right) == "real":
        return Symbol(f"floor({left.text} / {right.text})", "real")
    (low, high), (least, most) = _ends(left), _ends(right)
    if least is None or least <= 0 or most is None:
        raise _refuse("a division of integers by a number that may be 0 or negative")
    if low is not None and high is not None and low >= 0:
        return Symbol(f"({left.text} / {right.text})", "int", low // most, high // least)
    rest = f"(({left.text} % {right.text} + {right.text}) % {right.text})"  # C rounds toward zero
    return Symbol(f"(({left.text} - {rest}) / {right.text})", "int",
                  *(_range(low // least, low // most, high // least, high // most)
                    if low is not None and high is not None else (None, None)))


@_operation("mod", "remainder")
def _remainder(a: Any, b: Any) -> Symbol:
    left, right = _symbol(a), _symbol(b)
    _plain(left, right)
    if _is_number_kind(left, right) == "real":
        return Symbol(f"({left.text} - {right.text} * floor({left.text} / {right.text}))", "real")
    (low, _), (least, most) = _ends(left), _ends(right)
    if least is None or least <= 0 or most is None:
        raise _refuse("a remainder of a division by a number that may be 0 or negative")
    text = f"({left.text} % {right.text})"
    if low is None or low < 0:
        text = f"(({left.text} % {right.text} + {right.text}) % {right.text})"
    return Symbol(text, "int", 0, most - 1)


def _register_reflected() -> None:
    for word in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "pow"):
        _FUNCTIONS.setdefault("r" + word, lambda a, b, made=_FUNCTIONS[word]: made(b, a))


def _compare(sign: str) -> Any:
    def made(a: Any, b: Any) -> Symbol:
        left, right = _symbol(a), _symbol(b)
        _plain(left, right)
        return Symbol(f"({left.text} {sign} {right.text})", "bool")
    return made


for _names, _sign in ((("lt", "less"), "<"), (("le", "less_equal"), "<="), (("gt", "greater"), ">"),
                      (("ge", "greater_equal"), ">="), (("eq",), "=="), (("ne", "not_equal"), "!=")):
    _operation(*_names)(_compare(_sign))


def _truth(x: Any) -> Symbol:
    s = _symbol(x)
    _plain(s)
    return s if s.kind == "bool" else Symbol(f"({s.text} != 0)", "bool")


def _logical(sign: str, of_bits: bool) -> Any:
    def made(a: Any, b: Any) -> Symbol:
        if of_bits and (_symbol(a).kind != "bool" or _symbol(b).kind != "bool"):
            raise _refuse("an operation on the bits of integers")
        return Symbol(f"({_truth(a).text} {sign} {_truth(b).text})", "bool")
    return made


_operation("logical_and")(_logical("&&", False))
_operation("logical_or")(_logical("||", False))
_operation("and", "bitwise_and")(_logical("&&", True))
_operation("or", "bitwise_or")(_logical("||", True))
_operation("logical_xor", "xor", "bitwise_xor")(
    lambda a, b: Symbol(f"({_truth(a).text} != {_truth(b).text})", "bool"))
_operation("logical_not")(lambda a: Symbol(f"!{_truth(a).text}", "bool"))


@_operation("invert", "bitwise_not")
def _invert(a: Any) -> Symbol:
    s = _symbol(a)
    return Symbol(f"!{s.text}", "bool") if s.kind == "bool" else _arithmetic("-", -1, s)


@_operation("neg", "negative")
def _negate(a: Any) -> Symbol:
    s = _symbol(a)
    _plain(s)
    low, high = _ends(s)
    return Symbol(f"(-{s.text})", _is_number_kind(s), None if high is None else -high, None if low is None else -low)


@_operation("abs", "absolute", "fabs")
def _absolute(a: Any) -> Symbol:
    s = _symbol(a)
    _plain(s)
    low, high = _ends(s)
    most = None if low is None or high is None else max(abs(low), abs(high))
    return Symbol(f"fabs({s.text})", _is_number_kind(s), 0 if _is_number_kind(s) == "int" else None, most)


def _extreme(function: str, choose: Callable[..., int]) -> Any:
    def made(a: Any, b: Any) -> Symbol:
        left, right = _symbol(a), _symbol(b)
        _plain(left, right)
        (p, q), (r, s) = _ends(left), _ends(right)
        ends: Any = (None, None) if None in (p, q, r, s) else (choose(p, r), choose(q, s))
        return Symbol(f"{function}({left.text}, {right.text})", _is_number_kind(left, right), *ends)
    return made


_operation("minimum", "fmin")(_extreme("fmin", min))
_operation("maximum", "fmax")(_extreme("fmax", max))


@_operation("clamp", "clip")
def _clamp(a: Any, min: Any = None, max: Any = None) -> Symbol:
    s = _symbol(a)
    if min is not None:
        s = _FUNCTIONS["maximum"](s, min)
    return s if max is None else _FUNCTIONS["minimum"](s, max)


_operation("clamp_min")(lambda a, min: _clamp(a, min=min))
_operation("clamp_max")(lambda a, max: _clamp(a, max=max))
_operation("relu")(lambda a: _clamp(a, min=0))


def _of_real(name: str) -> None:
    def made(a: Any) -> Symbol:
        s = _symbol(a)
        _plain(s)
        return Symbol(f"{name}({s.text})", "real")
    _operation(name)(made)


for _name in ("exp", "log", "tanh", "sqrt", "cos", "sin", "erf", "log1p", "expm1", "floor"):
    _of_real(_name)


def _written(text: str) -> Callable[[Any], Symbol]:
    """Returns a function of one real that C text computes from its argument {0}."""
    def made(a: Any) -> Symbol:
        s = _symbol(a)
        _plain(s)
        return Symbol("(" + text.format(s.text) + ")", "real")
    return made


_operation("rsqrt")(_written("1.0 / sqrt({0})"))
_operation("reciprocal")(_written("1.0 / {0}"))
_operation("sigmoid")(_written("1.0 / (1.0 + exp(-{0}))"))
_operation("log2")(_written("log({0}) * 1.4426950408889634"))
_operation("exp2")(_written("exp({0} * 0.6931471805599453)"))
_operation("square")(lambda a: _arithmetic("*", a, a))


@_operation("pow", "float_power")
def _power(a: Any, b: Any) -> Symbol:
    left, right = _symbol(a), _symbol(b)
    _plain(left, right)
    return Symbol(f"pow({left.text}, {right.text})", "real")


def _is_hidden(x: Any) -> bool:
    if isinstance(x, Tensor) and x.dim() == 0 and x.dtype.is_floating_point and not x.requires_grad:
        x = float(x)
    return isinstance(x, float) and x == -math.inf


@_operation("where")
def _where(condition: Any, a: Any, b: Any) -> Symbol:
    if isinstance(condition, Symbol) and condition.hidden:
        raise _refuse("-inf inside a condition")
    test = _truth(condition).text
    if _is_hidden(a) or _is_hidden(b):
        seen, hides = (_symbol(a), f"!{test}") if _is_hidden(b) else (_symbol(b), test)
        return dataclasses.replace(seen, hidden=f"({hides} || {seen.hidden})" if seen.hidden else hides)
    left, right = _symbol(a), _symbol(b)
    hidden = ""
    if left.hidden or right.hidden:
        hidden = f"({test} ? {left.hidden or '0'} : {right.hidden or '0'})"
    (p, q), (r, s) = _ends(left), _ends(right)
    low, high = _range(p, q, r, s)
    kind = "bool" if left.kind == right.kind == "bool" else _is_number_kind(left, right)
    return Symbol(f"({test} ? {left.text} : {right.text})", kind, low, high, hidden)


@_operation("masked_fill")
def _masked_fill(a: Any, mask: Any, value: Any) -> Symbol:
    return _where(mask, value, a)


@_operation("to", "type")
def _to(a: Any, *types: Any, **options: Any) -> Symbol:
    s = _symbol(a)
    for word in (*types, *options.values()):
        if isinstance(word, torch.dtype):
            s = _as_dtype(s, word)
        elif isinstance(word, Tensor):
            s = _as_dtype(s, word.dtype)
    return s


def _as_dtype(s: Symbol, dtype: torch.dtype) -> Symbol:
    if dtype == torch.bool:
        return _truth(s)
    if dtype.is_floating_point:
        return s if s.kind == "real" else Symbol(f"({s.text} * 1.0)", "real")
    return Symbol(f"(int)({s.text})", "int") if s.kind == "real" else dataclasses.replace(s, kind="int")


def _constant(value: Any, size: Any, dtype: Optional[torch.dtype], like: Any) -> Symbol:
    if tuple(size):
        raise _refuse(f"a new tensor of shape {list(size)}")
    return _as_dtype(_symbol(value), dtype or (torch.float32 if _symbol(like).kind == "real" else torch.int64))


for _word, _dtype in (("float", torch.float32), ("double", torch.float64), ("half", torch.float16),
                      ("bfloat16", torch.bfloat16), ("int", torch.int32), ("long", torch.int64), ("bool", torch.bool)):
    _operation(_word)(lambda a, made=_dtype: _as_dtype(_symbol(a), made))
_operation("new_ones")(lambda a, size, dtype=None: _constant(1, size, dtype, a))
_operation("new_zeros")(lambda a, size, dtype=None: _constant(0, size, dtype, a))
_operation("new_full")(lambda a, size, fill_value, dtype=None: _constant(fill_value, size, dtype, a))
_operation("ones_like")(lambda a, dtype=None: _constant(1, (), dtype, a))
_operation("zeros_like")(lambda a, dtype=None: _constant(0, (), dtype, a))
_operation("full_like")(lambda a, fill_value, dtype=None: _constant(fill_value, (), dtype, a))
_operation("item", "clone", "detach", "contiguous", "squeeze")(lambda a: _symbol(a))

_register_reflected()
for _word in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    setattr(Symbol, f"__{_word}__", _binary(_word))
    setattr(Symbol, f"__r{_word}__", _reflected(_word))
for _word in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Symbol, f"__{_word}__", _binary(_word))
for _word in ("neg", "invert", "abs"):
    setattr(Symbol, f"__{_word}__", lambda self, made=_FUNCTIONS[_word]: made(self))
Symbol.__hash__ = object.__hash__  # type: ignore[method-assign]
