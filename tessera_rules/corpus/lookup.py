"""What the records say about one request: the evidence that deciding asks for.

Only races on this machine by this key count, of today's rules, not past their age. Of those only such in which everybody who
is in the race now was a contestant, running the bytes that it runs today. What is left is judged anew from its times, oldest
first: an incumbent falls only to a separated winner with a gain.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from tessera_rules.bind.bindings import Bindings
from tessera_rules.bind.outcome import Unbound
from tessera_rules.corpus.key import HOW, key_of, rules_digest
from tessera_rules.corpus.pins import Pins, pins_of_environment
from tessera_rules.corpus.record import RACE, Record, digest_of
from tessera_rules.corpus.store import Store, StoreProblem, default_place
from tessera_rules.errors import MissingExtraError
from tessera_rules.machine.base import Machine
from tessera_rules.machine.epoch import EPOCH
from tessera_rules.machine.local import LocalMachine
from tessera_rules.measure.contest import judged
from tessera_rules.measure.race import chosen
from tessera_rules.measure.stopwatch import now
from tessera_rules.model.request import Request
from tessera_rules.model.values import Ruleset

MAX_AGE_SECONDS = 30 * 86400.0
WIDEST = 4
"""Between two measured shapes no size may lie further apart than by this factor for what holds at both to hold between."""

Digests = Callable[[str], str | None]
Shape = tuple[int, ...]


class CorpusWarning(UserWarning):
    """The corpus cannot be used; decisions are made without it. Said once."""


def stale(record: Record, rules: str, seconds: float) -> str | None:
    """Return why a record no longer counts, as far as that can be said without a request; None where it does."""
    if record.kind != RACE:
        return "it came from another tool, and decides nothing here"
    if record.rules != rules:
        return "the rules of this op and target have changed since"
    if seconds - record.at > MAX_AGE_SECONDS:
        return f"it is {(seconds - record.at) / 86400:.0f} days old, and counts for {MAX_AGE_SECONDS / 86400:.0f}"
    return None


def digests_of(ruleset: Ruleset, machine: Machine, request: Request) -> Digests:
    """Return what gives the digest of what a candidate runs today; None where it cannot be bound.

    On a stated machine nothing is bound: records of that machine are taken at their word.
    """
    if not isinstance(machine, LocalMachine) or not isinstance(machine.binder, Bindings):
        return lambda _: ""
    bindings, devices = machine.binder, machine.devices(ruleset.targets[request.target])
    device = devices[request.device] if request.device < len(devices) else None

    def digest(name: str) -> str | None:
        bound = bindings.bind(ruleset.candidates[name], device)
        return None if isinstance(bound, Unbound) else bound.digest

    return digest


@frozen(eq=False)
class Evidence:
    """The records of one key, for one request: what `arbiter.decide` takes as ``measured``."""

    shape: Shape
    names: tuple[str, ...]
    by_shape: Mapping[Shape, Sequence[Record]]
    digest: Digests
    _kept: dict[Any, str | None] = field(factory=dict)

    def keep(self, live: frozenset[str], left: frozenset[str]) -> frozenset[str]:
        """Return the winner among ``left`` by measurement, all of ``left`` where the records name none."""
        winner = self.winner(live, left)
        return frozenset({winner}) if winner is not None else left

    def winner(self, live: frozenset[str], left: frozenset[str]) -> str | None:
        """Return who was measured fastest of those left: at this very shape, or at measured shapes on both sides of it."""
        asked = (live, left)
        if asked not in self._kept:
            exact = self.by_shape.get(self.shape)
            self._kept[asked] = self._at(exact, live, left) if exact is not None else self._between(live, left)
        return self._kept[asked]

    def covers(self, live: frozenset[str]) -> bool:
        """Whether everybody in the race was raced at this very shape already, or was found to have no time there."""
        return any(self._covers(record, live - set(record.unmeasured)) for record in self.by_shape.get(self.shape, ()))

    def _at(self, records: Sequence[Record], live: frozenset[str], left: frozenset[str]) -> str | None:
        """Return the incumbent after all races at one shape."""
        incumbent: str | None = None
        for record in sorted(records, key=lambda each: (each.at, each.id)):
            if not self._covers(record, live):
                continue
            among = [name for name in record.finalists if name in left]
            before = incumbent if incumbent is not None else record.default if record.default in left else None
            found = chosen(judged(record.rounds, among, len(record.finalists)), before)
            incumbent = found if found is not None else incumbent
        return incumbent

    def _covers(self, record: Record, live: frozenset[str]) -> bool:
        """Whether everybody who is in the race raced there, with the bytes of today."""
        for name in live:
            then = record.contestants.get(name)
            if then is None:
                return False
            today = self.digest(name)
            if today is None or today not in ("", then):
                return False
        return True

    def _between(self, live: frozenset[str], left: frozenset[str]) -> str | None:
        """Return who won at the nearest measured shapes on both sides and at every one between; nothing beyond what was measured (T28)."""
        box = narrowest(self.shape, self.by_shape)
        if box is None:
            return None
        low, high = box
        inside = [each for each in self.by_shape if all(a <= size <= b for a, size, b in zip(low, each, high, strict=True))]
        winners = {self._at(self.by_shape[each], live, left) for each in inside}
        return next(iter(winners)) if len(winners) == 1 else None


def narrowest(shape: Shape, measured: Iterable[Shape]) -> tuple[Shape, Shape] | None:
    """Return the two measured shapes, one nowhere above and one nowhere below a shape, that enclose it most narrowly.

    None where there are none, or where some size of them lies further apart than `WIDEST`.

    >>> narrowest((3, 8), [(2, 8), (4, 8), (1, 8), (4, 16)]), narrowest((3, 9), [(2, 8), (4, 8)])
    (((2, 8), (4, 8)), None)
    """
    known = list(measured)
    below = [each for each in known if all(a <= size <= WIDEST * a for a, size in zip(each, shape, strict=True))]
    above = [each for each in known if all(size <= b <= WIDEST * size for b, size in zip(each, shape, strict=True))]
    best: tuple[float, Shape, Shape] | None = None
    for low in below:
        for high in above:
            if any(b > WIDEST * a for a, b in zip(low, high, strict=True)):
                continue
            room = sum(math.log2(max(b, 1) / max(a, 1)) for a, b in zip(low, high, strict=True))
            if best is None or (room, low, high) < best:
                best = (room, low, high)
    return None if best is None else (best[1], best[2])


@define(eq=False)
class Corpus:
    """What one process knows of the corpus. Read at first use, and again after `refresh`; trouble is said once, and never raised.

    ``place`` is None for ``TSR_CORPUS`` or the user's cache, as they are at first use.
    """

    place: str | None = None
    problem: str | None = field(default=None, init=False)
    _found: str | None = field(default=None, init=False)
    _pinned: tuple[Pins | None] | None = field(default=None, init=False)
    _read: dict[tuple[str, str, str], Mapping[str, Sequence[Record]]] = field(factory=dict, init=False)
    _lock: threading.RLock = field(factory=threading.RLock, init=False)

    def measured(self, ruleset: Ruleset, request: Request, machine: Machine, how: str = HOW) -> Evidence | None:
        """Return the evidence for a request, None where no record is of its kind. Never raises for what is in the store."""
        names = tuple(request.op.dims)
        if any(name not in request.dims for name in names):
            return None
        by_key = self._records(ruleset, request.op.name, request.target)
        key = key_of(ruleset, request, machine, how=how) if by_key else None
        records = by_key.get(digest_of(key)[:32], ()) if key is not None else ()
        by_shape: dict[Shape, list[Record]] = {}
        for record in records:
            if set(record.dims) == set(names):
                by_shape.setdefault(tuple(record.dims[name] for name in names), []).append(record)
        if not by_shape:
            return None
        return Evidence(tuple(request.dims[name] for name in names), names, by_shape, digests_of(ruleset, machine, request))

    def pinned(self, ruleset: Ruleset, request: Request) -> str | None:
        """Return whom ``TSR_DECISIONS`` pins for a request, to be forced; None where it pins nobody.

        Raises `UsageError` for a file that cannot be read, `ArbiterError` for a miss where the file makes that an error.
        """
        pins = self._pins()
        return None if pins is None else pins.winner(ruleset, request)

    def _pins(self) -> Pins | None:
        if self._pinned is None:
            with self._lock:
                self._pinned = (pins_of_environment(),)
        return self._pinned[0]

    def box(self, ruleset: Ruleset, op: str, target: str) -> Mapping[str, tuple[int, int]] | None:
        """Return the bounds of the sizes that anything was measured or pinned for; beyond them neither speaks.

        None where there is neither; no bounds at all where pins make a miss an error.
        """
        pins = self._pins()
        if pins is not None and pins.strict:
            return {}
        found: dict[str, tuple[int, int]] = dict(pins.boxes.get((op, target), {})) if pins is not None else {}
        for records in self._records(ruleset, op, target).values():
            for record in records:
                for name, size in record.dims.items():
                    low, high = found.get(name, (size, size))
                    found[name] = min(low, size), max(high, size)
        return found or None

    def refresh(self) -> None:
        """Read the store anew at the next request: there is new evidence, or another place for it."""
        with self._lock:
            self._read.clear()
            self._found = self._pinned = None
        EPOCH.advance()

    def _records(self, ruleset: Ruleset, op: str, target: str) -> Mapping[str, Sequence[Record]]:
        """Return the records that still count, by key; none where the policy does not ask for measurements."""
        if "measured" not in ruleset.policy.order:
            return {}
        asked = (ruleset.digest, op, target)
        found = self._read.get(asked)
        if found is None:
            with self._lock:
                found = self._read.get(asked)
                if found is None:
                    found = self._read[asked] = self._load(ruleset, op, target)
        return found

    def _load(self, ruleset: Ruleset, op: str, target: str) -> Mapping[str, Sequence[Record]]:
        try:
            self._found = self._found or self.place or default_place()
            store = Store(self._found)
            if not store.is_there:
                return {}
            read = store.read(op, target)
        except (StoreProblem, MissingExtraError) as problem:
            if self.problem is None:
                self.problem = str(problem)
                warnings.warn_explicit(f"decisions are made without what was measured: {problem}", CorpusWarning, "tessera_rules", 0)
            return {}
        rules, seconds = rules_digest(ruleset, op, target), now()
        by_key: dict[str, list[Record]] = {}
        for record in read.records:
            if stale(record, rules, seconds) is None:
                by_key.setdefault(record.key_digest, []).append(record)
        return by_key
