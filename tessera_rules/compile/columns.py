"""Columns: one value for each request of a batch, with the mask of those that are errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen

LOW, HIGH = -(2**63), 2**63 - 1
ROUNDED = 2**53
"""Integers up to here are floats without rounding."""

Mask = Any
"""A bool, or an array of them."""


@frozen(eq=False)
class Column:
    """One value for each request: a plain Python value that all share, or an array. ``failed`` marks where it is an error.

    ``low`` and ``high`` bound an array of integers. At a place that failed the value is of no account.
    """

    values: Any
    failed: Mask = False
    low: int = 0
    high: int = 0

    @property
    def kind(self) -> str:
        """``int``, ``float``, ``bool`` where NumPy can compute with it, else ``other``."""
        if isinstance(self.values, np.ndarray):
            return {"i": "int", "f": "float", "b": "bool"}.get(self.values.dtype.kind, "other")
        if isinstance(self.values, bool):
            return "bool"
        if isinstance(self.values, int):
            return "int" if LOW <= self.values <= HIGH else "other"
        return "float" if isinstance(self.values, float) else "other"

    @property
    def array(self) -> bool:
        """Whether requests differ in it."""
        return isinstance(self.values, np.ndarray)

    def bounds(self, *, measured: bool = False) -> tuple[int, int]:
        """Return bounds of an integer column; ``measured`` takes them from the data."""
        if not self.array:
            return self.values, self.values
        if measured and self.values.size:
            return int(self.values.min()), int(self.values.max())
        return self.low, self.high


FAILED = Column(None, True)


def either(*masks: Mask) -> Mask:
    """Return where any of some masks is set."""
    found: Mask = False
    for mask in masks:
        if mask is not False:
            found = mask if found is False or mask is True else True if found is True else np.logical_or(found, mask)
    return found


def elements(column: Column, shape: tuple[int, ...]) -> list[Any]:
    """Return a column's values as Python has them, one for each request."""
    if not column.array:
        return [column.values] * int(np.prod(shape, dtype=np.int64))
    listed: list[Any] = np.broadcast_to(column.values, shape).reshape(-1).tolist()
    return listed


def gathered(results: list[Any], bad: np.ndarray[Any, Any], shape: tuple[int, ...]) -> Column:
    """Return results as the narrowest kind of array that holds them exactly."""
    kept = [value for value, failed in zip(results, bad, strict=True) if not failed]
    failed: Mask = bad.reshape(shape) if bad.any() else False
    if not kept:
        return FAILED if bad.size else Column(np.zeros(shape, bool))
    kinds = {type(value) for value in kept}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is int and all(LOW <= value <= HIGH for value in kept):
        filled = np.array([value if value is not None else 0 for value in results], np.int64).reshape(shape)
        return Column(filled, failed, min(kept), max(kept))
    if kind in (bool, float):
        filled = np.array([value if value is not None else kind() for value in results], bool if kind is bool else np.float64)
        return Column(filled.reshape(shape), failed)
    values = np.empty(len(results), object)
    for place, value in enumerate(results):
        values[place] = value
    return Column(values.reshape(shape), failed)


def integers(value: np.ndarray[Any, Any]) -> Column | None:
    """Return an integer array as 64-bit integers, or None where it does not fit."""
    if value.size == 0:
        return Column(value.astype(np.int64))
    low, high = int(value.min()), int(value.max())
    return None if high > HIGH else Column(value.astype(np.int64), False, low, high)


def failing(column: Column, *failed: Mask) -> Column:
    """Return a column that is an error at some more places."""
    return FAILED if column.failed is True else Column(column.values, either(column.failed, *failed), column.low, column.high)


def plain_column(column: Column) -> Column:
    """Make what is one value for all requests a plain one again."""
    values = column.values if isinstance(column.values, np.ndarray) and column.values.ndim else bool(column.values)
    failed = column.failed if isinstance(column.failed, np.ndarray) and column.failed.ndim else bool(column.failed)
    return Column(values, failed)
