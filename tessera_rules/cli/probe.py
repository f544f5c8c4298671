"""``tsr probe``: this machine, its devices, every probe and what it found. ``--json`` is a machine to state elsewhere."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.progress import Progress
from tessera_rules.cli.rules import named_rules, rule_paths
from tessera_rules.cli.streams import Streams

if TYPE_CHECKING:
    from tessera_rules.machine.survey import Survey

SUMMARY = "this machine: facts per target, every probe and what it found; --json > box.json is a machine to state elsewhere"


def parser() -> Parser:
    """Return what ``tsr probe`` takes."""
    return parser_for("probe", SUMMARY)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Ask everything, and show the answers."""
    from tessera_rules.machine.local import LocalMachine
    from tessera_rules.machine.survey import document, survey
    from tessera_rules.session import open_arbiter

    chosen = rule_paths(named_rules(options))
    arbiter = open_arbiter(chosen.paths, untrusted=chosen.untrusted)
    streams.tell_findings(finding for finding in arbiter.findings if finding.severity == "warning")
    progress = Progress(streams)
    assert isinstance(arbiter.machine, LocalMachine)
    with progress:
        found = survey(arbiter.machine, arbiter.ruleset, progress.say)
    if options.json:
        streams.give(document(found))
    else:
        _show(found, streams)
    return 0


def _show(found: Survey, streams: Streams) -> None:
    from tessera_rules.report.table import table

    paint = streams.paint(streams.stdout)
    streams.say(f"{paint('strong', 'machine')}  {found.os}, {found.threads} cores, fingerprint {found.fingerprint}")
    streams.say()
    streams.say(paint("strong", "targets"))
    for name, devices in found.devices.items():
        if isinstance(devices, str):
            streams.say(f"  {name}: {paint('warning', 'no device')}: {devices}")
            continue
        for index, facts in enumerate(devices):
            shown = "  ".join(f"{key}={value}" for key, value in facts.items())
            streams.say(f"  {name} {index}: {shown or 'always there'}")
    unbound = {name: answer for name, answer in found.bindings.items() if not answer.value}
    streams.say()
    streams.say(f"{paint('strong', 'bindings')}  {len(found.bindings) - len(unbound)} of {len(found.bindings)} bound")
    for name, answer in unbound.items():
        streams.say(f"  {name}: {paint('warning', 'unbound')}: {answer.found}")
    if found.probes:
        streams.say()
        streams.say(paint("strong", "probes"))
        rows = [(each.candidate, each.shown, _word(each.answer.value), each.answer.found) for each in found.probes]
        streams.say(table(("candidate", "probe", "answer", "found"), rows, right=()))
    if found.untrusted:
        streams.say()
        streams.say(f"not asked, since nobody named their rules: {', '.join(found.untrusted)}")


def _word(value: object) -> str:
    return {True: "yes", False: "no", None: "unset"}.get(value, str(value)) if isinstance(value, bool) or value is None else str(value)
