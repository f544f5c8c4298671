"""Where results go: the caller's output, operands written in place, and what becomes of them when a kernel fails on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera_rules as tsr
from tessera_rules.session import Arbiter, open_arbiter
from tests.session.native import arbiter as native_arbiter
from tests.session.native import candidate as native_candidate

OP = """
op scale { inout c: [M, N]; operand a: [M, N]; result c; dtype a in [f32]; reference python "tests.session.kernels:added" }
op two { operand a: [M, N]; result low: [M, N]; result high: [N] f64; dtype a in [f32]; reference python "tests.session.kernels:split" }
op sum { operand a: [M, N]; result [N]; dtype a in [f32]; reference python "tests.session.kernels:total" }
target cpu { }
"""


def candidate(name: str, op: str, tier: str = "emitted") -> str:
    return f'candidate {name} {{ tier {tier}; target cpu; op {op}; bind python "tests.session.kernels:{name}" }}\n'


def arbiter(*declarations: str) -> Arbiter:
    return open_arbiter([], texts={"o.tsr": OP, "c.tsr": "".join(declarations)})


def numbers(*shape: int, seed: int = 1) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


@pytest.mark.parametrize("kernel", ["half_written_then_fails", "half_written_then_declines"])
@pytest.mark.parametrize("others", [["added_in_place"], []])
def test_who_fails_half_way_leaves_what_it_wrote_in_place_to_nobody(kernel: str, others: list[str]) -> None:
    c, a = numbers(4, 3), numbers(4, 3, seed=2)
    before = c.copy()
    session = arbiter(candidate(kernel, "scale", "hand_tuned"), *(candidate(name, "scale") for name in others))
    out, execution = session.run_traced("scale", c, a, target="cpu")
    assert execution.tag == (others[0] if others else "reference")
    assert [each.candidate for each in execution.degraded] == [kernel]
    np.testing.assert_allclose(c, before + a, rtol=1e-6)
    assert out is c


def test_a_forced_kernel_that_fails_half_way_leaves_the_operand_as_it_was() -> None:
    c, a = numbers(4, 3), numbers(4, 3, seed=2)
    before = c.copy()
    with pytest.raises(tsr.ArbiterError, match="half way"):
        arbiter(candidate("half_written_then_fails", "scale")).run("scale", c, a, target="cpu", force="half_written_then_fails")
    assert np.array_equal(c, before)


def test_the_reference_writes_in_place_too() -> None:
    c, a = numbers(4, 6)[:, ::-2], numbers(4, 3, seed=2)
    before = c.copy()
    out, execution = arbiter().run_traced("scale", c, a, target="cpu")
    assert execution.tag == "reference"
    assert out is c
    np.testing.assert_allclose(c, before + a, rtol=1e-6)


def sessions(tmp_path: Path) -> dict[str, Arbiter]:
    return {"native": native_arbiter(tmp_path, native_candidate("sound")), "reference": native_arbiter(tmp_path)}


@pytest.mark.parametrize("who", ["native", "reference"])
def test_an_output_that_is_none_is_the_callers_mistake_whoever_runs(tmp_path: Path, who: str) -> None:
    session = sessions(tmp_path)[who]
    a, b = numbers(6, 7), numbers(7, 5)
    frozen = np.zeros((6, 5), "f4")
    frozen.flags.writeable = False
    over = np.zeros(100, "f4")
    cases: list[tuple[Any, Any, str]] = [
        (a, np.zeros((5, 6), "f4"), "shape|is \\[5, 6\\]"),
        (a, np.zeros((2, 6, 5), "f4"), "\\[2, 6, 5\\]"),
        (a, np.zeros((6, 5), "f8"), "f64"),
        (a, frozen, "read-only"),
        (a, [[0.0]], "no array"),
        (a, (np.zeros((6, 5), "f4"), np.zeros((6, 5), "f4")), "2 outputs"),
        (over[:42].reshape(6, 7), over[40:70].reshape(6, 5), "lies over operand 'a'"),
        (a, np.lib.stride_tricks.as_strided(np.zeros(5, "f4"), (6, 5), (0, 4)), "on top of each other"),
        (a, np.lib.stride_tricks.as_strided(np.zeros(5, "f4"), (6, 5), (20, 4)), "outside of its buffer"),
    ]
    for left, out, said in cases:
        with pytest.raises(tsr.OperandError, match=said):
            session.run("product", left, b, out=out, target="cpu")


@pytest.mark.parametrize("who", ["native", "reference"])
@pytest.mark.parametrize("several", [tuple, list])
def test_an_output_is_what_comes_back(tmp_path: Path, who: str, several: type) -> None:
    session = sessions(tmp_path)[who]
    a, b, out = numbers(6, 7), numbers(7, 5), np.zeros((6, 5), "f4")
    assert session.run("product", a, b, out=out, target="cpu") is out
    np.testing.assert_allclose(out, a @ b, atol=1e-5)
    out = np.zeros((6, 5), "f4")
    assert session.run("product", a, b, out=several([out]), target="cpu") is out
    np.testing.assert_allclose(out, a @ b, atol=1e-5)


@pytest.mark.parametrize("who", ["split_up", None])
def test_several_results_go_to_several_outputs(who: str | None) -> None:
    session = arbiter(*([candidate(who, "two")] if who else []))
    a = numbers(4, 3)
    (low, high), execution = session.run_traced("two", a, target="cpu")
    assert execution.tag == (who or "reference")
    np.testing.assert_allclose(low, a - 1)
    np.testing.assert_allclose(high, a.sum(axis=0, dtype="f8"))
    outs = np.zeros((4, 3), "f4"), np.zeros(3, "f8")
    given = session.run("two", a, out=outs, target="cpu")
    assert given[0] is outs[0]
    assert given[1] is outs[1]
    np.testing.assert_allclose(outs[0], a - 1)
    np.testing.assert_allclose(outs[1], high)


def test_outputs_may_not_lie_over_each_other() -> None:
    memory = np.zeros(100, "f8")
    with pytest.raises(tsr.OperandError, match="lies over"):
        arbiter().run("two", numbers(4, 3), out=(memory[:6].view("f4").reshape(4, 3), memory[4:7]), target="cpu")


def test_an_op_that_only_writes_in_place_takes_no_output() -> None:
    with pytest.raises(tsr.OperandError, match="0 results of its own"):
        arbiter().run("scale", numbers(4, 3), numbers(4, 3), out=numbers(4, 3), target="cpu")


@pytest.mark.parametrize("others", [["added_in_place"], []])
def test_what_is_written_in_place_lies_over_no_other_operand(others: list[str]) -> None:
    memory = numbers(20)
    with pytest.raises(tsr.OperandError, match="'c' lies over operand 'a'"):
        arbiter(*(candidate(name, "scale") for name in others)).run("scale", memory[:12].reshape(4, 3), memory[8:].reshape(4, 3), target="cpu")
