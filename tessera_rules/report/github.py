"""Findings as GitHub workflow commands, which become annotations on a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tessera_rules.diagnostic import Finding

_WORDS = {"error": "error", "warning": "warning", "note": "notice"}


def workflow_commands(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield one ``::error file=…::message`` a finding.

    >>> from tessera_rules.source import Source, Span
    >>> print(*workflow_commands([Finding("TSR003", "100% wrong", Span(Source("a,b.tsr", "oops"), 0, 4), hint="mend it")]))
    ::error file=a%2Cb.tsr,line=1,col=1,endLine=1,endColumn=5,title=TSR003::100%25 wrong (mend it)
    """
    for finding in findings:
        span = finding.span
        fields = {
            "file": span.source.name,
            "line": str(span.line),
            "col": str(span.column),
            "endLine": str(span.end_line),
            "endColumn": str(span.end_column),
            "title": finding.code,
        }
        if span.end_line != span.line:
            del fields["col"], fields["endColumn"]  # columns on several lines are refused
        message = finding.message if finding.hint is None else f"{finding.message} ({finding.hint})"
        for related in finding.related:
            message += f"\n{related.span.source.name}:{related.span.line}: {related.message}"
        listed = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
        yield f"::{_WORDS[finding.severity]} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
