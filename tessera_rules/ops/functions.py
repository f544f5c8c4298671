"""The elementary functions of the ops in float64, by their words, with the values that they have at the edges.

NaN gives NaN everywhere. silu, gelu and gelu_erf are x times a gate that is 0 at -Inf, so that -Inf gives NaN, as in every
implementation that multiplies; at Inf they give Inf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tessera_rules.errors import OperandError
from tessera_rules.nearest import did_you_mean

Array = np.ndarray[Any, Any]
Unary = Callable[[Array], Array]


def erfc(x: Array) -> Array:
    """Return the complementary error function, by the C library's erfc (libm; within one or two ulp)."""
    flat = np.fromiter(map(math.erfc, x.ravel().tolist()), np.float64, x.size)
    return flat.reshape(x.shape)


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + e^-x), with full relative precision at both ends.

    >>> bool(sigmoid(np.array([-700.0]))[0] > 9e-305)
    True
    """
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def silu(x: Array) -> Array:
    """Return x · sigmoid(x)."""
    return x * sigmoid(x)


def gelu(x: Array) -> Array:
    """Return the tanh form x/2 · (1 + tanh u), u = √(2/π)(x + 0.044715 x³), as x · sigmoid(2u), which does not cancel for x < 0.

    Source: D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415, section 2.
    """
    return x * sigmoid(2.0 * math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x))


def gelu_erf(x: Array) -> Array:
    """Return x · Φ(x) = x/2 · erfc(-x/√2)."""
    return x * 0.5 * erfc(x * -math.sqrt(0.5))


def relu(x: Array) -> Array:
    """Return max(x, 0); NaN stays NaN."""
    return np.maximum(x, 0.0)


def softplus(x: Array) -> Array:
    """Return log(1 + e^x), without overflow and with full relative precision where e^x is small."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


ACTS: dict[str, Unary] = {"relu": relu, "gelu": gelu, "gelu_erf": gelu_erf, "silu": silu, "sigmoid": sigmoid, "tanh": np.tanh}

UNARY: dict[str, Unary] = {
    **ACTS,
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "reciprocal": lambda x: 1.0 / x,
    "softplus": softplus,
    "sign": np.sign,
}

BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


def known(words: Iterable[str], table: Iterable[str], what: str) -> list[str]:
    """Return the words, each of the table. Raises `OperandError` with the nearest word for another, and for a string in place of a list."""
    if isinstance(words, str):
        raise OperandError(f"{what} is a list of words, and this is the string '{words}'", hint=f"[{words!r}]")
    listed, names = list(words), list(table)
    for word in listed:
        if word not in names:
            raise OperandError(f"'{word}' is no word of {what}", hint=did_you_mean(word, names, "word"))
    return listed
