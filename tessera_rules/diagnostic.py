"""A finding: one thing that is wrong or doubtful in somebody's rules, as a value."""

from __future__ import annotations

from typing import Any, Literal

from attrs import field, frozen

from tessera_rules.source import Span

Severity = Literal["error", "warning", "note"]


@frozen
class Related:
    """A second place that a finding is about, such as where a name was declared first."""

    span: Span
    message: str


@frozen
class Edit:
    """One replacement of text that mends a finding; only findings with one right answer carry edits."""

    span: Span
    text: str


@frozen
class Finding:
    """What is wrong, where, what was expected, and a way on.

    ``code`` is stable (``TSR201``) and has a page; ``message`` shows the value; ``hint`` names the way on.
    """

    code: str
    message: str
    span: Span
    severity: Severity = "error"
    hint: str | None = None
    related: tuple[Related, ...] = ()
    edits: tuple[Edit, ...] = ()
    witness: dict[str, Any] | None = field(default=None, eq=False)

    @property
    def fixable(self) -> bool:
        """Whether ``tsr lint --fix`` can mend it."""
        return bool(self.edits)


def sort_key(finding: Finding) -> tuple[str, int, int, str, str]:
    """Order findings by file, place and code, the same in every run."""
    return finding.span.source.name, finding.span.start, finding.span.end, finding.code, finding.message


@frozen
class Code:
    """One kind of finding, declared beside the check that reports it.

    ``text`` is its page and its ``tsr lint --explain``: first what is wrong, then why it matters, then the way on, in
    Markdown. Two golden files show it: ``tests/golden/lint/<code>/flagged.tsr`` and ``clean.tsr``.
    """

    code: str
    title: str
    text: str
    severity: Severity = "error"

    def __attrs_post_init__(self) -> None:
        if self.code in CODES:
            raise ValueError(f"{self.code} is declared twice")
        CODES[self.code] = self

    def at(
        self,
        span: Span,
        message: str,
        *,
        hint: str | None = None,
        related: tuple[Related, ...] = (),
        edits: tuple[Edit, ...] = (),
        witness: dict[str, Any] | None = None,
        severity: Severity | None = None,
    ) -> Finding:
        """Return a finding of this kind at a place."""
        return Finding(self.code, message, span, severity or self.severity, hint, related, edits, witness)


CODES: dict[str, Code] = {}
"""Every code that has been declared by the modules imported so far; `tessera_rules.check` imports them all."""
