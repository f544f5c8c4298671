"""One record: what was raced, by whom, under which conditions, and all the times. Never changed once written."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import field, frozen

SCHEMA = 1
RACE, FOREIGN = "race", "foreign"


class BadRecord(ValueError):
    """A document is no record; the message says which field, what is there and what was expected."""


def canonical(document: Mapping[str, Any]) -> str:
    """Return the one text of a document: sorted names, no blanks, ASCII. Records are compared and merged by it.

    >>> canonical({"b": 1.5, "a": ["é"]})
    '{"a":["\\\\u00e9"],"b":1.5}'
    """
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a document's canonical text."""
    return hashlib.sha256(canonical(document).encode()).hexdigest()


@frozen(eq=False)
class Record:
    """The evidence of one race.

    ``key`` is what it holds for besides the shape (`corpus.key`), ``dims`` the shape that was measured. ``contestants`` maps
    each to the digest of what it ran; ``finalists`` are those whose times count. ``times`` maps each finalist to its
    seconds a round, None where it was void or not in that round. ``unmeasured`` has those without a time, and why.
    ``default`` is who would have run unmeasured. ``rules`` is the digest of what the rules say about this op and target.
    A record of kind ``foreign`` came from another tool: it is shown and audited, and decides nothing.
    """

    op: str
    target: str
    key: Mapping[str, Any]
    dims: Mapping[str, int]
    contestants: Mapping[str, str]
    finalists: tuple[str, ...]
    times: Mapping[str, tuple[float | None, ...]]
    unmeasured: Mapping[str, str]
    default: str | None
    outcome: str
    winner: str | None
    rules: str
    at: float
    evidence: Mapping[str, Any] = field(factory=dict)
    kind: str = RACE

    def to_json(self) -> dict[str, Any]:
        """Return the record as a document."""
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "op": self.op,
            "target": self.target,
            "key": dict(self.key),
            "dims": dict(self.dims),
            "contestants": dict(self.contestants),
            "finalists": list(self.finalists),
            "times": {name: list(found) for name, found in self.times.items()},
            "unmeasured": dict(self.unmeasured),
            "default": self.default,
            "outcome": self.outcome,
            "winner": self.winner,
            "rules": self.rules,
            "at": self.at,
            "evidence": dict(self.evidence),
        }

    @property
    def text(self) -> str:
        """The record as one line."""
        return canonical(self.to_json())

    @property
    def id(self) -> str:
        """What names the record: the digest of all that it says, so that equal records are one wherever they are merged."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:32]

    @property
    def key_digest(self) -> str:
        """What names the key."""
        return digest_of(self.key)[:32]

    @property
    def rounds(self) -> list[dict[str, float | None]]:
        """The times round by round, as they are judged."""
        count = max((len(found) for found in self.times.values()), default=0)
        return [{name: found[number] for name, found in self.times.items() if number < len(found)} for number in range(count)]


def read_record(document: Any) -> Record:
    """Return the record that a document states, every field checked. Raises `BadRecord`.

    A field that this edition does not know is refused too: what is not understood does not decide.
    """
    if not isinstance(document, Mapping):
        raise BadRecord(f"a record is an object, and this is {type(document).__name__}")
    if document.get("schema") != SCHEMA:
        raise BadRecord(f"schema is {document.get('schema')!r}, and this tsr reads {SCHEMA}")
    missing, unknown = sorted(set(_FIELDS) - set(document)), sorted(set(document) - set(_FIELDS) - {"schema"})
    if missing or unknown:
        raise BadRecord(f"{'missing' if missing else 'unknown'} field '{(missing or unknown)[0]}'")
    values: dict[str, Any] = {}
    for name, (expected, fits) in _FIELDS.items():
        value = document[name]
        if not fits(value):
            raise BadRecord(f"{name} is {_short(value)}, and {expected} was expected")
        values[name] = value
    values["finalists"] = tuple(values["finalists"])
    values["times"] = {name: tuple(found) for name, found in values["times"].items()}
    record = Record(**values)
    _consistent(record)
    return record


def _consistent(record: Record) -> None:
    """Hold the parts of a record to each other."""
    for name in record.finalists:
        if name not in record.contestants:
            raise BadRecord(f"'{name}' is a finalist and no contestant")
    if record.kind == RACE and set(record.times) != set(record.finalists):
        raise BadRecord("times are those of the finalists, of each and of nobody else")
    both = set(record.contestants) & set(record.unmeasured)
    if both:
        raise BadRecord(f"'{min(both)}' is a contestant and unmeasured")
    if record.winner is not None and record.winner not in record.contestants:
        raise BadRecord(f"'{record.winner}' won and is no contestant")


def _is_text_map(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) and isinstance(each, str) for name, each in value.items())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_times(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(found, list | tuple) and all(each is None or (_is_number(each) and each > 0) for each in found) for found in value.values()
    )


def _is_dims(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in value.values())


def _of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds)


_FIELDS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "kind": (f"{RACE} or {FOREIGN}", lambda value: value in (RACE, FOREIGN)),
    "op": ("a name", _of(str)),
    "target": ("a name", _of(str)),
    "key": ("an object", lambda value: isinstance(value, Mapping)),
    "dims": ("sizes by name", _is_dims),
    "contestants": ("digests by name", _is_text_map),
    "finalists": ("a list of names", lambda value: isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)),
    "times": ("positive finite seconds (or null) by name", _is_times),
    "unmeasured": ("reasons by name", _is_text_map),
    "default": ("a name or null", _of(str, type(None))),
    "outcome": ("a word", _of(str)),
    "winner": ("a name or null", _of(str, type(None))),
    "rules": ("a digest", _of(str)),
    "at": ("seconds since 1970", _is_number),
    "evidence": ("an object", lambda value: isinstance(value, Mapping)),
}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def read_lines(lines: Iterable[str]) -> tuple[list[Record], list[tuple[int, str]]]:
    """Return the records of JSON lines, and number and reason of each line that is none (T30).

    >>> read_lines(["", "{}", "?"])[1][0]
    (2, 'schema is None, and this tsr reads 1')
    """
    good: list[Record] = []
    bad: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            good.append(read_record(json.loads(line)))
        except BadRecord as problem:
            bad.append((number, str(problem)))
        except (ValueError, RecursionError) as problem:
            bad.append((number, f"no JSON: {problem}"))
    return good, bad


def write_lines(records: Iterable[Record]) -> str:
    """Return records as canonical JSON lines: each once, sorted by op, target, shape, time and id, so that git can merge them."""
    unique = {record.id: record for record in records}
    ordered = sorted(unique.values(), key=lambda record: (record.op, record.target, sorted(record.dims.items()), record.at, record.id))
    return "".join(f"{record.text}\n" for record in ordered)
