"""From operands to a result: who runs, what is never given away, what is told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tessera_rules as tsr
from tessera_rules.session import Arbiter, open_arbiter
from tests.session import kernels

OPS = """
op product {
  operand a: [M, K]
  operand b: [K, N]
  result [M, N]
  dtype a in [f64, f32]
  reference python "tessera_rules.ops.matmul:reference"
}
target cpu { fact cores: int }
target x86 { fact cores: int; facts python "tessera_rules.targets.x86:facts" }
"""


def candidate(name: str, kernel: str | None = None, *, tier: str = "emitted", more: str = "") -> str:
    return f'candidate {name} {{\n  tier {tier}; target cpu; op product\n  {more}\n  bind python "tests.session.kernels:{kernel or name}"\n}}\n'


def arbiter(*declarations: str) -> Arbiter:
    kernels.CALLS.clear()
    kernels.Later.calls = 0
    ops = OPS.replace("target cpu { fact cores: int }", "target cpu { }")
    return open_arbiter([], texts={"ops.tsr": ops, "t.tsr": "".join(declarations)})


@pytest.fixture
def operands() -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    return rng.standard_normal((5, 100)).astype(np.float32), rng.standard_normal((100, 3)).astype(np.float32)


WRONG = ["zeros", "wrong_shape", "wrong_dtype", "in_place", "drops_tail"]


@pytest.mark.parametrize("kernel", WRONG)
def test_a_wrong_kernel_never_returns_a_result(kernel: str, operands: tuple[Any, Any]) -> None:
    a, b = operands
    before = a.copy()
    out, execution = arbiter(candidate(kernel, tier="hand_tuned"), candidate("right")).run_traced("product", a, b, target="cpu")
    assert execution.tag == "right"
    verdicts = {each.candidate: each.verdict for each in execution.decision.verdicts}
    assert verdicts == {kernel: "wrong", "right": "selected"}
    np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-5)
    assert np.array_equal(a, before)


def test_the_verdict_says_how_far_off_it_is(operands: tuple[Any, Any]) -> None:
    _, execution = arbiter(candidate("zeros")).run_traced("product", *operands, target="cpu")
    assert (execution.tag, execution.candidate) == ("reference", None)
    (verdict,) = execution.decision.verdicts
    assert verdict.extra["max_error"] > verdict.extra["budget"] > 0
    assert "element" in verdict.reason


def test_T2_a_decliner_is_not_viable_and_the_next_tier_wins(operands: tuple[Any, Any]) -> None:
    _, execution = arbiter(candidate("declines", tier="hand_tuned"), candidate("right", tier="synthesized")).run_traced("product", *operands, target="cpu")
    assert execution.tag == "right"
    assert {each.candidate: each.verdict for each in execution.decision.verdicts}["declines"] == "declined"


def test_a_kernel_that_raises_is_contained(operands: tuple[Any, Any]) -> None:
    _, execution = arbiter(candidate("raises", tier="hand_tuned"), candidate("right")).run_traced("product", *operands, target="cpu")
    assert execution.tag == "right"
    found = next(each for each in execution.decision.verdicts if each.candidate == "raises")
    assert found.verdict in ("crashed", "failed")
    assert "the launch failed" in found.reason


def test_what_was_proved_is_not_proved_again(operands: tuple[Any, Any]) -> None:
    session = arbiter(candidate("right"))
    session.run("product", *operands, target="cpu")
    kernels.CALLS.clear()
    _, execution = session.run_traced("product", *operands, target="cpu")
    assert kernels.CALLS == ["right"]
    assert execution.proof == "verified"


def test_T19_what_is_right_at_the_shape_in_hand_alone_is_not_proved(operands: tuple[Any, Any]) -> None:
    a, b = operands
    session = arbiter(candidate("drops_tail", tier="hand_tuned"), candidate("right"))
    assert session.run_traced("product", a[:, :64].copy(), b[:64], target="cpu")[1].tag == "right"
    assert session.run_traced("product", a, b, target="cpu")[1].tag == "right"


def test_a_decline_at_run_is_degraded_and_the_next_serves(operands: tuple[Any, Any]) -> None:
    _, execution = arbiter(candidate("declines_later", tier="hand_tuned"), candidate("right")).run_traced("product", *operands, target="cpu")
    assert execution.tag == "right"
    assert [(each.candidate, each.verdict) for each in execution.degraded] == [("declines_later", "declined")]


def test_T11_a_forced_candidate_that_is_wrong_is_an_error_and_never_the_reference(operands: tuple[Any, Any]) -> None:
    with pytest.raises(tsr.ArbiterError, match="zeros") as caught:
        arbiter(candidate("zeros"), candidate("right")).run("product", *operands, target="cpu", force="zeros")
    assert caught.value.candidate == "zeros"


def test_a_forced_candidate_that_declines_at_run_is_an_error(operands: tuple[Any, Any]) -> None:
    with pytest.raises(tsr.ArbiterError, match="out of workspace"):
        arbiter(candidate("declines_later"), candidate("right")).run("product", *operands, target="cpu", force="declines_later")


def test_the_environment_forces_too(operands: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    session = arbiter(candidate("right", tier="hand_tuned"), candidate("second", "right"))
    monkeypatch.setenv("TSR_FORCE", "product@cpu=second")
    assert session.run_traced("product", *operands, target="cpu")[1].tag == "second"
    monkeypatch.setenv("TSR_FORCE", "product@cpu=secnod")
    with pytest.raises(tsr.TesseraError, match="second"):
        session.run("product", *operands, target="cpu")


def test_T17_a_guard_delegates_and_says_so(operands: tuple[Any, Any]) -> None:
    a, b = operands
    guarded = candidate("first", "right", tier="hand_tuned", more='guard { amax(a) <= 100.0 because "overflow" } else third')
    session = arbiter(guarded, candidate("second", "right"), candidate("third", "right", tier="synthesized"))
    assert session.run_traced("product", a, b, target="cpu")[1].tag == "first"
    a = a.copy()
    a[0, 0] = 1e3
    _, execution = session.run_traced("product", a, b, target="cpu")
    assert execution.tag == "third"
    verdict = next(each for each in execution.decision.verdicts if each.candidate == "first")
    assert (verdict.verdict, verdict.extra["to"], verdict.because) == ("delegated", "third", "overflow")
    a[0, 0] = np.nan
    assert session.run_traced("product", a, b, target="cpu")[1].tag == "third"


def test_a_guard_without_else_hands_to_the_next_in_rank_whose_own_guard_is_asked(operands: tuple[Any, Any]) -> None:
    a, b = operands
    text = [candidate(name, "right", tier=tier, more="guard { amax(a) <= 0.0 }") for name, tier in (("first", "hand_tuned"), ("second", "emitted"))]
    _, execution = arbiter(*text, candidate("third", "right", tier="synthesized")).run_traced("product", a, b, target="cpu")
    assert execution.tag == "third"
    assert [each.verdict for each in execution.decision.verdicts] == ["delegated", "delegated", "selected"]


def test_T16_the_tag_is_the_candidate_or_the_reference(operands: tuple[Any, Any]) -> None:
    assert arbiter().run_traced("product", *operands, target="cpu")[1].tag == "reference"
    assert arbiter(candidate("right")).run_traced("product", *operands, target="cpu")[1].tag == "right"


def test_P11_an_empty_result_is_the_references_at_once() -> None:
    out, execution = arbiter(candidate("zeros")).run_traced("product", np.ones((0, 4), np.float32), np.ones((4, 3), np.float32), target="cpu")
    assert (out.shape, out.dtype) == ((0, 3), np.float32)
    assert (execution.tag, execution.decision.criterion) == ("reference", "empty")


def test_operands_that_do_not_fit_are_the_callers_mistake(operands: tuple[Any, Any]) -> None:
    a, b = operands
    with pytest.raises(tsr.OperandError, match="K"):
        arbiter(candidate("right")).run("product", a, b[:50], target="cpu")
    with pytest.raises(tsr.OperandError, match="'b'"):
        arbiter(candidate("right")).run("product", a, target="cpu")


def test_a_stated_machine_runs_nothing(operands: tuple[Any, Any]) -> None:
    session = arbiter(candidate("right")).on({"machine": 1, "targets": {"cpu": {}}})
    assert session.decide("product", target="cpu", dtype="f32", M=1, N=1, K=1).winner == "right"
    with pytest.raises(tsr.UsageError, match="this machine"):
        session.run("product", *operands, target="cpu")


def test_a_result_goes_where_the_caller_wants_it(operands: tuple[Any, Any]) -> None:
    a, b = operands
    out = np.full((5, 3), np.nan, np.float32)
    found = arbiter(candidate("right")).run("product", a, b, target="cpu", out=out)
    assert found is out
    np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-5)


def test_declaring_gives_a_new_arbiter_and_leaves_the_old_one(operands: tuple[Any, Any]) -> None:
    old = arbiter(candidate("right", tier="synthesized"))
    new = old.declare(candidate("second", "right", tier="hand_tuned"))
    assert new.run_traced("product", *operands, target="cpu")[1].tag == "second"
    assert old.run_traced("product", *operands, target="cpu")[1].tag == "right"
    with pytest.raises(tsr.RuleError):
        new.declare(candidate("second", "right"))
    assert new.declare(candidate("second", "zeros"), replace=True).run_traced("product", *operands, target="cpu")[1].tag == "right"


def test_T1_a_replaced_kernel_does_not_inherit_a_proof(operands: tuple[Any, Any]) -> None:
    session = arbiter(candidate("same", "right"))
    assert session.run_traced("product", *operands, target="cpu")[1].tag == "same"
    other = session.declare(candidate("same", "zeros"), replace=True)
    assert other.run_traced("product", *operands, target="cpu")[1].tag == "reference"


def test_many_threads_get_the_same_answer(operands: tuple[Any, Any]) -> None:
    session = arbiter(candidate("zeros", tier="hand_tuned"), candidate("right"))
    with ThreadPoolExecutor(8) as pool:
        tags = set(pool.map(lambda _: session.run_traced("product", *operands, target="cpu")[1].tag, range(64)))
    assert tags == {"right"}
