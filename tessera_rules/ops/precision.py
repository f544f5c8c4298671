"""Operands widened to float64 without loss, and results rounded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from tessera_rules.bind.arrays import dtype_of
from tessera_rules.errors import OperandError

Array = np.ndarray[Any, Any]
P = ParamSpec("P")
T = TypeVar("T")


def quiet(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function without NumPy's warnings: overflow to infinity and NaN are results here, not accidents."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return called


def widened(x: Any) -> Array:
    """Return an operand as float64 (complex128 for a complex one), exactly; f16, bf16, f8 and i4 too.

    >>> float(widened(np.array([0.1], np.float32))[0])
    0.10000000149011612
    """
    array = np.asarray(x)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def rounded(value: Array, dtype: Any) -> Array:
    """Return a float64 or complex128 result rounded once, to nearest and ties to even, to a NumPy dtype or a word of rules.

    An integer dtype saturates, and NaN is 0 there.

    >>> rounded(np.array([2.5, 3.5, 1e20]), "i32").tolist()
    [2, 4, 2147483647]
    """
    kind = dtype_of(dtype) if isinstance(dtype, str) else np.dtype(dtype)
    with np.errstate(all="ignore"):
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            whole = np.nan_to_num(np.rint(value), nan=0.0, posinf=np.inf, neginf=-np.inf)
            # The largest i64 is no float64: what reaches it is set by comparison, not by a cast that would overflow.
            inside = (whole >= float(limits.min)) & (whole < float(limits.max))
            result: Array = np.where(whole > 0, limits.max, limits.min).astype(kind)
            result[inside] = whole[inside].astype(kind)
            return result
        return value.astype(kind)


def sizes(op: str, shapes: Mapping[str, tuple[Any, str]]) -> dict[str, int]:
    """Return the dimensions that operands bind: ``{"a": (a, "M K"), "b": (b, "K N")}``; one that is None is not given.

    Raises `OperandError` naming operand and dimension for a rank or a size that does not fit.

    >>> sizes("matmul", {"a": (np.ones((2, 3)), "M K"), "b": (np.ones((3, 4)), "K N")})
    {'M': 2, 'K': 3, 'N': 4}
    """
    found: dict[str, int] = {}
    origin: dict[str, str] = {}
    for name, (x, pattern) in shapes.items():
        if x is None:
            continue
        shape, dims = np.shape(x), pattern.split()
        if len(shape) != len(dims):
            raise OperandError(f"operand '{name}' has shape {list(shape)}, and {op} takes [{', '.join(dims)}]")
        for axis, (dim, size) in enumerate(zip(dims, shape, strict=True)):
            if found.setdefault(dim, size) != size:
                raise OperandError(
                    f"operand '{name}' of {op} has {dim} = {size} at axis {axis}, and '{origin[dim]}' has {dim} = {found[dim]}", values={dim: found[dim]}
                )
            origin.setdefault(dim, name)
    return found
