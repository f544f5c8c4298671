"""fused_matmul: a product with what comes before and after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera_rules.errors import OperandError
from tessera_rules.ops import layernorm, rmsnorm, softmax
from tessera_rules.ops.functions import ACTS, known
from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.ops.propagation import through
from tessera_rules.oracle.bounds import Precision

REDUCTIONS = ("none", "softmax", "rmsnorm", "layernorm")


@quiet
def reference64(
    a: Any,
    b: Any,
    bias: Any = None,
    residual: Any = None,
    prologue: Sequence[str] = (),
    epilogue: Sequence[str] = (),
    reduction: str = "none",
    eps: float = 1e-6,
) -> Array:
    """Return the fused product in float64, unrounded; see `reference`."""
    sizes("fused_matmul", {"a": (a, "M K"), "b": (b, "K N"), "bias": (bias, "N"), "residual": (residual, "M N")})
    before, after = known(prologue, ACTS, "prologue"), known(epilogue, ("bias", *ACTS), "epilogue")
    _check(after, bias is not None, residual is not None, reduction)
    left = widened(a)
    for word in before:
        left = ACTS[word](left)
    x = left @ widened(b)
    for word in after:
        x = x + widened(bias) if word == "bias" else ACTS[word](x)
    if residual is not None:
        x = x + widened(residual)
    if reduction == "softmax":
        return softmax.along_rows(x)
    if reduction == "rmsnorm":
        return rmsnorm.along_rows(x, eps)
    return layernorm.along_rows(x, eps) if reduction == "layernorm" else x


def _check(epilogue: list[str], bias: bool, residual: bool, reduction: str) -> None:
    if epilogue.count("bias") > 1:
        raise OperandError("epilogue of fused_matmul adds the bias twice, and may once")
    if ("bias" in epilogue) != bias:
        raise OperandError(
            "bias is given, and the epilogue of fused_matmul does not add it" if bias else "the epilogue of fused_matmul adds a bias, and none is given"
        )
    known([reduction], REDUCTIONS, "reduction")
    if residual and reduction != "none":
        raise OperandError(f"fused_matmul takes a residual or a reduction, and here are a residual and {reduction}")


def reference(
    a: Any,
    b: Any,
    bias: Any = None,
    residual: Any = None,
    prologue: Sequence[str] = (),
    epilogue: Sequence[str] = (),
    reduction: str = "none",
    eps: float = 1e-6,
) -> Array:
    """Return reduction(epilogue(prologue(a)·b) + residual).

    Args: ``a`` (M, K), ``b`` (K, N), ``bias`` (N), ``residual`` (M, N), any layout, one dtype; ``prologue`` acts on a,
    ``epilogue`` acts and at most one ``bias``, both in the order given; ``reduction`` over N: none, softmax, rmsnorm or
    layernorm with ``eps``. Returns (M, N) in a's dtype, rounded once: nothing in between is.
    Raises: `OperandError` for a size, a word, or a combination that the op excludes.

    >>> reference(np.ones((1, 2)), np.ones((2, 1)), bias=np.array([-3.0]), epilogue=["bias", "relu"])
    array([[0.]])
    >>> reference(np.ones((1, 2)), np.ones((2, 1)), bias=np.array([-3.0]), epilogue=["relu", "bias"])
    array([[-1.]])
    """
    return rounded(reference64(a, b, bias, residual, prologue, epilogue, reduction, eps), np.asarray(a).dtype)


@quiet
def error_bound(
    precision: Precision,
    result: Array,
    a: Any,
    b: Any,
    bias: Any = None,
    residual: Any = None,
    prologue: Sequence[str] = (),
    epilogue: Sequence[str] = (),
    reduction: str = "none",
    eps: float = 1e-6,
) -> Array:
    """Return the error of the product, carried through each step of the epilogue, the residual and the reduction.

    What the prologue gives may be rounded to the request's dtype before it is multiplied.
    """
    acc, tiny = precision.acc, precision.tiny
    left = widened(a)
    left_error = np.zeros(left.shape)
    for word in prologue:
        left, left_error = through(word, left, left_error, acc, tiny)
    right = np.abs(widened(b))
    x, size = left @ widened(b), np.abs(left) @ right
    error = precision.product(left.shape[1], size) + left_error @ right
    if prologue:
        # K independent roundings, each of a standard deviation of at most u/√3: thrice their root sum of squares, and at most their sum.
        error = error + precision.store * np.minimum(size, 3 * np.sqrt(np.square(left) @ np.square(right)))
    for word in epilogue:
        other = widened(bias) if word == "bias" else None
        x, error = through("add" if word == "bias" else word, x, error, acc, tiny, other)
    if residual is not None:
        x, error = through("add", x, error, acc, tiny, widened(residual))
    if reduction == "softmax":
        error = softmax.rows_error(precision, x, result, error)
    elif reduction == "rmsnorm":
        error = rmsnorm.rows_error(precision, x, result, eps, error)
    elif reduction == "layernorm":
        error = layernorm.rows_error(precision, x, result, eps, error)
    return error + precision.rounding(result)
