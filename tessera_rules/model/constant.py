"""Values that the text alone fixes: numbers, words, lists of them, arithmetic on loop names. For defaults, sizes, tests and `for` sources."""

from __future__ import annotations

from typing import Any

from tessera_rules.model.loops import Loops, LoopValue
from tessera_rules.syntax import nodes


class NotConstant(Exception):
    """The expression is not fixed by the text; ``expr`` is the part that is not."""

    def __init__(self, expr: nodes.Expr, why: str) -> None:
        super().__init__(why)
        self.expr = expr


def constant(expr: nodes.Expr, loops: Loops) -> LoopValue | tuple[LoopValue, ...]:
    """Return the value of a constant expression, or a tuple of values for a list. Raises `NotConstant`."""
    if isinstance(expr, nodes.ListExpr):
        return tuple(scalar(item, loops) for item in expr.items)
    return scalar(expr, loops)


def scalar(expr: nodes.Expr, loops: Loops) -> LoopValue:
    """Return the value of a constant expression that is no list. Raises `NotConstant`."""
    match expr:
        case nodes.IntLit(value=value):
            return LoopValue("int", value)
        case nodes.FloatLit(value=real):
            return LoopValue("float", real)
        case nodes.StrLit(value=text):
            return LoopValue("string", text)
        case nodes.BoolLit(value=truth):
            return LoopValue("bool", truth)
        case nodes.NullLit():
            return LoopValue("null", None)
        case nodes.NameRef(name=name):
            return loops[name] if name in loops else LoopValue("name", name)
        case nodes.Unary(operator="-", operand=operand):
            inner = scalar(operand, loops)
            if inner.kind in ("int", "float"):
                return LoopValue(inner.kind, -inner.value)
        case nodes.Binary(operator=operator, left=left, right=right):
            a, b = scalar(left, loops), scalar(right, loops)
            if a.kind in ("int", "float") and b.kind in ("int", "float"):
                return _arithmetic(expr, operator, a.value, b.value)
    raise NotConstant(expr, "a value that the text fixes was expected here")


def _arithmetic(expr: nodes.Expr, operator: str, a: Any, b: Any) -> LoopValue:
    if operator in ("//", "%", "/") and b <= 0:
        raise NotConstant(expr, "the divisor is not positive")
    if operator == "*" and isinstance(a, int) and isinstance(b, int) and a.bit_length() + b.bit_length() > 4096:
        raise NotConstant(expr, "the number has more than 4,096 bits")
    result: Any
    match operator:
        case "+":
            result = a + b
        case "-":
            result = a - b
        case "*":
            result = a * b
        case "//":
            result = a // b
        case "%":
            result = a % b
        case _:
            result = a / b
    return LoopValue("int" if isinstance(result, int) else "float", result)
