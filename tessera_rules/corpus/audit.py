"""Every stored choice checked against today's rules: what is stale, what no request can reach, what would not be chosen now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from tessera_rules.arbiter.race import race
from tessera_rules.arbiter.request import bind_words
from tessera_rules.arbiter.situation import Situation
from tessera_rules.corpus.key import key_of, rules_digest
from tessera_rules.corpus.lookup import stale
from tessera_rules.corpus.record import RACE, Record, digest_of
from tessera_rules.errors import TesseraError
from tessera_rules.machine.base import Machine
from tessera_rules.model.values import Ruleset


@frozen
class Note:
    """Something about one record. ``kind`` is a stable word: ``foreign stale unreachable elsewhere refused suspicious``."""

    record: Record
    kind: str
    text: str


def audit(records: Iterable[Record], ruleset: Ruleset, machine: Machine, seconds: float) -> Iterator[Note]:
    """Yield what is to be said of each record; of one that still counts and whose winner may still run, nothing."""
    for record in records:
        if record.kind != RACE:
            said: Any = record.evidence.get("suspicions", ())
            yield Note(record, "foreign", "it came from another tool, and decides nothing here")
            yield from (Note(record, "suspicious", str(each)) for each in said)
            continue
        if record.op not in ruleset.ops or record.target not in ruleset.targets:
            yield Note(record, "unreachable", f"these rules have no {record.op} on {record.target}")
            continue
        why = stale(record, rules_digest(ruleset, record.op, record.target), seconds)
        if why is not None:
            yield Note(record, "stale", why)
        yield from _today(record, ruleset, machine)


def _today(record: Record, ruleset: Ruleset, machine: Machine) -> Iterator[Note]:
    """Yield what becomes of the record's own request today."""
    expected = set(ruleset.ops[record.op].dims)
    if set(record.dims) != expected:
        yield Note(record, "unreachable", f"its sizes are of {', '.join(record.dims) or 'nothing'}, and {record.op} has {', '.join(expected)} (T29)")
        return
    try:
        request = bind_words(ruleset, record.op, record.target, words_of(record), machine)
        key = key_of(ruleset, request, machine, metric=str(record.key.get("metric")), how=str(record.key.get("how")))
        situation = Situation(ruleset, request, machine)
        winner = next((each for each in race(situation) if each.candidate.name == record.winner), None)
    except TesseraError as problem:
        yield Note(record, "unreachable", f"no request is like it: {problem.message}")
        return
    if key is not None and digest_of(key) != digest_of(record.key):
        named = sorted(name for name in {*key, *record.key} if key.get(name) != record.key.get(name))
        where = "on another machine" if named == ["machine"] else f"under another {', '.join(named)}"
        yield Note(record, "elsewhere", f"it was measured {where}, and never answers here")
    if record.winner is not None and winner is None:
        yield Note(record, "refused", f"its winner {record.winner} is no candidate any more")
    elif winner is not None and winner.verdict is not None:
        yield Note(record, "refused", f"its winner {record.winner} is {winner.verdict.verdict} today: {winner.verdict.reason}")


def words_of(record: Record) -> dict[str, Any]:
    """Return the words of the request that a record was made for, as `arbiter.bind_words` takes them."""
    key = record.key
    attrs: Mapping[str, Any] = key.get("attrs", {})
    words: dict[str, Any] = {**record.dims, **{name: _typed(value) for name, value in attrs.items() if value is not None}}
    words |= {name: key[name] for name in ("dtype", "threads") if key.get(name) is not None}
    if key.get("given"):
        words["given"] = ",".join(key["given"])
    for name, layout in key.get("layouts", {}).items():
        if "strides" in layout:
            words[f"{name}.strides"] = tuple(layout["strides"])
        if "align" in layout:
            words[f"{name}.align"] = layout["align"]
        if layout.get("dtype") not in (None, key.get("dtype")):
            words[f"{name}.dtype"] = layout["dtype"]
    return words


def _typed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
