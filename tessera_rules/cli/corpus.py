"""``tsr corpus show, merge, export, import, prune, pin, audit``: what was measured, shown, moved and looked after."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.rules import asked_rules, load_rules, readable
from tessera_rules.cli.streams import Streams
from tessera_rules.errors import UsageError
from tessera_rules.nearest import did_you_mean

if TYPE_CHECKING:
    from tessera_rules.corpus.record import Record
    from tessera_rules.corpus.store import Store

SUMMARY = "what was measured: show, export, import, merge, prune, pin, audit"
EXAMPLE = """  show [OP [TARGET]]   the records, with what they say and whether they still count
  export [FILE]        canonical JSON lines, which diff and merge in git; without FILE to standard output
  import FILE…         add the records of exports, of other corpora, of the tessera compiler's corpus
  merge FILE…          the union of exports and corpora as JSON lines, to --out FILE or standard output
  prune                take away what no longer counts on this machine (--older-than DAYS: by age alone)
  pin FILE             the decisions at every measured shape, as they are now, for TSR_DECISIONS; --strict: a request without one is an error
  audit                every stored choice checked against today's rules; 1 where there is something to say

example: tsr corpus export > measured.jsonl; git add measured.jsonl"""


def parser() -> Parser:
    """Return what ``tsr corpus`` takes."""
    made = parser_for("corpus", SUMMARY, EXAMPLE)
    made.add_argument("words", nargs="*", metavar="ACTION", help="one of those below, and what it takes")
    made.add_argument("--corpus", metavar="PATH", help="the corpus; default: TSR_CORPUS, else the user's cache")
    made.add_argument("--out", metavar="FILE", help="where merge writes")
    made.add_argument("--older-than", type=float, metavar="DAYS", help="prune: what is older, whatever else is true of it")
    made.add_argument("--strict", action="store_true", help="pin: where TSR_DECISIONS names the file, a request without a pin is an error")
    made.add_argument("--dry-run", action="store_true", help="prune: say what would go, and keep it")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Do what the first word says."""
    from tessera_rules.corpus.store import Store, StoreProblem, default_place

    words, named = asked_rules(options, 2)
    action = words[0] if words else ""
    if action not in ACTIONS:
        raise UsageError(
            f"'{action}' is nothing that tsr corpus does" if action else "tsr corpus needs an action",
            hint=did_you_mean(action, ACTIONS, "action") if action else f"one of {', '.join(ACTIONS)}",
        )
    try:
        return ACTIONS[action](Store(options.corpus or default_place()), words[1:], named, options, streams)
    except StoreProblem as problem:
        raise UsageError(str(problem)) from None


def _show(store: Store, words: Sequence[str], named: Sequence[str], options: argparse.Namespace, streams: Streams) -> int:
    from tessera_rules.corpus.key import rules_digest
    from tessera_rules.corpus.lookup import stale
    from tessera_rules.corpus.record import RACE
    from tessera_rules.report.table import table

    found = store.read(*words[:2])
    if options.json:
        streams.give({"store": store.place, "records": [{"id": record.id, **record.to_json()} for record in found.records]})
        return _tell_bad(found.bad, store.place, streams)
    ruleset = load_rules(named, streams)
    rows = []
    for record in found.records:
        known = record.op in ruleset.ops and record.target in ruleset.targets
        rules = rules_digest(ruleset, record.op, record.target) if known else ""
        why = stale(record, rules, time.time()) if known or record.kind != RACE else "these rules do not have it"
        shape = " ".join(f"{name}={size}" for name, size in record.dims.items()) or str(record.key.get("bucket", ""))
        rows.append(
            (record.id[:8], record.op, record.target, str(record.key.get("dtype")), shape, record.outcome, record.winner or "-", _age(record), why or "counts")
        )
    if not rows:
        streams.say(f"nothing was measured yet; corpus {store.place}")
    else:
        streams.say(table(("id", "op", "target", "dtype", "shape", "outcome", "winner", "age", "state"), rows, right=()))
        streams.say(f"{len(rows)} records; corpus {store.place}")
    return _tell_bad(found.bad, store.place, streams)


def _age(record: Record) -> str:
    if not record.at:
        return "-"
    hours = (time.time() - record.at) / 3600
    return f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} d"


def _tell_bad(bad: Iterable[tuple[str, str]], place: str, streams: Streams) -> int:
    """Say which rows of a store are no records; 1 where there are such."""
    code = 0
    for name, reason in bad:
        streams.tell(f"{place}: row {name}: {reason}")
        code = 1
    return code


def _export(store: Store, words: Sequence[str], named: Sequence[str], options: argparse.Namespace, streams: Streams) -> int:
    from tessera_rules.corpus.record import write_lines

    if len(words) > 1:
        raise UsageError("tsr corpus export takes one file")
    found = store.read()
    text = write_lines(found.records)
    if words:
        _write(Path(words[0]), text)
        streams.tell(f"{len(found.records)} records written to {words[0]}")
    else:
        streams.stdout.write(text)
    return _tell_bad(found.bad, store.place, streams)


def _import(store: Store, words: Sequence[str], named: Sequence[str], options: argparse.Namespace, streams: Streams) -> int:
    if not words:
        raise UsageError("tsr corpus import needs a file", hint="an export (.jsonl), a corpus (.sqlite), or the tessera compiler's corpus (.json)")
    ruleset = load_rules(named, streams)
    ranks = {name: len(op.dims) for name, op in ruleset.ops.items()}
    records: list[Record] = []
    code, counts = 0, dict[str, int]()
    for name in words:
        found, problems, said = _records_of(name, ranks)
        records += found
        for problem in problems:
            streams.tell(f"{name}:{problem}")
            code = 1
        for kind, text in said:
            counts[kind] = counts.get(kind, 0) + 1
            streams.tell(f"{name}:{text}")
    added = store.add(records)  # everything was read and checked before the first is added (T30)
    if options.json:
        streams.give({"store": store.place, "read": len(records), "added": added, "suspicious": counts})
    else:
        streams.say(f"{len(records)} records read, {added} new; corpus {store.place}")
        if counts:
            streams.say("suspicious: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return code


def _records_of(name: str, ranks: dict[str, int]) -> tuple[list[Record], list[str], list[tuple[str, str]]]:
    """Return the records of a file of any kind, its problems as ``LINE: text``, and what is suspicious by kind."""
    from tessera_rules.corpus.record import read_lines
    from tessera_rules.corpus.store import Store
    from tessera_rules.corpus.tessera import is_tessera, read_tessera

    path = readable(name)
    raw = path.read_bytes()
    if raw.startswith(b"SQLite format 3\x00"):
        found = Store(str(path)).read()
        return list(found.records), [f" row {row}: {reason}" for row, reason in found.bad], []
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UsageError(f"'{name}' is no text: {problem}") from None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if is_tessera(document):
        records, suspicions, bad = read_tessera(document, ranks)
        return records, [f" row {row}: {reason}" for row, reason in bad], [(each.kind, f" row {each.row}: {each.kind}: {each.text}") for each in suspicions]
    good, lines = read_lines(text.splitlines())
    return good, [f"{number}: {reason}" for number, reason in lines], []


def _merge(store: Store, words: Sequence[str], named: Sequence[str], options: argparse.Namespace, streams: Streams) -> int:
    from tessera_rules.corpus.record import write_lines

    if not words:
        raise UsageError("tsr corpus merge needs files", hint="tsr corpus merge a.jsonl b.jsonl --out both.jsonl")
    records: list[Record] = []
    code = 0
    for name in words:
        found, problems, _ = _records_of(name, {})
        records += found
        for problem in problems:
            streams.tell(f"{name}:{problem}")
            code = 1
    text = write_lines(records)
    if options.out:
        _write(Path(options.out), text)
        streams.tell(f"{text.count(chr(10))} records written to {options.out}")
    else:
        streams.stdout.write(text)
    return code


def _prune(store: Store, words: Sequence[str], named: Sequence[str], options: argparse.Namespace, streams: Streams) -> int:
    from tessera_rules.corpus.key import rules_digest
    from tessera_rules.corpus.lookup import stale
    from tessera_rules.corpus.record import RACE

    ruleset = load_rules(named, streams)
    gone: list[tuple[Record, str]] = []
    for record in store.read(*words[:2]).records:
        if options.older_than is not None:
            days = (time.time() - record.at) / 86400
            why = f"{days:.0f} days old" if days > options.older_than else None
        elif record.kind != RACE or record.op not in ruleset.ops or record.target not in ruleset.targets:
            why = None  # what these rules do not know, other rules may
        else:
            why = stale(record, rules_digest(ruleset, record.op, record.target), time.time())
        if why is not None:
            gone.append((record, why))
    for record, why in gone:
        streams.say(f"{record.id[:8]} {record.op} {record.target} {' '.join(f'{name}={size}' for name, size in record.dims.items())}: {why}")
    if options.dry_run:
        streams.say(f"{len(gone)} records would go")
        return 0
    count = store.remove(record.id for record, _ in gone) if gone else 0
    streams.say(f"{count} records taken away; corpus {store.place}")
    return 0


def _audit(store: Store, words: Sequence[str], named: Sequence[str], options: argparse.Namespace, streams: Streams) -> int:
    from tessera_rules.bind.bindings import this_machine
    from tessera_rules.corpus.audit import audit

    ruleset = load_rules(named, streams)
    found = store.read(*words[:2])
    notes = list(audit(found.records, ruleset, this_machine(ruleset), time.time()))
    if options.json:
        rows: list[dict[str, Any]] = [
            {"id": each.record.id, "op": each.record.op, "target": each.record.target, "kind": each.kind, "text": each.text} for each in notes
        ]
        streams.give(
            {"store": store.place, "records": len(found.records), "notes": rows, "bad_rows": [{"id": name, "reason": reason} for name, reason in found.bad]}
        )
    else:
        for each in notes:
            record = each.record
            shape = " ".join(f"{name}={size}" for name, size in record.dims.items()) or str(record.key.get("bucket", ""))
            streams.say(f"{each.kind:<11} {record.id[:8]} {record.op} {record.target} {shape}: {each.text}")
        streams.say(f"{len(found.records)} records, {len(notes)} notes; corpus {store.place}")
    return max(_tell_bad(found.bad, store.place, streams), int(bool(notes)))


def _pin(store: Store, words: Sequence[str], named: Sequence[str], options: argparse.Namespace, streams: Streams) -> int:
    from tessera_rules.arbiter.decide import decide
    from tessera_rules.arbiter.request import bind_words
    from tessera_rules.bind.bindings import this_machine
    from tessera_rules.corpus.audit import words_of
    from tessera_rules.corpus.lookup import Corpus
    from tessera_rules.corpus.pins import write_pins
    from tessera_rules.corpus.record import RACE
    from tessera_rules.errors import TesseraError

    if len(words) != 1:
        raise UsageError("tsr corpus pin takes one file", hint="tsr corpus pin decisions.jsonl")
    ruleset = load_rules(named, streams)
    machine, corpus = this_machine(ruleset), Corpus(store.place)
    decisions, code = [], 0
    for record in store.read().records:
        if record.kind != RACE or record.op not in ruleset.ops or record.target not in ruleset.targets:
            continue
        try:
            request = bind_words(ruleset, record.op, record.target, words_of(record), machine)
            decisions.append(decide(ruleset, request, machine, measured=corpus.measured(ruleset, request, machine)))
        except TesseraError as problem:
            streams.tell(f"{record.id[:8]} {record.op} {record.target}: {problem.message}")
            code = 1
    text = write_pins(ruleset, decisions, strict=options.strict)
    _write(Path(words[0]), text)
    streams.say(f"{text.count(chr(10)) - 1} decisions written to {words[0]}; TSR_DECISIONS={words[0]} holds every process to them")
    return code


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


Action = Callable[["Store", Sequence[str], Sequence[str], argparse.Namespace, Streams], int]
ACTIONS: dict[str, Action] = {"show": _show, "export": _export, "import": _import, "merge": _merge, "prune": _prune, "pin": _pin, "audit": _audit}
