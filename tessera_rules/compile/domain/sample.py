"""Telling points of a conjunction of conditions: its edges from inside, and the nearest points outside.

Around a few points that satisfy everything, one name at a time is moved along the line on which the others stay. On such a
line every condition is about one name, whatever it is about as a whole (``M * N * K <= 32Ki``), so its edges are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from tessera_rules.compile.domain.describe import domain
from tessera_rules.compile.domain.integers import MAX_SIZE, IntegerSet, at_most
from tessera_rules.compile.domain.satisfy import satisfy
from tessera_rules.compile.domain.universe import Universe, Values, universe_of
from tessera_rules.compile.evaluate import truth
from tessera_rules.model.request import UNKNOWN
from tessera_rules.model.terms import Apply, Term
from tessera_rules.model.values import Clause

PRIMES = (7, 13, 37, 67, 131, 257)
"""Where nothing asks for multiples: sizes that no tile divides."""
MIDDLE = 33
"""A size above a tile of 32: the second base point has every name at least here, where that is possible."""


@frozen(eq=False)
class Outside:
    """A point where a condition is not true, next to where it is. ``broken`` is the place of the first such condition in the list."""

    values: Mapping[str, Any]
    broken: int


@frozen(eq=False)
class Points:
    """Points by fact key. Every one has been evaluated: at ``inside`` all conditions are true, at ``outside`` the legal ones are, and one other is not."""

    inside: tuple[Mapping[str, Any], ...] = ()
    outside: tuple[Outside, ...] = ()


@frozen(eq=False)
class _Line:
    """The conditions, and the frame for points."""

    terms: Sequence[Term]
    legal: Sequence[Term]
    universe: Mapping[str, Values]
    known: Mapping[str, Any]
    tile: int
    ceiling: int | None
    seen: set[tuple[tuple[str, Any], ...]] = field(factory=set)

    def holds(self, terms: Sequence[Term], point: Mapping[str, Any]) -> int | None:
        """Return the place of the first condition that is not true at a point, or None."""
        for place, term in enumerate(terms):
            if truth(term, point.__getitem__) is not True:
                return place
        return None

    def new(self, point: Mapping[str, Any]) -> bool:
        """Whether a point has not been met yet."""
        key = tuple(sorted((name, value) for name, value in point.items() if name not in self.known))
        if key in self.seen:
            return False
        self.seen.add(key)
        return True

    def allowed(self, terms: Sequence[Term], point: Mapping[str, Any], key: str) -> IntegerSet:
        """Return the values of one integer name with the others where they are."""
        others = {name: value for name, value in point.items() if name != key}
        found = domain(terms, lambda name: others.get(name, UNKNOWN))
        values = self.universe[key]
        frame = values if isinstance(values, IntegerSet) else None
        if found.empty or frame is None:
            return IntegerSet(())
        return found.integer(key) & frame


def sample_points(
    conditions: Sequence[Clause | Term],
    names: Sequence[str] | None = None,
    *,
    universe: Universe | None = None,
    known: Mapping[str, Any] | None = None,
    legal: Sequence[Clause | Term] = (),
    near: Sequence[Mapping[str, Any]] = (),
    tile: int = 16,
    ceiling: int | None = None,
    limit: int = 24,
) -> Points:
    """Return telling points of a conjunction of conditions.

    ``names`` are the fact keys to vary (default: all that the conditions read and ``known`` does not fix); ``universe`` says what
    they may be, ``legal`` holds at every point, also outside (an op's checks). ``near`` adds points to vary around, such as the
    shape in hand; those that do not satisfy everything are left out. Per integer name: its least and largest values and those
    one step inside, m, 2m, 3m where it comes in multiples of m, else 1, ``tile`` and its neighbours and a prime; outside: the
    nearest values that break a condition. ``ceiling`` keeps points that a kernel will run on small. At most ``limit`` inside.

    >>> from tessera_rules.model.terms import Apply, Const, Fact
    >>> from tessera_rules.model.types import BOOL, INT
    >>> k = Fact(INT, "dim:K", "K")
    >>> tile = Apply(BOOL, "eq", (Apply(INT, "mod", (k, Const(INT, 16))), Const(INT, 0)))
    >>> points = sample_points([tile, Apply(BOOL, "in_range", (k, Const(INT, 1), Const(INT, 256), Const(INT, 1)))])
    >>> sorted(point["dim:K"] for point in points.inside), sorted(each.values["dim:K"] for each in points.outside)
    ([16, 32, 48, 240, 256], [0, 15, 17, 47, 49, 257, 272])
    """
    terms, frame = [_term(each) for each in conditions], [_term(each) for each in legal]
    fixed = dict(known or {})
    values: dict[str, Values] = {**universe_of([*terms, *frame], universe), **{key: (value,) for key, value in fixed.items()}}
    line = _Line(terms, frame, values, fixed, tile, ceiling)
    varied = [key for key in (names if names is not None else values) if key not in fixed and key in values]
    bases = list(_bases(line, varied, near))
    inside = [base for base in bases if line.new(base)]
    inside += (point for point in _diagonals(line, bases, varied) if line.new(point))
    covered = {(key, point[key]) for point in inside for key in varied}
    outside: list[Outside] = []
    for key, point in _dealt([[(key, point) for point in _along(line, base, key)] for base in bases for key in varied]):
        broken = line.holds(terms, point)
        if broken is not None:
            if line.holds(frame, point) is None and line.new(point):
                outside.append(Outside(point, broken))
        elif (key, point[key]) not in covered and line.holds(frame, point) is None and line.new(point):
            covered.add((key, point[key]))
            inside.append(point)
    return Points(tuple(inside[:limit]), tuple(_spread(outside, 2 * limit)))


def _diagonals(line: _Line, bases: Sequence[Mapping[str, Any]], varied: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Move all names at once, each through its own telling values, so that few points cover them all; only points that satisfy everything."""
    for base in bases:
        telling: dict[str, list[Any]] = {}
        for key in varied:
            reached = (point[key] for point in _along(line, base, key) if line.holds([*line.legal, *line.terms], point) is None)
            telling[key] = list(dict.fromkeys(reached))
        for turn in range(max(map(len, telling.values()), default=0)):
            point = dict(base)
            for place, (key, values) in enumerate(telling.items()):
                if values:
                    moved = {**point, key: values[(turn + place) % len(values)]}
                    if line.holds([*line.legal, *line.terms], moved) is None:
                        point = moved
            yield point


def _term(condition: Clause | Term) -> Term:
    return condition.term if isinstance(condition, Clause) else condition


def _bases(line: _Line, varied: Sequence[str], near: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the points to vary around: those given, the least one, and one with every name in the middle."""
    everything = [*line.legal, *line.terms]
    framed = line.universe
    if line.ceiling is not None:
        framed = {key: values & at_most(line.ceiling) if isinstance(values, IntegerSet) else values for key, values in line.universe.items()}
    least = satisfy(everything, framed)
    if not isinstance(least, dict):
        least = satisfy(everything, line.universe)  # nothing below the ceiling: the least there is
    for point in near:
        whole = {**(least if isinstance(least, dict) else {}), **point, **line.known}
        if set(whole) >= set(line.universe) and line.holds(everything, whole) is None:
            yield whole
    if not isinstance(least, dict):
        return
    yield least
    middle = dict(least)
    for key in varied:
        if not isinstance(line.universe[key], IntegerSet):
            continue
        allowed = line.allowed(everything, middle, key)
        for start in (MIDDLE, line.tile + 1, 2):
            value = allowed.first(start)
            if value is not None and (line.ceiling is None or value <= line.ceiling) and line.holds(everything, {**middle, key: value}) is None:
                middle[key] = value
                break
    yield middle


def _along(line: _Line, base: Mapping[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """Yield the points on the line of one name through a base point, inside and outside mixed; the caller evaluates them."""
    values = line.universe[key]
    if isinstance(values, tuple):
        yield from ({**base, key: value} for value in values[:16])
        return
    legal = line.allowed(line.legal, base, key)
    allowed = line.allowed([*line.legal, *line.terms], base, key)
    for value in _inside(allowed, line):
        if line.ceiling is None or value <= line.ceiling:
            yield {**base, key: value}
    parts = [part for term in line.terms for part in (term.args if isinstance(term, Apply) and term.op == "and" else (term,))]
    singles = [line.allowed([part], base, key) for part in parts]
    for place, single in enumerate(singles):
        if not single.exact:
            continue
        others = legal
        for other in (*singles[:place], *singles[place + 1 :]):
            others = others & other
        for beyond in (others & ~single, legal & ~single):  # what breaks this part alone, then what is nearest
            for value in _outside(beyond, single, base[key]):
                yield {**base, key: value}


def _inside(allowed: IntegerSet, line: _Line) -> Iterator[int]:
    high = _top(allowed) if line.ceiling is None else allowed.last(line.ceiling)
    wanted = [allowed.first(allowed.low) if allowed.low is not None else None, high]
    if allowed.low is not None:
        wanted.append(allowed.first(allowed.low + 1))
    if high is not None:
        wanted.append(allowed.last(high - 1))
    modulus = allowed.modulus
    if modulus > 1:
        first = allowed.first(1)
        wanted += [] if first is None else [first, first + modulus, first + 2 * modulus]
    else:
        prime = next((p for p in PRIMES if p in allowed and p > line.tile), None)
        wanted += [1, line.tile - 1, line.tile, line.tile + 1, prime]
    for value in wanted:
        if value is not None and value in allowed:
            yield value


def _top(values: IntegerSet) -> int | None:
    """Return the largest member, None where only the size of integers bounds it."""
    high = values.high
    return None if high is None or high > MAX_SIZE // 2 else high


def _outside(beyond: IntegerSet, single: IntegerSet, at: int) -> Iterator[int]:
    """Yield the nearest values that break one condition: past each of its ends, and on both sides of a value where there are holes."""
    below = beyond.last(at if single.low is None else single.low)
    top = _top(single)
    above = None if top is None else beyond.first(top)
    for value in (below, above, beyond.last(at), beyond.first(at)):
        if value is not None:
            yield value


def _dealt(rounds: list[list[tuple[str, dict[str, Any]]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Take one from each list in turn, so that a limit cuts every name alike."""
    for place in range(max(map(len, rounds), default=0)):
        for each in rounds:
            if place < len(each):
                yield each[place]


def _spread(points: list[Outside], limit: int) -> Iterator[Outside]:
    """Take at most ``limit`` points, each broken condition in turn."""
    by_condition: dict[int, list[Outside]] = {}
    for point in points:
        by_condition.setdefault(point.broken, []).append(point)
    taken = 0
    for place in range(max(map(len, by_condition.values()), default=0)):
        for condition in sorted(by_condition):
            if place < len(by_condition[condition]) and taken < limit:
                taken += 1
                yield by_condition[condition][place]
