"""Large products checked without computing them again: C·x against A·(B·x), exactly, for random integer vectors.

Source: R. Freivalds, "Probabilistic Machines Can Use Less Running Time", IFIP Congress 1977. With integers from 1 to 1023 a
wrong element escapes one vector with a chance of at most 1 in 1023, three with one in 10^9; one that is alone in its row never.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tessera_rules.bind.inputs import place
from tessera_rules.model.request import Request
from tessera_rules.oracle.examine import Examiner, Refuted
from tessera_rules.oracle.families import Family
from tessera_rules.oracle.probes.draft import Array, Asked, cast

LARGE = 1 << 27
"""Multiply-adds from which on a product is checked this way."""
VECTORS = 3
LARGEST = 1023
OPS = ("tessera_rules.ops.matmul", "tessera_rules.ops.batched_matmul")


def applies(examiner: Examiner, request: Request) -> bool:
    """Whether a request is a plain product, large enough, whose exact results its dtype holds."""
    reference = request.op.reference
    plain = reference is not None and reference.module in OPS and request.dtype in ("f32", "f64")
    return plain and examiner.candidate.accuracy is None and prod(request.dims.values()) >= LARGE


def check(examiner: Examiner, request: Request, family: Family, label: str) -> None:
    """Run exact probes at a request's own shape and layouts, and compare through vectors. Raises `Refuted`."""
    rng = np.random.default_rng(examiner.seed)
    asked = Asked(request, examiner.candidate.computes, rng)
    for draft in family.exact(asked):
        if not draft.label.startswith("small" if request.dtype == "f64" else ("wide", "small")):
            continue
        operands = {name: place(x, request, name) for name, x in cast(draft.values, request).items()}
        examiner.probes += 1
        trial = examiner.call(operands, request)
        where = f"{draft.label}, {label}"
        if trial.outcome != "ran":
            raise Refuted(examiner.proof(trial.outcome, trial.reason, where, signal=trial.signal))
        if not trial.clean or not trial.outputs:
            raise Refuted(examiner.proof("wrong", trial.complaint or trial.reason, where))
        examiner.finite += trial.outputs[0].size
        wrong = wrong_row(operands["a"], operands["b"], trial.outputs[0], rng)
        if wrong is not None:
            raise Refuted(examiner.proof("wrong", f"row {list(wrong)} of the result is not that of the product (exact integers, Freivalds' check)", where))


def wrong_row(a: Array, b: Array, c: Array, rng: np.random.Generator) -> tuple[int, ...] | None:
    """Return the index of a row of c that is none of a·b, None where all are (but for one chance in 10^9).

    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.integers(-9, 9, (5, 7)).astype("f4"), rng.integers(-9, 9, (7, 3)).astype("f4")
    >>> c = a @ b
    >>> wrong_row(a, b, c, rng) is None
    True
    >>> c[3, 1] += 1
    >>> wrong_row(a, b, c, rng)
    (3,)
    """
    if c.shape != (*a.shape[:-1], b.shape[-1]) or c.dtype != a.dtype:
        return ()
    for _ in range(VECTORS):
        x = rng.integers(1, LARGEST + 1, b.shape[-1]).astype(np.float64)
        with np.errstate(all="ignore"):
            right = _times(a, _times(b, x)[..., None] if b.ndim > 2 else _times(b, x))
            found = _times(c, x)
            same = right.reshape(found.shape) == found
        if not same.all():
            place = np.argwhere(~same)[0]
            return tuple(int(axis) for axis in place)
    return None


def _times(matrix: Array, vector: Array) -> Array:
    """Return a product with a vector in f64, a block of rows at a time."""
    if matrix.ndim > 2:
        return np.stack([_times(each, vector if vector.ndim == 1 else vector[index].reshape(-1)) for index, each in enumerate(matrix)])
    rows = max(1, (1 << 22) // max(1, matrix.shape[1]))
    blocks = [matrix[start : start + rows].astype(np.float64) @ vector for start in range(0, len(matrix), rows)]
    found: Array = np.concatenate(blocks) if blocks else np.zeros(0)
    return found
