"""Expressions that can be said better, or say less than they seem to: seen in the nodes alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tessera_rules.check.edits import replace
from tessera_rules.check.registry import Mark, check
from tessera_rules.check.subjects import Where
from tessera_rules.diagnostic import Code, Edit, Related
from tessera_rules.dtypes import ALIASES
from tessera_rules.source import Span
from tessera_rules.syntax import nodes
from tessera_rules.syntax.aliases import alias_edits

ALIAS = Code(
    "TSR421",
    "a dtype under another name",
    "The language reads `float16`, `half` and `fp16`, and all mean `f16`. One word for one thing finds every place with one search.\n\n"
    "Write the canonical word; `tsr lint --fix` and `tsr fmt` do.",
    severity="note",
)
WITH_ITSELF = Code(
    "TSR422",
    "a thing is compared with itself",
    "Both sides of a comparison are the same, so that it holds always or never. One of them was to be something else.\n\nCorrect one side.",
    severity="warning",
)
NEGATED_COMPARISON = Code(
    "TSR423",
    "a negated comparison",
    "`not x == y` says `x != y`, and is read as `(not x) == y` by people who come from elsewhere.\n\nWrite the opposite comparison; `tsr lint --fix` does.",
    severity="note",
)
DOUBLE_NEGATION = Code(
    "TSR424",
    "a negation of a negation",
    "`not not x` and `--x` say `x`.\n\nDelete both; `tsr lint --fix` does.",
    severity="warning",
)
REPEATED_OPERAND = Code(
    "TSR425",
    "the same condition twice in a chain",
    "An operand of `and` or `or` stands there twice. The second changes nothing, and was likely copied to be changed.\n\nChange it or delete it.",
    severity="warning",
)
EQUAL_BRANCHES = Code(
    "TSR426",
    "both branches are the same",
    "In `x if c else x` the condition decides nothing.\n\nCorrect one branch, or write `x`.",
    severity="warning",
)
EQUAL_TO_TRUE = Code(
    "TSR427",
    "a boolean is compared with true or false",
    "The attribute is a boolean that is never null, so that it is a condition by itself.\n\n"
    "Write `causal` and `not causal`; `tsr lint --fix` does. (One declared `bool?` is compared: it may be null.)",
    severity="note",
)
CHAIN_OF_EQUALS = Code(
    "TSR428",
    "a list spelt as a chain of `or`",
    "`x == a or x == b` asks whether x is in a list.\n\nWrite `x in [a, b]`; `tsr lint --fix` does.",
    severity="note",
)
CROSSED_CHAIN = Code(
    "TSR429",
    "a chain that turns around",
    "`1 < M > 4` compares M with both ends from the same side: one of the two says nothing more than the other, or the sign was mistyped.\n\n"
    "Write `1 < M < 4`, or two clauses.",
    severity="warning",
)
NO_REMAINDER = Code(
    "TSR430",
    "a remainder that decides nothing",
    "`x % 1` is always 0, and `x % n` is never below 0 nor n or more. The comparison holds always or never.\n\nCorrect the modulus or the remainder.",
    severity="warning",
)
BIG_NUMBER = Code(
    "TSR431",
    "a number of mebibytes in digits",
    "A whole multiple of 1,048,576 in decimal digits is not read by anybody; one wrong digit is not seen either.\n\n"
    "Write it with its suffix: `512Mi`, `2Gi`; `tsr lint --fix` does.",
    severity="note",
)
ONE_ROUND = Code(
    "TSR432",
    "a `for` with one round",
    "The list or range of the `for` holds one value.\n\nAdd the others, or write the declaration itself.",
    severity="note",
)
HIDDEN_LOOP_NAME = Code(
    "TSR433",
    "a loop name that hides another",
    "An inner `for` binds a name that a `for` around it binds already; inside, the outer value is out of reach.\n\nRename one.",
    severity="warning",
)
HIDDEN_PREDICATE = Code(
    "TSR434",
    "a predicate with the name of a function or a dimension",
    "A predicate named like a function hides it in every file of the load; one named like a dimension or an attribute is itself hidden wherever "
    "an op has that name. The same words then mean different things in different clauses.\n\nRename the predicate.",
    severity="warning",
)

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in", "not in": "in"}
_MEBI = 1 << 20
_FLOAT_VALUE = re.compile(r"(?<!: )(?<!of )\bfloat\b")
"""`float` where it is no type of an attribute or fact."""


@check(ALIAS, nodes.File)
def alias(file: nodes.File, where: Where) -> Iterator[Mark]:
    """A dtype alias where only a dtype can stand."""
    found = ALIASES.keys() & where.load.words[file.source].keys()
    if not found or (found == {"float"} and not _FLOAT_VALUE.search(file.source.text)):
        return  # most files have none, and looking at every node costs as much as all other checks together
    for start, end, word in alias_edits(file):
        span = Span(file.source, start, end)
        yield Mark(span, f"'{span.text}' is written '{word}'", edits=replace(span, word))


@check(WITH_ITSELF, nodes.Compare)
def with_itself(node: nodes.Compare, _where: Where) -> Iterator[Mark]:
    """Equal operands on both sides of one operator."""
    for left, operator, right in zip(node.operands, node.operators, node.operands[1:], strict=False):
        if operator not in ("in", "not in", "like") and left == right:
            always = "always" if operator in ("==", "<=", ">=") else "never"
            yield Mark(left.span.to(right.span), f"{left.span.text} is compared with itself, which {always} holds")


@check(NEGATED_COMPARISON, nodes.Unary)
def negated_comparison(node: nodes.Unary, _where: Where) -> Iterator[Mark]:
    """`not` before one comparison that has an opposite."""
    inner = node.operand
    if node.operator != "not" or not isinstance(inner, nodes.Compare) or len(inner.operators) != 1 or inner.operators[0] not in _OPPOSITE:
        return
    opposite = _OPPOSITE[inner.operators[0]]
    between = Span(node.span.source, inner.operands[0].span.end, inner.operands[1].span.start)
    pattern = r"\bnot\s+in\b" if inner.operators[0] == "not in" else r"\bin\b" if inner.operators[0] == "in" else re.escape(inner.operators[0])
    found = re.search(pattern, between.text)
    start = re.match(r"not\s*", node.span.text)
    edits: tuple[Edit, ...] = ()
    if found and start and "#" not in between.text and "#" not in start[0]:
        place = Span(node.span.source, between.start + found.start(), between.start + found.end())
        edits = (Edit(Span(node.span.source, node.span.start, node.span.start + start.end()), ""), Edit(place, opposite))
    yield Mark(node.span, f"this says the same with `{opposite}` and without `not`", edits=edits)


@check(DOUBLE_NEGATION, nodes.Unary)
def double_negation(node: nodes.Unary, _where: Where) -> Iterator[Mark]:
    """`not not x` and `--x`."""
    inner = node.operand
    if not isinstance(inner, nodes.Unary) or inner.operator != node.operator:
        return
    word = re.escape(node.operator)
    found = re.match(rf"{word}\s*{word}\s*(?=[^\s])", node.span.text)
    edits = replace(Span(node.span.source, node.span.start, node.span.start + found.end()), "") if found else ()
    yield Mark(node.span, f"`{node.operator}` stands twice and says nothing", edits=edits)


@check(REPEATED_OPERAND, nodes.BoolOp, unless=("TSR409",))
def repeated_operand(node: nodes.BoolOp, _where: Where) -> Iterator[Mark]:
    """Equal operands of one `and` or `or`."""
    first: dict[nodes.Expr, nodes.Expr] = {}
    for operand in node.operands:
        known = first.setdefault(operand, operand)
        if known is not operand:
            yield Mark(operand.span, f"this stands already in the chain of `{node.operator}`", related=(Related(known.span, "the first one"),))


@check(EQUAL_BRANCHES, nodes.IfElse)
def equal_branches(node: nodes.IfElse, _where: Where) -> Iterator[Mark]:
    """`x if c else x`."""
    if node.value == node.otherwise:
        yield Mark(node.span, "both branches are the same, so the condition decides nothing")


@check(EQUAL_TO_TRUE, nodes.Compare)
def equal_to_true(node: nodes.Compare, where: Where) -> Iterator[Mark]:
    """A boolean attribute that is never null beside `== true` or `== false`."""
    if len(node.operators) != 1 or node.operators[0] not in ("==", "!=") or where.op is None:
        return
    name, literal = node.operands
    if not isinstance(name, nodes.NameRef):
        name, literal = literal, name
    if not isinstance(name, nodes.NameRef) or not isinstance(literal, nodes.BoolLit):
        return
    attr = where.op.attrs.get(name.name)
    if attr is not None and attr.type.kind == "bool" and not attr.type.nullable:
        text = name.name if literal.value == (node.operators[0] == "==") else f"not {name.name}"
        yield Mark(node.span, f"'{name.name}' is a condition by itself: {text}", edits=replace(node.span, text))


@check(CHAIN_OF_EQUALS, nodes.BoolOp, unless=("TSR425",))
def chain_of_equals(node: nodes.BoolOp, _where: Where) -> Iterator[Mark]:
    """An `or` of `==` between one name and plain values."""
    if node.operator != "or" or len(node.operands) < 2:
        return
    names: set[nodes.Expr] = set()
    values: list[str] = []
    for operand in node.operands:
        if not isinstance(operand, nodes.Compare) or operand.operators != ("==",):
            return
        name, value = operand.operands
        if not isinstance(name, nodes.NameRef | nodes.Member) or not isinstance(value, nodes.IntLit | nodes.StrLit | nodes.NameRef):
            return
        names.add(name)
        values.append(value.span.text)
    if len(names) == 1:
        name = node.operands[0].operands[0]  # type: ignore[attr-defined]
        text = f"{name.span.text} in [{', '.join(values)}]"
        edits = () if "#" in node.span.text or "\n" in node.span.text else replace(node.span, text)
        yield Mark(node.span, f"this asks for one of a list: {text}", edits=edits)


@check(CROSSED_CHAIN, nodes.Compare)
def crossed_chain(node: nodes.Compare, _where: Where) -> Iterator[Mark]:
    """A chain with `<` and `>` in it."""
    if len(node.operators) > 1 and {each[0] for each in node.operators} >= {"<", ">"}:
        yield Mark(node.span, "this chain has `<` and `>` in it", hint="a chain goes one way: low <= x <= high")


def _is_zero_to(value: nodes.Expr) -> int | None:
    if isinstance(value, nodes.IntLit):
        return value.value
    if isinstance(value, nodes.Unary) and value.operator == "-" and isinstance(value.operand, nodes.IntLit):
        return -value.operand.value
    return None


@check(NO_REMAINDER, nodes.Compare)
def no_remainder(node: nodes.Compare, _where: Where) -> Iterator[Mark]:
    """`x % 1`, and `x % n` compared with what it can never be."""
    for left, operator, right in zip(node.operands, node.operators, node.operands[1:], strict=False):
        if not isinstance(left, nodes.Binary) or left.operator != "%" or not isinstance(left.right, nodes.IntLit) or left.right.value <= 0:
            continue
        modulus, value = left.right.value, _is_zero_to(right)
        if modulus == 1:
            yield Mark(left.span.to(right.span), f"{left.span.text} is always 0")
        elif value is not None and operator in ("==", "!=") and not 0 <= value < modulus:
            holds = "never" if operator == "==" else "always"
            yield Mark(left.span.to(right.span), f"{left.span.text} lies in 0..{modulus - 1}, so this {holds} holds")


@check(BIG_NUMBER, nodes.IntLit)
def big_number(node: nodes.IntLit, _where: Where) -> Iterator[Mark]:
    """A multiple of 1Mi in decimal digits."""
    text = node.span.text
    if node.value >= _MEBI and node.value % _MEBI == 0 and text.replace("_", "").isdigit():
        power = next(power for power in (4, 3, 2) if node.value % (1 << 10 * power) == 0)
        short = f"{node.value >> 10 * power}{'KMGT'[power - 1]}i"
        yield Mark(node.span, f"{text} is {short}", edits=replace(node.span, short))


@check(ONE_ROUND, nodes.For, nodes.ForClause)
def one_round(loop: nodes.For | nodes.ForClause, _where: Where) -> Iterator[Mark]:
    """A list of one item, or a range from a number to itself."""
    source = loop.source
    low, high = (source.low, source.high) if isinstance(source, nodes.RangeExpr) else (None, None)
    if (isinstance(source, nodes.ListExpr) and len(source.items) == 1) or (low is not None and low == high):
        yield Mark(source.span, "this `for` has one round")


@check(HIDDEN_LOOP_NAME, nodes.For)
def hidden_loop_name(loop: nodes.For, _where: Where) -> Iterator[Mark]:
    """A name bound by this `for` and again by one inside."""
    for name in loop.names:
        stack: list[object] = list(loop.body)
        while stack:
            each = stack.pop()
            inner = each.names if isinstance(each, nodes.For | nodes.ForClause) else ()
            again = next((other for other in inner if other.text == name.text), None)
            if again is not None:
                yield Mark(again.span, f"'{name.text}' is bound already", related=(Related(name.span, "bound here first"),))
            elif isinstance(each, nodes.For):
                stack.extend(each.body)
            elif isinstance(each, nodes.Declaration) and each.kind == "test":
                stack.extend(each.fields)


@check(HIDDEN_PREDICATE, nodes.Predicate)
def hidden_predicate(predicate: nodes.Predicate, where: Where) -> Iterator[Mark]:
    """A predicate named as a function of the language, or as a dimension or attribute of an op of the load."""
    from tessera_rules.model.functions import FUNCTIONS

    name = predicate.name.text
    if name in FUNCTIONS or name in ("dtype", "threads", "device", "os"):
        yield Mark(predicate.name.span, f"'{name}' is a word of the language already")
        return
    for op in where.load.ruleset.ops.values():
        place = op.dims[name].span or op.name_span if name in op.dims else op.attrs[name].span if name in op.attrs else None
        if place is not None:
            what = "a dimension" if name in op.dims else "an attribute"
            yield Mark(predicate.name.span, f"'{name}' is {what} of op {op.name}, which counts first there", related=(Related(place, f"op {op.name}"),))
            return
