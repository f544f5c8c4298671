"""softmax over the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened


@quiet
def along_rows(x: Array) -> Array:
    """Return the softmax of the rows of a float64 array (M, N)."""
    if not x.shape[-1]:
        return x.copy()
    weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
    total: Array = weights / np.sum(weights, axis=-1, keepdims=True)
    return total


@quiet
def reference64(x: Any) -> Array:
    """Return the softmax in float64, unrounded; see `reference`."""
    sizes("softmax", {"x": (x, "M N")})
    return along_rows(widened(x))


def reference(x: Any) -> Array:
    """Return exp(x − max) / Σ exp(x − max) over N.

    Args: ``x`` (M, N), any layout. Returns (M, N) in x's dtype. An element −Inf gives 0; a row of −Inf alone, one with an
    Inf and one with a NaN are NaN throughout, as 0/0 and Inf − Inf are.

    >>> reference(np.array([[0.0, -np.inf, 0.0]]))
    array([[0.5, 0. , 0.5]])
    """
    return rounded(reference64(x), np.asarray(x).dtype)
