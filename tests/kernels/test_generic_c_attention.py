"""attention and paged_attention of the generic C lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernels.generic_c import DTYPES, FLOATS, SUMMED, assert_within, call, compiler, f64, i64, normal, nullable, phi, poisoned, strides, views, wide
from tests.kernels.generic_c import i8 as c_bool

pytestmark = compiler


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, dtype: str, *, mask: np.ndarray | None = None, causal: bool = False, scale: float | None = None,
              softcap: float | None = None, window: int | None = None, status: int = 0) -> np.ndarray:  # fmt: skip
    (B, Hq, Sq, d), (_, Hkv, Skv, Dv) = q.shape, v.shape
    out = poisoned((B, Hq, Sq, Dv), dtype)
    steps = [*strides(q), *strides(k), *strides(v), *(strides(mask) if mask is not None else [0, 0])]
    attributes = [c_bool(causal), nullable(scale, f64), nullable(softcap, f64), nullable(window, i64)]
    call("x86_attention.c", "tsr_attention", dtype, [q, k, v, mask, out, B, Hq, Hkv, Sq, Skv, d, Dv, *steps, *attributes], status=status)
    return out


def seen(queries: int, keys: int, causal: bool, window: int | None) -> np.ndarray:
    place, key = np.arange(queries)[:, None] + keys - queries, np.arange(keys)[None, :]
    visible = np.ones((queries, keys), bool)
    if causal:
        visible &= key <= place
    if window is not None:
        visible &= key > place - window
    return visible


def wide_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, *, mask: np.ndarray | None = None, causal: bool = False, scale: float | None = None,
                   softcap: float | None = None, window: int | None = None) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The result in float64, and the sum of weights times |v| with the largest score's size, for the bound."""
    group = q.shape[1] // k.shape[1]
    keys, values = np.repeat(wide(k), group, 1), np.repeat(wide(v), group, 1)
    factor = q.shape[3] ** -0.5 if scale is None else scale
    scores = np.einsum("bhid,bhjd->bhij", wide(q), keys) * factor
    size = np.einsum("bhid,bhjd->bhij", np.abs(wide(q)), np.abs(keys)) * abs(factor)
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    if mask is not None:
        scores = scores + wide(mask)
    scores = np.where(seen(q.shape[2], k.shape[2], causal, window), scores, -np.inf)
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    spread = (phi(q.shape[3]) + 20) * size.max(-1, keepdims=True, initial=0) + phi(k.shape[2]) + 20 + 4 * np.abs(np.where(np.isneginf(top), 0, top))
    return np.where(weights[..., None] == 0, 0, weights[..., None] * values[:, :, None]).sum(3), (2 * spread * (weights @ np.abs(np.nan_to_num(values))))


CASES: list[dict[str, Any]] = [
    {}, {"causal": True}, {"scale": 0.7}, {"softcap": 1.5, "causal": True}, {"window": 5, "causal": True}, {"window": 5}, {"mask": True},
    {"mask": True, "softcap": 2.0, "scale": -0.3},
]  # fmt: skip
SHAPES = [(1, 1, 1, 1, 1, 1, 1), (2, 4, 2, 7, 13, 5, 3), (1, 3, 1, 67, 131, 72, 40), (1, 2, 2, 130, 65, 19, 33), (1, 2, 1, 5, 200, 8, 70)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_attention_is_inside_the_bound(dtype: str, case: dict[str, Any], shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(11)
    B, Hq, Hkv, Sq, Skv, d, Dv = shape
    q, k, v = normal(rng, (B, Hq, Sq, d), dtype), normal(rng, (B, Hkv, Skv, d), dtype), normal(rng, (B, Hkv, Skv, Dv), dtype)
    case = dict(case)
    if case.pop("mask", False):
        case["mask"] = normal(rng, (Sq, Skv), dtype)
        case["mask"][rng.random((Sq, Skv)) < 0.3] = -np.inf
    want, spread = wide_attention(q, k, v, **case)
    assert_within(attention(q, k, v, dtype, **case), want, SUMMED[dtype] * spread, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_attention_serves_views_of_any_strides(dtype: str) -> None:
    rng = np.random.default_rng(12)
    q, k, v, mask = normal(rng, (2, 4, 9, 6), dtype), normal(rng, (2, 2, 70, 6), dtype), normal(rng, (2, 2, 70, 5), dtype), normal(rng, (9, 70), dtype)
    want = attention(q, k, v, dtype, mask=mask).tobytes()
    for name in views(q):
        assert attention(views(q)[name], views(k)[name], views(v)[name], dtype, mask=views(mask)[name]).tobytes() == want
    shared = np.broadcast_to(k[:1, :1], k.shape)
    assert attention(q, shared, v, dtype, causal=True).tobytes() == attention(q, shared.copy(), v, dtype, causal=True).tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_weights_give_the_exact_mean(dtype: str) -> None:
    rng = np.random.default_rng(13)
    q, k = np.zeros((1, 2, 3, 4), DTYPES[dtype]), normal(rng, (1, 2, 128, 4), dtype)
    v = rng.integers(-3, 4, (1, 2, 128, 37)).astype(DTYPES[dtype])
    want = (wide(v).sum(2, keepdims=True) / 128).astype(DTYPES[dtype])
    assert attention(q, k, v, dtype).tobytes() == np.broadcast_to(want, (1, 2, 3, 37)).tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_gap_of_128_permutes_the_values_bit_for_bit(dtype: str) -> None:
    rng = np.random.default_rng(14)
    n = 96
    order = rng.permutation(n)
    k = np.eye(n, dtype=np.float64)[None, None].astype(DTYPES[dtype])
    q = (1024 * np.eye(n)[order])[None, None].astype(DTYPES[dtype])
    v = normal(rng, (1, 1, n, 21), dtype)
    assert attention(q, k, v, dtype, scale=1.0).tobytes() == np.ascontiguousarray(v[:, :, order]).tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_that_see_no_key_are_zeros(dtype: str) -> None:
    rng = np.random.default_rng(15)
    q, k, v = normal(rng, (1, 2, 9, 4), dtype), normal(rng, (1, 2, 5, 4), dtype), normal(rng, (1, 2, 5, 3), dtype)
    got = wide(attention(q, k, v, dtype, causal=True))
    assert (got[:, :, :4] == 0).all()
    assert (got[:, :, 4:] != 0).all()
    hidden = np.zeros((9, 5), DTYPES[dtype])
    hidden[3] = -np.inf
    got = wide(attention(q, k, v, dtype, mask=hidden))
    assert (got[:, :, 3] == 0).all()
    assert (got[:, :, 2] != 0).all()
    assert (wide(attention(q, k[:, :, :0], v[:, :, :0], dtype)) == 0).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_a_query_does_not_see_does_not_reach_it_and_what_it_sees_does(dtype: str) -> None:
    rng = np.random.default_rng(16)
    q, k, v = normal(rng, (1, 1, 100, 4), dtype), normal(rng, (1, 1, 100, 4), dtype), normal(rng, (1, 1, 100, 3), dtype)
    clean = attention(q, k, v, dtype, causal=True)
    k[0, 0, 80], v[0, 0, 90, 1] = np.nan, np.inf
    got = attention(q, k, v, dtype, causal=True)
    assert got[:, :, :80].tobytes() == clean[:, :, :80].tobytes()
    assert np.isnan(wide(got[:, :, 80:])).all()
    k[0, 0, 80] = 0
    got = wide(attention(q, k, v, dtype, causal=True))
    assert np.isfinite(got[0, 0, :90]).all()
    assert (got[0, 0, 90:, 1] == np.inf).all()
    assert np.isfinite(got[0, 0, 90:, [0, 2]]).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_large_scores_do_not_overflow(dtype: str) -> None:
    q, k = np.full((1, 1, 2, 1), 100, DTYPES[dtype]), np.linspace(-50, 50, 200)[None, None, :, None].astype(DTYPES[dtype])
    v = np.arange(200)[None, None, :, None].astype(DTYPES[dtype])
    want, spread = wide_attention(q, k, v, scale=1.0)
    assert_within(attention(q, k, v, dtype, scale=1.0), want, SUMMED[dtype] * spread, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_querys_bits_do_not_depend_on_the_queries_beside_it(dtype: str) -> None:
    rng = np.random.default_rng(18)
    q, k, v = normal(rng, (2, 2, 150, 9), dtype), normal(rng, (2, 2, 211, 9), dtype), normal(rng, (2, 2, 211, 7), dtype)
    whole, causal = attention(q, k, v, dtype), attention(q, k, v, dtype, causal=True, window=70)
    for i in (0, 3, 127, 128, 149):
        assert attention(q[1:, :, i : i + 1], k[1:], v[1:], dtype).tobytes() == np.ascontiguousarray(whole[1:, :, i : i + 1]).tobytes()
        reach = i + 1 + 211 - 150  # the keys up to its place: alone, it stands at the last of them
        alone = attention(q[:, :, i : i + 1], k[:, :, :reach], v[:, :, :reach], dtype, causal=True, window=70)
        assert alone.tobytes() == np.ascontiguousarray(causal[:, :, i : i + 1]).tobytes()


def test_attention_of_nothing_and_of_ungrouped_heads() -> None:
    x = np.ones((1, 3, 2, 4))
    assert attention(x[:, :, :0], x, x, "f64").shape == (1, 3, 0, 4)
    assert attention(x[:0], x[:0], x[:0], "f64").shape == (0, 3, 2, 4)
    attention(x, x[:, :2], x[:, :2], "f64", status=2)


def paged(q: np.ndarray, keys: np.ndarray, values: np.ndarray, table: np.ndarray, lengths: np.ndarray, dtype: str, *, scale: float | None = None,
          softcap: float | None = None, status: int = 0) -> np.ndarray:  # fmt: skip
    (B, Hq, d), (P, page, Hkv, _) = q.shape, keys.shape
    out = poisoned(q.shape, dtype)
    steps = [*strides(q), *strides(keys), *strides(values), *strides(table), *strides(lengths)]
    arguments: list[Any] = [q, keys, values, table, lengths, out, B, Hq, Hkv, d, P, page, table.shape[1], *steps, nullable(scale, f64), nullable(softcap, f64)]
    call("x86_paged_attention.c", "tsr_paged_attention", dtype, arguments, status=status)
    return out


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("attributes", [{}, {"scale": 0.4}, {"softcap": 1.25}], ids=str)
def test_paged_attention_agrees_with_attention_over_gathered_pages(dtype: str, attributes: dict[str, float]) -> None:
    rng = np.random.default_rng(17)
    q = normal(rng, (4, 6, 20), dtype)
    keys, values = normal(rng, (9, 16, 2, 20), dtype), normal(rng, (9, 16, 2, 20), dtype)
    table = rng.integers(0, 9, (4, 6)).astype(np.int32)
    lengths = np.array([96, 0, 1, 49], np.int32)
    table[2, 1:] = -7  # not reached by a length, not read
    got = paged(q, keys, values, table, lengths, dtype, **attributes)
    for name in views(q):
        many = [views(x)[name] for x in (q, keys, values, table, lengths)]
        assert paged(*many, dtype, **attributes).tobytes() == got.tobytes()
    for b, length in enumerate(lengths):
        pages = table[b, : -(-int(length) // 16)]
        k = keys[pages].reshape(-1, 2, 20)[:length].transpose(1, 0, 2)[None]
        v = values[pages].reshape(-1, 2, 20)[:length].transpose(1, 0, 2)[None]
        want, spread = wide_attention(q[b][None, :, None], k, v, **attributes)
        assert_within(got[b][None, :, None], want, SUMMED[dtype] * spread, dtype)


def test_paged_attention_declines_what_would_read_elsewhere() -> None:
    q, pages = np.ones((1, 2, 4)), np.ones((3, 8, 1, 4))
    table = np.array([[0, 2, 1]], np.int32)[:, :2]  # what lies beyond the row would be a page
    for number, length, status in [(2, 16, 0), (3, 16, 2), (-1, 16, 2), (3, 8, 0), (2, 17, 2), (2, -1, 2)]:
        table[0, 1] = number
        paged(q, pages, pages, table, np.array([length], np.int32), "f64", status=status)
