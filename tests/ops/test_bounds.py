"""Bounds: the formulas by hand, what they must let pass, and that they leave no room for what is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tessera_rules.bind.arrays import dtype_of
from tessera_rules.ops import OPS, reference64_of
from tessera_rules.oracle.bounds import Precision, bound, phi, plain, roundoff
from tests.conformance import base

U32, U64, UB16 = 2.0**-24, 2.0**-53, 2.0**-8


def test_unit_roundoffs_are_those_of_the_design() -> None:
    words = {"f64": -53, "f32": -24, "tf32": -11, "f16": -11, "bf16": -8, "f8e4m3": -4, "f8e5m2": -3}
    assert {word: math.log2(roundoff(word)) for word in words} == words


def test_the_bound_of_a_product_is_its_formula() -> None:
    a, b = np.full((1, 100), 2.0, np.float32), np.full((100, 1), -3.0, np.float32)
    result = np.array([[-600.0]])
    eta = 2.0**-149
    assert bound("matmul", {"a": a, "b": b}, {}, result, "f32").item() == pytest.approx(60 * (U32 + U64) * 600 + U32 * 600 + eta, rel=1e-12)
    computes = 2 * 2.0**-11 + 2.0**-22
    assert bound("matmul", {"a": a, "b": b}, {}, result, "f32", "tf32").item() == pytest.approx((60 * (U32 + U64) + computes) * 600 + U32 * 600, rel=1e-9)
    assert bound("matmul", {"a": a, "b": b}, {}, result, "f32", acc_dtype="f64").item() == pytest.approx(60 * 2 * U64 * 600 + U32 * 600, rel=1e-12)


def test_f64_is_summed_in_f64_whatever_is_said() -> None:
    x = np.ones((1, 4))
    assert bound("matmul", {"a": x, "b": x.T}, {}, np.array([[4.0]]), "f64").item() < 1e-13


def test_a_class_that_holds_the_dtype_costs_nothing() -> None:
    assert Precision.of("bf16", "bf16", "f32").computes == 0
    assert Precision.of("f32", "f32", "tf32").computes == 2.0**-11
    assert Precision.of("f16", "f16", "bf16").computes == UB16


def test_beta_and_alpha_scale_the_bound_of_gemm() -> None:
    one, c = np.ones((1, 1), np.float32), np.full((1, 1), 1000.0, np.float32)
    small = bound("gemm", {"a": one, "b": one, "c": c}, {"alpha": 1.0, "beta": 0.0}, np.array([[1.0]]), "f32").item()
    assert bound("gemm", {"a": one, "b": one, "c": c}, {"alpha": 1.0, "beta": 1.0}, np.array([[1.0]]), "f32").item() > small + 1000 * U32
    assert bound("gemm", {"a": one, "b": one, "c": c}, {"alpha": 8.0, "beta": 0.0}, np.array([[1.0]]), "f32").item() > 7 * (small - U32)


def test_integers_are_exact_but_for_their_rounding() -> None:
    a = np.full((1, 3000), 127, np.int8)
    one = np.ones(1, np.float32)
    limit = bound("scaled_matmul", {"a": a, "b": a.T, "scale_a": one, "scale_b": one}, {}, np.array([[3000 * 127.0**2]]), "i32").item()
    assert 0.5 <= limit < 0.5 + 4 * U32 * 3000 * 127**2 + 1e-6


def test_an_op_without_a_formula_has_the_plain_bound() -> None:
    reference = np.array([1.0, -2.0, np.inf])
    assert (bound("cube", {}, {}, reference, "f32")[:2] == plain(Precision.of("f32", "f32"), reference)[:2]).all()
    assert (bound("cube", {"x": np.ones(3, np.float32)}, {}, reference, "f32", module="no.such.module")[:2] < 1e-4).all()


def test_sums_are_allowed_more_as_their_root() -> None:
    assert phi(400) == 2 * phi(100)
    assert phi(0) == phi(1) == 6


def _cases() -> list[Any]:
    cases = []
    for op in OPS:
        suite = base.SUITES[op]
        cases += [(op, dtype) for dtype in suite.dtypes if dtype != "f8e5m2fnuz"]
    return cases


@pytest.mark.parametrize(("op", "dtype"), _cases())
def test_T20_no_bound_lets_zeros_or_a_fiftieth_more_pass(op: str, dtype: str) -> None:
    """On ordinary values a result of zeros and one that is off by a fiftieth (a sixteenth in bf16) lie outside the bound."""
    suite = base.SUITES[op]()
    for attrs in suite.attributes:
        operands = suite.operands(suite.rng("vacuous"), suite.middle, dtype, attrs)
        plain_attrs = {name: value for name, value in attrs.items() if name not in ("mask", "residual")}
        expected = reference64_of(op)(**operands, **plain_attrs)
        limit = bound(op, operands, plain_attrs, expected, suite.result_dtype(operands, attrs))
        if suite.result_dtype(operands, attrs) == "i32" and dtype != "i8":
            continue  # results of a few units, which half a unit of rounding drowns
        there = np.isfinite(expected) & (np.abs(expected) > 1e-2 * np.abs(expected[np.isfinite(expected)]).max())
        assert there.any()
        off = 0.02 if dtype != "bf16" and attrs.get("out") != "bf16" else 0.06
        if dtype == "bf16" and attrs.get("prologue") and attrs.get("reduction"):
            off = 0.2  # a prologue that is rounded to 8 bits, and then centred: honest kernels are off by that much
        caught = np.mean(np.abs(off * expected[there]) > limit[there])
        assert caught > 0.7, f"{attrs}: only {caught:.0%} of what is off by {off} is outside the bound"
        assert np.mean(np.abs(expected[there]) > limit[there]) > 0.97


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_bound_holds_for_sums_in_any_order(dtype: str) -> None:
    """f32 sums forwards, backwards, pairwise and in blocks, of K up to 4096, normal values and outliers."""
    rng = np.random.default_rng(5)
    for terms in (1, 2, 10, 100, 1000, 4096):
        a = rng.standard_normal((8, terms)).astype(dtype_of(dtype))
        b = rng.standard_normal((terms, 8)).astype(dtype_of(dtype))
        a[:, ::97] = (a[:, ::97].astype(np.float32) * 100).astype(a.dtype)
        expected = reference64_of("matmul")(a, b)
        limit = bound("matmul", {"a": a, "b": b}, {}, expected, dtype)
        products = a.astype(np.float32)[:, :, None] * b.astype(np.float32)[None]
        forwards = np.cumsum(products, axis=1, dtype=np.float32)[:, -1]
        backwards = np.cumsum(products[:, ::-1], axis=1, dtype=np.float32)[:, -1]
        for result in (forwards, backwards, products.sum(axis=1, dtype=np.float32), a.astype(np.float32) @ b.astype(np.float32)):
            assert (np.abs(result.astype(dtype_of(dtype)).astype(np.float64) - expected) <= limit).all()


def test_sums_in_16_bits_are_outside() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((8, 512)).astype(np.float16), rng.standard_normal((512, 8)).astype(np.float16)
    expected = reference64_of("matmul")(a, b)
    result = np.cumsum(a[:, :, None] * b[None], axis=1, dtype=np.float16)[:, -1]
    limit = bound("matmul", {"a": a, "b": b}, {}, expected, "f16")
    assert np.mean(np.abs(result.astype(np.float64) - expected) > limit) > 0.5
