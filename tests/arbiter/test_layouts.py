"""Layouts: what is stated, what follows from sizes, what stays open; held against NumPy where it has an opinion."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tessera_rules.arbiter import bind_words, layouts
from tessera_rules.arbiter.facts import RequestFacts, lookup_for
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError
from tessera_rules.model.request import Unknown
from tessera_rules.model.values import StatedLayout
from tests.arbiter.asking import ask, box, of
from tests.arbiter.factory import ROCM, candidate, make_op, ruleset


def facts(words: str) -> RequestFacts:
    return RequestFacts(bind_words(ruleset(), "matmul", "cpu", dict(word.split("=", 1) for word in words.split()), box()))


def test_dimensions_stand_for_contiguous_aligned_operands():
    known = facts("dtype=f32 M=4 N=8 K=16")
    assert [known(key) for key in ("align:a", "contiguous:a", "broadcast:a", "stride:a:0", "stride:a:1", "max_offset:a")] == [64, True, False, 16, 1, 63]
    assert [known(key) for key in ("contiguous:out", "stride:out:0", "max_offset:out")] == [True, 8, 31]
    assert known("given:bias") is False


def test_what_hangs_on_open_sizes_is_open_and_what_does_not_is_said():
    known = facts("dtype=f32 M=4")
    assert [known(key) for key in ("contiguous:a", "align:a", "stride:a:1", "stride:a:0", "max_offset:a", "dim:K")] == [True, 64, 1, UNKNOWN, UNKNOWN, UNKNOWN]


@pytest.mark.parametrize(("stated", "align"), [(1, 1), (2, 2), (4, 4), (64, 64), (4096, 4096), (8192, 4096)])
def test_stated_alignment(stated, align):
    assert facts(f"a.align={stated}")("align:a") == align


def test_strides_of_dense_operands_agree_with_numpy():
    for shape in itertools.product((1, 2, 3), repeat=3):
        found = tuple(layouts.stride(shape, layouts.PLAIN, axis) for axis in range(3))
        assert found == tuple(step // 4 for step in np.zeros(shape, np.float32).strides), shape


def test_a_size_of_zero_leaves_a_leading_dimension_positive():
    assert facts("M=4 K=0 N=0")("stride:a:0") == 1
    assert facts("M=4 K=0 N=8 a.strides=0,0")("broadcast:a") is False


def test_contiguity_agrees_with_numpy():
    for shape in itertools.product((0, 1, 2, 3), repeat=3):
        for strides in itertools.product((0, 1, 2, 3, 6, 9), repeat=3):
            array = np.lib.stride_tricks.as_strided(np.zeros(64, np.float32), shape, tuple(4 * step for step in strides))
            said = layouts.contiguous(shape, StatedLayout(strides=strides))
            assert said is array.flags.c_contiguous, (shape, strides)


def test_the_largest_offset_agrees_with_looking_at_every_element():
    for shape in itertools.product((0, 1, 2, 3), repeat=2):
        for strides in itertools.product((-4, -1, 0, 1, 5), repeat=2):
            offsets = [i * strides[0] + j * strides[1] for i in range(shape[0]) for j in range(shape[1])]
            reached = max((abs(offset) for offset in (max(offsets, default=0), min(offsets, default=0))), default=0)
            assert layouts.max_offset(shape, StatedLayout(strides=strides)) == reached


def test_an_open_answer_is_right_for_every_completion():
    for shape in itertools.product((0, 1, 2, UNKNOWN), repeat=3):
        completions = list(itertools.product(*((0, 1, 2, 5) if isinstance(size, Unknown) else (size,) for size in shape)))
        for strides in itertools.product((0, 1, 2, 4), repeat=3):
            layout = StatedLayout(strides=strides)
            for function in (layouts.contiguous, layouts.max_offset, layouts.broadcast):
                said = function(shape, layout)
                found = {function(whole, layout) for whole in completions}
                assert said is UNKNOWN or found == {said}, (function.__name__, shape, strides)


def test_open_sizes_leave_open_only_what_they_can_change():
    assert layouts.contiguous((UNKNOWN, 8), StatedLayout(strides=(8, 1))) is True
    assert layouts.contiguous((UNKNOWN, 8), StatedLayout(strides=(9, 1))) is UNKNOWN
    assert layouts.contiguous((UNKNOWN, 8), StatedLayout(strides=(8, 2))) is UNKNOWN  # 0 rows have no wrong stride


def test_needs_of_a_layout_are_the_sizes_that_it_hangs_on():
    rules = ruleset(candidate("x", requires=["stride(a, 0) % 8 == 0"]))
    decision = ask(rules, "dtype=f32 M=4 N=4")
    assert of(decision, "x").verdict == "undecided"
    assert decision.residual[0].needs == ("K",)


def test_P3_broadcast_operands_are_told_from_dense_ones():
    rules = ruleset(candidate("dense", "hand_tuned", requires=["not broadcast(b)"]), candidate("any", "synthesized"))
    assert ask(rules).winner == "dense"
    assert ask(rules, "dtype=f32 M=4 N=4 K=4 b.strides=0,1").winner == "any"


def test_operand_dtypes():
    op = make_op("quantized", {"x": "M", "w": "M", "z?": "M"}, "M", choices={"w": ("f16", "i8"), "z": ("i8", "u8")})
    rules = ruleset(candidate("int", op=op, requires=["dtype_of(w) == i8"]), ops=[op])
    assert ask(rules, "dtype=f32 M=4 w.dtype=i8", op="quantized").winner == "int"
    assert of(ask(rules, "dtype=f32 M=4 w.dtype=f16", op="quantized"), "int").verdict == "refused"
    open_one = ask(rules, "dtype=f32 M=4", op="quantized")
    assert (of(open_one, "int").verdict, open_one.residual[0].needs) == ("undecided", ("w.dtype",))
    absent = ruleset(candidate("z", op=op, requires=["dtype_of(z) == i8"], honours=["z"]), ops=[op])
    assert "not given" in of(ask(absent, "dtype=f32 M=4", op="quantized"), "z").reason
    assert ask(absent, "dtype=f32 M=4 given=z z.dtype=i8", op="quantized").winner == "z"


def test_facts_of_devices_probes_and_data():
    request = bind_words(ruleset(), "matmul", "rocm", {"M": 4}, box())
    who = candidate("x", target=ROCM)
    lookup = lookup_for(request, {"arch": "gfx1151"}, box(libraries=["libx.so"]), who)
    assert lookup("device:arch") == "gfx1151"
    assert lookup("probe:library:libx.so") is True
    assert lookup("os") == "linux"
    assert lookup("amax:a") is UNKNOWN
    assert lookup_for(request, {}, box(), who, {"amax:a": 3.0}.__getitem__)("amax:a") == 3.0
    assert lookup_for(request, None, box(), who)("device:arch") is UNKNOWN
    with pytest.raises(ClauseError, match=r"device\.driver is missing"):
        lookup("device:driver")
    with pytest.raises(ClauseError, match="is no fact"):
        lookup("nonsense")
