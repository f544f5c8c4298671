"""Conditions over whole arrays of requests, with NumPy, exact like the interpreter.

Every integer column carries bounds of its values. Where they show that a result fits in 64 bits, NumPy computes it; where
they do not, the bounds are taken again from the data, and what still may not fit is computed on Python's own integers, element
by element. So nothing wraps: what is slow is slow, and says so in ``Answers.exact_elements``. Comparing integers past 2**53
with floats goes the same way, since NumPy would round them first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import define, field, frozen

from tessera_rules.compile import operators
from tessera_rules.compile.evaluate import evaluate
from tessera_rules.compile.operators import STRICT, ClauseError
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.values import Clause

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


def _either(*masks: Mask) -> Mask:
    found: Mask = False
    for mask in masks:
        if mask is not False:
            found = mask if found is False else np.logical_or(found, mask)
    return found


@frozen(eq=False)
class Answers:
    """What a condition comes to for each request: ``true`` and ``failed`` are arrays; false is neither.

    ``exact_elements`` counts the elements that were computed one by one because they did not fit in 64 bits or had no
    NumPy type.
    """

    true: np.ndarray[Any, np.dtype[np.bool_]]
    failed: np.ndarray[Any, np.dtype[np.bool_]]
    exact_elements: int
    _term: Term
    _values: Mapping[str, Any]

    def error(self, place: int) -> ClauseError | None:
        """Return the error of one request (by its flat index), or None."""
        if not self.failed.flat[place]:
            return None
        try:
            operators.boolean(evaluate(self._term, lambda key: _element(self._values, key, place, self.true.shape)))
        except ClauseError as problem:
            return problem.with_traceback(None)
        raise AssertionError("the interpreter finds no error where the array did")


def _element(values: Mapping[str, Any], key: str, place: int, shape: tuple[int, ...]) -> Any:
    if key not in values:
        raise ClauseError(f"{key} has no value")
    value = values[key]
    if not isinstance(value, np.ndarray):
        return value
    found = np.broadcast_to(value, shape).flat[place]
    return found if value.dtype == object else found.item()


@frozen(eq=False)
class Vectorized:
    """A condition over arrays.

    >>> from tessera_rules.model.types import BOOL, INT
    >>> k = Fact(INT, "dim:K", "K")
    >>> tile = Vectorized(Apply(BOOL, "eq", (Apply(INT, "mod", (k, Const(INT, 16))), Const(INT, 0))))
    >>> tile({"dim:K": np.array([64, 72])}).true.tolist()
    [True, False]
    """

    term: Term

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that it reads."""
        return tuple(facts(self.term))

    def __call__(self, values: Mapping[str, Any]) -> Answers:
        """Return the answers for values by fact key: arrays that broadcast together, or one value for all requests."""
        shape = np.broadcast_shapes(*(value.shape for value in values.values() if isinstance(value, np.ndarray)))
        batch = _Batch(values)
        with np.errstate(all="ignore"):
            column = batch.condition(self.term)
        failed = np.broadcast_to(column.failed, shape)
        true = np.broadcast_to(column.values if column.failed is not True else False, shape).astype(bool) & ~failed
        return Answers(true, failed.astype(bool), batch.exact_elements, self.term, values)

    def column(self, values: Mapping[str, Any]) -> Column:
        """Return the values of a term of any type."""
        with np.errstate(all="ignore"):
            return _Batch(values).evaluate(self.term)


def compile_vectorized(condition: Clause | Term) -> Vectorized:
    """Return a condition as a function of arrays."""
    return Vectorized(condition.term if isinstance(condition, Clause) else condition)


@define
class _Batch:
    values: Mapping[str, Any]
    exact_elements: int = 0
    _facts: dict[str, Column] = field(factory=dict, init=False)

    # ---- terms ----

    def evaluate(self, term: Term) -> Column:
        if isinstance(term, Const):
            return Column(term.value)
        if isinstance(term, Fact):
            if term.key not in self._facts:
                self._facts[term.key] = self._fact(term)
            return self._facts[term.key]
        assert isinstance(term, Apply)
        match term.op:
            case "and":
                return self._chain(term.args, stop=False)
            case "or":
                return self._chain(term.args, stop=True)
            case "if":
                return self._if(*term.args)
            case "in":
                return self._in(term.args)
            case "not":
                column = self.condition(term.args[0])
                return column if column.failed is True else Column(np.logical_not(column.values) if column.array else not column.values, column.failed)
        columns = [self.evaluate(arg) for arg in term.args]
        if any(column.failed is True for column in columns):
            return FAILED
        function = _FUNCTIONS[term.op]
        if not any(column.array for column in columns):
            return self._shared(function, columns)
        quick = _QUICK.get(term.op)
        found = quick(self, term.op, columns) if quick is not None else None
        if found is None:
            return self._each(function, columns)
        return found if all(column.failed is False for column in columns) else _failing(found, *(column.failed for column in columns))

    def condition(self, term: Term) -> Column:
        """Evaluate a term that has to be a boolean."""
        column = self.evaluate(term)
        if column.failed is True or column.kind == "bool":
            return column
        return self._each(operators.boolean, [column]) if column.array else FAILED

    def _fact(self, fact: Fact) -> Column:
        if fact.key not in self.values:
            return FAILED
        value = self.values[fact.key]
        if isinstance(value, np.ndarray):
            return self._array(value, fact)
        try:
            return Column(operators.typed(value, fact.type, fact.shown))
        except ClauseError:
            return FAILED

    def _array(self, value: np.ndarray[Any, Any], fact: Fact) -> Column:
        kind = value.dtype.kind
        if kind in "iu" and fact.type.kind in ("int", "float", "any"):
            column = _integers(value)
            if column is not None:
                return column
        elif (kind == "f" and fact.type.kind in ("float", "any")) or (kind == "b" and fact.type.kind in ("bool", "any")):
            return Column(value.astype(np.float64) if kind == "f" else value)
        plain = np.empty(value.shape, object)
        plain[...] = value  # Python's own values, as the interpreter would get them
        kind_of = fact.type
        return self._each(lambda each: operators.typed(each, kind_of, fact.shown), [Column(plain)])

    # ---- what stops when fixed ----

    def _chain(self, args: tuple[Term, ...], *, stop: bool) -> Column:
        """``and`` stops at false, ``or`` at true: ``open`` marks the requests that have not stopped."""
        opened: Mask = True
        failed: Mask = False
        stopped: Mask = False
        for arg in args:
            column = self.condition(arg)
            if column.failed is not False:
                failed = _either(failed, np.logical_and(opened, column.failed))
                opened = np.logical_and(opened, np.logical_not(column.failed))
            if column.failed is not True:
                hit = column.values if stop else np.logical_not(column.values)
                stopped = np.logical_or(stopped, np.logical_and(opened, hit))
                opened = np.logical_and(opened, np.logical_not(hit))
            if not np.any(opened):
                break
        result = stopped if stop else opened
        return _plain(Column(result if stop else np.logical_and(result, np.logical_not(failed)), failed))

    def _if(self, condition: Term, value: Term, otherwise: Term) -> Column:
        chosen = self.condition(condition)
        if chosen.failed is True:
            return FAILED
        if not chosen.array:
            column = self.evaluate(value if chosen.values else otherwise)
            return column if chosen.failed is False else _failing(column, chosen.failed)
        one, two = self.evaluate(value), self.evaluate(otherwise)
        failed = _either(chosen.failed, np.where(chosen.values, one.failed, two.failed))
        if one.failed is True or two.failed is True:
            kept = two if one.failed is True else one
            return FAILED if kept.failed is True else Column(kept.values, failed, kept.low, kept.high)
        if one.kind == two.kind != "other":
            low, high = zip(one.bounds(), two.bounds(), strict=True) if one.kind == "int" else ((0,), (0,))
            return Column(np.where(chosen.values, one.values, two.values), failed, min(low), max(high))
        picked = self._each(lambda flag, a, b: a if flag else b, [Column(chosen.values), Column(one.values), Column(two.values)])
        return _failing(picked, failed)

    def _in(self, args: tuple[Term, ...]) -> Column:
        x = self.evaluate(args[0])
        if x.failed is True:
            return FAILED
        opened: Mask = np.logical_not(x.failed)
        failed: Mask = x.failed
        found: Mask = False
        for arg in args[1:]:
            item = self.evaluate(arg)
            same = self._compare("eq", [x, item]) if item.failed is not True else FAILED
            bad = _either(item.failed, same.failed)
            if bad is not False:
                failed = _either(failed, np.logical_and(opened, bad))
                opened = np.logical_and(opened, np.logical_not(bad))
            if bad is not True:
                found = np.logical_or(found, np.logical_and(opened, same.values))
                opened = np.logical_and(opened, np.logical_not(same.values))
            if not np.any(opened):
                break
        return _plain(Column(np.logical_and(found, True), failed))

    def _compare(self, op: str, columns: list[Column]) -> Column:
        if not any(column.array for column in columns):
            return self._shared(STRICT[op], columns)
        found = _comparison(self, op, columns)
        return self._each(STRICT[op], columns) if found is None else found

    # ---- value by value ----

    def _shared(self, function: Callable[..., Any], columns: list[Column]) -> Column:
        failed = _either(*(column.failed for column in columns))
        try:
            return Column(function(*(column.values for column in columns)), failed)
        except ClauseError:
            return FAILED

    def _each(self, function: Callable[..., Any], columns: list[Column]) -> Column:
        """Compute element by element on Python's values: exact, and slow."""
        shape = np.broadcast_shapes(*(column.values.shape for column in columns if column.array))
        skip = np.broadcast_to(_either(*(column.failed for column in columns)), shape).astype(bool)
        rows = [_elements(column, shape) for column in columns]
        results: list[Any] = []
        bad = skip.copy().reshape(-1)
        self.exact_elements += bad.size
        for place, values in enumerate(zip(*rows, strict=True)):
            if bad[place]:
                results.append(None)
                continue
            try:
                results.append(function(*values))
            except ClauseError:
                bad[place] = True
                results.append(None)
        return _gathered(results, bad, shape)


def _elements(column: Column, shape: tuple[int, ...]) -> list[Any]:
    if not column.array:
        return [column.values] * int(np.prod(shape, dtype=np.int64))
    listed: list[Any] = np.broadcast_to(column.values, shape).reshape(-1).tolist()
    return listed


def _gathered(results: list[Any], bad: np.ndarray[Any, Any], shape: tuple[int, ...]) -> Column:
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


def _integers(value: np.ndarray[Any, Any]) -> Column | None:
    """Return an integer array as 64-bit integers, or None where it does not fit."""
    if value.size == 0:
        return Column(value.astype(np.int64))
    low, high = int(value.min()), int(value.max())
    return None if high > HIGH else Column(value.astype(np.int64), False, low, high)


def _failing(column: Column, *failed: Mask) -> Column:
    return FAILED if column.failed is True else Column(column.values, _either(column.failed, *failed), column.low, column.high)


def _plain(column: Column) -> Column:
    """Make what is one value for all requests a plain one again."""
    values = column.values if isinstance(column.values, np.ndarray) and column.values.ndim else bool(column.values)
    failed = column.failed if isinstance(column.failed, np.ndarray) and column.failed.ndim else bool(column.failed)
    return Column(values, failed)


# ---- what NumPy computes ------------------------------------------------------------------------------------------


def _all(columns: list[Column], *kinds: str) -> bool:
    return all(column.kind in kinds for column in columns)


def _finite(values: Any) -> Column:
    bad = ~np.isfinite(values)
    return Column(values, bad if bad.any() else False)


def _floats(columns: list[Column]) -> list[Any]:
    return [column.values.astype(np.float64) if column.array else float(column.values) for column in columns]


def _arithmetic(_batch: _Batch, op: str, columns: list[Column]) -> Column | None:
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


def _division(_batch: _Batch, op: str, columns: list[Column]) -> Column | None:
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
        return Column(np.mod(x.values, safe), bad, 0, top - 1)
    if op == "floordiv":
        return Column(np.floor_divide(x.values, safe), bad, min(low, 0), max(high, 0))
    if low == LOW:
        return None
    up = -np.floor_divide(-x.values if x.array else np.int64(-x.values), safe)
    if op == "ceil_div":
        return Column(up, bad, min(low, 0), max(high, 0))
    if high + top > HIGH:
        return None
    return Column(up * safe, bad, low, high + top)


def _quotient(_batch: _Batch, _op: str, columns: list[Column]) -> Column | None:
    if not _all(columns, "int", "float"):
        return None
    if any(column.kind == "int" and max(map(abs, column.bounds(measured=True))) > ROUNDED for column in columns):
        return None
    a, b = _floats(columns)
    found = _finite(np.divide(a, b))
    return _failing(found, np.equal(b, 0)) if np.any(np.equal(b, 0)) else found


def _sign(_batch: _Batch, op: str, columns: list[Column]) -> Column | None:
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


def _extreme(_batch: _Batch, op: str, columns: list[Column]) -> Column | None:
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


def _root(_batch: _Batch, _op: str, columns: list[Column]) -> Column | None:
    return _finite(np.sqrt(_floats(columns)[0])) if _all(columns, "int", "float") else None


def _common(_batch: _Batch, _op: str, columns: list[Column]) -> Column | None:
    if not _all(columns, "int") or any(column.bounds()[0] == LOW for column in columns):
        return None
    top = max(abs(bound) for column in columns for bound in column.bounds())
    return Column(np.gcd(columns[0].values, columns[1].values), False, 0, top)


def _power(_batch: _Batch, _op: str, columns: list[Column]) -> Column | None:
    (x,) = columns
    if x.kind != "int":
        return None
    below = np.maximum(x.values, 1)
    return Column((x.values > 0) & (below & (below - 1) == 0))


def _log2(_batch: _Batch, _op: str, columns: list[Column]) -> Column | None:
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


def _comparison(_batch: _Batch, op: str, columns: list[Column]) -> Column | None:
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    }  # fmt: skip
    a, b = columns
    failed = _either(a.failed, b.failed)
    if _all(columns, "int") or (op in ("eq", "ne") and _all(columns, "bool")):
        return Column(functions[op](a.values, b.values), failed)
    if not _all(columns, "int", "float"):
        return None
    if any(column.kind == "int" and max(map(abs, column.bounds(measured=True))) > ROUNDED for column in columns):
        return None
    return Column(functions[op](*_floats(columns)), failed)


def _interval(_batch: _Batch, _op: str, columns: list[Column]) -> Column | None:
    x, low, high, step = columns
    if not _all(columns, "int"):
        return None
    if x.bounds()[1] - low.bounds()[0] > HIGH or x.bounds()[0] - low.bounds()[1] < LOW:
        return None
    bad: Mask = np.less_equal(step.values, 0)
    safe = np.where(bad, 1, step.values)
    inside = (np.less_equal(low.values, x.values)) & (np.less_equal(x.values, high.values)) & (np.mod(np.subtract(x.values, low.values), safe) == 0)
    return Column(inside, bad if np.any(bad) else False)


_FUNCTIONS: dict[str, Callable[..., Any]] = {**STRICT, "contains": operators.contains, "in_range": operators.in_range}
_QUICK: dict[str, Callable[[_Batch, str, list[Column]], Column | None]] = {
    "add": _arithmetic, "sub": _arithmetic, "mul": _arithmetic, "floordiv": _division, "mod": _division, "ceil_div": _division,
    "align_up": _division, "div": _quotient, "neg": _sign, "abs": _sign, "min": _extreme, "max": _extreme, "sqrt": _root,
    "gcd": _common, "is_pow2": _power, "log2": _log2, "in_range": _interval,
    "eq": _comparison, "ne": _comparison, "lt": _comparison, "le": _comparison, "gt": _comparison, "ge": _comparison,
}  # fmt: skip
