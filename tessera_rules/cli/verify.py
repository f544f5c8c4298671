"""``tsr verify [OP] [TARGET]``: proofs made ahead, and written to a file that other machines of this kind can bring along."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.progress import Progress
from tessera_rules.cli.rules import asked_rules, rule_paths
from tessera_rules.cli.streams import Streams
from tessera_rules.errors import UsageError
from tessera_rules.nearest import did_you_mean

if TYPE_CHECKING:
    from tessera_rules.model.request import Request
    from tessera_rules.oracle.ahead import Proved
    from tessera_rules.session import Arbiter

SUMMARY = "prove every candidate that can run here ahead of its first use: verified, or what is wrong and where"


def parser() -> Parser:
    """Return what ``tsr verify`` takes."""
    made = parser_for(
        "verify",
        SUMMARY,
        "example: tsr verify matmul x86 --out proofs.jsonl\n"
        "TSR_PROOFS=proofs.jsonl takes them along; with `policy { verify ahead }` nothing is proved in a serving process",
    )
    made.add_argument("words", nargs="*", metavar="OP TARGET", help="candidates of one op, on one target; default: all")
    made.add_argument("--shapes", metavar="FILE", help="prove these requests: a line each, as for tsr eval (OP TARGET NAME=VALUE …)")
    made.add_argument("--out", metavar="FILE", help="write the proofs here, one JSON line each")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Prove; 1 where somebody is wrong, crashed or mistrusted, 0 otherwise."""
    from tessera_rules.machine.local import LocalMachine
    from tessera_rules.oracle.ahead import verify_all
    from tessera_rules.oracle.proof import REFUTING
    from tessera_rules.oracle.store import write_file
    from tessera_rules.session import open_arbiter

    words, named = asked_rules(options, 2)
    chosen = rule_paths(named)
    arbiter = open_arbiter(chosen.paths, untrusted=chosen.untrusted)
    streams.tell_findings(finding for finding in arbiter.findings if finding.severity == "warning")
    op, target = _named(words, arbiter)
    machine = arbiter.machine
    assert isinstance(machine, LocalMachine)
    listed = _listed(Path(options.shapes), arbiter) if options.shapes else []
    candidates = [
        each
        for each in arbiter.ruleset.candidates.values()
        if op in (None, each.op) and target in (None, each.target) and each.name not in arbiter.ruleset.untrusted
    ]
    found: list[Proved] = []
    progress = Progress(streams)
    with progress:
        for each in verify_all(arbiter.ruleset, machine, arbiter.proofs.ledger, candidates, listed, progress.say):
            found.append(each)
            if not options.json:
                _show(each, streams)
    written = write_file(Path(options.out), (each.record for each in found if each.record is not None)) if options.out else 0
    if options.json:
        streams.give({"kind": "verify", "proofs": [_document(each) for each in found]})
    else:
        count = sum(each.proof.outcome == "verified" for each in found)
        where = f"; {written} written to {options.out}" if written else ""
        streams.say(f"{count} of {len(found)} verified, {sum(each.known for each in found)} known before{where}")
    return int(any(each.proof.outcome in REFUTING for each in found))


def _named(words: list[str], arbiter: Arbiter) -> tuple[str | None, str | None]:
    if len(words) > 2:
        raise UsageError(f"tsr verify takes an op and a target, and '{words[2]}' is a third word", hint="tsr verify --help")
    op = target = None
    for word in words:
        if word in arbiter.ruleset.ops and op is None:
            op = word
        elif word in arbiter.ruleset.targets and target is None:
            target = word
        else:
            known = [*arbiter.ruleset.ops, *arbiter.ruleset.targets]
            raise UsageError(f"'{word}' is no op and no target of these rules", hint=did_you_mean(word, known, "name"))
    return op, target


def _listed(path: Path, arbiter: Arbiter) -> list[Request]:
    """Return the requests of a file. Raises `UsageError` with the line that is none."""
    from tessera_rules.arbiter.request import bind_words
    from tessera_rules.errors import TesseraError

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as problem:
        raise UsageError(f"'{path}' cannot be read: {problem}", hint="a line each: matmul x86 M=64 N=64 K=64 dtype=f32") from None
    found = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        plain = [word for word in words if "=" not in word]
        if len(plain) != 2:
            raise UsageError(f"{path}:{number}: a request is OP TARGET NAME=VALUE …, and this line has {len(plain)} words without '='")
        try:
            found.append(bind_words(arbiter.ruleset, plain[0], plain[1], dict(word.split("=", 1) for word in words if "=" in word), arbiter.machine))
        except TesseraError as problem:
            raise UsageError(f"{path}:{number}: {problem.message}") from None
    return found


def _show(each: Proved, streams: Streams) -> None:
    from tessera_rules.oracle.proof import REFUTING

    paint = streams.paint(streams.stdout)
    outcome = each.proof.outcome if each.request is not None else "not here"
    word = paint("error", outcome) if outcome in REFUTING else outcome
    about = "" if each.request is None else f" {each.request.dtype or ''} {' '.join(f'{name}={size}' for name, size in each.request.dims.items())}"
    why = "" if outcome == "verified" else f": {each.proof.reason}"
    streams.say(f"{word:<11}{each.candidate.name}{about}{' (known)' if each.known else ''}{why}")
    for note in each.proof.notes:
        streams.say(f"           {note}")


def _document(each: Proved) -> dict[str, Any]:
    found: dict[str, Any] = {"candidate": each.candidate.name, "op": each.candidate.op, "target": each.candidate.target, "here": each.request is not None}
    if each.request is not None:
        found |= {"dtype": each.request.dtype, "dims": dict(each.request.dims), "known": each.known}
    return found | each.proof.to_json()
