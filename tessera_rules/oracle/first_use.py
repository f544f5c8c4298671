"""The check before a kernel's first result is given away: does it compute the right thing on the very operands in hand?

The candidate runs first, on private copies, with outputs poisoned (native code that this machine has not seen right yet in a
child process), then the op's reference in higher precision; the results are compared element by element.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from attrs import frozen

from tessera_rules.bind.arrays import as_numpy, dtype_of, view
from tessera_rules.bind.bindings import is_native
from tessera_rules.bind.bound import Bound
from tessera_rules.bind.child import Trial, Trier
from tessera_rules.bind.memory import check_reach
from tessera_rules.bind.outcome import BrokenContract, KernelFailed
from tessera_rules.bind.results import contracts
from tessera_rules.compile.evaluate import ClauseError
from tessera_rules.declined import Declined
from tessera_rules.model.request import Request
from tessera_rules.oracle.budget import budget
from tessera_rules.oracle.judge import Judgement, judge
from tessera_rules.oracle.reference import higher_reference

Array = np.ndarray[Any, Any]


@frozen(eq=False)
class Proof:
    """What the check found. ``outcome`` is a verdict word, or ``verified``; ``max_error`` and ``budget`` are of the worst element."""

    outcome: Literal["verified", "wrong", "declined", "failed", "crashed", "mistrusted"]
    reason: str
    max_error: float | None = None
    budget: float | None = None
    signal: str | None = None


def prove_first_use(bound: Bound, operands: Mapping[str, Any], request: Request, *, in_child: bool | None = None) -> Proof:
    """Return what a candidate is worth on these operands. Never raises for what the kernel does.

    ``in_child`` runs it in a spawned process; by default native code does.
    """
    private = {name: _copy(name, x) for name, x in operands.items()}
    trial = _trial(bound, private, request, is_native(bound) if in_child is None else in_child)
    if trial.outcome != "ran":
        return Proof(trial.outcome, trial.reason, signal=trial.signal)
    if not trial.clean or not trial.outputs:
        return Proof("wrong", trial.complaint or trial.reason)
    try:
        references = higher_reference(request, private)
    except Exception as problem:
        return Proof("mistrusted", f"the reference of {request.op.name} failed here: {type(problem).__name__}: {problem}")
    worst: Judgement | None = None
    for result, reference, contract in zip(trial.outputs, references, contracts(request), strict=True):
        try:
            allowed = budget(bound.candidate, request, private, reference, contract.dtype)
        except ClauseError as problem:
            return Proof("mistrusted", f"its accuracy has no value on this request: {problem}")
        found = judge(result, reference, allowed, dtype_of(contract.dtype))
        if not found.ok:
            return Proof("wrong", found.why or "", found.max_error, found.budget)
        if worst is None or found.ratio > worst.ratio:
            worst = found
    return Proof("verified", "right on the operands in hand", worst.max_error if worst else 0.0, worst.budget if worst else 0.0)


def _copy(name: str, x: Any) -> Array:
    """Return a private copy with the strides of the original, so that the path that will run is the path that is checked."""
    source = as_numpy(x)
    its = view(source, name)
    check_reach(name, its)
    low, high = its.extent
    memory = np.empty(high - low + 4096, dtype=np.uint8)
    start = (low - memory.ctypes.data) % 4096
    # Byte by byte, gaps too: strides may be negative, or 0, and elements may lie on top of each other.
    ctypes.memmove(memory.ctypes.data + start, low, high - low)
    made: Array = np.ndarray(source.shape, source.dtype, memory, start + its.address - low, source.strides)
    return made


def _trial(bound: Bound, operands: Mapping[str, Array], request: Request, in_child: bool) -> Trial:
    if in_child:
        with Trier() as trier:
            return trier.run(bound, operands, request)
    inout = {each.inout for each in contracts(request) if each.inout is not None}
    before = {name: np.array(x, copy=True) for name, x in operands.items() if name not in inout}
    scratch = {name: np.array(x, copy=True) if name in inout else x for name, x in operands.items()}
    try:
        result = bound.call(scratch, request, poison=True)
    except Declined as problem:
        return Trial("declined", problem.reason)
    except BrokenContract as problem:
        return Trial("ran", problem.reason)
    except KernelFailed as problem:
        return Trial("failed", problem.reason)
    except Exception as problem:
        return Trial("crashed", f"{type(problem).__name__}: {problem}")
    changed = tuple(name for name, x in before.items() if not np.array_equal(_bits(operands[name]), _bits(x)))
    outputs = result if isinstance(result, tuple) else (result,)
    return Trial("ran", outputs=tuple(as_numpy(each) for each in outputs), changed=changed)


def _bits(x: Array) -> Array:
    dense = np.ascontiguousarray(x)
    return dense.view(np.uint8) if dense.ndim else dense.reshape(1).view(np.uint8)
