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
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype) if memory.dtype == np.uint8 else tsr.Declined("out of workspace")


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


# ---- ops with operands that are written in place, and with several results ----


def added(c: Array, a: Array) -> Array:
    return c.astype(np.float64) + a


def added_in_place(c: Array, a: Array) -> Array:
    c += a
    return c


def _half_written(c: Array, a: Array) -> bool:
    """Add in place while it is proved, on memory of the oracle's own; write half a result elsewhere, and say so."""
    memory = c
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    if memory.dtype == np.uint8:
        c += a
        return False
    c[:2] = 99
    return True


def half_written_then_fails(c: Array, a: Array) -> Array:
    if _half_written(c, a):
        raise RuntimeError("it stopped half way")
    return c


def half_written_then_declines(c: Array, a: Array) -> Any:
    return tsr.Declined("half way") if _half_written(c, a) else c


def split(a: Array) -> tuple[Array, Array]:
    return a.astype(np.float64) - 1, a.sum(axis=0, dtype=np.float64)


def split_up(a: Array) -> tuple[Array, Array]:
    return a - np.float32(1), a.sum(axis=0, dtype=np.float64)


def total(a: Array) -> Array:
    return a.sum(axis=0, dtype=np.float64)


# ---- what a policy sees ----


def product_reference(a: Array, b: Array) -> Array:
    CALLS.append("product_reference")
    return a.astype(np.float64) @ b.astype(np.float64)


def wrong_where_marked(a: Array, b: Array) -> Array:
    return zeros(a, b) if a.size and a[0, 0] == 1234.5 else right(a, b)


def fails_later(a: Array, b: Array) -> Array:
    """Right on memory of the oracle's own."""
    memory = a
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    if memory.dtype == np.uint8:
        return right(a, b)
    raise RuntimeError("out of memory")


class Panels:
    """What `pack_panels` makes of b: its columns, each contiguous."""

    def __init__(self, b: Array) -> None:
        self.columns = [np.ascontiguousarray(b[:, j]) for j in range(b.shape[1])]


def pack_panels(b: Array) -> Panels:
    CALLS.append("pack")
    return Panels(b)


def pack_wrongly(b: Array) -> Panels:
    return Panels(b + 1)


def panels(a: Array, b: Any) -> Array:
    CALLS.append("panels" if isinstance(b, Panels) else "unpacked")
    columns = b.columns if isinstance(b, Panels) else [b[:, j] for j in range(b.shape[1])]
    result = np.empty((a.shape[0], len(columns)), a.dtype)
    for j, column in enumerate(columns):
        result[:, j] = a.astype(np.float64) @ column
    return result
