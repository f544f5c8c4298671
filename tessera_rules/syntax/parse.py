"""A source to its nodes and findings."""

from __future__ import annotations

import gc
import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager

from tessera_rules.diagnostic import Finding, Related, sort_key
from tessera_rules.nearest import nearest
from tessera_rules.source import Source, Span
from tessera_rules.syntax import codes, nodes
from tessera_rules.syntax.builder import EDITION, Builder, Edition
from tessera_rules.syntax.messages import DECLARATIONS
from tessera_rules.syntax.parser import Parser
from tessera_rules.syntax.read import check_text
from tessera_rules.syntax.recovery import Recovering

MAX_DECLARATIONS = 100_000

# The first word, or an empty place where something else stands first.
_FIRST_WORD = re.compile(r"(?:\s|#[^\n]*)*+(\w*)")
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|(#[^\n]*)')


def parse(source: Source) -> tuple[nodes.File, tuple[Finding, ...]]:
    """Parse a file. Never raises, whatever the text is; what is wrong with it is in the findings, sorted by place.

    A declaration with a mistake in it is there as ``damaged``, so that its name is known.

    >>> file, findings = parse(Source("a.tsr", "tessera 1\\npredicate tile = M % 16 == 0\\n"))
    >>> file.edition, file.items[0].text, findings
    (1, 'M % 16 == 0', ())
    """
    return _parse(source, whole=True)


def parse_items(source: Source) -> tuple[nodes.File, tuple[Finding, ...]]:
    """Parse declarations typed in: as `parse`, but an edition line is not needed.

    >>> parse_items(Source("<repl>", "predicate small = M <= 4"))[1]
    ()
    """
    return _parse(source, whole=False)


def parse_expression(source: Source) -> tuple[nodes.Expr | None, tuple[Finding, ...]]:
    """Parse one expression and nothing else; None where it is none.

    >>> parse_expression(Source("<text>", "1 <= M <= 64"))[0].operators
    ('<=', '<=')
    """
    findings = check_text(source)
    if any(finding.severity == "error" for finding in findings):
        return None, tuple(findings)
    builder = Builder(source)
    value = Parser(builder, "expr").run()
    builder.misplaced_tuples(0)
    if value is None and not builder.findings:
        builder.report(codes.UNEXPECTED.at(Span(source, 0, 0), "there is no expression here"))
    return (None if builder.findings else value), tuple(sorted([*findings, *builder.findings], key=sort_key))


def comments_of(source: Source) -> tuple[nodes.Comment, ...]:
    """Return every comment of a text, in order, with its hash and without its line's end."""
    if "#" not in source.text:
        return ()
    found = []
    for match in _COMMENT.finditer(source.text):
        if match[1] is not None:
            text = match[1].rstrip("\r")
            found.append(nodes.Comment(text, span=Span(source, match.start(1), match.start(1) + len(text))))
    return tuple(found)


def _parse(source: Source, *, whole: bool) -> tuple[nodes.File, tuple[Finding, ...]]:
    findings = check_text(source)
    if any(finding.severity == "error" for finding in findings):
        # These change what a reader sees: nothing after them is to be trusted, and the parser's words would be about the same cause.
        return nodes.File(source, None, (), (), ()), tuple(sorted(findings, key=sort_key))
    builder = Builder(source)
    with _no_collection(source):
        entries = Recovering(builder).run() or []
    findings += _first_of_each(builder.findings, entries)
    editions = [each for each in entries if isinstance(each, Edition)]
    if editions:
        findings += _edition_findings(entries, editions)
    elif whole:
        findings = _without_edition(source, findings)
    if builder.declarations > MAX_DECLARATIONS:
        findings.append(codes.TOO_MANY.at(Span(source, 0, 0), f"{builder.declarations:,} declarations, the limit is {MAX_DECLARATIONS:,}"))
    file = nodes.File(
        source,
        editions[0].number if editions else None,
        tuple(each for each in entries if isinstance(each, nodes.Use)),
        tuple(each for each in entries if isinstance(each, nodes.Declaration | nodes.Predicate | nodes.For)),
        comments_of(source),
        edition_span=editions[0].span if editions else None,
    )
    return file, tuple(sorted(findings, key=sort_key))


@contextmanager
def _no_collection(source: Source) -> Iterator[None]:
    """Hold the cycle collector off while a large text is parsed: nodes make no cycles, and walking them all again and again is not linear."""
    if len(source.text) < 100_000 or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _first_of_each(findings: list[Finding], entries: list[object]) -> list[Finding]:
    """Keep the first finding about a limit in each top-level declaration: a chain past it is past it at every further link."""
    kept: list[Finding] = []
    seen: set[tuple[str, int]] = set()
    starts = sorted(each.span.start for each in entries if isinstance(each, nodes.Declaration | nodes.Predicate | nodes.For))
    for finding in findings:
        if finding.code in (codes.TOO_DEEP.code, codes.TOO_LONG.code):
            key = finding.code, bisect_right(starts, finding.span.start)
            if key in seen:
                continue
            seen.add(key)
        kept.append(finding)
    return kept


def _without_edition(source: Source, findings: list[Finding]) -> list[Finding]:
    """Add that there is no edition line, once: a line that was meant for one and is spelt otherwise is the same mistake."""
    hint = "write `tessera 1` as the first line"
    match = _FIRST_WORD.match(source.text)
    assert match is not None
    start, end = match.span(1)
    word = source.text[start:end]
    line = source.text.find("\n", start) if "\n" in source.text[start:] else len(source.text)
    if word == "tessera" and any(start <= each.span.start <= line for each in findings):
        return findings  # the number is what is wrong with it, as reported
    if nearest(word, ("tessera", *DECLARATIONS)) in ("tessera", None) or (len(word) > 1 and "tessera".startswith(word)):
        kept = [each for each in findings if each.span.start != start]
        return [*kept, codes.NO_EDITION.at(Span(source, start, end), "the file has no edition line", hint=hint)]
    at = min(len(source.text) - len(source.text.lstrip()), len(source.text))
    return [*findings, codes.NO_EDITION.at(Span(source, at, at), "the file has no edition line", hint=hint)]


def _edition_findings(entries: list[object], editions: list[Edition]) -> list[Finding]:
    found: list[Finding] = []
    first = editions[0]
    if entries[0] is not first:
        found.append(codes.EDITION.at(first.span, "the edition stands first in the file", hint="move this line up"))
    if first.number != EDITION:
        found.append(
            codes.EDITION.at(
                first.span,
                f"edition {first.number} is not known to this version: it knows edition {EDITION}",
                hint="write `tessera 1`, or take a newer tessera-rules",
            )
        )
    for extra in editions[1:]:
        found.append(codes.EDITION.at(extra.span, "the edition stands exactly once", hint="delete this line", related=(Related(first.span, "the first one"),)))
    return found
