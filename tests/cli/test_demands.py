"""`tsr lint --schema team.json`: a team's demands, from the command line to the place that falls short."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command import RULES, tsr, write_rules

TEAM = {
    "properties": {
        "candidates": {
            "items": {
                "if": {"properties": {"tier": {"const": "hand_tuned"}}},
                "then": {"description": "every hand_tuned candidate has an accuracy and a doc", "required": ["accuracy", "doc"]},
            }
        }
    }
}


def test_a_demand_that_is_met_and_one_that_is_not(tmp_path: Path) -> None:
    path, team = write_rules(tmp_path), tmp_path / "team.json"
    team.write_text(json.dumps(TEAM), encoding="utf-8")
    assert tsr("lint", path, "--schema", team, "--json").json["findings"] == []
    text = RULES.replace("  accuracy { atol 1e-3 }\n", "")
    path.write_text(text, encoding="utf-8")
    assert tsr("lint", path, "--json").json["findings"] == []
    answer = tsr("lint", path, "--schema", team, "--json")
    assert answer.code == 1
    (row,) = answer.json["findings"]
    assert row["code"] == "TSR190"
    assert row["message"] == "candidate tiled: every hand_tuned candidate has an accuracy and a doc: it has no accuracy"
    assert (row["file"], row["line"], row["column"]) == (str(path), text.splitlines().index("candidate tiled {") + 1, 11)


def test_a_schema_that_is_none_ends_the_call(tmp_path: Path) -> None:
    path, team = write_rules(tmp_path), tmp_path / "team.json"
    for text, said in [("{", "team.json"), ('{"requird": []}', "did you mean 'required'?")]:
        team.write_text(text, encoding="utf-8")
        answer = tsr("lint", path, "--schema", team, "--json")
        assert answer.code == 2
        assert said in answer.json["error"]["message"]
    assert tsr("lint", path, "--schema", tmp_path / "nowhere.json").code == 2
