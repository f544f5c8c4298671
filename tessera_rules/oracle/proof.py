"""What a proof came to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import frozen

Outcome = Literal["verified", "wrong", "declined", "failed", "crashed", "mistrusted"]
OUTCOMES: tuple[Outcome, ...] = ("verified", "wrong", "declined", "failed", "crashed", "mistrusted")
REFUTING = frozenset(("wrong", "crashed", "mistrusted"))
"""Outcomes that say the candidate is not to be used, whatever else is known of it."""


@frozen
class Proof:
    """What the oracle found. ``outcome`` is a verdict word, or ``verified``; ``max_error`` and ``budget`` are of the worst element.

    ``probe`` names the inputs that decided, ``seed`` makes them again, ``probes`` counts what was run, ``notes`` say what a
    reader of a verified candidate might want to know: a budget that is wider than it has to be, a shape that was declined.
    """

    outcome: Outcome
    reason: str
    max_error: float | None = None
    budget: float | None = None
    signal: str | None = None
    probe: str | None = None
    seed: int | None = None
    probes: int = 0
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as a record has it: what is not known is left out."""
        found: dict[str, Any] = {"outcome": self.outcome, "reason": self.reason, "probes": self.probes}
        optional = {"max_error": self.max_error, "budget": self.budget, "signal": self.signal, "probe": self.probe, "seed": self.seed}
        found |= {name: value for name, value in optional.items() if value is not None}
        return found | ({"notes": list(self.notes)} if self.notes else {})

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> Proof:
        """Return what `to_json` gave. Raises `ValueError`, `KeyError` or `TypeError` for anything else."""
        outcome = document["outcome"]
        if outcome not in OUTCOMES:
            raise ValueError(f"'{outcome}' is no outcome of a proof")
        numbers = {name: None if document.get(name) is None else float(document[name]) for name in ("max_error", "budget")}
        words = {name: None if document.get(name) is None else str(document[name]) for name in ("signal", "probe")}
        seed = document.get("seed")
        return Proof(
            outcome,
            str(document["reason"]),
            numbers["max_error"],
            numbers["budget"],
            words["signal"],
            words["probe"],
            None if seed is None else int(seed),
            int(document.get("probes", 0)),
            tuple(map(str, document.get("notes", ()))),
        )
