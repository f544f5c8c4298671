"""A candidate that is not right as it is declared, and would be in a looser class: which one."""

from __future__ import annotations

import numpy as np

from tessera_rules.bind.arrays import dtype_of
from tessera_rules.bind.inputs import place
from tessera_rules.bind.results import contracts
from tessera_rules.dtypes import FORMATS
from tessera_rules.model.request import Request
from tessera_rules.oracle.budget import theory_bound
from tessera_rules.oracle.examine import Examiner
from tessera_rules.oracle.families import Family
from tessera_rules.oracle.judge import judge
from tessera_rules.oracle.probes.draft import Asked, Draft, cast
from tessera_rules.oracle.reference import higher_reference

CLASSES = ("f32", "tf32", "f16", "bf16")
"""Classes from narrow to loose, as ``computes`` may name them."""


def fitting_class(examiner: Examiner, request: Request, family: Family) -> str | None:
    """Return the tightest class below the declared one within which the candidate is right, exactly where that class is exact."""
    declared = examiner.candidate.computes or request.dtype
    if declared is None or declared not in FORMATS:
        return None
    for name in CLASSES:
        if FORMATS[name].precision < FORMATS[declared].precision and _fits(examiner, request, family, name):
            return name
    return None


def _fits(examiner: Examiner, request: Request, family: Family, name: str) -> bool:
    asked = Asked(request, name, np.random.default_rng(examiner.seed + 1))
    drafts = [*family.exact(asked), *family.bound(asked)]
    return bool(drafts) and all(_right(examiner, request, draft, name) for draft in drafts)


def _right(examiner: Examiner, request: Request, draft: Draft, name: str) -> bool:
    operands = {key: place(x, request, key) for key, x in cast(draft.values, request).items()}
    trial = examiner.call(operands, request)
    if not trial.clean or not trial.outputs:
        return False
    try:
        references = higher_reference(request, operands)
    except Exception:
        return False
    for result, reference, contract in zip(trial.outputs, references, contracts(request), strict=True):
        allowed = theory_bound(request, operands, reference, contract.dtype, name)
        if draft.exact:
            allowed = np.minimum(allowed, np.abs(reference) * 2.0 ** -FORMATS[contract.dtype].precision)
        if not judge(result, reference, allowed, dtype_of(contract.dtype)).ok:
            return False
    return True
