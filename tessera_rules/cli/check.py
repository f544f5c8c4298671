"""``tsr check PATH…``: everything that ``tsr lint`` finds, and what no test can show, with a request that shows it."""

from __future__ import annotations

import argparse

from tessera_rules.check.driver import all_checks, check_load, named_files
from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.lint import FORMATS, _codes, _show, _wanted, smokes
from tessera_rules.cli.rules import named_paths, readable, rule_paths
from tessera_rules.cli.streams import Streams
from tessera_rules.diagnostic import Finding
from tessera_rules.errors import UsageError
from tessera_rules.model.load import Loaded, load

SUMMARY = "what no test can show: what never holds, never wins, nobody serves, with a request for each"


def parser() -> Parser:
    """Return what ``tsr check`` takes."""
    made = parser_for("check", SUMMARY, "a comment `# tsr: ignore[TSR505]` silences a code on its line")
    made.add_argument("words", nargs="*", metavar="PATH", help="files, or folders with all their *.tsr; default: as --rules")
    made.add_argument("--machine", metavar="FILE", help="a stated machine (tsr probe --json): its devices and probes, and no others")
    made.add_argument("--select", action="append", default=[], metavar="CODES", help="show only these: codes or their beginnings, by comma (TSR5,TSR401)")
    made.add_argument("--ignore", action="append", default=[], metavar="CODES", help="do not show these")
    made.add_argument("--format", choices=FORMATS, default=None, metavar=f"{{{','.join(FORMATS)}}}", help="default: text")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Check; 1 for an error or a warning, never for a note."""
    all_checks()
    import tessera_rules.analyze.codes

    assert tessera_rules.analyze.codes
    if options.json and options.format not in (None, "json"):
        raise UsageError(f"--json and --format {options.format} ask for two things", hint="leave one out")
    chosen, hidden = _codes(options.select, "--select"), _codes(options.ignore, "--ignore")
    names = named_paths(options)
    paths = [str(readable(name)) for name in names] or [str(path) for path in rule_paths([]).paths]
    loaded = load(paths)
    named = named_files(loaded, paths)
    analysed = not loaded.errors
    more: list[Finding] = [*smokes(loaded), *(_analysis(loaded, paths, options.machine) if analysed else [])]
    findings = check_load(loaded, named, more=more, analysed=analysed)
    shown = [finding for finding in findings if _wanted(finding.code, chosen, hidden)]
    _show(shown, len(loaded.files), "json" if options.json else options.format or "text", streams)
    if not analysed:
        streams.tell("tsr check: rules with errors were linted only; once these are mended the analysis says more")
    return int(any(finding.severity != "note" for finding in shown))


def _analysis(loaded: Loaded, paths: list[str], machine: str | None) -> list[Finding]:
    from tessera_rules.analyze.ask import Asker
    from tessera_rules.analyze.driver import analyse
    from tessera_rules.analyze.solver import solver
    from tessera_rules.errors import TesseraError
    from tessera_rules.machine.stated import read_machine
    from tessera_rules.model.values import Ruleset, Test, TestRequest
    from tessera_rules.testing import decide_round, holds

    def passes(ruleset: Ruleset, test: Test, asked: TestRequest) -> bool:
        try:
            decision = decide_round(ruleset, test, asked)
        except TesseraError:
            return False
        return all(holds(expectation, decision) for expectation in asked.expectations)

    sources = {file.source for file in named_files(loaded, paths)}
    stated = None if machine is None else read_machine(readable(machine))
    return analyse(loaded.ruleset, stated, sources=sources, asker=Asker(solver()), passes=passes)
