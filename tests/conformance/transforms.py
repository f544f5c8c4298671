"""The suites of fft, rfft and irfft."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.conformance.checking import Attrs, Conformance, Dims, Operands, array

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 25, 31, 32, 60, 64, 97, 100, 127, 128, 243, 251, 256, 509, 1000, 1024, 1031)
"""Powers of two, their neighbours, composites, and primes."""


def complex_array(rng: np.random.Generator, shape: Dims, dtype: str) -> Any:
    """Return random complex numbers."""
    return array(rng.standard_normal(shape) + 1j * rng.standard_normal(shape), dtype)


class FftConformance(Conformance):
    """The transform of rows, and its inverse."""

    op = "fft"
    dtypes = ("c64", "c128")
    shapes = (*((2, n) for n in SIZES), (0, 8), (17, 6))
    middle = (3, 30)
    attributes: ClassVar[Any] = ({}, {"inverse": True})
    specials = ("denormal", "zero")

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        return {"x": complex_array(rng, shape, dtype)}

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        yield "x has another rank", {"x": good["x"][0]}, {}
        yield "n is 0", {"x": good["x"][:, :0]}, {}

    @pytest.mark.parametrize("n", [1, 2, 8, 15, 31, 128, 1031])
    def test_impulses_and_tones(self, dtype: str, n: int) -> None:
        """An impulse is spread over all bins, and a tone gathered in one."""
        place = np.arange(n)
        rows = np.zeros((4, n), complex)
        rows[0, 0] = rows[1, n // 3] = rows[1, n - 1] = 1
        rows[2], rows[3] = np.exp(2j * np.pi * place * (n // 3) / n), np.cos(2 * np.pi * place * (n // 4) / n)
        for attrs in self.attributes:
            self.check({"x": array(rows, dtype)}, attrs)

    def test_inverse_is_not_forward(self, dtype: str) -> None:
        x = self.operands(self.rng("both"), (2, 8), dtype, {})
        for inverse in (False, True):
            self.check(x, {"inverse": inverse})


class RfftConformance(Conformance):
    """The first half of the transform of real rows."""

    op = "rfft"
    dtypes = ("f32", "f64")
    shapes = FftConformance.shapes
    middle = (3, 30)
    specials = ("denormal", "zero")

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        return {"x": array(rng.standard_normal(shape), dtype)}

    def result_dtype(self, operands: Operands, attrs: Attrs) -> str:
        return "c128" if operands["x"].dtype == np.float64 else "c64"

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        yield "x has another rank", {"x": good["x"][0]}, {}
        yield "n is 0", {"x": good["x"][:, :0]}, {}

    @pytest.mark.parametrize("n", [1, 2, 8, 15, 31, 128, 1031])
    def test_impulses_and_tones(self, dtype: str, n: int) -> None:
        place = np.arange(n)
        rows = np.zeros((3, n))
        rows[0, 0] = rows[1, n - 1] = 1
        rows[2] = np.cos(2 * np.pi * place * (n // 4) / n)
        self.check({"x": array(rows, dtype)}, {})


class IrfftConformance(Conformance):
    """Real rows from the first half of their transform. ``shape`` is B and n."""

    op = "irfft"
    dtypes = ("c64", "c128")
    shapes = FftConformance.shapes
    middle = (3, 30)
    attributes: ClassVar[Any] = ({}, {"n": 29}, {"n": 30})
    specials = ("denormal", "zero")

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        return {"x": complex_array(rng, (shape[0], attrs.get("n", shape[1]) // 2 + 1), dtype)}

    def result_dtype(self, operands: Operands, attrs: Attrs) -> str:
        return "f64" if operands["x"].dtype == np.complex128 else "f32"

    def test_shapes(self, dtype: str) -> None:
        for shape in self.shapes:
            attrs = {"n": shape[1]}
            self.check(self.operands(self.rng(shape), shape, dtype, attrs), attrs)

    def test_repeats(self, dtype: str) -> None:
        for n in (30, 7, 30):
            self.check(self.operands(self.rng(n), (2, n), dtype, {"n": n}), {"n": n})

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        yield "x has another rank", {"x": good["x"][0]}, {}
        yield "n has more bins", good, {"n": 64}
        yield "n has fewer bins", good, {"n": 8}
        yield "n is 0", {"x": good["x"][:, :1]}, {"n": 0}

    def test_one_bin_without_n_is_refused(self) -> None:
        x = complex_array(self.rng("one"), (2, 1), self.dtypes[0])
        try:
            result = type(self).kernel(x=x)
        except self.rejects:
            return
        assert not isinstance(result, np.ndarray)

    def test_imaginary_parts_that_no_real_row_has_are_not_read(self, dtype: str) -> None:
        for n in (6, 7):
            operands = self.operands(self.rng("imag", n), (2, n), dtype, {"n": n})
            clean = operands["x"].copy()
            clean[:, 0] = clean[:, 0].real
            if n % 2 == 0:
                clean[:, -1] = clean[:, -1].real
            self.check(operands, {"n": n})
            if self.admits(operands, {"n": n}):
                assert np.allclose(type(self).kernel(x=operands["x"], n=n), type(self).kernel(x=clean, n=n), rtol=1e-6, atol=1e-6)
