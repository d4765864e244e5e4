"""Pages: blocks of memory that have the keys and values of some tokens of a sequence. Sequences can share them."""
from __future__ import annotations

import ctypes
from typing import Any

from ._array import Array
from ._arrays import _aligned, _Array, _check_contiguous
from ._call import _Call
from ._header import _fields

_MIN, _MAX = 16, 256  # tokens of a page


class Table(ctypes.Structure):
    """struct attn_pages of a state."""
    _fields_ = _fields("attn_pages")


class Pages:
    """Memory for the keys and values of states: `count` pages of `tokens` tokens each. kernel.state(pages=…, table=…)
    makes a state whose rows are in these pages. All its states must be of one kernel with equal heads."""

    def __init__(self, count: int, tokens: int = 128) -> None:
        """count: the number of pages, numbered from 0
        tokens: the number of tokens of a page, 16 to 256. Calls with few queries read pages of a multiple of 32 tokens in
        place; calls with many queries copy keys that are not in one page of 128 or more.

        The memory is allocated by the first extend() of a state."""
        if count < 1:
            raise ValueError(f"count is {count}; expected 1 or more pages")
        if not _MIN <= tokens <= _MAX:
            raise ValueError(f"tokens is {tokens}; expected {_MIN} to {_MAX} tokens a page")
        self.count, self.tokens = count, tokens
        self.bytes = 0  # of a page
        self._memory: Any = None
        self._of: tuple[Any, ...] = ()

    def table(self, table: Array, batch: int) -> Table:
        """Checks a table of page numbers, and returns its description. The caller may change the numbers at any time."""
        array = _Array("table", table)
        if array.dtype != "int32" or len(array.shape) != 2 or array.shape[0] != batch:
            raise ValueError(f"table is {array.dtype} {list(array.shape)}; expected int32 [{batch}, pages of a sequence]")
        _check_contiguous("table", array)
        return Table(count=self.count, tokens=self.tokens, table=array.address, row=array.shape[1])

    def _take(self, call: _Call, table: Table) -> None:
        """Sets the address of the pages. Allocates them for the first call."""
        call.problem.pages = ctypes.addressof(table)
        of = (call.binding.name, call.problem.heads, call.problem.kv_heads, call.problem.key_heads)
        if self._memory is None:
            size = call.binding.kernel.page(ctypes.byref(call.problem))
            if size == 0:
                raise ValueError(f"{call.binding.name}: the states of this kernel cannot be in pages")
            self._memory, self.bytes, self._of = (ctypes.c_char * (size * self.count + 64))(), size, of
        if self._of != of:
            raise ValueError(f"the pages have keys of {self._of[0]} with {self._of[2]} heads; they cannot have others")
        table.base, table.bytes = _aligned(self._memory), self.bytes

    def copy(self, page: int, source: int) -> None:
        """Copies page `source` to `page`. A sequence needs its own copy of a shared page that is to get its tokens."""
        for number in page, source:
            if not 0 <= number < self.count:
                raise ValueError(f"page {number}: expected 0 to {self.count - 1}")
        if self._memory is not None:
            base = _aligned(self._memory)
            ctypes.memmove(base + page * self.bytes, base + source * self.bytes, self.bytes)

    def __repr__(self) -> str:
        return f"<attnc.Pages: {self.count} pages of {self.tokens} tokens>"
