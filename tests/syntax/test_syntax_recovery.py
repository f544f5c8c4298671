"""Several mistakes in one run, one finding for one cause, places."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tessera_rules.source import Source
from tessera_rules.syntax import nodes, parse, parse_items
from tests.syntax.texts import EXAMPLES, findings, places

ROOT = Path(__file__).resolve().parents[2]

MANY = """candidate a {
  teir emitted
  target x86
  requires {
    K % 16 = 0
    M % (16 == 0
    N > 3
    foo(a,
      b c,
      d)
    K == 4
  }
  bind python "m:f"
}
candidate b { tier emitted target x86; op matmul }
candidate c { tier }
rule r { op matmul tarrget x86 }
op d { operand a [M] ; result [M] }
candidat e { tier emitted }
predicate f = x +* 3
predicate g = a and
predicate h = 3
"""


def test_D16_every_mistake_of_a_file_is_found_once() -> None:
    assert places(MANY) == [
        ("TSR101", 2, 3),
        ("TSR001", 5, 12),
        ("TSR001", 7, 5),
        ("TSR001", 9, 9),
        ("TSR001", 15, 28),
        ("TSR001", 16, 20),
        ("TSR101", 17, 20),
        ("TSR001", 18, 18),
        ("TSR001", 19, 1),
        ("TSR001", 20, 18),
        ("TSR001", 22, 1),
    ]


def test_D16_the_names_of_damaged_declarations_stay_known() -> None:
    file, _ = parse_items(Source("t", MANY))
    assert [(item.name.text, item.damaged) for item in file.items if isinstance(item, nodes.Declaration | nodes.Predicate)] == [
        (name, name != "h") for name in "abcrdefgh"
    ]
    first = file.items[0]
    assert isinstance(first, nodes.Declaration)
    assert [field.keyword for field in first.fields] == ["target", "requires", "bind"]


def test_D16_findings_are_the_same_under_other_hash_seeds() -> None:
    code = (
        "import sys; from tessera_rules.source import Source; from tessera_rules.syntax import parse_items\n"
        "for f in parse_items(Source('t', sys.stdin.read()))[1]: print(f)"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], input=MANY, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, check=True
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(seen) == 1
    assert "TSR101" in seen.pop()


def test_an_unknown_field_is_one_finding_with_the_nearest_word() -> None:
    file, found = parse(Source("t", 'tessera 1\ncandidate c {\n  teir emitted\n  target cpu\n  bind python "m:f"\n}\n'))
    (finding,) = found
    assert (finding.code, finding.span.text, finding.hint) == ("TSR101", "teir", "did you mean 'tier'?")
    (candidate,) = file.items
    assert isinstance(candidate, nodes.Declaration)
    assert candidate.damaged
    assert [field.keyword for field in candidate.fields] == ["target", "bind"]


@pytest.mark.parametrize(
    ("text", "word", "near"),
    [
        ("op x { operrand a: [M] }", "operrand", "operand"),
        ("target x { fakt arch: int }", "fakt", "fact"),
        ("rule x { dney a }", "dney", "deny"),
        ("policy { ordr rules }", "ordr", "order"),
        ('test "x" { expcet a }', "expcet", "expect"),
        ("candidate x { accuracy { atoll 1.0 } }", "atoll", "atol"),
        ("candidate x { requirs { M == 1 } }", "requirs", "requires"),
    ],
)
def test_every_block_knows_its_fields(text: str, word: str, near: str) -> None:
    (finding,) = findings(text)
    assert (finding.code, finding.span.text, finding.hint) == ("TSR101", word, f"did you mean '{near}'?")


def test_D6_the_end_of_the_file_and_the_open_brace() -> None:
    (finding,) = findings('tessera 1\ncandidate c {\n  tier emitted\n  bind python "m:f"\n', whole=True)
    assert (finding.code, finding.span.line, finding.span.column) == ("TSR002", 4, 20)
    (related,) = finding.related
    assert (related.span.line, related.span.text) == (2, "{")
    (finding,) = findings("candidate c {\n  requires {\n    M % (4 ==\n")
    assert [(each.span.line, each.span.text) for each in finding.related] == [(3, "("), (2, "{"), (1, "{")]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_D6_a_file_cut_anywhere_has_findings_or_none_and_places_inside(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for cut in range(0, len(text), 7):
        file, found = parse_items(Source("t", text[:cut]))
        assert len(found) <= 2, text[:cut]
        for finding in found:
            assert 0 <= finding.span.start <= finding.span.end <= cut
            for related in finding.related:
                assert related.span.text in ("{", "(", "[")
        if file.items and found:
            last = file.items[-1]
            assert last.damaged or found[-1].span.start >= last.span.end or isinstance(last, nodes.For)


def test_a_block_that_is_not_closed_does_not_take_the_next_declaration() -> None:
    file, found = parse_items(Source("t", "candidate a {\n  tier emitted\ncandidate b {\n  tier emitted\n}\n"))
    (finding,) = found
    assert (finding.code, finding.span.line, finding.related[0].span.line) == ("TSR021", 3, 1)
    assert [item.damaged for item in file.items] == [True, False]


def test_clauses_that_are_not_closed_do_not_take_the_next_field() -> None:
    file, found = parse_items(Source("t", 'candidate a {\n  requires {\n    K == 4\n  bind python "m:f"\n}\ncandidate b { tier x }\n'))
    (finding,) = found
    assert (finding.code, finding.span.text, finding.related[0].span.line) == ("TSR021", "bind", 2)
    (first, second) = file.items
    assert isinstance(first, nodes.Declaration)
    assert [field.keyword for field in first.fields] == ["requires", "bind"]
    assert not second.damaged


def test_families_close_only_what_is_open() -> None:
    file, found = parse_items(
        Source("t", "for s in [f16] {\n  candidate a_{s} {\n    tier x\n  candidate b_{s} {\n    tier x\n  }\n}\ncandidate z { tier x }\n")
    )
    assert [finding.code for finding in found] == ["TSR021"]
    family, last = file.items
    assert isinstance(family, nodes.For)
    assert [item.damaged for item in family.body] == [True, False]
    assert not family.damaged
    assert not last.damaged


@pytest.mark.parametrize(
    "text",
    [
        "candidate c\n{\n  tier x\n}\n",
        "candidate c\n  tier x\n}\n",
        "candidate c zzz {\n  tier x\n}\n",
        "candidate c {{\n  tier x\n}\n",
        "candidate c {\n  tier = x\n}\n",
        "candidate c {\n  tier: x\n}\n",
        "candidate c {\n  avoid M < 4 }\n  tier x\n}\n",
        "candidate c {\n  guard { a else d\n  tier x\n}\n",
        "candidate c {\n  tier x\n  honours causal\n}\n",
        "candidate c {\n  tier x\n}\n}\n",
        "candidate c {\n  requires { a b c d e }\n}\n",
        "candidate c {\n  requires { f(a b) and c }\n}\n",
        "candidate c {\n  requires { a == [1, 2 }\n}\n",
        'candidate c { tier x }\njunk junk "junk" { ( [ }\n',
    ],
)
def test_D16_one_cause_is_one_finding(text: str) -> None:
    file, found = parse_items(Source("t", text + "candidate last { tier x }\n"))
    assert len(found) == 1, [(finding.code, str(finding.span), finding.message) for finding in found]
    assert file.items[-1].damaged is False


def test_messages_say_what_was_expected() -> None:
    assert findings("predicate p = a == 1 = 2")[0].hint == "equality is written =="
    assert findings("predicate p = K ≤ 3")[0].hint == "write <="
    assert findings("predicate p = 01")[0].hint == "write 1: a number has no leading zero"
    (finding,) = findings("predicate p = (a == 1\npredicate q = b")
    assert finding.related[0].span.text == "("
    assert "a value" in findings("predicate p = a +* b")[0].message


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", [("TSR018", 1, 1)]),
        ("predicate p = a", [("TSR018", 1, 1)]),
        ("# only a comment\n", [("TSR018", 2, 1)]),
        ("tessera 2\n", [("TSR019", 1, 1)]),
        ("tessera 1\ntessera 1\n", [("TSR019", 2, 1)]),
        ("predicate p = a\ntessera 1\n", [("TSR019", 2, 1)]),
        ("tessera 1", []),
        ("\n\n# first a comment\n\ntessera 1\n", []),
    ],
)
def test_the_edition_line_is_first_and_once(text: str, wanted: list[tuple[str, int, int]]) -> None:
    assert places(text, whole=True) == wanted


def test_documentation_and_tuples_stand_where_they_may() -> None:
    assert places('op f { operand x: [K]; "doc" }') == [("TSR106", 1, 24)]
    assert places("predicate p = a in [(1, 2)]") == [("TSR106", 1, 21)]
    assert places("predicate p = f(a=1, 2)") == [("TSR106", 1, 22)]
    assert places('candidate c { bind native "l" symbol "f" symbol "g" () }') == [("TSR106", 1, 42)]


@pytest.mark.parametrize("name", ["candidate", "for", "prose", "test"])
def test_D16_a_file_that_is_cut_off_anywhere_has_one_mistake(name: str) -> None:
    text = next(path for path in EXAMPLES if path.stem == name).read_text(encoding="utf-8")
    for end in range(len(text)):
        found = [(each.code, each.message) for each in parse(Source("t", text[:end]))[1] if each.severity == "error"]
        assert len(found) <= 1, (text[max(0, end - 60) : end], found)


@pytest.mark.parametrize("line", ["tesera 1", "Tessera 1", "tessera", 'tessera "1"', "tessera 1.0", "tessera v1", "edition 1", '{"a": 1}'])
def test_D16_an_edition_line_that_is_misspelt_is_one_mistake(line: str) -> None:
    found = parse(Source("t", f"# rules\n{line}\npredicate p = true\n"))[1]
    assert [(each.code in ("TSR001", "TSR018"), each.span.line) for each in found] == [(True, 2)]


def test_D16_a_word_that_begins_nothing_and_no_edition_are_two_mistakes() -> None:
    found = parse(Source("t", "candiate c {\n  tier emitted\n}\n"))[1]
    assert sorted(each.code for each in found) == ["TSR001", "TSR018"]


@pytest.mark.parametrize("after", ["els d", "e", ")", "else 5", "elsed"])
def test_D16_a_mistake_after_a_closed_block_is_not_looked_for_in_it(after: str) -> None:
    text = f"candidate c {{\n  guard {{ amax(q) <= 5.0 }} {after}\n  op x\n}}\npredicate p = true\n"
    file, found = parse_items(Source("t", text))
    assert [(each.code, each.span.line) for each in found] == [("TSR001", 2)]
    assert len(file.items) == 2


@pytest.mark.parametrize("list_", ["[(1, 2), (3 4)]", "[(1, 2), (3, 4)"])
def test_D16_tuples_of_a_list_that_cannot_be_read_are_not_misplaced(list_: str) -> None:
    text = f'test "x" {{\n  for (a, b) in {list_}\n  request m on c {{ M a }}\n  expect x\n}}\n'
    assert [code for code, _, _ in places(text)] == ["TSR001"]


def test_a_field_behind_a_brace_too_many_is_told_from_a_misspelt_declaration() -> None:
    (stray,) = findings("candidate c {\n  tier emitted\n  }\n  computes f16\n}\n")
    assert "one too many" in (stray.hint or "")
    (slip,) = findings("candidat c {\n  tier emitted\n}\n")
    assert slip.hint == "did you mean 'candidate'?"
