"""Prepared requests: the same answers as the long way, and nothing remembered that no longer holds."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera_rules as tsr
from tessera_rules.corpus.pins import write_pins
from tessera_rules.machine.epoch import EPOCH
from tessera_rules.session import Arbiter, open_arbiter
from tests.session import kernels

OPS = """
op product {
  operand a: [M, K]
  operand b: [K, N]
  result [M, N]
  attr alpha: float = 1.0
  dtype a in [f64, f32]
  reference python "tests.session.kernels:reference"
}
target cpu { }
"""


def candidate(name: str, kernel: str | None = None, *, tier: str = "emitted", more: str = "") -> str:
    return f'candidate {name} {{\n  tier {tier}; target cpu; op product\n  {more}\n  bind python "tests.session.kernels:{kernel or name}"\n}}\n'


def arbiter(*declarations: str) -> Arbiter:
    return open_arbiter([], texts={"ops.tsr": OPS, "t.tsr": "".join(declarations)})


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    kernels.CALLS.clear()
    kernels.Sometimes.next.clear()
    yield
    kernels.Sometimes.next.clear()


@pytest.fixture
def operands() -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    return rng.standard_normal((5, 100)).astype(np.float32), rng.standard_normal((100, 3)).astype(np.float32)


SEVERAL = (
    candidate("tiles", "right", tier="hand_tuned", more="requires { M % 8 == 0 and K % 4 == 0 }; avoid { N < 4 }"),
    candidate("rows", "right", more="requires { stride(a, 0) % 8 == 0; aligned(a, 16) }; cost 1.0 * M"),
    candidate("columns", "right", more="requires { K % (N - 1) == 0 }; cost 1.0 * N"),
    "rule few { op product  target cpu  when M == 1  prefer rows over tiles, columns }\n",
)


# ---- decisions ----


def test_prepared_decisions_are_the_arbiters() -> None:
    session = arbiter(*SEVERAL)
    ready = session.prepare("product", target="cpu", dtype="f32")
    tags = set()
    for m, k, n in itertools.product((0, 1, 2, 8, 16), (1, 3, 4, 8), (1, 2, 4, 5)):
        expected = session.decide("product", target="cpu", dtype="f32", M=m, N=n, K=k).tag
        tags.add(expected)
        for _ in range(2):  # cold, then remembered
            assert ready.decide(m, k, n).tag == expected
            assert ready.decide(N=n, M=m, K=k).tag == expected
    assert tags == {"tiles", "rows", "columns", "reference"}


def test_a_choice_explains_itself_when_it_is_asked() -> None:
    choice = arbiter(*SEVERAL).prepare("product", target="cpu", dtype="f32").decide(8, 3, 4)
    assert choice.winner == choice.tag == choice.decision.winner
    assert "tiles" in choice.explain()
    assert "K % 4 == 0" in choice.explain()


def test_mistakes_are_the_callers_and_are_not_remembered() -> None:
    ready = arbiter(*SEVERAL).prepare("product", target="cpu", dtype="f32")
    for _ in range(2):
        with pytest.raises(tsr.OperandError):
            ready.decide(-1, 4, 4)
        with pytest.raises(tsr.OperandError, match="3 dimensions"):
            ready.decide(1, 2, 3, 4)
        with pytest.raises(tsr.OperandError, match="by position and by name"):
            ready.decide(8, 4, M=4)
        with pytest.raises(tsr.OperandError, match="'L'"):
            ready.decide(M=8, K=4, L=4)
    assert ready.decide(8).tag == "undecided"
    with pytest.raises(tsr.OperandError, match="alpah"):
        arbiter(*SEVERAL).prepare("product", target="cpu", alpah=1.0)
    with pytest.raises(tsr.UsageError):
        arbiter(*SEVERAL).prepare("prodcut", target="cpu")


def test_decisions_from_operands_see_layouts() -> None:
    session = arbiter(*SEVERAL)
    ready = session.prepare("product", target="cpu", dtype="f32")
    memory = np.zeros(4096, np.float32)
    start = -memory.__array_interface__["data"][0] % 64 // 4
    b = np.ones((8, 6), np.float32)
    found = set()
    for shift, pitch in itertools.product((0, 1, 4), (8, 9, 16)):
        a = np.lib.stride_tricks.as_strided(memory[start + shift :], (5, 8), (pitch * 4, 4))
        words = {"a.align": 4 if shift == 1 else 16 if shift == 4 else 64, "a.strides": f"{pitch},1"}
        expected = session.decide("product", target="cpu", dtype="f32", M=5, N=6, K=8, **words).tag
        assert [ready.decide_on(a, b).tag for _ in range(2)] == [expected, expected]
        found.add(expected)
    assert found == {"rows", "reference"}
    with pytest.raises(tsr.OperandError, match="f64"):
        ready.decide_on(np.ones((5, 8)), np.ones((8, 6)))


# ---- calls ----


def test_a_call_is_proved_once_and_then_only_made(operands: tuple[Any, Any]) -> None:
    a, b = operands
    session = arbiter(candidate("right"))
    ready = session.prepare("product", target="cpu", dtype="f32")
    ready(a, b)
    kernels.CALLS.clear()
    for _ in range(5):
        np.testing.assert_allclose(ready(a, b), a.astype(np.float64) @ b, rtol=1e-5)
    _, execution = ready.traced(a, b=b)
    assert kernels.CALLS == ["right"] * 6
    assert (execution.tag, execution.proof) == ("right", "verified")
    assert dict(session.log.totals()) == {("product", "cpu", "right", "won"): 7}
    assert [each.tag for each in session.log.recent()] == ["right"] * 7


def test_what_differs_in_shape_stride_or_dtype_is_asked_anew(operands: tuple[Any, Any]) -> None:
    a, b = operands
    session = arbiter(candidate("small", "right", tier="hand_tuned", more="requires { K <= 64; dtype == f32 }"), candidate("right"))
    ready = session.prepare("product", target="cpu")
    short = a[:, :64].copy()
    for _ in range(2):
        assert ready.traced(short, b[:64].copy())[1].tag == "small"
        assert ready.traced(a, b)[1].tag == "right"
        assert ready.traced(short.astype(np.float64), b[:64].astype(np.float64))[1].tag == "right"
    with pytest.raises(tsr.OperandError, match="K"):
        ready(a, b[:50])
    with pytest.raises(tsr.OperandError, match="missing"):
        ready(a)
    with pytest.raises(tsr.OperandError, match="f64"):
        session.prepare("product", target="cpu", dtype="f32")(a.astype(np.float64), b.astype(np.float64))


def test_attributes_that_are_equal_and_not_the_same_are_told_apart(operands: tuple[Any, Any]) -> None:
    session = arbiter(candidate("scaled", more="honours [alpha]"))
    a, b = operands
    plain = session.run("product", a, b, target="cpu")
    for alpha in (2.0, 0.0, -0.0, 2.0):
        found = session.run("product", a, b, target="cpu", alpha=alpha)
        assert np.array_equal(np.signbit(found), np.signbit(alpha * plain))
    with pytest.raises(tsr.OperandError, match="alpha"):
        session.run("product", a, b, target="cpu", alpha=True)
    assert np.array_equal(session.run("product", a, b, target="cpu", alpha=1), plain)


@pytest.mark.parametrize("mood", [tsr.Declined("busy"), ValueError("no"), "wrong shape"], ids=["declined", "failed", "shape"])
def test_a_warm_call_that_does_not_deliver_is_degraded_and_the_next_serves(operands: tuple[Any, Any], mood: Any) -> None:
    a, b = operands
    session = arbiter(candidate("moody", tier="hand_tuned"), candidate("right"))
    ready = session.prepare("product", target="cpu", dtype="f32")
    assert ready.traced(a, b)[1].tag == "moody"
    kernels.Sometimes.next.append(mood)
    found, execution = ready.traced(a, b)
    np.testing.assert_allclose(found, a.astype(np.float64) @ b, rtol=1e-5)
    assert [execution.tag, *(each.candidate for each in execution.degraded)] == ["right", "moody"]
    assert ready.traced(a, b)[1].tag == "moody"
    assert dict(session.log.totals())["product", "cpu", "moody", "degraded"] == 1


def test_failures_of_warm_calls_count_for_the_quarantine(operands: tuple[Any, Any]) -> None:
    session = arbiter(candidate("moody", tier="hand_tuned"), candidate("right"))
    ready = session.prepare("product", target="cpu", dtype="f32")
    for _ in range(3):
        assert ready.traced(*operands)[1].tag == "moody"
        kernels.Sometimes.next.append(ValueError("no"))
        assert ready.traced(*operands)[1].tag == "right"
    for _ in range(2):
        _, execution = ready.traced(*operands)
        assert {each.candidate: each.verdict for each in execution.decision.verdicts}["moody"] == "quarantined"


def test_a_forced_warm_call_that_fails_is_an_error(operands: tuple[Any, Any]) -> None:
    ready = arbiter(candidate("moody", tier="hand_tuned"), candidate("right")).prepare("product", target="cpu", force="moody")
    ready(*operands)
    kernels.Sometimes.next.append(ValueError("no"))
    with pytest.raises(tsr.ArbiterError, match="moody failed at run"):
        ready(*operands)


def test_a_guard_is_asked_at_every_call(operands: tuple[Any, Any]) -> None:
    a, b = operands
    ready = arbiter(candidate("first", "right", tier="hand_tuned", more="guard { amax(a) <= 100.0 }"), candidate("second", "right")).prepare(
        "product", target="cpu"
    )
    tags = []
    for value in (0.0, 0.0, 1e3, 0.0):
        a[0, 0] = value
        tags.append(ready.traced(a, b)[1].tag)
    assert tags == ["first", "first", "second", "first"]


# ---- what is remembered holds for an epoch ----


def test_an_environment_that_forces_is_seen_at_once(operands: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    session = arbiter(candidate("right", tier="hand_tuned"), candidate("second", "right"))
    ready = session.prepare("product", target="cpu", dtype="f32")

    def tags() -> list[str]:
        return [
            ready.decide(5, 100, 3).tag,
            ready.decide_on(*operands).tag,
            ready.traced(*operands)[1].tag,
            session.run_traced("product", *operands, target="cpu")[1].tag,
        ]

    assert tags() == tags() == ["right"] * 4
    monkeypatch.setenv("TSR_FORCE", "product@cpu=second")
    assert tags() == tags() == ["second"] * 4
    monkeypatch.setenv("TSR_FORCE", "product@cpu=secnod")
    with pytest.raises(tsr.UsageError, match="second"):
        ready.decide(5, 100, 3)
    monkeypatch.delenv("TSR_FORCE")
    assert tags() == ["right"] * 4


def test_a_variable_that_a_probe_reads_is_seen_at_once(operands: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TSR_TEST_OFF", raising=False)
    session = arbiter(candidate("right", tier="hand_tuned", more='available { env("TSR_TEST_OFF") != "1" }'), candidate("second", "right"))
    ready = session.prepare("product", target="cpu", dtype="f32")
    for value, tag in (("0", "right"), ("1", "second"), ("0", "right")):
        monkeypatch.setenv("TSR_TEST_OFF", value)
        for _ in range(2):
            assert {ready.decide(5, 100, 3).tag, ready.decide_on(*operands).tag, ready.traced(*operands)[1].tag} == {tag}


def test_a_machine_that_is_asked_anew_is_gone_by(operands: tuple[Any, Any], tmp_path: Path) -> None:
    path = tmp_path / "here"
    session = arbiter(candidate("right", tier="hand_tuned", more=f'available {{ file("{path}") }}'), candidate("second", "right"))
    ready = session.prepare("product", target="cpu", dtype="f32")
    assert (ready.decide(5, 100, 3).tag, ready.traced(*operands)[1].tag) == ("second", "second")
    path.write_text("")
    session.machine.refresh()  # type: ignore[attr-defined]
    assert (ready.decide(5, 100, 3).tag, ready.traced(*operands)[1].tag) == ("right", "right")


def test_the_log_is_streamed_on_the_warm_path_too(operands: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = arbiter(candidate("right")).prepare("product", target="cpu")
    ready(*operands)
    path = tmp_path / "log.jsonl"
    monkeypatch.setenv("TSR_LOG", str(path))
    for _ in range(3):
        ready(*operands)
    assert [json.loads(line)["tag"] for line in path.read_text().splitlines()] == ["right"] * 3


def test_many_threads_and_new_epochs_get_the_same_answers(operands: tuple[Any, Any]) -> None:
    session = arbiter(*SEVERAL)
    ready = session.prepare("product", target="cpu", dtype="f32")
    sizes = list(itertools.product((1, 2, 8, 16), (3, 4, 8), (2, 4, 5)))
    expected = [session.decide("product", target="cpu", dtype="f32", M=m, K=k, N=n).tag for m, k, n in sizes]

    def ask(turn: int) -> list[str]:
        if turn % 4 == 0:
            EPOCH.advance()
        ready(*operands)
        return [ready.decide(*each).tag for each in sizes]

    with ThreadPoolExecutor(8) as pool:
        assert all(found == expected for found in pool.map(ask, range(40)))
    assert sum(count for (*_, word), count in session.log.totals() if word == "won") == 40


def test_pins_of_the_environment_are_seen_at_once(operands: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = arbiter(candidate("right", tier="hand_tuned"), candidate("second", "right"))
    ready = session.prepare("product", target="cpu", dtype="f32")
    assert ready.decide(5, 100, 3).tag == "right"
    pins = tmp_path / "pins.jsonl"
    pins.write_text(write_pins(session.ruleset, [session.decide("product", target="cpu", dtype="f32", M=5, K=100, N=3, force="second")]))
    monkeypatch.setenv("TSR_DECISIONS", str(pins))
    assert [ready.decide(5, 100, 3).tag for _ in range(2)] == ["second"] * 2
    monkeypatch.delenv("TSR_DECISIONS")
    assert [ready.decide(5, 100, 3).tag for _ in range(2)] == ["right"] * 2


def test_a_stated_machine_has_no_proofs_where_they_are_made_ahead() -> None:
    session = arbiter(candidate("right"), "policy { verify ahead }\n").on({"machine": 1, "targets": {"cpu": {}}})
    ready = session.prepare("product", target="cpu", dtype="f32")
    assert ready.decide(5, 100, 3).tag == ready.decide(5, 100, 3).decision.tag == session.decide("product", target="cpu", dtype="f32", M=5, K=100, N=3).tag
    assert ready.decide(5, 100, 3).tag == "reference"


# ---- native code ----


@pytest.mark.skipif(shutil.which("cc") is None, reason="compiler: no cc on PATH")
def test_a_view_that_reaches_outside_of_its_buffer_does_not_reach_native_code() -> None:
    session = tsr.load()
    ready = session.prepare("matmul", target="x86", dtype="f32", force="x86_generic_matmul_f32", verify="never")
    rng = np.random.default_rng(3)
    whole, b = rng.standard_normal((16, 24)).astype(np.float32), rng.standard_normal((8, 4)).astype(np.float32)
    a = whole[:8, :8]
    for _ in range(2):
        np.testing.assert_allclose(ready(a, b), a.astype(np.float64) @ b, rtol=1e-4, atol=1e-5)
    tail = np.empty(128, np.float32)
    tail[...] = 1
    outside = np.lib.stride_tricks.as_strided(tail, (8, 8), (96, 4))
    assert outside.strides == a.strides
    with pytest.raises(tsr.OperandError, match="outside of its buffer"):
        ready(outside, b)
    np.testing.assert_allclose(ready(whole[8:, 8:16], b), whole[8:, 8:16].astype(np.float64) @ b, rtol=1e-4, atol=1e-5)
