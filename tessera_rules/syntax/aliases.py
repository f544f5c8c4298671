"""What people type for a dtype, and the word that the formatter writes."""

from __future__ import annotations

from tessera_rules.dtypes import ALIASES
from tessera_rules.syntax import nodes


def alias_edits(file: nodes.File) -> list[tuple[int, int, str]]:
    """Return ``(start, end, word)`` for each alias that stands where only a dtype can, in file order.

    A word elsewhere, such as one in the list of a `for`, may be anybody's name and stays.
    """
    edits: dict[int, tuple[int, int, str]] = {}
    loops: list[str] = []

    def word(text: str, start: int, end: int) -> None:
        if text in ALIASES and text not in loops:
            edits[start] = (start, end, ALIASES[text])

    def name(each: nodes.Name | None) -> None:
        if each is not None:
            word(each.text, each.span.start, each.span.end)

    def dtype_value(expr: nodes.Expr) -> None:
        stack = [expr]
        while stack:
            each = stack.pop()
            if isinstance(each, nodes.NameRef):
                word(each.name, each.span.start, each.span.end)
            elif isinstance(each, nodes.ListExpr):
                stack.extend(each.items)
            elif isinstance(each, nodes.IfElse):
                stack.extend((each.value, each.otherwise))

    def is_dtype(expr: nodes.Expr) -> bool:
        return (isinstance(expr, nodes.NameRef) and expr.name == "dtype") or (isinstance(expr, nodes.Call) and expr.function == "dtype")

    stack: list[object] = list(reversed(file.items))
    while stack:
        each = stack.pop()
        if isinstance(each, tuple):
            stack.extend(reversed(each))
            continue
        if isinstance(each, nodes.For | nodes.ForClause):
            # A loop may bind a name that is spelt as an alias; it is the loop's then, wherever it stands in the file.
            loops.extend(bound.text for bound in each.names)
        if isinstance(each, nodes.Compare) and any(is_dtype(operand) for operand in each.operands):
            for operand in each.operands:
                dtype_value(operand)
        elif isinstance(each, nodes.Call):
            if each.function in ("bytes", "bits"):
                for argument in each.arguments:
                    dtype_value(argument)
            for key, value in each.keywords:
                if key.text in ("dtype", "allow"):
                    dtype_value(value)
        elif isinstance(each, nodes.NameField) and each.keyword == "computes":
            name(each.value)
        elif isinstance(each, nodes.DtypeSpec):
            for choice in (each.name, *(each.choices or ())):
                name(choice)
        elif isinstance(each, nodes.DtypeField):
            for choice in each.choices or ():
                name(choice)
        elif isinstance(each, nodes.Layout):
            name(each.dtype)
        elif isinstance(each, nodes.Setting) and each.name.text in ("dtype", "allow"):
            dtype_value(each.value)
        elif isinstance(each, nodes.UsesField):
            for key, value in each.arguments:
                if key.text == "dtype":
                    dtype_value(value)
        stack.extend(reversed(_parts(each)))
    return sorted(each for each in edits.values() if file.source.text[each[0] : each[1]] not in loops)


def _parts(node: object) -> list[object]:
    """Return what a node holds: nodes and tuples of them."""
    fields = getattr(type(node), "__attrs_attrs__", ())
    values = [getattr(node, field.name) for field in fields if field.eq]
    return [value for value in values if isinstance(value, tuple) or hasattr(type(value), "__attrs_attrs__")]


def without_aliases(file: nodes.File) -> str:
    """Return the text of a file with each alias of `alias_edits` written as the canonical word."""
    text = file.source.text
    for start, end, word in reversed(alias_edits(file)):
        text = text[:start] + word + text[end:]
    return text
