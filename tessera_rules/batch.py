"""Many requests at once: arrays of sizes in, the winner of each out, and on demand why each candidate came out as it did.

Structure is decided once, sizes by arrays; a request that arrays cannot answer (something but sizes is open, a cost that a
double would round) goes to the arbiter by itself. What comes out is what `Arbiter.decide` says of each request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import define, evolve, field

from tessera_rules.arbiter.courses import course_of
from tessera_rules.arbiter.decide import REFERENCE as REFERENCE_NAME
from tessera_rules.arbiter.decide import check_known, check_registered, decide
from tessera_rules.arbiter.decision import Decision
from tessera_rules.arbiter.request import bind_words
from tessera_rules.arbiter.situation import Situation
from tessera_rules.compile.course import RAISES, RAISES_REASON, REFERENCE, UNDECIDED, Course, Reason
from tessera_rules.compile.many import decide_columns
from tessera_rules.corpus.lookup import Corpus
from tessera_rules.errors import ArbiterError, OperandError
from tessera_rules.machine.base import Machine
from tessera_rules.model.values import Op, Ruleset
from tessera_rules.nearest import did_you_mean

__all__ = ["RAISES", "REFERENCE", "UNDECIDED", "Decisions", "decide_many"]


@define(eq=False)
class Decisions:
    """The decisions on many requests.

    ``winners`` has the broadcast shape of the sizes: an index into ``names`` (everybody registered, in declaration order), or
    `REFERENCE` (-1), `UNDECIDED` (-2: something besides the sizes is open, and it matters), `RAISES` (-3: ``decide`` raises
    there, for a size that the op does not take, a false check, a force that is refused). ``asked_one_by_one`` counts the
    requests that the arbiter was asked about by themselves.
    """

    names: tuple[str, ...]
    winners: np.ndarray[Any, Any]
    asked_one_by_one: int
    _question: _Question
    _reasons: np.ndarray[Any, Any] | None = field(default=None, init=False)
    _table: list[Reason] = field(factory=list, init=False)

    def reasons(self, name: str) -> np.ndarray[Any, Any]:
        """Return why a candidate came out as it did, for each request: places in ``reason_table``. The first call works all of them out."""
        if name not in self.names:
            raise ArbiterError(f"'{name}' is no candidate here; registered here: {', '.join(self.names) or 'nobody'}", candidate=name)
        found: np.ndarray[Any, Any] = self._all()[self.names.index(name)].reshape(self.winners.shape)
        return found

    @property
    def reason_table(self) -> tuple[Reason, ...]:
        """What the numbers of `reasons` stand for: a verdict's word, its code, and the clause and place where one says so."""
        self._all()
        return tuple(self._table)

    def decision(self, place: int | tuple[int, ...]) -> Decision:
        """Return the whole decision on one request, by its index in ``winners``. Raises what ``decide`` raises."""
        flat = int(np.ravel_multi_index(place, self.winners.shape)) if isinstance(place, tuple) else int(place)
        return self._question.ask(flat % self.winners.size if self.winners.size else flat)

    def _all(self) -> np.ndarray[Any, Any]:
        if self._reasons is None:
            self._table = list(self._question.course.reasons)
            self._reasons = self._question.reasons(self._table)
        return self._reasons


@define(eq=False)
class _Question:
    """What was asked, so that it can be asked again in more detail."""

    ruleset: Ruleset
    machine: Machine
    op: str
    target: str | None
    words: Mapping[str, Any]
    force: str | None
    assumed: frozenset[str] | None
    course: Course
    columns: Mapping[str, Any]
    length: int
    corpus: Corpus | None = None

    def ask(self, place: int) -> Decision:
        """Ask the arbiter about one request."""
        sizes = {name: _size(column[place]) if isinstance(column, np.ndarray) else column for name, column in self.columns.items()}
        request = bind_words(self.ruleset, self.op, self.target, {**self.words, **sizes}, self.machine)
        measured = self.corpus.measured(self.ruleset, request, self.machine) if self.corpus is not None else None
        force = self.force if self.force is not None or self.corpus is None else self.corpus.pinned(self.ruleset, request)
        return decide(self.ruleset, request, self.machine, force=force, assume_available=self.assumed, measured=measured)

    def _where_measured(self, winners: np.ndarray[Any, Any]) -> None:
        """Leave requests that records may speak of to the arbiter."""
        box = self.corpus.box(self.ruleset, self.op, self.target or "") if self.corpus is not None and self.force is None else None
        if box is not None:
            inside = winners != RAISES
            for name, (low, high) in box.items():
                if name in self.columns:
                    inside = inside & (self.columns[name] >= low) & (self.columns[name] <= high)
            winners[inside] = UNDECIDED

    def winners(self) -> tuple[np.ndarray[Any, Any], int]:
        """Return the winners, and how many requests went to the arbiter by themselves."""
        winners = decide_columns(self.course, self.columns, self.length).winners
        self._where_measured(winners)
        names = [lane.name for lane in self.course.lanes]
        slow = np.flatnonzero(winners == UNDECIDED)
        for place in slow.tolist():
            try:
                found = self.ask(place)
            except (ArbiterError, OperandError):
                winners[place] = RAISES
                continue
            winners[place] = names.index(found.winner) if found.winner is not None else UNDECIDED if found.tag == "undecided" else REFERENCE
        return winners, len(slow)

    def reasons(self, table: list[Reason]) -> np.ndarray[Any, Any]:
        """Return a row of reasons for each candidate; ``table`` gets those that only asking one by one brings."""
        found = decide_columns(self.course, self.columns, self.length, reasons=True)
        assert found.reasons is not None
        self._where_measured(found.winners)
        known = {reason: number for number, reason in enumerate(table)}
        for place in np.flatnonzero(found.open & (found.winners != RAISES)).tolist():
            try:
                decision = self.ask(place)
            except (ArbiterError, OperandError):
                found.reasons[:, place] = RAISES_REASON
                continue
            for row, verdict in enumerate(decision.verdicts):
                reason = Reason(verdict.verdict, verdict.code)
                if reason not in known:
                    span = verdict.span
                    reason = Reason(
                        verdict.verdict, verdict.code, verdict.candidate, verdict.clause, span.source.name if span else None, span.line if span else None
                    )
                number = known.setdefault(reason, len(table))
                if number == len(table):
                    table.append(reason)
                found.reasons[row, place] = number
        return found.reasons


def _size(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def decide_many(
    ruleset: Ruleset,
    machine: Machine,
    op: str,
    target: str | None,
    dims: Mapping[str, Any],
    words: Mapping[str, Any],
    force: str | None = None,
    assumed: frozenset[str] | None = frozenset(),
    corpus: Corpus | None = None,
) -> Decisions:
    """Return the decisions on every request of some sizes: arrays of integers that broadcast together, or single ones.

    Raises `OperandError` for a word or a dimension that the op lacks and for sizes that are no integers.
    """
    request = bind_words(ruleset, op, target, words, machine)
    fixed = dict(request.dims)
    request = evolve(request, dims={})
    for name in sorted(assumed or ()):
        check_known(ruleset, name, "assumed")
    if force is not None and force != REFERENCE_NAME:
        check_registered(ruleset, request, force)
    columns, shape = _columns(request.op, {**fixed, **dims})
    course = course_of(Situation(ruleset, request, machine, assumed), columns.keys(), force)
    length = int(np.prod(shape, dtype=np.int64))
    question = _Question(ruleset, machine, op, request.target, words, force, assumed, course, columns, length, corpus)
    winners, slow = question.winners()
    return Decisions(tuple(lane.name for lane in course.lanes), winners.reshape(shape), slow, question)


def _columns(op: Op, dims: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return flat columns of one length, single sizes as they are, and the shape of the whole."""
    found: dict[str, Any] = {}
    for name, sizes in dims.items():
        if name not in op.dims:
            raise OperandError(f"op {op.name} has no dimension '{name}'", hint=did_you_mean(name, op.dims, "dimension"))
        try:
            array = np.asarray(sizes)
        except (OverflowError, ValueError) as problem:
            raise OperandError(f"the sizes of '{name}' are no array: {problem}") from None
        whole = array.dtype.kind in "iu" or (array.dtype.kind == "O" and all(type(each) is int for each in array.flat))
        if not whole and array.size:
            raise OperandError(f"the sizes of '{name}' are integers, and these are {array.dtype}", hint="an array of int64, or of Python's integers as objects")
        found[name] = array if array.ndim else array.item()
    try:
        shape = np.broadcast_shapes(*(each.shape for each in found.values() if isinstance(each, np.ndarray)))
    except ValueError:
        shapes = ", ".join(f"{name} {each.shape}" for name, each in found.items() if isinstance(each, np.ndarray))
        raise OperandError(f"the sizes do not broadcast together: {shapes}") from None
    return {name: np.broadcast_to(each, shape).reshape(-1) if isinstance(each, np.ndarray) else each for name, each in found.items()}, shape
