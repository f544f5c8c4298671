"""The dispatch log: who ran, who degraded, who delegated, where nobody could; counted in memory, streamed to ``TSR_LOG`` where asked."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TextIO

from attrs import define, field, frozen

from tessera_rules.arbiter.execution import Execution
from tessera_rules.arbiter.explanation import request_words
from tessera_rules.model.request import Request

Word = Literal["won", "degraded", "delegated", "no_candidate"]
WORDS: tuple[Word, ...] = ("won", "degraded", "delegated", "no_candidate")
RING = 1024
"""Dispatches that the ring keeps."""


@frozen
class Dispatch:
    """One dispatch as the ring keeps it: what was asked, who answered, who did not."""

    request: Request
    tag: str
    degraded: tuple[str, ...]
    delegated: tuple[str, ...]


class Tally:
    """Counts dispatches of one kind from many threads, without a lock: ``count()`` is one step of a counter.

    >>> tally = Tally(deque())
    >>> tally.count(), tally.count(), tally.total(), tally.total()
    (0, 1, 2, 2)
    """

    def __init__(self, ring: deque[Dispatch]) -> None:
        self.count: Callable[[], int] = itertools.count().__next__
        self.append = ring.append
        self._looked = 0
        self._lock = threading.Lock()

    def total(self) -> int:
        """Return how often it was counted; looking takes a step too, and is left out."""
        with self._lock:
            found = self.count() - self._looked
            self._looked += 1
            return found


@define(eq=False)
class Log:
    """Counts every dispatch by op, target and tag. Safe from many threads; reading costs the writers nothing.

    >>> log = Log()
    >>> dict(log.totals())
    {}
    """

    _ring: deque[Dispatch] = field(factory=lambda: deque(maxlen=RING))
    _counts: dict[tuple[str, str, str, Word], int] = field(factory=dict)
    _tallies: dict[tuple[str, str, str], Tally] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)
    _path: str | None = None
    _stream: TextIO | None = None
    _failed: str | None = None

    def record(self, request: Request, execution: Execution) -> None:
        """Note what became of a dispatch."""
        noted = self.noted(request, execution)
        op, target = request.op.name, request.target
        with self._lock:
            self._ring.append(noted)
            self._count(op, target, execution.tag, "no_candidate" if execution.decision.criterion == "none" else "won")
            for name in noted.degraded:
                self._count(op, target, name, "degraded")
            for name in noted.delegated:
                self._count(op, target, name, "delegated")
        path = os.environ.get("TSR_LOG")
        if path:
            self._write(path, noted, execution)

    def noted(self, request: Request, execution: Execution) -> Dispatch:
        """Return what the ring keeps of a dispatch."""
        delegated = tuple(each.candidate for each in execution.decision.verdicts if each.verdict == "delegated")
        return Dispatch(request, execution.tag, tuple(each.candidate for each in execution.degraded), delegated)

    def tally(self, op: str, target: str, tag: str) -> Tally:
        """Return what counts dispatches that a candidate won and of which nothing else is to be said: the warm path's."""
        key = (op, target, tag)
        with self._lock:
            return self._tallies.setdefault(key, Tally(self._ring))

    def _count(self, op: str, target: str, tag: str, word: Word) -> None:
        key = (op, target, tag, word)
        self._counts[key] = self._counts.get(key, 0) + 1

    def totals(self) -> Iterator[tuple[tuple[str, str, str, Word], int]]:
        """Yield ``(op, target, tag, word)`` with how often, sorted."""
        counts = dict(self._counts)
        for (op, target, tag), tally in tuple(self._tallies.items()):
            total = tally.total()
            if total:
                counts[op, target, tag, "won"] = counts.get((op, target, tag, "won"), 0) + total
        yield from sorted(counts.items())

    def recent(self) -> list[Dispatch]:
        """Return the last dispatches, oldest first."""
        return list(self._ring)

    @property
    def failed(self) -> str | None:
        """Why ``TSR_LOG`` could not be written, said once; dispatch goes on without it."""
        return self._failed

    def _write(self, path: str, noted: Dispatch, execution: Execution) -> None:
        line = json.dumps(document(noted, execution, time.time()), separators=(",", ":"))
        with self._lock:
            try:
                if self._stream is None or self._path != path:
                    self._stream, self._path = open(path, "a", encoding="utf-8"), path  # noqa: SIM115
                self._stream.write(line + "\n")
                self._stream.flush()
            except OSError as problem:
                self._failed = f"TSR_LOG {path}: {problem.strerror or problem}"


def document(noted: Dispatch, execution: Execution, seconds: float) -> dict[str, Any]:
    """Return one line of the stream: what was asked, who ran, and the command that replays the decision."""
    request = noted.request
    return {
        "time": round(seconds, 6),
        "op": request.op.name,
        "target": request.target,
        "tag": noted.tag,
        "criterion": execution.decision.criterion,
        "proof": execution.proof,
        "degraded": [each.to_json() for each in execution.degraded],
        "delegated": list(noted.delegated),
        "replay": f"tsr eval {request.op.name} {request.target} {request_words(request)}",
    }


def read_totals(lines: Iterable[str]) -> tuple[dict[tuple[str, str, str, Word], int], list[int]]:
    """Return what a stream counts, and the numbers of the lines that are none of ours.

    >>> read_totals(['{"op": "matmul", "target": "x86", "tag": "a", "degraded": [], "delegated": []}', "?"])
    ({('matmul', 'x86', 'a', 'won'): 1}, [2])
    """
    counts: dict[tuple[str, str, str, Word], int] = {}
    bad: list[int] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            found = list(_counted(row))
        except (ValueError, KeyError, TypeError, AttributeError):
            bad.append(number)
            continue
        for key in found:
            counts[key] = counts.get(key, 0) + 1
    return counts, bad


def _counted(row: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Word]]:
    op, target, tag = str(row["op"]), str(row["target"]), str(row["tag"])
    yield op, target, tag, "no_candidate" if row.get("criterion") == "none" else "won"
    for each in row["degraded"]:
        yield op, target, str(each["candidate"]), "degraded"
    for name in row["delegated"]:
        yield op, target, str(name), "delegated"
