"""One call from operands to a result: decide, ask the guard, prove at first use, run; what fails on the way is a verdict, and the next is tried."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from tessera_rules.arbiter.decide import decide
from tessera_rules.arbiter.decision import Decision, Verdict
from tessera_rules.arbiter.execution import Degraded, Execution
from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.arbiter.request import find_op, find_target
from tessera_rules.arbiter.situation import Proved
from tessera_rules.bind.arrays import as_kind, as_numpy, view
from tessera_rules.bind.bindings import Bindings
from tessera_rules.bind.bound import Bound, taken_outputs
from tessera_rules.bind.memory import check_written
from tessera_rules.bind.operands import Operands, bind_operands
from tessera_rules.bind.outcome import KernelFailed, Unbound
from tessera_rules.bind.results import contracts
from tessera_rules.compile.evaluate import clause_values, truth
from tessera_rules.corpus.lookup import Corpus
from tessera_rules.declined import Declined
from tessera_rules.errors import ArbiterError, OperandError, UsageError
from tessera_rules.machine.base import Machine
from tessera_rules.machine.local import LocalMachine
from tessera_rules.model.values import Candidate, Ruleset
from tessera_rules.nearest import did_you_mean
from tessera_rules.oracle.keys import declared, request_key
from tessera_rules.oracle.ledger import Ledger
from tessera_rules.oracle.proof import Proof
from tessera_rules.oracle.prove import Subject, prove_on
from tessera_rules.oracle.reference import reference_result
from tessera_rules.oracle.variants import Admission

VERIFY = ("first_use", "always", "never", "ahead")
QUARANTINE_AFTER = 3
"""Failures at run time for one key after which a candidate is not tried again there."""


@define(eq=False)
class Proofs:
    """What was found of candidates, by candidate, its bytes and the request: private to both. Shared by reloaded rules.

    Here for the next call; ``ledger`` has what outlives the process, ``corpus`` what was measured.
    """

    ledger: Ledger = field(factory=Ledger)
    corpus: Corpus = field(factory=Corpus)
    _found: dict[Any, Proof] = field(factory=dict)
    _failures: dict[Any, int] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)

    def get(self, key: Any) -> Proof | None:
        """Return what was found for a key."""
        return self._found.get(key)

    def keep(self, key: Any, proof: Proof) -> None:
        """Remember what was found."""
        with self._lock:
            self._found[key] = proof

    def failed(self, key: Any) -> int:
        """Count a failure at run time, and return how many there are."""
        with self._lock:
            self._failures[key] = self._failures.get(key, 0) + 1
            return self._failures[key]

    def quarantined(self, key: Any) -> bool:
        """Whether a candidate failed too often for a key."""
        return self._failures.get(key, 0) >= QUARANTINE_AFTER


@frozen(eq=False)
class Served:
    """A dispatch that the next one alike may repeat without asking anybody: nobody degraded or delegated, no guard looked at the data.

    ``key`` is what the proof holds for. ``execution`` is what is told of it.
    """

    candidate: Candidate
    bound: Bound
    key: Any
    fitted: Operands
    execution: Execution


def dispatch(
    ruleset: Ruleset,
    machine: Machine,
    proofs: Proofs,
    op_name: str,
    target: str | None,
    positional: Sequence[Any],
    named: Mapping[str, Any],
    *,
    force: str | None = None,
    allow: Collection[str] = (),
    require: Collection[str] = (),
    threads: int | None = None,
    device: int | None = None,
    verify: str | None = None,
    out: Any = None,
    progress: Callable[[str], None] | None = None,
    served: Callable[[Served], None] | None = None,
    failed: tuple[Served, Declined | KernelFailed] | None = None,
    dress: Callable[[Bound], Bound | Unbound] | None = None,
) -> tuple[Any, Execution]:
    """Return the result of an op over arrays, and who made it. See `Arbiter.run_traced`.

    ``served`` is told where the next call alike may be the same; ``failed`` is such a call that did not deliver this time.
    ``dress`` is what a bound candidate is made into before it is proved and run, where operands are constant.
    """
    if not isinstance(machine, LocalMachine) or not isinstance(machine.binder, Bindings):
        raise UsageError("kernels run on this machine, and a stated one only decides", hint="leave the stated machine out")
    op = find_op(ruleset, op_name)
    if op.span.source in ruleset.untrusted_sources:
        raise ArbiterError(
            f"op {op.name} comes from rules that nobody named ({op.span.source.name}), so that its reference does not run",
            hint="name them with --rules, or list their folder in TSR_TRUST",
        )
    if target is not None:
        target = find_target(ruleset, target, op)
    fitted = bind_operands(op, positional, named, None, target, threads=threads, allow=allow, require=require, device=device)
    fitted = evolve(fitted, request=evolve(fitted.request, threads=fitted.request.threads or machine.threads))
    if fitted.request.target not in ruleset.targets:
        raise UsageError(f"the operands lie where target '{fitted.request.target}' computes, which these rules do not declare")
    force = force if force is not None else proofs.corpus.pinned(ruleset, fitted.request)
    call = _Call(ruleset, machine, machine.binder, proofs, fitted, force, verify or ruleset.policy.verify, out, progress or (lambda _: None))
    call.take_outputs(out)
    call.served, call.dress = served, dress
    if failed is not None:
        call.not_delivered(failed[0].candidate, failed[0].key, failed[1])
    return call.run()


@define(eq=False)
class _Call:
    """The state of one dispatch: what is known of candidates by now, who was delegated from, who degraded."""

    ruleset: Ruleset
    machine: LocalMachine
    bindings: Bindings
    proofs: Proofs
    fitted: Operands
    force: str | None
    verify: str
    out: Any
    progress: Callable[[str], None]
    known: dict[str, Proved] = field(factory=dict)
    degraded: list[Degraded] = field(factory=list)
    delegated: dict[str, Verdict] = field(factory=dict)
    proved: dict[str, Proof] = field(factory=dict)
    served: Callable[[Served], None] | None = None
    dress: Callable[[Bound], Bound | Unbound] | None = None
    outs: dict[str, Any] = field(factory=dict)
    inouts: tuple[str, ...] = ()
    _delivery: tuple[Bound, Any] | None = None

    def take_outputs(self, out: Any) -> None:
        """Hold what is written to, the caller's outputs and operands written in place, to what it must be, whoever will run."""
        request = self.fitted.request
        results = contracts(request)
        self.inouts = tuple(operand.name for operand in request.op.operands.values() if operand.inout)
        if out is not None:
            self.outs = taken_outputs(request.op, results, out)
        if self.outs or self.inouts:
            check_written(dict(self.fitted.views) | {name: view(x, name) for name, x in self.outs.items()}, (*self.outs, *self.inouts))

    def run(self) -> tuple[Any, Execution]:
        """Go through the race until somebody delivers; without anybody the reference does, under its own name."""
        if self.verify != self.ruleset.policy.verify:
            self.ruleset = evolve(self.ruleset, policy=evolve(self.ruleset.policy, verify=_verify_word(self.verify)))
        if self.verify == "ahead":
            self._recall()
        measured = self.proofs.corpus.measured(self.ruleset, self.fitted.request, self.machine) if self.force is None else None
        while True:
            decision = decide(self.ruleset, self.fitted.request, self.machine, force=self.force, proofs=self.known, measured=measured)
            if decision.winner is None:
                if decision.tag == "undecided":
                    open_names = sorted({name for each in decision.residual for name in each.needs})
                    raise ArbiterError(f"who runs {self.fitted.request.op.name} is open: {', '.join(open_names)} has no value")
                return self._reference(decision)
            decision, name = self._guarded(decision)
            if name is None:
                return self._reference(decision)
            found = self._attempt(self.ruleset.candidates[name])
            if found is not None:
                execution = self._execution(decision, name)
                self._tell(execution)
                return found[0], execution

    def _tell(self, execution: Execution) -> None:
        """Tell of a dispatch that may be repeated as it is."""
        assert execution.candidate is not None
        candidate = self.ruleset.candidates[execution.candidate]
        plain = not self.degraded and not self.delegated and candidate.guard is None and self.verify != "always"
        if plain and self.served is not None and self._delivery is not None:
            bound, key = self._delivery
            self.served(Served(candidate, bound, key, self.fitted, execution))

    # ---- the winner ----

    def _attempt(self, candidate: Candidate) -> tuple[Any] | None:
        """Return the result of a candidate, or None where it did not deliver (then it is known, and the next is tried)."""
        bound = self._bound(candidate)
        if isinstance(bound, Unbound):
            self._out(candidate, "unavailable", bound.reason)
            return None
        key = (candidate.name, bound.digest, declared(candidate), request_key(self.fitted.request, candidate))
        if self.proofs.quarantined(key):
            self._out(candidate, "quarantined", f"it failed {QUARANTINE_AFTER} times at run time on this request")
            return None
        if self.verify != "never" and not self._is_proved(candidate, bound, key):
            return None
        return self._delivered(candidate, bound, key)

    def _bound(self, candidate: Candidate) -> Bound | Unbound:
        device_facts = self.machine.devices(self.ruleset.targets[candidate.target])
        index = self.fitted.request.device
        found = self.bindings.bind(candidate, device_facts[index] if index < len(device_facts) else None)
        return found if self.dress is None or isinstance(found, Unbound) else self.dress(found)

    def _recall(self) -> None:
        """Where proofs are made ahead nothing is proved now: what is known of those who may serve is all that there is."""
        request, ledger = self.fitted.request, self.proofs.ledger
        for candidate in self.ruleset.for_op(request.op.name, request.target):
            if not ledger.store.names(candidate.name) or not Admission(self.ruleset, self.machine, candidate)(request):
                continue
            bound = self._bound(candidate)
            proof = None if isinstance(bound, Unbound) else ledger.known(bound, request, self.machine) or ledger.structure(bound, request, self.machine)
            if proof is not None:
                self._take(candidate, proof)

    def _is_proved(self, candidate: Candidate, bound: Bound, key: Any) -> bool:
        if self.verify == "ahead":
            return True  # decide() has said `unproved` already where there is no proof
        proof = self.proofs.get(key)
        if proof is None:
            self.progress(f"proving {candidate.name}")
            proof = self.proofs.ledger.proved(bound, self.ruleset, self.machine, self.fitted.request, self.fitted.arrays, self.progress)
            self.proofs.keep(key, proof)
        if self.verify == "always" and proof.outcome == "verified":
            proof = prove_on(Subject(bound, self.ruleset, self.machine), self.fitted.request, self.fitted.arrays)
        return self._take(candidate, proof)

    def _take(self, candidate: Candidate, proof: Proof) -> bool:
        """Take what is known of a candidate into the race; return whether it is right."""
        self.proved[candidate.name] = proof
        if proof.outcome == "verified":
            self.known[candidate.name] = Proved("verified")
            return True
        values = {"max_error": proof.max_error, "budget": proof.budget} if proof.outcome == "wrong" else {}
        self._out(candidate, proof.outcome, proof.reason, **values, **({"signal": proof.signal} if proof.signal else {}))
        return False

    def _delivered(self, candidate: Candidate, bound: Bound, key: Any) -> tuple[Any] | None:
        arrays = self.fitted.arrays
        before = {name: np.array(as_numpy(arrays[name]), copy=True) for name in self.inouts if self.fitted.views[name].on_host}
        try:
            found = (bound.call(arrays, self.fitted.request, out=self.out, views=self.fitted.views),)
        except (Declined, KernelFailed, OperandError) as raised:
            # The caller's own mistakes were told before: an operand that is refused now is one that this binding does not take.
            problem = Declined(raised.message) if isinstance(raised, OperandError) else raised
            for name, x in before.items():  # whoever comes next computes on what came in
                as_numpy(arrays[name])[...] = x
            self.not_delivered(candidate, key, problem)
            return None
        self._delivery = bound, key
        return found

    def not_delivered(self, candidate: Candidate, key: Any, problem: Declined | KernelFailed) -> None:
        """Take a candidate out that declined or failed at run, as the policy has it. Raises `ArbiterError` where that is an error."""
        request, reason = self.fitted.request, problem.reason
        word = "declined" if isinstance(problem, Declined) else "failed"
        if word == "failed":
            self.proofs.failed(key)
        self.degraded.append(Degraded(candidate.name, word, reason))
        policy = self.ruleset.policy.on_decline
        if self.force is not None or policy == "error":
            raise ArbiterError(f"{candidate.name} {word} at run: {reason}", candidate=candidate.name, span=candidate.name_span)
        self._out(candidate, word, reason)
        if policy == "reference":
            for other in self.ruleset.for_op(request.op.name, request.target):
                self.known.setdefault(other.name, Proved("unverified", self._verdict(other, "outranked", "a decline goes to the reference by the policy")))

    # ---- guards ----

    def _guarded(self, decision: Decision) -> tuple[Decision, str | None]:
        """Return who runs once guards have looked at the data, and the decision with what they said; None is the reference."""
        order = [name for name in decision.ranking if name not in self.delegated]
        name: str | None = decision.winner
        while name is not None:
            candidate = self.ruleset.candidates[name]
            refused = self._asked_guard(candidate)
            if refused is None:
                break
            order = [each for each in order if each != name]
            wanted = candidate.guard.otherwise if candidate.guard is not None else None
            if wanted == "reference":
                following = None
            else:
                following = wanted if wanted in order else next(iter(order), None)
            self.delegated[name] = evolve(refused, extra={**refused.extra, "to": following or "reference"})
            if self.force is not None and self.force == name:
                raise ArbiterError(
                    f"{name} is forced, and its guard does not allow these data: {refused.clause}",
                    candidate=name,
                    clause=refused.clause,
                    values=refused.values,
                    span=refused.span,
                )
            name = following
        if not self.delegated:
            return decision, name
        verdicts = tuple(
            self.delegated.get(each.candidate)
            or (evolve(each, verdict="selected", code="delegated", reason="took over from a guard", extra={}) if each.candidate == name else each)
            for each in decision.verdicts
        )
        return evolve(decision, winner=name, tag=name or "reference", verdicts=verdicts), name

    def _asked_guard(self, candidate: Candidate) -> Verdict | None:
        """Return the verdict of a guard that does not allow the data, None where it does or there is none."""
        if candidate.guard is None or candidate.name in self.delegated:
            return None
        lookup = DataFacts(RequestFacts(self.fitted.request), self.fitted.arrays)
        for clause in candidate.guard.clauses:
            found = truth(clause, lookup)
            if found is not True:
                values = clause_values(clause, lookup)
                verdict = self._verdict(candidate, "delegated", f"its guard `{clause.text}` does not hold for these data")
                return evolve(verdict, clause=clause.text, because=clause.because, values=values, span=clause.span)
        return None

    # ---- what came of it ----

    def _verdict(self, candidate: Candidate, word: Any, reason: str, **extra: Any) -> Verdict:
        proof: Any = "mistrusted" if word in ("wrong", "mistrusted") else "unverified"
        return Verdict(candidate.name, candidate.tier, word, word, reason, span=candidate.name_span, proof=proof, extra=extra)

    def _out(self, candidate: Candidate, word: str, reason: str, **extra: Any) -> None:
        self.known[candidate.name] = Proved("unverified", self._verdict(candidate, word, reason, **extra))

    def _execution(self, decision: Decision, name: str) -> Execution:
        proof = self.proved.get(name)
        verdicts = tuple(
            evolve(each, proof="verified") if each.candidate in self.proved and self.proved[each.candidate].outcome == "verified" else each
            for each in decision.verdicts
        )
        return Execution(
            name,
            name,
            evolve(decision, verdicts=verdicts),
            tuple(self.degraded),
            "verified" if proof is not None else "unverified",
            proof.max_error if proof else None,
            proof.budget if proof else None,
        )

    def _reference(self, decision: Decision) -> tuple[Any, Execution]:
        request, arrays = self.fitted.request, self.fitted.arrays
        first = next(iter(arrays.values()))
        made = []
        for contract, result in zip(contracts(request), reference_result(request, arrays), strict=True):
            place = arrays[contract.inout] if contract.inout is not None else self.outs.get(contract.name)
            if place is not None:
                as_numpy(place)[...] = result
            made.append(as_kind(result, first) if place is None else place)
        return (made[0] if len(made) == 1 else tuple(made)), Execution(None, "reference", decision, tuple(self.degraded))


def _verify_word(word: str) -> Any:
    """Return a word of the policy's ``verify``. Raises `UsageError` for another."""
    if word not in VERIFY:
        raise UsageError(f"verify={word} is none of {', '.join(VERIFY)}", hint=did_you_mean(word, VERIFY, "word"))
    return word


class DataFacts:
    """Facts of a request with its operands in hand: ``amax amin all_finite`` look at the data once each."""

    def __init__(self, base: RequestFacts, arrays: Mapping[str, Any]) -> None:
        self.base, self.arrays, self.seen = base, arrays, dict[str, Any]()

    def __call__(self, key: str) -> Any:
        """Return a fact by key."""
        kind, _, name = key.partition(":")
        if kind not in ("amax", "amin", "all_finite") or name not in self.arrays:
            return self.base(key)
        if key not in self.seen:
            data = as_numpy(self.arrays[name], name)
            wide = data if data.dtype.kind in "fiu" else data.astype(np.float64)
            if kind == "all_finite":
                self.seen[key] = bool(np.isfinite(wide).all())
            else:
                self.seen[key] = float(wide.max() if kind == "amax" else wide.min()) if wide.size else 0.0
        return self.seen[key]
