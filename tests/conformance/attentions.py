"""The suites of attention and paged_attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from tessera_rules.declined import Declined
from tests.conformance.checking import Attrs, Conformance, Dims, Operands, array, misfits

# B, Hq, Hkv, Sq, Skv, head_dim, Dv
SHAPES: tuple[Dims, ...] = (
    (1, 1, 1, 1, 1, 1, 1), (1, 2, 1, 3, 5, 4, 7), (2, 4, 2, 15, 16, 16, 16), (1, 3, 3, 17, 31, 8, 24), (1, 6, 2, 33, 33, 64, 80), (2, 5, 1, 7, 65, 72, 13),
    (1, 2, 2, 64, 64, 32, 32), (1, 1, 1, 1, 130, 16, 16), (1, 7, 1, 5, 3, 9, 5), (1, 1, 1, 65, 129, 80, 66), (0, 2, 1, 3, 4, 5, 6), (2, 0, 1, 3, 4, 5, 6),
    (2, 2, 1, 0, 4, 5, 6), (2, 2, 1, 3, 0, 5, 6), (2, 2, 1, 3, 4, 5, 0),
)  # fmt: skip


class AttentionConformance(Conformance):
    """softmax(softcap(q·kᵀ·scale) + mask)·v."""

    op = "attention"
    shapes = SHAPES
    middle = (2, 4, 2, 11, 19, 8, 6)
    attributes: ClassVar[Any] = (
        {},
        {"causal": True},
        {"scale": 0.75},
        {"scale": -0.3},
        {"softcap": 1.5},
        {"causal": True, "window": 4},
        {"window": 1, "causal": True},
        {"window": 3},
        {"mask": "finite"},
        {"mask": "holes", "causal": True},
        {"mask": "holes", "softcap": 2.0, "scale": 0.9},
        {"mask": "finite", "softcap": 2.0, "scale": 0.9, "causal": True, "window": 6},
    )
    """``mask`` here says what mask is given; it is no attribute of the op."""

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        B, Hq, Hkv, Sq, Skv, d, Dv = shape
        sizes = {"q": (B, Hq, Sq, d), "k": (B, Hkv, Skv, d), "v": (B, Hkv, Skv, Dv)}
        given = {name: array(rng.standard_normal(size), dtype) for name, size in sizes.items()}
        kind = attrs.get("mask")
        if kind:
            mask = rng.standard_normal((Sq, Skv))
            if kind == "holes":
                mask = np.where(rng.random((Sq, Skv)) < 0.5, -np.inf, mask)
                mask[: Sq // 3] = -np.inf
            given["mask"] = array(mask, dtype)
        return given

    def check(self, operands: Operands, attrs: Attrs, layout: str = "contiguous", poison: int = 0xFF, only: str | None = None) -> None:
        super().check(operands, {name: value for name, value in attrs.items() if name != "mask"}, layout, poison, only)

    def test_broadcast_operands(self, dtype: str) -> None:
        """Keys and values of stride 0 along heads, batches or keys (P3, pytorch#191937: wrong where Skv % 32 == 1)."""
        for Skv in (33, 8):
            operands = self.operands(self.rng("broadcast"), (2, 4, 2, 5, Skv, 8, 6), dtype, {})
            for name in ("k", "v", "q"):
                for axis in range(4):
                    x = operands[name]
                    given = operands | {name: np.broadcast_to(x.take([0], axis), x.shape)}
                    if self.admits(given, {}):
                        self.check_as_it_lies(given, {"causal": True})

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        attrs: Attrs = {"causal": False, "window": None, "softcap": None, "scale": None}
        for what, operands, _ in misfits({name: x for name, x in good.items() if name != "mask"}):
            yield what, operands, attrs
        yield "heads do not come in whole groups", good | {"q": good["q"][:, :3]}, attrs
        yield "the mask is of another size", good | {"mask": np.zeros((3, 3), good["q"].dtype)}, attrs

    def test_wrong_arguments(self) -> None:
        good = self.operands(self.rng("wrong"), (2, 4, 2, 11, 19, 8, 6), "f32", {})
        for what, operands, attrs in self.wrong(good):
            try:
                result = type(self).kernel(**operands, **{name: value for name, value in attrs.items() if value})
            except self.rejects:
                continue
            assert isinstance(result, Declined), f"gave a result where {what}"

    def test_the_value_width_is_that_of_the_output_P6(self, dtype: str) -> None:
        """pytorch#176767: with V narrower than K the output took K's width."""
        for shape in ((1, 2, 2, 5, 6, 16, 3), (1, 2, 1, 5, 6, 3, 16)):
            self.check(self.operands(self.rng(shape), shape, dtype, {}), {})

    @pytest.mark.parametrize("group", [1, 2, 3, 4, 5, 6, 7, 8, 16])
    def test_query_heads_per_key_head_P8(self, dtype: str, group: int) -> None:
        shape = (1, 2 * group, 2, 3, 9, 8, 8)
        self.check(self.operands(self.rng(shape), shape, dtype, {}), {"causal": True})

    @pytest.mark.parametrize(("queries", "keys"), [(1, 5), (5, 5), (3, 8), (8, 3), (9, 1), (40, 33)])
    def test_causal_is_aligned_at_the_last_key(self, dtype: str, queries: int, keys: int) -> None:
        """With more queries than keys the first ones see nothing, and give zeros."""
        for attrs in ({"causal": True}, {"causal": True, "window": 2}, {"window": 2}):
            operands = self.operands(self.rng(queries, keys), (1, 2, 1, queries, keys, 4, 4), dtype, attrs)
            self.check(operands, attrs)
            self.check(operands, attrs, poison=0x5A)

    def test_a_permutation_is_found_exactly(self, dtype: str) -> None:
        """Scores with a gap of 128 and more: each row is one value, to the last bit."""
        n = 16
        order = self.rng("order").permutation(n)
        k = np.eye(n)[None, None]
        q = 256.0 * k[:, :, order]
        v = self.rng("values").standard_normal((1, 1, n, 5))
        operands = {"q": array(q, dtype), "k": array(k, dtype), "v": array(v, dtype)}
        if self.admits(operands, {"scale": 1.0}):
            result = np.asarray(type(self).kernel(**operands, scale=1.0))
            assert (result == operands["v"][:, :, order]).all()

    def test_equal_scores_give_the_mean(self, dtype: str) -> None:
        operands = self.operands(self.rng("mean"), (1, 2, 1, 3, 16, 4, 5), dtype, {})
        operands["q"][...] = 0
        operands["v"] = array(self.rng("mean").integers(-8, 8, operands["v"].shape), dtype)
        self.check(operands, {})

    def test_large_scores(self, dtype: str) -> None:
        """e^s itself would overflow."""
        operands = self.operands(self.rng("large"), (1, 1, 1, 6, 20, 8, 4), dtype, {})
        operands["q"] = array(operands["q"].astype(np.float64) * 100, dtype)
        self.check(operands, {})

    def check_class(self, operands: Operands, attrs: Attrs) -> None:
        """An infinite score makes its row NaN in one order of arithmetic and not in another: NaN is asked for, and finite values."""
        if all(np.isfinite(operands[name].astype(np.float64)).all() or np.isnan(operands[name].astype(np.float64)).any() for name in ("q", "k")):
            self.check(operands, attrs)


# B, Hq, Hkv, P, page, T, head_dim
PAGED: tuple[Dims, ...] = (
    (1, 1, 1, 1, 1, 1, 1), (2, 4, 2, 5, 4, 3, 8), (3, 6, 2, 7, 16, 2, 16), (1, 5, 1, 3, 3, 3, 7), (4, 8, 8, 9, 1, 5, 4), (2, 2, 1, 20, 16, 9, 64),
    (0, 2, 1, 3, 4, 2, 8), (2, 0, 1, 3, 4, 2, 8), (2, 2, 1, 3, 4, 0, 8), (2, 2, 1, 0, 4, 0, 8),
)  # fmt: skip


class PagedAttentionConformance(Conformance):
    """One query a sequence over the first lengths[b] keys on its pages."""

    op = "paged_attention"
    shapes = PAGED
    middle = (3, 4, 2, 6, 4, 3, 8)
    attributes: ClassVar[Any] = ({}, {"scale": 0.6}, {"softcap": 1.5}, {"scale": -0.4, "softcap": 2.0})

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        B, Hq, Hkv, P, page, T, d = shape
        lengths = rng.integers(0, T * page + 1, B).astype(np.int32)
        if B > 1:
            lengths[:2] = (T * page, 0)
        return {
            "q": array(rng.standard_normal((B, Hq, d)), dtype),
            "pages_k": array(rng.standard_normal((P, page, Hkv, d)), dtype),
            "pages_v": array(rng.standard_normal((P, page, Hkv, d)), dtype),
            "table": rng.integers(0, max(1, P), (B, T)).astype(np.int32),
            "lengths": lengths,
        }

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        for what, operands, _ in misfits(good):
            if "table" not in what and "lengths" not in what:
                yield what, operands, {}
        yield "a page is not there", good | {"table": good["table"] + 100}, {}
        yield "a page is negative", good | {"table": good["table"] - 100}, {}
        yield "a length has no room in the table", good | {"lengths": good["lengths"] + 1000}, {}
        yield "a length is negative", good | {"lengths": good["lengths"] - 1000}, {}

    def test_nothing_after_the_length_is_read(self, dtype: str) -> None:
        """Free slots hold anything, and so does the rest of the table."""
        operands = self.operands(self.rng("free"), (2, 4, 2, 4, 4, 2, 8), dtype, {})
        operands["table"] = np.array([[1, 2], [3, -7]], np.int32)
        operands["lengths"] = np.array([6, 3], np.int32)
        for name in ("pages_k", "pages_v"):
            operands[name][0], operands[name][2, 2:], operands[name][3, 3:] = np.nan, np.nan, np.nan
        self.check(operands, {})

    def test_sequences_share_a_page(self, dtype: str) -> None:
        operands = self.operands(self.rng("shared"), (3, 2, 1, 2, 4, 3, 8), dtype, {})
        operands["table"] = np.array([[1, 1, 0], [1, 0, 1], [0, 0, 0]], np.int32)
        operands["lengths"] = np.array([12, 9, 5], np.int32)
        self.check(operands, {})

    def check_class(self, operands: Operands, attrs: Attrs) -> None:
        if all(np.isfinite(operands[name].astype(np.float64)).all() or np.isnan(operands[name].astype(np.float64)).any() for name in ("q", "pages_k")):
            self.check(operands, attrs)
