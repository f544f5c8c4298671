"""softmax, rmsnorm, layernorm, pointwise, scaled_matmul and the conversions of the generic C lane."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.kernels.generic_c import (
    ACTS,
    DTYPES,
    FLOATS,
    SUMMED,
    apply,
    assert_within,
    call,
    compiler,
    each,
    f64,
    i32,
    normal,
    nullable,
    phi,
    poisoned,
    strides,
    views,
    wide,
    words,
)  # fmt: skip

pytestmark = compiler
SHAPES = [(1, 1), (3, 7), (5, 8), (2, 1000), (130, 17), (1, 4099)]
FN = (*ACTS, "neg", "abs", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "reciprocal", "softplus", "sign", "add", "sub", "mul", "div", "maximum", "minimum")
RESULTS = {"f64": 0, "f32": 1, "f16": 3, "bf16": 4, "i32": 11}


def rows(symbol: str, x: np.ndarray, dtype: str, *vectors: np.ndarray | None, eps: float | None = None) -> np.ndarray:
    out = poisoned(x.shape, dtype)
    steps = [strides(vector)[0] if vector is not None else 0 for vector in vectors]
    call("x86_norms.c", symbol, dtype, [x, *vectors, out, *x.shape, *strides(x), *steps, *([] if eps is None else [f64(eps)])])
    return out


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_softmax(dtype: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(21)
    for scale in (1, 30):
        x = normal(rng, shape, dtype, scale)
        e = np.exp(wide(x) - wide(x).max(1, keepdims=True))
        want = e / e.sum(1, keepdims=True)
        reach = wide(x).max(1, keepdims=True) - wide(x).min(1, keepdims=True)
        got = rows("tsr_softmax", x, dtype)
        assert_within(got, want, SUMMED[dtype] * (2 * reach + phi(shape[1]) + 8) * want, dtype)
        for view in views(x).values():
            assert rows("tsr_softmax", view, dtype).tobytes() == got.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_of_special_rows(dtype: str) -> None:
    x = np.zeros((5, 12), DTYPES[dtype])
    x[0, 3], x[1, 11], x[2, 0], x[3] = np.nan, np.inf, -np.inf, -np.inf
    got = wide(rows("tsr_softmax", x, dtype))
    assert np.isnan(got[[0, 1, 3]]).all()
    assert got[2, 0] == 0
    assert np.isclose(got[2, 1:], 1 / 11, rtol=2**-7, atol=0).all()
    assert rows("tsr_softmax", x[:0], dtype).shape == (0, 12)
    assert rows("tsr_softmax", x[:, :0], dtype).shape == (5, 0)


def layernorm(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    exact = x.astype(np.longdouble)
    mean, sigma = exact.mean(1, keepdims=True), np.sqrt(exact.var(1, keepdims=True) + eps)
    # The mean's error goes with the sizes that were summed, not with the mean, which they may cancel to.
    return ((exact - mean) / sigma).astype(np.float64), ((np.abs(exact) + np.abs(exact).mean(1, keepdims=True)) / sigma).astype(np.float64)


def rmsnorm(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    sigma = np.sqrt((x * x).mean(1, keepdims=True) + eps)
    return x / sigma, np.abs(x) / sigma


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("given", [(), ("weight",), ("weight", "bias"), ("bias",)], ids=str)
def test_norms(dtype: str, shape: tuple[int, int], given: tuple[str, ...]) -> None:
    rng = np.random.default_rng(22)
    for offset, eps in [(0.0, 1e-6), (50.0, 0.25)]:
        x = (normal(rng, shape, "f64") + offset).astype(DTYPES[dtype])
        weight = normal(rng, shape[1:], dtype) if "weight" in given else None
        bias = normal(rng, shape[1:], dtype) if "bias" in given else None
        w, b = 1.0 if weight is None else wide(weight), 0.0 if bias is None else wide(bias)
        growth = SUMMED[dtype] * (phi(shape[1]) + 8)
        y, size = layernorm(wide(x), eps)
        got = rows("tsr_layernorm", x, dtype, weight, bias, eps=eps)
        assert_within(got, y * w + b, growth * ((size + np.abs(y)) * np.abs(w) + np.abs(b)), dtype)
        turned = [None if vector is None else views(vector)["reversed"] for vector in (weight, bias)]
        assert rows("tsr_layernorm", views(x)["transposed"], dtype, *turned, eps=eps).tobytes() == got.tobytes()
        if bias is None:
            y, size = rmsnorm(wide(x), eps)
            got = rows("tsr_rmsnorm", x, dtype, weight, eps=eps)
            assert_within(got, y * w, growth * (size + np.abs(y)) * np.abs(w), dtype)
            assert rows("tsr_rmsnorm", views(x)["gapped"], dtype, turned[0], eps=eps).tobytes() == got.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_of_ones_have_exact_norms(dtype: str) -> None:
    rng = np.random.default_rng(23)
    x = rng.choice([-1, 1], (7, 64)).astype(DTYPES[dtype])
    assert rows("tsr_rmsnorm", x, dtype, None, eps=0.0).tobytes() == x.tobytes()
    x[:, :32], x[:, 32:] = 1, -1
    assert rows("tsr_layernorm", x, dtype, None, None, eps=0.0).tobytes() == x.tobytes()


REFERENCES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "neg": lambda x, _: -x, "abs": lambda x, _: np.abs(x), "exp": lambda x, _: np.exp(x), "expm1": lambda x, _: np.expm1(x),
    "log": lambda x, _: np.log(x), "log1p": lambda x, _: np.log1p(x), "sqrt": lambda x, _: np.sqrt(x), "rsqrt": lambda x, _: 1 / np.sqrt(x),
    "reciprocal": lambda x, _: 1 / x, "softplus": lambda x, _: np.logaddexp(x, 0), "sign": lambda x, _: np.sign(x),
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "maximum": lambda x, y: np.maximum(x, y), "minimum": lambda x, y: np.minimum(x, y),
}  # fmt: skip


def pointwise(x: np.ndarray, y: np.ndarray | None, fn: tuple[str, ...], dtype: str, status: int = 0) -> np.ndarray:
    out = poisoned(x.shape, dtype)
    steps = [*strides(x), *(strides(y) if y is not None else [0, 0])]
    call("x86_pointwise.c", "tsr_pointwise", dtype, [x, y, out, *x.shape, *steps, words(fn, FN)], status=status)
    return out


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("fn", FN)
def test_pointwise_functions(dtype: str, fn: str) -> None:
    rng = np.random.default_rng(24)
    x = np.concatenate([normal(rng, (40, 30), dtype), normal(rng, (40, 30), dtype, 20), normal(rng, (40, 30), dtype, 1e-4)])
    x[0, :12] = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 80.0, -80.0, 6e-8, -6e-8, 2.0**-24]
    y = normal(rng, x.shape, dtype)
    y[0, :4], y[0, 5:8] = [np.nan, 0.0, 1.0, np.nan], [0.0, np.inf, -np.inf]
    with np.errstate(all="ignore"):
        want = apply(fn, wide(x)) if fn in ACTS else REFERENCES[fn](wide(x), wide(y))
        small = np.abs(wide(x)) if fn in ("gelu", "gelu_erf", "silu", "tanh", "expm1") else 0.0
    limit = 2.0**-53 * 8 * np.abs(np.nan_to_num(want, posinf=0, neginf=0)) + 2.0**-53 * 1e-3 * np.nan_to_num(small, posinf=0, neginf=0)
    if fn in ("gelu", "gelu_erf", "exp"):  # the reference's own argument is rounded: an error that grows with the exponent
        with np.errstate(all="ignore"):
            reach = np.minimum(np.abs(wide(x)) ** 3, 750)
        limit = limit * (1 + np.nan_to_num(reach))
    got = pointwise(x, y, (fn,), dtype)
    assert_within(got, want, limit, dtype)
    assert pointwise(views(x)["transposed"], views(y)["gapped"], (fn,), dtype).tobytes() == got.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_pointwise_chains_run_in_order_and_wide(dtype: str) -> None:
    x, y = np.array([[1.0, -2.0, 3.0]], DTYPES[dtype]), np.array([[4.0, 0.5, -1.0]], DTYPES[dtype])
    assert wide(pointwise(x, y, ("mul", "add", "neg"), dtype)).tolist() == [[-8.0, 0.5, 4.0]]
    assert wide(pointwise(x, y, ("neg", "maximum", "sub"), dtype)).tolist() == [[0.0, 1.5, 0.0]]
    assert pointwise(x, None, (), dtype).tobytes() == x.tobytes()
    large = np.array([[300.0]], DTYPES[dtype])
    assert wide(pointwise(large, None, ("exp", "log"), dtype)).tolist() == [[300.0]]
    pointwise(x, None, ("add",), dtype, status=2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_pointwise_may_write_over_its_operand(dtype: str) -> None:
    rng = np.random.default_rng(25)
    x, y = normal(rng, (3, 700), dtype), normal(rng, (3, 700), dtype)
    want = pointwise(x, y, ("mul", "tanh"), dtype).tobytes()
    for target in (x.copy(), y.copy()):
        a, b = (target, y) if target.tobytes() == x.tobytes() else (x, target)
        call("x86_pointwise.c", "tsr_pointwise", dtype, [a, b, target, 3, 700, 700, 1, 700, 1, words(("mul", "tanh"), FN)])
        assert target.tobytes() == want


@pytest.mark.parametrize("dtype", each("f16", "bf16"))
def test_every_16_bit_number_is_read_and_written_exactly(dtype: str) -> None:
    every = np.arange(65536, dtype=np.uint16).view(DTYPES[dtype]).reshape(256, 256)
    got = pointwise(every, None, ("neg",), dtype)
    assert (np.where(np.isnan(wide(every)), np.isnan(wide(got)), (every.view(np.uint16) ^ 0x8000) == got.view(np.uint16))).all()


def ulps(got: np.ndarray, exact: list[Any]) -> float:
    return max(abs(float((value - float(g)) / math.ulp(float(value)))) if value else 0.0 for g, value in zip(got, exact, strict=True))


@pytest.mark.parametrize("fn", ["exp", "expm1", "tanh"])
def test_own_elementary_functions_are_within_two_units(fn: str) -> None:
    rng = np.random.default_rng(26)
    x = np.concatenate([rng.uniform(-700, 700, 4000), rng.uniform(-2, 2, 4000), rng.standard_normal(2000) * 10.0 ** rng.integers(-30, 0, 2000)])
    x = x if fn != "tanh" else x / 40
    got = pointwise(x[None], None, (fn,), "f64")[0]
    want = [getattr(math, fn)(float(value)) for value in x]
    assert ulps(got, want) <= 3  # math's own is within one


NARROW = ("i8", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz")


def scaled(a: np.ndarray, b: np.ndarray, sa: np.ndarray, sb: np.ndarray, dtype: str, result: str | None) -> np.ndarray:
    out = poisoned((a.shape[0], b.shape[1]), result or ("i32" if dtype == "i8" else "f32"))
    arguments: list[Any] = [a, b, sa, sb, out, a.shape[0], b.shape[1], a.shape[1], *strides(a), *strides(b), *strides(sa), *strides(sb)]
    call("x86_scaled_matmul.c", "tsr_scaled_matmul", dtype, [*arguments, nullable(None if result is None else RESULTS[result], i32)])
    return out


@pytest.mark.parametrize("dtype", each(*NARROW))
@pytest.mark.parametrize("result", [None, *each(*RESULTS)])
def test_scaled_matmul_rounds_the_exact_product_once(dtype: str, result: str | None) -> None:
    rng = np.random.default_rng(27)
    a, b = (rng.integers(0, 256, shape).astype(np.uint8).view(DTYPES[dtype]) for shape in ((9, 33), (33, 21)))
    if dtype != "i8":
        a[~np.isfinite(wide(a))] = 1
        b[~np.isfinite(wide(b))] = 1
    sa, sb = (2.0 ** rng.integers(-3, 2, 9)).astype(np.float32), (2.0 ** rng.integers(-3, 2, 21)).astype(np.float32)
    want = wide(a) @ wide(b) * sa[:, None] * sb[None, :]
    got = scaled(a, b, sa, sb, dtype, result)
    kind = result or ("i32" if dtype == "i8" else "f32")
    if kind == "i32":
        assert (got == np.clip(np.rint(want), -(2**31), 2**31 - 1)).all()
    elif dtype in ("i8", "f8e4m3", "f8e4m3fnuz"):  # sums of f64 are exact here
        with np.errstate(over="ignore"):
            assert got.tobytes() == want.astype(DTYPES[kind]).tobytes()
    else:
        assert_within(got, want, 2.0**-53 * 34 * (np.abs(wide(a)) @ np.abs(wide(b))) * sa[:, None] * sb[None, :], kind)
    for name in views(a):
        assert scaled(views(a)[name], views(b)[name], views(sa)[name], views(sb)[name], dtype, result).tobytes() == got.tobytes()


@pytest.mark.parametrize("dtype", each(*NARROW))
def test_every_narrow_number_is_read_exactly(dtype: str) -> None:
    every = np.arange(256, dtype=np.uint8).view(DTYPES[dtype])[:, None]
    one = np.ones((1, 1), DTYPES[dtype])
    ones = np.ones(256, np.float32)
    got = scaled(every, one, ones, ones[:1], dtype, "f64")[:, 0]
    want = wide(every)[:, 0]
    assert (np.isnan(got) == np.isnan(want)).all()
    assert (got[~np.isnan(want)] == want[~np.isnan(want)]).all()


@pytest.mark.parametrize("result", each("f16", "bf16"))
def test_f64_is_rounded_to_16_bits_once(result: str) -> None:
    """Sums of 28 bits, one above and one below a tie: rounded to f32 on the way they would be the tie, and fall to even."""
    bits = {"f16": 11, "bf16": 8}[result]
    for odd in (2**bits + 1, 2**bits + 3, 2 ** (bits + 1) - 3, 2 ** (bits + 1) - 1):
        for beside in (-1, 0, 1):
            total = odd * 2 ** (27 - bits) + beside
            whole, rest = divmod(total, 127 * 127)
            a = np.array([[127] * whole + [rest // 127, 1]], np.int8)
            b = np.array([[127]] * (whole + 1) + [[rest % 127]], np.int8)
            got = wide(scaled(a, b, np.array([2.0**-27], np.float32), np.ones(1, np.float32), "i8", result))[0, 0]
            assert got == float(np.rint((odd + beside / 2**10) / 2)) * 2.0 ** (1 - bits)


def test_i32_takes_the_nearest_end() -> None:
    a, one = np.full((1, 1), 100, np.int8), np.ones(1, np.float32)
    for scale, want in [(1e9, 2**31 - 1), (-1e9, -(2**31)), (np.nan, 0), (0.0025, 0), (0.0175, 2), (0.025, 3), (0.02, 2)]:
        assert scaled(a, np.ones((1, 1), np.int8), np.array([scale], np.float32), one, "i8", "i32")[0, 0] == want
