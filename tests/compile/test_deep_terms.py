"""Terms as deep as the language allows go through every part of the room, with a deep stack under them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tessera_rules.compile.domain import UNDECIDED, domain, sample_points, satisfy
from tessera_rules.compile.evaluate import UNKNOWN
from tessera_rules.compile.python import compile_gate, compile_scalar
from tessera_rules.compile.simplify import simplify, substitute
from tessera_rules.compile.vectorized import compile_vectorized
from tessera_rules.model.expressions import MAX_EXPANDED_DEPTH
from tessera_rules.model.show import show
from tessera_rules.model.terms import Term
from tests.compile.term_strategies import K, M, N, const, known, outcome, t

STACK_BELOW = 200
"""Frames that a command line, a test runner or a server has on the stack already."""


def alternating() -> Term:
    term: Any = t("eq", M, 3)
    while term.depth < MAX_EXPANDED_DEPTH:
        op = "and" if term.depth % 2 else "or"
        term = t(op, t("gt", N, term.depth), term) if term.depth % 3 else t(op, term, t("lt", N, 0))
    return term


def branches() -> Term:
    term: Any = t("eq", M, 3)
    while term.depth < MAX_EXPANDED_DEPTH:
        term = t("if", t("gt", N, 1000 + term.depth), t("eq", K, 1), term)
    return term


def total() -> Term:
    term: Any = M
    while term.depth < MAX_EXPANDED_DEPTH - 1:
        term = t("add", term, N)
    return t("ge", term, 5)


def nested() -> Term:
    term: Any = M
    while term.depth < MAX_EXPANDED_DEPTH - 1:
        term = t("max", t("min", t("ceil_div", term, 1), 1000), N)
    return t("ge", term, 5)


def denied() -> Term:
    term: Any = t("eq", M, 3)
    while term.depth < MAX_EXPANDED_DEPTH:
        term = t("not", term)
    return term


def below(frames: int, action: Callable[[], Any]) -> Any:
    return action() if frames == 0 else below(frames - 1, action)


@pytest.mark.parametrize("make", [alternating, branches, total, nested, denied])
def test_the_deepest_terms(make: Callable[[], Any]) -> None:
    term = make()
    values = known(M=3, N=2, K=1)
    expected = outcome(term, values)
    assert isinstance(expected, bool)

    def everything() -> None:
        assert outcome(term, values) is expected
        assert simplify(term, values.__getitem__).value is expected  # type: ignore[attr-defined]
        assert simplify(term, lambda key: UNKNOWN) is not None
        assert substitute(term, {"dim:M": const(3)}) is not None
        assert show(term)
        assert domain([term]) is not None
        found = satisfy([term], budget=400)
        assert found in (None, UNDECIDED) or outcome(term, found) is True
        assert sample_points([term], limit=4) is not None
        assert compile_scalar(term)(values) is expected
        gate = compile_gate([term])
        assert gate.run(*(values[fact.key] for fact in gate.facts)) == (-1 if expected else 0)
        assert compile_vectorized(term)({**values, "dim:M": np.array([3, 3])}).true.tolist() == [expected, expected]

    below(STACK_BELOW, everything)
