"""Conditions over whole arrays of requests, with NumPy, exact like the interpreter.

Every integer column carries bounds of its values. Where they show that a result fits in 64 bits, NumPy computes it; where
they do not, the bounds are taken again from the data, and what still may not fit is computed on Python's own integers, element
by element. So nothing wraps: what is slow is slow, and says so in ``Answers.exact_elements``. Comparing integers past 2**53
with floats goes the same way, since NumPy would round them first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import define, field, frozen

from tessera_rules.compile import operators
from tessera_rules.compile.columns import FAILED, Column, Mask, either, elements, failing, gathered, integers, plain_column
from tessera_rules.compile.evaluate import evaluate
from tessera_rules.compile.kinds import ClauseError, typed
from tessera_rules.compile.operators import STRICT
from tessera_rules.compile.vector_operators import QUICK, comparison
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.values import Clause


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
        batch = Batch(values)
        with np.errstate(all="ignore"):
            column = batch.condition(self.term)
        failed = np.broadcast_to(column.failed, shape)
        true = np.broadcast_to(column.values if column.failed is not True else False, shape).astype(bool) & ~failed
        return Answers(true, failed.astype(bool), batch.exact_elements, self.term, values)

    def column(self, values: Mapping[str, Any]) -> Column:
        """Return the values of a term of any type."""
        with np.errstate(all="ignore"):
            return Batch(values).evaluate(self.term)


def compile_vectorized(condition: Clause | Term) -> Vectorized:
    """Return a condition as a function of arrays."""
    return Vectorized(condition.term if isinstance(condition, Clause) else condition)


MAX_ARRAY_DEPTH = 100
"""Deepest term that is computed array by array."""


@define
class Batch:
    """One batch of requests. A term met again, as the same object, is not computed again; ``given`` has facts that are columns."""

    values: Mapping[str, Any]
    exact_elements: int = 0
    given: Mapping[str, Column] = field(factory=dict)
    _facts: dict[str, Column] = field(factory=dict, init=False)
    _known: dict[int, Column] = field(factory=dict, init=False)

    # ---- terms ----

    def evaluate(self, term: Term) -> Column:
        """Return the column of a term."""
        if isinstance(term, Const):
            return Column(term.value)
        if isinstance(term, Fact):
            if term.key not in self._facts:
                self._facts[term.key] = self._fact(term)
            return self._facts[term.key]
        assert isinstance(term, Apply)
        known = self._known.get(id(term))
        if known is None:
            known = self._known[id(term)] = self._apply(term)
        return known

    def _apply(self, term: Apply) -> Column:
        if term.depth > MAX_ARRAY_DEPTH:
            return self._interpreted(term)
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
        quick = QUICK.get(term.op)
        found = quick(term.op, columns) if quick is not None else None
        if found is None:
            return self._each(function, columns)
        return found if all(column.failed is False for column in columns) else failing(found, *(column.failed for column in columns))

    def _interpreted(self, term: Term) -> Column:
        """Interpret a very deep term request by request."""
        read = tuple(facts(term))
        columns = [self.evaluate(fact) for fact in read]
        keys = [fact.key for fact in read]
        bad = {key for key, column in zip(keys, columns, strict=True) if column.failed is True}

        def whole(*values: Any) -> Any:
            return evaluate(term, lambda key: self._given(key, bad, keys, values))

        plain = [Column(None) if column.failed is True else Column(column.values, False, column.low, column.high) for column in columns]
        return self._each(whole, plain) if any(column.array for column in plain) else self._shared(whole, plain)

    @staticmethod
    def _given(key: str, bad: set[str], keys: list[str], values: tuple[Any, ...]) -> Any:
        if key in bad:
            raise ClauseError(f"{key} has no value")
        return values[keys.index(key)]

    def condition(self, term: Term) -> Column:
        """Evaluate a term that has to be a boolean."""
        column = self.evaluate(term)
        if column.failed is True or column.kind == "bool":
            return column
        return self._each(operators.boolean, [column]) if column.array else FAILED

    def _fact(self, fact: Fact) -> Column:
        if fact.key in self.given:
            column = self.given[fact.key]
            plain = column.values if column.array else None
            return (
                column if plain is not None and plain.dtype == np.int64 else self._array(plain, fact) if plain is not None else self._one(column.values, fact)
            )
        if fact.key not in self.values:
            return FAILED
        value = self.values[fact.key]
        if isinstance(value, np.ndarray):
            return self._array(value, fact)
        return self._one(value, fact)

    @staticmethod
    def _one(value: Any, fact: Fact) -> Column:
        try:
            return Column(typed(value, fact.type, fact.shown))
        except ClauseError:
            return FAILED

    def _array(self, value: np.ndarray[Any, Any], fact: Fact) -> Column:
        kind = value.dtype.kind
        if kind in "iu" and fact.type.kind in ("int", "float", "any"):
            column = integers(value)
            if column is not None:
                return column
        elif (kind == "f" and fact.type.kind in ("float", "any")) or (kind == "b" and fact.type.kind in ("bool", "any")):
            return Column(value.astype(np.float64) if kind == "f" else value)
        plain = np.empty(value.shape, object)
        plain[...] = value  # Python's own values, as the interpreter would get them
        kind_of = fact.type
        return self._each(lambda each: typed(each, kind_of, fact.shown), [Column(plain)])

    # ---- what stops when fixed ----

    def _chain(self, args: tuple[Term, ...], *, stop: bool) -> Column:
        """``and`` stops at false, ``or`` at true: ``open`` marks the requests that have not stopped."""
        opened: Mask = True
        failed: Mask = False
        stopped: Mask = False
        for arg in args:
            column = self.condition(arg)
            if column.failed is not False:
                failed = either(failed, np.logical_and(opened, column.failed))
                opened = np.logical_and(opened, np.logical_not(column.failed))
            if column.failed is not True:
                hit = column.values if stop else np.logical_not(column.values)
                stopped = np.logical_or(stopped, np.logical_and(opened, hit))
                opened = np.logical_and(opened, np.logical_not(hit))
            if not np.any(opened):
                break
        result = stopped if stop else opened
        return plain_column(Column(result if stop else np.logical_and(result, np.logical_not(failed)), failed))

    def _if(self, condition: Term, value: Term, otherwise: Term) -> Column:
        chosen = self.condition(condition)
        if chosen.failed is True:
            return FAILED
        if not chosen.array:
            column = self.evaluate(value if chosen.values else otherwise)
            return column if chosen.failed is False else failing(column, chosen.failed)
        one, two = self.evaluate(value), self.evaluate(otherwise)
        failed = either(chosen.failed, np.where(chosen.values, one.failed, two.failed))
        if one.failed is True or two.failed is True:
            kept = two if one.failed is True else one
            return FAILED if kept.failed is True else Column(kept.values, failed, kept.low, kept.high)
        if one.kind == two.kind != "other":
            low, high = zip(one.bounds(), two.bounds(), strict=True) if one.kind == "int" else ((0,), (0,))
            return Column(np.where(chosen.values, one.values, two.values), failed, min(low), max(high))
        picked = self._each(lambda flag, a, b: a if flag else b, [Column(chosen.values), Column(one.values), Column(two.values)])
        return failing(picked, failed)

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
            bad = either(item.failed, same.failed)
            if bad is not False:
                failed = either(failed, np.logical_and(opened, bad))
                opened = np.logical_and(opened, np.logical_not(bad))
            if bad is not True:
                found = np.logical_or(found, np.logical_and(opened, same.values))
                opened = np.logical_and(opened, np.logical_not(same.values))
            if not np.any(opened):
                break
        return plain_column(Column(np.logical_and(found, True), failed))

    def _compare(self, op: str, columns: list[Column]) -> Column:
        if not any(column.array for column in columns):
            return self._shared(STRICT[op], columns)
        found = comparison(op, columns)
        return self._each(STRICT[op], columns) if found is None else found

    # ---- value by value ----

    def _shared(self, function: Callable[..., Any], columns: list[Column]) -> Column:
        failed = either(*(column.failed for column in columns))
        try:
            return Column(function(*(column.values for column in columns)), failed)
        except ClauseError:
            return FAILED

    def _each(self, function: Callable[..., Any], columns: list[Column]) -> Column:
        """Compute element by element on Python's values: exact, and slow."""
        shape = np.broadcast_shapes(*(column.values.shape for column in columns if column.array))
        skip = np.broadcast_to(either(*(column.failed for column in columns)), shape).astype(bool)
        rows = [elements(column, shape) for column in columns]
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
        return gathered(results, bad, shape)


_FUNCTIONS: dict[str, Callable[..., Any]] = {**STRICT, "contains": operators.contains, "in_range": operators.in_range}
