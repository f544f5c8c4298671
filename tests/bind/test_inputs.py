"""Operands made for a request: what their values are, and where they lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera_rules.arbiter.request import bind_words
from tessera_rules.bind.arrays import view
from tessera_rules.bind.inputs import make_operands
from tessera_rules.errors import OperandError
from tessera_rules.machine.stated import StatedMachine
from tessera_rules.model.request import Request
from tests.bind.rules import rules

OP = 'op mixed { operand x: [M, N]; operand w?: [N] i8; operand table: [M] i32; result [M, N]; dtype x in [f32, f64] }\ntarget x86 { "the host" }\n'


def request(tmp_path: Path, **words: Any) -> Request:
    return bind_words(rules(tmp_path, "", op=OP), "mixed", "x86", words, StatedMachine())


def test_a_seed_says_the_values(tmp_path: Path) -> None:
    asked = request(tmp_path, M=40, N=50, dtype="f32", given="w")
    one, two, other = make_operands(asked, 3), make_operands(asked, 3), make_operands(asked, 4)
    assert all(np.array_equal(one[name], two[name]) and not np.array_equal(one[name], other[name]) for name in ("x", "w", "table"))
    assert one["x"].dtype == np.float32
    assert one["w"].dtype == np.int8
    assert one["w"].min() < -30


def test_numbers_that_may_be_indices_index_every_dimension(tmp_path: Path) -> None:
    made = make_operands(request(tmp_path, M=200, N=7, dtype="f32"))
    assert set(made) == {"x", "table"}
    assert set(made["table"].tolist()) == set(range(7))


@pytest.mark.parametrize("strides", [(9, 1), (1, 6), (-9, 1), (1, -6), (0, 1), (0, 0), (-20, -2)])
@pytest.mark.parametrize("align", [2, 4, 8, 64, 4096, 65536])
def test_a_stated_layout_is_what_is_made(tmp_path: Path, strides: tuple[int, int], align: int) -> None:
    said = {"x.strides": ",".join(map(str, strides)), "x.align": align}
    it = view(make_operands(request(tmp_path, M=6, N=9, dtype="f32", **said))["x"])
    assert it.strides == strides
    assert it.align == min(align, 4096)  # a view tells no more than a page


HUGE = {"M": 10**8, "N": 10**8, "dtype": "f64"}


@pytest.mark.parametrize(("words", "said"), [({"M": 3}, "dtype"), ({"M": 3, "dtype": "f32"}, "N"), (HUGE, "'x'"), ({**HUGE, "N": 10**15}, "'x'")])
def test_what_cannot_be_made_is_the_callers_mistake(tmp_path: Path, words: dict[str, Any], said: str) -> None:
    with pytest.raises(OperandError, match=said):
        make_operands(request(tmp_path, **words))


def test_strides_that_reach_too_far_are_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(OperandError, match="'x'"):
        make_operands(request(tmp_path, M=3, N=3, dtype="f32", **{"x.strides": "99999999999999,1"}))


def test_a_dimension_of_size_0_leaves_the_others_their_indices(tmp_path: Path) -> None:
    made = make_operands(request(tmp_path, M=50, N=0, dtype="f32"))
    assert made["x"].shape == (50, 0)
    assert made["table"].max() > 5
