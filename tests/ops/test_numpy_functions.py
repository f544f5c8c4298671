"""The functions of the NumPy lanes over the range of f32 and f64, against the C library in float64."""

from __future__ import annotations

import numpy as np
import pytest

from tessera_rules.kernels.x86.numpy_functions import UNARY
from tessera_rules.ops.functions import UNARY as WIDE

TINY = 2.0**-126


def arguments(dtype: type) -> np.ndarray:
    rng = np.random.default_rng(11)
    powers = 10.0 ** np.linspace(-37, 37, 1501)
    return np.concatenate([np.linspace(-120, 120, 40001), 3 * rng.standard_normal(40000), powers, -powers]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("word", UNARY)
def test_within_four_units_in_the_last_place(word: str, dtype: type) -> None:
    """8 unit roundoffs of the result; gelu, gelu_erf and silu one of x besides."""
    x = arguments(dtype)
    with np.errstate(all="ignore"):
        result = x.copy()
        UNARY[word](result)
        wanted = WIDE[word](x.astype(np.float64))
    u = 2.0**-24 if dtype is np.float32 else 2.0**-53
    there = np.isfinite(wanted) & (np.abs(wanted) < (3.4e38 if dtype is np.float32 else 1e308))
    slack = np.abs(x[there]) if word in ("gelu", "gelu_erf", "silu") else 0.0
    assert (np.abs(result[there] - wanted[there]) <= u * (8 * np.abs(wanted[there]) + slack) + TINY).all()
    assert (np.isnan(result) == np.isnan(wanted)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("word", UNARY)
def test_special_values_are_those_of_the_reference(word: str, dtype: type) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
    with np.errstate(all="ignore"):
        result = x.copy()
        UNARY[word](result)
        wanted = WIDE[word](x.astype(np.float64))
    assert np.allclose(result, wanted, rtol=1e-6, atol=0, equal_nan=True)
