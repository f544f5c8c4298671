"""tsr tune and tsr corpus as they are typed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tessera_rules.cli import main
from tessera_rules.corpus.lookup import MAX_AGE_SECONDS
from tessera_rules.corpus.record import Record
from tessera_rules.corpus.store import Store
from tessera_rules.corpus.suggest import suggested_rules
from tessera_rules.model.load import load
from tests.corpus import stage
from tests.corpus.test_tuning import QUICK, SLOW_DEFAULT

WORDS = ["dtype=f32", "N=8", "K=8"]


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TSR_CORPUS", str(tmp_path / "c.sqlite"))
    monkeypatch.setenv("TSR_RULES", str(tmp_path / "rules.tsr"))
    monkeypatch.setattr("os.getloadavg", lambda: (0.5, 0.5, 0.5))
    (tmp_path / "rules.tsr").write_text(SLOW_DEFAULT + stage.candidate("new") + QUICK, encoding="utf-8")
    return tmp_path / "c.sqlite"


def tsr(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return main([str(word) for word in words], out, err), out.getvalue(), err.getvalue()


def document(*words: str) -> Any:
    code, out, err = tsr(*words, "--json")
    assert code in (0, 1), err
    return json.loads(out)


def records(folder: Path, *ages: float) -> list[Record]:
    ruleset = stage.rules(folder)
    return [stage.record(ruleset, stage.machine(), {"old": 1e-3, "new": 5e-4}, {"M": 8 + place}, age=age) for place, age in enumerate(ages)]


def test_tune_measures_a_grid_goes_on_and_eval_says_measured(place: Path) -> None:
    code, out, err = tsr("tune", "f", "x86", *WORDS, "M=8,16")
    assert (code, err) == (0, "")
    assert "new wins after" in out
    assert "2 measured" in out
    assert "2 known" in tsr("tune", "f", "x86", *WORDS, "M=8,16")[1]
    found = document("eval", "f", "x86", *WORDS, "M=8")
    assert (found["winner"], found["criterion"], found["holds_for"]) == ("new", "measured", None)
    assert document("eval", "f", "x86", *WORDS, "M=64")["criterion"] == "tier"


def test_tune_as_a_document(place: Path) -> None:
    found = document("tune", "f", "x86", *WORDS, "M=8")
    (result,) = found["results"]
    assert (result["status"], result["winner"], result["default"], result["outcome"]) == ("measured", "new", "old", "separated")
    assert set(result["median_seconds"]) == {"old", "new"}
    assert document("corpus", "show")["records"][0]["id"] == result["record"]


def test_a_busy_machine_is_said_and_recorded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (500.0, 0.5, 0.5))
    _, _, err = tsr("tune", "f", "x86", *WORDS, "M=8")
    assert "is busy (500 processes" in err
    assert Store(str(place)).read().records[0].evidence["host"]["load"] == 500.0


@pytest.mark.parametrize("words", [[], ["--file", "nobody.txt"], ["f", "x86", "M=8", "--shard", "3/2"], ["f", "x86", "M=8", "--sideways"]])
def test_tune_without_sense_is_the_callers_mistake(place: Path, words: list[str]) -> None:
    code, _, err = tsr("tune", *words)
    assert code == 2
    assert err.startswith("tsr: error:")


def test_tune_a_file_of_requests_with_one_that_fails(place: Path, tmp_path: Path) -> None:
    (tmp_path / "shapes.txt").write_text("f x86 dtype=f32 M=8 N=8 K=8\nf x86 dtype=f32 M=8 Q=8  # no such dimension\n")
    code, out, _ = tsr("tune", "--file", str(tmp_path / "shapes.txt"))
    assert code == 1
    assert "1 measured, 1 failed" in out


@pytest.mark.parametrize("broken", ["/proc/none/c.sqlite", "postgresql://host/db"])
def test_a_corpus_that_cannot_be_written_is_said(place: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    monkeypatch.setenv("TSR_CORPUS", broken)
    code, _, err = tsr("tune", "f", "x86", *WORDS, "M=8")
    assert code == 2
    assert "corpus" in err


def test_export_import_merge_are_a_union(place: Path, tmp_path: Path) -> None:
    one, two, both = records(tmp_path, 10, 20, 30)
    Store(str(tmp_path / "a.sqlite")).add([one, both])
    Store(str(tmp_path / "b.sqlite")).add([two, both])
    for name in "ab":
        assert tsr("corpus", "export", str(tmp_path / f"{name}.jsonl"), "--corpus", str(tmp_path / f"{name}.sqlite"))[0] == 0
    merged = tsr("corpus", "merge", str(tmp_path / "a.jsonl"), str(tmp_path / "b.sqlite"))[1]
    assert merged == tsr("corpus", "merge", str(tmp_path / "b.jsonl"), str(tmp_path / "a.jsonl"))[1]
    assert len(merged.splitlines()) == 3
    (tmp_path / "both.jsonl").write_text(merged)
    assert "3 records read, 3 new" in tsr("corpus", "import", str(tmp_path / "both.jsonl"))[1]
    assert "3 records read, 0 new" in tsr("corpus", "import", str(tmp_path / "both.jsonl"))[1]
    assert tsr("corpus", "export")[1] == merged


def test_T30_bad_lines_are_reported_by_line_and_the_good_are_imported(place: Path, tmp_path: Path) -> None:
    (record,) = records(tmp_path, 1)
    (tmp_path / "x.jsonl").write_text(f"{{\n{record.text}\n" + record.text.replace('"schema":1', '"schema":9') + "\n")
    code, out, err = tsr("corpus", "import", str(tmp_path / "x.jsonl"))
    assert code == 1
    assert "1 records read, 1 new" in out
    assert [line.rpartition("x.jsonl:")[2].partition(":")[0] for line in err.splitlines()] == ["1", "3"]


def test_the_tessera_corpus_is_imported_and_its_suspicious_rows_reported(place: Path, tmp_path: Path) -> None:
    row = {"op": "f", "target": "x86", "dtype": "f32", "bucket": [8, 8], "device": "d", "timing": "device", "candidates": {"old": 1.0}, "winner": "old"}
    (tmp_path / "t.json").write_text(json.dumps({"version": 3, "records": [row, 5]}))
    code, out, err = tsr("corpus", "import", str(tmp_path / "t.json"))
    assert code == 1
    assert "1 dimensions, 1 one_contestant" in out
    assert "row 2: a row is an object" in err
    assert "decides nothing here" in tsr("corpus", "show")[1]
    assert {each["kind"] for each in document("corpus", "audit")["notes"]} == {"foreign", "suspicious"}


def test_prune_takes_away_what_no_longer_counts(place: Path, tmp_path: Path) -> None:
    new, aged = records(tmp_path, 10, MAX_AGE_SECONDS + 1000)
    Store(str(place)).add([new, aged, evolve(new, rules="of yesterday", at=5.0)])
    assert "2 records would go" in tsr("corpus", "prune", "--dry-run")[1]
    assert "2 records taken away" in tsr("corpus", "prune")[1]
    assert [each.id for each in Store(str(place)).read().records] == [new.id]
    assert "1 records taken away" in tsr("corpus", "prune", "--older-than", "0")[1]


def test_T29_audit_checks_every_choice_against_the_rules_of_today(place: Path, tmp_path: Path) -> None:
    (good,) = records(tmp_path, 10)
    rows = [good, evolve(good, dims={"M": 8, "N": 8}), evolve(good, op="gone", at=1.0), evolve(good, rules="old", at=good.at - 1)]
    Store(str(place)).add(rows)
    found = document("corpus", "audit")
    by_id = {name: sorted(each["kind"] for each in found["notes"] if each["id"] == name) for name in (row.id for row in rows)}
    assert by_id[rows[1].id] == ["unreachable"]
    assert by_id[rows[2].id] == ["unreachable"]
    assert "stale" in by_id[rows[3].id]
    assert by_id[rows[0].id] == ["elsewhere"]  # it was measured on the stated box
    (tmp_path / "rules.tsr").write_text(stage.OP + stage.candidate("old", tier="hand_tuned") + stage.candidate("new", "requires { M >= 1000 }"))
    kinds = {each["kind"] for each in document("corpus", "audit")["notes"] if each["id"] == good.id}
    assert {"refused", "stale"} <= kinds


@pytest.mark.parametrize("words", [[], ["shwo"], ["import"], ["merge"], ["import", "nobody.jsonl"], ["export", "a", "b"]])
def test_corpus_without_sense_is_the_callers_mistake(place: Path, words: list[str]) -> None:
    assert tsr("corpus", *words)[0] == 2


def test_suggested_rules_are_rules_that_decide_as_measured(tmp_path: Path) -> None:
    ruleset, on = stage.rules(tmp_path), stage.machine()
    fast = [stage.record(ruleset, on, {"old": 1e-3, "new": 5e-4}, {"M": size}) for size in (8, 64)]
    tie = stage.record(ruleset, on, {"old": 1e-3, "new": 1e-3}, {"M": 32}, rounds=24)
    said = suggested_rules(fast, ruleset)
    assert "8 <= M <= 64" in said
    assert "50% less time at 2 shapes" in said
    apart = suggested_rules([*fast, tie], ruleset)
    assert "M == 8" in apart
    assert "M <= 64" not in apart
    for text, sizes in ((said, {8: "new", 64: "new", 65: "old"}), (apart, {8: "new", 32: "old", 64: "new"})):
        (tmp_path / "more.tsr").write_text(stage.TWO + text, encoding="utf-8")
        loaded = load([tmp_path / "more.tsr"])
        assert loaded.findings == ()
        from tessera_rules.arbiter.decide import decide
        from tessera_rules.arbiter.request import bind_words

        rules = loaded.ruleset_or_raise()
        for size, winner in sizes.items():
            assert decide(rules, bind_words(rules, "f", "x86", {"M": size, "N": 64, "K": 64, "dtype": "f32"}, on), on).winner == winner
    assert suggested_rules([tie], ruleset) == ""
