"""Arrays of one value in many layouts, with guards around the elements that a kernel must neither read nor write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def guard_value(dtype: np.dtype[Any]) -> Any:
    """What lies around the elements: NaN, or a number that is no index and stands out."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else (-8 if dtype.name == "int4" else np.nan)


def _around(x: Array, shape: tuple[int, ...], index: tuple[slice, ...]) -> tuple[Array, Array]:
    buffer = np.empty(shape, x.dtype)
    buffer.fill(guard_value(x.dtype))
    inside = buffer[index]
    inside[...] = x
    return inside, buffer


def contiguous(x: Array) -> tuple[Array, Array]:
    """C order at an address that is a multiple of 64, as requests that say nothing have it."""
    raw = np.empty(x.nbytes + 64, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    inside = raw[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    inside[...] = x
    return inside, inside


def transposed(x: Array) -> tuple[Array, Array]:
    """The last two axes lie the other way round; a vector is a column of a matrix."""
    if x.ndim < 2:
        return _column(x)
    buffer = np.ascontiguousarray(x.swapaxes(-1, -2))
    return buffer.swapaxes(-1, -2), buffer


def _column(x: Array) -> tuple[Array, Array]:
    buffer = np.empty((x.shape[0], 2), x.dtype)
    buffer.fill(guard_value(x.dtype))
    buffer[:, 0] = x
    return buffer[:, 0], buffer


def gap(x: Array) -> tuple[Array, Array]:
    """Rows lie three elements apart (ld > n), and so do matrices of a batch; before and after them too."""
    shape = tuple(n + 3 for n in x.shape)
    return _around(x, shape, tuple(slice(1, n + 1) for n in x.shape))


def reversed_axes(x: Array) -> tuple[Array, Array]:
    """Every axis runs backwards in memory."""
    back = tuple(slice(None, None, -1) for _ in x.shape)
    buffer = np.ascontiguousarray(x[back])
    return buffer[back], buffer


def every_other(x: Array) -> tuple[Array, Array]:
    """Elements of the last axis lie two apart."""
    return _around(x, (*x.shape[:-1], 2 * x.shape[-1] + 1), (*(slice(None) for _ in x.shape[:-1]), slice(1, 2 * x.shape[-1] + 1, 2)))


def misaligned(x: Array) -> tuple[Array, Array]:
    """C order, one element past a multiple of 64 bytes."""
    raw = np.empty(x.nbytes + 64 + 2 * x.itemsize, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64 + x.itemsize
    inside = raw[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    inside[...] = x
    return inside, inside


LAYOUTS: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "contiguous": contiguous,
    "transposed": transposed,
    "gap": gap,
    "reversed": reversed_axes,
    "every_other": every_other,
    "misaligned": misaligned,
}
