"""A proof: is a candidate right, on inputs and shapes of the oracle's own and on the operands in hand?

The operands in hand come first, since what is wrong there needs nothing more. Then exact and bounded probes of the request's
shape, of shapes from the edges of the candidate's clauses, of attributes at values that matter, of layouts that callers have;
then its promises; then the oracle's test of itself: wrong kernels that its probes have to tell from right.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import evolve, frozen

from tessera_rules.bind.bindings import is_native
from tessera_rules.bind.bound import Bound
from tessera_rules.bind.python import resolve
from tessera_rules.errors import OperandError, TesseraError
from tessera_rules.machine.base import Machine
from tessera_rules.model.request import Request
from tessera_rules.model.values import PythonBinding, Ruleset
from tessera_rules.oracle import freivalds
from tessera_rules.oracle.calls import Caller, codes_of
from tessera_rules.oracle.examine import Examiner, Refuted
from tessera_rules.oracle.families import Family
from tessera_rules.oracle.misdeclared import fitting_class
from tessera_rules.oracle.mutants import fine_survivors, survivors
from tessera_rules.oracle.probes.draft import Asked, Draft
from tessera_rules.oracle.promises import hold_batch_invariant, hold_deterministic
from tessera_rules.oracle.proof import Proof
from tessera_rules.oracle.variants import ELEMENTS, Admission, elements, variants

IN_HAND = "the operands in hand"
USUAL = ("normal", "small", IN_HAND)
WIDER = 8.0
"""A stated budget that is this many times the largest error seen is worth a note."""


@frozen(eq=False)
class Subject:
    """Who is proved, where: a bound candidate, the rules that say what it serves, and the machine."""

    bound: Bound
    ruleset: Ruleset
    machine: Machine

    @property
    def admits(self) -> Admission:
        """The gates of the candidate."""
        return Admission(self.ruleset, self.machine, self.bound.candidate)


def prove_on(subject: Subject, request: Request, operands: Mapping[str, Any], *, in_child: bool | None = None) -> Proof:
    """Return what a candidate is worth on the operands in hand alone. Never raises for what the kernel does."""
    return _examined(subject, request, in_child, 0, lambda examiner: _in_hand(examiner, request, operands))


def prove(
    subject: Subject,
    request: Request,
    operands: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    in_child: bool | None = None,
    progress: Callable[[str], None] | None = None,
) -> Proof:
    """Return what a candidate is worth for a structure: the request's attributes, dtype and operands, at any shape that it admits.

    ``in_child`` runs it in a spawned process; by default native code does. Never raises for what the kernel does.
    """

    def examine(examiner: Examiner) -> None:
        if operands is not None:
            _in_hand(examiner, request, operands)
        _probed(subject, examiner, request, progress or (lambda _: None))

    return _examined(subject, request, in_child, seed, examine)


def _examined(subject: Subject, request: Request, in_child: bool | None, seed: int, examine: Callable[[Examiner], None]) -> Proof:
    bound = subject.bound
    native = is_native(bound) if in_child is None else in_child
    with Caller(bound, native, _watched(bound, request)) as caller:
        examiner = Examiner(bound.candidate, caller, seed)
        try:
            examine(examiner)
        except Refuted as refuted:
            return refuted.proof
        except OperandError:
            if caller.in_hand:
                raise  # the caller's mistake
            return Proof("mistrusted", "no operands could be made for it", probes=examiner.probes)
        except TesseraError as problem:  # the rules or the reference leave no way to prove anything
            return Proof("mistrusted", problem.message, probes=examiner.probes)
        worst = examiner.worst
        if not examiner.seen and not examiner.finite:
            first = next(iter(examiner.notes), "no request that it admits could be made")
            return Proof("declined", f"it ran on no probe: {first}", probes=examiner.probes)
        return Proof(
            "verified",
            f"right on {examiner.probes} probes",
            worst.max_error if worst else None,
            worst.budget if worst else None,
            seed=seed,
            probes=examiner.probes,
            notes=tuple(examiner.notes)[:8],
        )


def _watched(bound: Bound, request: Request) -> tuple[Any, ...]:
    """Return the code of the op's reference: a Python kernel that gets there hands back the reference's result under its own name."""
    binding, reference = bound.candidate.bind, request.op.reference
    if not isinstance(binding, PythonBinding) or reference is None:
        return ()
    if binding.path == reference.path:
        return ()  # the reference itself, openly bound: what is declared is no disguise
    function = resolve(reference.module, reference.name)
    module = sys.modules.get(reference.module)
    return codes_of(function, getattr(module, "reference64", None)) if callable(function) else ()


def _in_hand(examiner: Examiner, request: Request, operands: Mapping[str, Any]) -> None:
    from tessera_rules.bind.arrays import as_numpy

    if freivalds.applies(examiner, request):
        freivalds.check(examiner, request, Family.of(request.op), IN_HAND)
        return
    examiner.call.in_hand = True
    examiner.operands(request, {name: as_numpy(x, name) for name, x in operands.items()}, IN_HAND, in_hand=True)
    examiner.call.in_hand = False


def _probed(subject: Subject, examiner: Examiner, request: Request, progress: Callable[[str], None]) -> None:
    candidate = subject.bound.candidate
    family, admits = Family.of(request.op), subject.admits
    rng = np.random.default_rng(examiner.seed)

    def asked_of(each: Request) -> Asked:
        return Asked(each, candidate.computes, rng)

    # ``given`` first: the request as it is, its own layouts (T25), where it is small enough to be quick.
    requests = [(_named(request), request)] if elements(request) <= 4 * ELEMENTS else []
    found = variants(candidate, request, admits, family, rng, candidate.computes)
    requests += [(each.label, each.request) for each in found]
    for number, (label, each) in enumerate(requests):
        progress(f"proving {candidate.name}: {number + 1} of {len(requests)}, {label}")
        if examiner.late:
            examiner.notes.setdefault(f"slow: {number} of {len(requests)} variants were probed")
            break
        try:
            drafts = [*family.exact(asked_of(each)), *_few(list(family.bound(asked_of(each))), number, len(requests))]
        except TesseraError:
            continue
        ran = True
        for draft in drafts:
            if not ran:
                break
            try:
                ran = examiner.draft(each, draft, label)
            except Refuted as refuted:
                raise Refuted(_explained(subject, examiner, each, family, refuted.proof)) from None
    _promises(examiner, requests, admits, family, asked_of)
    _itself(examiner)


def _few(drafts: list[Draft], number: int, count: int) -> list[Draft]:
    """Return all bounded drafts for the first and for every fourth request, two by turns for the others."""
    if number % 4 == 0 or len(drafts) <= 2 or count <= 4:
        return drafts
    return [drafts[0], drafts[1 + number % (len(drafts) - 1)]]


def _promises(examiner: Examiner, requests: list[tuple[str, Request]], admits: Admission, family: Family, asked_of: Callable[[Request], Asked]) -> None:
    candidate = examiner.candidate
    plain = [each for _, each in requests if not each.layouts] or [each for _, each in requests]
    if not plain or not examiner.seen:
        return
    largest = max(plain, key=elements)

    def normal(asked: Asked) -> Draft:
        return next(family.bound(asked))

    if candidate.deterministic:
        hold_deterministic(examiner, largest, normal(asked_of(largest)))
    if candidate.batch_invariant:
        hold_batch_invariant(examiner, largest, admits, normal, asked_of(largest))


def _itself(examiner: Examiner) -> None:
    """Ask whether the probes tell wrong kernels from right; say where a stated budget is wider than it has to be."""
    candidate = examiner.candidate
    if not examiner.seen:
        return
    if not examiner.finite:
        raise Refuted(Proof("mistrusted", "no probe had a finite element to compare", probes=examiner.probes))
    # A budget that somebody states has to tell at the size that values usually have: at 2^20 any would (T20).
    usual = [each for each in examiner.seen if each.label.startswith(USUAL)] if candidate.accuracy is not None else []
    passed = survivors(usual or examiner.seen, candidate.named | frozenset(candidate.honours))
    if passed:
        what = "budget" if candidate.accuracy is not None else "bound"
        said = f"its {what} is vacuous: a wrong kernel would pass ({', '.join(passed[:4])})"
        raise Refuted(Proof("mistrusted", said, seed=examiner.seed, probes=examiner.probes))
    slight = fine_survivors(examiner.seen)
    if slight:
        examiner.notes.setdefault(f"not told from right here: {', '.join(slight)}")
    if candidate.accuracy is not None and 0 < examiner.stated_ratio < 1 / WIDER:
        would = 2 * examiner.stated_ratio
        examiner.notes.setdefault(f"its budget is {1 / examiner.stated_ratio:.3g} × the largest error seen; {would:.2g} of it would do")


def _explained(subject: Subject, examiner: Examiner, request: Request, family: Family, proof: Proof) -> Proof:
    """Say where a candidate that is refused fits a looser class than it declares."""
    if proof.outcome != "wrong" or proof.max_error is None or examiner.candidate.accuracy is not None:
        return proof
    fits = fitting_class(examiner, request, family)
    return (
        proof if fits is None else evolve(proof, reason=f"misdeclared: it is right as `computes {fits}` would be, and declares no such thing; {proof.reason}")
    )


def _named(request: Request) -> str:
    return " ".join(f"{name}={size}" for name, size in request.dims.items())
