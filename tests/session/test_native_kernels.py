"""C kernels that crash, hang, decline or are wrong: the caller lives, the verdict says what happened, the next one serves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tessera_rules as tsr
from tests.session.native import arbiter, candidate


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TSR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def operands() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    return rng.standard_normal((6, 7)).astype("f4"), rng.standard_normal((7, 5)).astype("f4")


@pytest.mark.parametrize(
    ("kernel", "verdict", "said"),
    [
        ("segfault", "crashed", "SIGSEGV"),
        ("aborts", "crashed", "SIGABRT"),
        ("leaves", "crashed", "code 3"),
        ("declines", "declined", "decline status"),
        ("odd_status", "failed", "status 77"),
        ("past_the_end", "wrong", "outside of out"),
        ("before_the_start", "wrong", "outside of out"),
        ("writes_an_operand", "wrong", "wrote to a"),
        ("leaves_some_out", "wrong", "not write all of out"),
    ],
)
def test_T26_what_native_code_does_is_a_verdict_and_the_next_serves(tmp_path: Path, kernel: str, verdict: str, said: str) -> None:
    a, b = operands()
    out, execution = arbiter(tmp_path, candidate(kernel, "hand_tuned"), candidate("sound")).run_traced("product", a, b, target="cpu")
    assert execution.tag == "sound"
    found = next(each for each in execution.decision.verdicts if each.candidate == kernel)
    assert (found.verdict, said in found.reason) == (verdict, True), found.reason
    if said.startswith("SIG"):
        assert found.extra["signal"] == said
    np.testing.assert_allclose(out, a @ b, atol=1e-5)
    assert np.array_equal(a, operands()[0])


def test_T26_a_hang_is_a_crash_by_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tessera_rules.bind.child.Trier.__init__.__kwdefaults__", {"seconds": 3.0, "memory_bytes": None})
    _, execution = arbiter(tmp_path, candidate("hangs", "hand_tuned"), candidate("sound")).run_traced("product", *operands(), target="cpu")
    found = next(each for each in execution.decision.verdicts if each.candidate == "hangs")
    assert (execution.tag, found.verdict) == ("sound", "crashed")
    assert found.reason.startswith("timeout")


def test_a_crash_of_who_is_forced_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(tsr.ArbiterError, match="SIGSEGV") as caught:
        arbiter(tmp_path, candidate("segfault"), candidate("sound")).run("product", *operands(), target="cpu", force="segfault")
    assert caught.value.candidate == "segfault"


@pytest.mark.parametrize(
    ("kernel", "a"),
    [
        ("no_reversal", operands()[0][::-1]),
        ("no_reversal", operands()[0][:, ::-1]),
        ("no_broadcast", np.broadcast_to(operands()[0][0], (6, 7))),
        ("no_broadcast", np.broadcast_to(operands()[0][:, :1], (6, 7))),
    ],
)
def test_a_kernel_is_proved_on_the_strides_that_it_will_see(tmp_path: Path, kernel: str, a: np.ndarray) -> None:
    out, execution = arbiter(tmp_path, candidate(kernel, "hand_tuned"), candidate("sound")).run_traced("product", a, operands()[1], target="cpu")
    assert execution.tag == "sound"
    np.testing.assert_allclose(out, a @ operands()[1], atol=1e-5)


def test_T26_a_view_past_its_buffer_is_the_callers_mistake_before_anything_reads_it(tmp_path: Path) -> None:
    a, b = operands()
    beyond = np.lib.stride_tricks.as_strided(a, (6, 7), (1 << 40, 4))
    with pytest.raises(tsr.OperandError, match="outside of its buffer"):
        arbiter(tmp_path, candidate("sound")).run("product", beyond, b, target="cpu")
