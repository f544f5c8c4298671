"""Proofs on disk: one line of JSON each, appended under a lock, in the user's own cache folder; more files by ``TSR_PROOFS``.

Records are evidence and are never changed: what holds is worked out from all records of a key, and a refutation outranks any
proof. A line that cannot be read is passed over; a store that cannot be written costs proofs at the next start, nothing else.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from tessera_rules.bind.cache import CacheError, own_file, own_folder
from tessera_rules.oracle.proof import REFUTING, Proof

FORMAT = 1
MAX_LINE = 1 << 16
MAX_BYTES = 64 << 20
"""A file beyond this is read up to here: nobody has so many kernels."""


@frozen(eq=False)
class Record:
    """One proof with the key that it holds for, and what a reader wants to see of the key."""

    key: str
    candidate: str
    about: Mapping[str, Any]
    proof: Proof
    at: float = 0.0

    def line(self) -> str:
        """Return it as one line of JSON."""
        document = {"format": FORMAT, "key": self.key, "candidate": self.candidate, **self.about, "at": round(self.at, 3), "proof": self.proof.to_json()}
        return json.dumps(document, sort_keys=True, allow_nan=False, default=str)


def read_record(line: str) -> Record | None:
    """Return the record of a line, or None where it is none of this format."""
    try:
        document = json.loads(line)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            return None
        about = {key: value for key, value in document.items() if key not in ("format", "key", "candidate", "at", "proof")}
        return Record(str(document["key"]), str(document["candidate"]), about, Proof.from_json(document["proof"]), float(document.get("at", 0.0)))
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return None


def read_file(path: Path) -> Iterator[Record]:
    """Yield the records of a file. Raises `OSError` for one that cannot be read."""
    with open(path, "rb") as file:
        for line in file.read(MAX_BYTES).split(b"\n"):
            if line and len(line) <= MAX_LINE:
                found = read_record(line.decode(errors="replace"))
                if found is not None:
                    yield found


def write_file(path: Path, records: Iterable[Record]) -> int:
    """Write records to a file of their own, for ``TSR_PROOFS``; return how many. Raises `OSError`."""
    lines = [record.line() + "\n" for record in records]
    path.write_text("".join(lines))
    return len(lines)


def finite(proof: Proof) -> Proof:
    """Return a proof without numbers that JSON does not have."""
    from math import isfinite

    from attrs import evolve

    return evolve(
        proof,
        max_error=proof.max_error if proof.max_error is not None and isfinite(proof.max_error) else None,
        budget=proof.budget if proof.budget is not None and isfinite(proof.budget) else None,
    )


@define(eq=False)
class ProofStore:
    """What is known by key. Read once, and again where the file has grown; safe from many threads and processes."""

    _known: dict[str, Record] = field(factory=dict, init=False)
    _names: set[str] = field(factory=set, init=False)
    _read: dict[Path, tuple[int, int]] = field(factory=dict, init=False)
    _lock: threading.RLock = field(factory=threading.RLock, init=False)

    def get(self, key: str) -> Proof | None:
        """Return what is known for a key."""
        with self._lock:
            self._refresh()
            found = self._known.get(key)
            return None if found is None else found.proof

    def names(self, candidate: str) -> bool:
        """Whether anything is known of a candidate at all."""
        with self._lock:
            self._refresh()
            return candidate in self._names

    def keep(self, record: Record) -> None:
        """Remember a record here and, where that can be, on disk."""
        with self._lock:
            self._take(record)
            path = self._own()
            if path is None:
                return
            with contextlib.suppress(OSError), open(path, "ab+", opener=_private) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                end = file.seek(0, os.SEEK_END)
                if end:
                    file.seek(end - 1)
                torn = bool(end) and file.read(1) != b"\n"  # whoever wrote last died half-way
                file.write((b"\n" if torn else b"") + record.line().encode() + b"\n")

    def records(self) -> tuple[Record, ...]:
        """Return what is known, the refutation of a key or its last proof."""
        with self._lock:
            self._refresh()
            return tuple(self._known.values())

    def _take(self, record: Record) -> None:
        known = self._known.get(record.key)
        if known is not None and known.proof.outcome in REFUTING and record.proof.outcome not in REFUTING:
            return
        self._known[record.key] = record
        self._names.add(record.candidate)

    def _refresh(self) -> None:
        for path in (self._own(), *_brought()):
            if path is None:
                continue
            try:
                found = os.stat(path)
            except OSError:
                continue
            mark = (found.st_mtime_ns, found.st_size)
            if self._read.get(path) == mark:
                continue
            with contextlib.suppress(OSError):
                for record in read_file(path):
                    self._take(record)
                self._read[path] = mark

    @staticmethod
    def _own() -> Path | None:
        """Return this user's own file; None where the cache folder cannot be used or somebody else may write the file."""
        try:
            path = own_folder("proofs") / f"proofs-{FORMAT}.jsonl"
        except CacheError:
            return None
        return path if not path.exists() or own_file(path) else None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _brought() -> tuple[Path, ...]:
    return tuple(Path(name).expanduser() for name in os.environ.get("TSR_PROOFS", "").split(os.pathsep) if name)


def now() -> float:
    """Return the time of day, for records."""
    return time.time()
