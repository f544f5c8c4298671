"""A team's own demands: met or not, at the place that falls short, in the team's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tessera_rules.errors import UsageError
from tessera_rules.report.schema import read_schema, validate_against
from tests.report.loaded_rules import TEXT, everything, load_text

HAND_TUNED = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "properties": {
        "candidates": {
            "items": {
                "if": {"properties": {"tier": {"const": "hand_tuned"}}},
                "then": {"description": "every hand_tuned candidate has an accuracy and a doc", "required": ["accuracy", "doc"]},
            }
        }
    },
}
BARE = TEXT.replace('    "Tiles."\n', "").replace("    accuracy { atol 1e-3  rtol max(1e-2, 1e-4 * K) }\n", "")


def findings(text: str, schema: dict[str, Any]) -> list[tuple[int, str, str | None]]:
    loaded = load_text(text)
    assert loaded.errors == ()
    return [(finding.span.line, finding.message, finding.hint) for finding in validate_against(loaded.ruleset, schema)]


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_what_meets_the_demand_has_no_finding() -> None:
    assert validate_against(everything().ruleset, HAND_TUNED) == ()


def test_what_falls_short_is_shown_at_its_declaration() -> None:
    found = findings(BARE, HAND_TUNED)
    demand = "every hand_tuned candidate has an accuracy and a doc"
    line = line_of(BARE, "candidate tiled_{s}")
    assert found == [(line, f"candidate {name}: {demand}: it has no {field}", None) for name in ("tiled_f16", "tiled_f32") for field in ("accuracy", "doc")]


def test_a_finding_has_the_code_of_demands() -> None:
    (first, *_) = validate_against(load_text(BARE).ruleset, HAND_TUNED)
    assert (first.code, first.severity) == ("TSR190", "error")


def test_a_part_inside_a_declaration_is_shown_at_its_own_place() -> None:
    schema = {"$defs": {"clause": {"required": ["because"], "title": "each clause says why"}}}
    schema["properties"] = {"candidates": {"items": {"properties": {"requires": {"items": {"$ref": "#/$defs/clause"}}}}}}
    found = findings(TEXT, schema)
    assert {line for line, _, _ in found} == {line_of(TEXT, "requires {")}
    assert found[0][1] == "candidate tiled_f16 (requires.0): each clause says why: it has no because"


def test_D22_under_any_of_the_branch_that_was_meant_speaks() -> None:
    """The binding is a native one: that it is no Python one, and has no `constants`, is nobody's business."""
    python = {"properties": {"kind": {"const": "python"}, "constants": {"type": "object"}}, "required": ["kind", "constants"]}
    native = {"properties": {"kind": {"const": "native"}, "symbol": {"pattern": "^tsr_"}}, "required": ["kind"], "title": "symbols begin with tsr_"}
    source = {"properties": {"kind": {"const": "source"}}}
    for keyword in ("anyOf", "oneOf"):
        schema = {"properties": {"candidates": {"items": {"properties": {"bind": {keyword: [python, native, source]}}}}}}
        found = findings(TEXT, schema)
        assert found == [(line_of(TEXT, "bind native"), "candidate lib (bind.symbol): symbols begin with tsr_: 'mm' does not match ^tsr_", None)], keyword


def test_D22_a_value_for_no_branch_is_said_once() -> None:
    branches = [{"properties": {"kind": {"const": kind}}} for kind in ("python", "source")]
    found = findings(TEXT, {"properties": {"candidates": {"items": {"properties": {"bind": {"description": "no shared libraries", "anyOf": branches}}}}}})
    assert [(line, message.split(": ")[:2]) for line, message, _ in found] == [(line_of(TEXT, "bind native"), ["candidate lib (bind)", "no shared libraries"])]


def test_D22_the_nearest_valid_name() -> None:
    schema = {"properties": {"candidates": {"items": {"properties": {"tier": {"enum": ["hand-tuned", "emited", "synthesized"]}}}}}}
    hints = {hint for _, _, hint in findings(TEXT, schema)}
    assert hints == {"did you mean 'hand-tuned'?", "did you mean 'emited'?"}
    asked = {"properties": {"candidates": {"items": {"required": ["accurracy"]}}}}
    with pytest.raises(UsageError, match=r"accurracy.*did you mean 'accuracy'"):
        validate_against(everything().ruleset, asked)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "objekt"}, "objekt"),
        ({"properties": {"candidates": {"items": {"requird": ["doc"]}}}}, "did you mean 'required'?"),
        ({"anyof": []}, "did you mean 'anyOf'?"),
        ({"properties": {"candidates": {"items": {"properties": {"tierr": {"const": "x"}}}}}}, "did you mean 'tier'?"),
        ({"$ref": "#/$defs/none"}, "not there"),
        ({"properties": 3}, "/properties"),
    ],
)
def test_a_schema_that_could_never_speak_is_refused(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        validate_against(everything().ruleset, schema)
    assert said in caught.value.message


def test_the_example_of_the_docs_is_the_demand() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "schema" / "README.md").read_text(encoding="utf-8")
    example = json.loads(page.split("```json\n")[1].split("```")[0])
    assert findings(BARE, example) == findings(BARE, HAND_TUNED) != []


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00", "3"])
def test_a_file_that_holds_no_schema(text: str, tmp_path: Path) -> None:
    path = tmp_path / "team.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"team\.json"):
        read_schema(path)
    path.write_text(json.dumps(HAND_TUNED), encoding="utf-8")
    assert read_schema(path) == HAND_TUNED
