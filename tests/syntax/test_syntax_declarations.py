"""Every declaration and field of the language."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera_rules.source import Source
from tessera_rules.syntax import nodes, parse
from tests.syntax.texts import EXAMPLES, clauses, example, items


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_of_the_reference_parses(path: Path) -> None:
    file, findings = parse(Source(path.name, path.read_text(encoding="utf-8")))
    assert findings == ()
    assert file.edition == 1
    assert file.items or file.uses
    assert not any(item.damaged for item in file.items)


def _fields(name: str, text: str | None = None) -> dict[str, list[nodes.Field]]:
    found: dict[str, list[nodes.Field]] = {}
    for item in parse(Source(name, example(name) if text is None else text))[0].items:
        for field in item.fields if isinstance(item, nodes.Declaration) else ():
            found.setdefault(field.keyword, []).append(field)
    return found


def test_uses_keep_their_order() -> None:
    file, _ = parse(Source("t.tsr", example("file")))
    assert [use.path.value for use in file.uses] == ["ops.tsr", "std/ops.tsr", "pkg:mykernels/gemm.tsr"]


def test_operands_results_attributes_of_an_op() -> None:
    fields = _fields("op")
    optional = [field for field in fields["operand"] if isinstance(field, nodes.OperandField) and field.optional]
    assert [field.name.text for field in optional] == ["mask"]
    table = fields["operand"][3]
    assert isinstance(table, nodes.OperandField)
    assert table.dtype is not None
    assert table.dtype.name is not None
    assert table.dtype.name.text == "i32"
    (dim,) = fields["dim"]
    assert isinstance(dim, nodes.DimField)
    assert dim.range == nodes.RangeExpr(nodes.IntLit(1, span=dim.span), nodes.IntLit(1024, span=dim.span), span=dim.span)
    scale = fields["attr"][1]
    assert isinstance(scale, nodes.AttrField)
    assert scale.type.kind == "float"
    assert scale.type.nullable
    assert scale.default is None
    epilogue = fields["attr"][3]
    assert isinstance(epilogue, nodes.AttrField)
    assert epilogue.type.kind == "list of"
    assert epilogue.type.words is not None
    assert len(epilogue.type.words) == 6
    (check,) = fields["check"]
    assert isinstance(check, nodes.ClausesField)
    assert check.clauses[0].text == "Hq % Hkv == 0"
    assert check.clauses[0].because is not None
    assert check.clauses[0].because.value.startswith("query heads")
    (doc,) = fields["doc"]
    assert isinstance(doc, nodes.DocField)
    assert doc.value.value.startswith("softmax(q·kᵀ")


def test_results_of_every_kind() -> None:
    results = [field for field in _fields("prose")["result"] if isinstance(field, nodes.ResultField)]
    assert [(each.name.text if each.name else None, each.shape is not None) for each in results] == [("c", False), ("lse", True), (None, True), (None, True)]
    assert results[3].dtype is not None
    assert results[3].dtype.attribute is not None
    assert results[3].dtype.attribute.text == "out"


def test_an_open_dim_range_has_no_high_end() -> None:
    dims = [field for field in _fields("prose")["dim"] if isinstance(field, nodes.DimField)]
    assert dims[0].range.high is None
    assert isinstance(dims[1].range.step, nodes.IntLit)


def test_a_candidate_keeps_its_blocks_apart() -> None:
    fields = _fields("candidate")
    (guard,) = fields["guard"]
    assert isinstance(guard, nodes.ClausesField)
    assert guard.otherwise is not None
    assert guard.otherwise.text == "rocm_generic_hip"
    (requires,) = fields["requires"]
    assert isinstance(requires, nodes.ClausesField)
    assert [clause.text for clause in requires.clauses] == ["dtype == f16", "head_dim % 16 == 0 and head_dim <= 256", "aligned(q, 16)"]
    (accuracy,) = fields["accuracy"]
    assert isinstance(accuracy, nodes.AccuracyField)
    assert [part.keyword for part in accuracy.parts] == ["atol", "rtol"]


def test_bindings_of_every_language() -> None:
    binds = [field for field in _fields("bindings")["bind"] if isinstance(field, nodes.BindField)]
    assert [bind.language for bind in binds] == ["python", "native", "python", "source", "source"]
    native = binds[1]
    assert native.arguments is not None
    shown = [(each.ctype, each.nullable, each.name.text, each.value is not None) for each in native.arguments]
    assert shown[2] == ("ptr", True, "bias", False)
    assert shown[7] == ("i64", False, "lda", True)
    assert native.returns is not None
    assert [(each.name.text, each.value) for each in native.statuses] == [
        ("ok", nodes.IntLit(0, span=native.span)),
        ("decline", nodes.IntLit(2, span=native.span)),
    ]
    assert [name.text for name, _ in binds[2].constants] == ["mt", "nt"]
    assert binds[3].compiler is not None
    assert [flag.value for flag in binds[3].flags] == ["-O3", "-march=native"]
    assert binds[4].launch is not None
    assert binds[4].launch.grid is not None
    assert binds[4].launch.shared is not None


def test_families_keep_their_parts() -> None:
    first, second = parse(Source("t.tsr", example("for")))[0].items
    assert isinstance(first, nodes.For)
    assert [name.text for name in first.names] == ["s", "step", "tol"]
    assert isinstance(first.source, nodes.ListExpr)
    assert isinstance(first.source.items[0], nodes.TupleExpr)
    assert isinstance(first.body[0], nodes.Declaration)
    assert first.body[0].name.text == "nvidia_mma_fused_{s}"
    assert isinstance(second, nodes.For)
    assert isinstance(second.source, nodes.TargetsWithOp)
    assert second.source.op.text == "fft"
    inner = second.body[0]
    assert isinstance(inner, nodes.Declaration)
    assert inner.name.text == "{t}_rfft"
    assert [field.keyword for field in inner.fields] == ["tier", "target", "op", "uses", "bind"]


def test_a_rule_on_one_line() -> None:
    (rule,) = items("rule pin { op matmul  when M * N * K <= 32Ki  force x86_generic_c }").items
    assert isinstance(rule, nodes.Declaration)
    assert [field.keyword for field in rule.fields] == ["op", "when", "force"]
    when = rule.fields[1]
    assert isinstance(when, nodes.ExprField)
    assert when.text == "M * N * K <= 32Ki"


def test_selectors_of_every_kind() -> None:
    deny = _fields("prose")["deny"][0]
    assert isinstance(deny, nodes.ActionField)
    assert [(each.kind, each.value) for each in deny.selector] == [("glob", "x86_*"), ("tag", "slow"), ("tier", "emitted")]


def test_requests_devices_and_expectations() -> None:
    tests = _fields("test")
    request = tests["request"][0]
    assert isinstance(request, nodes.RequestField)
    assert [each.name.text for each in request.settings] == [
        "dtype",
        "B",
        "Hq",
        "Hkv",
        "Sq",
        "Skv",
        "head_dim",
        "Dv",
    ]
    expect = tests["expect"][1]
    assert isinstance(expect, nodes.ExpectField)
    assert expect.by is not None
    assert expect.by.value == "head_dim % 16 == 0 and head_dim <= 256"
    assume = tests["assume"][0]
    assert isinstance(assume, nodes.AssumeField)
    assert assume.available
    assert assume.names is None
    layouts = _fields("prose")["request"][0]
    assert isinstance(layouts, nodes.RequestField)
    assert layouts.given is not None
    assert [name.text for name in layouts.given] == ["mask"]
    (layout,) = layouts.layouts
    assert layout.operand.text == "q"
    assert layout.strides is not None
    assert len(layout.strides) == 3
    assert layout.dtype is not None


def test_a_policy_has_no_name_and_its_order_may_break_after_a_comma() -> None:
    (policy,) = items("policy {\n  order rules,\n    measured\n  on_none error\n}").items
    assert isinstance(policy, nodes.Declaration)
    assert policy.name.text == ""
    order = policy.fields[0]
    assert isinstance(order, nodes.NamesField)
    assert [name.text for name in order.values] == ["rules", "measured"]


@pytest.mark.parametrize(
    "word", ["test", "op", "M", "order", "tier", "target", "in", "step", "over", "with", "dtype_", "probe", "targets", "candidate", "available", "all"]
)
def test_keywords_are_free_as_names_where_they_mean_nothing(word: str) -> None:
    (op,) = items(f"op {word} {{\n  operand {word}: [{word}]\n  dim {word} in 1..\n  attr {word}: int = 1\n}}").items
    assert isinstance(op, nodes.Declaration)
    assert op.name.text == word
    (clause,) = clauses(f"    {word} % 16 == 0")
    assert isinstance(clause.expr, nodes.Compare)
    assert clause.expr.operands[0] == nodes.Binary("%", nodes.NameRef(word, span=clause.span), nodes.IntLit(16, span=clause.span), span=clause.span)


def test_clause_text_is_folded_and_without_comments() -> None:
    (clause,) = clauses('    (M   %  # why\n      16 ==\t0)   and  env("A  B") == "x # y"   because  "two  spaces"')
    assert clause.text == '(M % 16 == 0) and env("A  B") == "x # y"'
    assert clause.because is not None
    assert clause.because.value == "two  spaces"


def test_comments_are_kept_in_order_and_not_looked_for_in_strings() -> None:
    file = items('# one\npredicate p = a == "# no" # two\n#three')
    assert [comment.text for comment in file.comments] == ["# one", "# two", "#three"]


def test_braces_may_touch_their_word() -> None:
    (candidate,) = items("candidate c{\nrequires{tile}; avoid {slow}\n}").items
    assert isinstance(candidate, nodes.Declaration)
    assert [field.clauses[0].text for field in candidate.fields if isinstance(field, nodes.ClausesField)] == ["tile", "slow"]
