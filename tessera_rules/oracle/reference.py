"""An op's reference as something to call: rounded to the result's dtype, and unrounded for comparison."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from tessera_rules.bind.arrays import as_numpy, dtype_of
from tessera_rules.bind.outcome import Unbound
from tessera_rules.bind.python import resolve
from tessera_rules.bind.results import contracts
from tessera_rules.errors import ArbiterError
from tessera_rules.model.request import Request

Array = np.ndarray[Any, Any]


def reference_result(request: Request, operands: Mapping[str, Any]) -> tuple[Array, ...]:
    """Return the results of the op's reference, in the dtypes of the op. Raises `ArbiterError` where it cannot be called."""
    found = _called(request, operands, _function(request))
    return tuple(
        np.asarray(each).astype(dtype_of(contract.dtype), copy=False).reshape(contract.shape) for each, contract in zip(found, contracts(request), strict=True)
    )


def higher_reference(request: Request, operands: Mapping[str, Any]) -> tuple[Array, ...]:
    """Return the unrounded results: of ``reference64`` beside the reference where its module has one, else of the reference itself."""
    function = _function(request)
    module = sys.modules.get(getattr(function, "__module__", ""), None)
    higher = getattr(module, "reference64", None) if request.op.reference is not None and request.op.reference.name == "reference" else None
    found = _called(request, operands, higher or function)
    wide = tuple(np.asarray(each) for each in found)
    return tuple(each.astype(np.complex128 if np.iscomplexobj(each) else np.float64) for each in wide)


def _function(request: Request) -> Any:
    binding = request.op.reference
    if binding is None:
        raise ArbiterError(f"op {request.op.name} has no reference", hint='declare one: reference python "module:callable"', span=request.op.span)
    found = resolve(binding.module, binding.name)
    if isinstance(found, Unbound):
        raise ArbiterError(f"the reference of op {request.op.name} cannot be called: {found.reason}", span=binding.span)
    return found


def _called(request: Request, operands: Mapping[str, Any], function: Any) -> tuple[Any, ...]:
    """Call a reference with operands and attributes by name."""
    arrays = {name: as_numpy(x, name) for name, x in operands.items()}
    attrs = {name: list(value) if isinstance(value, tuple) else value for name, value in request.attrs.items()}
    result = function(**arrays, **attrs)
    return result if isinstance(result, tuple) else (result,)
