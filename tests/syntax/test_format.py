"""The formatter: layout, comments, idempotence, refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera_rules.errors import RuleError
from tessera_rules.source import Source
from tessera_rules.syntax import parse, parse_items
from tessera_rules.syntax.format import LayoutError, format_text, same_meaning
from tessera_rules.syntax.layout import read_tokens
from tests.syntax.texts import EXAMPLES


def laid(text: str) -> str:
    return format_text(Source("t.tsr", text), items=True)


LAID = """tessera 1
use "ops.tsr"  # ops

# A family.
for (s, step) in [(f16, 16), (bf16, 16)] {
  candidate mma_{s} {
    "One."
    tier emitted
    target {s}
    # about the clauses
    requires {  # why
      dtype == s  # same
      K % step == 0 and -M < 3
    }
    avoid { M < 16 because "slow" }
    accuracy { atol max(1e-3, 1e-4 * n)  rtol 1e-2 }
    bind native "l.so" symbol "f" (ptr a, f32? scale, i64 lda = stride(a, 0))
        returns i32 { ok 0  decline 2 }
  }
}
target cpu {}

policy {
  order rules, tier
}
"""


def test_the_canonical_layout() -> None:
    ragged = """
tessera   1
use "ops.tsr" # ops


# A family.
for(s,step)in[ (f16,16) , (bf16,16) ]{
candidate mma_{s}{
"One."; tier emitted;target {s}
      # about the clauses
requires{ # why
dtype==s # same

K%step==0 and - M<3
}

avoid{M<16 because "slow"}
  accuracy {atol max( 1e-3,1e-4*n )
     rtol 1e-2}
bind native "l.so" symbol "f"(ptr a,f32 ? scale,i64 lda=stride( a , 0 ))
returns i32{ ok 0;decline 2}
}}
target cpu{
}

policy{order rules,tier}


"""
    # The one blank line between clauses is the author's and stays.
    wanted = LAID.replace("  # same\n", "  # same\n\n").replace("    }\n    avoid", "    }\n\n    avoid")
    assert format_text(Source("t.tsr", ragged)) == wanted
    assert format_text(Source("t.tsr", wanted)) == wanted
    assert format_text(Source("t.tsr", LAID)) == LAID


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_D12_the_second_run_changes_nothing(path: Path) -> None:
    source = Source(path.name, path.read_text(encoding="utf-8"))
    once = format_text(source)
    assert format_text(Source(path.name, once)) == once
    assert same_meaning(parse(source)[0], parse(Source(path.name, once))[0])
    assert all(line == line.rstrip() for line in once.split("\n"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_D12_D11_a_comment_in_every_gap_stays_and_moves_nothing(path: Path) -> None:
    for item in parse(Source(path.name, path.read_text(encoding="utf-8")))[0].items:
        text = item.span.text
        source = Source(path.name, text)
        plain, _ = parse_items(source)
        tokens, _ = read_tokens(source)
        tried = 0
        step = 1 + len(tokens) // 100
        for number, token in list(enumerate(tokens))[::step]:
            # One kind of comment each: enough of both over all the gaps.
            put = ("  # put1\n", "\n# put1\n\n\n  # put2\n")[number % 2]
            changed = text[: token.start] + put + text[token.start :]
            file, findings = parse_items(Source(path.name, changed))
            if findings or file != plain:
                continue  # a newline ends something here
            tried += 1
            once = laid(changed)
            assert once.count("# put1") == 1
            assert once.count("# put2") == put.count("# put2")
            assert laid(once) == once
        assert tried > len(tokens) // (5 * step)


def test_D12_comments_in_every_gap_at_once() -> None:
    text = "# 0\n\n# 1\npredicate p = (  # 2\n  a  # 3\n  # 4\n  == 1)  # 5\n# 6\n\n# 7\npredicate q = [1,  # 8\n# 9\n]  # 10\n# 11"
    once = laid(text)
    assert [comment.text for comment in parse_items(Source("t", once))[0].comments] == [f"# {number}" for number in range(12)]
    assert laid(once) == once


def test_D11_a_layout_that_would_change_something_is_not_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from tessera_rules.syntax import layout

    def forgetful(self: layout.Layout, number: int, token: layout.Token) -> None:
        if token.text != "emitted":
            original(self, number, token)
        else:
            self.line += "hand_tuned"

    original = layout.Layout._put
    monkeypatch.setattr(layout.Layout, "_put", forgetful)
    with pytest.raises(LayoutError, match="left alone"):
        laid("candidate c { tier emitted }")


def test_D11_a_lost_comment_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tessera_rules.syntax import layout

    monkeypatch.setattr(layout.Layout, "_comments", lambda *args, **named: None)
    with pytest.raises(LayoutError):
        laid("candidate c {\n  # one\n  tier emitted\n}")


@pytest.mark.parametrize("text", ["candidate c {", "predicate p = 01", "candidate c { teir x }", 'predicate p = "', "predicate p = a\n\u202e"])
def test_D19_a_broken_text_is_not_laid_out(text: str) -> None:
    with pytest.raises(RuleError) as caught:
        laid(text)
    assert caught.value.findings


def test_D1_the_files_own_line_ending_is_kept() -> None:
    text = "predicate p=a\npredicate q = b  # x\n"
    assert laid(text) == "predicate p = a\npredicate q = b  # x\n"
    assert laid(text.replace("\n", "\r\n")) == "predicate p = a\r\npredicate q = b  # x\r\n"
    assert format_text(Source("t", text), ending="\r\n", items=True).count("\r\n") == 2
    assert laid("predicate p = a\r\npredicate q = b\r\npredicate r = c\n").count("\r\n") == 3


def test_D2_the_byte_order_mark_is_dropped() -> None:
    assert format_text(Source("t", "predicate p = a\n", bom=True), items=True) == "predicate p = a\n"


@pytest.mark.parametrize("ending", ["", "\n", "\n\n\n"])
def test_D5_the_result_ends_with_one_newline(ending: str) -> None:
    assert laid("predicate p = a" + ending) == "predicate p = a\n"


def test_an_empty_text_stays_empty() -> None:
    assert laid("") == laid("\n\n") == ""
    assert laid("# only\n\n\n# comments") == "# only\n\n# comments\n"


def test_aliases_become_the_canonical_words() -> None:
    text = (
        "op x { operand a: [M] float32; operand b: [M] one of [half, int8]; dtype a in [fp16, bfloat16] }\n"
        "candidate c { computes float16; requires { dtype == half or dtype in [float32, f16]; act == half; bytes(int8) == 1\n"
        "dtype(a) == (fp16 if M == 1 else f32) }\n"
        "uses y(dtype = complex64) }\n"
        'test "t" { request x on z { dtype fp32  layout a { dtype int8 }  allow [bfloat16] } }\n'
    )
    found = laid(text)
    for word in ("float32", "fp16", "bfloat16", "int8", "float16", "complex64", "fp32"):
        assert word not in found
    assert "act == half" in found
    assert "dtype == f16 or dtype in [f32, f16]" in found
    assert "(f16 if M == 1 else f32)" in found


def test_a_loop_name_that_is_spelt_as_an_alias_stays() -> None:
    assert "dtype == half" in laid("for half in [f16] { candidate c_{half} { requires { dtype == half } } }")


def test_a_clause_that_begins_with_an_operator_word_is_parted_by_a_semicolon() -> None:
    text = "candidate c {\n  requires { M == 1; in == 2; over == 3 }\n}\n"
    once = laid(text)
    assert same_meaning(parse_items(Source("t", once))[0], parse_items(Source("t", text))[0])
    assert laid(once) == once


def test_short_blocks_stay_on_a_line_and_long_ones_break() -> None:
    settings = "  ".join(f"dimension_number_{number} 1" for number in range(8))
    assert laid(f'test "t" {{ request a on b {{ {settings} }} }}').count("\n") == 12
    assert laid('test "t" { request a on b { M 1\nN 2 } }') == 'test "t" {\n  request a on b { M 1  N 2 }\n}\n'


def test_a_test_still_means_its_clause_after_the_layout() -> None:
    from tessera_rules.syntax.literals import same_clause

    found = laid("candidate c { requires { K%16==0 } }")
    assert "K % 16 == 0" in found
    assert same_clause("K%16==0", "K % 16 == 0")
    assert not same_clause('a == "x  y"', 'a == "x y"')
    assert not same_clause("a in b", "ainb")
