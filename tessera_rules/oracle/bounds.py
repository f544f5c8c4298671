"""How far a right result may be from the reference: an op's error bound, element by element, from the theory of rounding.

A bound is made of the unit roundoffs of what a kernel does: of its sums (f32 or wider), of its result's dtype, of what a
declared ``computes`` rounds the operands to. Each shipped op has its own formula, ``error_bound`` beside its reference; an
op without one has `plain`. Sums of n terms are allowed φ(n) = 6√n roundings: rounding errors are as good as independent, so
that they grow as √n, and 6 is over four standard deviations of what was seen; a sum that loses a term or a bit is far out.

Sources: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., chapters 3 and 24; N. J. Higham, T. Mary,
"A New Approach to Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41 (2019).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any

import numpy as np
from attrs import frozen

from tessera_rules.bind.arrays import word_of
from tessera_rules.dtypes import FORMATS, holds

Array = np.ndarray[Any, Any]


def roundoff(dtype: str) -> float:
    """Return the unit roundoff of a dtype, 2^-p for p significant bits; 0 for integers, whose arithmetic is exact.

    >>> roundoff("f32") == 2.0**-24, roundoff("bf16") == 2.0**-8, roundoff("i32")
    (True, True, 0.0)
    """
    it = FORMATS[dtype]
    return 2.0**-it.precision if it.kind in ("float", "complex") else 0.0


def phi(terms: int) -> float:
    """Return the roundings that a sum of so many terms is allowed.

    >>> phi(100), phi(0)
    (60.0, 6.0)
    """
    return 6.0 * sqrt(max(1, terms))


@frozen
class Precision:
    """The roundings of one request.

    ``acc``: of sums and of arithmetic between operands and result, the float64 reference's own included. ``out``: of the
    result's dtype. ``store``: of the request's dtype, to which a weight or a prologue may be rounded before a matrix unit.
    ``computes``: of what the operands are rounded to before they are multiplied, 0 where that holds them exactly.
    ``smallest``: the gap of results around 0, or half a unit for integers. ``tiny``: the smallest normal number of
    the arithmetic, below which an exponential may be flushed to 0.
    """

    acc: float
    out: float
    store: float
    computes: float
    smallest: float
    tiny: float

    @classmethod
    def of(cls, dtype: str, out_dtype: str, computes: str | None = None, acc_dtype: str = "f32") -> Precision:
        """Return the roundings for operands of ``dtype``. Sums are in ``acc_dtype``, or in f64 where the dtype needs it.

        >>> Precision.of("f32", "f32", "tf32").computes == 2.0**-11, Precision.of("bf16", "bf16").store == 2.0**-8
        (True, True)
        """
        wide = "f64" if FORMATS[dtype].precision > 24 and FORMATS[dtype].kind in ("float", "complex") else acc_dtype
        result = FORMATS[out_dtype]
        floating = result.kind in ("float", "complex")
        return cls(
            acc=roundoff(wide) + roundoff("f64"),
            out=roundoff(out_dtype),
            store=roundoff(dtype) if FORMATS[dtype].precision < FORMATS[wide].precision else 0.0,
            computes=0.0 if computes is None or holds(computes, dtype) else roundoff(computes),
            # np.ldexp goes down to the smallest subnormal of f64 itself.
            smallest=float(np.ldexp(1.0, result.min_exponent)) if floating else 0.5,
            tiny=2.0**-1022 if wide in ("f64", "c128") else 2.0**-126,
        )

    def product(self, terms: int, magnitude: Array) -> Array:
        """Return the error of sums of ``terms`` products, where ``magnitude`` is the same sum of absolute values."""
        result: Array = (phi(terms) * self.acc + 2 * self.computes + self.computes**2) * magnitude
        return result

    def rounding(self, result: Array) -> Array:
        """Return the error of rounding a result to its dtype."""
        error: Array = self.out * np.abs(result) + self.smallest
        return error


ErrorBound = Callable[..., Array]


def bound(
    op_name: str,
    operands: Mapping[str, Any],
    attrs: Mapping[str, Any],
    ref64: Array,
    out_dtype: str,
    computes: str | None = None,
    acc_dtype: str = "f32",
    module: str | None = None,
) -> Array:
    """Return the largest error that each element of a result may have; never negative, infinite where anything goes.

    Args: ``operands`` arrays by name (None: not given), ``attrs`` by name, ``ref64`` the unrounded reference, ``out_dtype``
    the word of the result's dtype, ``computes`` what the kernel declares, ``acc_dtype`` what it sums in where the operands
    are narrower. ``module`` is that of the op's reference, for an op that does not ship; it may have an ``error_bound``.
    Where ``ref64`` is not finite the bound means nothing: there a result must be of the same class.

    >>> a = np.ones((1, 4), np.float32)
    >>> bool(bound("matmul", {"a": a, "b": a.T}, {}, np.array([[4.0]]), "f32") < 1e-5)
    True
    """
    given = {name: np.asarray(x) for name, x in operands.items() if x is not None}
    dtype = next((word_of(x.dtype, name) for name, x in given.items()), out_dtype)
    precision = Precision.of(dtype, out_dtype, computes, acc_dtype)
    formula = _formula(module or f"tessera_rules.ops.{op_name}")
    with np.errstate(all="ignore"):
        if formula is None:
            return plain(precision, ref64)
        error = np.asarray(formula(precision, ref64, **given, **attrs), dtype=np.float64)
    return np.where(np.isnan(error), np.inf, error)


def _formula(module: str) -> ErrorBound | None:
    """Return ``error_bound`` of a reference's module. References stand above the oracle, so they are found by name."""
    try:
        found: ErrorBound | None = getattr(importlib.import_module(module), "error_bound", None)
    except ModuleNotFoundError:
        return None
    return found


def plain(precision: Precision, ref64: Array) -> Array:
    """Return a bound for an op without a formula: 64 roundings of each element and of the root mean square of all.

    >>> bool(plain(Precision.of("f32", "f32"), np.array([1.0])) < 1e-5)
    True
    """
    finite = np.abs(ref64[np.isfinite(ref64)])
    scale = float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
    spread = 64 * precision.acc + 2 * precision.computes + precision.computes**2
    result: Array = spread * (np.abs(ref64) + scale) + precision.rounding(ref64)
    return result
