"""What a search knows of every name, and how a plain condition narrows it."""

from __future__ import annotations

from typing import Any

from attrs import define, field

from tessera_rules.compile.domain.goals import E, F, Goal, T
from tessera_rules.compile.domain.integers import EVERY, IntegerSet, between
from tessera_rules.compile.domain.intervals import Interval, bounds, narrow
from tessera_rules.compile.domain.solve import solve
from tessera_rules.compile.domain.universe import Values, single
from tessera_rules.compile.evaluate import evaluate
from tessera_rules.compile.kinds import ClauseError
from tessera_rules.compile.simplify import simplify
from tessera_rules.model.request import UNKNOWN
from tessera_rules.model.terms import Const, Fact, Term, facts

TRY_ALL = 1024
"""A name with at most this many values is tried with all of them, which makes a proof; with more it is tried with telling ones."""


@define
class Store:
    """What is left of each name's values, of expressions of several names, and the conditions that these do not say."""

    values: dict[str, Values]
    expressions: dict[str, tuple[Term, IntegerSet]] = field(factory=dict)
    pending: list[Goal] = field(factory=list)

    def copy(self) -> Store:
        """Return a state that can be narrowed on its own."""
        return Store(dict(self.values), dict(self.expressions), list(self.pending))

    def lookup(self, key: str) -> Any:
        """Return the one value of a name that has exactly one, else `UNKNOWN`."""
        found = single(self.values[key])
        return found[0] if found else UNKNOWN

    def interval(self, key: str) -> Interval:
        """Return the bounds of an integer name."""
        values = self.values[key]
        if isinstance(values, tuple):
            numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
            return Interval(min(numbers), max(numbers)) if len(numbers) == len(values) and numbers else Interval()
        return Interval(values.low, values.high)

    def meet(self, key: str, allowed: IntegerSet) -> bool:
        """Narrow an integer name. Returns False where nothing is left."""
        values = self.values[key]
        if isinstance(values, tuple):
            kept = tuple(value for value in values if value in allowed)
            self.values[key] = kept
            return bool(kept)
        met = values & allowed
        self.values[key] = met
        return not met.empty


def preferred(values: Values) -> Any:
    """Return the value to show where any would do: the least from 1 up, else from 0 up, else the largest below; the first of a listed few."""
    if isinstance(values, tuple):
        return values[0]
    for start in (1, 0):
        found = values.first(start)
        if found is not None:
            return found
    return values.last(-1)


def come_to(goal: Goal, state: Store) -> Term | str:
    """Return what is left of a goal's condition, or what it has come to."""
    try:
        rest = simplify(goal.term, state.lookup, exact=True)
    except ClauseError:
        return E
    if isinstance(rest, Const):
        return T if rest.value is True else F if rest.value is False else E
    return rest


def assume(goal: Goal, state: Store) -> bool:
    """Narrow the state by a plain condition. Returns False where it cannot hold. What the sets do not say stays pending."""
    if E in goal.wants:
        state.pending.append(goal)
        return True
    wanted = T in goal.wants
    names = list(facts(goal.term))
    solved = solve(goal.term, wanted)
    if solved is not None and (solved.key or solved.values.exact):
        if solved.key == "":
            return not solved.values.empty
        if isinstance(solved.core, Fact):
            if not state.meet(solved.key, solved.values):
                return False
            met = state.values[solved.key]
            if not solved.values.exact or (isinstance(met, IntegerSet) and not met.exact):
                state.pending.append(goal)  # what the set has lost is looked at again with a value
            return True
        _, before = state.expressions.get(solved.key, (None, EVERY))
        reach = bounds(solved.core, state.interval)
        held = before & solved.values & between(reach.low, reach.high)
        state.expressions[solved.key] = (solved.core, held)
        if held.empty:
            return False
        found: dict[str, Interval] = {}
        if not narrow(solved.core, Interval(held.low, held.high), state.interval, found):
            return False
        if not all(state.meet(key, between(each.low, each.high)) for key, each in found.items()):
            return False
    if len(names) == 1:
        listed = _listed(state.values[names[0].key])
        if listed is not None:
            kept = tuple(value for value in listed if _comes_to(goal.term, names[0].key, value) is wanted)
            state.values[names[0].key] = kept
            return bool(kept)
    state.pending.append(goal)
    return True


def _listed(values: Values) -> tuple[Any, ...] | None:
    return values if isinstance(values, tuple) else values.values(TRY_ALL)


def _comes_to(term: Term, key: str, value: Any) -> Any:
    try:
        return evaluate(term, {key: value}.__getitem__)
    except ClauseError:
        return None
