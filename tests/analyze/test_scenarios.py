"""Faults that other systems met, found before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.analyze.test_golden_files import check

OPS = """tessera 1
op fused {
  operand a: [M, K]
  operand b: [K, N]
  operand residual?: [M, N]
  result [M, N]
  attr reduction: one of [none, softmax, rmsnorm] = none
  attr prologue: list of [relu, gelu] = []
  dtype a in [f16, f32]
  check not (given(residual) and reduction != none)
  reference python "no.such.module:reference"
}
op conv {
  operand x: [B, C, H]
  operand w: [F, C]
  result [B, F, H]
  dtype x in [f32]
  reference python "no.such.module:reference"
}
target gpu { fact arch: one of ["g1", "g2"]; fact memory: int }
"""


def found(tmp_path: Path, text: str, code: str, *words: str) -> list[dict[str, Any]]:
    """Return the findings of a code in the ops above and a text."""
    path = tmp_path / "rules.tsr"
    path.write_text(OPS + text, encoding="utf-8")
    return [row for row in check(str(path), *words)[1] if row["code"] == code]


def candidate(name: str, tier: str, op: str, body: str) -> str:
    """Return the text of a candidate."""
    return f'candidate {name} {{\n  "What {name} is for."\n  tier {tier}\n  target gpu\n  op {op}\n  {body}\n  bind python "no.such.module:{name}"\n}}\n'


def test_T15_default_f16_requests_with_a_reduction_a_residual_or_a_prologue_have_no_candidate(tmp_path: Path) -> None:
    rules = candidate("lane", "hand_tuned", "fused", "requires { dtype == f16 }")
    rules += candidate("slow", "synthesized", "fused", "requires { dtype == f32 }\n  honours [reduction, prologue, residual]")
    gaps = [row["witness"] for row in found(tmp_path, rules, "TSR505")]
    assert all(gap["dtype"] == "f16" for gap in gaps)
    assert sorted((list(gap["attrs"]), gap["given"]) for gap in gaps) == [([], ["residual"]), (["prologue"], []), (["reduction"], [])]
    mended = rules.replace("requires { dtype == f32 }", "requires { dtype in [f32, f16] }")
    assert found(tmp_path, mended, "TSR505") == []


LIMITS = [("B <= 32", 33), ("B * 8Mi <= 256Mi", 33), ("B * C * 4Mi <= 128Mi", 33), ("B in 1..32", 33), ("B < 33", 33), ("B // 4 <= 7", 32)]


@pytest.mark.parametrize(("limit", "past"), LIMITS)
def test_P20_one_past_a_limit_falls_from_the_best_tier_to_the_lowest(limit: str, past: int, tmp_path: Path) -> None:
    rules = candidate("fast", "hand_tuned", "conv", f"requires {{ {limit} }}") + candidate("slow", "synthesized", "conv", "")
    rows = found(tmp_path, rules, "TSR510")
    assert [(row["witness"]["dims"]["B"], row["severity"]) for row in rows] == [(past, "note")]
    assert "fast" in rows[0]["message"]
    assert "slow" in rows[0]["message"]


@pytest.mark.parametrize("body", ["requires { B % 32 == 0 }", "avoid { B > 32 }", "requires { dtype == f32 }"])
def test_P20_past_a_multiple_is_no_cliff_and_neither_is_what_the_author_avoids(body: str, tmp_path: Path) -> None:
    rules = candidate("fast", "hand_tuned", "conv", body) + candidate("slow", "synthesized", "conv", "")
    assert found(tmp_path, rules, "TSR510") == []


def test_P20_a_tier_between_is_no_fall_to_the_lowest(tmp_path: Path) -> None:
    rules = candidate("fast", "hand_tuned", "conv", "requires { B <= 32 }") + candidate("slow", "synthesized", "conv", "")
    assert found(tmp_path, rules + candidate("middle", "emitted", "conv", ""), "TSR510") == []


def test_preferences_that_meet_in_a_circle_are_found_with_a_request(tmp_path: Path) -> None:
    rules = candidate("one", "emitted", "conv", "") + candidate("two", "emitted", "conv", "requires { H % 2 == 0 }")
    rules += "rule r { op conv  target gpu\n  when B > 4\n  prefer one over two }\nrule s { op conv  target gpu\n  when C > 4\n  prefer two over one }\n"
    rows = found(tmp_path, rules, "TSR507")
    assert [row["witness"]["dims"] for row in rows] == [{"B": 5, "C": 5, "H": 2, "F": 1}]
    assert found(tmp_path, rules.replace("C > 4", "B <= 4"), "TSR507") == []


def test_a_lower_tier_behind_a_probe_may_win(tmp_path: Path) -> None:
    probed = candidate("fast", "hand_tuned", "conv", 'available { library("libfast.so") }') + candidate("slow", "synthesized", "conv", "")
    assert found(tmp_path, probed, "TSR503") == []
    always = candidate("fast", "hand_tuned", "conv", "") + candidate("slow", "synthesized", "conv", "")
    assert [row["related"][0]["message"] for row in found(tmp_path, always, "TSR503")] == ["fast comes before it"]


def test_a_machine_fixes_devices_and_probes(tmp_path: Path) -> None:
    box = tmp_path / "box.json"
    box.write_text('{"machine": 1, "os": "linux", "targets": {"gpu": {"arch": "g2", "memory": 64}}}', encoding="utf-8")
    rules = candidate("fast", "hand_tuned", "conv", 'available { device.arch == "g2" }')
    assert found(tmp_path, rules, "TSR505")
    assert found(tmp_path, rules, "TSR505", "--machine", str(box)) == []
    probed = candidate("fast", "hand_tuned", "conv", 'available { library("libfast.so") }')
    assert found(tmp_path, probed, "TSR505") == []
    assert found(tmp_path, probed, "TSR505", "--machine", str(box))


@pytest.mark.parametrize(
    "clause",
    [
        "aligned(x, 4096)",
        "stride(x, 2) == 4",
        "broadcast(w)",
        "threads >= 64",
        "not contiguous(x)",
        "device.memory >= B * C * H * 4",
        "dtype == f32 and B % 7 == 6",
    ],
)
def test_what_only_another_layout_or_machine_makes_true_is_not_called_never_true(clause: str, tmp_path: Path) -> None:
    rules = candidate("fast", "hand_tuned", "conv", f"requires {{ {clause} }}") + candidate("slow", "synthesized", "conv", "")
    assert found(tmp_path, rules, "TSR501") == []
    assert found(tmp_path, rules, "TSR503") == []


def test_clauses_that_bound_each_other_from_both_sides_are_found(tmp_path: Path) -> None:
    rules = candidate("slow", "synthesized", "conv", "") + candidate("fast", "hand_tuned", "conv", "requires {\n    B > 8\n    B * 2 < 17\n  }")
    assert ["fast" in row["message"] for row in found(tmp_path, rules, "TSR501")] == [True]


def test_of_two_equal_clauses_the_second_is_implied(tmp_path: Path) -> None:
    rules = candidate("slow", "synthesized", "conv", "") + candidate("fast", "hand_tuned", "conv", "requires {\n    B > 8\n    C > 1\n    B > 8\n  }")
    rows = found(tmp_path, rules, "TSR502")
    assert [(row["line"] - row["related"][0]["line"]) for row in rows] == [2]


def test_one_past_a_bound_of_avoid_that_never_holds_where_the_candidate_races(tmp_path: Path) -> None:
    rules = candidate("slow", "synthesized", "conv", "") + candidate("fast", "hand_tuned", "conv", "requires { B % 16 == 0 }\n  avoid { B < 16 }")
    assert ["avoid" in row["message"] for row in found(tmp_path, rules, "TSR501")] == [True]
