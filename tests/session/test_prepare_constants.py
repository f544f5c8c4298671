"""Constant operands: packed once, held, and never gone by once they changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tessera_rules as tsr
from tests.session import kernels
from tests.session.test_prepare import arbiter, candidate

PACKS = 'packs b python "tests.session.kernels:{}"'


@pytest.fixture
def operands() -> tuple[Any, Any]:
    kernels.CALLS.clear()
    rng = np.random.default_rng(5)
    return rng.standard_normal((6, 40)).astype(np.float32), rng.standard_normal((40, 7)).astype(np.float32)


def test_a_constant_is_packed_once_and_what_is_proved_is_what_runs(operands: tuple[Any, Any]) -> None:
    a, b = operands
    session = arbiter(candidate("panels", tier="hand_tuned", more=PACKS.format("pack_panels")), candidate("right"))
    ready = session.prepare("product", target="cpu", dtype="f32", constant={"b": b})
    _, execution = ready.traced(a)
    assert (execution.tag, execution.proof) == ("panels", "verified")
    assert "unpacked" not in kernels.CALLS
    kernels.CALLS.clear()
    for rows in (6, 6, 3, 3):
        np.testing.assert_allclose(ready(a[:rows].copy()), a[:rows].astype(np.float64) @ b, rtol=1e-4, atol=1e-5)
    assert "unpacked" not in kernels.CALLS
    kernels.CALLS.clear()
    ready(a)
    assert kernels.CALLS == ["panels"]
    assert session.run_traced("product", a, b, target="cpu")[1].tag == "panels"
    assert "unpacked" in kernels.CALLS


def test_a_packer_that_is_wrong_is_found_by_the_proof(operands: tuple[Any, Any]) -> None:
    a, b = operands
    session = arbiter(candidate("panels", tier="hand_tuned", more=PACKS.format("pack_wrongly")), candidate("right"))
    _, execution = session.prepare("product", target="cpu", constant={"b": b}).traced(a)
    assert execution.tag == "right"
    assert {each.candidate: each.verdict for each in execution.decision.verdicts}["panels"] == "wrong"
    assert session.run_traced("product", a, b, target="cpu")[1].tag == "panels"


def test_a_packer_that_is_not_there_makes_the_candidate_unavailable(operands: tuple[Any, Any]) -> None:
    a, b = operands
    session = arbiter(candidate("panels", tier="hand_tuned", more=PACKS.format("pack_nothing")), candidate("right"))
    _, execution = session.prepare("product", target="cpu", constant={"b": b}).traced(a)
    found = next(each for each in execution.decision.verdicts if each.candidate == "panels")
    assert (execution.tag, found.verdict) == ("right", "unavailable")
    assert "pack_nothing" in found.reason


def test_a_constant_that_changed_is_detected(operands: tuple[Any, Any]) -> None:
    a, b = operands
    older_view = b[:]
    ready = arbiter(candidate("panels", tier="hand_tuned", more=PACKS.format("pack_panels"))).prepare("product", target="cpu", constant={"b": b})
    for _ in range(2):
        ready(a)
    with pytest.raises(ValueError, match="read-only"):
        b[3, 3] = 7
    older_view *= 2
    with pytest.raises(tsr.OperandError, match="'b' changed"):
        ready(a)
    older_view /= 2
    ready(a)
    b.flags.writeable = True
    b[39, 6] += 1
    with pytest.raises(tsr.OperandError, match="'b' changed"):
        ready(a)


def test_a_constant_that_is_a_view_is_compared_whole_and_stays_writable(operands: tuple[Any, Any]) -> None:
    a, b = operands
    whole = np.concatenate([b, b])
    ready = arbiter(candidate("panels", tier="hand_tuned", more=PACKS.format("pack_panels"))).prepare("product", target="cpu", constant={"b": whole[:40]})
    for _ in range(2):
        ready(a)
    whole[41] = 0  # not the constant's
    ready(a)
    whole[17, 5] += 1
    with pytest.raises(tsr.OperandError, match="'b' changed"):
        ready(a)


def test_a_constant_that_nobody_packs_is_an_operand_like_others(operands: tuple[Any, Any]) -> None:
    a, b = operands
    ready = arbiter(candidate("right")).prepare("product", target="cpu", constant={"b": b})
    ready(a)
    b[0] += 1
    np.testing.assert_allclose(ready(a), a.astype(np.float64) @ b, rtol=1e-4, atol=1e-5)
    assert ready.decide_on(a).tag == "right"
    assert ready(a=a).shape == (6, 7)
    with pytest.raises(tsr.OperandError, match="besides its constants"):
        ready(a, b)
    with pytest.raises(tsr.OperandError, match="given already"):
        ready(a, b=b)
    with pytest.raises(tsr.OperandError, match="'c'"):
        arbiter(candidate("right")).prepare("product", target="cpu", constant={"c": b})


def test_a_constant_becomes_writable_again_when_nobody_holds_it_packed(operands: tuple[Any, Any]) -> None:
    import gc

    a, b = operands
    ready = arbiter(candidate("panels", tier="hand_tuned", more=PACKS.format("pack_panels"))).prepare("product", target="cpu", constant={"b": b})
    ready(a)
    assert not b.flags.writeable
    del ready
    gc.collect()
    assert b.flags.writeable
