"""A decision as a person reads it, and as a document."""

from __future__ import annotations

import json

from tessera_rules.report.explain import explain, to_json
from tessera_rules.report.text import Paint
from tests.arbiter.asking import ask, box
from tests.arbiter.factory import candidate, rule, ruleset

RULES = ruleset(
    candidate("fast", "hand_tuned", requires=["K % 16 == 0 because whole tiles"]),
    candidate("here", available=["library('libx.so') because the runtime"]),
    candidate("plain", "synthesized"),
    candidate("bad"),
    rules=[rule("errata", "deny bad", when="K > 0", because="it is wrong")],
)


def test_the_winner_comes_first_then_each_other_with_its_reason_and_place():
    text = explain(ask(RULES, "dtype=f32 M=4 N=4 K=17 act=none"))
    lines = text.split("\n")
    assert lines[0] == "matmul on cpu: plain runs, by only: the only one left in the race"
    assert lines[1] == "  request  dtype=f32 M=4 K=17 N=4"
    assert lines[2].split() == ["selected", "plain", "(synthesized):", "the", "only", "one", "left", "in", "the", "race"]
    for part in (
        "fast (hand_tuned): `K % 16 == 0` does not hold (K = 17)",
        "because whole tiles",
        "here (emitted): `library('libx.so')` does not hold: box.json does not list library libx.so",
        "because the runtime",
        "bad (emitted): rule errata denies it: `K > 0` (K = 17)",
        "because it is wrong",
        "rules.tsr:1:1",
    ):
        assert part in text


def test_what_is_open_is_listed_with_what_to_give():
    text = explain(ask(RULES, "dtype=f32 M=4 N=4"))
    assert text.startswith("matmul on cpu: undecided between fast, plain, bad")
    assert "open:" in text
    assert "fast: K % 16 == 0  give K  rules.tsr:1:1" in text


def test_nobody_and_nobody_registered():
    assert "the reference runs, by none: nobody is left" in explain(ask(ruleset(candidate("a", requires=["M == 1"]))))
    assert "no candidate is registered for matmul on cpu" in explain(ask(ruleset()))


def test_notes_and_where_it_holds_are_shown():
    text = explain(ask(RULES, "dtype=f32 M=4 N=4 K=16", force="plain"), holds_for="M > 0")
    assert "note: force=plain: it is in the race, and selected" in text
    assert text.endswith("the same holds for: M > 0")


def test_the_decision_explains_itself_without_colour():
    decision = ask(RULES, "dtype=f32 M=4 N=4 K=17")
    assert decision.explain() == explain(decision)
    assert "\x1b[" in explain(decision, Paint(True))
    assert "\x1b[" not in decision.explain()


def test_the_request_is_shown_as_it_is_typed():
    words = "dtype=f32 M=4 K=16 N=4 act=relu epilogue=bias,relu given=bias a.align=16 a.strides=16,1 b.dtype=f32 allow=tf32 require=deterministic threads=2"
    lines = explain(ask(RULES, words)).split("\n")
    assert lines[1] == f"  request  {words}"
    assert explain(ask(RULES, words)) == explain(ask(RULES, lines[1].removeprefix("  request  ")))


def test_the_document_has_the_fields_of_eval():
    document = json.loads(json.dumps(to_json(ask(RULES, "dtype=f32 M=4 N=4 K=17"), holds_for="true")))
    assert document["winner"] == document["tag"] == "plain"
    rows = {row["candidate"]: row for row in document["verdicts"]}
    assert rows["fast"]["clause"] == "K % 16 == 0"
    assert rows["fast"]["values"] == {"K": 17}
    assert rows["here"]["probe"] == "library('libx.so')"
    assert "libx.so" in rows["here"]["found"]
    assert rows["bad"]["rule"] == "errata"
    assert document["holds_for"] == "true"
    opened = to_json(ask(RULES, "dtype=f32 M=4 N=4", machine=box()))
    assert (opened["winner"], opened["tag"]) == (None, "undecided")
    assert {"candidate", "condition", "needs", "file", "line", "column"} == set(opened["residual"][0])
