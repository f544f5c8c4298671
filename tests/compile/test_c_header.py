"""C headers: they compile without a warning, nothing in them ends a comment or a literal early, and they never wrap."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tessera_rules.compile import c_text
from tessera_rules.errors import OperandError, UsageError
from tessera_rules.header import header
from tessera_rules.session import Arbiter, load
from tests.property.agreement import FLAGS, arbiter_of

HOSTILE = ["*/ int x; /*", "a\\n#include <x>", 'say \\"no\\"', "what??/", "??/", "ends with \\\\", "\\u{1F600} é", "%s%n", "//", "'", "x" * 5000]


def run(folder: Path, main: str, *headers: str, flags: tuple[str, ...] = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover")) -> str:
    source, program = folder / "main.c", folder / "main"
    source.write_text("\n".join(["#include <stdio.h>", *headers, "int main(void) {", main, "    return 0;", "}", ""]), encoding="ascii")
    done = subprocess.run(
        ["gcc", *FLAGS, "-Wshadow", "-Wconversion", *flags, "-o", str(program), str(source), "-lm"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    ran = subprocess.run([str(program)], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr[:2000]
    return ran.stdout.decode("utf-8")


def written(arbiter: Arbiter, op: str = "f", target: str = "t", name: str | None = None, **words: str) -> str:
    return header(arbiter.ruleset, arbiter.machine, op, target, words, name=name).text


OP = """tessera 1
target t {
  fact cores: int
}
op f {
  operand a: [M, K]
  operand int: [K, for]
  result [M, for]
  dim K in 1..
  attr s: string = "x"
  dtype a in [f32, f16]
  check M % 3 != 2 because "BECAUSE"
  reference python "no_such_package:f"
}
"""


def text(*candidates: str, more: str = "") -> str:
    return (
        OP
        + "".join(f'candidate c{n} {{ tier emitted; target t; op f; {body}\n  bind python "no_such_package:c" }}\n' for n, body in enumerate(candidates))
        + more
    )


def test_hostile_strings_end_neither_comments_nor_literals(tmp_path: Path) -> None:
    bodies = [f'requires {{ s != "{hostile}" or M > 2 because "{hostile}" }}' for hostile in HOSTILE]
    denying = [f'rule r{n} {{ op f  target t  when s == "{hostile}" and M == 1  deny c1  because "{hostile}" }}\n' for n, hostile in enumerate(HOSTILE)]
    arbiter = arbiter_of(text(*bodies, more="".join(denying)))
    made = written(arbiter, dtype="f32", s="a*/b")
    main = "    int i; for (i = 0; i < tsr_f_t_f32_why_COUNT; i++) { const char *c = tsr_f_t_f32_reason(i)->clause; if (c) puts(c); }"
    told = run(tmp_path, main, made)
    clauses = [clause.text for candidate in arbiter.ruleset.candidates.values() for clause in candidate.requires]
    clauses += [clause.text for rule in arbiter.ruleset.rules for clause in rule.conditions.values()]
    assert len(clauses) == 2 * len(HOSTILE)
    for clause in clauses:
        assert (clause if len(clause) <= c_text.LONGEST else clause[: c_text.LONGEST - 1] + "…") in told


def test_dimensions_may_have_the_names_of_c_keywords(tmp_path: Path) -> None:
    made = written(arbiter_of(text("requires { for > 3 and M // 2 >= 1 }", "")), dtype="f32")
    main = '    printf("%d %d %d %d", tsr_f_t_f32_winner(3, 1, 4), tsr_f_t_f32_winner(3, 1, 2), tsr_f_t_f32_winner(2, 1, 4), tsr_f_t_f32_winner(0, 1, 1));'
    assert run(tmp_path, main, made) == "0 1 -3 -1"


OVERFLOWING = "requires { M * K * for <= 4294967296 }", "requires { K % (for - 3) == 1 }", ""


@pytest.mark.parametrize("flags", [("-O2",), ("-O2", "-DTSR_PORTABLE"), ("-O0", "-fsanitize=undefined", "-fno-sanitize-recover", "-DTSR_PORTABLE")])
def test_what_does_not_fit_in_64_bits_is_said_and_never_wraps(flags: tuple[str, ...], tmp_path: Path) -> None:
    made = written(arbiter_of(text(*OVERFLOWING)), dtype="f16")
    asked = ["3, 1, 4", "4294967296, 4294967296, 4294967296", "9223372036854775807, 9223372036854775807, 3", "4294967295, 4294967295, 1", "-1, 1, 1", "1, 0, 1"]
    main = "\n".join(f'    printf("%d ", tsr_f_t_f16_winner({sizes}));' for sizes in asked)
    assert run(tmp_path, main, made, flags=flags).split() == ["0", "-4", "-4", "-4", "-3", "-3"]


def test_reasons_are_numbered_and_named(tmp_path: Path) -> None:
    made = written(arbiter_of(text("requires { K % (for - 3) == 1 }", "requires { M < 10 }", "")), dtype="f32")
    main = """    int why[3], i;
    tsr_f_t_f32_reasons(12, 5, 3, why);
    for (i = 0; i < 3; i++) {
        const struct tsr_f_t_f32_reason_text *r = tsr_f_t_f32_reason(why[i]);
        printf("%s %s %s;", r->verdict, r->code, r->clause ? r->clause : "-");
    }
    printf("%s", tsr_f_t_f32_name(2));"""
    assert run(tmp_path, main, made) == "error error K % (for - 3) == 1;refused requires M < 10;selected only -;c2"


def test_headers_of_the_rules_that_ship_check_themselves_side_by_side(tmp_path: Path) -> None:
    arbiter = load()
    asked = [("matmul", "nvidia", "f16"), ("attention", "rocm", "f16"), ("matmul", "x86", "f32"), ("softmax", "x86", "f32")]
    made, main = [], []
    for op, target, dtype in asked:
        assumed = None if target != "x86" else frozenset[str]()
        one = header(arbiter.ruleset, arbiter.machine, op, target, {"dtype": dtype}, assumed=assumed)
        assert one.open == ()
        made.append(one.text)
        main.append(f'    printf("%d ", tsr_{op}_{target}_{dtype}_check());')
    assert run(tmp_path, "\n".join(main), *made).split() == ["0"] * len(asked)
    broken = made[0].replace("return 0;\n    }", "return 1;\n    }").replace("return 0; }", "return 1; }")
    assert broken != made[0]
    assert int(run(tmp_path, main[0], broken)) > 0


def test_what_is_open_is_said(tmp_path: Path) -> None:
    arbiter = arbiter_of(text("requires { dtype == f32 }", ""))
    one = header(arbiter.ruleset, arbiter.machine, "f", "t", {}, name="half")
    assert len(one.open) == 1
    assert "dtype == f32" in one.open[0]
    assert run(tmp_path, '    printf("%d %d", half_winner(3, 1, 1), half_check());', one.text) == "-2 0"


def test_a_dimension_or_a_bad_name_is_the_callers_mistake() -> None:
    arbiter = arbiter_of(text(""))
    with pytest.raises(UsageError, match="M is a dimension"):
        header(arbiter.ruleset, arbiter.machine, "f", "t", {"M": "3"})
    with pytest.raises(UsageError, match="no name for C"):
        header(arbiter.ruleset, arbiter.machine, "f", "t", {}, name="a b")
    with pytest.raises(OperandError):
        header(arbiter.ruleset, arbiter.machine, "f", "t", {"dtype": "f64"})


def test_two_headers_of_one_rule_file_go_into_one_program(tmp_path: Path) -> None:
    arbiter = arbiter_of(text("requires { dtype == f32 }", ""))
    made = [written(arbiter, dtype="f32"), written(arbiter, dtype="f16"), written(arbiter, name="mine", dtype="f32")]
    main = '    printf("%d %d %d", tsr_f_t_f32_winner(3, 1, 1), tsr_f_t_f16_winner(3, 1, 1), mine_winner(3, 1, 1));'
    assert run(tmp_path, main, *made) == "0 1 0"
