"""A course over arrays of sizes: the winner of each request, and with it, where asked, why each candidate came out as it did.

Requests go in blocks. Terms that several clauses share are computed once a block; what the sizes of a
block settle for all of it (a bound that none reaches) costs nothing a request. Rows where something is open are handed back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from tessera_rules.compile.columns import Column, Mask, either
from tessera_rules.compile.course import (
    CRITERIA,
    OUTRANKED,
    RAISES,
    RAISES_REASON,
    REFERENCE,
    SELECTED,
    UNDECIDED,
    Choice,
    Course,
    Lane,
    Step,
    UsesStep,
    kept_by_preferences,
)
from tessera_rules.compile.vectorized import Batch
from tessera_rules.model.terms import Term

BLOCK = 1 << 17
"""Requests in a block: enough that calls cost little beside the elements, few enough that columns stay in a third-level cache.

On the rules that ship 2**17 did best of 2**14 to 2**17 (benchmarks/bench_many.py, 2026-12-01).
"""

EMPTY = -4
"""Inside: the result has no elements, and the reference answers for that."""

Array = np.ndarray[Any, Any]
MAX_PATTERN_BITS = 16
"""Preferences and candidates that they are about, of which every combination that occurs is worked out once; with more of them the arbiter is asked."""


@frozen(eq=False)
class Found:
    """The winners (an index, or `REFERENCE`, `UNDECIDED`, `RAISES`) and, where asked, the reasons, a row for each lane.

    ``open`` marks the requests that hang on more than sizes: of these the reasons may be others.
    """

    winners: Array
    reasons: Array | None
    open: Array
    exact_elements: int


def decide_columns(course: Course, columns: Mapping[str, Any], length: int, *, reasons: bool = False) -> Found:
    """Decide for columns of sizes by dimension: one-dimensional arrays of a length, or one size for all."""
    winners = np.full(length, REFERENCE, np.int16)
    why = np.zeros((len(course.lanes), length), np.int16) if reasons else None
    opened = np.zeros(length, bool)
    exact = 0
    for start in range(0, length, BLOCK):
        stop = min(start + BLOCK, length)
        values = {f"dim:{name}": column[start:stop] if isinstance(column, np.ndarray) else column for name, column in columns.items()}
        block = _Block(course, Batch(values), stop - start, None if why is None else why[:, start:stop])
        with np.errstate(all="ignore"):
            winners[start:stop] = block.decide()
        opened[start:stop] = block.open
        exact += block.batch.exact_elements
    winners[winners == EMPTY] = REFERENCE
    return Found(winners, why, opened, exact)


def _not(mask: Mask) -> Mask:
    return not mask if isinstance(mask, bool) else ~mask


def _and(one: Mask, two: Mask) -> Mask:
    if isinstance(one, bool):
        return two if one else False
    if isinstance(two, bool):
        return one if two else False
    return np.logical_and(one, two)


def _some(mask: Mask) -> bool:
    return mask if isinstance(mask, bool) else bool(mask.any())


def _plain(mask: Any) -> Mask:
    return mask if isinstance(mask, np.ndarray) and mask.ndim else bool(mask)


@define(eq=False)
class _Block:
    """One block of requests. Masks are arrays of its length, or one bool for all of it."""

    course: Course
    batch: Batch
    length: int
    why: Array | None
    open: Mask = field(default=False, init=False)

    def decide(self) -> Array:
        """Return the winners of the block, `EMPTY` where the result is."""
        legal, empty = self._legal(), self._empty()
        if self.why is None and self.course.plain:
            winners = self._first(_and(legal, _not(empty)))
        else:
            winners = self._ranked(legal, empty)
        if self.open is not False and self.course.forced != REFERENCE:
            winners[self._full(self.open)] = UNDECIDED
        if empty is not False:
            winners[self._full(empty)] = EMPTY
        if legal is not True:
            winners[self._full(_not(legal))] = RAISES
            if self.why is not None:
                self.why[:, self._full(_not(legal))] = RAISES_REASON
        return winners

    def _full(self, mask: Mask) -> Array:
        return mask if isinstance(mask, np.ndarray) and mask.ndim else np.full(self.length, bool(mask))

    # ---- conditions ----

    def truth(self, term: Term) -> tuple[Mask, Mask]:
        """Return where a condition is true and where it is an error."""
        column = self.batch.condition(term)
        if column.failed is True:
            return False, True
        failed = _plain(column.failed)
        return _and(_plain(column.values), _not(failed)), failed

    def _legal(self) -> Mask:
        legal: Mask = True
        for term in (*self.course.domain, *self.course.checks):
            legal = _and(legal, self.truth(term)[0])
        return legal

    def _empty(self) -> Mask:
        empty: Mask = bool(self.course.empties)
        for shape in self.course.empties:
            none: Mask = False
            for term in shape:
                column = self.batch.evaluate(term)
                if column.failed is not True:
                    none = either(none, _and(_plain(column.values == 0), _not(_plain(column.failed))))
            empty = _and(empty, none)
        return empty

    def _stays(self, step: Step | UsesStep) -> tuple[Mask, Mask, Mask]:
        """Return where a step lets a candidate through, where it is an error, and where it is open."""
        if isinstance(step, UsesStep):
            return self._uses(step)
        if step.term is None:
            return True, False, True
        true, failed = self.truth(step.term)
        return (true if step.wanted else _not(either(true, failed))), failed, False

    def _uses(self, step: UsesStep) -> tuple[Mask, Mask, Mask]:
        columns: dict[str, Column] = {}
        failed: Mask = False
        opened: Mask = False
        for name, term in step.sizes:
            if term is None:
                continue
            column = self.batch.evaluate(term)
            failed = either(failed, True if column.failed is True else _plain(column.failed))
            if column.failed is not True:
                columns[f"dim:{name}"] = Column(column.values, False, column.low, column.high)
        if failed is True:
            return False, True, False
        inner = _Block(step.course, Batch({}, given=columns), self.length, None)
        winners = inner.decide()
        self.batch.exact_elements += inner.batch.exact_elements
        opened = _and(winners == UNDECIDED, _not(failed))
        return _and((winners >= 0) | (winners == EMPTY) | (winners == UNDECIDED), _not(failed)), failed, opened

    def _lane(self, place: int, among: Mask) -> tuple[Mask, Mask]:
        """Return where a candidate races, of these requests, and where that is open."""
        lane = self.course.lanes[place]
        alive, opened = among, False
        for step in lane.steps:
            if not _some(alive):
                break
            stays, failed, unknown = self._stays(step)
            if unknown is not False:
                opened = either(opened, _and(alive, unknown))
            if stays is True:
                continue
            if self.why is not None:
                self._say(place, _and(alive, failed), step.error)
                self._say(place, _and(alive, _not(either(stays, failed))), step.no)
            alive = _and(alive, stays)
        if alive is not False and not _some(alive):
            alive = False
        # a candidate that is out all the same may be so for an earlier reason, which what is open hides
        return alive, opened if self.why is not None else _and(alive, opened)

    def _say(self, place: int, where: Mask, reason: int) -> None:
        if self.why is not None and where is not False:
            np.copyto(self.why[place], reason, where=where)

    # ---- the ranking ----

    def _first(self, asked: Mask) -> Array:
        """The winner where places are fixed: the first who races."""
        winners = np.full(self.length, REFERENCE, np.int16)
        left = asked
        nobody = self.course.nobody_raises
        for place in self.course.ranked:
            if not _some(left):
                break
            races, opened = self._lane(place, left)
            if opened is not False:
                self.open = either(self.open, opened)
            if races is True:
                winners[:] = place
            elif races is not False:
                np.copyto(winners, place, where=races)
            left = _and(left, _not(races))
        if nobody and left is not False:
            winners[self._full(left)] = RAISES
        return winners

    def _ranked(self, legal: Mask, empty: Mask) -> Array:
        """The winner where anything may have a say, with the reasons where asked."""
        course = self.course
        asked = legal if self.why is not None else _and(legal, _not(empty))
        alive: list[Mask] = []
        for place in range(len(course.lanes)):
            races, opened = self._lane(place, asked)
            alive.append(races)
            if opened is not False:
                self.open = either(self.open, opened)
        winners = np.full(self.length, REFERENCE, np.int16)
        if course.forced is not None:
            self._forced(alive, winners, _not(empty))
        else:
            self._race(alive, winners, _not(empty))
        if self.why is not None and empty is not False:
            for place, races in enumerate(alive):
                self._say(place, _and(races, empty), OUTRANKED["empty"])
        return winners

    def _forced(self, alive: list[Mask], winners: Array, full: Mask) -> None:
        forced = self.course.forced
        assert forced is not None
        for place, races in enumerate(alive):
            self._say(place, races, SELECTED["force"] if place == forced else OUTRANKED["force"])
        if forced == REFERENCE:
            return
        winners[:] = RAISES
        winners[self._full(alive[forced])] = forced
        if self.why is not None:
            self.why[:, self._full(_and(full, _not(alive[forced])))] = RAISES_REASON

    def _race(self, alive: list[Mask], winners: Array, full: Mask) -> None:
        course = self.course
        left = list(alive)
        raises: Mask = False
        criterion = np.zeros(self.length, np.int8) if self.why is not None else None
        if criterion is not None:
            count = np.zeros(self.length, np.int16)
            for races in alive:
                count += races
            criterion[count != 1] = CRITERIA.index("declaration")
        nobody = _not(either(*alive)) if alive else True

        def drop(stays: Sequence[Mask], word: str) -> None:
            for place, mask in enumerate(stays):
                gone = _and(left[place], _not(mask))
                if gone is not False:
                    self._say(place, gone, OUTRANKED[word])
                    if criterion is not None:
                        np.copyto(criterion, CRITERIA.index(word), where=gone)
                left[place] = _and(left[place], mask)

        forces = [choice for choice in course.choices if choice.kind == "force"]
        if "rules" in course.order and forces:
            stays, raises = self._forces(forces, left)
            drop(stays, "rules")
        for word in course.order:
            stays = getattr(self, f"_by_{word}")(left)
            if stays is not None:
                drop(stays, word)
        for place, mask in enumerate(left):
            if mask is not False:
                np.copyto(winners, place, where=mask)
                if criterion is not None and self.why is not None:
                    np.copyto(self.why[place], criterion, where=mask)
        if course.nobody_raises:
            raises = either(raises, nobody)
        raises = _and(raises, full)  # nothing raises where the result is empty
        if raises is not False:
            winners[self._full(raises)] = RAISES
            if self.why is not None:
                self.why[:, self._full(raises)] = RAISES_REASON

    def _holds(self, term: Term | None, about: Mask = True) -> Mask:
        """Return where a condition of the ranking holds; where it is open and matters the row is open."""
        if term is None:
            self.open = either(self.open, about)
            return False
        return self.truth(term)[0]

    def _forces(self, forces: Sequence[Choice], left: list[Mask]) -> tuple[list[Mask], Mask]:
        """Return who stays where rules force: those that every forcing rule allows; and where nobody of these races."""
        allowed: list[Mask] = [True] * len(left)
        some: Mask = False
        for rule in dict.fromkeys(choice.rule for choice in forces):
            mine = [(choice, self._holds(choice.term)) for choice in forces if choice.rule == rule]
            holds = either(*(each for _, each in mine))
            some = either(some, holds)
            for place in range(len(left)):
                named = either(*(each for choice, each in mine if choice.lanes >> place & 1))
                allowed[place] = _and(allowed[place], either(_not(holds), named))
        there = either(*(_and(mask, stays) for mask, stays in zip(left, allowed, strict=True)))
        return allowed, _and(some, _not(there))

    def _by_rules(self, left: list[Mask]) -> list[Mask] | None:
        prefers = [choice for choice in self.course.choices if choice.kind == "prefer"]
        held = [(choice, holds) for choice in prefers if (holds := self._holds(choice.term)) is not False and _some(holds)]
        if not held:
            return None
        about = 0
        for choice, _ in held:
            about |= choice.lanes | choice.over
        places = [place for place in range(len(left)) if about >> place & 1]
        places = [place for place in places if left[place] is not False]
        masks: list[Mask] = [*(holds for _, holds in held), *(left[place] for place in places)]
        if len(masks) > MAX_PATTERN_BITS:
            self.open = either(self.open, *(holds for _, holds in held))
            return None
        rows = np.flatnonzero(self._full(either(*(holds for _, holds in held))))
        pattern = np.zeros(rows.size, np.int32)
        for bit, mask in enumerate(masks):
            if mask is not False:
                pattern |= np.left_shift(self._full(mask)[rows].astype(np.int32), bit, dtype=np.int32)
        kept = np.zeros(1 << len(masks), np.int32)
        for bits in np.flatnonzero(np.bincount(pattern)).tolist():
            ahead = [(choice.lanes, choice.over) for bit, (choice, _) in enumerate(held) if bits >> bit & 1]
            present = sum(1 << place for bit, place in enumerate(places) if bits >> (bit + len(held)) & 1)
            found = kept_by_preferences(present, ahead, len(left))
            kept[bits] = sum(1 << bit for bit, place in enumerate(places) if found >> place & 1)
        kept_rows = kept[pattern]
        stays: list[Mask] = [True] * len(left)
        for bit, place in enumerate(places):
            mine = np.ones(self.length, bool)
            mine[rows] = (kept_rows >> bit & 1).astype(bool)
            # who has gone before is not put out again
            stays[place] = either(mine, _not(left[place]))
        return stays

    def _by_avoid(self, left: list[Mask]) -> list[Mask] | None:
        avoided: list[Mask] = []
        for place, lane in enumerate(self.course.lanes):
            mine: Mask = bool(lane.avoid) and _some(left[place])
            for term in lane.avoid if mine else ():
                mine = _and(mine, self._holds(term, left[place]))
            avoided.append(mine)
        for choice in self.course.choices:
            if choice.kind == "avoid":
                holds = self._holds(choice.term)
                for place in range(len(left)):
                    if choice.lanes >> place & 1:
                        avoided[place] = either(avoided[place], holds)
        if all(mask is False for mask in avoided):
            return None
        better = either(*(_and(mask, _not(bad)) for mask, bad in zip(left, avoided, strict=True)))
        return [_not(_and(bad, better)) for bad in avoided]

    def _by_tier(self, left: list[Mask]) -> list[Mask] | None:
        stays: list[Mask] = [True] * len(left)
        ahead: Mask = False
        for tier in sorted({lane.tier for lane in self.course.lanes}):
            mine = [place for place, lane in enumerate(self.course.lanes) if lane.tier == tier]
            for place in mine:
                stays[place] = _not(ahead)
            ahead = either(ahead, *(left[place] for place in mine))
        return stays

    def _by_cost(self, left: list[Mask]) -> list[Mask] | None:
        """Costs are worked out only where two or more are left to be told apart."""
        if not self.course.costs:
            return None
        seen: Mask = False
        several: Mask = False
        for mask in left:
            several = either(several, _and(seen, mask))
            seen = either(seen, mask)
        rows = np.flatnonzero(self._full(several))
        if rows.size == 0:
            return None
        batch = self.batch if rows.size == self.length else self._batch_of(rows)
        costs = np.full((len(left), rows.size), np.inf)
        best = np.full(rows.size, np.inf)
        for place, (lane, mask) in enumerate(zip(self.course.lanes, left, strict=True)):
            if mask is not False:
                there = self._full(mask)[rows]
                costs[place] = self._cost(lane, there, rows, batch)
                np.minimum(best, costs[place], out=best, where=there)
        stays: list[Mask] = []
        for place, mask in enumerate(left):
            if mask is False:
                stays.append(True)
            else:
                kept = np.ones(self.length, bool)
                kept[rows] = costs[place] == best
                stays.append(kept)
        return stays

    def _batch_of(self, rows: Array) -> Batch:
        """Return the batch of some requests of the block."""
        values = {key: value[rows] if isinstance(value, np.ndarray) else value for key, value in self.batch.values.items()}
        given = {key: Column(column.values[rows], False, column.low, column.high) if column.array else column for key, column in self.batch.given.items()}
        return Batch(values, given=given)

    def _cost(self, lane: Lane, there: Array, rows: Array, batch: Batch) -> Array:
        """Return a lane's cost at some requests, infinite where it has none; ``there`` says where it counts."""
        none = np.full(rows.size, np.inf)
        if lane.open_cost:
            self._open_at(rows[there])
        if lane.cost is None:
            return none
        column = batch.evaluate(lane.cost)
        if column.failed is True:
            return none
        failed = np.broadcast_to(column.failed, (rows.size,))
        if column.kind not in ("int", "float") or (column.kind == "int" and max(map(abs, column.bounds(measured=True))) > 2**53):
            self._open_at(rows[there & ~failed])  # costs that doubles would round
            return none
        cost = np.broadcast_to(np.asarray(column.values, np.float64), (rows.size,))
        return np.where(~failed & np.isfinite(cost), cost, np.inf)

    def _open_at(self, rows: Array) -> None:
        mask = np.zeros(self.length, bool)
        mask[rows] = True
        self.open = either(self.open, mask)

    def _by_declaration(self, left: list[Mask]) -> list[Mask] | None:
        stays: list[Mask] = []
        ahead: Mask = False
        for mask in left:
            stays.append(_not(ahead))
            ahead = either(ahead, mask)
        return stays
