"""A C function called with values that were checked before. Standard library only: the child process loads this file alone.

An argument is a slot ``(ctype, kind, value)``: ``scalar`` (a number, or one byte for ``char``), ``null``, ``array`` (the name
of an array whose address is passed), ``bytes`` (what is pointed to), ``workspace`` (bytes of scratch memory to point to).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

Slot = tuple[str, str, Any]
CTYPES: dict[str, Any] = {
    "ptr": ctypes.c_void_p,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
    "char": ctypes.c_char,
    "bool": ctypes.c_bool,
}


class Prepared:
    """A function with slots: everything but the addresses of arrays is converted once."""

    def __init__(self, function: Any, slots: Sequence[Slot], returns: str | None) -> None:
        self.function = function
        self.returns = returns
        self.places: list[tuple[int, str]] = []
        self.workspaces: list[tuple[int, int]] = []
        self.kept: list[Any] = []
        self.values: list[Any] = []
        self.types = [CTYPES[slot[0] if slot[1] == "scalar" else "ptr"] for slot in slots]
        for index, (_, kind, value) in enumerate(slots):
            if kind == "array":
                self.places.append((index, value))
            elif kind == "workspace":
                self.workspaces.append((index, value))
            if kind == "bytes":
                memory = ctypes.create_string_buffer(value, max(len(value), 1))
                self.kept.append(memory)
                self.values.append(ctypes.addressof(memory))
            else:
                self.values.append(value if kind == "scalar" else None)

    def __call__(self, addresses: Mapping[str, int]) -> Any:
        """Call with the addresses of arrays; returns what the function returned, None where it returns nothing."""
        values = list(self.values)
        for index, name in self.places:
            values[index] = addresses[name]
        scratch = []
        for index, size in self.workspaces:
            memory = ctypes.create_string_buffer(size + 64)
            scratch.append(memory)
            values[index] = -(-ctypes.addressof(memory) // 64) * 64
        function = self.function
        return function(*[kind(value) for kind, value in zip(self.types, values, strict=True)])


def function_of(library: Any, symbol: str, returns: str | None) -> Any:
    """Return a function of a loaded library. Raises `AttributeError` where the symbol is not there."""
    function = library[symbol]  # a new object at each look-up, so that two bindings of one symbol keep their own types
    function.restype = CTYPES[returns] if returns is not None else None
    return function


def load(path: str, symbol: str, returns: str | None) -> Any:
    """Return a function of a library by path. Raises `OSError` where the library does not load, `AttributeError` for no such symbol."""
    return function_of(ctypes.CDLL(path), symbol, returns)
