"""Values under which conditions hold, or the proof that there are none: a small search, guided by the sets and held to the interpreter.

The search splits on alternatives (``or``, ``if``), narrows the set of each name by what algebra can undo, bounds what it
cannot, and only then tries values. An answer has been evaluated; None has been proved; `UNDECIDED` says that the budget ended
or that a name with too many values to try was left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Final

from attrs import define, field, frozen

from tessera_rules.compile.domain.describe import may_fail
from tessera_rules.compile.domain.integers import EVERY, IntegerSet, between, exactly
from tessera_rules.compile.domain.intervals import Interval, bounds, contradictory, narrow
from tessera_rules.compile.domain.solve import integer, solve
from tessera_rules.compile.domain.universe import Universe, Values, single, universe_of
from tessera_rules.compile.evaluate import evaluate, truth
from tessera_rules.compile.operators import ClauseError
from tessera_rules.compile.simplify import simplify
from tessera_rules.model.request import UNKNOWN
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.types import BOOL, INT
from tessera_rules.model.values import Clause


class Undecided(Enum):
    """The answer of a search that neither found nor excluded anything."""

    UNDECIDED = "undecided"


UNDECIDED: Final = Undecided.UNDECIDED

T, F, E = "true", "false", "error"
HOLDS = frozenset((T,))
FAILS = frozenset((F, E))

TRY_ALL = 1024
"""A name with at most this many values is tried with all of them, which makes a proof; with more it is tried with telling ones."""
MAX_SPLITS = 150
"""Deepest stack of alternatives."""


@frozen(eq=False)
class Goal:
    """A condition and which of true, false and error it may come to."""

    term: Term
    wants: frozenset[str]


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
    found = search.run(goals, _State(values), 0)
    if found is not None:
        return found
    return UNDECIDED if search.incomplete else None


def _term(condition: Clause | Term) -> Term:
    return condition.term if isinstance(condition, Clause) else condition


def _no_value(values: Values) -> bool:
    return not values if isinstance(values, tuple) else values.empty


@define
class _State:
    """What is left of each name's values, of expressions of several names, and the conditions that these do not say."""

    values: dict[str, Values]
    expressions: dict[str, tuple[Term, IntegerSet]] = field(factory=dict)
    pending: list[Goal] = field(factory=list)

    def copy(self) -> _State:
        return _State(dict(self.values), dict(self.expressions), list(self.pending))

    def lookup(self, key: str) -> Any:
        found = single(self.values[key])
        return found[0] if found else UNKNOWN

    def interval(self, key: str) -> Interval:
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


@define
class _Search:
    goals: Sequence[Goal]
    budget: int
    incomplete: bool = False

    # ---- conditions ----

    def run(self, goals: list[Goal], state: _State, depth: int) -> dict[str, Any] | None:
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
            known = _value(goal, state)
            if isinstance(known, str):
                if known in goal.wants:
                    continue
                return None
            ways = list(_ways(known, goal.wants, state, 2))
            if not ways:
                return None
            if len(ways) == 1:
                if ways[0] == [None]:
                    if not _assume(Goal(known, goal.wants), state):
                        return None
                else:
                    goals += [way for way in reversed(ways[0]) if way is not None]
            else:
                waiting.append(Goal(known, goal.wants))
        if waiting:
            return self._split(waiting, state, depth)
        return self._settle(state, depth)

    def _split(self, waiting: list[Goal], state: _State, depth: int) -> dict[str, Any] | None:
        """Try the alternatives of the goal that has fewest."""
        counts = [len(list(_ways(goal.term, goal.wants, state, 6))) for goal in waiting]
        first = waiting[counts.index(min(counts))]
        rest = [goal for goal in waiting if goal is not first]
        for way in _ways(first.term, first.wants, state, None):
            found = self.run([*(goal for goal in way if goal is not None), *rest], state.copy(), depth + 1)
            if found is not None or self.budget <= 0:
                return found
        return None

    def _settle(self, state: _State, depth: int) -> dict[str, Any] | None:
        """With no alternatives left: narrow until nothing moves, then try values of one name, or answer."""
        for _ in range(6):
            before = dict(state.values)
            pending, state.pending = state.pending, []
            for goal in pending:
                self.budget -= 1
                known = _value(goal, state)
                if isinstance(known, str):
                    if known not in goal.wants:
                        return None
                elif not _assume(Goal(known, goal.wants), state):
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

    def _answer(self, state: _State) -> dict[str, Any] | None:
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


def preferred(values: Values) -> Any:
    """Return the value to show where any would do: the least from 1 up, else from 0 up, else the largest below; the first of a listed few."""
    if isinstance(values, tuple):
        return values[0]
    for start in (1, 0):
        found = values.first(start)
        if found is not None:
            return found
    return values.last(-1)


def _value(goal: Goal, state: _State) -> Term | str:
    """Return what is left of a goal's condition, or what it has come to."""
    if goal.wants == frozenset((E,)) and any(not single(state.values[fact.key]) for fact in facts(goal.term)):
        return goal.term  # partial evaluation may settle a condition before the error that is wanted here
    try:
        rest = simplify(goal.term, state.lookup)
    except ClauseError:
        return E
    if isinstance(rest, Const):
        return T if rest.value is True else F if rest.value is False else E
    return rest


# ---- alternatives -------------------------------------------------------------------------------------------------

Way = list[Goal | None]
"""Goals that together are one alternative; ``[None]`` says that the condition is a plain one, for `_assume`."""


def _ways(term: Term, wants: frozenset[str], state: _State, limit: int | None) -> Iterator[Way]:
    """Yield the alternatives of a condition, at most ``limit`` of them."""
    for count, way in enumerate(_all_ways(term, wants, state)):
        if count == limit:
            return
        yield way


def _all_ways(term: Term, wants: frozenset[str], state: _State) -> Iterator[Way]:
    op = term.op if isinstance(term, Apply) else ""
    if wants == frozenset((T, F, E)) or (wants >= {T, F} and not may_fail(term)):
        yield []
    elif op in ("and", "or"):
        yield from _chain(term, wants)
    elif op == "not":
        assert isinstance(term, Apply)
        swapped = {T: F, F: T, E: E}
        yield [Goal(term.args[0], frozenset(swapped[want] for want in wants))]
    elif op == "if":
        assert isinstance(term, Apply)
        condition, one, two = term.args
        yield [Goal(condition, HOLDS), Goal(one, wants)]
        yield [Goal(condition, frozenset((F,))), Goal(two, wants)]
        if E in wants and may_fail(condition):
            yield [Goal(condition, frozenset((E,)))]
    elif E in wants and len(wants) > 1:
        yield [Goal(term, wants - {E})]
        if may_fail(term):
            yield from _errors(term, state)
    elif op == "in" and E not in wants and solve(term, True) is None and not _one_word(term):
        assert isinstance(term, Apply)
        pairs: list[Term] = [Apply(BOOL, "eq", (term.args[0], item), term.span) for item in term.args[1:]]
        if T in wants:
            for pair in pairs:
                yield [Goal(pair, HOLDS)]
        else:
            yield [Goal(pair, wants) for pair in pairs]
    elif op == "in_range" and E not in wants and solve(term, True) is None:
        assert isinstance(term, Apply)
        yield [Goal(_written_out(term), wants)] if integer(term.args[3]) is not None else [None]
    else:
        yield [None]


def _chain(term: Term, wants: frozenset[str]) -> Iterator[Way]:
    assert isinstance(term, Apply)
    through, stop = (T, F) if term.op == "and" else (F, T)
    if through in wants:
        yield [Goal(arg, frozenset((through,))) for arg in term.args]
    early = wants - {through}
    if early:
        before: list[Goal | None] = []
        for arg in term.args:
            if stop in early or may_fail(arg):
                yield [*before, Goal(arg, early if may_fail(arg) else early - {E})]
            if len(term.args) <= 32 or may_fail(arg):
                before.append(Goal(arg, frozenset((through,))))


def _one_word(term: Term) -> bool:
    """Whether a condition is about one name that is no integer: then its listed values are tried one by one."""
    names = list(facts(term))
    return len(names) == 1 and (names[0].type.kind != "int" or names[0].type.nullable)


def _written_out(term: Apply) -> Term:
    """``x in low..high step s`` as comparisons."""
    x, low, high, step = term.args
    parts = [Apply(BOOL, "le", (low, x)), Apply(BOOL, "le", (x, high))]
    if integer(step) != 1:
        parts.append(Apply(BOOL, "eq", (Apply(INT, "mod", (Apply(INT, "sub", (x, low)), step)), Const(INT, 0))))
    return Apply(BOOL, "and", tuple(parts), term.span)


def _errors(term: Term, state: _State) -> Iterator[Way]:
    """Yield the ways in which a plain condition can be an error: a divisor that is not positive, or something else."""
    other = False
    pending = [term]
    while pending:
        part = pending.pop()
        if not isinstance(part, Apply):
            continue
        if part.op in ("floordiv", "mod", "ceil_div", "align_up"):
            divisor = part.args[1]
            low = bounds(divisor, state.interval).low
            if low is None or low < 1:
                yield [Goal(Apply(BOOL, "le", (divisor, Const(INT, 0))), HOLDS)]
        elif part.op not in ("and", "or", "not", "in") and may_fail(Apply(part.type, part.op, tuple(_plain(arg) for arg in part.args))):
            other = True
        pending.extend(part.args)
    if other:
        yield [Goal(term, frozenset((E,)))]


def _plain(arg: Term) -> Term:
    """A stand-in for a part, so that one operator can be asked about by itself."""
    return arg if isinstance(arg, Const | Fact) else Fact(arg.type, "", "")


# ---- plain conditions ---------------------------------------------------------------------------------------------


def _assume(goal: Goal, state: _State) -> bool:
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
            if not solved.values.exact:
                state.pending.append(goal)
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


# ---- values -------------------------------------------------------------------------------------------------------


def _branch_name(state: _State) -> str:
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
