"""What the policy says of declines, of nobody left, of proofs; what is remembered of who failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera_rules as tsr
from tessera_rules.session import Arbiter, open_arbiter
from tests.session import kernels
from tests.session.native import arbiter as native_arbiter
from tests.session.native import candidate as native_candidate

OPS = """
op product { operand a: [M, K]; operand b: [K, N]; result [M, N]; dtype a in [f32]; reference python "tests.session.kernels:product_reference" }
target cpu { }
"""


def candidate(name: str, tier: str = "emitted", more: str = "") -> str:
    return f'candidate {name} {{ tier {tier}; target cpu; op product; {more}\n  bind python "tests.session.kernels:{name}"\n}}\n'


def arbiter(*declarations: str) -> Arbiter:
    kernels.CALLS.clear()
    kernels.Later.calls = 0
    return open_arbiter([], texts={"o.tsr": OPS, "c.tsr": "".join(declarations)})


@pytest.fixture
def operands() -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    return rng.standard_normal((5, 100)).astype("f4"), rng.standard_normal((100, 3)).astype("f4")


LATER = candidate("declines_later", "hand_tuned")


def test_on_decline_reference(operands: tuple[Any, Any]) -> None:
    session = arbiter("policy { on_decline reference }\n", LATER, candidate("right"))
    out, execution = session.run_traced("product", *operands, target="cpu")
    assert (execution.tag, execution.candidate) == ("reference", None)
    assert [(each.candidate, each.verdict, each.reason) for each in execution.degraded] == [("declines_later", "declined", "out of workspace")]
    verdicts = {each.candidate: (each.verdict, each.reason) for each in execution.decision.verdicts}
    assert verdicts["declines_later"][0] == "declined"
    assert "goes to the reference" in verdicts["right"][1]
    np.testing.assert_allclose(out, operands[0].astype("f8") @ operands[1], rtol=1e-5)
    assert "right" not in kernels.CALLS[1:], "only the decliner, as it was proved"


def test_on_decline_error(operands: tuple[Any, Any]) -> None:
    with pytest.raises(tsr.ArbiterError, match="out of workspace") as caught:
        arbiter("policy { on_decline error }\n", LATER, candidate("right")).run("product", *operands, target="cpu")
    assert caught.value.candidate == "declines_later"


def test_on_none_error(operands: tuple[Any, Any]) -> None:
    session = arbiter("policy { on_none error }\n", candidate("zeros"))
    with pytest.raises(tsr.ArbiterError, match="product"):
        session.run("product", *operands, target="cpu")
    assert arbiter("policy { on_none error }\n", candidate("right")).run_traced("product", *operands, target="cpu")[1].tag == "right"


def test_verify_never_asks_no_reference_and_says_so(operands: tuple[Any, Any]) -> None:
    for session, more in ((arbiter("policy { verify never }\n", candidate("zeros")), {}), (arbiter(candidate("zeros")), {"verify": "never"})):
        out, execution = session.run_traced("product", *operands, target="cpu", **more)
        assert (execution.tag, execution.proof) == ("zeros", "unverified")
        assert not out.any()
        assert "product_reference" not in kernels.CALLS


def test_verify_always_asks_at_every_call(operands: tuple[Any, Any]) -> None:
    session = arbiter(candidate("right"))
    session.run("product", *operands, target="cpu", verify="always")
    kernels.CALLS.clear()
    _, execution = session.run_traced("product", *operands, target="cpu", verify="always")
    assert execution.proof == "verified"
    assert "product_reference" in kernels.CALLS
    kernels.CALLS.clear()
    session.run("product", *operands, target="cpu")
    assert "product_reference" not in kernels.CALLS


def test_verify_always_sees_what_first_use_did_not(operands: tuple[Any, Any]) -> None:
    a, b = operands
    session = arbiter(candidate("wrong_where_marked", "hand_tuned"), candidate("right"))
    assert session.run_traced("product", a, b, target="cpu")[1].tag == "wrong_where_marked"
    a = a.copy()
    a[0, 0] = 1234.5
    out, execution = session.run_traced("product", a, b, target="cpu", verify="always")
    assert execution.tag == "right"
    assert next(each.verdict for each in execution.decision.verdicts if each.candidate == "wrong_where_marked") == "wrong"
    np.testing.assert_allclose(out, a.astype("f8") @ b, rtol=1e-5)


def test_an_unknown_word_of_verify_is_said(operands: tuple[Any, Any]) -> None:
    with pytest.raises(tsr.UsageError, match="always"):
        arbiter(candidate("right")).run("product", *operands, target="cpu", verify="allways")


def test_who_fails_three_times_at_run_is_tried_no_more(operands: tuple[Any, Any]) -> None:
    session = arbiter(candidate("fails_later", "hand_tuned"), candidate("right"))
    words = [
        {each.candidate: each.verdict for each in session.run_traced("product", *operands, target="cpu")[1].decision.verdicts}["fails_later"] for _ in range(5)
    ]
    assert words == ["failed", "failed", "failed", "quarantined", "quarantined"]
    other = operands[0][:4].copy()
    verdicts = session.run_traced("product", other, operands[1], target="cpu")[1].decision.verdicts
    assert next(each.verdict for each in verdicts if each.candidate == "fails_later") == "failed", "another size is another key"


def test_declines_are_not_counted_as_failures(operands: tuple[Any, Any]) -> None:
    session = arbiter(LATER, candidate("right"))
    for _ in range(5):
        _, execution = session.run_traced("product", *operands, target="cpu")
        assert [each.verdict for each in execution.degraded] == ["declined"]


def test_the_reference_is_forced_by_its_name(operands: tuple[Any, Any]) -> None:
    _, execution = arbiter(candidate("right")).run_traced("product", *operands, target="cpu", force="reference")
    assert (execution.tag, execution.candidate) == ("reference", None)
    assert "right" not in kernels.CALLS


def test_what_a_binding_does_not_take_of_memory_is_its_decline_where_nothing_is_proved(tmp_path: Path) -> None:
    raw = np.zeros(6 * 7 * 4 + 2, np.uint8)
    a = raw[2:].view("f4").reshape(6, 7) if raw.ctypes.data % 4 == 0 else raw[:-2].view("f4").reshape(6, 7)
    a[...] = 1
    session = native_arbiter(tmp_path, native_candidate("sound"))
    out, execution = session.run_traced("product", a, np.ones((7, 5), "f4"), target="cpu", verify="never")
    assert execution.tag == "reference"
    assert [each.verdict for each in execution.degraded] == ["declined"]
    assert (out == 7).all()
