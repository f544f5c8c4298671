"""How far a result may lie from the reference: the candidate's own budget where its file gives one, else the op's bound from theory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.compile.evaluate import evaluate
from tessera_rules.model.request import Request
from tessera_rules.model.terms import Term
from tessera_rules.model.values import Candidate
from tessera_rules.oracle.bounds import bound

Array = np.ndarray[Any, Any]


def budget(candidate: Candidate, request: Request, operands: Mapping[str, Array], reference: Array, dtype: str) -> Array:
    """Return the largest error that is allowed, element by element, for a result of ``dtype`` whose reference is ``reference``.

    Raises `ClauseError` where an ``accuracy`` expression has no value on this request.
    """
    if candidate.accuracy is not None:
        facts = RequestFacts(request)

        def value(term: Term | None) -> float:
            return 0.0 if term is None else float(evaluate(term, facts))

        with np.errstate(invalid="ignore"):
            stated: Array = value(candidate.accuracy.atol) + value(candidate.accuracy.rtol) * np.abs(reference)
        return stated
    return theory_bound(request, operands, reference, dtype, candidate.computes)


def theory_bound(request: Request, operands: Mapping[str, Array], reference: Array, dtype: str, computes: str | None = None) -> Array:
    """Return the op's own bound: of the ``error_bound`` beside its reference where there is one, else that of 64 roundings."""
    binding = request.op.reference
    return bound(request.op.name, operands, request.attrs, reference, dtype, computes=computes, module=None if binding is None else binding.module)
