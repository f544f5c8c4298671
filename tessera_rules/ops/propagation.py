"""What becomes of an error in its way through the functions of an op: interval by interval for monotone ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.ops.functions import BINARY, UNARY
from tessera_rules.ops.precision import Array

EXACT = frozenset(("relu", "neg", "abs", "maximum", "minimum"))
"""Functions that round nothing and move two numbers no further apart."""

GATES = {"gelu": 1.13, "gelu_erf": 1.13, "silu": 1.1}
"""The largest slope of x·gate(x) (at x ≈ 1.41, 1.41 and 2.40)."""

ULPS = 8.0
"""Roundings of a library's function: 4 units in the last place are up to 8 unit roundoffs."""


def through(word: str, value: Array, error: Array, acc: float, tiny: float, other: Array | None = None) -> tuple[Array, Array]:
    """Return the value and the error after a function of float64 values that are off by up to ``error``.

    ``acc`` is the unit roundoff of the arithmetic, ``tiny`` what may be flushed to 0. gelu, gelu_erf and silu are allowed one
    rounding of x besides those of the result: the textbook form of gelu, x/2·(1 + tanh u), cancels for x < 0.

    >>> value, error = through("exp", np.array([0.0]), np.array([1e-3]), 0.0, 0.0)
    >>> float(value[0]), round(float(error[0]), 6)
    (1.0, 0.001001)
    """
    if word in BINARY:
        assert other is not None
        return _binary(word, value, error, acc, other)
    result = UNARY[word](value)
    if word in EXACT:
        return result, error
    if word == "sign":
        return result, np.where((error >= np.abs(value)) & (error > 0), 2.0, 0.0)
    rounding = ULPS * acc * np.abs(result) + tiny
    if word in GATES:
        return result, GATES[word] * error + rounding + acc * np.abs(value)
    return result, _spread(word, value, error, result) + rounding


def _binary(word: str, value: Array, error: Array, acc: float, other: Array) -> tuple[Array, Array]:
    result = BINARY[word](value, other)
    if word in EXACT:
        return result, error
    scale: Any = np.abs(other) if word == "mul" else 1 / np.abs(other) if word == "div" else 1.0
    return result, np.where(error > 0, error * scale, 0.0) + acc * np.abs(result)


def _spread(word: str, value: Array, error: Array, result: Array) -> Array:
    """Return how far a monotone function moves within ``error`` of a value; infinite where it leaves its domain or jumps."""
    low, high = value - error, value + error
    moved = np.maximum(np.abs(UNARY[word](low) - result), np.abs(UNARY[word](high) - result))
    if word in ("reciprocal", "rsqrt"):
        moved = np.where(low * high <= 0, np.inf, moved)
    return np.where(error > 0, np.where(np.isnan(moved) & ~np.isnan(result), np.inf, moved), 0.0)
