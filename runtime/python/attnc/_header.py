# The types and errors of attnrt.h, for ctypes.
from __future__ import annotations

import ctypes
import os
import re
from typing import Any


_DTYPES = ("f32", "bf16", "f16", "f64", "i32", "u8", "fp8", "i8", "i8_32", "i8_64", "q8_0", "q4_0")  # enum attn_dtype
_ERRORS: dict[int, tuple[type[Exception], str]] = {  # enum attn_error of attnrt.h
    -1: (ValueError, "a size or stride of the problem is negative or too small, heads is not a multiple of kv_heads or "
                     "key_heads, or query_start is out of range"),
    -2: (ValueError, "an array is missing, or an output is also another array"),
    -3: (ValueError, "a parameter is missing"),
    -4: (MemoryError, "the workspace is too small"),
    -5: (ValueError, "the sizes are too large: a product of them overflows"),
    -6: (RuntimeError, "the workspace is not aligned"),
    -7: (MemoryError, "out of memory"),
    -8: (OSError, "a file could not be read or written"),
    -9: (ValueError, "a file has the wrong format"),
    -10: (RuntimeError, "this machine has none of the instruction sets that the kernel was compiled for"),
    -11: (ValueError, "ids decrease from one key to the next: the linear form needs ids in ascending order"),
    -12: (ValueError, "the state belongs to another kernel or other sizes, or is truncated or damaged"),
    -13: (ValueError, "a sequence would grow beyond the capacity of its state, or beyond what the spec allows"),
    -14: (ValueError, "there are more positions than the spec allows; query_start puts a query after the last key, "
                      "which a linear form cannot compute; or a sequence is shorter than the given length, "
                      "its state cannot go back that far, or another state cannot be appended there"),
    -15: (ValueError, "states, or results, of this kernel cannot be joined"),
    -16: (ValueError, "a table of tiles is for a mask of another shape or for other tiles, or is no table"),
    -17: (RuntimeError, "a message between processes was not delivered"),
    -18: (ValueError, "a page's number is out of range, a page is twice in a table or gets tokens of two sequences, or the "
                      "states of this kernel cannot be in pages"),
    -19: (RuntimeError, "the kernel was compiled with the headers of another version of libattnrt"),
}


_HEADER = """"""  # in NAME.py, attnc inserts the types here; the package reads attnrt.h


def _header_text(file: str = "attnrt.h") -> str:
    """Returns the text of a header of the package, and of those that it includes from attnrt/, in their places."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), file), encoding="utf-8") as header:
        return re.sub(r'^#include "(attnrt/.*)"\n', lambda line: _header_text(line[1]), header.read(), flags=re.MULTILINE)


def _declarations(file: str = "attnrt.h") -> dict[str, str]:
    """Returns the C text of the members of each struct of a header, by name."""
    text = _HEADER or re.sub(r"/\*.*?\*/", "", _header_text(file), flags=re.DOTALL)
    return dict(re.findall(r"^struct (\w+) \{(.*?)^\};", text, re.DOTALL | re.MULTILINE))


_MEMBERS = _declarations()
_NUMBERS = {"int": ctypes.c_int, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t}


def _type(text: str, **structs: Any) -> Any:
    """Returns the ctypes type of a declaration such as "int64_t" or "struct attn_strides". A pointer is an address,
    unless it points to char."""
    word = re.sub(r"\bconst\b", "", text).split()
    if "*" in text:
        return ctypes.c_char_p if word[0] == "char" else ctypes.c_void_p
    return ctypes.c_int if word[0] == "enum" else structs[word[1]] if word[0] == "struct" else _NUMBERS[word[0]]


def _fields(struct: str, functions: bool = False, **structs: Any) -> list[tuple[str, Any]]:
    """Returns the members of a struct of attnrt.h for ctypes.Structure. If `functions` is true, function pointers can
    be called."""
    fields: list[tuple[str, Any]] = []
    kind: Any
    for member in filter(None, map(str.strip, _MEMBERS[struct].split(";"))):
        function = re.fullmatch(r"(\w+) \(\*(\w+)\)\((.*)\)", member, re.DOTALL)
        if function:
            result, name, arguments = function.groups()
            kind = ctypes.c_void_p if not functions else ctypes.CFUNCTYPE(
                _NUMBERS[result], *(_type(one) for one in arguments.split(",") if one != "void"))
            fields.append((name, kind))
            continue
        kind_text, names = re.fullmatch(  # type: ignore[union-attr]
            r"((?:const )?(?:struct |enum )?\w+) (.*)", member, re.DOTALL).groups()
        for one in names.split(","):
            name, count = re.fullmatch(r"\s*\**(\w+)(?:\[(\d+)\])?", one).groups()  # type: ignore[union-attr]
            kind = _type(kind_text + (" *" if "*" in one else ""), **structs)
            fields.append((name, kind * int(count) if count else kind))
    return fields


class _Strides(ctypes.Structure):
    _fields_ = _fields("attn_strides")


class _Problem(ctypes.Structure):
    _fields_ = _fields("attn_problem", attn_strides=_Strides)


class _Team(ctypes.Structure):
    _fields_ = _fields("attn_team")


class _Param(ctypes.Structure):
    _fields_ = _fields("attn_param")


class _Kernel(ctypes.Structure):
    _fields_ = _fields("attn_kernel", functions=True)
