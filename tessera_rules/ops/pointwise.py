"""pointwise: a chain of elementary functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera_rules.errors import OperandError
from tessera_rules.ops.functions import BINARY, UNARY, known
from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.ops.propagation import through
from tessera_rules.oracle.bounds import Precision


@quiet
def reference64(x: Any, y: Any = None, fn: Sequence[str] = ()) -> Array:
    """Return the chain in float64, unrounded; see `reference`."""
    sizes("pointwise", {"x": (x, "M N"), "y": (y, "M N")})
    value = widened(x)
    other = None if y is None else widened(y)
    for word in known(fn, (*UNARY, *BINARY), "fn"):
        if word in UNARY:
            value = UNARY[word](value)
        elif other is None:
            raise OperandError(f"'{word}' of fn takes y, and none is given", hint="pointwise(x, y, fn=…)")
        else:
            value = BINARY[word](value, other)
    return value


def reference(x: Any, y: Any = None, fn: Sequence[str] = ()) -> Array:
    """Return the functions of ``fn`` applied in order to x; a binary one takes y as its second operand.

    Args: ``x`` and ``y`` (M, N), any layout, one dtype. Returns (M, N) in x's dtype, rounded once, at the end of the chain.
    NaN goes through everywhere: maximum and minimum give NaN where either operand is, sign(NaN) is NaN. sqrt, log and rsqrt
    of a negative number are NaN, rsqrt and reciprocal of ±0 infinite.
    Raises: `OperandError` for a word that is none, or a binary one without y.

    >>> reference(np.array([[1.0, np.nan, -2.0]]), fn=["relu", "neg"]) + 0.0
    array([[-1., nan,  0.]])
    """
    return rounded(reference64(x, y, fn), np.asarray(x).dtype)


def error_bound(precision: Precision, result: Array, x: Any, y: Any = None, fn: Sequence[str] = ()) -> Array:
    """Return the error that each function adds, carried through those after it, and the rounding of the result."""
    value = widened(x)
    error, other = np.zeros(value.shape), None if y is None else widened(y)
    for word in fn:
        value, error = through(word, value, error, precision.acc, precision.tiny, other)
    return error + precision.rounding(result)
