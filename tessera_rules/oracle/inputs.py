"""Operands made for a request: fresh random values from a seed, in the layout that the request states."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from tessera_rules.bind.arrays import dtype_of
from tessera_rules.compile.evaluate import UNKNOWN, evaluate
from tessera_rules.errors import OperandError
from tessera_rules.model.dtypes import FORMATS
from tessera_rules.model.request import DEFAULT_ALIGN, Request
from tessera_rules.model.terms import Term
from tessera_rules.model.values import Operand

Array = np.ndarray[Any, Any]


def make_operands(request: Request, seed: int, reference: Any = None) -> dict[str, Array]:
    """Return an array for each operand that the request has: normal values, integers over the dtype's range.

    A module of a reference may know better what its operands can be (page tables, lengths): then its
    ``sample_operands(rng, dims, attrs)`` gives those. Raises `OperandError` where dimensions or the dtype are open.
    """
    if request.dtype is None:
        raise OperandError(f"{request.op.name} needs a dtype to make operands of", hint="dtype=f32")
    missing = [name for name in request.op.dims if name not in request.dims]
    if missing:
        raise OperandError(f"{request.op.name} needs {', '.join(missing)} to make operands of", hint=" ".join(f"{name}=…" for name in missing))
    rng = np.random.default_rng(seed)
    sample = getattr(reference, "sample_operands", None)
    known: Mapping[str, Array] = sample(rng, dict(request.dims), dict(request.attrs)) if sample is not None else {}
    found: dict[str, Array] = {}
    for name, operand in request.op.operands.items():
        if operand.optional and name not in request.given:
            continue
        shape = tuple(_size(term, request) for term in operand.shape)
        dtype = operand_dtype(request, operand)
        values = known[name] if name in known else random_values(rng, shape, dtype)
        found[name] = place(values, request, name)
    return found


def operand_dtype(request: Request, operand: Operand) -> str:
    """Return an operand's dtype: stated, its own, or the request's."""
    layout = request.layouts.get(operand.name)
    if layout is not None and layout.dtype is not None:
        return layout.dtype
    return operand.dtypes[0] if operand.dtypes is not None else request.dtype or "f32"


def _size(term: Term, request: Request) -> int:
    def lookup(key: str) -> Any:
        kind, _, name = key.partition(":")
        return request.dims.get(name, UNKNOWN) if kind == "dim" else request.attrs.get(name, UNKNOWN)

    return int(evaluate(term, lookup))


def random_values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Return normal values of a floating dtype, integers over the whole range of an integer one."""
    kind = FORMATS[dtype].kind
    numpy_dtype = dtype_of(dtype)
    if kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in ("int", "uint"):
        bits = min(FORMATS[dtype].bits, 32)
        low, high = (0, 2**bits) if kind == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        return rng.integers(low, high, shape).astype(numpy_dtype)
    if kind == "complex":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(numpy_dtype)
    return rng.standard_normal(shape).astype(numpy_dtype)


def place(values: Array, request: Request, name: str) -> Array:
    """Return values in the layout that the request states for an operand; by default dense, at a 64-byte-aligned address."""
    layout = request.layouts.get(name)
    align = layout.align if layout is not None and layout.align is not None else DEFAULT_ALIGN
    strides = layout.strides if layout is not None else None
    item = values.dtype.itemsize
    if strides is None:
        dense = np.ascontiguousarray(values).strides if values.size else tuple(item * s for s in _dense(values.shape))
        strides = tuple(stride // item for stride in dense)
    low = sum((size - 1) * stride for size, stride in zip(values.shape, strides, strict=True) if stride < 0 and size)
    high = sum((size - 1) * stride for size, stride in zip(values.shape, strides, strict=True) if stride > 0 and size)
    span = (high - low + 1) if values.size else 0
    memory = np.empty(span * item + 2 * 4096, dtype=np.uint8)
    start = _aligned_at(memory.ctypes.data - low * item, align) + low * item - memory.ctypes.data
    while start < 0:
        start += 2 * align
    buffer = memory[start : start + max(span, 1) * item]
    view: Array = np.ndarray(values.shape, values.dtype, buffer, -low * item, tuple(stride * item for stride in strides))
    origin = np.ndarray((max(span, 1),), values.dtype, buffer)
    if values.size:
        if all(stride != 0 or size <= 1 for size, stride in zip(values.shape, strides, strict=True)):
            view[...] = values
        else:
            origin[...] = np.resize(values, origin.shape)
    return view


def _aligned_at(address: int, align: int) -> int:
    """Return the first address from one on whose largest dividing power of two is ``align`` (beyond 64 bytes, a multiple of it)."""
    found = -(-address // align) * align
    return found if align > DEFAULT_ALIGN or (found // align) % 2 else found + align


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))
