"""matmul, batched_matmul, gemm, gated_matmul and fused_matmul of the generic C lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernels.generic_c import (
    ACTS,
    DTYPES,
    FLOATS,
    STORED,
    SUMMED,
    apply,
    assert_within,
    call,
    compiler,
    each,
    f64,
    i32,
    normal,
    phi,
    poisoned,
    strides,
    views,
    wide,
    words,
)  # fmt: skip

pytestmark = compiler
EPILOGUE = ("bias", *ACTS)
REDUCTIONS = ("none", "softmax", "rmsnorm", "layernorm")
SHAPES = [(1, 1, 1), (1, 67, 5), (3, 1, 300), (7, 33, 13), (8, 16, 256), (9, 31, 257), (131, 17, 3), (5, 129, 513)]


def matmul(a: np.ndarray, b: np.ndarray, dtype: str) -> np.ndarray:
    out = poisoned((a.shape[0], b.shape[1]), dtype)
    call("x86_matmul.c", "tsr_matmul", dtype, [a, b, out, a.shape[0], b.shape[1], a.shape[1], *strides(a), *strides(b)])
    return out


def bound(a: np.ndarray, b: np.ndarray, dtype: str) -> np.ndarray:
    return phi(a.shape[1]) * SUMMED[dtype] * (np.abs(wide(a)) @ np.abs(wide(b)))


def exact(rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> np.ndarray:
    bits = {"f64": 26, "f32": 12, "f16": 11, "bf16": 8}[dtype]
    odd = (2 * rng.integers(2 ** (bits - 2), 2 ** (bits - 1), shape) + 1) * rng.choice([-1, 1], shape)
    return (odd * (2.0**-6 if dtype == "f16" else 1)).astype(DTYPES[dtype])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_matmul_of_normal_numbers_is_inside_the_bound(dtype: str, shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(1)
    M, N, K = shape
    a, b = normal(rng, (M, K), dtype), normal(rng, (K, N), dtype)
    assert_within(matmul(a, b, dtype), wide(a) @ wide(b), bound(a, b, dtype), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul_of_wide_integers_and_signs_is_bit_equal(dtype: str) -> None:
    rng = np.random.default_rng(2)
    for M, N, K in [(13, 37, 130), (4, 64, 1), (33, 8, 700)]:
        a = exact(rng, (M, K), dtype)
        b = rng.choice([-1, 1], (K, N)).astype(DTYPES[dtype])
        want = (wide(a) @ wide(b)).astype(DTYPES[dtype])
        assert matmul(a, b, dtype).tobytes() == want.tobytes()
        assert matmul(b.T, a.T, dtype).tobytes() == np.ascontiguousarray(want.T).tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul_serves_views_of_any_strides(dtype: str) -> None:
    rng = np.random.default_rng(3)
    a, b = normal(rng, (11, 19), dtype), normal(rng, (19, 35), dtype)
    want = matmul(a, b, dtype)
    for left in views(a).values():
        for right in views(b).values():
            assert matmul(left, right, dtype).tobytes() == want.tobytes()
    row, column = np.broadcast_to(a[:1], (6, 19)), np.broadcast_to(b[:, :1], (19, 21))
    assert matmul(row, column, dtype).tobytes() == matmul(row.copy(), column.copy(), dtype).tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul_of_nothing(dtype: str) -> None:
    empty = np.zeros((300, 0), DTYPES[dtype])
    assert (wide(matmul(empty, empty.T[:, :7], dtype)) == 0).all()
    full = np.ones((3, 4), DTYPES[dtype])
    assert matmul(full[:0], full.T, dtype).shape == (0, 3)
    assert matmul(full, full.T[:, :0], dtype).shape == (3, 0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul_propagates_nan_and_infinity(dtype: str) -> None:
    a, b = np.ones((5, 40), DTYPES[dtype]), np.ones((40, 9), DTYPES[dtype])
    a[1, 3], a[2, 39], b[7, 8], b[0, 0], a[3, 0] = np.nan, np.inf, -np.inf, 0, np.inf
    with np.errstate(invalid="ignore"):
        assert_within(matmul(a, b, dtype), wide(a) @ wide(b), 0, dtype)


@pytest.mark.parametrize("dtype", each("f16", "bf16"))
def test_sums_round_to_nearest_even_at_every_binade(dtype: str) -> None:
    """x + y with y half a unit, or a little more or less, of x: one f32 sum each, so that the store's rounding is all there is."""
    rng = np.random.default_rng(4)
    u = STORED[dtype]
    top = {"f16": 15, "bf16": 120}[dtype]
    x = (1 + 2 * u * rng.integers(0, int(1 / (2 * u)), 4000)) * 2.0 ** rng.integers(-top + 1, top, 4000) * rng.choice([-1, 1], 4000)
    y = np.abs(x) * 0 + 2.0 ** np.floor(np.log2(np.abs(x))) * u * rng.choice([1, 1.25, 0.75, -0.5], 4000)
    pairs = np.stack([x, y], 1).astype(DTYPES[dtype])
    ones = np.ones((2, 1), DTYPES[dtype])
    want = (wide(pairs).sum(1)).astype(np.float32).astype(DTYPES[dtype])
    assert (matmul(pairs, ones, dtype)[:, 0].view(np.uint16) == want.view(np.uint16)).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_batched_matmul(dtype: str) -> None:
    rng = np.random.default_rng(5)
    a, b = normal(rng, (3, 9, 14), dtype), normal(rng, (3, 14, 21), dtype)
    for left, right in [(a, b), *zip(views(a).values(), views(b).values(), strict=True), (np.broadcast_to(a[:1], a.shape), b)]:
        out = poisoned((3, 9, 21), dtype)
        call("x86_matmul.c", "tsr_batched_matmul", dtype, [left, right, out, 3, 9, 21, 14, *strides(left), *strides(right)])
        for one, x, y in zip(out, left, right, strict=True):
            assert_within(one, wide(x) @ wide(y), bound(x, y, dtype), dtype)


def gemm(a: np.ndarray, b: np.ndarray, c: np.ndarray, alpha: float, beta: float, dtype: str) -> None:
    arguments: list[Any] = [a, b, c, a.shape[0], b.shape[1], a.shape[1], *strides(a), *strides(b), *strides(c), f64(alpha), f64(beta)]
    call("x86_matmul.c", "tsr_gemm", dtype, arguments)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (0.5, 2.0), (-1.25, 1.0), (0.0, 0.75), (2.0, -0.1)])
def test_gemm_in_place_and_in_any_view_of_c(dtype: str, alpha: float, beta: float) -> None:
    rng = np.random.default_rng(6)
    a, b, c = normal(rng, (9, 70), dtype), normal(rng, (70, 23), dtype), normal(rng, (9, 23), dtype)
    product = wide(a) @ wide(b)
    limit = abs(alpha) * bound(a, b, dtype) + 4 * SUMMED[dtype] * np.abs(beta * wide(c))
    for view in [c.copy(), *views(c).values()]:
        gemm(a, b, view, alpha, beta, dtype)
        assert_within(view, alpha * product + beta * wide(c), limit, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_gemm_does_not_read_c_without_beta_and_multiplies_by_an_alpha_of_0(dtype: str) -> None:
    ones, nan = np.ones((3, 3), DTYPES[dtype]), np.full((3, 3), np.nan, DTYPES[dtype])
    c = nan.copy()
    gemm(ones, ones, c, 1.0, 0.0, dtype)
    assert (wide(c) == 3).all()
    c = ones.copy()
    gemm(nan, ones, c, 0.0, 2.0, dtype)
    assert np.isnan(wide(c)).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("gate", ACTS)
def test_gated_matmul(dtype: str, gate: str) -> None:
    rng = np.random.default_rng(7)
    a, wg, wu = normal(rng, (10, 40), dtype), normal(rng, (40, 37), dtype, 0.3), normal(rng, (40, 37), dtype, 0.3)
    g, u = wide(a) @ wide(wg), wide(a) @ wide(wu)
    limit = 1.2 * bound(a, wg, dtype) * np.abs(u) + bound(a, wu, dtype) * np.abs(apply(gate, g)) + 16 * SUMMED[dtype] * np.abs(g * u)
    for x, y, z in [(a, wg, wu), (views(a)["transposed"], views(wg)["transposed"], views(wu)["reversed"])]:
        out = poisoned((10, 37), dtype)
        call("x86_matmul.c", "tsr_gated_matmul", dtype, [x, y, z, out, 10, 37, 40, *strides(x), *strides(y), *strides(z), i32(ACTS.index(gate))])
        assert_within(out, apply(gate, g) * u, limit, dtype)


def fused(a: np.ndarray, b: np.ndarray, dtype: str, *, bias: np.ndarray | None = None, residual: np.ndarray | None = None, prologue: tuple[str, ...] = (),
          epilogue: tuple[str, ...] = (), reduction: str = "none", eps: float = 1e-6, status: int = 0) -> np.ndarray:  # fmt: skip
    (M, K), N = a.shape, b.shape[1]
    out = poisoned((M, N), dtype)
    steps = [*strides(a), *strides(b), *(strides(bias) if bias is not None else [0]), *(strides(residual) if residual is not None else [0, 0])]
    lists = [words(prologue, ACTS), words(epilogue, EPILOGUE), i32(REDUCTIONS.index(reduction)), f64(eps)]
    call("x86_fused_matmul.c", "tsr_fused_matmul", dtype, [a, b, bias, residual, out, M, N, K, *steps, *lists], status=status)
    return out


def fused_wide(a: np.ndarray, b: np.ndarray, bias: Any, residual: Any, prologue: Any, epilogue: Any, reduction: str, eps: float) -> np.ndarray:
    x = wide(a)
    for act in prologue:
        x = apply(act, x)
    y = x @ wide(b)
    for step in epilogue:
        y = y + wide(bias) if step == "bias" else apply(step, y)
    y = y if residual is None else y + wide(residual)
    if reduction == "softmax":
        e = np.exp(y - y.max(1, keepdims=True))
        return np.asarray(e / e.sum(1, keepdims=True))
    if reduction == "rmsnorm":
        return np.asarray(y / np.sqrt((y * y).mean(1, keepdims=True) + eps))
    if reduction == "layernorm":
        return np.asarray((y - y.mean(1, keepdims=True)) / np.sqrt(y.var(1, keepdims=True) + eps))
    return y


FUSIONS: list[dict[str, Any]] = [
    {"epilogue": ("bias",)}, {"epilogue": ("bias", "gelu")}, {"epilogue": ("silu", "bias", "tanh")}, {"epilogue": ("relu", "sigmoid", "gelu_erf", "bias")},
    {"prologue": ("gelu", "tanh")}, {"prologue": ("relu",), "epilogue": ("bias",), "residual": True}, {"reduction": "softmax"},
    {"epilogue": ("bias",), "reduction": "rmsnorm", "eps": 0.5}, {"epilogue": ("tanh", "bias"), "reduction": "layernorm"}, {"residual": True},
]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("fusion", FUSIONS, ids=lambda f: "-".join(str(v) for v in f.values()))
def test_fused_matmul_in_any_order(dtype: str, fusion: dict[str, Any]) -> None:
    rng = np.random.default_rng(8)
    a, b = normal(rng, (21, 50), dtype), normal(rng, (50, 45), dtype, 0.3)
    epilogue, prologue, reduction, eps = fusion.get("epilogue", ()), fusion.get("prologue", ()), fusion.get("reduction", "none"), fusion.get("eps", 1e-6)
    bias = normal(rng, (45,), dtype) if "bias" in epilogue else None
    residual = normal(rng, (21, 45), dtype) if fusion.get("residual") else None
    want = fused_wide(a, b, bias, residual, prologue, epilogue, reduction, eps)
    # Acts and norms of these numbers stretch an error by less than 4 in all.
    limit = 4 * (bound(a, b, dtype).max() + 40 * SUMMED[dtype])
    got = fused(a, b, dtype, bias=bias, residual=residual, prologue=prologue, epilogue=epilogue, reduction=reduction, eps=eps)
    assert_within(got, want, limit, dtype)
    turned = {"bias": None if bias is None else views(bias)["reversed"], "residual": None if residual is None else views(residual)["transposed"]}
    again = fused(views(a)["gapped"], views(b)["transposed"], dtype, prologue=prologue, epilogue=epilogue, reduction=reduction, eps=eps, **turned)
    assert again.tobytes() == got.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_fused_matmul_with_no_depth_still_runs_its_epilogue(dtype: str) -> None:
    a, b, bias = np.zeros((140, 0), DTYPES[dtype]), np.zeros((0, 5), DTYPES[dtype]), np.arange(5).astype(DTYPES[dtype])
    assert (wide(fused(a, b, dtype, bias=bias, epilogue=("bias",))) == np.arange(5)).all()
    assert (wide(fused(a, b, dtype, reduction="softmax")) == wide(np.array(0.2).astype(DTYPES[dtype]))).all()


def test_fused_matmul_declines_a_bias_that_is_not_there() -> None:
    one = np.ones((1, 1))
    fused(one, one, "f64", epilogue=("bias",), status=2)


def test_a_wide_row_is_reduced_whole() -> None:
    rng = np.random.default_rng(9)
    a, b = normal(rng, (6, 3), "f32"), normal(rng, (3, 150_001), "f32", 0.01)
    got = fused(a, b, "f32", reduction="softmax")
    assert_within(got, fused_wide(a, b, None, None, (), (), "softmax", 0), 1e-14, "f32")


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_rows_bits_do_not_depend_on_the_rows_beside_it(dtype: str) -> None:
    """What `batch_invariant` promises: one row alone takes another path through the code, and gives the same bits."""
    rng = np.random.default_rng(10)
    a, b, bias = normal(rng, (131, 300), dtype), normal(rng, (300, 70), dtype), normal(rng, (70,), dtype)
    whole, fused_whole = matmul(a, b, dtype), fused(a, b, dtype, bias=bias, epilogue=("bias", "gelu"), reduction="softmax")
    for rows in (slice(0, 1), slice(4, 6), slice(127, 130), slice(130, 131), slice(9, 18)):
        assert matmul(a[rows], b, dtype).tobytes() == whole[rows].tobytes()
        assert matmul(a[rows], views(b)["transposed"], dtype).tobytes() == whole[rows].tobytes()
        assert fused(a[rows], b, dtype, bias=bias, epilogue=("bias", "gelu"), reduction="softmax").tobytes() == fused_whole[rows].tobytes()
