"""A request tried out: operands made (or given), the winner run, its result compared with the reference, times taken."""

from __future__ import annotations

import random
import statistics
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tessera_rules.arbiter.execution import Execution
from tessera_rules.arbiter.request import bind_words, find_op
from tessera_rules.arbiter.words import names_of
from tessera_rules.bind.arrays import WORDS, as_numpy, dtype_of
from tessera_rules.bind.bindings import Bindings
from tessera_rules.bind.inputs import make_operands, operand_dtype, place
from tessera_rules.bind.operands import bind_operands
from tessera_rules.bind.outcome import Unbound
from tessera_rules.bind.results import contracts
from tessera_rules.compile.evaluate import ClauseError
from tessera_rules.errors import OperandError, UsageError
from tessera_rules.machine.local import LocalMachine
from tessera_rules.measure.race import race
from tessera_rules.measure.stopwatch import Stopwatch
from tessera_rules.model.request import Request
from tessera_rules.model.values import Op
from tessera_rules.nearest import did_you_mean
from tessera_rules.oracle.budget import budget, theory_bound
from tessera_rules.oracle.judge import Judgement, judge
from tessera_rules.oracle.reference import higher_reference
from tessera_rules.report.run import Timing, Tried
from tessera_rules.session import Arbiter
from tessera_rules.tuning import restorer

ROUNDS = 12


def run_words(
    arbiter: Arbiter,
    op: str,
    target: str | None,
    words: Mapping[str, Any],
    *,
    seed: int | None = 0,
    force: str | None = None,
    operands: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Tried:
    """Make operands for a request of words (or take those given), run it, and compare the result with the reference.

    Raises `OperandError`, `ArbiterError`, `UsageError` as `Arbiter.run_traced` does.
    """
    words = dict(words) if operands is None else _given_words(find_op(arbiter.ruleset, op), words, operands)
    stated = bind_words(arbiter.ruleset, op, target or arbiter.only_target(op), words, arbiter.machine)
    given = make_operands(stated, seed or 0) if operands is None else placed_operands(stated, operands)
    before = {name: np.array(x, copy=True) for name, x in given.items()}
    call = _caller(arbiter, stated, force)
    result, execution = call(given, progress)
    results = tuple(np.array(as_numpy(each), copy=True) for each in (result if isinstance(result, tuple) else (result,)))
    asked = execution.decision.request
    judgement = _judged(arbiter, asked, before, results, execution.candidate)
    again = _placed(asked, before)  # what an op writes in place is not what came in
    return Tried(asked, execution, judgement, _time(lambda: call(again, None)), seed, before, results)


def _given_words(op: Op, words: Mapping[str, Any], operands: Mapping[str, Any]) -> dict[str, Any]:
    """Return words that give the optional operands that are here. Raises `OperandError` where they give another."""
    here = [name for name, operand in op.operands.items() if operand.optional and operands.get(name) is not None]
    for name in names_of(words.get("given", ())):
        if name not in here and name in op.operands:
            raise OperandError(f"given={name} is stated, and operand '{name}' is not here", hint=f"{name}=FILE.npy")
    return {**words, "given": (*here, *(name for name in names_of(words.get("given", ())) if name not in here))}


def placed_operands(stated: Request, operands: Mapping[str, Any]) -> dict[str, Any]:
    """Return the caller's operands as a request of words states them: in its layouts, of its dtype where their file could not say it.

    Raises: `OperandError` where words and arrays do not say the same.
    """
    op = stated.op
    given: dict[str, Any] = {}
    for name, x in operands.items():
        if x is None:
            continue
        if name not in op.operands:
            raise OperandError(f"{op.name} has no operand '{name}'", hint=did_you_mean(name, op.operands, "operand"))
        array = _typed(as_numpy(x, name), name, operand_dtype(stated, op.operands[name]) if stated.dtype or op.operands[name].dtypes else None)
        layout = stated.layouts.get(name)
        given[name] = place(array, stated, name) if layout is not None and (layout.align, layout.strides) != (None, None) else array
    here = bind_operands(op, (), given, stated.attrs, stated.target).request
    pairs: list[tuple[str, Any, Any]] = [("dtype", stated.dtype, here.dtype), *((name, stated.dims.get(name), here.dims.get(name)) for name in op.dims)]
    for what, one, two in pairs:
        if one is not None and two is not None and one != two:
            raise OperandError(f"{what}={one} is stated, and the operands say {what}={two}", hint=f"leave {what} out")
    return given


def _typed(array: Any, name: str, dtype: str | None) -> Any:
    """Return an array whose file holds bare bytes (as NumPy saves bf16 and f8) in the dtype that the request says."""
    if array.dtype.kind != "V" or array.dtype.fields is not None or array.dtype.name in WORDS:
        return array
    if dtype is None or dtype_of(dtype).itemsize != array.dtype.itemsize:
        raise OperandError(f"operand '{name}' holds bare elements of {array.dtype.itemsize} bytes", hint="dtype=bf16, or what they are, says it")
    return array.view(dtype_of(dtype))


def _caller(arbiter: Arbiter, stated: Request, force: str | None) -> Callable[[Mapping[str, Any], Callable[[str], None] | None], tuple[Any, Execution]]:
    """Return what runs operands under a request's attributes and words."""

    def call(operands: Mapping[str, Any], progress: Callable[[str], None] | None) -> tuple[Any, Execution]:
        return arbiter.run_traced(
            stated.op.name,
            target=stated.target,
            force=force,
            progress=progress,
            threads=stated.threads,
            device=stated.device,
            allow=stated.allow,
            require=stated.require,
            **operands,
            **stated.attrs,
        )

    return call


def _placed(request: Request, operands: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies of operands in the layouts of a request."""
    return {name: place(x, request, name) for name, x in operands.items()}


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
    arbiter: Arbiter,
    op: str,
    target: str | None,
    words: Mapping[str, Any],
    *,
    seed: int | None = 0,
    force: str | None = None,
    operands: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[Tried, tuple[Timing, ...]]:
    """Run a request, then race everybody who can serve it (`measure.race`), and return the times. No winner is named: `tsr tune` does.

    Who is clearly behind after three rounds has no more times; the first call of each stays out.
    """
    tried = run_words(arbiter, op, target, words, seed=seed, force=force, operands=operands, progress=progress)
    machine = arbiter.machine
    if not isinstance(machine, LocalMachine) or not isinstance(machine.binder, Bindings):
        raise UsageError("kernels are timed on this machine only")
    request = tried.request
    calls: dict[str, Callable[[], Any]] = {}
    before: dict[str, Callable[[], None]] = {}
    written = {each.inout for each in contracts(request) if each.inout is not None}
    timings: list[Timing] = []
    for name in tried.execution.decision.ranking:
        try:
            _, execution = _caller(arbiter, request, name)(_placed(request, tried.operands), progress)
        except Exception as problem:  # who cannot run is no contestant, and says why
            timings.append(Timing(name, (), str(problem)))
            continue
        candidate = arbiter.ruleset.candidates[name]
        bound = machine.binder.bind(candidate, machine.devices(arbiter.ruleset.targets[candidate.target])[request.device])
        if isinstance(bound, Unbound) or execution.candidate != name:
            timings.append(Timing(name, (), "it did not run"))
            continue
        arrays = _placed(request, tried.operands)
        calls[name] = lambda bound=bound, arrays=arrays: bound.call(arrays, request)  # type: ignore[misc]
        if written:  # what is written in place begins anew at every call (P5)
            before[name] = restorer({key: (arrays[key], np.array(as_numpy(arrays[key]), copy=True)) for key in written})
    return tried, (*_raced(calls, before, seed or 0, tried.execution.decision.winner, progress), *timings)


def _raced(
    calls: Mapping[str, Callable[[], Any]], before: Mapping[str, Callable[[], None]], seed: int, default: str | None, progress: Callable[[str], None] | None
) -> list[Timing]:
    """Race calls, and return the times of each, or why there are none (a decline has no time, T6)."""
    found = race(list(calls), Stopwatch(calls, before).sample, random.Random(seed), default=default, progress=progress)
    samples = {name: tuple(value * 1e3 for each in found.rounds if (value := each.get(name)) is not None) for name in calls}
    return [Timing(name, samples[name], None if samples[name] else found.unmeasured.get(name, "it fell back in the heats")) for name in calls]


def load_arrays(paths: Mapping[str, Path]) -> dict[str, Any]:
    """Return operands from ``.npy`` files by name, or all of one ``.npz``. Nothing is unpickled.

    Raises `UsageError` for a file that cannot be read or holds objects.
    """
    found: dict[str, Any] = {}
    for name, path in paths.items():
        try:
            data = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as problem:
            if "pickle" in str(problem) or "Object arrays" in str(problem):
                raise UsageError(
                    f"'{path}' holds Python objects or no array at all, and nothing is unpickled", hint="numpy.save of numbers writes one"
                ) from None
            raise UsageError(f"'{path}' cannot be read as arrays: {problem}", hint="numpy.save and numpy.savez write them") from None
        if isinstance(data, np.lib.npyio.NpzFile):
            try:
                with data:
                    found |= {key: data[key] for key in data.files}
            except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as problem:
                raise UsageError(f"'{path}' cannot be read as arrays: {problem}", hint="numpy.savez writes them") from None
        else:
            found[name] = data
    for name, array in found.items():
        if array.dtype.hasobject:
            raise OperandError(f"operand '{name}' holds Python objects, and kernels compute on numbers")
    return found
