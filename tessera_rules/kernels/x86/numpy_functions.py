"""Elementary functions in f32 or f64 by NumPy's vector loops, in place, by the words of the ops.

Accuracy in units of the last place, measured over the whole range of f32 (tests/ops/test_numpy_functions.py holds them to it):
4 or better of the result for all but gelu and gelu_erf, whose relative error grows for x < −1 and stays under 2⁻²⁴·|x|.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def relu(x: Array) -> None:
    """x = max(x, 0); NaN stays."""
    np.maximum(x, 0, out=x)


def sigmoid(x: Array) -> None:
    """x = 1 / (1 + e^-x); flushes to 0 below ln of the smallest normal number."""
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    np.reciprocal(x, out=x)


def silu(x: Array) -> None:
    """x = x / (1 + e^-x)."""
    bottom = np.negative(x)
    np.exp(bottom, out=bottom)
    bottom += 1
    x /= bottom


def gelu(x: Array) -> None:
    """x = x / (1 + e^-2u), u = √(2/π)(x + 0.044715 x³): the tanh form without its cancellation."""
    bottom = np.square(x)
    bottom *= -2.0 * math.sqrt(2.0 / math.pi) * 0.044715
    bottom -= 2.0 * math.sqrt(2.0 / math.pi)
    bottom *= x
    np.exp(bottom, out=bottom)
    bottom += 1
    x /= bottom


MIDDLE = 3.75
"""The t at which s = (t − 3.75) / (t + 3.75) is 0: maps [0, ∞) to [−1, 1) and leaves e^(t²)·erfc(t) nearly a polynomial of s."""


TERMS = 12
"""Chebyshev terms: the last ones are 3·10⁻⁷ and 3·10⁻⁸ of values up to 1, about f32's rounding; more do not lessen the error."""


@cache
def _scaled_erfc() -> tuple[float, ...]:
    """Return Chebyshev coefficients over s of e^(t²)·erfc(t), by interpolation of the C library's erfc in float64.

    Idea: J. L. Schonfelder, "Chebyshev expansions for the error and related functions", Math. Comp. 32 (1978).
    """

    def value(s: Array) -> Array:
        t = MIDDLE * (1.0 + s) / (1.0 - s)
        # Past t = 5 by the continued fraction (1/√π) / (t + ½/(t + 1/(t + 1½/(t + …)))): e^(t²) would overflow, erfc vanish.
        tail = t.copy()
        for k in range(120, 0, -1):
            tail = t + 0.5 * k / tail
        near = np.array([math.exp(min(v, 5.0) ** 2) * math.erfc(min(v, 5.0)) for v in t.tolist()])
        return np.where(t < 5.0, near, 1.0 / (math.sqrt(math.pi) * tail))

    interpolate: Any = np.polynomial.chebyshev.chebinterpolate
    return tuple(float(c) for c in interpolate(value, TERMS - 1))


def gelu_erf(x: Array) -> None:
    """x = x·Φ(x), Φ(x) = erfc(−x/√2)/2; in f64 by the C library's erfc, element by element, which is ten times slower than f32."""
    if x.dtype == np.float64:
        x *= 0.5 * np.fromiter(map(math.erfc, (x * -math.sqrt(0.5)).ravel().tolist()), np.float64, x.size).reshape(x.shape)
        return
    t = np.abs(x)
    t *= math.sqrt(0.5)
    np.minimum(t, 40.0, out=t)  # Φ is 0 or 1 from there; NaN stays
    s = (t - MIDDLE) / (t + MIDDLE)
    s *= 2
    coefficients = _scaled_erfc()
    one, two = np.zeros_like(x), np.zeros_like(x)
    for c in reversed(coefficients[1:]):  # Clenshaw's recurrence
        two, one = one, s * one - two + c
    phi = 0.5 * s * one - two + coefficients[0]
    np.square(t, out=t)
    np.negative(t, out=t)
    np.exp(t, out=t)
    phi *= t
    phi *= 0.5
    np.subtract(1, phi, out=phi, where=x > 0)
    x *= phi


def softplus(x: Array) -> None:
    """x = log(1 + e^x) = max(x, 0) + log1p(e^-|x|)."""
    small = np.abs(x)
    np.negative(small, out=small)
    np.exp(small, out=small)
    np.log1p(small, out=small)
    np.maximum(x, 0, out=x)
    x += small


def rsqrt(x: Array) -> None:
    """x = 1 / √x; ±0 gives ±Inf."""
    np.sqrt(x, out=x)
    np.reciprocal(x, out=x)


def _of(ufunc: np.ufunc) -> Callable[[Array], None]:
    def applied(x: Array) -> None:
        ufunc(x, out=x)

    return applied


ACTS: dict[str, Callable[[Array], None]] = {
    "relu": relu,
    "gelu": gelu,
    "gelu_erf": gelu_erf,
    "silu": silu,
    "sigmoid": sigmoid,
    "tanh": _of(np.tanh),
}

UNARY: dict[str, Callable[[Array], None]] = {
    **ACTS,
    "neg": _of(np.negative),
    "abs": _of(np.abs),
    "exp": _of(np.exp),
    "expm1": _of(np.expm1),
    "log": _of(np.log),
    "log1p": _of(np.log1p),
    "sqrt": _of(np.sqrt),
    "rsqrt": rsqrt,
    "reciprocal": _of(np.reciprocal),
    "softplus": softplus,
    "sign": _of(np.sign),
}

BINARY: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
