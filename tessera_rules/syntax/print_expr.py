"""Expressions back to text."""

from __future__ import annotations

from tessera_rules.syntax import nodes

# From loosest to tightest.
_IF, _OR, _AND, _NOT, _COMPARE, _SUM, _TERM, _MINUS, _POSTFIX, _ATOM = range(10)
_LEVELS = {"+": _SUM, "-": _SUM, "*": _TERM, "/": _TERM, "//": _TERM, "%": _TERM}
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def print_expr(expr: nodes.Expr, full_parens: bool = False) -> str:
    """Return an expression as text that parses to an equal tree; with ``full_parens`` each operator has brackets of its own.

    >>> from tessera_rules.source import Source
    >>> from tessera_rules.syntax import parse_expression
    >>> tree = parse_expression(Source("<text>", "-a % b == 0 and not (c or d)"))[0]
    >>> print_expr(tree)
    '-a % b == 0 and not (c or d)'
    >>> print_expr(tree, full_parens=True)
    '((((-a) % b) == 0) and (not (c or d)))'
    """
    return _Printer(full_parens).at(expr, _IF)


def print_string(value: str) -> str:
    """Return a string as a literal.

    >>> print_string('say "x"')
    '"say \\\\"x\\\\""'
    """
    return '"' + "".join(_ESCAPES.get(each) or (each if each.isprintable() else f"\\u{{{ord(each):X}}}") for each in value) + '"'


class _Printer:
    def __init__(self, full: bool) -> None:
        self.full = full

    def at(self, expr: nodes.Expr, level: int) -> str:
        """Return an expression for a place that takes what binds as tightly as ``level``, or tighter."""
        text, own = self._text(expr)
        operator = own < _POSTFIX
        return f"({text})" if (self.full and operator) or own < level else text

    def _list(self, items: tuple[nodes.Expr, ...]) -> str:
        return ", ".join(self.at(item, _IF) for item in items)

    def _text(self, expr: nodes.Expr) -> tuple[str, int]:
        match expr:
            case nodes.IntLit(value=value):
                return str(value) if value.bit_length() <= 256 else hex(value), _ATOM
            case nodes.FloatLit(value=number):
                return _float(number), _ATOM
            case nodes.StrLit(value=string):
                return print_string(string), _ATOM
            case nodes.BoolLit(value=flag):
                return "true" if flag else "false", _ATOM
            case nodes.NullLit():
                return "null", _ATOM
            case nodes.NameRef(name=name):
                return name, _ATOM
            case nodes.Member():
                return f"{self.at(expr.value, _POSTFIX)}.{expr.name}", _POSTFIX
            case nodes.Index():
                return f"{self.at(expr.value, _POSTFIX)}[{self.at(expr.index, _IF)}]", _POSTFIX
            case nodes.Call(function="probe python"):
                return f"probe python {self.at(expr.arguments[0], _ATOM)}", _ATOM
            case nodes.Call():
                keywords = [f"{key.text}={self.at(value, _IF)}" for key, value in expr.keywords]
                return f"{expr.function}({', '.join([*(self.at(each, _IF) for each in expr.arguments), *keywords])})", _POSTFIX
            case nodes.Unary(operator="-"):
                return f"-{self.at(expr.operand, _MINUS)}", _MINUS
            case nodes.Unary():
                return f"not {self.at(expr.operand, _NOT)}", _NOT
            case nodes.Binary():
                level = _LEVELS[expr.operator]
                return f"{self.at(expr.left, level)} {expr.operator} {self.at(expr.right, level + 1)}", level
            case nodes.BoolOp():
                level = _OR if expr.operator == "or" else _AND
                return f" {expr.operator} ".join(self.at(each, level + 1) for each in expr.operands), level
            case nodes.Compare():
                parts = [self.at(expr.operands[0], _SUM)]
                for operator, operand in zip(expr.operators, expr.operands[1:], strict=True):
                    parts += [operator, self.at(operand, _SUM)]
                return " ".join(parts), _COMPARE
            case nodes.IfElse():
                return f"{self.at(expr.value, _OR)} if {self.at(expr.condition, _OR)} else {self.at(expr.otherwise, _IF)}", _IF
            case nodes.ListExpr(items=items):
                return f"[{self._list(items)}]", _ATOM
            case nodes.TupleExpr(items=items):
                return f"({self._list(items)}{',' if len(items) == 1 else ''})", _ATOM
            case nodes.RangeExpr():
                high = "" if expr.high is None else self.at(expr.high, _SUM)
                step = "" if expr.step is None else f" step {self.at(expr.step, _SUM)}"
                return f"{self.at(expr.low, _SUM)}..{high}{step}", _ATOM
            case nodes.Pattern(items=parts_):
                return f"[{', '.join(_pattern(each) for each in parts_)}]", _ATOM
        raise TypeError(f"{type(expr).__name__} is no expression")


def _pattern(item: nodes.PatternItem) -> str:
    match item:
        case nodes.PatternWord(name=name):
            return name
        case nodes.PatternAny():
            return "*"
        case nodes.PatternChoice(options=options):
            return f"({' | '.join(_pattern(each) for each in options)})"
        case nodes.PatternRepeat(item=inner, times=times):
            return f"{_pattern(inner)}{times}"


def _float(value: float) -> str:
    text = repr(value)
    return text.replace("e+", "e")
