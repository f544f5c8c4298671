"""Decisions shown: as text with colours for a person, as a document for a program."""

from __future__ import annotations

from typing import Any

from tessera_rules.arbiter import explanation
from tessera_rules.arbiter.decision import Decision, Verdict
from tessera_rules.report.document import decision_document
from tessera_rules.report.text import Paint, visible


def explain(decision: Decision, paint: Paint = Paint(), *, holds_for: str | None = None) -> str:
    """Return who runs and why, each of the others with its reason and place, and what is open; several lines, without a last newline."""
    return explanation.explain(decision, holds_for, lambda role, text: paint(role, "\n".join(map(visible, text.split("\n")))))


def to_json(decision: Decision, holds_for: str | None = None) -> dict[str, Any]:
    """Return the decision as ``eval --json`` prints it."""
    return decision_document(decision, holds_for)


def explain_verdict(verdict: Verdict, paint: Paint = Paint()) -> str:
    """Return one verdict with its reason, values and place."""
    return explanation.explain_verdict(verdict, lambda role, text: paint(role, "\n".join(map(visible, text.split("\n")))))
