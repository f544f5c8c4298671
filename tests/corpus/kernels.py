"""Python kernels that take known times, decline, or cheat."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tessera_rules.declined import Declined

Array = np.ndarray[Any, Any]


def reference(a: Array, b: Array, **_: Any) -> Array:
    return np.asarray(a.astype(np.float64) @ b.astype(np.float64))


def right(a: Array, b: Array, causal: bool = False) -> Array:
    return np.asarray((a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype))


def slow(a: Array, b: Array, causal: bool = False) -> Array:
    time.sleep(0.001)
    return right(a, b)


def declines(a: Array, b: Array, causal: bool = False) -> Array:
    raise Declined("not today")


def declines_late(a: Array, b: Array, causal: bool = False) -> Array:
    CALLS.extend([1] * RACING[0])
    if RACING[0] and len(CALLS) > 5:
        raise Declined("out of scratch")
    return right(a, b)


def wrong(a: Array, b: Array, causal: bool = False) -> Array:
    return np.zeros((a.shape[0], b.shape[1]), a.dtype)


CALLS: list[int] = []
RACING = [False]


def cheats(a: Array, b: Array, causal: bool = False) -> Array:
    """Right while it is proved, and wrong in the timed loop."""
    return right(a, b) if not RACING[0] else np.full((a.shape[0], b.shape[1]), 7, a.dtype)
