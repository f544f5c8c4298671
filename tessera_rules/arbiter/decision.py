"""A decision: who runs, one verdict for every registered candidate, and what would decide what is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import field, frozen

from tessera_rules.model.request import Request
from tessera_rules.model.words import VerdictWord
from tessera_rules.source import Span

Proof = Literal["verified", "unverified", "mistrusted", "misdeclared"]


@frozen(eq=False)
class Verdict:
    """What the arbitration found of one candidate, with the evidence for it.

    ``code`` is stable: for ``refused`` one of ``requires binding closed_world precision workspace promise``, for others the
    verdict's own word or a finer one. ``values`` holds each name in the clause that has a value. ``extra`` holds what a
    verdict of its kind needs besides (``rule``; ``by``, ``criterion``; ``probe``, ``found``; ``to``; ``max_error`` …).
    """

    candidate: str
    tier: str
    verdict: VerdictWord
    code: str
    reason: str
    clause: str | None = None
    because: str | None = None
    values: Mapping[str, Any] = field(factory=dict)
    span: Span | None = None
    proof: Proof = "unverified"
    extra: Mapping[str, Any] = field(factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as ``eval --json`` prints it."""
        return {
            "candidate": self.candidate,
            "tier": self.tier,
            "verdict": self.verdict,
            "code": self.code,
            "reason": self.reason,
            "clause": self.clause,
            "because": self.because,
            "values": dict(self.values),
            "file": self.span.source.name if self.span else None,
            "line": self.span.line if self.span else None,
            "column": self.span.column if self.span else None,
            "proof": self.proof,
            **self.extra,
        }


@frozen(eq=False)
class Residual:
    """One condition that is open: of which candidate, the text, and the names whose values would decide it."""

    candidate: str
    condition: str
    needs: tuple[str, ...]
    span: Span | None

    def to_json(self) -> dict[str, Any]:
        """Return the condition as ``eval --json`` prints it."""
        return {
            "candidate": self.candidate,
            "condition": self.condition,
            "needs": list(self.needs),
            "file": self.span.source.name if self.span else None,
            "line": self.span.line if self.span else None,
            "column": self.span.column if self.span else None,
        }


@frozen(eq=False)
class Decision:
    """The answer to one request.

    ``winner`` is a candidate's name or None; ``tag`` is the winner's name, ``reference`` or ``undecided``; ``criterion`` is
    the one that decided: ``only force rules measured avoid tier cost declaration empty none`` (or ``undecided``).
    ``ranking`` names the candidates in the race, best first. ``notes`` holds what was reported on the way (an error in
    ``avoid``, an override that had no effect).
    """

    request: Request
    winner: str | None
    tag: str
    criterion: str
    verdicts: tuple[Verdict, ...]
    residual: tuple[Residual, ...] = ()
    ranking: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def explain(self) -> str:
        """Return who runs and why, each of the others with its reason and place, and what is open, as text."""
        from tessera_rules.arbiter.explanation import explain

        return explain(self)
