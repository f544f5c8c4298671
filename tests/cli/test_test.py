"""`tsr test`: the test blocks, what is said of one that fails, and what no test covers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import RULES, tsr, write_rules


def ran(folder: Path, *blocks: str, options: tuple[str, ...] = ("--json",)) -> object:
    rules = RULES[: RULES.index('test "aligned"')] + "\n".join(blocks) + "\n"
    return tsr("test", write_rules(folder, rules), *options)


def block(expect: str, *, request: str = "dtype f32  M 16  N 16  K 16", device: str = 'arch "v2"', more: str = "") -> str:
    return f'test "t" {{\n  {more}\n  request matmul on box {{ {request} }}\n  device {{ {device} }}\n  {expect}\n}}'


@pytest.mark.parametrize(
    ("expect", "request_", "device"),
    [
        ("expect tiled", "dtype f32  M 16  N 16  K 16", 'arch "v2"'),
        ("expect tiled selected", "dtype f32  M 16  N 16  K 16", 'arch "v2"'),
        ("expect not plain", "dtype f32  M 16  N 16  K 16", 'arch "v2"'),
        ("expect not reference", "dtype f32  M 16  N 16  K 16", 'arch "v2"'),
        ("expect plain outranked", "dtype f32  M 16  N 16  K 16", 'arch "v2"'),
        ('expect plain outranked by "tiled"', "dtype f32  M 16  N 16  K 16", 'arch "v2"'),
        ('expect tiled refused by "K % 16 == 0"', "dtype f32  M 16  N 16  K 15", 'arch "v2"'),
        ('expect not tiled refused by "M >= 2"', "dtype f32  M 16  N 16  K 15", 'arch "v2"'),
        ("expect tiled unavailable", "dtype f32  M 16  N 16  K 16", 'arch "v1"'),
        ('expect tiled denied by "ragged"', "dtype f32  M 16  N 7  K 16", 'arch "v2"'),
        ("expect undecided", "dtype f32  M 16  N 16", 'arch "v2"'),
        ("expect tiled undecided", "dtype f32  M 16  N 16", 'arch "v2"'),
        ("expect not tiled", "dtype f32  M 16  N 16", 'arch "v2"'),
        ("expect tiled refused", "dtype f32  M 16  N 16  K 16  epilogue [relu]", 'arch "v2"'),
    ],
)
def test_an_expectation_that_holds(expect: str, request_: str, device: str, tmp_path: Path) -> None:
    answer = ran(tmp_path, block(expect, request=request_, device=device))
    assert (answer.code, answer.json["passed"], answer.json["failed"]) == (0, 1, 0), answer.out
    assert answer.json["tests"][0] | {"line": 0} == {"name": "t", "file": str(tmp_path / "r.tsr"), "line": 0, "outcome": "passed", "message": ""}


@pytest.mark.parametrize(
    ("expect", "request_", "said"),
    [
        ("expect plain", "dtype f32  M 16  N 16  K 16", ["expected plain", "the winner is tiled", "tier", "plain is outranked"]),
        ("expect tiled", "dtype f32  M 16  N 16  K 15", ["expected tiled", "the winner is plain", "K % 16 == 0", "15"]),
        ("expect not tiled", "dtype f32  M 16  N 16  K 16", ["expected not tiled", "the winner is tiled"]),
        ("expect reference", "dtype f32  M 16  N 16  K 16", ["expected reference", "the winner is tiled"]),
        ("expect undecided", "dtype f32  M 16  N 16  K 16", ["expected undecided"]),
        ('expect tiled refused by "K % 16"', "dtype f32  M 16  N 16  K 15", ['by "K % 16"', "K % 16 == 0"]),
        ('expect tiled refused by "M >= 2"', "dtype f32  M 1  N 16  K 15", ["K % 16 == 0"]),
        ("expect tiled denied", "dtype f32  M 16  N 16  K 15", ["tiled is refused"]),
        ('expect not tiled refused by "K % 16 == 0"', "dtype f32  M 16  N 16  K 15", ["expected not tiled refused"]),
        ("expect tiled", "dtype f32  M 16  N 16", ["open on", "K"]),
    ],
)
def test_an_expectation_that_does_not_hold_says_who_won_and_why(expect: str, request_: str, said: list[str], tmp_path: Path) -> None:
    answer = ran(tmp_path, block(expect, request=request_))
    assert (answer.code, answer.json["passed"], answer.json["failed"]) == (1, 0, 1)
    assert answer.json["tests"][0]["outcome"] == "failed"
    for part in said:
        assert part in answer.json["tests"][0]["message"]


def test_a_test_with_a_loop_is_one_test_and_shows_the_round_that_fails(tmp_path: Path) -> None:
    request = "dtype f32  M 16  N 16  K k"
    good = ran(tmp_path, block("expect tiled", request=request, more="for k in 16..64 step 16"))
    assert (good.json["passed"], good.json["failed"]) == (1, 0)
    bad = ran(tmp_path, block("expect tiled", request=request, more="for k in 16..64 step 8"))
    assert (bad.json["passed"], bad.json["failed"]) == (0, 1)
    assert bad.json["tests"][0]["message"].startswith("with k=24: expected tiled")


def test_a_request_that_is_none_of_the_op_is_an_error_of_the_test(tmp_path: Path) -> None:
    answer = ran(tmp_path, block("expect tiled", request="dtype f32  M 5000  N 16  K 16"), block("expect tiled").replace('"t"', '"u"'))
    assert (answer.code, answer.json["passed"], answer.json["failed"]) == (1, 1, 1)
    first = answer.json["tests"][0]
    assert first["outcome"] == "error"
    assert "rows fit one launch" in first["message"]


@pytest.mark.parametrize(
    ("assume", "winner"), [("", "plain"), ("assume available all", "tiled"), ("assume available tiled", "tiled"), ("assume unavailable plain", "reference")]
)
def test_what_is_assumed(assume: str, winner: str, tmp_path: Path) -> None:
    answer = ran(tmp_path, block(f"{assume}\n  expect {winner}", device='arch "v1"'))
    assert answer.json["passed"] == 1, answer.out


def test_the_machine_has_the_facts_of_device_and_nothing_else(tmp_path: Path) -> None:
    answer = ran(tmp_path, block("expect tiled error", device=""))
    assert answer.json["passed"] == 1, answer.out


def test_a_request_of_a_test_states_layouts_and_operands(tmp_path: Path) -> None:
    rules = RULES[: RULES.index('test "aligned"')].replace("    M >= 2", "    aligned(a, 16)")
    request = "dtype f32  M 16  N 16  K 16  given [bias]  layout a { align 4 }"
    text = block('expect tiled refused by "aligned(a, 16)"\n  expect plain', request=request)
    answer = tsr("test", write_rules(tmp_path, rules + text), "--json")
    assert answer.json["passed"] == 1, answer.out


def test_coverage_counts_what_a_test_turned_on(tmp_path: Path) -> None:
    none = ran(tmp_path).json
    assert (none["tests"], none["passed"], none["failed"]) == ([], 0, 0)
    assert none["coverage"]["candidates"] == {"covered": 0, "total": 2, "missed": ["tiled", "plain"]}
    assert [row["clause"] for row in none["coverage"]["clauses"]["missed"]] == ['device.arch == "v2"', "K % 16 == 0", "M >= 2"]
    assert none["coverage"]["rules"] == {"covered": 0, "total": 1, "missed": ["ragged"]}
    some = ran(tmp_path, block("expect plain", request="dtype f32  M 16  N 7  K 15")).json
    assert some["coverage"]["candidates"] == {"covered": 1, "total": 2, "missed": ["tiled"]}
    assert some["coverage"]["rules"]["missed"] == []
    more = ran(tmp_path, block("expect plain", request="dtype f32  M 16  N 16  K 15")).json
    assert [row["clause"] for row in more["coverage"]["clauses"]["missed"]] == ['device.arch == "v2"', "M >= 2"]
    assert (more["coverage"]["clauses"]["covered"], more["coverage"]["clauses"]["total"]) == (1, 3)
    assert more["coverage"]["rules"]["missed"] == ["ragged"]


def test_the_answer_for_a_person(tmp_path: Path) -> None:
    answer = ran(tmp_path, block("expect plain"), block("expect tiled").replace('"t"', '"u"'), options=("--missed",))
    assert answer.code == 1
    lines = answer.out.splitlines()
    assert lines[0].startswith("failed ")
    assert lines[-1].startswith("1 passed, 1 failed; covered: 1 of 2 candidates")
    assert any(line.startswith("passed ") and line.endswith(" u") for line in lines)
    assert "no test selects candidate plain" in lines
    assert "in no test does rule ragged apply" in lines


def test_what_a_file_uses_is_left_to_whoever_tests_that(tmp_path: Path) -> None:
    write_rules(tmp_path)
    mine = tmp_path / "s.tsr"
    rule = "rule mine {\n  op matmul  target box\n  deny tiled\n}\n"
    test = 'test "mine" {\n  request matmul on box { dtype f32  M 16  N 16  K 16 }\n  expect tiled denied by "mine"\n}\n'
    mine.write_text(f'tessera 1\nuse "r.tsr"\n{rule}{test}', encoding="utf-8")
    alone = tsr("test", mine, "--json").json
    assert [each["name"] for each in alone["tests"]] == ["mine"]
    assert alone["coverage"]["candidates"]["total"] == 0
    assert alone["coverage"]["rules"] == {"covered": 1, "total": 1, "missed": []}
    both = tsr("test", tmp_path, "--json").json
    assert [(each["name"], each["outcome"]) for each in both["tests"]] == [("aligned", "failed"), ("mine", "passed")]
    assert both["coverage"]["candidates"]["total"] == 2


def test_a_candidate_of_another_target_is_said_to_be_no_contestant(tmp_path: Path) -> None:
    other = 'target shelf { fact n: int }\ncandidate far { tier emitted; target shelf; op matmul; bind python "no.such:far" }'
    answer = ran(tmp_path, other, block("expect far"))
    message = answer.json["tests"][0]["message"]  # type: ignore[attr-defined]
    assert "far is not registered for matmul on box" in message
    assert "not registered" not in ran(tmp_path, block("expect reference")).json["tests"][0]["message"]  # type: ignore[attr-defined]
