"""Pages: blocks of memory that have the keys and values of some tokens of a sequence. Sequences can share them."""
from __future__ import annotations

import ctypes
import math
import mmap
import operator
from typing import Any

from ._array import Array
from ._arrays import _aligned, _Array, _check_contiguous
from ._call import Binding, _Call
from ._header import _fields

_MIN, _MAX = 16, 256  # tokens of a page


class Table(ctypes.Structure):
    """struct attn_pages of a state."""
    _fields_ = _fields("attn_pages")


def _check_tokens(tokens: int) -> None:
    if not _MIN <= tokens <= _MAX:
        raise ValueError(f"tokens is {tokens}; expected {_MIN} to {_MAX} tokens a page")


def bytes_of_page(call: _Call) -> int:
    """Returns the bytes of a page of call.problem.pages."""
    size: int = call.binding.kernel.page(ctypes.byref(call.problem))
    if size == 0:
        raise ValueError(f"{call.binding.name}: the states of this kernel cannot be in pages")
    return size


def page_bytes(binding: Binding, heads: int, kv_heads: int, key_heads: int, tokens: int) -> int:
    """Returns the bytes of a page of `tokens` tokens."""
    _check_tokens(tokens)
    if heads < 1 or kv_heads < 1 or heads % kv_heads or key_heads < 0 or key_heads and heads % key_heads:
        raise ValueError(f"heads is {heads}; expected 1 or more, a multiple of kv_heads ({kv_heads}) and of key_heads")
    call, table = _Call(binding, 1, None), Table(tokens=tokens)
    call.problem.batch, call.problem.pages = 1, ctypes.addressof(table)
    call.problem.heads, call.problem.kv_heads, call.problem.key_heads = heads, kv_heads, key_heads
    return bytes_of_page(call)


def _place_of(memory: Any) -> tuple[int, int, Any]:
    """Returns the address and the bytes of the caller's memory, and an object that keeps it allocated."""
    if hasattr(memory, "__array_interface__") or hasattr(memory, "__dlpack__"):
        array = _Array("memory", memory, writable=True)
        if array.dtype != "uint8":
            raise TypeError(f"memory is {array.dtype}; expected bytes (uint8)")
        _check_contiguous("memory", array)
        return array.address, math.prod(array.shape), array
    try:
        view = memoryview(memory)
    except TypeError:
        raise TypeError(f"memory is a {type(memory).__name__}; expected an array of bytes, or an object with a "
                        "writable buffer") from None
    if view.readonly or not view.c_contiguous:
        raise ValueError("memory is read-only" if view.readonly else "memory has to be contiguous")
    block = (ctypes.c_char * view.nbytes).from_buffer(view)
    return ctypes.addressof(block), view.nbytes, block


class Pages:
    """Memory for the keys and values of states: `count` pages of `tokens` tokens each. kernel.state(pages=…, table=…)
    makes a state whose rows are in these pages. All its states must be of one kernel with equal heads."""

    def __init__(self, count: int, tokens: int = 128,
                 memory: Array | bytearray | memoryview | mmap.mmap | None = None) -> None:
        """count: the number of pages, numbered from 0
        tokens: the number of tokens of a page, 16 to 256. Calls with few queries read pages of a multiple of 32 tokens in
        place; calls with many queries copy keys that are not in one page of 128 or more.
        memory: where the pages are: at least count * kernel.page_bytes(…) bytes, at an address that is a multiple of
        64. A contiguous array of uint8 or an object with a writable buffer, for example a file that is mapped to memory
        (numpy.memmap, mmap.mmap) or the buffer of shared memory. Pages that are there already are kept.

        Without `memory`, the first extend() of a state allocates it."""
        if count < 1:
            raise ValueError(f"count is {count}; expected 1 or more pages")
        _check_tokens(tokens)
        self.count, self.tokens = count, tokens
        self.bytes = 0  # of a page
        self._memory: Any = None
        self._base, self._room, self._is_given = 0, 0, memory is not None
        if memory is not None:
            self._base, self._room, self._memory = _place_of(memory)
        if self._base % 64:
            raise ValueError("memory is not aligned: its address must be a multiple of 64")
        self._of: tuple[Any, ...] = ()

    def table(self, table: Array, batch: int) -> Table:
        """Checks a table of page numbers, and returns its description. The caller may change the numbers at any time."""
        array = _Array("table", table)
        if array.dtype != "int32" or len(array.shape) != 2 or array.shape[0] != batch:
            raise ValueError(f"table is {array.dtype} {list(array.shape)}; expected int32 [{batch}, pages of a sequence]")
        _check_contiguous("table", array)
        return Table(count=self.count, tokens=self.tokens, table=array.address, row=array.shape[1])

    def _take(self, call: _Call, table: Table) -> None:
        """Sets the address of the pages. Allocates them for the first call, if the caller gave no memory."""
        call.problem.pages = ctypes.addressof(table)
        of = (call.binding.name, call.problem.heads, call.problem.kv_heads, call.problem.key_heads)
        if not self._of:
            size = bytes_of_page(call)
            if self._memory is None:
                self._memory, self._room = (ctypes.c_char * (size * self.count + 64))(), size * self.count
                self._base = _aligned(self._memory)
            if self._room < size * self.count:
                raise ValueError(f"memory has {self._room} bytes; {self.count} pages of {size} bytes need {size * self.count}")
            self.bytes, self._of = size, of
        if self._of != of:
            raise ValueError(f"the pages have keys of {self._of[0]} with {self._of[2]} heads; they cannot have others")
        table.base, table.bytes = self._base, self.bytes

    def copy(self, page: int, source: int) -> None:
        """Copies page `source` to `page`. A sequence needs its own copy of a shared page that is to get its tokens."""
        page, source = operator.index(page), operator.index(source)  # an int32 of the table would overflow
        for number in page, source:
            if not 0 <= number < self.count:
                raise ValueError(f"page {number}: expected 0 to {self.count - 1}")
        if self._of:
            ctypes.memmove(self._base + page * self.bytes, self._base + source * self.bytes, self.bytes)
        elif self._memory is not None:
            raise ValueError("the size of a page is not known before a state is loaded, or the first extend()")

    def __reduce__(self) -> Any:
        if self._is_given:
            raise TypeError("pages in memory of the caller cannot be copied or pickled: copy the memory, and make "
                            "attnc.Pages(…, memory=) of the copy")
        data = None if self._memory is None else ctypes.string_at(self._base, self.bytes * self.count)
        return _restored, (self.count, self.tokens, self.bytes, self._of, data)

    def __repr__(self) -> str:
        return f"<attnc.Pages: {self.count} pages of {self.tokens} tokens>"


def _restored(count: int, tokens: int, bytes_: int, of: tuple[Any, ...], data: bytes | None) -> Pages:
    """Returns the pages that __reduce__ describes, in their own memory."""
    made = Pages(count, tokens)
    if data is not None:
        made.bytes, made._of, made._room = bytes_, of, len(data)
        made._memory = (ctypes.c_char * (len(data) + 64))()
        made._base = _aligned(made._memory)
        ctypes.memmove(made._base, data, len(data))
    return made
