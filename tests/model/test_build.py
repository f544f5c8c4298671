"""Declarations as a whole: fields, families, bindings, rules, tests."""

from __future__ import annotations

import pytest

from tessera_rules.model.values import NativeBinding
from tests.model.rules_text import OPS, built, candidate, codes


def test_T18_families_follow_what_is_declared_wherever() -> None:
    text = """for t in targets with op fft {
  candidate {t}_conv { tier synthesized; target {t}; op matmul; bind python "no.such.module:conv_{t}" }
}
candidate gpu_fft { tier emitted; target gpu; op fft; bind python "no.such.module:fft" }
"""
    assert "gpu_conv" in built(text).ruleset.candidates
    later = text + 'candidate cpu_fft { tier emitted; target cpu; op fft; bind python "no.such.module:fft" }\n'
    loaded = built(later)
    assert loaded.findings == ()
    assert {"gpu_conv", "cpu_conv"} <= set(loaded.ruleset.candidates)


def test_families_of_families_reach_their_end() -> None:
    text = """for t in targets with op matmul { candidate {t}_b { tier emitted; target {t}; op softmax; bind python "no.such.module:b" } }
for t in targets with op fft { candidate {t}_a { tier emitted; target {t}; op matmul; bind python "no.such.module:a" } }
candidate cpu_fft { tier emitted; target cpu; op fft; bind python "no.such.module:fft" }
op softmax { operand x: [M, N]; result [M, N]; dtype x; reference python "no.such.module:s" }
"""
    assert set(built(text).ruleset.candidates) == {"cpu_b", "cpu_a", "cpu_fft"}


def test_a_family_member_knows_its_values() -> None:
    text = """for (s, step) in [(f16, 16), (bf16, 32)] {
  candidate mma_{s} {
    "member {s} of {{two}}"
    tier emitted; target gpu; op matmul
    computes s
    requires { dtype == s; K % step == 0 because "step {step}" }
    bind python "no.such.module:mma_{s}" with (mt = step)
  }
}
"""
    loaded = built(text)
    assert loaded.findings == ()
    member = loaded.ruleset.candidates["mma_bf16"]
    assert member.doc == "member bf16 of {two}"
    assert member.computes == "bf16"
    assert member.requires[1].loops == {"step": 32}
    assert member.requires[1].because == "step 32"
    assert member.bind.path == "no.such.module:mma_bf16"  # type: ignore[union-attr]
    assert member.bind.constants == {"mt": 32}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("candidate c { tier emitted; target gpu; op matmul }", ["TSR102"]),
        ('candidate c { tier emited; target gpu; op matmul; bind python "no.x:f" }', ["TSR104"]),
        ('candidate c { tier emitted; target gpo; op matmul; bind python "no.x:f" }', ["TSR203"]),
        ('candidate c { tier emitted; target gpu; op matmull; bind python "no.x:f" }', ["TSR202"]),
        ('candidate c { tier emitted; tier emitted; target gpu; op matmul; bind python "no.x:f" }', ["TSR103"]),
        ('candidate reference { tier emitted; target gpu; op matmul; bind python "no.x:f" }', ["TSR306"]),
        ('candidate c { tier emitted; target gpu; op matmul; bind python "nocolon" }', ["TSR105"]),
        ('candidate c { tier emitted; target gpu; op matmul; honours [actt]; bind python "no.x:f" }', ["TSR205"]),
        ('candidate c { tier emitted; target gpu; op matmul; honours [a]; bind python "no.x:f" }', ["TSR205"]),
        ('candidate c { tier emitted; target gpu; op matmul; computes f61; bind python "no.x:f" }', ["TSR206"]),
        ('candidate c { tier emitted; target gpu; op matmul; packs q python "no.x:f"; bind python "no.x:f" }', ["TSR205"]),
        ('candidate c { tier emitted; target gpu; op matmul; bind python "json:laods" }', ["TSR215"]),
        ('candidate c { tier emitted; target gpu; op matmul; guard { all_finite(a) } else d; bind python "no.x:f" }', ["TSR204"]),
        ('for s in [f16] { candidate c_{x} { tier emitted; target gpu; op matmul; bind python "no.x:f" } }', ["TSR216"]),
        ('for (s, t) in [f16] { candidate c_{s} { tier emitted; target gpu; op matmul; bind python "no.x:f" } }', ["TSR311"]),
        ("rule r { op matmul; deny nobody }", ["TSR204"]),
        ("rule r { op matmul; deny tier hand_tuned }", ["TSR322"]),
        ('rule r { op matmul; deny "x*" }', ["TSR322"]),
        ("policy { order tier, speed }", ["TSR104"]),
        ("policy { on_none crash }", ["TSR104"]),
        ("policy { on_none error }\npolicy { on_none error }", ["TSR301"]),
        ('test "t" { request matmul on gpu { Q 1 }; expect reference }', ["TSR318"]),
        ('test "t" { request matmul on gpu { M 1 }; expect nobody }', ["TSR204"]),
        ('test "t" { request matmul on gpu { M 1 }; device { arhc "g1" }; expect reference }', ["TSR212"]),
        ("op o { operand x: [M]; result [Q]; dtype x }", ["TSR201"]),
        ("op o { operand x: [x]; result [1]; dtype x }", ["TSR310"]),
        ("op o { operand x: [M]; dim Q in 1..; result [M]; dtype x }", ["TSR316"]),
        ("op o { operand dtype: [M]; operand x: [M]; result [M]; dtype x }", ["TSR306"]),
        ("op o { operand x: [M] one of [f16, f32]; result [M]; dtype x in [f16] }", ["TSR316"]),
        ("op o { operand x: [M]; result [M]; attr k: int = red; dtype x }", ["TSR207"]),
        ("op o { operand x: [M]; result c; dtype x }", ["TSR316"]),
    ],
)
def test_a_mistake_in_a_declaration_is_one_finding(text: str, expected: list[str]) -> None:
    assert [code for code, _ in codes(text)] == expected


def test_D14_two_equal_names_show_both_places() -> None:
    (finding,) = built(candidate() + candidate()).findings
    assert (finding.code, finding.span.line, finding.related[0].span.line) == ("TSR301", 10, 1)


def test_a_family_whose_name_does_not_vary_says_how_to_mend_it() -> None:
    (finding,) = built('for s in [f16, bf16] { candidate c { tier emitted; target gpu; op matmul; bind python "no.x:f" } }').findings
    assert finding.code == "TSR301"
    assert "{s}" in (finding.hint or "")


def native(arguments: str) -> str:
    return candidate(bind=f'bind native "libx.so" symbol "f" ({arguments}) returns i32 {{ ok 0  decline 2 }}')


def test_a_native_binding_implies_what_it_takes_for_granted() -> None:
    loaded = built(native("ptr a, ptr b, ptr? bias, ptr out, i32 M, i64 N, i64 K, i64 lda = stride(a, 0), f32 alpha"))
    assert loaded.findings == ()
    found = loaded.ruleset.candidates["c"]
    assert [clause.text for clause in found.implied] == ["stride(a, 1) == 1", "contiguous(b)", "contiguous(bias)", "M <= 2147483647"]
    assert {"bias", "alpha"} <= found.named
    assert "act" not in found.named
    assert isinstance(found.bind, NativeBinding)
    assert [argument.kind for argument in found.bind.arguments] == ["operand", "operand", "operand", "out", "dim", "dim", "dim", "value", "attr"]


def test_a_constant_named_like_an_attribute_does_not_honour_it() -> None:
    assert "alpha" not in built(native("ptr a, ptr b, ptr out, f32 alpha = 1.0")).ruleset.candidates["c"].named


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("ptr a, ptr q", "TSR213"),
        ("i64 a", "TSR214"),
        ("ptr M", "TSR214"),
        ("ptr bias", "TSR214"),
        ("ptr? a", "TSR214"),
        ("f32 act", "TSR214"),
        ("i64 window", "TSR214"),
        ("ptr? epilogue", "TSR214"),
        ("int M", "TSR214"),
        ("i64 x = nothing", "TSR201"),
        ('char order = "rr"', "TSR214"),
    ],
)
def test_native_arguments_are_held_to_the_op(arguments: str, code: str) -> None:
    assert [found for found, _ in codes(native(arguments))] == [code]


def test_a_rule_resolves_its_condition_for_each_op_it_is_about() -> None:
    text = candidate(name="c") + candidate(name="d", op="fft") + "rule r { when M > 4; deny c, d }\n"
    (finding,) = built(text).findings
    assert finding.code == "TSR201"
    assert "`op`" in (finding.hint or "")
    loaded = built(candidate(name="c") + "rule r { op matmul; when M > 4; deny c }\n")
    assert set(loaded.ruleset.rules[0].conditions) == {("matmul", "gpu")}


def test_prefer_takes_the_left_out_of_the_right() -> None:
    text = candidate(name="c") + candidate(name="d") + "rule r { op matmul; prefer c over tier emitted }\n"
    (action,) = built(text).ruleset.rules[0].actions
    assert (action.candidates, action.over) == ({"c"}, {"d"})
    assert [code for code, _ in codes(candidate(name="c") + "rule r { op matmul; prefer c over c }\n")] == ["TSR308"]
    # A right side that nobody is in to begin with is the same mistake, said once; beside somebody it is doubtful only.
    assert [code for code, _ in codes(candidate(name="c") + "rule r { op matmul; prefer c over tier hand_tuned }\n")] == ["TSR308"]
    assert [code for code, _ in codes(candidate(name="c") + candidate(name="d") + "rule r { op matmul; prefer c over d, tier hand_tuned }\n")] == ["TSR322"]


def test_a_test_has_a_request_for_each_round() -> None:
    text = candidate() + 'test "t" {\n  for M in 8..24 step 8\n  request matmul on gpu { M M  N 1  dtype float16 }\n  expect c\n}\n'
    (test,) = built(text).ruleset.tests
    assert [request.words["M"] for request in test.requests] == [8, 16, 24]
    assert test.requests[0].words["dtype"] == "f16"
    assert test.requests[0].loops == {"M": 8}


def test_ops_derived_from_each_other_in_a_circle() -> None:
    text = candidate(name="c", extra="uses fft(B = M, n = K, dtype = c64)") + candidate(name="d", op="fft", extra="uses matmul(M = B, N = n, K = n)")
    assert [code for code, _ in codes(text)] == ["TSR309"]


def test_every_op_of_the_text_is_understood() -> None:
    loaded = built("")
    assert loaded.findings == ()
    op = loaded.ruleset.ops["matmul"]
    assert list(op.dims) == ["M", "K", "N"]
    assert op.attrs["window"].default is None
    assert op.attrs["out_dtype"].default == "f32"
    assert op.dtypes == ("f64", "f32", "f16", "bf16")
    assert "epilogue" in OPS


def test_D16_what_was_made_of_half_a_line_is_not_reported_beside_its_syntax_error() -> None:
    assert [code for code, _ in codes(candidate("    M % 16 = 0"))] == [code for code, _ in codes(candidate("    M % 16 = 0")) if code.startswith("TSR0")]
    assert len(codes(candidate("    M % 16 = 0"))) == 1


def test_a_family_over_the_targets_of_an_op_that_is_not_declared_is_an_error() -> None:
    text = 'for t in targets with op %s {\n  candidate c_{t} { tier emitted; target t; op matmul; bind python "no.x:f" }\n}\n'
    assert [code for code, _ in codes(text.replace("%s", "matmull"))] == ["TSR202"]
    assert codes(text.replace("%s", "matmul")) == []
    inner = "for o in [matmul, fft] {\n" + text.replace("%s", "o").replace("c_{t}", "c_{o}_{t}") + "}\n"
    assert codes(inner) == []


@pytest.mark.parametrize(
    ("result", "arguments", "right"),
    [
        ("result [M]", "ptr x, ptr out", True),
        ("inout c: [M]; result c", "ptr x, ptr c", True),
        ("inout c: [M]; result c", "ptr x, ptr out", False),
        ("result y: [M]", "ptr x, ptr y", True),
        ("result y: [M]", "ptr x, ptr out", True),
        ("result [M]; result y: [M]", "ptr x, ptr out, ptr y", True),
        ("result y: [M]; result z: [M]", "ptr x, ptr out", False),
    ],
)
def test_a_native_binding_has_out_only_where_a_result_is_its_own(result: str, arguments: str, right: bool) -> None:
    op = f'op o {{ operand x: [M]; {result}; dtype x; reference python "no.x:f" }}\n'
    text = op + f'candidate c {{ tier emitted; target gpu; op o; bind native "libx.so" symbol "f" ({arguments}) returns i32 {{ ok 0 }} }}\n'
    assert [code for code, _ in codes(text)] == ([] if right else ["TSR213"])


@pytest.mark.parametrize(("statuses", "wanted"), [("ok 0  decline 2", []), ("ok 0  declined 2", ["TSR105"]), ("ok 0  no_memory 3", [])])
def test_a_status_that_is_nearly_decline_is_a_slip(statuses: str, wanted: list[str]) -> None:
    bind = 'bind native "libx.so" symbol "f" (ptr a, ptr b, ptr out, i64 M, i64 N, i64 K) returns i32 { %s }'.replace("%s", statuses)
    assert [code for code, _ in codes(f"candidate c {{ tier emitted; target gpu; op matmul; {bind} }}\n")] == wanted


def test_a_policy_has_no_name_to_be_called_by() -> None:
    loaded = built("policy { on_none error }\npolicy { on_none error }\n")
    assert [finding.message for finding in loaded.findings] == ["policy is declared twice"]


def test_a_reason_outside_a_family_keeps_its_braces() -> None:
    made = built(candidate('M == 1 because "a {tile} {{is}} full"'))
    assert made.findings == ()
    assert made.ruleset.candidates["c"].requires[0].because == "a {tile} {{is}} full"


@pytest.mark.parametrize(
    ("launch", "wanted"),
    [
        ("grid [M]  block [128]", []),
        ("grid [M, N, K]  block [1, 2, 3]  shared 48Ki", []),
        ("grid [M, N, K, 1]  block [128]", ["TSR105"]),
        ("grid []  block [128]", ["TSR105"]),
        ("grid [M]", ["TSR105"]),
    ],
)
def test_a_launch_has_a_grid_and_a_block_of_one_to_three_sizes(launch: str, wanted: list[str]) -> None:
    bind = 'bind source "k.cu" compiler "nvrtc" symbol "k" (ptr a, ptr b, ptr out, i64 M, i64 N, i64 K) launch { %s }'.replace("%s", launch)
    assert [code for code, _ in codes(f"candidate c {{ tier emitted; target gpu; op matmul; {bind} }}\n")] == wanted
