"""What is raised: the caller's mistake, rules that do not hold together, a force that is refused.

An author's mistake in a file is a `Finding`; a candidate that does not qualify is a verdict. Both are values. Only what
ends a call is an exception.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tessera_rules.diagnostic import Finding
from tessera_rules.source import Span


class TesseraError(Exception):
    """Anything that this package raises on purpose.

    ``kind`` is the word of ``{"error": {"kind": …}}``; the other fields are what is known of the cause.
    """

    kind = "error"

    def __init__(
        self,
        message: str,
        *,
        candidate: str | None = None,
        clause: str | None = None,
        values: Mapping[str, Any] | None = None,
        span: Span | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message if hint is None else f"{message} ({hint})")
        self.message = message if hint is None else f"{message} ({hint})"
        self.candidate = candidate
        self.clause = clause
        self.values = dict(values or {})
        self.span = span

    def to_json(self) -> dict[str, Any]:
        """Return the fields of ``interface.md``'s error document."""
        return {
            "kind": self.kind,
            "message": self.message,
            "candidate": self.candidate,
            "clause": self.clause,
            "values": self.values,
            "file": self.span.source.name if self.span else None,
            "line": self.span.line if self.span else None,
        }


class UsageError(TesseraError):
    """The call itself cannot be answered: an unknown verb, a path that cannot be read, a word that is no ``k=v``."""

    kind = "usage"


class RuleError(TesseraError):
    """Rules with errors were asked to decide. ``findings`` holds every diagnostic."""

    kind = "rules"

    def __init__(self, findings: Sequence[Finding]) -> None:
        errors = [finding for finding in findings if finding.severity == "error"]
        first = errors[0] if errors else None
        place = f"{first.span.source.name}:{first.span.line}:{first.span.column}: {first.code} {first.message}" if first else "no error"
        if first is not None and first.hint is not None:
            place += f" ({first.hint})"
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__(f"the rules have {len(errors)} error{'s' if len(errors) != 1 else ''}: {place}{more}", span=first.span if first else None)
        self.findings = tuple(findings)


class OperandError(TesseraError):
    """The caller's request is not one of the op: a shape, a dtype, an attribute or a check does not hold."""

    kind = "operand"


class ArbiterError(TesseraError):
    """The decision cannot be given as asked: a forced candidate is refused, or nobody is left and that is an error."""

    kind = "arbiter"


class MissingExtraError(TesseraError):
    """A part needs an optional dependency that is not installed; the message names the extra."""

    kind = "extra"

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the extra [{extra}]: pip install 'tessera-rules[{extra}]'")
        self.extra = extra
