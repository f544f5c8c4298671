"""The address of a NumPy array's first element, read where NumPy keeps it: a tenth of the time that its own interfaces take.

``PyArrayObject`` begins with the object's header and then ``char *data``; that layout is part of NumPy's ABI. Where a trial at
import finds it otherwise, the address comes from ``__array_interface__``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

_HEADER = object.__basicsize__
_word_at = ctypes.c_size_t.from_address


def _read(x: np.ndarray[Any, Any]) -> int:
    return _word_at(id(x) + _HEADER).value


def _asked(x: np.ndarray[Any, Any]) -> int:
    return int(x.__array_interface__["data"][0])


def _trial() -> bool:
    """Whether both ways agree on arrays of several kinds."""
    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    some: list[np.ndarray[Any, Any]] = [base, base[1:, ::2, ::-1], base.T, np.zeros((), np.int8), np.frombuffer(b"abcd", np.uint8)]
    try:
        return all(_read(x) == _asked(x) for x in some)
    except Exception:  # another implementation of Python: no such addresses
        return False


address_of: Callable[[np.ndarray[Any, Any]], int] = _read if _trial() else _asked
"""Return the address of an array's first element. Only for what is an ``ndarray``."""
