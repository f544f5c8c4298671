"""``tsr compile --emit json``: a load as one document that other programs read."""

from __future__ import annotations

import argparse

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.rules import load_rules, named_paths
from tessera_rules.cli.streams import Streams

SUMMARY = "the canonical JSON of a load"


def parser() -> Parser:
    """Return what ``tsr compile`` takes."""
    made = parser_for("compile", SUMMARY)
    made.add_argument("words", nargs="*", metavar="PATH", help="rule files or folders; default: as --rules")
    made.add_argument("--emit", choices=["json"], default="json", metavar="{json}", help="what to write")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Write the canonical JSON (which ``--json`` asks for too)."""
    from tessera_rules.report.canonical import canonical

    ruleset = load_rules(named_paths(options), streams)
    streams.give(canonical(ruleset).document, sort_keys=True)
    return 0
