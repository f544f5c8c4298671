"""``tsr lint PATH…``: every finding with code, place, message and hint; many in one run, not the first only."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from tessera_rules.check.driver import all_checks, check_load, named_files
from tessera_rules.check.fix import Fixed, fix
from tessera_rules.cli.arguments import Parser, names_of, parser_for
from tessera_rules.cli.rules import named_paths, readable, rule_paths
from tessera_rules.cli.streams import Streams
from tessera_rules.diagnostic import CODES, Finding
from tessera_rules.errors import UsageError
from tessera_rules.model.load import Loaded, load
from tessera_rules.nearest import did_you_mean

SUMMARY = "every mistake in rule files, with its place, a hint and a page"
FORMATS = ("text", "json", "github", "sarif")


def parser() -> Parser:
    """Return what ``tsr lint`` takes."""
    made = parser_for("lint", SUMMARY, "a comment `# tsr: ignore[TSR401]` silences a code on its line")
    made.add_argument("words", nargs="*", metavar="PATH", help="files, or folders with all their *.tsr; default: as --rules")
    made.add_argument("--schema", metavar="FILE", help="a team's own demands: a JSON Schema over the rules as JSON")
    made.add_argument("--select", action="append", default=[], metavar="CODES", help="show only these: codes or their beginnings, by comma (TSR4,TSR508)")
    made.add_argument("--ignore", action="append", default=[], metavar="CODES", help="do not show these")
    made.add_argument("--fix", action="store_true", help="mend what has one right answer, then show the rest")
    made.add_argument("--format", choices=FORMATS, default=None, metavar=f"{{{','.join(FORMATS)}}}", help="default: text")
    made.add_argument("--explain", metavar="CODE", help="the page of one code")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Lint; 1 for an error or a warning, never for a note."""
    all_checks()
    if options.explain is not None:
        return _explain(options.explain, options.json, streams)
    if options.json and options.format not in (None, "json"):
        raise UsageError(f"--json and --format {options.format} ask for two things", hint="leave one out")
    chosen, hidden = _codes(options.select, "--select"), _codes(options.ignore, "--ignore")
    names = named_paths(options)
    paths = [str(readable(name)) for name in names] or [str(path) for path in rule_paths([]).paths]
    schema = _schema(options.schema)
    findings, loaded = _lint(paths, {}, schema)
    if options.fix:
        findings, loaded = _mend(paths, chosen, hidden, findings, loaded, schema, streams)
    shown = [finding for finding in findings if _wanted(finding.code, chosen, hidden)]
    _show(shown, len(loaded.files), "json" if options.json else options.format or "text", streams)
    return int(any(finding.severity != "note" for finding in shown))


def _lint(paths: Sequence[str], instead: Mapping[str, str], schema: Mapping[str, object] | None) -> tuple[tuple[Finding, ...], Loaded]:
    loaded = load(paths, instead=instead) if instead else load(paths)
    more = smokes(loaded)
    if schema is not None and not loaded.errors:
        from tessera_rules.report.schema import validate_against

        more = (*more, *validate_against(loaded.ruleset, schema))
    return check_load(loaded, named_files(loaded, paths), more=more), loaded


def smokes(loaded: Loaded) -> tuple[Finding, ...]:
    """Return what is wrong with the smoke probes of a load without errors."""
    if loaded.errors or not any(
        key.startswith("probe:smoke:") for each in loaded.ruleset.candidates.values() for clause in each.available for key in clause.reads
    ):
        return ()
    from tessera_rules.arbiter.smokes import smoke_findings

    return tuple(smoke_findings(loaded.ruleset))


def _schema(path: str | None) -> Mapping[str, object] | None:
    if path is None:
        return None
    from tessera_rules.report.schema import read_schema

    return read_schema(path)


def _mend(
    paths: Sequence[str],
    chosen: Sequence[str],
    hidden: Sequence[str],
    findings: tuple[Finding, ...],
    loaded: Loaded,
    schema: Mapping[str, object] | None,
    streams: Streams,
) -> tuple[tuple[Finding, ...], Loaded]:
    """Write what can be mended, each file whole or not at all, and return what is left."""
    from pathlib import Path

    from tessera_rules.cli.fmt import write_whole

    named = {file.source.path: file.source for file in named_files(loaded, paths) if file.source.path is not None}

    def again(texts: Mapping[str, str]) -> list[Finding]:
        found = _lint(paths, texts, schema)[0] if texts else findings
        return [finding for finding in found if finding.severity == "error" or _wanted(finding.code, chosen, hidden)]

    fixed = fix(again, named)
    for path, text in sorted(fixed.texts.items()):
        write_whole(Path(path), "\ufeff" + text if named[path].bom else text)
    _tell(fixed, streams)
    return _lint(paths, {}, schema) if fixed.texts else (findings, loaded)


def _tell(fixed: Fixed, streams: Streams) -> None:
    for path, count in sorted(fixed.mended.items()):
        streams.tell(f"mended {count} finding{'s' if count != 1 else ''} in {path}")
    for each in sorted(fixed.stuck, key=lambda stuck: stuck.path):
        streams.tell(f"left {each.path} as it was: {each.reason}")


def _show(findings: Sequence[Finding], files: int, form: str, streams: Streams) -> None:
    if form == "json":
        from tessera_rules.report.document import findings_document

        streams.give(findings_document(findings, files))
    elif form == "github":
        from tessera_rules.report.github import workflow_commands

        for line in workflow_commands(findings):
            streams.say(line)
    elif form == "sarif":
        from tessera_rules.report.sarif import sarif_document

        streams.give(sarif_document(findings))
    else:
        from tessera_rules.report.findings import render_report

        streams.say(render_report(findings, files, streams.paint(streams.stdout)))


def _codes(groups: Sequence[str], option: str) -> tuple[str, ...]:
    """Return codes and beginnings of codes; one that no code has is the caller's mistake."""
    names = names_of([groups])
    for name in names:
        if not name.startswith("TSR") or not any(code.startswith(name) for code in _known()):
            raise UsageError(f"{option} {name}: there is no such code", hint=did_you_mean(name, _known(), "code"))
    return names


def _known() -> list[str]:
    from tessera_rules.check.suppressions import ELSEWHERE, SOLVER

    return sorted({*CODES, *SOLVER, *ELSEWHERE})


def _wanted(code: str, chosen: Sequence[str], hidden: Sequence[str]) -> bool:
    return (not chosen or code.startswith(tuple(chosen))) and not code.startswith(tuple(hidden))


def _explain(code: str, json: bool, streams: Streams) -> int:
    import tessera_rules.analyze.codes  # declares what `tsr check` finds
    import tessera_rules.report.schema  # declares TSR190
    from tessera_rules.report.pages import page

    assert tessera_rules.analyze.codes
    assert tessera_rules.report.schema
    if code.upper() not in CODES:
        raise UsageError(f"there is no code '{code}'", hint=did_you_mean(code.upper(), sorted(CODES), "code"))
    found = CODES[code.upper()]
    if json:
        streams.give({"code": found.code, "title": found.title, "severity": found.severity, "page": page(found)})
    else:
        streams.stdout.write(page(found))
    return 0
