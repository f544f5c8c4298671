"""A request tried out: operands made (or given), the winner run, its result compared with the reference, times taken."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tessera_rules.arbiter.request import bind_words
from tessera_rules.bind.arrays import as_numpy, dtype_of
from tessera_rules.bind.bindings import Bindings
from tessera_rules.bind.inputs import make_operands
from tessera_rules.bind.outcome import KernelFailed, Unbound
from tessera_rules.bind.results import contracts
from tessera_rules.compile.evaluate import ClauseError
from tessera_rules.declined import Declined
from tessera_rules.errors import OperandError, UsageError
from tessera_rules.machine.local import LocalMachine
from tessera_rules.model.request import Request
from tessera_rules.oracle.budget import budget, theory_bound
from tessera_rules.oracle.judge import Judgement, judge
from tessera_rules.oracle.reference import higher_reference
from tessera_rules.report.run import Timing, Tried
from tessera_rules.session import Arbiter

ROUNDS = 12
SAMPLE_SECONDS = 2e-5


def run_words(
    arbiter: Arbiter,
    op: str,
    target: str | None,
    words: Mapping[str, Any],
    *,
    seed: int = 0,
    force: str | None = None,
    operands: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Tried:
    """Make operands for a request of words (or take those given), run it, and compare the result with the reference.

    Raises `OperandError`, `ArbiterError`, `UsageError` as `Arbiter.run_traced` does.
    """
    given = dict(operands or {})
    if given:
        attrs = {name: value for name, value in words.items() if name in arbiter.ruleset.ops[op].attrs} if op in arbiter.ruleset.ops else {}
        request = None
    else:
        request = bind_words(arbiter.ruleset, op, target or arbiter.only_target(op), words, arbiter.machine)
        given = dict(make_operands(request, seed))
        attrs = dict(request.attrs)
    said = {name: words[name] for name in ("allow", "require") if name in words}
    options: dict[str, Any] = {name: tuple(str(value).split(",")) if isinstance(value, str) else value for name, value in said.items()}
    if request is not None:
        options |= {"threads": request.threads, "device": request.device, "allow": request.allow, "require": request.require}
    elif "threads" in words:
        options["threads"] = int(words["threads"])
    before = {name: np.array(as_numpy(x), copy=True) if x is not None else None for name, x in given.items()}
    result, execution = arbiter.run_traced(op, target=target, force=force, progress=progress, **given, **attrs, **options)
    results = tuple(as_numpy(each) for each in (result if isinstance(result, tuple) else (result,)))
    asked = execution.decision.request
    judgement = _judged(arbiter, asked, {name: x for name, x in before.items() if x is not None}, results, execution.candidate)
    elapsed = _time(lambda: arbiter.run_traced(op, target=target, force=force, **given, **attrs, **options))
    return Tried(asked, execution, judgement, elapsed, seed, before, results)


def _judged(arbiter: Arbiter, request: Request, operands: Mapping[str, Any], results: tuple[Any, ...], name: str | None) -> Judgement | None:
    """Compare results with the reference in higher precision; of several results the worst."""
    worst: Judgement | None = None
    try:
        references = higher_reference(request, operands)
    except Exception:
        return None
    for result, reference, contract in zip(results, references, contracts(request), strict=True):
        try:
            if name is None:
                allowed: Any = theory_bound(request, operands, reference, contract.dtype)
            else:
                allowed = budget(arbiter.ruleset.candidates[name], request, operands, reference, contract.dtype)
        except ClauseError:
            return None
        found = judge(result, reference, allowed, dtype_of(contract.dtype))
        if worst is None or not found.ok or (worst.ok and found.ratio > worst.ratio):
            worst = found
    return worst


def _time(call: Callable[[], Any]) -> float:
    """Return the median time of a call in milliseconds, of up to `ROUNDS` samples within half a second."""
    samples: list[float] = []
    end = time.perf_counter() + 0.5
    while len(samples) < ROUNDS and (not samples or time.perf_counter() < end):
        start = time.perf_counter()
        call()
        samples.append((time.perf_counter() - start) * 1e3)
    return statistics.median(samples)


def measure_words(
    arbiter: Arbiter, op: str, target: str | None, words: Mapping[str, Any], *, seed: int = 0, progress: Callable[[str], None] | None = None
) -> tuple[Tried, tuple[Timing, ...]]:
    """Run a request, then time everybody in the race in interleaved rounds of fresh random order. Names no winner: see `Timing`.

    Each sample is one or several calls that together take at least 20 µs; the first call of each stays out.
    """
    tried = run_words(arbiter, op, target, words, seed=seed, progress=progress)
    machine = arbiter.machine
    if not isinstance(machine, LocalMachine) or not isinstance(machine.binder, Bindings):
        raise UsageError("kernels are timed on this machine only")
    request = tried.request
    calls: dict[str, Callable[[], Any]] = {}
    timings: list[Timing] = []
    for name in tried.execution.decision.ranking:
        try:
            _, execution = arbiter.run_traced(
                op, target=target, force=name, threads=request.threads, **_given(tried), **dict(request.attrs), allow=request.allow
            )
        except Exception as problem:  # who cannot run is no contestant, and says why
            timings.append(Timing(name, (), str(problem)))
            continue
        candidate = arbiter.ruleset.candidates[name]
        bound = machine.binder.bind(candidate, machine.devices(arbiter.ruleset.targets[candidate.target])[request.device])
        if isinstance(bound, Unbound) or execution.candidate != name:
            timings.append(Timing(name, (), "it did not run"))
            continue
        arrays = _given(tried)
        calls[name] = lambda bound=bound, arrays=arrays: bound.call(arrays, request)  # type: ignore[misc]
    return tried, (*_rounds(calls, seed, progress), *timings)


def _given(tried: Tried) -> dict[str, Any]:
    return {name: x for name, x in tried.operands.items() if x is not None}


def _rounds(calls: Mapping[str, Callable[[], Any]], seed: int, progress: Callable[[str], None] | None) -> list[Timing]:
    samples: dict[str, list[float]] = {name: [] for name in calls}
    repeats: dict[str, int] = {}
    lost: dict[str, str] = {}
    for name, call in calls.items():
        start = time.perf_counter()
        call()
        repeats[name] = max(1, round(SAMPLE_SECONDS / max(time.perf_counter() - start, 1e-9)))
    rng = np.random.default_rng(seed)
    for number in range(ROUNDS):
        if progress is not None:
            progress(f"round {number + 1} of {ROUNDS}")
        for name in rng.permutation(sorted(calls)):
            if name in lost:
                continue
            try:
                start = time.perf_counter()
                for _ in range(repeats[name]):
                    calls[name]()
                samples[name].append((time.perf_counter() - start) * 1e3 / repeats[name])
            except (Declined, KernelFailed) as problem:  # a decline has no time (T6)
                lost[str(name)] = str(problem)
    return [Timing(name, () if name in lost else tuple(found), lost.get(name)) for name, found in samples.items()]


def load_arrays(paths: Mapping[str, Path]) -> dict[str, Any]:
    """Return operands from ``.npy`` files by name, or all of one ``.npz``. Nothing is unpickled.

    Raises `UsageError` for a file that cannot be read or holds objects.
    """
    found: dict[str, Any] = {}
    for name, path in paths.items():
        try:
            data = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as problem:
            raise UsageError(f"'{path}' cannot be read as arrays: {problem}", hint="numpy.save and numpy.savez write them") from None
        if isinstance(data, np.lib.npyio.NpzFile):
            with data:
                found |= {key: data[key] for key in data.files}
        else:
            found[name] = data
    for name, array in found.items():
        if array.dtype.hasobject:
            raise OperandError(f"operand '{name}' holds Python objects, and kernels compute on numbers")
    return found
