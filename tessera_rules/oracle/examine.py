"""One probe after another: run it, hold what came to the reference, remember it for the oracle's test of itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import define, evolve, field

from tessera_rules.bind.arrays import dtype_of
from tessera_rules.bind.child import Trial
from tessera_rules.bind.inputs import place
from tessera_rules.bind.results import contracts
from tessera_rules.compile.evaluate import ClauseError
from tessera_rules.model.request import Request
from tessera_rules.model.values import Candidate
from tessera_rules.oracle.budget import budget
from tessera_rules.oracle.calls import POISONS, Caller, agreeing
from tessera_rules.oracle.judge import Judgement, judge
from tessera_rules.oracle.mutants import Seen, rounded
from tessera_rules.oracle.probes.draft import Draft, cast
from tessera_rules.oracle.proof import Proof
from tessera_rules.oracle.reference import higher_reference

Array = np.ndarray[Any, Any]
TWICE = 12
"""Probes that are run twice."""
PROOF_SECONDS = 30.0
"""How long a proof goes on to new probes; a slow kernel is proved on fewer, and a note says so."""


class Refuted(Exception):
    """A probe that decided against the candidate."""

    def __init__(self, proof: Proof) -> None:
        super().__init__(proof.reason)
        self.proof = proof


@define(eq=False)
class Examiner:
    """Examines one candidate. ``seen`` holds every probe that it passed; ``notes`` what is worth telling."""

    candidate: Candidate
    call: Caller
    seed: int
    seen: list[Seen] = field(factory=list)
    notes: dict[str, None] = field(factory=dict)
    probes: int = 0
    finite: int = 0
    worst: Judgement | None = None
    stated_ratio: float = 0.0
    started: float = field(factory=time.monotonic)

    @property
    def late(self) -> bool:
        """Whether the time for new probes is over."""
        return time.monotonic() - self.started > PROOF_SECONDS

    def draft(self, request: Request, draft: Draft, label: str) -> bool:
        """Examine drafted values in the request's layout. See `operands`."""
        if not draft.values and request.op.operands:
            return False
        placed = {name: place(x, request, name) for name, x in cast(draft.values, request).items()}
        return self.operands(request, placed, f"{draft.label}, {label}", exact=draft.exact and self._exact_in(request, draft))

    @staticmethod
    def _exact_in(request: Request, draft: Draft) -> bool:
        """Whether values stay exact in a layout that lays some on top of each other."""
        broadcast = any(layout.strides is not None and 0 in layout.strides for layout in request.layouts.values())
        return not broadcast or draft.label.startswith(("wide", "small"))

    def operands(self, request: Request, operands: Mapping[str, Array], label: str, *, exact: bool = False, in_hand: bool = False) -> bool:
        """Run the candidate on operands and compare. Return whether it ran; raises `Refuted`.

        A decline or a failure is no refutation unless it is of the request in hand.
        """
        trials = self.run(request, operands)
        trial = trials[0]
        if trial.outcome in ("declined", "failed") and not in_hand:
            self.notes.setdefault(f"{trial.outcome} {label}: {trial.reason}"[:200])
            return False
        if trial.outcome != "ran":
            raise Refuted(self.proof(trial.outcome, trial.reason, label, signal=trial.signal))
        if not trial.clean or not trial.outputs:
            raise Refuted(self.proof("wrong", trial.complaint or trial.reason or "it gave no result", label))
        seen = self.expected(request, operands, label, exact=exact)
        if seen is None:
            return False
        for each in trials:
            self._judge(each, seen, in_hand=in_hand)
        self.seen.append(seen)
        return True

    def _judge(self, trial: Trial, seen: Seen, *, in_hand: bool) -> None:
        for result, reference, allowed, contract in zip(trial.outputs, seen.references, seen.allowed, contracts(seen.request), strict=True):
            found = judge(result, reference, allowed, dtype_of(contract.dtype))
            if not found.ok:
                raise Refuted(self.proof("wrong", found.why or "it is not right", seen.label, found))
            self.finite += int(np.isfinite(reference).sum())
            if not seen.exact or self.candidate.accuracy is not None:
                self.stated_ratio = max(self.stated_ratio, found.ratio)
            if in_hand and (self.worst is None or found.ratio > self.worst.ratio):
                self.worst = found

    def run(self, request: Request, operands: Mapping[str, Array]) -> tuple[Trial, ...]:
        """Run twice, with outputs that held different bits before: what was never written shows, and so does what was added to.

        Return the runs whose results are to be judged; where something else is wrong with one, that one alone. After a number
        of probes one run is enough.
        """
        self.probes += 1
        first = self.call(operands, request, poison=POISONS[self.probes % 2])
        if first.outcome != "ran" or not first.clean or self.probes > TWICE:
            return (first,)
        second = self.call(operands, request, poison=POISONS[1 - self.probes % 2])
        if second.outcome != "ran" or not second.clean:
            return (second,)
        if agreeing(first, second):
            return (first,)
        if self.candidate.deterministic:
            return (evolve(first, reason="it is declared deterministic, and gave two results for the same operands"),)
        return first, second

    def expected(self, request: Request, operands: Mapping[str, Array], label: str, *, exact: bool) -> Seen | None:
        """Return what is right and how far off a result may be; None where the reference has no answer for these operands."""
        try:
            references = higher_reference(request, operands)
        except Exception as problem:
            if self.seen:
                return None
            raise Refuted(self.proof("mistrusted", f"the reference of {request.op.name} failed: {type(problem).__name__}: {problem}", label)) from None
        bit_equal = exact and self.candidate.accuracy is None
        allowed: list[Any] = []
        rights: list[Array] = []
        for reference, contract in zip(references, contracts(request), strict=True):
            if bit_equal:
                right = rounded(reference, contract)
                rights.append(right.astype(np.complex128 if np.iscomplexobj(right) else np.float64))
                allowed.append(0.0)
                continue
            rights.append(reference)
            try:
                allowed.append(budget(self.candidate, request, operands, reference, contract.dtype))
            except ClauseError as problem:
                raise Refuted(self.proof("mistrusted", f"its accuracy has no value on this request: {problem}", label)) from None
        return Seen(label, request, dict(operands), references, tuple(rights), tuple(allowed), exact)

    def proof(self, outcome: Any, reason: str, label: str, found: Judgement | None = None, signal: str | None = None) -> Proof:
        """Return a proof that one probe decided."""
        said = reason if label == "the operands in hand" else f"{reason} (probe: {label})"
        return Proof(outcome, said, found.max_error if found else None, found.budget if found else None, signal, label, self.seed, self.probes)
