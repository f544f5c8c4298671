"""What became of a decision when it was carried out: who made the result, and who did not deliver on the way."""

from __future__ import annotations

from attrs import frozen

from tessera_rules.arbiter.decision import Decision


@frozen(eq=False)
class Degraded:
    """A selected candidate that did not deliver: who, the verdict's word, and why."""

    candidate: str
    verdict: str
    reason: str

    def to_json(self) -> dict[str, str]:
        """Return it as documents have it."""
        return {"candidate": self.candidate, "verdict": self.verdict, "reason": self.reason}


@frozen(eq=False)
class Execution:
    """Who made a result. ``tag`` is the candidate's name or ``reference``, never one for the other."""

    candidate: str | None
    tag: str
    decision: Decision
    degraded: tuple[Degraded, ...] = ()
    proof: str = "unverified"
    max_error: float | None = None
    budget: float | None = None
