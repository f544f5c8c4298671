"""Names, types and places of expressions."""

from __future__ import annotations

import pytest

from tessera_rules.model.load import load
from tessera_rules.model.terms import Apply, Const, Fact, reads
from tests.model.rules_text import built, candidate, codes


def clause(text: str, **more: str) -> object:
    loaded = built(candidate(text, **more))
    assert loaded.findings == ()
    (found,) = loaded.ruleset.candidates["c"].requires
    return found.term


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("M % 16 == 0 and K <= N", {"dim:M", "dim:K", "dim:N"}),
        ("dtype == f16", {"dtype"}),
        ("act in [relu, gelu]", {"attr:act"}),
        ("bias in epilogue", {"attr:epilogue"}),
        ("epilogue[0] == relu", {"attr:epilogue"}),
        ("epilogue like [bias?, (relu | gelu)*]", {"attr:epilogue"}),
        ("given(bias)", {"given:bias"}),
        ("given(window)", {"attr:window"}),
        ("aligned(a, 16) and contiguous(b)", {"align:a", "contiguous:b"}),
        ("stride(a, -1) == 1", {"stride:a:1"}),
        ("nbytes(a) <= 64Ki", {"dim:M", "dim:K", "dtype"}),
        ('device.arch in ["g1"]', {"device:arch"}),
        ('device.driver >= version("1.2")', {"device:driver"}),
        ("out_dtype == f16", {"attr:out_dtype"}),
        ("threads <= 4", {"threads"}),
        ("max_offset(a) < 2Gi and not broadcast(b)", {"max_offset:a", "broadcast:b"}),
        ("rank(a) == 2", set()),
        ("window == null or window <= 64", {"attr:window"}),
    ],
)
def test_a_clause_knows_what_it_reads(text: str, keys: set[str]) -> None:
    assert reads(clause(text)) == keys  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("KK % 16 == 0", "TSR201"),
        ("a == 3", "TSR207"),
        ("act == relo", "TSR206"),
        ("dtype == f61", "TSR206"),
        ("M", "TSR208"),
        ("M and true", "TSR208"),
        ('M == "16"', "TSR207"),
        ("dtype == 16", "TSR207"),
        ('device.driver >= "1.2"', "TSR207"),
        ("M == null", "TSR218"),
        ("M % 0 == 0", "TSR304"),
        ("M // (3 - 3) == 0", "TSR304"),
        ("M / 2 == 1", "TSR211"),
        ("amax(a) < 1", "TSR211"),
        ('library("x")', "TSR211"),
        ("frobnicate(M)", "TSR210"),
        ("ceil_div(M) == 1", "TSR209"),
        ("aligned(M, 16)", "TSR209"),
        ("aligned(a, 24)", "TSR209"),
        ("stride(a, 2) == 1", "TSR209"),
        ("given(a)", "TSR209"),
        ("bytes(a) == 2", "TSR207"),
        ('device.arhc == "g1"', "TSR212"),
        ("M in 16..8", "TSR315"),
        ("M in 8..16 step 0", "TSR315"),
        ("act < relu", "TSR207"),
        ("epilogue like [bias, rleu]", "TSR206"),
        ("M like [bias]", "TSR207"),
        ('device.arch >= "g1"', "TSR511"),
        ("device.sm >= 90", "TSR511"),
        ("(M if fast else dtype) == 1", "TSR207"),
    ],
)
def test_a_mistake_is_one_finding_at_its_line(text: str, code: str) -> None:
    assert codes(candidate(text)) == [(code, 5)]


def test_a_misspelt_name_names_the_nearest() -> None:
    (finding,) = built(candidate("head % 2 == 0\n    alhpa == 1.0")).findings[:1]
    assert "head" in finding.message
    found = built(candidate("alhpa == 1.0")).findings
    assert "'alpha'" in (found[0].hint or "")


def test_a_word_of_the_type_comes_before_a_dimension_of_that_name() -> None:
    ops = (
        'op o {\n  operand x: [relu]; result [relu]; attr act: one of [none, relu] = none; dtype x\n  reference python "no.such.module:o"\n}\ntarget gpu { }\n'
    )
    loaded = built(candidate("act == relu and relu == act and relu > 4", op="o"), ops)
    assert loaded.findings == ()
    term = loaded.ruleset.candidates["c"].requires[0].term
    assert isinstance(term, Apply)
    first, second, third = term.args
    assert isinstance(first, Apply)
    assert isinstance(first.args[1], Const)
    assert isinstance(second, Apply)
    assert isinstance(second.args[0], Const)
    assert isinstance(third, Apply)
    assert isinstance(third.args[0], Fact)


def test_predicates_stand_in_place_of_their_names_and_may_come_later() -> None:
    text = candidate("fits(M, 64) and tile") + "predicate tile = K % 16 == 0\npredicate fits(rows, limit) = rows * N <= limit\n"
    loaded = built(text)
    assert loaded.findings == ()
    assert loaded.ruleset.candidates["c"].requires[0].reads == {"dim:M", "dim:N", "dim:K"}


def test_a_predicate_takes_operands() -> None:
    loaded = built(candidate("rows(a) and rows(b)") + "predicate rows(x) = stride(x, 1) == 1 and wide(x)\npredicate wide(y) = aligned(y, 16)\n")
    assert loaded.findings == ()
    assert loaded.ruleset.candidates["c"].requires[0].reads == {"stride:a:1", "align:a", "stride:b:1", "align:b"}
    assert codes(candidate("p(a)") + "predicate p(x) = x == 1\n") == [("TSR207", 10)]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("predicate p = q\npredicate q = p\n", "TSR305"),
        ("predicate p = M\n", "TSR208"),
        ("predicate p(x) = x == 1\n", "TSR209"),
        ("predicate p = Q == 1\n", "TSR201"),
    ],
)
def test_predicates_are_checked_where_they_are_used(more: str, code: str) -> None:
    assert [found for found, _ in codes(candidate("p") + more)] == [code]


def test_a_doubling_chain_of_predicates_is_too_large_and_not_a_hang() -> None:
    chain = "predicate p0 = M == 1\n" + "".join(f"predicate p{i} = p{i - 1} and p{i - 1}\n" for i in range(1, 40))
    assert [code for code, _ in codes(candidate("p39") + chain)] == ["TSR314"]


def test_a_long_chain_of_predicates_is_refused_and_does_not_recurse_away() -> None:
    chain = "predicate p0 = M == 1\n" + "".join(f"predicate p{i} = not p{i - 1}\n" for i in range(1, 2000))
    assert [code for code, _ in codes(candidate("p1999") + chain)] == ["TSR314"]


def test_available_sees_the_machine_and_not_the_request() -> None:
    assert codes(candidate(extra="available { M == 1 }")) == [("TSR211", 7)]
    loaded = built(candidate(extra='available { os in [linux]; library("libx.so"); env("A") != "1"; symbol("libx.so", "f"); python("torch>=2"); cpu("avx2") }'))
    assert loaded.findings == ()
    assert [sorted(clause.reads)[0] for clause in loaded.ruleset.candidates["c"].available] == [
        "os",
        "probe:library:libx.so",
        "probe:env:A",
        "probe:symbol:libx.so:f",
        "probe:python:torch>=2",
        "probe:cpu:avx2",
    ]


def test_smoke_needs_no_size_of_an_operand_that_is_not_given() -> None:
    op = 'tessera 1\nop z { operand a: [M]; operand tab?: [P]; result [M]; dtype a; reference python "no.x:z" }\ntarget cpu { fact n: int }\n'
    text = 'candidate c { tier emitted; target cpu; op z; honours [tab]; available { %s }; bind python "no.x:c" }\n'
    for probe, wanted in (("smoke(M=4, dtype=f32)", []), ("smoke(M=4, dtype=f32, given=[tab])", ["TSR313"]), ("smoke(M=4, P=2, dtype=f32, given=[tab])", [])):
        found = load([], texts={"a.tsr": op + text.replace("%s", probe)}).findings
        assert [each.code for each in found if each.severity == "error"] == wanted, probe


def test_smoke_states_a_whole_request() -> None:
    assert codes(candidate(extra="available { smoke(M=16, N=16, K=16, epilogue=[bias], given=[bias]) }")) == []
    assert codes(candidate(extra="available { smoke(M=16, N=16) }")) == [("TSR313", 7)]
    assert codes(candidate(extra="available { smoke(M=16, N=16, K=16, Q=1) }")) == [("TSR313", 7)]
