"""The problem that the benchmarks time: prepared requests, a hand-written chain and `decide` give the same answers."""

from __future__ import annotations

import pytest

from benchmarks.bench_decisions import Ours, answers
from benchmarks.contest import if_chain, loop, requests, specs


@pytest.mark.parametrize(("count", "ops"), [(8, 1), (64, 1), (96, 8)])
def test_D17_prepared_requests_answer_as_a_hand_written_chain(count: int, ops: int) -> None:
    found, asked = specs(count, ops), requests(200, ops)
    expected = answers(if_chain(found), asked)
    assert len(set(expected)) > 3
    ours = Ours(found, asked)
    assert ours.answers() == ours.answers() == expected == answers(loop(found), asked)
    for each, place in list(zip(asked, expected, strict=True))[:12]:
        decision = ours.arbiter.decide(each.op, target="gpu", dtype=each.dtype, B=1, seq=each.seq, head_dim=each.head_dim)
        assert ours.place.get(decision.tag, -1) == place
    _, got, there = ours.on_operands(1)
    assert got == answers(if_chain(found), there)
