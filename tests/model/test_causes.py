"""One cause, one finding: what could not be read is not reported missing by everybody who asks for it."""

from __future__ import annotations

import pytest

from tessera_rules.model.load import load

OPS = """tessera 1
op product {
  operand a: [M, K]
  operand b: [K, N]
  result [M, N]
  attr causal: bool = false
  dtype a
  reference python "no.such:product"
}
target box {
  fact arch: one of ["v1", "v2"]
}
candidate c {
  tier emitted
  target box
  op product
  requires { aligned(a, 16); N % 16 == 0; device.arch == "v1" }
  honours [causal]
  bind native "libx.so" symbol "f" (ptr a, ptr b, ptr out, i64 M, i64 N, i64 K, u8 causal)
       returns i32 { ok 0 }
}
rule r { op product  target box  when N > 4  deny c }
test "t" { request product on box { dtype f32  M 1  N 1  K 1  causal true }  device { arch "v1" }  expect c }
"""


def errors(text: str) -> list[tuple[str, int]]:
    found = load([], texts={"a.tsr": text}).findings
    return [(each.code, each.span.line) for each in found if each.severity == "error"]


def test_the_text_is_right_as_it_stands() -> None:
    assert errors(OPS) == []


@pytest.mark.parametrize(
    ("right", "wrong", "wanted"),
    [
        ("operand a: [M, K]", "operand a [M, K]", ("TSR001", 3)),
        ("operand a: [M, K]", "operandd a: [M, K]", ("TSR101", 3)),
        ("operand b: [K, N]", "operand b: [K N]", ("TSR001", 4)),
        ("operand b: [K, N]", "operand b: [K, N", ("TSR001", 5)),
        ("attr causal: bool", "attr causal bool", ("TSR001", 6)),
        ("fact arch: one of", "fcat arch: one of", ("TSR101", 11)),
        ("op product {\n  operand", "op {\n  operand", ("TSR001", 2)),
        ("op product {\n  operand", "opp product {\n  operand", ("TSR001", 2)),
        ("target box {", "target {", ("TSR001", 10)),
        ("candidate c {", "candidate {", ("TSR001", 13)),
        ("i64 M, i64 N", "i64 M i64 N", ("TSR001", 19)),
        ("u8 causal)", "u8 causal", ("TSR001", 20)),
        ("  honours [causal]", "  }\n  honours [causal]", ("TSR001", 19)),
        ("  dtype a\n", "  }\n  dtype a\n", ("TSR001", 8)),
        ("rule r { op product", "rule r { op produkt", ("TSR202", 22)),
        ("rule r { op product  target box", "rule r { op product  target bix", ("TSR203", 22)),
        ('device.arch == "v1" }', "dype == f32 }", ("TSR201", 17)),
        ('device.arch == "v1" }', "dype in [f32, f16] }", ("TSR201", 17)),
    ],
)
def test_D16_a_mistake_in_a_declaration_is_no_mistake_of_those_who_use_it(right: str, wrong: str, wanted: tuple[str, int]) -> None:
    assert right in OPS
    assert errors(OPS.replace(right, wrong)) == [wanted]


def test_D16_a_name_that_the_broken_op_never_had_is_still_reported() -> None:
    text = OPS.replace("operand b: [K, N]", "operand b: [K N]").replace("N % 16 == 0;", "Q % 16 == 0;")
    assert errors(text) == [("TSR001", 4), ("TSR201", 17)]


def test_D16_a_for_without_an_end_does_not_declare_the_rest_in_each_round() -> None:
    text = OPS.replace("candidate c {", "for s in [1, 2] {\n  predicate p_{s} = M == s\ncandidate c {", 1)
    found = errors(text)
    assert len(found) == 1, found
    assert found[0][0] in ("TSR002", "TSR021")


def test_D16_a_sum_over_many_lines_is_too_deep_and_nothing_else() -> None:
    text = OPS.replace("N % 16 == 0;", "N == (\n" + " +\n".join(["1"] * 1000) + ");")
    assert [code for code, _ in errors(text)] == ["TSR014"]


def test_D16_a_text_without_its_keyword_is_one_mistake() -> None:
    text = OPS.replace("deny c }", 'deny c\n  "why"\n}').replace("rule r { op", 'rule r {\n  "doc"\n  op')
    assert [code for code, _ in errors(text)] == ["TSR106"]


def test_a_circle_of_predicates_is_found_though_nobody_asks_for_them() -> None:
    text = OPS + "predicate p(x) = x == 1 and q\npredicate q = N == 1 or (p(2) if M == 1 else true)\npredicate r = p(1)\n"
    assert [code for code, _ in errors(text)] == ["TSR305"]
    assert [code for code, _ in errors(text.replace("N % 16 == 0;", "q;"))] == ["TSR305"]
    assert errors(OPS + "predicate M = N == 1\npredicate p(q) = q == 1\npredicate q = p(M)\n") == []
    assert [code for code, _ in errors(OPS + "predicate p = not p\n")] == ["TSR305"]


def test_D16_a_circle_that_is_asked_for_from_two_sides_is_one_mistake() -> None:
    text = OPS.replace("N % 16 == 0;", "q; p; ") + "predicate p = q\npredicate q = p\n"
    assert [code for code, _ in errors(text)] == ["TSR305"]


@pytest.mark.parametrize("clause", ["tile", "fits(M, 16)"])
def test_D16_what_a_missing_file_may_declare_is_not_missed(clause: str) -> None:
    text = OPS.replace("tessera 1\n", 'tessera 1\nuse "predicates.tsr"\n').replace("N % 16 == 0;", f"{clause};")
    assert [code for code, _ in errors(text)] == ["TSR302"]


@pytest.mark.parametrize("line", ["use ops.tsr", "use", 'use "ops.tsr', 'use "ops.tsr" as x'])
def test_D16_a_use_that_cannot_be_read_leaves_its_names_unmissed(line: str) -> None:
    rest = OPS[OPS.index("target box") :]
    assert [(code, at) for code, at in errors(f"tessera 1\n{line}\n{rest}") if not code.startswith("TSR2")] == errors(f"tessera 1\n{line}\n{rest}")
    assert len(errors(f"tessera 1\n{line}\n{rest}")) == 1
