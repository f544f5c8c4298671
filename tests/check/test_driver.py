"""The driver: what it finds and where, one cause once, the same in every run; suppressions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tessera_rules.check.driver import all_checks, check_load, named_files
from tessera_rules.check.registry import CHECKS
from tessera_rules.model.load import load
from tests.check.golden import ROOT, lint

OP = """op product {
  operand a: [M, K]
  operand b: [K, N]
  operand bias?: [N]
  result [M, N]
  attr causal: bool = false
  dtype a in [f32, f16]
  reference python "no.such:product"
}
target box { fact arch: one of ["v1", "v2"] }
"""


def candidate(*requires: str, name: str = "c", more: str = "") -> str:
    clauses = "\n    ".join(requires)
    head = f"candidate {name} {{\n  tier emitted\n  target box\n  op product\n  requires {{\n    "
    rest = f"  {more}\n" if more else ""
    return head + f'{clauses}\n  }}\n{rest}  bind python "no.such:{name}"\n}}\n'


def found(tmp_path: Path, text: str) -> list[tuple[int, str]]:
    path = tmp_path / "r.tsr"
    path.write_text("tessera 1\n" + text, encoding="utf-8")
    return [(finding.span.line, finding.code) for finding in lint(path)]


def codes(tmp_path: Path, *requires: str) -> list[str]:
    return [code for _, code in found(tmp_path, OP + candidate(*requires))]


def test_checks_are_found_by_declaration() -> None:
    all_checks()
    assert len(CHECKS) == len({each.code.code for each in CHECKS}), "one function a code"
    assert len(CHECKS) > 40


# ---- one cause, one finding -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clause", "code"),
    [
        ("M % 16 = 0", "TSR001"),
        ("M ≤ 16", "TSR003"),
        ("clmns % 16 == 0", "TSR201"),
        ('K == "16"', "TSR207"),
        ("K % 0 == 0", "TSR304"),
        ("M == M", "TSR422"),
        ("K % 1 == 0", "TSR430"),
        ("K % 16 == 16", "TSR430"),
        ("M > 1 and N > 1 and M > 1", "TSR425"),
        ("true", "TSR435"),
        ("M < 0", "TSR437"),
        ('device.arch == "v3"', "TSR438"),
        ('device.arch >= "v1"', "TSR511"),
        ('device.arch <= "v3"', "TSR511"),
        ("unknown(M)", "TSR210"),
    ],
)
def test_D16_one_mistake_is_one_finding(clause: str, code: str, tmp_path: Path) -> None:
    assert codes(tmp_path, "N >= 2", clause) == [code]


def test_D16_a_family_says_it_once(tmp_path: Path) -> None:
    text = OP + "for s in [f32, f16] {\n" + candidate("dtype == s", "M >= 0", "K % N == 0", name="c_{s}") + "}\n"
    assert [code for _, code in found(tmp_path, text)] == ["TSR437", "TSR508"]


def test_D16_the_same_under_hash_seeds_and_file_order(tmp_path: Path) -> None:
    names = ["a", "b", "c", "d"]
    for name in names:
        (tmp_path / f"{name}.tsr").write_text(
            f"tessera 1\n{OP if name == 'c' else ''}" + candidate("M >= 0", "K % N == 0", "wrong > 1", name=f"c_{name}", more="tags [x, y, x]"),
            encoding="utf-8",
        )
    script = (
        "import sys, json\nfrom tessera_rules.check.driver import check_load\nfrom tessera_rules.model.load import load\n"
        "print(json.dumps([[str(f.span), f.code, f.message] for f in check_load(load(sys.argv[1:]))]))"
    )
    answers = set()
    for seed in ("0", "1", "17", "4242"):
        order = names[int(seed) % 4 :] + names[: int(seed) % 4]
        paths = [str(tmp_path / f"{name}.tsr") for name in order]
        done = subprocess.run(
            [sys.executable, "-c", script, *paths], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, timeout=60, check=True
        )
        answers.add(done.stdout)
    assert len(answers) == 1
    assert len(json.loads(answers.pop())) == 16


def test_a_finding_in_an_erroneous_clause_waits(tmp_path: Path) -> None:
    assert codes(tmp_path, "not (wrong == 3)") == ["TSR201"]


def test_nothing_is_concluded_from_what_is_absent_where_a_text_is_unread(tmp_path: Path) -> None:
    text = "predicate tile = M % 16 == 0\n" + OP + candidate("tile and and M > 1")
    assert [code for _, code in found(tmp_path, text)] == ["TSR001"]
    assert [code for _, code in found(tmp_path, text.replace("tile and and M > 1", "M > 1"))] == ["TSR403"]
    text = 'use "missing.tsr"\npredicate tile = M % 16 == 0\n' + OP + candidate("M > 1")
    assert [code for _, code in found(tmp_path, text)] == ["TSR302"]


def test_files_that_are_only_used_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "ops.tsr").write_text("tessera 1  \n" + OP, encoding="utf-8")
    user = tmp_path / "user.tsr"
    user.write_text('tessera 1\nuse "ops.tsr"\n' + candidate("M > 1"), encoding="utf-8")
    assert lint(user) == ()
    assert [finding.code for finding in lint(tmp_path)] == ["TSR401"]


# ---- suppressions ---------------------------------------------------------------------------------------------------------


def test_a_suppression_silences_its_line(tmp_path: Path) -> None:
    assert codes(tmp_path, "M >= 0  # tsr: ignore[TSR437]") == []
    assert codes(tmp_path, "M >= 0  # it is always there. tsr: ignore[TSR437]") == ["TSR437"]
    assert codes(tmp_path, "M >= 0  # tsr: ignore[TSR437] -- kept for the reader") == []


def test_a_suppression_lists_codes(tmp_path: Path) -> None:
    assert codes(tmp_path, "not M >= 0  # tsr: ignore[TSR437, TSR423]") == []
    assert codes(tmp_path, "not M >= 0  # tsr: ignore[TSR437]") == ["TSR423"]


def test_an_unused_suppression_is_found(tmp_path: Path) -> None:
    assert codes(tmp_path, "M >= 1  # tsr: ignore[TSR437]") == ["TSR490"]


def test_a_suppression_in_a_file_with_an_error_is_not_called_unused(tmp_path: Path) -> None:
    # What is damaged is not looked at, so that nobody knows; `--fix` would take away what is needed once the error is mended.
    text = OP + candidate("M >= 0  # tsr: ignore[TSR437]").replace("tier emitted", "teir emitted")
    assert [code for _, code in found(tmp_path, text)] == ["TSR101"]


def test_a_suppression_of_an_analysis_code_waits_for_check(tmp_path: Path) -> None:
    assert codes(tmp_path, "M >= 1  # tsr: ignore[TSR502]") == []


@pytest.mark.parametrize(
    "comment", ["# tsr: ignore", "# tsr: ignore[]", "# tsr: ignore[TSR437", "# tsr: noqa[TSR437]", "# tsr: ignore[TSR4377]", "# tsr: ignore[E501]"]
)
def test_a_suppression_that_cannot_be_read_is_found(comment: str, tmp_path: Path) -> None:
    assert codes(tmp_path, f"M >= 1  {comment}") == ["TSR491"]


def test_syntax_findings_are_never_silenced(tmp_path: Path) -> None:
    assert codes(tmp_path, "M ≤ 16  # tsr: ignore[TSR003]") == ["TSR003", "TSR491"]


def test_a_hash_in_a_string_is_no_suppression(tmp_path: Path) -> None:
    assert codes(tmp_path, 'M >= 0 because "# tsr: ignore[TSR437]"') == ["TSR437"]


# ---- the checks' own edges --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "clause",
    [
        "K % N == 0",
        "K // (N - 1) == 2",
        "K % N == 0 and N >= 1",
        "N >= 1 or K % N == 0",
        "K % (N if causal else 2) == 0",
        "K % (M * N) == 0",
        "ceil_div(K, N) == 2",
        "K % stride(a, 0) == 0",
        "N >= 0 and K % N == 0",
    ],
)
def test_a_divisor_that_may_be_zero(clause: str, tmp_path: Path) -> None:
    assert "TSR508" in codes(tmp_path, clause)


@pytest.mark.parametrize(
    "clause",
    [
        "K % 16 == 0",
        "N >= 1 and K % N == 0",
        "N != 0 and K % N == 0",
        "N < 1 or K % N == 0",
        "not (N >= 1) or K % N == 0",
        "N in [1, 2, 4] and K % N == 0",
        "N in 1..8 and K % N == 0",
        "(K % N if N > 0 else 0) == 0",
        "K % (N + 1) == 0",
        "K % max(N, 1) == 0",
        "K % bytes(dtype) == 0",
        "N >= 1 and M >= 2 and K % (M * N) == 0",
        "K % threads == 0",
        "N >= 1 and K % ceil_div(N, 16) == 0",
    ],
)
def test_a_divisor_that_is_proved_positive(clause: str, tmp_path: Path) -> None:
    assert "TSR508" not in codes(tmp_path, clause)


def test_an_earlier_clause_proves_a_divisor(tmp_path: Path) -> None:
    assert codes(tmp_path, "N >= 1", "K % N == 0") == []
    assert codes(tmp_path, "K % N == 0", "N >= 1") == ["TSR508"]


def test_a_dim_field_proves_a_divisor(tmp_path: Path) -> None:
    op = OP.replace("  result", "  dim N in 1..\n  result")
    assert found(tmp_path, op + candidate("K % N == 0")) == []


def rules(*pairs: tuple[str, str, str]) -> str:
    text = OP + "".join(candidate(f"M > {at}", name=name) for at, name in enumerate("abc", start=1))
    for at, (left, right, when) in enumerate(pairs):
        condition = f"  when {when}\n" if when else ""
        text += f"rule r{at} {{\n  op product\n{condition}  prefer {left} over {right}\n}}\n"
    return text


@pytest.mark.parametrize(
    ("pairs", "cyclic"),
    [
        ([("a", "b", ""), ("b", "a", "")], True),
        ([("a", "b", ""), ("b", "c", ""), ("c", "a", "")], True),
        ([("a", "b", "M > 4"), ("b", "a", "M>4")], True),
        ([("a", "b", ""), ("b", "c", ""), ("a", "c", "")], False),
        ([("a", "b", "M > 4"), ("b", "a", "M > 5")], False),
        ([("a", "b", "M > 4"), ("b", "c", "M > 4"), ("c", "a", "N > 4")], False),
        ([("a", "tier emitted", ""), ("b", "a", "")], True),
    ],
)
def test_a_preference_cycle_under_one_condition(pairs: list[tuple[str, str, str]], cyclic: bool, tmp_path: Path) -> None:
    assert ([code for _, code in found(tmp_path, rules(*pairs))] == ["TSR507"]) is cyclic


def test_a_narrow_argument_that_is_bounded(tmp_path: Path) -> None:
    native = 'bind native "lib.so" symbol "f" (ptr a, ptr b, ptr out, i32 M) returns i32 { ok 0 }'
    text = OP + candidate("N > 1").replace('bind python "no.such:c"', native)
    assert [code for _, code in found(tmp_path, text)] == ["TSR509"]
    assert found(tmp_path, text.replace("N > 1", "M <= 65535")) == []
    assert found(tmp_path, text.replace("  result", "  dim M in 0..4096\n  result")) == []


def test_the_shipped_rules_are_clean() -> None:
    folder = ROOT.parents[2] / "rules"
    assert [f"{finding.span} {finding.code} {finding.message}" for finding in lint(folder)] == []


def test_what_was_found_elsewhere_is_silenced_and_sorted_in(tmp_path: Path) -> None:
    path = tmp_path / "r.tsr"
    path.write_text("tessera 1\n" + OP + candidate("M >= 1  # tsr: ignore[TSR502]", "N >= 1"), encoding="utf-8")
    loaded = load([path])
    from tessera_rules.diagnostic import Finding

    first, second = next(iter(loaded.ruleset.candidates.values())).requires
    more = [Finding("TSR502", "implied", clause.span, "note") for clause in (second, first)]
    kept = check_load(loaded, named_files(loaded, [path]), more=more, analysed=True)
    assert [(finding.code, finding.span) for finding in kept] == [("TSR502", second.span)]
    assert [finding.code for finding in check_load(loaded, analysed=True)] == ["TSR490"]
