"""One cause, one finding: which findings only say again what another has said.

What a syntax error made unreadable is not there for the rest of the load: the operands of an op, half a line, a loop that never
ends. Whoever asks for it would be told that it is missing, which is true and no help.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tessera_rules.diagnostic import Finding
from tessera_rules.source import Span
from tessera_rules.syntax import nodes
from tessera_rules.syntax.messages import FIELD_WORD

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ELSEWHERE = ("TSR201", "TSR202", "TSR203", "TSR204", "TSR210", "TSR308", "TSR322")
"""Codes of names that another file may declare."""
# Names that declarations bring, and names that an op or a target brings.
_USE = re.compile(r"\s*use\b")
_DECLARED = {"op": "TSR202", "target": "TSR203", "candidate": "TSR204"}
_NAMELESS = re.compile(r"\s*(op|target|candidate)\s*[^\w\s{]*\s*\{")
_INSIDE = ("TSR201", "TSR205", "TSR209", "TSR212", "TSR213", "TSR316", "TSR318")
_BLOCK_END = re.compile(r"\n\}")
_OPEN_BLOCK = ("TSR002", "TSR021")


def words_lost(items: Iterable[nodes.Declaration]) -> frozenset[str]:
    """Return the words of damaged ops and targets: a name among them was most likely declared where it could not be read."""
    return frozenset(word for each in items if each.damaged and each.kind in ("op", "target") for word in _WORD.findall(each.span.text))


def without_echoes(found: list[Finding], lost: frozenset[str]) -> Iterator[Finding]:
    """Return the findings that are causes; ``lost`` are the words of what could not be read."""
    errors = [each for each in found if each.severity == "error"]
    syntax = [each for each in errors if each.code.startswith("TSR0")]
    lines = {(each.span.source, each.span.line) for each in syntax}
    headless = {word for each in syntax for word in _WORD.findall(each.span.source.line_text(each.span.line))}
    heads = [_NAMELESS.match(each.span.source.line_text(each.span.line)) for each in syntax]
    nameless = {_DECLARED[head[1]] for head in heads if head is not None}
    astray = [each.span for each in syntax if each.code == "TSR001" and FIELD_WORD.fullmatch(each.span.text)]
    lost |= {word for span in astray for word in _WORD.findall(_BLOCK_END.split(span.source.text[span.start :], 1)[0])}
    beheaded = {id(_last_before(span, found)) for span in astray}
    inside: dict[object, list[int]] = {}
    for each in syntax:
        inside.setdefault(each.span.source, []).append(each.span.start)
    crowded = any(each.code == "TSR017" for each in found)  # more declarations than a load may have, counted twice
    unclosed = {each.span.source for each in syntax if each.code in _OPEN_BLOCK}
    other = {(each.span.source, each.span.line) for each in errors if each.code != "TSR106" and not _second_text(each)}
    unread = any(_USE.match(each.span.source.line_text(each.span.line)) for each in syntax)
    for each in found:
        span = each.span
        if each.code.startswith("TSR0"):
            yield each
        elif (span.source, span.line) in lines or (crowded and each.code == "TSR317"):
            continue  # what was made of half a line
        elif "\n" in span.text and any(span.start <= at < span.end for at in inside.get(span.source, ())):
            continue  # what was made of an expression over several lines, one of them wrong
        elif (unread and each.code in ELSEWHERE) or each.code in nameless or (each.code in _DECLARED.values() and span.text in headless):
            continue  # declared, most likely, where its name could not be read
        elif id(each) in beheaded:
            continue  # the field stands behind a `}` too many
        elif each.code in _INSIDE and span.text.rsplit(".", 1)[-1] in lost:
            continue
        elif each.code == "TSR301" and span.source in unclosed and each.related and each.related[0].span == span:
            continue  # all that follows a `for` without an end, declared in each of its rounds
        elif (each.code == "TSR106" and span.text.startswith('"') and (span.source, span.line) in other) or _second_text(each):
            continue  # a text whose own keyword is missing or misspelt
        else:
            yield each


def _last_before(span: Span, found: list[Finding]) -> Finding | None:
    """Return what the last declaration before a place lacks."""
    before = [each for each in found if each.code == "TSR102" and each.span.source is span.source and each.span.start < span.start]
    return max(before, key=lambda each: each.span.start, default=None)


def _second_text(finding: Finding) -> bool:
    return finding.code == "TSR103" and finding.span.text.startswith('"')
