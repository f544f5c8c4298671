"""The suites of softmax, rmsnorm, layernorm and pointwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.conformance.checking import Attrs, Conformance, Dims, Operands, array, misfits

SHAPES: tuple[Dims, ...] = (
    (1, 1), (1, 2), (3, 7), (15, 16), (16, 17), (33, 63), (4, 64), (5, 65), (2, 1031), (129, 33), (300, 5), (2, 4096), (0, 4), (4, 0), (0, 0),
)  # fmt: skip


class RowsConformance(Conformance):
    """x [M, N] and vectors [N]."""

    shapes = SHAPES
    middle = (9, 37)
    vectors: ClassVar[tuple[str, ...]] = ()

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        M, N = shape
        given = {"x": array(2 * rng.standard_normal((M, N)), dtype)}
        return given | {name: array(1 + rng.standard_normal(N), dtype) for name in self.vectors}

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        yield from misfits(good)

    def test_without_the_optional_operands(self, dtype: str) -> None:
        for attrs in self.attributes:
            operands = self.operands(self.rng("alone"), self.middle, dtype, attrs)
            for kept in {(), *((name,) for name in self.vectors)}:
                self.check({name: x for name, x in operands.items() if name not in self.vectors or name in kept}, attrs)

    def test_in_place(self, dtype: str) -> None:
        """The output may be x itself, where the kernel takes one."""
        if not self.takes_out():
            return
        for attrs in self.attributes:
            operands = self.operands(self.rng("place"), self.middle, dtype, attrs)
            apart = type(self).kernel(**operands, **attrs)
            given = {name: x.copy() for name, x in operands.items()}
            type(self).kernel(**given, **attrs, out=given["x"])
            assert np.array_equal(given["x"], apart, equal_nan=True)


class SoftmaxConformance(RowsConformance):
    """softmax over N."""

    op = "softmax"

    def test_rows_of_infinities(self, dtype: str) -> None:
        """−Inf among numbers gives 0; a row of −Inf alone and one with Inf are NaN, and their neighbours are not."""
        inf = np.inf
        rows = [[0.0, -inf, 1.0, 0.5], [-inf] * 4, [1.0, 2.0, 3.0, 4.0], [0.0, inf, 1.0, 0.0], [np.nan, 0.0, 0.0, 0.0], [-inf, -inf, -3.0, -inf]]
        self.check({"x": array(rows, dtype)}, {})

    @pytest.mark.parametrize("size", [80.0, 1e4])
    def test_large_values_neither_overflow_nor_lose_their_differences(self, dtype: str, size: float) -> None:
        """e^x itself would overflow."""
        base = np.tile(np.array([0.0, 1.0, -1.0, 0.5]), (3, 3)) * (size / 64)
        self.check({"x": array(base + size * np.array([[1.0], [-1.0], [0.5]]), dtype)}, {})

    def test_equal_values(self, dtype: str) -> None:
        for n in (1, 3, 64, 1000):
            self.check({"x": array(np.full((2, n), 7.0), dtype)}, {})


class RmsnormConformance(RowsConformance):
    """x / √(mean(x²) + eps) · weight."""

    op = "rmsnorm"
    vectors = ("weight",)
    attributes: ClassVar[Any] = ({}, {"eps": 0.25}, {"eps": 1e-3})

    def test_rows_of_zeros(self, dtype: str) -> None:
        operands = self.operands(self.rng("zeros"), (3, 8), dtype, {})
        operands["x"][1] = 0
        self.check(operands, {"eps": 1e-6})

    def test_rows_of_one_size(self, dtype: str) -> None:
        """±1 over its root mean square is ±1."""
        self.check({"x": array(self.rng("signs").choice([-1.0, 1.0], (4, 130)), dtype)}, {"eps": 0.0})

    def test_outliers(self, dtype: str) -> None:
        operands = self.operands(self.rng("outliers"), (6, 300), dtype, {})
        operands["x"][:, ::97] *= np.asarray(100).astype(operands["x"].dtype)
        self.check(operands, {})


class LayernormConformance(RmsnormConformance):
    """(x − mean) / √(var + eps) · weight + bias."""

    op = "layernorm"
    vectors = ("weight", "bias")

    @pytest.mark.parametrize("mean", [30.0, -1000.0])
    def test_a_large_mean(self, dtype: str, mean: float) -> None:
        """E[x²] − mean² would cancel."""
        operands = self.operands(self.rng("mean"), (6, 300), dtype, {})
        operands["x"] = array(self.rng("mean").standard_normal((6, 300)) * 20 + mean, dtype)
        self.check(operands, {})

    def test_equal_values_give_the_bias(self, dtype: str) -> None:
        operands = self.operands(self.rng("equal"), (2, 64), dtype, {})
        operands["x"][...] = 3
        self.check(operands, {})


UNARY = ("relu", "gelu", "gelu_erf", "silu", "sigmoid", "tanh", "neg", "abs", "exp", "expm1", "softplus", "sign")
POSITIVE = ("log", "log1p", "sqrt", "rsqrt", "reciprocal")
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum")


class PointwiseConformance(Conformance):
    """The functions of fn in order."""

    op = "pointwise"
    shapes = SHAPES
    middle = (9, 37)
    attributes: ClassVar[Any] = (
        {"fn": ["add"]},
        *({"fn": [word]} for word in (*UNARY, *POSITIVE, *BINARY)),
        {"fn": ["mul", "tanh"]},
        {"fn": ["abs", "sqrt", "sub"]},
        {"fn": ["sub", "abs", "add", "neg", "exp"]},
        {"fn": ["maximum", "gelu", "mul", "sigmoid"]},
        {"fn": ["neg", "neg"]},
        {"fn": []},
        {"fn": ["sub", "mul"]},
    )

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        x = 2 * rng.standard_normal(shape)
        if any(word in POSITIVE for word in attrs["fn"]):
            x = np.abs(x) + 0.05
        y = rng.standard_normal(shape)
        given = {"x": array(x, dtype)}
        if any(word in BINARY for word in attrs["fn"]):
            given["y"] = array(np.where(np.abs(y) < 0.1, 0.5, y), dtype)
        return given

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        yield from misfits(good)
        yield "a binary function has no y", {"x": good["x"]}, {"fn": ["add"]}
        yield "a function is none of the op's", good, {"fn": ["cube"]}

    def test_NaN_goes_through_every_function_T23(self, dtype: str) -> None:
        """C's fmax drops a NaN, and a comparison with one is false."""
        nan = np.nan
        x, y = array([[nan, 1.0, nan, 2.0]], dtype), array([[1.0, nan, nan, 3.0]], dtype)
        for word in (*UNARY, *POSITIVE):
            self.check({"x": x}, {"fn": [word]})
        for word in BINARY:
            self.check({"x": x, "y": y}, {"fn": [word]})

    def test_edges_of_domains(self, dtype: str) -> None:
        """Zeros of both signs, infinities, negative numbers where a root or a logarithm has none, −1 for log1p."""
        x = array([[0.0, -0.0, np.inf, -np.inf, -1.0, 1.0, -2.0, 0.5]], dtype)
        for word in (*UNARY, *POSITIVE):
            self.check({"x": x}, {"fn": [word]})
        for word in BINARY:
            self.check({"x": x, "y": array([[0.0, 0.0, np.inf, np.inf, 0.0, -0.0, np.inf, -np.inf]], dtype)}, {"fn": [word]})

    def test_wide_arguments(self, dtype: str) -> None:
        """From the smallest to the largest where a function still has a value of its own."""
        x = array(np.concatenate([np.linspace(-20, 20, 401), [1e-4, -1e-4, 3e-5, 60000.0, -60000.0]])[None], dtype)
        for word in UNARY:
            self.check({"x": x}, {"fn": [word]})
        for word in POSITIVE:
            self.check({"x": np.abs(x) + np.asarray(1e-4).astype(x.dtype)}, {"fn": [word]})

    def test_in_place(self, dtype: str) -> None:
        """The output may be x or y, where the kernel takes one."""
        if not self.takes_out():
            return
        operands = self.operands(self.rng("place"), self.middle, dtype, {"fn": ["sub"]})
        apart = type(self).kernel(**operands, fn=["sub", "mul"])
        for name in ("x", "y"):
            given = {key: x.copy() for key, x in operands.items()}
            type(self).kernel(**given, fn=["sub", "mul"], out=given[name])
            assert np.array_equal(given[name], apart)
