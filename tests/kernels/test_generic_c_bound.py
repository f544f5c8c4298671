"""The generic C lane as the shipped rules bind it: every op, dtype and argument through `bind source`, against the references."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from tessera_rules.bind.bound import Bound, bind
from tessera_rules.bind.operands import bind_operands
from tessera_rules.model.load import load
from tessera_rules.model.values import Ruleset
from tessera_rules.ops import reference64_of
from tessera_rules.resources import rules_folder
from tests.kernels.generic_c import DTYPES, FLOATS, STORED, compiler, each, normal

pytestmark = compiler
RULES = rules_folder()
M, N, K = 13, 21, 34
EVERY_ACT = ["relu", "gelu", "gelu_erf", "silu", "sigmoid", "tanh"]


@functools.cache
def shipped() -> Ruleset:
    return load([RULES]).ruleset_or_raise()


@functools.cache
def kernel(op: str, dtype: str) -> Bound:
    candidate = shipped().candidates[f"x86_generic_{op}_{dtype}"]
    found = bind(candidate, shipped().ops[op])
    assert isinstance(found, Bound), found
    return found


def run(op: str, dtype: str, operands: dict[str, Any], attributes: dict[str, Any]) -> tuple[Any, Any]:
    """The kernel's result and the reference's, unrounded."""
    want = reference64_of(op)(**operands, **attributes)
    bound_operands = bind_operands(shipped().ops[op], (), operands, attributes, "x86")
    return kernel(op, dtype).call(operands, bound_operands.request, poison=True), want


def assert_like(got: np.ndarray, want: np.ndarray, u: float) -> None:
    """Within 16 units of the largest element: what is passed wrongly is far outside, and the tight bounds are in the other tests."""
    assert got.shape == want.shape
    got = got.astype(np.complex128 if got.dtype.kind == "c" else np.float64)
    limit = 16 * max(u, 2.0**-26 if u >= 2.0**-11 else 0) * np.abs(want).max(initial=1e-30)
    assert (np.abs(got - want) <= limit).all()


def numbers(dtype: str, *shape: int, scale: float = 0.5) -> np.ndarray:
    return normal(np.random.default_rng(sum(shape)), shape, dtype, scale)


def turned(x: np.ndarray) -> np.ndarray:
    """The same numbers in an array whose strides are backwards and in another order."""
    return np.ascontiguousarray(x.T[::-1])[::-1].T


CASES: list[tuple[str, dict[str, tuple[int, ...]], dict[str, Any]]] = [
    ("matmul", {"a": (M, K), "b": (K, N)}, {}),
    ("batched_matmul", {"a": (3, M, K), "b": (3, K, N)}, {}),
    ("gemm", {"a": (M, K), "b": (K, N), "c": (M, N)}, {"alpha": -0.75, "beta": 1.5}),
    ("gemm", {"a": (M, K), "b": (K, N), "c": (M, N)}, {}),
    ("fused_matmul", {"a": (M, K), "b": (K, N)}, {}),
    ("fused_matmul", {"a": (M, K), "b": (K, N), "bias": (N,), "residual": (M, N)}, {"prologue": ["silu"], "epilogue": [*EVERY_ACT, "bias", "gelu_erf"]}),
    ("fused_matmul", {"a": (M, K), "b": (K, N), "bias": (N,)}, {"epilogue": ["tanh", "bias"], "reduction": "layernorm", "eps": 0.5}),
    ("fused_matmul", {"a": (M, K), "b": (K, N)}, {"prologue": EVERY_ACT, "reduction": "softmax"}),
    ("fused_matmul", {"a": (M, K), "b": (K, N)}, {"reduction": "rmsnorm", "eps": 0.25}),
    *[("gated_matmul", {"a": (M, K), "wg": (K, N), "wu": (K, N)}, {"gate": gate}) for gate in ("silu", "relu", "gelu_erf")],
    ("attention", {"q": (2, 4, 9, 6), "k": (2, 2, 15, 6), "v": (2, 2, 15, 5)}, {}),
    ("attention", {"q": (2, 4, 9, 6), "k": (2, 2, 15, 6), "v": (2, 2, 15, 5), "mask": (9, 15)}, {"causal": True, "scale": 0.8, "softcap": 0.7, "window": 4}),
    ("attention", {"q": (2, 4, 9, 6), "k": (2, 2, 15, 6), "v": (2, 2, 15, 5)}, {"window": 3}),
    ("softmax", {"x": (M, N)}, {}),
    ("rmsnorm", {"x": (M, N)}, {"eps": 0.25}),
    ("rmsnorm", {"x": (M, N), "weight": (N,)}, {}),
    ("layernorm", {"x": (M, N)}, {}),
    ("layernorm", {"x": (M, N), "weight": (N,), "bias": (N,)}, {"eps": 0.5}),
    ("layernorm", {"x": (M, N), "bias": (N,)}, {}),
    ("pointwise", {"x": (M, N), "y": (M, N)}, {"fn": ["mul", "exp", "maximum", "sign", "sub", "minimum", "softplus"]}),
    ("pointwise", {"x": (M, N)}, {"fn": ["abs", "rsqrt", "log1p"]}),
]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("op", "shapes", "attributes"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_bound_kernels_are_passed_what_their_op_says(op: str, shapes: dict[str, tuple[int, ...]], attributes: dict[str, Any], dtype: str) -> None:
    operands = {name: numbers(dtype, *shape) for name, shape in shapes.items()}
    for layout in (np.ascontiguousarray, turned):
        placed = {name: layout(x).copy() if name == "c" and layout is np.ascontiguousarray else layout(x) for name, x in operands.items()}
        got, want = run(op, dtype, placed, attributes)
        assert_like(got, want, STORED[dtype])


@pytest.mark.parametrize("dtype", each("i8", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz"))
@pytest.mark.parametrize("out", [None, *each("f64", "f32", "f16", "bf16", "i32")])
def test_bound_scaled_matmul(dtype: str, out: str | None) -> None:
    rng = np.random.default_rng(41)
    a, b = (np.rint(8 * rng.standard_normal(shape)).astype(DTYPES[dtype]) for shape in ((M, K), (K, N)))
    scales = {"scale_a": rng.random(M).astype(np.float32), "scale_b": rng.random(2 * N).astype(np.float32)[::2]}
    got, want = run("scaled_matmul", dtype, {"a": a, "b": turned(b), **scales}, {} if out is None else {"out": out})
    kind = out or ("i32" if dtype == "i8" else "f32")
    assert got.dtype == DTYPES[kind]
    assert_like(got, np.rint(want) if kind == "i32" else want, STORED.get(kind, 0.0))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("attributes", [{}, {"scale": 0.9, "softcap": 0.8}], ids=str)
def test_bound_paged_attention(dtype: str, attributes: dict[str, Any]) -> None:
    operands = {
        "q": numbers(dtype, 3, 4, 10), "pages_k": numbers(dtype, 5, 4, 2, 10), "pages_v": turned(numbers(dtype, 5, 4, 2, 10)),
        "table": np.array([[4, 1], [0, 0], [3, 99]], np.int32), "lengths": np.array([7, 0, 4], np.int32),
    }  # fmt: skip
    got, want = run("paged_attention", dtype, operands, attributes)
    assert_like(got, want, STORED[dtype])


@pytest.mark.parametrize(("real", "pair"), [("f32", "c64"), ("f64", "c128")])
@pytest.mark.parametrize("n", [1, 8, 14, 15])
def test_bound_transforms(real: str, pair: str, n: int) -> None:
    x = (numbers("f64", 3, n) + 1j * numbers("f64", 3, n)).astype(DTYPES[pair])
    u = STORED[real]
    for inverse in (False, True):
        assert_like(*run("fft", pair, {"x": turned(x)}, {"inverse": inverse}), u)
    assert_like(*run("rfft", real, {"x": turned(x.real.astype(DTYPES[real]))}, {}), u)
    bins = turned(x[:, : n // 2 + 1])
    assert_like(*run("irfft", pair, {"x": bins}, {"n": n}), u)
    if n % 2 == 0:
        assert_like(*run("irfft", pair, {"x": bins}, {}), u)
