"""The operators on columns that NumPy computes exactly; None says that it could not, and the elements go one by one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tessera_rules.compile.columns import FAILED, HIGH, LOW, ROUNDED, Column, Mask, either, failing


def _all(columns: list[Column], *kinds: str) -> bool:
    return all(column.kind in kinds for column in columns)


def _finite(values: Any) -> Column:
    bad = ~np.isfinite(values)
    return Column(values, bad if bad.any() else False)


def _floats(columns: list[Column]) -> list[Any]:
    return [column.values.astype(np.float64) if column.array else float(column.values) for column in columns]


def _arithmetic(op: str, columns: list[Column]) -> Column | None:
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op]
    if not _all(columns, "int", "float"):
        return None
    if not _all(columns, "int"):
        return _finite(function(*_floats(columns)))
    exact = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}[op]
    for measured in (False, True):
        (a, b), (c, d) = columns[0].bounds(measured=measured), columns[1].bounds(measured=measured)
        corners = [exact(x, y) for x in (a, b) for y in (c, d)]
        if min(corners) >= LOW and max(corners) <= HIGH:
            return Column(function(columns[0].values, columns[1].values), False, min(corners), max(corners))
    return None


def _division(op: str, columns: list[Column]) -> Column | None:
    if not _all(columns, "int"):
        return None
    x, divisor = columns
    bad: Mask = divisor.values <= 0
    if divisor.array:
        safe = np.where(bad, 1, divisor.values) if bad.any() else divisor.values
        bad = bad if bad.any() else False
    elif bad:
        return FAILED
    else:
        safe = divisor.values
    low, high = x.bounds()
    top = max(divisor.bounds()[1], 1)
    if op == "mod":
        return Column(_remainder(x.values, safe), bad, 0, top - 1)
    if op == "floordiv":
        return Column(_floored(x.values, safe), bad, min(low, 0), max(high, 0))
    if low == LOW:
        return None
    up = -_floored(-x.values if x.array else np.int64(-x.values), safe)
    if op == "ceil_div":
        return Column(up, bad, min(low, 0), max(high, 0))
    if high + top > HIGH:
        return None
    return Column(up * safe, bad, low, high + top)


def _remainder(values: Any, divisor: Any) -> Any:
    """``values % divisor`` for a positive divisor; NumPy's own takes ten times as long as what one divisor for all allows."""
    if isinstance(divisor, np.ndarray):
        return np.mod(values, divisor)
    if divisor & (divisor - 1) == 0:
        return values & (divisor - 1)  # two's complement floors
    return values - np.floor_divide(values, divisor) * divisor


def _floored(values: Any, divisor: Any) -> Any:
    if isinstance(divisor, np.ndarray) or divisor & (divisor - 1):
        return np.floor_divide(values, divisor)
    return values >> (divisor.bit_length() - 1)  # an arithmetic shift floors


def _quotient(_op: str, columns: list[Column]) -> Column | None:
    if not _all(columns, "int", "float"):
        return None
    if any(column.kind == "int" and max(map(abs, column.bounds(measured=True))) > ROUNDED for column in columns):
        return None
    a, b = _floats(columns)
    found = _finite(np.divide(a, b))
    return failing(found, np.equal(b, 0)) if np.any(np.equal(b, 0)) else found


def _sign(op: str, columns: list[Column]) -> Column | None:
    (x,) = columns
    function = np.negative if op == "neg" else np.abs
    if x.kind == "float":
        return _finite(function(x.values))
    if x.kind != "int":
        return None
    low, high = x.bounds()
    if low == LOW:
        return None
    return Column(function(x.values), False, -high if op == "neg" else 0, -low if op == "neg" else max(-low, high))


def _extreme(op: str, columns: list[Column]) -> Column | None:
    function, plain = (np.minimum, min) if op == "min" else (np.maximum, max)
    if not (_all(columns, "int") or _all(columns, "float")):
        return None
    values = columns[0].values
    for column in columns[1:]:
        values = function(values, column.values)
    if columns[0].kind == "float":
        # a nan anywhere is an error; NumPy's minimum and maximum hand it on
        return _finite(values)
    bounds = [column.bounds() for column in columns]
    return Column(values, False, plain(low for low, _ in bounds), plain(high for _, high in bounds))


def _root(_op: str, columns: list[Column]) -> Column | None:
    return _finite(np.sqrt(_floats(columns)[0])) if _all(columns, "int", "float") else None


def _common(_op: str, columns: list[Column]) -> Column | None:
    if not _all(columns, "int") or any(column.bounds()[0] == LOW for column in columns):
        return None
    top = max(abs(bound) for column in columns for bound in column.bounds())
    return Column(np.gcd(columns[0].values, columns[1].values), False, 0, top)


def _power(_op: str, columns: list[Column]) -> Column | None:
    (x,) = columns
    if x.kind != "int":
        return None
    below = np.maximum(x.values, 1)
    return Column((x.values > 0) & (below & (below - 1) == 0))


def _log2(_op: str, columns: list[Column]) -> Column | None:
    (x,) = columns
    if x.kind != "int":
        return None
    rest = np.maximum(x.values, 1)
    found = np.zeros_like(rest)
    for shift in (32, 16, 8, 4, 2, 1):
        large = rest >= (1 << shift)
        found += np.where(large, shift, 0)
        rest = np.where(large, rest >> shift, rest)
    bad = x.values <= 0
    return Column(found, bad if bad.any() else False, 0, 63)


def comparison(op: str, columns: list[Column]) -> Column | None:
    """Compare two columns, one of them an array."""
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    }  # fmt: skip
    a, b = columns
    failed = either(a.failed, b.failed)
    if _all(columns, "int"):
        settled = _settled(op, a.bounds(), b.bounds())
        if settled is not None:
            return Column(settled, failed)
        return Column(functions[op](a.values, b.values), failed)
    if op in ("eq", "ne") and _all(columns, "bool"):
        return Column(functions[op](a.values, b.values), failed)
    if not _all(columns, "int", "float"):
        return None
    if any(column.kind == "int" and max(map(abs, column.bounds(measured=True))) > ROUNDED for column in columns):
        return None
    return Column(functions[op](*_floats(columns)), failed)


def _settled(op: str, a: tuple[int, int], b: tuple[int, int]) -> bool | None:
    """Return what a comparison comes to where the bounds of the two sides leave no choice."""
    if op in ("gt", "ge"):
        op, a, b = {"gt": "lt", "ge": "le"}[op], b, a
    if op == "lt":
        return True if a[1] < b[0] else False if a[0] >= b[1] else None
    if op == "le":
        return True if a[1] <= b[0] else False if a[0] > b[1] else None
    apart = a[1] < b[0] or b[1] < a[0]
    if apart:
        return op == "ne"
    return op == "eq" if a[0] == a[1] == b[0] == b[1] else None


def _interval(_op: str, columns: list[Column]) -> Column | None:
    x, low, high, step = columns
    if not _all(columns, "int"):
        return None
    if x.bounds()[1] - low.bounds()[0] > HIGH or x.bounds()[0] - low.bounds()[1] < LOW:
        return None
    bad: Mask = np.less_equal(step.values, 0)
    safe = np.where(bad, 1, step.values)
    inside = (np.less_equal(low.values, x.values)) & (np.less_equal(x.values, high.values)) & (np.mod(np.subtract(x.values, low.values), safe) == 0)
    return Column(inside, bad if np.any(bad) else False)


QUICK: dict[str, Callable[[str, list[Column]], Column | None]] = {
    "add": _arithmetic, "sub": _arithmetic, "mul": _arithmetic, "floordiv": _division, "mod": _division, "ceil_div": _division,
    "align_up": _division, "div": _quotient, "neg": _sign, "abs": _sign, "min": _extreme, "max": _extreme, "sqrt": _root,
    "gcd": _common, "is_pow2": _power, "log2": _log2, "in_range": _interval,
    "eq": comparison, "ne": comparison, "lt": comparison, "le": comparison, "gt": comparison, "ge": comparison,
}  # fmt: skip
