"""Operands made for a request: fresh random values from a seed, in the layout that the request states."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from tessera_rules.bind.arrays import dense_strides, dtype_of, reach
from tessera_rules.compile.evaluate import UNKNOWN, evaluate
from tessera_rules.dtypes import FORMATS
from tessera_rules.errors import OperandError
from tessera_rules.model.request import DEFAULT_ALIGN, Request
from tessera_rules.model.terms import Term
from tessera_rules.model.values import Operand

Array = np.ndarray[Any, Any]
INDEX_DTYPES = ("i32", "i64")
"""Dtypes that an operand of its own dtype is likely to hold indices in."""


def make_operands(request: Request, seed: int = 0) -> dict[str, Array]:
    """Return an array for each operand that the request has: normal values, integers over the dtype's range.

    An operand with an index dtype of its own (i32, i64) holds numbers that index any dimension of the request. The module of
    a reference that ships may know better what its operands can be (page tables, lengths): then its
    ``sample_operands(rng, dims, attrs)`` gives those. Nothing of a user's is imported.

    Raises: `OperandError` where dimensions or the dtype are open, or what is asked for is more than memory holds.
    """
    op = request.op
    if request.dtype is None and any(operand.dtypes is None for operand in op.operands.values()):
        raise OperandError(f"{op.name} needs a dtype to make operands of", hint="dtype=f32")
    missing = [name for name in op.dims if name not in request.dims]
    if missing:
        raise OperandError(f"{op.name} needs {', '.join(missing)} to make operands of", hint=" ".join(f"{name}=…" for name in missing))
    rng = np.random.default_rng(seed)
    known = _sampled(request, rng)
    found: dict[str, Array] = {}
    for name, operand in op.operands.items():
        if operand.optional and name not in request.given:
            continue
        shape = tuple(_size(term, request) for term in operand.shape)
        dtype = operand_dtype(request, operand)
        # Values are drawn in f64 and then placed: both have to fit.
        strides = request.layouts[name].strides if name in request.layouts else None
        low, high = reach(shape, strides or dense_strides(shape))
        if 8 * max(prod(shape), high - low) > _memory_bytes():
            raise OperandError(f"operand '{name}' of {op.name} is larger than this machine's memory: shape {list(shape)}", values=dict(request.dims))
        if name in known:
            values = known[name]
        elif operand.dtypes is not None and dtype in INDEX_DTYPES:
            values = rng.integers(0, min((size for size in request.dims.values() if size > 0), default=1), shape).astype(dtype_of(dtype))
        else:
            values = random_values(rng, shape, dtype)
        found[name] = place(values, request, name)
    return found


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _sampled(request: Request, rng: np.random.Generator) -> Mapping[str, Array]:
    """Return the operands that the op's reference makes itself, where it ships and does."""
    binding = request.op.reference
    if binding is None or not binding.module.startswith("tessera_rules."):
        return {}
    sample = getattr(import_module(binding.module), "sample_operands", None)
    found: Mapping[str, Array] = {} if sample is None else sample(rng, dict(request.dims), dict(request.attrs))
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
        strides = dense_strides(values.shape)
    low, high = reach(values.shape, strides)
    span = high - low
    memory = np.empty(span * item + 2 * max(align, DEFAULT_ALIGN), dtype=np.uint8)
    start = _aligned_at(memory.ctypes.data - low * item, align) + low * item - memory.ctypes.data
    while start < 0:
        start += 2 * align
    buffer = memory[start : start + max(span, 1) * item]
    view: Array = np.ndarray(values.shape, values.dtype, buffer, -low * item, tuple(stride * item for stride in strides))
    # Along a stride of 0 all elements are one: the first of them says its value.
    first = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)
    view[first] = values[first]
    return view


def _aligned_at(address: int, align: int) -> int:
    """Return the first address from one on whose largest dividing power of two is ``align`` (beyond 64 bytes, a multiple of it)."""
    found = -(-address // align) * align
    return found if align > DEFAULT_ALIGN or (found // align) % 2 else found + align
