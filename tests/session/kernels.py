"""Python kernels, right and wrong, that the tests of this folder declare candidates for."""

from __future__ import annotations

from typing import Any

import numpy as np

import tessera_rules as tsr

Array = np.ndarray[Any, Any]
CALLS: list[str] = []


def right(a: Array, b: Array) -> Array:
    CALLS.append("right")
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype)


def zeros(a: Array, b: Array) -> Array:
    CALLS.append("zeros")
    return np.zeros((a.shape[0], b.shape[1]), a.dtype)


def wrong_shape(a: Array, b: Array) -> Array:
    return (a @ b)[None]


def wrong_dtype(a: Array, b: Array) -> Array:
    return a.astype(np.float64) @ b.astype(np.float64)


def in_place(a: Array, b: Array) -> Array:
    result = a @ b
    a[...] = 0
    return result


def declines(a: Array, b: Array) -> Any:
    CALLS.append("declines")
    return tsr.Declined("K is too large")


def raises(a: Array, b: Array) -> Array:
    CALLS.append("raises")
    raise RuntimeError("the launch failed")


class Later:
    """Kept for tests that reset it."""

    calls = 0


def declines_later(a: Array, b: Array) -> Any:
    """Right while it is proved, on copies that lie in memory of the oracle's own, and not on anybody's operands."""
    Later.calls += 1
    memory = a
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    return right(a, b) if memory.dtype == np.uint8 else tsr.Declined("out of workspace")


def drops_tail(a: Array, b: Array) -> Array:
    return (a[:, :64] @ b[:64]).astype(a.dtype)


class Sometimes:
    """What the next calls of `moody` do: an exception, a `Declined`, a wrong shape; without any it is right."""

    next: list[Any] = []


def moody(a: Array, b: Array) -> Any:
    CALLS.append("moody")
    what = Sometimes.next.pop(0) if Sometimes.next else None
    if isinstance(what, Exception) and not isinstance(what, tsr.Declined):
        raise what
    result = (a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype)
    return what if isinstance(what, tsr.Declined) else result[None] if what == "wrong shape" else result


def scaled(a: Array, b: Array, alpha: float) -> Array:
    return (alpha * (a.astype(np.float64) @ b.astype(np.float64))).astype(a.dtype)


def reference(a: Array, b: Array, alpha: float = 1.0) -> Array:
    return (alpha * (a.astype(np.float64) @ b.astype(np.float64))).astype(a.dtype)
