"""Arrays of requests: the answers of `decide` for each, in the shape of the sizes, and every mistake of the caller's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera_rules.arbiter.rank import preferred_ahead
from tessera_rules.arbiter.rank_rules import ALWAYS, Selection
from tessera_rules.batch import RAISES, REFERENCE, UNDECIDED
from tessera_rules.compile.course import kept_by_preferences
from tessera_rules.errors import ArbiterError, OperandError, UsageError
from tessera_rules.session import Arbiter, load
from tests.property.agreement import arbiter_of

TEXT = """tessera 1
target t {
  fact cores: int
}
op f {
  operand a: [M, K]
  result [M]
  dim K in 1..4096
  dtype a in [f32, f16]
  check M % 5 != 4
  reference python "no_such_package:f"
}
candidate tiled { tier hand_tuned; target t; op f; requires { K % 16 == 0; M >= 2 }; avoid { K > 1024 }; bind python "no_such_package:a" }
candidate wide { tier emitted; target t; op f; requires { M * K <= 65536 }; cost 1.0 * K; bind python "no_such_package:b" }
candidate narrow { tier emitted; target t; op f; requires { dtype == f32; K // (M - 3) >= 0 }; cost 1.0 * M; bind python "no_such_package:c" }
rule r { op f  target t  when M == 7  deny tiled }
"""


@pytest.fixture(scope="module")
def arbiter() -> Arbiter:
    return arbiter_of(TEXT)


def code(arbiter: Arbiter, names: tuple[str, ...], **words: object) -> int:
    try:
        found = arbiter.decide("f", target="t", **words)
    except (ArbiterError, OperandError):
        return RAISES
    return names.index(found.winner) if found.winner is not None else UNDECIDED if found.tag == "undecided" else REFERENCE


M, K = np.array([0, 1, 2, 3, 4, 5, 7, 64, 65536])[:, None], np.array([0, 1, 16, 100, 2048, 4096, 4097])


def test_a_grid_has_the_answer_of_each_request(arbiter: Arbiter) -> None:
    many = arbiter.decide_many("f", "t", dims={"M": M, "K": K}, dtype="f32")
    assert many.winners.shape == (9, 7)
    assert many.asked_one_by_one == 0
    for (i, j), winner in np.ndenumerate(many.winners):
        assert winner == code(arbiter, many.names, dtype="f32", M=int(M[i, 0]), K=int(K[j]))
    assert set(many.winners.flat) == {RAISES, REFERENCE, 0, 1, 2}
    for name in many.names:
        reasons = many.reasons(name)
        for place in zip(*np.nonzero(many.winners != RAISES), strict=True):
            verdict = next(each for each in many.decision(place).verdicts if each.candidate == name)
            reason = many.reason_table[reasons[place]]
            assert (reason.verdict, reason.code) == (verdict.verdict, verdict.code)
            assert reason.candidate is None or (reason.clause, reason.line) == (verdict.clause, verdict.span and verdict.span.line)
    with pytest.raises(OperandError):
        many.decision((0, 0))


def test_what_is_not_stated_is_decided_one_by_one(arbiter: Arbiter) -> None:
    many = arbiter.decide_many("f", "t", dims={"M": M[:, 0]}, dtype="f16")
    assert many.winners.tolist() == [code(arbiter, many.names, dtype="f16", M=int(m)) for m in M[:, 0]]
    assert UNDECIDED in many.winners
    assert many.asked_one_by_one > 0
    whole = arbiter.decide_many("f", "t", dims={"M": 2, "K": np.array([16, 17])})
    assert whole.winners.tolist() == [code(arbiter, whole.names, M=2, K=k) for k in (16, 17)]


def test_forces_and_assumptions_are_as_in_decide(arbiter: Arbiter) -> None:
    for force in ("tiled", "narrow", "reference"):
        many = arbiter.decide_many("f", "t", dims={"M": M, "K": K}, dtype="f32", force=force)
        for (i, j), winner in np.ndenumerate(many.winners):
            assert winner == code(arbiter, many.names, dtype="f32", M=int(M[i, 0]), K=int(K[j]), force=force)
    with pytest.raises(UsageError):
        arbiter.decide_many("f", "t", dims={"M": 1, "K": 1}, force="tild")
    with pytest.raises(UsageError):
        arbiter.decide_many("f", "t", dims={"M": 1, "K": 1}, assume=["tild"])


def test_sizes_past_64_bits_and_odd_types(arbiter: Arbiter) -> None:
    sizes = [2**31, 2**63 - 1, 2**63, 2**64 + 7, 10**30]
    many = arbiter.decide_many("f", "t", dims={"M": np.array(sizes, object), "K": 16}, dtype="f32")
    assert many.winners.tolist() == [code(arbiter, many.names, dtype="f32", M=m, K=16) for m in sizes]
    unsigned = arbiter.decide_many("f", "t", dims={"M": np.array(sizes[:4][:3], np.uint64), "K": np.uint8(16)}, dtype="f32")
    assert unsigned.winners.tolist() == many.winners[:3].tolist()
    assert arbiter.decide_many("f", "t", dims={"M": [2, 3], "K": 16}, dtype="f32").winners.shape == (2,)
    assert arbiter.decide_many("f", "t", dims={"M": 2, "K": 16}, dtype="f32").winners.shape == ()
    assert arbiter.decide_many("f", "t", dims={"M": np.array([], np.int64), "K": 16}, dtype="f32").winners.shape == (0,)
    assert arbiter.decide_many("f", "t", dims={"K": np.array([16, 17])}, dtype="f32", M=2).winners.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("dims", "told"),
    [
        ({"M": [1.5], "K": 1}, "integers"),
        ({"M": [True], "K": 1}, "integers"),
        ({"M": ["1"], "K": 1}, "integers"),
        ({"M": [1, 2], "K": [1, 2, 3]}, "broadcast"),
        ({"M": [1], "Q": 1}, "no dimension 'Q'"),
    ],
)
def test_sizes_that_are_none_are_the_callers_mistake(arbiter: Arbiter, dims: dict[str, object], told: str) -> None:
    with pytest.raises(OperandError, match=told):
        arbiter.decide_many("f", "t", dims=dims, dtype="f32")


def test_a_candidate_that_nobody_knows_has_no_reasons(arbiter: Arbiter) -> None:
    with pytest.raises(ArbiterError, match="tiled, wide, narrow"):
        arbiter.decide_many("f", "t", dims={"M": 1, "K": 1}, dtype="f32").reasons("tild")


def test_blocks_do_not_show(arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"M": np.arange(300) % 97, "K": np.arange(300) * 31 % 4099}
    whole = arbiter.decide_many("f", "t", dims=sizes, dtype="f32")
    monkeypatch.setattr("tessera_rules.compile.many.BLOCK", 7)
    parts = arbiter.decide_many("f", "t", dims=sizes, dtype="f32")
    assert parts.winners.tolist() == whole.winners.tolist()
    assert [parts.reasons(name).tolist() for name in parts.names] == [whole.reasons(name).tolist() for name in whole.names]


def test_the_rules_that_ship_agree_request_by_request() -> None:
    arbiter = load()
    draw = np.random.default_rng(7)
    for op, target, dtype in (("matmul", "nvidia", "f16"), ("attention", "rocm", "f16"), ("softmax", "x86", "f32")):
        dims = {name: draw.choice([1, 2, 8, 16, 64, 128, 1000, 4096], 40) for name in arbiter.ruleset.ops[op].dims}
        many = arbiter.decide_many(op, target, dims=dims, dtype=dtype, assume=None)
        for place in range(40):
            try:
                found = arbiter.decide(op, target=target, dtype=dtype, assume=None, **{name: int(column[place]) for name, column in dims.items()})
            except OperandError:
                assert many.winners[place] == RAISES
                continue
            assert many.winners[place] == (REFERENCE if found.winner is None else many.names.index(found.winner))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(0, 31), st.lists(st.tuples(st.integers(1, 31), st.integers(1, 31)), max_size=4))
def test_preferences_over_bit_sets_keep_whom_the_ranking_keeps(left: int, ahead: list[tuple[int, int]]) -> None:
    def names(bits: int) -> frozenset[str]:
        return frozenset(str(place) for place in range(5) if bits >> place & 1)

    pairs = [(one, two & ~one) for one, two in ahead if two & ~one]
    selections = [Selection(None, None, names(one), names(two), ALWAYS) for one, two in pairs]  # type: ignore[arg-type]
    behind = preferred_ahead(sorted(names(left)), selections)
    assert names(kept_by_preferences(left, pairs, 5)) == {name for name in names(left) if not behind[name]}
