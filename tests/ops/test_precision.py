"""Operands are widened exactly and results rounded once, to nearest and ties to even, in every dtype."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tessera_rules.bind.arrays import dtype_of
from tessera_rules.dtypes import FORMATS
from tessera_rules.ops.precision import rounded, widened

NARROW = ("f16", "bf16", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz")


def every_value(dtype: str) -> np.ndarray:
    """Return all finite values of a dtype of 8 bits, or a spread of those of 16."""
    bits = FORMATS[dtype].bits
    codes = np.arange(0, 2**bits, 1 if bits == 8 else 37).astype(np.uint8 if bits == 8 else np.uint16)
    with np.errstate(invalid="ignore"):
        values = codes.view(dtype_of(dtype)).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


@pytest.mark.parametrize("dtype", NARROW)
def test_widening_is_exact(dtype: str) -> None:
    values = every_value(dtype)
    narrow = values.astype(dtype_of(dtype))
    assert (widened(narrow) == values).all()
    assert widened(narrow).dtype == np.float64


@pytest.mark.parametrize("dtype", NARROW)
def test_rounding_is_done_once(dtype: str) -> None:
    """Just past the middle of two neighbours: rounding to f32 on the way would fall back to the middle, then to the even one."""
    bits = FORMATS[dtype].bits
    codes = np.arange(3, 2 ** (bits - 1) - 2, 1 if bits == 8 else 37).astype(np.uint8 if bits == 8 else np.uint16)
    with np.errstate(invalid="ignore"):
        low, high = (part.astype(codes.dtype).view(dtype_of(dtype)).astype(np.float64) for part in (codes, codes + 1))
    ok = np.isfinite(low) & np.isfinite(high) & (low > 0) & (low > 2.0**-120)
    codes, low, high = codes[ok], low[ok], high[ok]
    middle = (low + high) / 2
    assert all(Fraction(float(m)) == (Fraction(float(a)) + Fraction(float(b))) / 2 for m, a, b in zip(middle, low, high, strict=True))
    for value, wanted in ((middle * (1 + 2.0**-50), high), (middle * (1 - 2.0**-50), low), (middle, np.where(codes % 2 == 0, low, high))):
        assert (rounded(value, dtype).astype(np.float64) == wanted).all()
        assert (rounded(-value, dtype).astype(np.float64) == -wanted).all()


def test_integers_round_to_even_and_saturate() -> None:
    values = np.array([0.5, 1.5, -0.5, -1.5, 2.0**31, -(2.0**40), np.inf, -np.inf, np.nan, 2.0**31 - 0.5])
    assert rounded(values, "i32").tolist() == [0, 2, 0, -2, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0, 2**31 - 1]
    assert rounded(np.array([2.0**63, -(2.0**63), 1e300]), "i64").tolist() == [2**63 - 1, -(2**63), 2**63 - 1]


def test_overflow_is_infinite_without_a_warning() -> None:
    with np.errstate(all="raise"):
        assert rounded(np.array([1e300, -1e300]), "f32").tolist() == [np.inf, -np.inf]
        assert rounded(np.array([1e6]), "f16").tolist() == [np.inf]
