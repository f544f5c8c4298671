"""``tsr test PATH…``: the ``test`` blocks of rules, and what they leave untested."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.rules import load_rules, named_paths, rule_paths
from tessera_rules.cli.streams import Streams
from tessera_rules.model.load import rule_files
from tessera_rules.report.document import position
from tessera_rules.report.text import place, visible

if TYPE_CHECKING:
    from tessera_rules.testing import Coverage, TestReport

SUMMARY = "the test blocks of rules, with coverage of candidates, clauses and rules"


def parser() -> Parser:
    """Return what ``tsr test`` takes."""
    made = parser_for("test", SUMMARY)
    made.add_argument("words", nargs="*", metavar="PATH", help="rule files or folders; default: as --rules")
    made.add_argument("--missed", action="store_true", help="also list every candidate, clause and rule that no test covers")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Run the tests that stand in the named files; 1 where one does not pass."""
    from tessera_rules.testing import run_tests

    names = named_paths(options)
    ruleset = load_rules(names, streams)
    report = run_tests(ruleset, {os.path.realpath(file) for path in rule_paths(names).paths for file in rule_files(path)})
    if options.json:
        streams.give(document(report))
    else:
        _show(report, options.missed, streams)
    return int(report.failed > 0)


def document(report: TestReport) -> dict[str, Any]:
    """Return the answer of ``test --json``."""
    tests = []
    for outcome in report.outcomes:
        where = position(outcome.test.span)
        tests.append({"name": outcome.test.name, "file": where["file"], "line": where["line"], "outcome": outcome.outcome, "message": outcome.message})
    return {"tests": tests, "passed": report.passed, "failed": report.failed, "coverage": _coverage(report.coverage)}


def _coverage(coverage: Coverage) -> dict[str, Any]:
    clauses = [{"candidate": name, "clause": clause.text, **position(clause.span)} for name, clause in coverage.clauses_missed]
    return {
        "candidates": {
            "covered": len(coverage.candidates),
            "total": len(coverage.candidates) + len(coverage.candidates_missed),
            "missed": list(coverage.candidates_missed),
        },
        "clauses": {"covered": len(coverage.clauses), "total": len(coverage.clauses) + len(clauses), "missed": clauses},
        "rules": {"covered": len(coverage.rules), "total": len(coverage.rules) + len(coverage.rules_missed), "missed": list(coverage.rules_missed)},
    }


def _show(report: TestReport, missed: bool, streams: Streams) -> None:
    paint = streams.paint(streams.stdout)
    for outcome in report.outcomes:
        good = outcome.outcome == "passed"
        streams.say(f"{paint('good' if good else 'error', outcome.outcome)} {place(outcome.test.span)} {visible(outcome.test.name)}")
        for line in outcome.message.split("\n") if outcome.message else ():
            streams.say(f"    {visible(line)}")
    coverage = report.coverage
    if missed:
        for name in coverage.candidates_missed:
            streams.say(f"no test selects candidate {name}")
        for name, clause in coverage.clauses_missed:
            streams.say(f"{place(clause.span)}: no test of {name} turns on {visible(clause.text)}")
        for name in coverage.rules_missed:
            streams.say(f"in no test does rule {name} apply")
    parts = [
        f"{len(covered)} of {len(covered) + len(rest)} {what}"
        for what, covered, rest in (
            ("candidates", coverage.candidates, coverage.candidates_missed),
            ("clauses", coverage.clauses, coverage.clauses_missed),
            ("rules", coverage.rules, coverage.rules_missed),
        )
    ]
    streams.say(f"{paint('good' if not report.failed else 'error', f'{report.passed} passed, {report.failed} failed')}; covered: {', '.join(parts)}")
