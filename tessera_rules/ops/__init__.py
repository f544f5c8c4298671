"""The references of the shipped ops: what each op means, as float64 NumPy over the operands as given.

One module an op, each with two functions that take the op's operands and attributes by the names of ``rules/ops.tsr``:
``reference64`` gives the result unrounded (float64 or complex128), which the oracle compares with; ``reference`` rounds
that once to the dtype of the result.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

OPS = (
    "matmul", "batched_matmul", "gemm", "fused_matmul", "gated_matmul", "attention", "softmax", "rmsnorm", "layernorm", "pointwise",
    "scaled_matmul", "paged_attention", "fft", "rfft", "irfft",
)  # fmt: skip


def reference64_of(op: str) -> Callable[..., Any]:
    """Return the unrounded reference of a shipped op.

    >>> reference64_of("matmul")([[1.0, 2.0]], [[3.0], [4.0]])
    array([[11.]])
    """
    if op not in OPS:
        raise KeyError(f"no shipped op '{op}': {', '.join(OPS)}")
    found: Callable[..., Any] = importlib.import_module(f"tessera_rules.ops.{op}").reference64
    return found


def reference_of(op: str) -> Callable[..., Any]:
    """Return the reference of a shipped op, which rounds once to the dtype of the result."""
    if op not in OPS:
        raise KeyError(f"no shipped op '{op}': {', '.join(OPS)}")
    found: Callable[..., Any] = importlib.import_module(f"tessera_rules.ops.{op}").reference
    return found
