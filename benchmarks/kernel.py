"""The kernel whose calls are counted: as little as one can be."""

from __future__ import annotations

from typing import Any

import numpy as np


def product(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return ``a @ b``, written to ``out``."""
    return np.matmul(a, b, out)


RULES = """tessera 1
op product {
  operand a: [M, K]
  operand b: [K, N]
  result [M, N]
  dtype a in [f64, f32]
  reference python "benchmarks.kernel:product"
}
target cpu { }
candidate plain {
  tier emitted; target cpu; op product
  requires { dtype == f32; K % 8 == 0 }
  bind python "benchmarks.kernel:product"
}
"""
