"""What the rules of `test_saved_runs` bind to."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
FACTOR = 1.0
SUMS = 1.0


def kernel(x: Array, c: Array, w: Array | None = None, label: str = "plain") -> tuple[Array, Array]:
    # In place, and not the same the second time: whoever calls it again on the same memory gets something else.
    c[...] = (FACTOR * (c.astype(np.float64) + x.astype(np.float64)) / 2).astype(c.dtype)
    return c, SUMS * FACTOR * x.astype(np.float64).sum(axis=0)


def reference(x: Array, c: Array, w: Array | None = None, label: str = "plain") -> tuple[Array, Array]:
    return (c.astype(np.float64) + x.astype(np.float64)) / 2, x.astype(np.float64).sum(axis=0)


def doubled(x: Array) -> Array:
    return 2.0 * x.astype(np.float64)
