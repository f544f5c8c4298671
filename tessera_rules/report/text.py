"""Findings as text for a terminal: the place, the message, the line with a mark under it, the hint."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from attrs import frozen

from tessera_rules.diagnostic import Finding
from tessera_rules.source import Span

EXCERPT_COLUMNS = 120
"""Longest piece of a source line that is shown; a longer line is cut around the place."""

_COLOURS = {"error": "31", "warning": "33", "note": "36", "good": "32", "dim": "2", "strong": "1"}


@frozen
class Paint:
    """Puts words in colours, or leaves them alone.

    >>> Paint(False)("error", "refused"), Paint(True)("error", "refused")
    ('refused', '\\x1b[31mrefused\\x1b[0m')
    """

    colour: bool = False

    def __call__(self, role: str, text: str) -> str:
        """Return ``text`` as its role (``error warning note good dim strong``) is shown."""
        return f"\x1b[{_COLOURS[role]}m{text}\x1b[0m" if self.colour and text else text


def visible(text: str) -> str:
    r"""Return text with what a terminal would obey or hide written out; a tab becomes one space.

    >>> visible("a\u202eb\x07")
    'a\\u{202E}b\\u{7}'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char in "\t\u00a0" else f"\\u{{{ord(char):X}}}" for char in text)


def place(span: Span) -> str:
    """Return ``file:line:column`` of a span."""
    return f"{visible(span.source.name)}:{span.line}:{span.column}"


def render_finding(finding: Finding, paint: Paint = Paint()) -> str:
    """Return a finding as several lines, without a last newline.

    >>> from tessera_rules.source import Source
    >>> source = Source("a.tsr", "tessera 1\\nopp x {}\\n")
    >>> print(render_finding(Finding("TSR003", "unknown declaration 'opp'", Span(source, 10, 13), hint="did you mean 'op'?")))
    a.tsr:2:1: error TSR003: unknown declaration 'opp'
        2 | opp x {}
          | ^^^
          = hint: did you mean 'op'?
    """
    lines = [f"{paint('strong', place(finding.span) + ':')} {paint(finding.severity, finding.severity)} {finding.code}: {_indented(finding.message)}"]
    lines += _excerpt(finding.span, paint, finding.severity)
    for related in finding.related:
        lines.append(f"      {paint('dim', '=')} {place(related.span)}: {_indented(related.message)}")
        lines += _excerpt(related.span, paint, "note")
    if finding.hint:
        lines.append(f"      {paint('dim', '=')} hint: {_indented(finding.hint)}")
    return "\n".join(lines)


def render_findings(findings: Iterable[Finding], paint: Paint = Paint()) -> str:
    """Return findings one under the other, and a last line that counts them."""
    shown = list(findings)
    return "\n".join([*(render_finding(finding, paint) for finding in shown), count_findings(shown)])


def count_findings(findings: Iterable[Finding]) -> str:
    """Return how many findings of each severity there are, in words.

    >>> count_findings([])
    'no findings'
    """
    severities = [finding.severity for finding in findings]
    parts = [f"{count} {word}{'s' if count != 1 else ''}" for word in ("error", "warning", "note") if (count := severities.count(word))]
    return ", ".join(parts) or "no findings"


def _indented(message: str) -> str:
    return "\n          ".join(visible(line) for line in message.split("\n"))


def _excerpt(span: Span, paint: Paint, role: str) -> list[str]:
    line, column = span.line, span.column
    text = span.source.line_text(line)
    if not text.strip():
        return []
    end = span.end_column - 1 if span.end_line == line else len(text)
    start = column - 1
    first = max(0, start - EXCERPT_COLUMNS // 3) if len(text) > EXCERPT_COLUMNS else 0
    last = min(len(text), first + EXCERPT_COLUMNS)
    before, marked, after = visible(text[first:start]), visible(text[start : min(end, last)]), visible(text[min(end, last) : last])
    cut_left, cut_right = "…" if first else "", "…" if last < len(text) else ""
    marks = " " * (_columns(cut_left) + _columns(before)) + "^" * max(1, _columns(marked))
    gutter = paint("dim", "|")
    return [f"{line:>5} {gutter} {cut_left}{before}{marked}{after}{cut_right}", f"      {gutter} {paint(role, marks)}"]


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
