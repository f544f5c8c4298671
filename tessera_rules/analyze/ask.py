"""Questions about a universe: is there a point where conditions hold and others fail, and the least such point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field

from tessera_rules.analyze.space import Point, Space
from tessera_rules.compile.domain import UNDECIDED, IntegerSet, Undecided, Values, between, exactly, satisfy
from tessera_rules.compile.evaluate import truth
from tessera_rules.model.terms import Term, reads

Found = Point | Undecided | None
BUDGET = 4000
"""Conditions that one search looks at."""
QUICK_BUDGET = 500
"""With a solver at hand: what the search may take before it is asked."""
MINIMAL_BUDGET = 1500
"""For a step that makes a witness smaller; what it leaves undecided stays as it was."""
MANY_CANDIDATES = 24
"""With more than this the solver is not asked for each step that makes a witness smaller."""
Solver = Callable[[Sequence[Term], Sequence[Term], Mapping[str, Values]], Found]
"""What is asked where the search is undecided: the same question, the same kinds of answers."""


@define(eq=False)
class Asker:
    """Asks questions, and counts them in ``asked``. ``solver`` is the second opinion, None where there is none."""

    solver: Solver | None = None
    asked: int = field(default=0, init=False)

    def ask(
        self, space: Space, holds: Sequence[Term], fails: Sequence[Term] = (), *, universe: Mapping[str, Values] | None = None, budget: int = BUDGET
    ) -> Found:
        """Return a point where ``holds`` are true and ``fails`` are not; None is a proof that there is none in the universe.

        The universe is the wide one where nothing else is said. Where a name of which only some values were looked at is read, an
        empty answer is `UNDECIDED`: it proves nothing.
        """
        self.asked += 1
        values = space.names.wide if universe is None else universe
        found: Found = satisfy(holds, values, fails=fails, budget=budget if self.solver is None else min(budget, QUICK_BUDGET))
        if found is UNDECIDED and self.solver is not None:
            found = self.solver(holds, fails, values)
            if isinstance(found, Mapping) and not _stands(holds, fails, found):
                found = UNDECIDED
            if found is UNDECIDED and budget > QUICK_BUDGET:
                found = satisfy(holds, values, fails=fails, budget=budget)
        if found is None and space.names.sampled and values is space.names.wide:
            read = frozenset[str]().union(*(reads(term) for term in (*holds, *fails)))
            if read & space.names.sampled:
                return UNDECIDED
        return found

    def never(self, space: Space, holds: Sequence[Term], fails: Sequence[Term] = ()) -> bool | None:
        """Whether there is no such point at all; None where that is not decided."""
        found = self.ask(space, holds, fails)
        return None if found is UNDECIDED else found is None

    def least(self, space: Space, point: Point, holds: Sequence[Term], fails: Sequence[Term], universe: Mapping[str, Values], last: str = "") -> Point:
        """Return the least point where conditions hold and others fail, in the stated order; a name that is ``last`` comes after all others.

        Attributes first, each at the first of its values that will do (the default comes first), then operands given (none),
        then dtypes in the op's order, then device facts in declared order, then the dimensions in reading order, each as small as it
        can be, 1 before 0. A name is fixed before the next is looked at.
        """
        values = dict(universe)
        for key in sorted(_stated_order(space, values), key=last.__eq__):
            allowed = values[key]
            if isinstance(allowed, IntegerSet):
                point = self._least_size(space, key, point, holds, fails, values)
            elif len(allowed) > 1:
                for value in allowed:
                    if _same(value, point[key]):
                        break
                    found = self._within(space, holds, fails, {**values, key: (value,)})
                    if found is not None:
                        point = found
                        break
            values[key] = exactly(point[key]) if isinstance(allowed, IntegerSet) else (point[key],)
        return point

    def _least_size(self, space: Space, key: str, point: Point, holds: Sequence[Term], fails: Sequence[Term], values: dict[str, Values]) -> Point:
        allowed = values[key]
        assert isinstance(allowed, IntegerSet)
        while True:
            size = point[key]
            first = allowed.first(1)
            low = 1 if first is not None else None
            if size == first or (size == 0 and first is None) or low is None:
                return point
            high = size - 1 if size > 0 else None
            smaller = allowed & between(1, high if high is not None else (1 << 62))
            if smaller.empty:
                return point
            middle = (1 + size) // 2
            found = None
            if size > 64:
                lower = allowed & between(1, middle)
                found = None if lower.empty else self._within(space, holds, fails, {**values, key: lower})
            found = found or self._within(space, holds, fails, {**values, key: smaller})
            if found is None:
                return point
            point = found

    def _within(self, space: Space, holds: Sequence[Term], fails: Sequence[Term], universe: Mapping[str, Values]) -> Point | None:
        solver = self.solver if len(space.candidates) <= MANY_CANDIDATES else None
        found = evolve(self, solver=solver).ask(space, holds, fails, universe=universe, budget=MINIMAL_BUDGET)
        self.asked += 1
        return found if isinstance(found, Mapping) else None


def _stands(holds: Sequence[Term], fails: Sequence[Term], point: Point) -> bool:
    return all(truth(term, point.__getitem__) is True for term in holds) and all(truth(term, point.__getitem__) is not True for term in fails)


def _stated_order(space: Space, values: Mapping[str, Values]) -> list[str]:
    order = [f"attr:{name}" for name in space.op.attrs] + [f"given:{name}" for name in space.op.operands] + ["dtype"]
    order += [key for key in values if key.startswith("dtype:")] + [key for key in values if key.startswith(("device:", "probe:", "os"))]
    order += [f"dim:{name}" for name in space.op.dims]
    return [key for key in order if key in values]


def _same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and bool(one == two)
