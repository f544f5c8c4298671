"""A race on this machine: operands made, everybody in the race proved, timed in interleaved rounds, and written down as a record."""

from __future__ import annotations

import os
import platform
import random
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from attrs import evolve, frozen

from tessera_rules.arbiter.decide import decide
from tessera_rules.arbiter.decision import Decision
from tessera_rules.arbiter.request import bind_words
from tessera_rules.bind.arrays import as_numpy, dtype_of
from tessera_rules.bind.bindings import Bindings
from tessera_rules.bind.bound import Bound
from tessera_rules.bind.inputs import make_operands, place
from tessera_rules.bind.operands import Operands, bind_operands
from tessera_rules.bind.outcome import Unbound
from tessera_rules.bind.results import contracts
from tessera_rules.compile.evaluate import ClauseError
from tessera_rules.corpus.key import HOW, key_of, rules_digest
from tessera_rules.corpus.record import Record
from tessera_rules.errors import TesseraError, UsageError
from tessera_rules.machine.local import LocalMachine
from tessera_rules.measure.contest import ALPHA
from tessera_rules.measure.race import ROUNDS, THOROUGH, Race, race
from tessera_rules.measure.stopwatch import Stopwatch, now
from tessera_rules.model.request import Request
from tessera_rules.oracle.budget import budget
from tessera_rules.oracle.judge import judge
from tessera_rules.oracle.reference import higher_reference
from tessera_rules.session import Arbiter

FLUSHED = "calls in this process, flushed"
FLUSH_TIMES = 2
"""Before a flushed call so many times the last-level cache is written to."""


@frozen(eq=False)
class Raced:
    """A race of one request: what it came to, who would have run without it, and what names the bytes of each."""

    request: Request
    decision: Decision
    race: Race
    digests: Mapping[str, str]
    seed: int
    how: str

    @property
    def default(self) -> str | None:
        """Who would have run unmeasured."""
        return self.decision.winner


def request_of(arbiter: Arbiter, op: str, target: str | None, words: Mapping[str, Any], seed: int = 0) -> Operands:
    """Return operands made for a request of words, and the request that they make: the one that a run with them has, too (T29)."""
    asked = bind_words(arbiter.ruleset, op, target or arbiter.only_target(op), words, arbiter.machine)
    made = make_operands(asked, seed)
    fitted = bind_operands(asked.op, (), made, asked.attrs, asked.target, threads=asked.threads, allow=asked.allow, require=asked.require, device=asked.device)
    return evolve(fitted, request=evolve(fitted.request, threads=fitted.request.threads or arbiter.machine.threads))


def race_operands(
    arbiter: Arbiter,
    fitted: Operands,
    *,
    seed: int = 0,
    thorough: bool = False,
    flushed: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Raced:
    """Race everybody who can serve a request on operands of it, and verify what the timed loops wrote.

    Each contestant is proved first, as at first use, on these operands. Raises `UsageError` on a stated machine,
    `ArbiterError` as deciding does.
    """
    machine, request, say = arbiter.machine, fitted.request, progress or (lambda _: None)
    if not isinstance(machine, LocalMachine) or not isinstance(machine.binder, Bindings):
        raise UsageError("kernels are timed on this machine only", hint="leave the stated machine out")
    decision = decide(arbiter.ruleset, request, machine)
    saved = {name: np.array(as_numpy(x), copy=True) for name, x in fitted.arrays.items()}
    written = {each.inout for each in contracts(request) if each.inout is not None}
    calls: dict[str, Callable[[], Any]] = {}
    before: dict[str, Callable[[], None]] = {}
    unmeasured: dict[str, str] = {}
    digests: dict[str, str] = {}
    flush = _flusher(machine, arbiter, request) if flushed else None
    for name in decision.ranking:
        say(f"proving {name}")
        bound = _proved(arbiter, machine.binder, name, fitted, saved)
        if isinstance(bound, str):
            unmeasured[name] = bound
            continue
        own = {key: place(saved[key], request, key) if key in written else x for key, x in fitted.arrays.items()}
        calls[name] = _call(bound, own, request)
        digests[name] = bound.digest
        if written or flush is not None:
            before[name] = restorer({key: (own[key], saved[key]) for key in written}, flush)
    watch = Stopwatch(calls, before)
    found = race(list(calls), watch.sample, random.Random(seed), default=decision.winner, rounds=THOROUGH if thorough else ROUNDS, progress=progress)
    found = evolve(found, unmeasured={**unmeasured, **found.unmeasured})
    say("verifying what the timed loops wrote")
    found = found.without(_wrong(arbiter, request, saved, {name: watch.last[name] for name in found.finalists}))
    return Raced(request, decision, found, digests, seed, FLUSHED if flushed else HOW)


def _proved(arbiter: Arbiter, bindings: Bindings, name: str, fitted: Operands, saved: Mapping[str, Any]) -> Bound | str:
    """Return a candidate bound, once it has run right on these operands, or why it has no part in the race."""
    request, candidate = fitted.request, arbiter.ruleset.candidates[name]
    given: dict[str, Any] = {key: place(values, request, key) for key, values in saved.items()}
    try:
        _, execution = arbiter.run_traced(
            request.op.name,
            target=request.target,
            force=name,
            threads=request.threads,
            device=request.device,
            allow=request.allow,
            require=request.require,
            **given,
            **request.attrs,
        )
    except TesseraError as problem:  # who does not serve is no contestant, and says why (T6)
        return problem.message
    if execution.candidate != name:
        return f"it did not run: {execution.tag} did"
    devices = arbiter.machine.devices(arbiter.ruleset.targets[candidate.target])
    bound = bindings.bind(candidate, devices[request.device] if request.device < len(devices) else None)
    return bound.reason if isinstance(bound, Unbound) else bound


def _call(bound: Bound, arrays: Mapping[str, Any], request: Request) -> Callable[[], Any]:
    return lambda: bound.call(arrays, request)


def restorer(pairs: Mapping[str, tuple[Any, Any]], flush: Callable[[], None] | None = None) -> Callable[[], None]:
    """Return what puts the contents of arrays back (first of a pair from second), and then flushes caches if it is told to."""

    def restore() -> None:
        for target, source in pairs.values():
            np.copyto(target, source)
        if flush is not None:
            flush()

    return restore


def _flusher(machine: LocalMachine, arbiter: Arbiter, request: Request) -> Callable[[], None]:
    """Return what pushes everything out of the last-level cache."""
    devices = machine.devices(arbiter.ruleset.targets[request.target])
    facts = devices[request.device] if request.device < len(devices) else {}
    cache = max((int(facts[name]) for name in ("l3_bytes", "l2_bytes") if isinstance(facts.get(name), int)), default=32 << 20)
    other = np.zeros(FLUSH_TIMES * cache // 8, dtype=np.int64)

    def flush() -> None:
        np.add(other, 1, out=other)

    return flush


def _wrong(arbiter: Arbiter, request: Request, saved: Mapping[str, Any], last: Mapping[str, Any]) -> dict[str, str]:
    """Return whose last timed result is not right, and what is wrong with it: speed that is none shows here."""
    if not last:
        return {}
    try:
        references = higher_reference(request, saved)
    except Exception as problem:
        return {name: f"the reference of {request.op.name} failed here: {type(problem).__name__}: {problem}" for name in last}
    found: dict[str, str] = {}
    for name, result in last.items():
        outputs = result if isinstance(result, tuple) else (result,)
        for output, reference, contract in zip(outputs, references, contracts(request), strict=True):
            try:
                allowed = budget(arbiter.ruleset.candidates[name], request, saved, reference, contract.dtype)
                judgement = judge(as_numpy(output), reference, allowed, dtype_of(contract.dtype))
            except ClauseError as problem:
                found[name] = f"its accuracy has no value on this request: {problem}"
                break
            if not judgement.ok:
                found[name] = f"what its timed loop wrote is wrong: {judgement.why}"
                break
    return found


def record_of(arbiter: Arbiter, raced: Raced) -> Record:
    """Return the record of a race."""
    request, found = raced.request, raced.race
    key = key_of(arbiter.ruleset, request, arbiter.machine, how=raced.how)
    if key is None:
        raise UsageError("this request has no key: part of it is open")
    outcome = found.outcome
    return Record(
        op=request.op.name,
        target=request.target,
        key=key,
        dims={name: int(request.dims[name]) for name in request.op.dims},
        contestants={name: raced.digests[name] for name in found.contestants},
        finalists=found.finalists,
        times={name: tuple(each.get(name) for each in found.rounds) for name in found.finalists},
        unmeasured=dict(found.unmeasured),
        default=raced.default,
        outcome=outcome.kind,
        winner=found.choice(raced.default),
        rules=rules_digest(arbiter.ruleset, request.op.name, request.target),
        at=round(now(), 3),
        evidence={
            "alpha": ALPHA,
            "seed": raced.seed,
            "rounds": outcome.rounds,
            "heats": found.heats,
            "void": dict(found.void),
            "versions": versions(),
            "host": {"machine": platform.machine(), "system": platform.platform(), "cores": arbiter.machine.threads, "load": load()},
        },
    )


def load() -> float | None:
    """Return how many processes wanted to run in the last minute, where the system tells."""
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None


def versions() -> dict[str, str]:
    """Return the versions of what a time may hang on."""
    found = {"python": platform.python_version()}
    for name in ("tessera-rules", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
