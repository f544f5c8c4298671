"""Values under which conditions hold, or the proof that there are none: a small search, guided by the sets and held to the interpreter.

The search splits on alternatives (``or``, ``if``), narrows the set of each name by what algebra can undo, bounds what it
cannot, and only then tries values. An answer has been evaluated; None has been proved; `UNDECIDED` says that the budget ended
or that a name with too many values to try was left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import islice
from typing import Any, Final

from attrs import define

from tessera_rules.compile.domain.goals import FAILS, HOLDS, E, F, Goal, T, ways
from tessera_rules.compile.domain.integers import IntegerSet, exactly
from tessera_rules.compile.domain.intervals import contradictory
from tessera_rules.compile.domain.linear import integer
from tessera_rules.compile.domain.store import TRY_ALL, Store, assume, come_to, preferred
from tessera_rules.compile.domain.universe import Universe, Values, universe_of
from tessera_rules.compile.evaluate import truth
from tessera_rules.compile.kinds import ClauseError
from tessera_rules.model.terms import Apply, Term, facts
from tessera_rules.model.values import Clause


class Undecided(Enum):
    """The answer of a search that neither found nor excluded anything."""

    UNDECIDED = "undecided"


UNDECIDED: Final = Undecided.UNDECIDED
MAX_SPLITS = 150
"""Deepest stack of alternatives."""


def satisfy(
    holds: Sequence[Clause | Term],
    universe: Universe | None = None,
    *,
    fails: Sequence[Clause | Term] = (),
    budget: int = 6000,
) -> dict[str, Any] | Undecided | None:
    """Return values by fact key under which every condition of ``holds`` is true and every one of ``fails`` is not (false or an error).

    ``universe`` says what names may be (`tessera_rules.compile.domain.universe`); a name in it gets a value even where no condition
    reads it. Small values are preferred. ``budget`` counts conditions looked at (about 50 µs each). None means that no such
    values exist in the universe, dimensions being below 2**63.

    >>> from tessera_rules.model.terms import Apply, Const, Fact
    >>> from tessera_rules.model.types import BOOL, INT
    >>> k = Fact(INT, "dim:K", "K")
    >>> ragged = Apply(BOOL, "ne", (Apply(INT, "mod", (k, Const(INT, 16))), Const(INT, 0)))
    >>> satisfy([ragged, Apply(BOOL, "gt", (k, Const(INT, 64)))])
    {'dim:K': 65}
    >>> satisfy([ragged, Apply(BOOL, "in", (k, Const(INT, 16), Const(INT, 64)))]) is None
    True
    """
    goals = [Goal(_term(each), HOLDS) for each in holds] + [Goal(_term(each), FAILS) for each in fails]
    values = universe_of([goal.term for goal in goals], universe)
    search = _Search(goals, budget)
    if any(_no_value(each) for each in values.values()):
        return None
    found = search.run(goals, Store(values), 0)
    if found is not None:
        return found
    return UNDECIDED if search.incomplete else None


def _term(condition: Clause | Term) -> Term:
    return condition.term if isinstance(condition, Clause) else condition


def _no_value(values: Values) -> bool:
    return not values if isinstance(values, tuple) else values.empty


@define
class _Search:
    goals: Sequence[Goal]
    budget: int
    incomplete: bool = False

    # ---- conditions ----

    def run(self, goals: list[Goal], state: Store, depth: int) -> dict[str, Any] | None:
        """Work off goals; what splits into alternatives waits until the rest has narrowed the names."""
        if depth > MAX_SPLITS:
            self.incomplete = True
            return None
        waiting: list[Goal] = []
        goals = list(reversed(goals))
        while goals:
            if self.budget <= 0:
                self.incomplete = True
                return None
            self.budget -= 1
            goal = goals.pop()
            known = come_to(goal, state)
            if isinstance(known, str):
                if known in goal.wants:
                    continue
                return None
            open_ways = list(ways(known, goal.wants, state.interval, 2))
            if not open_ways:
                return None
            if len(open_ways) == 1:
                if open_ways[0] == [None]:
                    if not assume(Goal(known, goal.wants), state):
                        return None
                else:
                    goals += [way for way in reversed(open_ways[0]) if way is not None]
            else:
                waiting.append(Goal(known, goal.wants))
        if waiting:
            return self._split(waiting, state, depth)
        return self._settle(state, depth)

    def _split(self, waiting: list[Goal], state: Store, depth: int) -> dict[str, Any] | None:
        """Try the alternatives of the goal that has fewest."""
        counts = [len(list(ways(goal.term, goal.wants, state.interval, 6))) for goal in waiting]
        first = waiting[counts.index(min(counts))]
        rest = [goal for goal in waiting if goal is not first]
        for way in ways(first.term, first.wants, state.interval, None):
            found = self.run([*(goal for goal in way if goal is not None), *rest], state.copy(), depth + 1)
            if found is not None or self.budget <= 0:
                return found
        return None

    def _settle(self, state: Store, depth: int) -> dict[str, Any] | None:
        """With no alternatives left: narrow until nothing moves, then try values of one name, or answer."""
        for _ in range(6):
            before = dict(state.values)
            pending, state.pending = state.pending, []
            for goal in pending:
                self.budget -= 1
                known = come_to(goal, state)
                if isinstance(known, str):
                    if known not in goal.wants:
                        return None
                elif not assume(Goal(known, goal.wants), state):
                    return None
            if all(before[key] == values for key, values in state.values.items()):
                break
        if not state.pending:
            return self._answer(state)
        if contradictory(state.expressions, state.interval):
            return None
        key = _branch_name(state)
        values, complete = _to_try(state.values[key], state.pending, key)
        for value in values:
            if self.budget <= 0:
                self.incomplete = True
                return None
            tried = state.copy()
            tried.values[key] = exactly(value) if isinstance(value, int) and not isinstance(value, bool) else (value,)
            tried.pending = []
            found = self.run(state.pending, tried, depth + 1)
            if found is not None:
                return found
        self.incomplete = self.incomplete or not complete
        return None

    def _answer(self, state: Store) -> dict[str, Any] | None:
        """Choose a value for every name and evaluate the conditions as they were asked."""
        found: dict[str, Any] = {}
        for key, values in state.values.items():
            found[key] = preferred(values)
        for goal in self.goals:
            value = truth(goal.term, found.__getitem__)
            word = E if isinstance(value, ClauseError) else T if value is True else F
            if word not in goal.wants:
                self.incomplete = True
                return None
        return found


# ---- values -------------------------------------------------------------------------------------------------------


def _branch_name(state: Store) -> str:
    """Choose the name to try values of: words first, then divisors (what they divide is then solved), then the fewest values."""
    divisors: set[str] = set()
    names: dict[str, int] = {}
    for goal in state.pending:
        for fact in facts(goal.term):
            names[fact.key] = names.get(fact.key, 0) + 1
        parts: list[Term] = [goal.term]
        while parts:
            part = parts.pop()
            if isinstance(part, Apply):
                if part.op in ("floordiv", "mod", "ceil_div", "align_up"):
                    divisors.update(fact.key for fact in facts(part.args[1]))
                parts.extend(part.args)

    def rank(key: str) -> tuple[bool, bool, float, int]:
        values = state.values[key]
        if isinstance(values, tuple):
            return len(values) == 1, False, len(values), -names[key]
        count = values.count()
        return values.only is not None, key not in divisors, float("inf") if count is None else float(min(count, 1 << 60)), -names[key]

    return min(names, key=rank)


def _to_try(values: Values, pending: list[Goal], key: str) -> tuple[Iterator[Any], bool]:
    """Return the values to try, telling ones first, and whether they are all there are."""
    if isinstance(values, tuple):
        return iter(values), True
    telling = list(dict.fromkeys(_telling(values, pending)))
    listed = values.values(TRY_ALL)
    if listed is None:
        return iter(telling), False
    return iter([*telling, *(value for value in listed if value not in set(telling))]), True


def _telling(values: IntegerSet, pending: list[Goal]) -> Iterator[int]:
    starts = [1, 0, 2]
    first = values.first(1)
    if first is not None:
        following = values.first(first + 1)
        starts += [first, following if following is not None else first]
    constants = sorted({abs(value) for goal in pending for value in _constants(goal.term)})[:24]
    starts += [n + by for n in constants for by in (0, 1, -1)]
    starts += [1 << k for k in range(2, 17)]
    starts += islice(values.members(1), 48)
    starts += [n for n in (values.low, values.high) if n is not None]
    for start in starts:
        for found in (values.first(start), values.last(start)):
            if found is not None:
                yield found


def _constants(term: Term) -> Iterator[int]:
    pending = [term]
    while pending:
        part = pending.pop()
        value = integer(part)
        if value is not None:
            yield value
        elif isinstance(part, Apply):
            pending.extend(part.args)
