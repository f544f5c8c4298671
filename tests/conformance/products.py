"""The suites of matmul, batched_matmul, gemm, fused_matmul, gated_matmul and scaled_matmul."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from tessera_rules.bind.arrays import dtype_of
from tests.conformance.checking import Array, Attrs, Conformance, Dims, Operands, array, misfits

# M, N, K: one, each side of a tile, primes, one long axis, and each of them 0.
SHAPES: tuple[Dims, ...] = (
    (1, 1, 1), (1, 7, 5), (2, 3, 4), (15, 16, 17), (16, 16, 16), (17, 15, 33), (31, 32, 64), (65, 63, 67), (1, 130, 129), (128, 1, 127),
    (33, 77, 129), (5, 3, 1031), (0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0),
)  # fmt: skip
EXACT_BITS = {"f64": 26, "f32": 12, "f16": 9, "bf16": 8}
"""Bits of odd integers whose signed sums of up to 64 are exact in f32 (f64) and whose values the dtype holds."""


class ProductConformance(Conformance):
    """Products of two matrices: what their suites share."""

    shapes = SHAPES
    middle = (19, 13, 37)

    def test_K_0_gives_what_a_sum_of_nothing_gives_P2(self, dtype: str) -> None:
        """OpenBLAS#2914: with K = 0 and beta = 0 the output was never written."""
        for attrs in self.attributes:
            for poison in (0xFF, 0x5A):
                self.check(self.operands(self.rng("K0"), (5, 4, 0), dtype, attrs), attrs, poison=poison)


class MatmulConformance(ProductConformance):
    """a·b."""

    op = "matmul"

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        M, N, K = shape
        return {"a": array(rng.standard_normal((M, K)), dtype), "b": array(rng.standard_normal((K, N)), dtype)}

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        yield from misfits(good)

    @pytest.mark.parametrize("swapped", [False, True])
    def test_exact_products(self, dtype: str, swapped: bool) -> None:
        """Odd integers times ±1 are summed without rounding in any order: bit by bit the rounded exact value."""
        rng = self.rng("exact")
        for M, N, K in ((7, 9, 64), (33, 17, 61)):
            wide = rng.integers(0, 2 ** (EXACT_BITS[dtype] - 1), (M, K)) * 2 + 1
            wide *= rng.choice([-1, 1], (M, K))
            signs = rng.choice([-1.0, 1.0], (K, N))
            a, b = (wide.astype(np.float64), signs) if not swapped else (np.ascontiguousarray(signs.T), np.ascontiguousarray(wide.T.astype(np.float64)))
            operands = {"a": array(a, dtype), "b": array(b, dtype)}
            if not self.admits(operands, {}):
                continue
            result = np.asarray(type(self).kernel(**operands))
            exact = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.float64).astype(dtype_of(dtype))
            assert (result == exact).all(), f"{int((result != exact).sum())} elements are not the rounded exact value"

    def test_outliers(self, dtype: str) -> None:
        rng = self.rng("outliers")
        operands = self.operands(rng, (33, 40, 200), dtype, {})
        for x in operands.values():
            x.flat[rng.integers(0, x.size, x.size // 100)] *= np.asarray(100).astype(x.dtype)
        self.check(operands, {})

    def test_one_operand_twice(self, dtype: str) -> None:
        """a and b may be one array."""
        x = array(self.rng("same").standard_normal((24, 24)), dtype)
        self.check({"a": x, "b": x}, {})


class BatchedMatmulConformance(ProductConformance):
    """a[i]·b[i]."""

    op = "batched_matmul"
    shapes = (*((B, *shape) for B, shape in zip((1, 2, 3) * 6, SHAPES, strict=False)), (0, 3, 4, 5), (7, 1, 1, 1))
    middle = (3, 19, 13, 37)

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        B, M, N, K = shape
        return {"a": array(rng.standard_normal((B, M, K)), dtype), "b": array(rng.standard_normal((B, K, N)), dtype)}

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        yield from misfits(good)
        yield "one batch stands for all", good | {"b": good["b"][:1]}, {}

    def test_K_0_gives_what_a_sum_of_nothing_gives_P2(self, dtype: str) -> None:
        self.check(self.operands(self.rng("K0"), (2, 5, 4, 0), dtype, {}), {})


class GemmConformance(ProductConformance):
    """alpha·a·b + beta·c, in place."""

    op = "gemm"
    inout = frozenset(("c",))
    attributes: ClassVar[Any] = (
        {},
        {"alpha": 2.5},
        {"beta": 1.0},
        {"alpha": -0.75, "beta": 0.0},
        {"alpha": 0.0, "beta": -2.0},
        {"alpha": 1.0, "beta": -1.0},
        {"alpha": 1.5, "beta": 0.625},
    )

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        M, N, K = shape
        sizes = {"a": (M, K), "b": (K, N), "c": (M, N)}
        return {name: array(rng.standard_normal(size), dtype) for name, size in sizes.items()}

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        yield from misfits(good)

    def check_class(self, operands: Operands, attrs: Attrs) -> None:
        self.check(operands, attrs)
        self.check(operands, {"alpha": 1.5, "beta": 0.625})

    def test_alpha_and_beta_over_several_tiles_P1(self, dtype: str) -> None:
        """rocm-libraries#12226: alpha was dropped past the first tile where beta was not 0."""
        for shape in ((200, 150, 300), (129, 257, 65)):
            attrs = {"alpha": 1.5, "beta": 0.625}
            self.check(self.operands(self.rng(shape), shape, dtype, attrs), attrs)

    @pytest.mark.parametrize("stale", [np.nan, np.inf])
    def test_c_is_not_read_where_beta_is_0(self, dtype: str, stale: float) -> None:
        for shape in ((17, 15, 33), (4, 5, 0)):
            operands = self.operands(self.rng("beta0"), shape, dtype, {})
            operands["c"][...] = stale
            self.check(operands, {"alpha": 1.5, "beta": 0.0})


ACTS = ("relu", "gelu", "gelu_erf", "silu", "sigmoid", "tanh")


class FusedMatmulConformance(ProductConformance):
    """reduction(epilogue(prologue(a)·b) + residual)."""

    op = "fused_matmul"
    attributes: ClassVar[Any] = (
        {},
        *({"epilogue": [act]} for act in ACTS),
        *({"prologue": [act]} for act in ACTS),
        {"epilogue": ["bias"]},
        {"epilogue": ["bias", "gelu"]},
        {"epilogue": ["gelu", "bias"]},
        {"epilogue": ["relu", "bias", "tanh", "silu"]},
        {"prologue": ["relu", "tanh"], "epilogue": ["bias", "sigmoid"]},
        {"residual": True},
        {"epilogue": ["bias", "silu"], "residual": True},
        {"reduction": "softmax"},
        {"reduction": "rmsnorm"},
        {"reduction": "layernorm"},
        {"reduction": "rmsnorm", "eps": 0.5},
        {"reduction": "layernorm", "eps": 0.5},
        {"prologue": ["silu"], "epilogue": ["bias", "gelu_erf"], "reduction": "layernorm", "eps": 1e-3},
    )
    """``residual`` here says that one is given; it is no attribute of the op."""

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        M, N, K = shape
        given = {"a": array(rng.standard_normal((M, K)), dtype), "b": array(rng.standard_normal((K, N)), dtype)}
        if "bias" in attrs.get("epilogue", ()):
            given["bias"] = array(2 * rng.standard_normal(N), dtype)
        if attrs.get("residual"):
            given["residual"] = array(3 * rng.standard_normal((M, N)), dtype)
        return given

    def check(self, operands: Operands, attrs: Attrs, layout: str = "contiguous", poison: int = 0xFF, only: str | None = None) -> None:
        super().check(operands, _without_residual(attrs), layout, poison, only)

    def expected(self, operands: Operands, attrs: Attrs) -> Array:
        return super().expected(operands, _without_residual(attrs))

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        yield from misfits(good)
        yield "the epilogue adds a bias that is not given", {name: x for name, x in good.items() if name != "bias"}, {}
        yield "a bias is given that the epilogue does not add", good, {"epilogue": ["relu"]}
        yield "the reduction is none of the op's", good, {"reduction": "sum"}

    def check_class(self, operands: Operands, attrs: Attrs) -> None:
        bias = operands["a"].dtype.type(0) + np.zeros(operands["b"].shape[1], operands["a"].dtype)
        for act in ACTS:
            self.check(operands | {"bias": bias}, {"epilogue": ["bias", act]})

    def test_order_of_the_epilogue(self, dtype: str) -> None:
        """A bias before an activation is not one after it, in any of the places."""
        for epilogue in (["bias", "relu", "tanh"], ["relu", "bias", "tanh"], ["relu", "tanh", "bias"], ["tanh", "relu", "bias"]):
            attrs = {"epilogue": epilogue}
            self.check(self.operands(self.rng("order"), (9, 21, 10), dtype, attrs), attrs)

    def test_reductions_of_one_column_and_none(self, dtype: str) -> None:
        for reduction in ("softmax", "rmsnorm", "layernorm"):
            for shape in ((3, 1, 5), (3, 0, 5), (0, 3, 5), (2, 6, 0)):
                attrs = {"reduction": reduction, "eps": 1e-3}
                self.check(self.operands(self.rng("narrow"), shape, dtype, attrs), attrs)


def _without_residual(attrs: Attrs) -> dict[str, Any]:
    return {name: value for name, value in attrs.items() if name != "residual"}


class GatedMatmulConformance(ProductConformance):
    """gate(a·wg) * (a·wu)."""

    op = "gated_matmul"
    attributes: ClassVar[Any] = ({}, *({"gate": act} for act in ACTS))

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        M, H, K = shape
        sizes = {"a": (M, K), "wg": (K, H), "wu": (K, H)}
        return {name: array(rng.standard_normal(size), dtype) for name, size in sizes.items()}

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        yield from misfits(good)


class ScaledMatmulConformance(ProductConformance):
    """(a·b) · scale_a · scale_bᵀ."""

    op = "scaled_matmul"
    dtypes = ("i8", "i4", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz")
    attributes: ClassVar[Any] = ({}, {"out": "f32"}, {"out": "f16"}, {"out": "i32"}, {"out": "f64"}, {"out": "bf16"})
    out_is_attribute = True

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        M, N, K = shape

        def values(*size: int) -> Array:
            if dtype[0] == "i":
                half = 1 << (int(dtype[1:]) - 1)
                return array(rng.integers(-half, half, size), dtype)
            return array(rng.standard_normal(size), dtype)

        scales = {"scale_a": array(rng.uniform(0.25, 2.0, M), "f32"), "scale_b": array(rng.uniform(-2.0, 2.0, N), "f32")}
        return {"a": values(M, K), "b": values(K, N), **scales}

    def result_dtype(self, operands: Operands, attrs: Attrs) -> str:
        given: str | None = attrs.get("out")
        return given or ("i32" if operands["a"].dtype.name.startswith("int") else "f32")

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        yield from misfits(good)

    def check_class(self, operands: Operands, attrs: Attrs) -> None:
        self.check(operands, {"out": "f32"})

    def test_integers_are_exact(self) -> None:
        """The full range of i8, past the 24 bits of f32: K = 3000 products of up to 2^14."""
        rng = self.rng("exact")
        a, b = (rng.integers(-128, 128, size).astype(np.int8) for size in ((5, 3000), (3000, 4)))
        a[0], b[:, 0] = -128, -128
        ones = np.ones(5, np.float32), np.ones(4, np.float32)
        operands = {"a": a, "b": b, "scale_a": ones[0], "scale_b": ones[1]}
        if "i8" in self.dtypes and self.admits(operands, {}):
            assert (np.asarray(type(self).kernel(**operands)) == a.astype(np.int64) @ b.astype(np.int64)).all()

    def test_i32_rounds_to_even_and_saturates(self) -> None:
        a, b = np.array([[1], [3], [127]], np.int8), np.array([[1, 127]], np.int8)
        operands = {"a": a, "b": b, "scale_a": np.array([0.5, 0.5, 1e9], np.float32), "scale_b": np.array([1.0, -1.0], np.float32)}
        if "i8" in self.dtypes and self.admits(operands, {}):
            assert np.asarray(type(self).kernel(**operands)).tolist() == [[0, -64], [2, -190], [2**31 - 1, -(2**31)]]
