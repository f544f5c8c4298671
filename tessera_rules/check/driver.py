"""The one driver of all checks: finds them, shows each what it looks at, and makes findings of what they yield."""

from __future__ import annotations

import gc
import os
import pkgutil
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tessera_rules.check.registry import CHECKS, Check, Mark
from tessera_rules.check.subjects import Load, Member, Where, conditions
from tessera_rules.check.suppressions import ELSEWHERE, SOLVER, silence
from tessera_rules.check.walk import walk
from tessera_rules.diagnostic import Finding, sort_key
from tessera_rules.model.load import Loaded, rule_files
from tessera_rules.source import Source
from tessera_rules.syntax import nodes

INCOMPLETE = ("TSR0", "TSR1", "TSR302", "TSR303", "TSR216", "TSR311", "TSR317")
"""Errors after which nothing is concluded from what is not there."""

MENDS = "tsr lint --fix mends it"


@cache
def all_checks() -> tuple[Check, ...]:
    """Return every check of this room: importing its modules declares them."""
    import tessera_rules.check as room

    for module in sorted(found.name for found in pkgutil.iter_modules(room.__path__)):
        import_module(f"tessera_rules.check.{module}")
    return tuple(CHECKS)


def named_files(loaded: Loaded, paths: Iterable[str | Path]) -> tuple[nodes.File, ...]:
    """Return the files of a load that these paths name; those that are only used are left to whoever lints them."""
    named = {os.path.realpath(file) for path in paths for file in rule_files(Path(path))}
    return tuple(file for file in loaded.files if file.source.path is None or os.path.realpath(file.source.path) in named)


def check_load(
    loaded: Loaded, named: Sequence[nodes.File] | None = None, *, more: Iterable[Finding] = (), analysed: bool = False, checks: Sequence[Check] | None = None
) -> tuple[Finding, ...]:
    """Return every finding of a load: syntax and model, all checks on the named files, less what is suppressed; sorted.

    ``more`` are findings from elsewhere (a team's schema, the analysis) that suppressions may silence as well; with
    ``analysed`` the codes of ``tsr check`` count as looked for.
    """
    files = loaded.files if named is None else tuple(named)
    load = Load(loaded, files)
    built = loaded.findings
    with _no_collection(sum(len(file.source.text) for file in files)):
        found = [*built, *_relevant(_run(load, all_checks() if checks is None else checks), built), *more]
    unread = ELSEWHERE if analysed else ELSEWHERE | SOLVER
    kept = silence(_once(found), files, not_run=unread)
    return tuple(sorted(_once(kept), key=sort_key))


@contextmanager
def _no_collection(characters: int) -> Iterator[None]:
    """Hold the cycle collector off over a large load: it would walk all nodes and terms again and again, which is not linear."""
    if characters < 100_000 or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _once(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings sorted, one of each code at a place: members of a family say the same."""
    seen: set[tuple[str, int, int, str]] = set()
    kept = []
    for finding in sorted(findings, key=sort_key):
        key = (finding.code, id(finding.span.source), finding.span.start, finding.message if finding.code.startswith("TSR5") else "")
        if key not in seen:
            seen.add(key)
            kept.append(finding)
    return kept


def _run(load: Load, checks: Sequence[Check]) -> Iterator[tuple[Check, Finding]]:
    """Yield what each check finds in the named files."""
    whole = not any(finding.severity == "error" and finding.code.startswith(INCOMPLETE) for finding in load.loaded.findings)
    table: dict[type, tuple[Check, ...]] = {}
    sources = {file.source for file in load.named}
    for thing, where in _things(load):
        kind = type(thing)
        running = table.get(kind)
        if running is None:
            running = table[kind] = tuple(each for each in checks if isinstance(thing, each.over) and (whole or not each.whole))
        for each in running:
            for mark in each.run(thing, where):
                if mark.span.source in sources:
                    yield each, _finding(each, mark)


def _things(load: Load) -> Iterator[tuple[Any, Any]]:
    for file in load.named:
        if file.edition is None and not file.items:
            continue  # no rules at all: binary, not UTF-8, or not to be trusted; one finding says so
        yield file.source, Where(load, file)
        yield from walk(file, load)
    for each in conditions(load.ruleset):
        yield each, load
    for candidate in load.ruleset.candidates.values():
        yield Member(candidate, load.ruleset.ops.get(candidate.op)), load
    for rule in load.ruleset.rules:
        yield rule, load
    yield load, load


def _finding(each: Check, mark: Mark) -> Finding:
    return each.code.at(
        mark.span, mark.message, hint=mark.hint or (MENDS if mark.edits else None), related=mark.related, edits=mark.edits, severity=mark.severity
    )


def _relevant(found: Iterable[tuple[Check, Finding]], reported: Collection[Finding]) -> list[Finding]:
    """Return what checks found, less what an error or a better finding already says of the same place."""
    pairs = list(found)
    errors = _Places(finding for finding in reported if finding.severity == "error")
    better: dict[str, _Places] = {}
    for code in {code for each, _ in pairs for code in each.unless}:
        better[code] = _Places(finding for finding in (*reported, *(finding for _, finding in pairs)) if finding.code == code)
    return [finding for each, finding in pairs if not errors.meet(finding) and not any(better[code].meet(finding) for code in each.unless)]


class _Places:
    """Spans by source, to ask whether one of them overlaps a finding's."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.spans: dict[Source, list[tuple[int, int]]] = {}
        for finding in findings:
            self.spans.setdefault(finding.span.source, []).append((finding.span.start, max(finding.span.end, finding.span.start + 1)))
        self.longest = {source: max(end - start for start, end in spans) for source, spans in self.spans.items()}
        for spans in self.spans.values():
            spans.sort()

    def meet(self, finding: Finding) -> bool:
        """Whether one of the spans overlaps a finding's."""
        spans = self.spans.get(finding.span.source)
        if spans is None:
            return False
        start, end = finding.span.start, max(finding.span.end, finding.span.start + 1)
        at = bisect_left(spans, (start - self.longest[finding.span.source], 0))
        while at < len(spans) and spans[at][0] < end:
            if spans[at][1] > start:
                return True
            at += 1
        return False
