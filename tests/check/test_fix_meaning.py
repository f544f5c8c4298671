"""What --fix writes says the same: both texts are evaluated on every small request."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tessera_rules.check.driver import check_load
from tessera_rules.check.fix import fix
from tessera_rules.compile.evaluate import evaluate
from tessera_rules.model.load import load
from tests.check.test_driver import OP, candidate


def answers(path: Path, texts: dict[str, str]) -> list[object]:
    loaded = load([path], instead=texts)
    assert loaded.errors == ()
    clauses = loaded.ruleset.candidates["c"].requires
    found: list[object] = []
    for m, k, causal, dtype in product((0, 1, 2, 3, 4, 16), (0, 1, 3, 16), (True, False), ("f16", "f32")):
        facts = {"dim:M": m, "dim:K": k, "dim:N": 1, "attr:causal": causal, "dtype": dtype}
        found.append(all(evaluate(clause.term, facts.__getitem__) for clause in clauses))
    return found


@pytest.mark.parametrize(
    "clause",
    [
        "not M == 3",
        "not (M == 3)",
        "not M != 3 or K > 1",
        "not M < K",
        "not ((M + 1) >= (K))",
        "not M in [1, 3]",
        "not M not in [1, 3]",
        "not (M in 1..3)",
        "not not causal",
        "not not not causal",
        "not  not M == 3",
        "- -M <= 3 - 4",
        "causal == true",
        "causal != true and M > 1",
        "false == causal",
        "not causal == false",
        "M == 1 or M == 3 or M == 16",
        "(M == 1 or M == 3) and K == 1",
        "not (M == 1 or M == 3)",
        "dtype == half or M > 2",
        "dtype in [float16, f32, f32]",
        'M > 1 because ""',
        "M in [1, 3, 1, 3]",
        "M * 1048576 <= 3145728",
    ],
)
def test_a_mended_clause_says_the_same(clause: str, tmp_path: Path) -> None:
    path = tmp_path / "r.tsr"
    path.write_text("tessera 1\n" + OP + candidate(clause, "K >= 1"), encoding="utf-8")
    fixed = fix(lambda texts: check_load(load([path], instead=texts)), [str(path)])
    assert fixed.stuck == []
    assert str(path) in fixed.texts, "nothing was mended"
    assert answers(path, fixed.texts) == answers(path, {})
