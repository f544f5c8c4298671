"""What native code takes for granted of memory, checked before it is entered."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from tessera_rules.bind.arrays import ArrayView
from tessera_rules.errors import OperandError
from tessera_rules.model.values import Candidate

HOST_TARGETS = ("x86", "arm", "cpu")
"""Targets that compute in host memory."""
EMPTY = np.zeros(64, np.uint8)
NOWHERE = int(EMPTY.__array_interface__["data"][0])
"""Where an operand without elements points whose owner gives it no address: no null reaches native code."""


def check_memory(candidate: Candidate, arrays: Mapping[str, ArrayView], written: Collection[str]) -> None:
    """Hold memory to what native code takes for granted: a place that the target reaches, extents inside buffers, no overlap
    of what is written with anything else.

    Raises: `OperandError`.
    """  # fmt: skip
    spans: dict[str, tuple[int, int]] = {}
    for name, it in arrays.items():
        if it.device != "cpu" and candidate.target in HOST_TARGETS:
            raise OperandError(f"operand '{name}' lies on {it.device}, and target {candidate.target} computes in host memory")
        low, high = span = it.extent
        if low == high:
            continue
        check_reach(name, it)
        if it.address % min(it.item_bytes, 8):
            raise OperandError(f"operand '{name}' lies at an address that is no multiple of its {it.item_bytes}-byte elements", hint="copy it")
        spans[name] = span
    check_written(arrays, written)


def check_reach(name: str, it: ArrayView) -> None:
    """Hold an array to memory: that it has an address, and to what is known to be its own, where that is known. Raises `OperandError`."""
    low, high = it.extent
    if low < high and not it.address:
        raise OperandError(f"operand '{name}' has no address")
    if it.buffer is not None and low < high and (low < it.buffer[0] or high > it.buffer[1]):
        outside = max(it.buffer[0] - low, high - it.buffer[1])
        raise OperandError(f"operand '{name}' reaches {outside} bytes outside of its buffer (shape {list(it.shape)}, strides {list(it.strides)})")


def check_written(arrays: Mapping[str, ArrayView], written: Collection[str]) -> None:
    """Hold what is written to memory of its own: it lies over nothing else, and its elements not over each other. Raises `OperandError`."""
    spans = {name: it.extent for name, it in arrays.items() if it.size}
    for name in written:
        if name not in spans:
            continue
        it, (low, high) = arrays[name], spans[name]
        if 0 in it.strides and any(s == 0 and n > 1 for n, s in zip(it.shape, it.strides, strict=True)):
            raise OperandError(f"output '{name}' has a stride of 0: its elements lie on top of each other")
        for other, (start, end) in spans.items():
            if low < end and start < high and other != name:
                raise OperandError(f"output '{name}' lies over operand '{other}'", hint="give an output of its own")
