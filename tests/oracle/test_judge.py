"""What passes and what never does."""

from __future__ import annotations

import numpy as np
import pytest

from tessera_rules.oracle.judge import judge

F8 = np.dtype(np.float64)
REFERENCE = np.array([[1.0, 2.0], [3.0, np.nan]])


def test_a_right_result_is_right() -> None:
    found = judge(REFERENCE.copy(), REFERENCE, 0.0, F8)
    assert found.ok
    assert found.max_error == 0.0


@pytest.mark.parametrize(
    "result",
    [
        REFERENCE[None],
        np.float64(1.0),
        REFERENCE.astype(np.float32),
        REFERENCE.tolist(),
        None,
        np.where(np.isnan(REFERENCE), 0.0, REFERENCE),
        np.where(REFERENCE == 2.0, np.nan, REFERENCE),
        np.where(REFERENCE == 2.0, np.inf, REFERENCE),
        REFERENCE + 0.2,
        REFERENCE.T,
    ],
    ids=["a leading axis", "a scalar", "another dtype", "a list", "nothing", "NaN lost", "NaN made", "infinity made", "too far", "transposed"],
)
def test_T22_a_wrong_result_never_passes(result: object) -> None:
    found = judge(result, REFERENCE, 0.1, F8)
    assert not found.ok
    assert found.why


def test_nan_in_the_bound_never_passes() -> None:
    assert not judge(np.array([1.0]), np.array([1.0]), np.nan, F8).ok


def test_infinities_have_their_sign() -> None:
    reference = np.array([np.inf, -np.inf])
    assert judge(reference.copy(), reference, 1.0, F8).ok
    assert not judge(-reference, reference, 1.0, F8).ok


def test_what_overflows_the_dtype_becomes_its_infinity() -> None:
    half = np.dtype(np.float16)
    reference = np.array([1e6, 1.0])
    assert judge(np.array([np.inf, 1.0], half), reference, 1e-3, half).ok
    assert not judge(np.array([-np.inf, 1.0], half), reference, 1e-3, half).ok
    assert not judge(np.array([60000.0, 1.0], half), reference, 1e-3, half).ok


def test_the_worst_element_is_named() -> None:
    found = judge(np.array([1.0, 2.5, 3.3]), np.array([1.0, 2.0, 3.0]), 0.1, F8)
    assert found.place == (1,)
    assert found.max_error == pytest.approx(0.5)
    assert "2 of 3" in (found.why or "")


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "?"])
def test_integers_past_their_range_are_wrong_and_no_error(dtype: str) -> None:
    reference = np.array([1.0, 300.0 if dtype != "i4" else 3e9])
    assert not judge(np.array([1, 0]).astype(dtype), reference, 0.5, np.dtype(dtype)).ok
    assert judge(np.array([1, 0]).astype(dtype), np.array([1.0, 0.0]), 0.5, np.dtype(dtype)).ok
