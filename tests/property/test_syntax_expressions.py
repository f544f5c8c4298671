"""Laws of expressions: printed and parsed again they are the same, and they mean what an independent reader says."""

from __future__ import annotations

import operator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tessera_rules.source import Source
from tessera_rules.syntax import nodes, parse_expression
from tessera_rules.syntax.print_expr import print_expr
from tests.property.syntax_strategies import expressions

QUICK = settings(max_examples=150, deadline=None, derandomize=True)


def read(text: str) -> nodes.Expr:
    found, findings = parse_expression(Source("t", text))
    assert findings == (), (text, [finding.message for finding in findings])
    assert found is not None
    return found


@QUICK
@given(expressions)
def test_D10_a_printed_expression_parses_to_the_same_tree(expr: nodes.Expr) -> None:
    assert read(print_expr(expr)) == expr


@QUICK
@given(expressions)
def test_D10_fully_parenthesised_it_is_the_same_tree(expr: nodes.Expr) -> None:
    full = print_expr(expr, full_parens=True)
    assert read(full) == expr
    assert read(print_expr(read(full))) == expr


VALUES: dict[str, Any] = {"a": 7, "b": -3, "c": 2, "d": 0, "t": True, "f": False}


def value(expr: nodes.Expr) -> Any:
    """The value of an expression over integers and truth values: written here once more, for comparison only."""
    match expr:
        case nodes.IntLit() | nodes.BoolLit():
            return expr.value
        case nodes.NameRef(name=name):
            return VALUES[name]
        case nodes.Unary(operator="-"):
            return -value(expr.operand)
        case nodes.Unary():
            return not value(expr.operand)
        case nodes.Binary():
            left, right = value(expr.left), value(expr.right)
            return {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right, "//": lambda: left // right, "%": lambda: left % right}[
                expr.operator
            ]()
        case nodes.BoolOp(operator="and"):
            return all(value(each) for each in expr.operands)
        case nodes.BoolOp():
            return any(value(each) for each in expr.operands)
        case nodes.IfElse():
            return value(expr.value) if value(expr.condition) else value(expr.otherwise)
        case nodes.Compare():
            compare = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
            pairs = zip(expr.operators, expr.operands, expr.operands[1:], strict=False)
            return all(compare[word](value(left), value(right)) for word, left, right in pairs)
    raise TypeError(type(expr))


_number = st.sampled_from(["a", "b", "c", "d", "1", "0", "12"])
_binary = st.sampled_from([" + ", "-", "*", " % ", "//", " - ", "+"])


@st.composite
def _sums(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(["", "-", "- -"])) + draw(_number)
    for _ in range(draw(st.integers(0, 4))):
        text += draw(_binary) + draw(st.sampled_from(["", "", "-"])) + draw(_number)
    return f"({text})" if draw(st.integers(0, 3)) == 0 else text


@st.composite
def _conditions(draw: st.DrawFn) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        compare = draw(_sums())
        for _ in range(draw(st.integers(1, 2))):
            compare += draw(st.sampled_from([" == ", "<", " <= ", ">", " >= ", "!="])) + draw(_sums())
        parts.append(draw(st.sampled_from(["", "", "not ", "not not "])) + draw(st.sampled_from([compare, compare, "t", "f", f"({compare})"])))
    text = parts[0]
    for part in parts[1:]:
        text += draw(st.sampled_from([" and ", " or "])) + part
    return f"{text} if {draw(st.sampled_from(['t', 'a < b', 'not f']))} else not f" if draw(st.integers(0, 4)) == 0 else text


@settings(max_examples=400, deadline=None, derandomize=True)
@given(_conditions() | _sums())
def test_D10_precedence_is_that_of_an_independent_reader(text: str) -> None:
    # The operators that both languages have bind alike, so Python's own parser is the judge.
    try:
        wanted = eval(text, {}, dict(VALUES))
    except ZeroDivisionError:
        read(text)
        return
    found = value(read(text))
    assert (found, type(found)) == (wanted, type(wanted)), text


def test_D10_the_cases_that_were_read_wrongly() -> None:
    assert print_expr(read("-a % b"), full_parens=True) == "((-a) % b)"
    assert print_expr(read("not a and b"), full_parens=True) == "((not a) and b)"
    assert print_expr(read("not a == b"), full_parens=True) == "(not (a == b))"
    assert print_expr(read("a - b - c"), full_parens=True) == "((a - b) - c)"
    assert print_expr(read("a or b and c"), full_parens=True) == "(a or (b and c))"
    assert print_expr(read("a if b else c if d else e"), full_parens=True) == "(a if b else (c if d else e))"
