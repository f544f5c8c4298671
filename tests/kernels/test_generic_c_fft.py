"""fft, rfft and irfft of the generic C lane."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.kernels.generic_c import DTYPES, call, compiler, i64, nullable, poisoned, strides, views

pytestmark = compiler
PAIRS = [("f32", "c64", 2.0**-24), ("f64", "c128", 2.0**-53)]
LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 15, 16, 25, 27, 30, 49, 60, 64, 97, 100, 127, 240, 243, 251, 256, 343, 625, 1000, 1009, 2048, 4099]


def complex_normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(DTYPES[dtype])


def fft(x: np.ndarray, real: str, dtype: str, inverse: bool) -> np.ndarray:
    out = poisoned(x.shape, dtype)
    call("x86_fft.c", "tsr_fft", real, [x, out, *x.shape, *strides(x), ctypes.c_int8(inverse)])
    return out


def rfft(x: np.ndarray, real: str, dtype: str) -> np.ndarray:
    out = poisoned((x.shape[0], x.shape[1] // 2 + 1), dtype)
    call("x86_fft.c", "tsr_rfft", real, [x, out, *x.shape, *strides(x)])
    return out


def irfft(x: np.ndarray, real: str, n: int | None, status: int = 0) -> np.ndarray:
    out = poisoned((x.shape[0], n if n is not None else 2 * (x.shape[1] - 1)), real)
    call("x86_fft.c", "tsr_irfft", real, [x, out, *x.shape, *strides(x), nullable(n, i64)], status=status)
    return out


def dft(x: np.ndarray, sign: int) -> np.ndarray:
    """The sum as it is written, with exponents reduced by integers, in extended precision."""
    n = x.shape[1]
    turns = (np.arange(n)[:, None] * np.arange(n)[None, :] % n).astype(np.longdouble) / n
    root = np.exp(sign * 2j * np.longdouble("3.14159265358979323846264338327950288") * turns)
    return np.asarray((x.astype(np.clongdouble) @ root).astype(np.complex128))


def assert_close(got: np.ndarray, want: np.ndarray, u: float, n: int) -> None:
    """An error of each bin within a few log2 n roundings of f64 of the row's norm, and one rounding of the result."""
    size = np.sqrt((np.abs(want) ** 2).mean(1, keepdims=True))
    limit = 2.0**-53 * 16 * (np.log2(n) + 4) * size + 1.01 * u * np.abs(want)
    assert (np.abs(got - want) <= limit).all(), np.max(np.abs(got - want) / np.maximum(limit, 1e-300))


@pytest.mark.parametrize(("real", "dtype", "u"), PAIRS)
@pytest.mark.parametrize("n", LENGTHS)
def test_transforms_of_every_kind_of_length(real: str, dtype: str, u: float, n: int) -> None:
    rng = np.random.default_rng(31)
    x = complex_normal(rng, (2, n), dtype)
    exact = n <= 700
    forward = dft(x, -1) if exact else np.fft.fft(x.astype(np.complex128))
    backward = dft(x, 1) / n if exact else np.fft.ifft(x.astype(np.complex128))
    assert_close(fft(x, real, dtype, False), forward, u, n)
    assert_close(fft(x, real, dtype, True), backward, u, n)
    x = rng.standard_normal((2, n)).astype(DTYPES[real])
    want = dft(x, -1)[:, : n // 2 + 1] if exact else np.fft.rfft(x.astype(np.float64))
    got = rfft(x, real, dtype)
    assert_close(got, want, u, n)
    assert (got[:, 0].imag == 0).all()
    bins = complex_normal(rng, (2, n // 2 + 1), dtype)
    assert_close(irfft(bins, real, n), np.fft.irfft(bins.astype(np.complex128), n), u, n)


@pytest.mark.parametrize(("real", "dtype", "u"), PAIRS)
@pytest.mark.parametrize("n", [1, 6, 16, 17, 30, 61, 500, 1013])
def test_impulses_and_tones(real: str, dtype: str, u: float, n: int) -> None:
    place = n // 3
    impulse = np.zeros((1, n), DTYPES[dtype])
    impulse[0, place] = 1
    assert_close(fft(impulse, real, dtype, False), np.exp(-2j * np.pi * (np.arange(n) * place % n) / n)[None], u, n)
    assert_close(fft(np.ones((1, n), DTYPES[dtype]), real, dtype, True), np.eye(1, n).astype(np.complex128), u, n)


@pytest.mark.parametrize(("real", "dtype", "u"), PAIRS)
def test_powers_of_two_of_integers_are_exact_at_bin_0(real: str, dtype: str, u: float) -> None:
    rng = np.random.default_rng(32)
    x = rng.integers(-9, 10, (3, 512)).astype(DTYPES[dtype])
    assert (fft(x, real, dtype, False)[:, 0] == x.sum(1)).all()


@pytest.mark.parametrize(("real", "dtype", "u"), PAIRS)
@pytest.mark.parametrize("n", [12, 13])
def test_views_of_any_strides(real: str, dtype: str, u: float, n: int) -> None:
    rng = np.random.default_rng(33)
    x = complex_normal(rng, (3, n), dtype)
    reals = x.real.copy()
    for name in views(x):
        assert fft(views(x)[name], real, dtype, False).tobytes() == fft(x, real, dtype, False).tobytes()
        assert rfft(views(reals)[name], real, dtype).tobytes() == rfft(reals, real, dtype).tobytes()
        assert irfft(views(x)[name], real, None).tobytes() == irfft(x, real, None).tobytes()
    same = np.broadcast_to(x[:1], x.shape)
    assert fft(same, real, dtype, True).tobytes() == fft(same.copy(), real, dtype, True).tobytes()
    assert fft(x[:0], real, dtype, False).shape == (0, n)


@pytest.mark.parametrize(("real", "dtype", "u"), PAIRS)
@pytest.mark.parametrize("n", [8, 7])
def test_a_nan_stays_in_its_row_and_unread_parts_are_not_read(real: str, dtype: str, u: float, n: int) -> None:
    x = np.ones((3, n), DTYPES[dtype])
    x[1, 2] = np.nan
    got = fft(x, real, dtype, False)
    assert np.isnan(got[1]).all()
    assert np.isfinite(got[[0, 2]]).all()
    bins = np.ones((1, n // 2 + 1), DTYPES[dtype])
    clean = irfft(bins, real, n).tobytes()
    bins[0, 0] = complex(1, np.nan)
    if n % 2 == 0:
        bins[0, -1] = complex(1, np.inf)
    assert irfft(bins, real, n).tobytes() == clean


def test_irfft_declines_bins_of_another_length() -> None:
    x = np.ones((1, 5), np.complex128)
    irfft(x, "f64", 7, status=2)
    irfft(x, "f64", 8)
    irfft(x, "f64", 9)
