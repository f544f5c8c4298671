"""gated_matmul: gate(a·wg) * (a·wu), the first half of a gated feed-forward layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.ops.functions import ACTS, known
from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened


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
