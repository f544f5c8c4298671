"""What a result must be: its shape and dtype, from the op and the request."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.compile.evaluate import UNKNOWN, evaluate
from tessera_rules.dtypes import accumulator
from tessera_rules.errors import OperandError
from tessera_rules.model.request import Request
from tessera_rules.model.values import Result


@frozen
class Contract:
    """One result of a call: its name (``out`` where it has none), shape and dtype, and the operand that it is, if it is one."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    inout: str | None

    @property
    def size(self) -> int:
        """Elements."""
        count = 1
        for n in self.shape:
            count *= n
        return count


def contracts(request: Request) -> tuple[Contract, ...]:
    """Return what each result of a request is. Raises `OperandError` where a size or a dtype is still open."""
    facts = RequestFacts(request)
    return tuple(_contract(result, request, facts) for result in request.op.results)


def _contract(result: Result, request: Request, facts: RequestFacts) -> Contract:
    op = request.op
    terms = op.operands[result.inout].shape if result.inout is not None else result.shape
    shape = tuple(evaluate(term, facts) for term in terms)
    dtype: Any = request.dtype if result.dtype is None else result.dtype
    if result.dtypes is not None:
        dtype = dict(zip(op.dtypes or (), result.dtypes, strict=True)).get(request.dtype or "")
    elif result.dtype_attr is not None:
        dtype = request.attrs.get(result.dtype_attr, UNKNOWN)
        if dtype is None and request.dtype is not None:  # null: the dtype in which products of the request's are summed
            dtype = accumulator(request.dtype)
    elif result.inout is not None:
        dtype = facts(f"dtype:{result.inout}")
    if dtype is None or dtype is UNKNOWN or UNKNOWN in shape:
        raise OperandError(f"the result of {op.name} is still open: shape {list(shape)}, dtype {dtype}", hint="state every dimension and the dtype")
    return Contract(result.name or "out", shape, dtype, result.inout)
