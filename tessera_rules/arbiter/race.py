"""Who is in the race. Deciding, measuring and consulting the corpus all ask here, and nowhere else."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from tessera_rules.arbiter import reasons
from tessera_rules.arbiter.decision import Verdict
from tessera_rules.arbiter.gates import GATES
from tessera_rules.arbiter.reasons import Open
from tessera_rules.arbiter.situation import Situation
from tessera_rules.errors import TesseraError
from tessera_rules.model.values import Candidate


@frozen(eq=False)
class Entry:
    """One candidate and how it stands: with a verdict it is out; with open conditions nobody can tell yet."""

    candidate: Candidate
    verdict: Verdict | None
    open: tuple[Open, ...] = ()

    @property
    def state(self) -> Literal["in", "out", "maybe"]:
        """Whether it races."""
        return "out" if self.verdict is not None else "maybe" if self.open else "in"


def enter(situation: Situation, candidate: Candidate) -> Entry:
    """Put one candidate through the gates. Whatever is raised there is its own verdict, and nobody else's."""
    open_conditions: list[Open] = []
    try:
        for gate in GATES:
            for outcome in gate(situation, candidate):
                if isinstance(outcome, Verdict):
                    return Entry(candidate, outcome)
                if outcome is not None:
                    open_conditions.append(outcome)
    except TesseraError as problem:
        return Entry(candidate, reasons.verdict(candidate, "error", problem.message, extra={"error": problem.message}))
    except Exception as problem:
        return Entry(candidate, reasons.failed_gate(candidate, problem))
    return Entry(candidate, None, tuple(open_conditions))


def race(situation: Situation) -> tuple[Entry, ...]:
    """Return everybody who is registered for the request's op and target, in declaration order, and how each stands."""
    return tuple(enter(situation, candidate) for candidate in situation.candidates)
