"""``deterministic`` and ``batch_invariant`` held to their word: repeats, thread counts, a row of many against that row alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import evolve

from tessera_rules.bind.child import Trial
from tessera_rules.bind.inputs import place
from tessera_rules.machine.cpu import usable_cores
from tessera_rules.model.request import Request
from tessera_rules.model.terms import Fact
from tessera_rules.oracle.calls import agreeing, bits
from tessera_rules.oracle.examine import Examiner, Refuted
from tessera_rules.oracle.probes.draft import Array, Asked, Draft, cast

REPEATS = 3
ROWS = 64


def hold_deterministic(examiner: Examiner, request: Request, draft: Draft) -> None:
    """Run the same operands several times, in other memory, with one thread and with many. Raises `Refuted` where bits differ."""
    operands = {name: place(x, request, name) for name, x in cast(draft.values, request).items()}
    first: Trial | None = None
    for threads in [None] * REPEATS + sorted({1, 2, usable_cores()}):
        trial = examiner.call(operands, request, threads=threads)
        if trial.outcome != "ran" or not trial.outputs:
            return
        if first is None:
            first = trial
        elif not agreeing(first, trial):
            said = "again" if threads is None else f"with threads={threads}"
            raise Refuted(examiner.proof("wrong", f"it is declared deterministic, and gave other bits {said}", draft.label))


def batch_dim(request: Request) -> str | None:
    """Return the dimension of independent rows: the first of the result, where some operand begins with it too."""
    if not request.op.results:
        return None
    result = request.op.results[0]
    shape = request.op.operands[result.inout].shape if result.inout is not None else result.shape
    if not shape or not isinstance(shape[0], Fact) or not shape[0].key.startswith("dim:"):
        return None
    key = shape[0].key
    first = [operand.shape[0] for operand in request.op.operands.values() if operand.shape]
    return key[4:] if any(isinstance(term, Fact) and term.key == key for term in first) else None


def hold_batch_invariant(examiner: Examiner, request: Request, admits: Callable[[Request], bool], drafted: Callable[[Asked], Draft], asked: Asked) -> None:
    """Run many rows, then some of them alone: each has the same bits. Raises `Refuted` where one has not."""
    dim = batch_dim(request)
    if dim is None:
        return
    plain = evolve(request, layouts={})
    many, one = (evolve(plain, dims={**plain.dims, dim: count}) for count in (ROWS, 1))
    if not admits(many) or not admits(one):
        return
    values = cast(drafted(evolve(asked, request=many)).values, many)
    whole = examiner.call({name: place(x, many, name) for name, x in values.items()}, many)
    if whole.outcome != "ran" or not whole.outputs:
        return
    for row in (0, 1, ROWS // 2 + 1, ROWS - 1):
        alone = {name: place(_row(x, many, name, dim, row), one, name) for name, x in values.items()}
        trial = examiner.call(alone, one)
        if trial.outcome != "ran" or not trial.outputs:
            return
        if not np.array_equal(bits(whole.outputs[0][row : row + 1]), bits(trial.outputs[0])):
            said = f"it is declared batch_invariant, and row {row} of {dim} = {ROWS} has other bits than that row alone"
            raise Refuted(examiner.proof("wrong", said, f"{dim}={ROWS}"))


def _row(x: Array, request: Request, name: str, dim: str, row: int) -> Array:
    """Return one row of an operand along the batch dimension, or all of an operand that has none."""
    for axis, term in enumerate(request.op.operands[name].shape):
        if isinstance(term, Fact) and term.key == f"dim:{dim}":
            return np.take(x, [row], axis=axis)
    return x
