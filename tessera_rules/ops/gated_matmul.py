"""gated_matmul: gate(a·wg) * (a·wu), the first half of a gated feed-forward layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.ops.functions import ACTS, known
from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.ops.propagation import through
from tessera_rules.oracle.bounds import Precision


@quiet
def reference64(a: Any, wg: Any, wu: Any, gate: str = "silu") -> Array:
    """Return the gated product in float64, unrounded; see `reference`."""
    sizes("gated_matmul", {"a": (a, "M K"), "wg": (wg, "K H"), "wu": (wu, "K H")})
    known([gate], ACTS, "gate")
    left = widened(a)
    result: Array = ACTS[gate](left @ widened(wg)) * (left @ widened(wu))
    return result


def reference(a: Any, wg: Any, wu: Any, gate: str = "silu") -> Array:
    """Return gate(a·wg) * (a·wu).

    Args: ``a`` (M, K), ``wg`` and ``wu`` (K, H), any layout, one dtype; ``gate`` one of acts. Returns (M, H) in a's dtype.
    K = 0 gives zeros, for sigmoid too, whose gate is ½ there and the other factor 0.
    Source: N. Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202, equation 5.

    >>> reference(np.array([[2.0]]), np.array([[-1.0]]), np.array([[3.0]]), gate="relu") + 0.0
    array([[0.]])
    """
    return rounded(reference64(a, wg, wu, gate), np.asarray(a).dtype)


def error_bound(precision: Precision, result: Array, a: Any, wg: Any, wu: Any, gate: str = "silu") -> Array:
    """Return the errors of both products, the one through the gate, in their product, and the rounding of the result."""
    left = widened(a)
    gated, gated_error = left @ widened(wg), precision.product(left.shape[1], np.abs(left) @ np.abs(widened(wg)))
    gated, gated_error = through(gate, gated, gated_error, precision.acc, precision.tiny)
    up, up_error = left @ widened(wu), precision.product(left.shape[1], np.abs(left) @ np.abs(widened(wu)))
    error: Array = gated_error * (np.abs(up) + up_error) + np.abs(gated) * up_error + precision.acc * np.abs(result)
    return error + precision.rounding(result)
