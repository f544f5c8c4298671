"""What is known of candidates, and the way to know more: memory first, then the store on disk, then a proof."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from tessera_rules.bind.bound import Bound
from tessera_rules.machine.local import LocalMachine
from tessera_rules.model.request import Request
from tessera_rules.model.values import Ruleset
from tessera_rules.oracle.keys import about, shape_key, structure_key
from tessera_rules.oracle.proof import Proof
from tessera_rules.oracle.prove import IN_HAND, Subject, prove, prove_on
from tessera_rules.oracle.store import ProofStore, Record, finite, now


@define(eq=False)
class Ledger:
    """Proofs of this process and of those before it. One proof at a time for a key; safe from many threads."""

    store: ProofStore = field(factory=ProofStore)
    _passing: dict[str, Proof] = field(factory=dict, init=False)
    _locks: dict[str, threading.RLock] = field(factory=dict, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)
    proofs_made: int = 0

    def structure(self, bound: Bound, request: Request, machine: LocalMachine) -> Proof | None:
        """Return what is known of a candidate for a request's structure, whatever its shape."""
        return self.store.get(structure_key(bound.candidate, bound.digest, request, machine))

    def known(self, bound: Bound, request: Request, machine: LocalMachine) -> Proof | None:
        """Return what is known of a candidate for a request: a refutation of its structure, or what was found at its shape."""
        key = structure_key(bound.candidate, bound.digest, request, machine)
        structure = self.store.get(key) or self._passing.get(key)
        if structure is not None and structure.outcome != "verified":
            return structure
        shaped = shape_key(key, request, bound.candidate)
        return self.store.get(shaped) or self._passing.get(shaped)

    def proved(
        self,
        bound: Bound,
        ruleset: Ruleset,
        machine: LocalMachine,
        request: Request,
        operands: Mapping[str, Any],
        progress: Callable[[str], None] | None = None,
    ) -> Proof:
        """Return what a candidate is worth for a request with its operands: as known, or proved now."""
        key = structure_key(bound.candidate, bound.digest, request, machine)
        with self._lock_of(key):
            found = self.known(bound, request, machine)
            if found is not None:
                return found
            subject = Subject(bound, ruleset, machine)
            structure = self.store.get(key)
            self.proofs_made += 1
            if structure is not None:
                proof = prove_on(subject, request, operands)
            else:
                proof = prove(subject, request, operands, progress=progress)
                if not _in_hand(proof):
                    self._keep(key, bound, request, proof, shaped=False)
            if structure is not None or _in_hand(proof) or proof.outcome == "verified":
                self._keep(shape_key(key, request, bound.candidate), bound, request, proof, shaped=True)
            return proof

    def ahead(self, bound: Bound, ruleset: Ruleset, machine: LocalMachine, request: Request, progress: Callable[[str], None] | None = None) -> Proof:
        """Return what a candidate is worth for a request's structure, as known or proved now, without operands of anybody's."""
        key = structure_key(bound.candidate, bound.digest, request, machine)
        with self._lock_of(key):
            found = self.store.get(key) or self._passing.get(key)
            if found is None:
                self.proofs_made += 1
                found = prove(Subject(bound, ruleset, machine), request, progress=progress)
                self._keep(key, bound, request, found, shaped=False)
            return found

    def _keep(self, key: str, bound: Bound, request: Request, proof: Proof, *, shaped: bool) -> None:
        """Remember a proof. What may be different the next time (a failure, a time limit) is remembered in this process alone."""
        passing = proof.outcome == "failed" or (proof.outcome == "crashed" and "timeout" in proof.reason)
        if passing:
            self._passing[key] = proof
            return
        kept = finite(proof)
        self.store.keep(Record(key, bound.candidate.name, about(bound.candidate, bound.digest, request, shaped=shaped), kept, now()))

    def _lock_of(self, key: str) -> threading.RLock:
        with self._lock:
            return self._locks.setdefault(key, threading.RLock())


def _in_hand(proof: Proof) -> bool:
    """Whether the request in hand decided, which says nothing of other shapes."""
    return proof.probe is not None and proof.probe.endswith(IN_HAND)
