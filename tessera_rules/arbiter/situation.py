"""What one arbitration is about: the rules, the request, the machine, and what was assumed or found before."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Protocol

from attrs import define, field, frozen

from tessera_rules.arbiter.decision import Proof, Verdict
from tessera_rules.arbiter.facts import Lookup, RequestFacts, lookup_for
from tessera_rules.errors import OperandError
from tessera_rules.machine.base import Machine
from tessera_rules.model.request import Request
from tessera_rules.model.values import Candidate, Ruleset, Target


@frozen
class Proved:
    """What the oracle knows of a candidate for this key: its proof, and the verdict that keeps it out, if one does."""

    proof: Proof = "unverified"
    verdict: Verdict | None = None


class Measured(Protocol):
    """Evidence about speed. It keeps the best of those left, all of them where it cannot tell."""

    def keep(self, live: frozenset[str], left: frozenset[str]) -> frozenset[str]:
        """Return who of ``left`` stays. ``live`` is everybody in the race: a record counts only if all of them were contestants."""


@define(eq=False)
class Situation:
    """One arbitration. ``assumed`` is None where every candidate is assumed to be available.

    ``chain`` holds the candidates whose ``uses`` led here. ``notes`` collects what is reported on the way, each once.
    """

    ruleset: Ruleset
    request: Request
    machine: Machine
    assumed: frozenset[str] | None = frozenset()
    excluded: frozenset[str] = frozenset()
    proofs: Mapping[str, Proved] | None = None
    measured: Measured | None = None
    chain: tuple[str, ...] = ()
    notes: dict[str, None] = field(factory=dict)
    facts: RequestFacts = field(init=False)
    target: Target = field(init=False)
    device: Mapping[str, Any] | None = field(init=False)
    _rule_lookup: Lookup | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.facts = RequestFacts(self.request)
        self.target = self.ruleset.targets[self.request.target]
        devices = self.machine.devices(self.target)
        index = self.request.device
        if devices and index >= len(devices):
            count = len(devices)
            there = "is one device, device=0" if count == 1 else f"are {count} devices, device=0 to device={count - 1}"
            raise OperandError(f"device={index} is asked for, and of target {self.target.name} there {there}")
        self.device = devices[index] if devices else None

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Everybody who is registered, in declaration order."""
        return self.ruleset.for_op(self.request.op.name, self.request.target)

    def is_assumed(self, candidate: Candidate) -> bool:
        """Whether the candidate's ``available`` block is held for true."""
        return candidate.name not in self.excluded and (self.assumed is None or candidate.name in self.assumed)

    def lookup(self, candidate: Candidate) -> Lookup:
        """Return the facts for one candidate. Where it is assumed available its target counts as there, with the facts that are stated."""
        device = {} if self.device is None and self.is_assumed(candidate) else self.device
        return lookup_for(self.facts, device, self.machine, candidate)

    def rule_lookup(self, names: Set[str]) -> Lookup:
        """Return the facts for a rule's condition. A target without a device counts as there where a candidate of the rule is assumed."""
        if self.device is None and any(self.assumed is None or name in self.assumed for name in names):
            return lookup_for(self.facts, {}, self.machine)
        if self._rule_lookup is None:
            self._rule_lookup = lookup_for(self.facts, self.device, self.machine)
        return self._rule_lookup

    def note(self, text: str) -> None:
        """Report something once."""
        self.notes.setdefault(text, None)
