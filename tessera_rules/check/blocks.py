"""Blocks that hold nothing, or the same thing twice; reasons that say nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tessera_rules.check.edits import delete_lines, replace
from tessera_rules.check.registry import Mark, check
from tessera_rules.check.subjects import Where
from tessera_rules.diagnostic import Code, Related
from tessera_rules.source import Span
from tessera_rules.syntax import nodes

EMPTY_BLOCK = Code(
    "TSR408",
    "a block or list that holds nothing",
    "An empty `requires {}` reads as if somebody had thought about it, and says the same as no block at all. An empty `accuracy {}` asks for exact "
    "results; an empty list names nobody.\n\nFill it or delete it; `tsr lint --fix` deletes it where it has lines of its own.",
    severity="note",
)
REPEATED_CLAUSE = Code(
    "TSR409",
    "a clause that stands twice",
    "Two clauses of one block say the same. Often the second was copied to be changed, and the change was forgotten.\n\n"
    "Change it or delete it; `tsr lint --fix` deletes it where it has a line of its own.",
    severity="warning",
)
EMPTY_REASON = Code(
    "TSR410",
    "a text that says nothing",
    'A `because ""` or a documentation string without a word. The reason is what a person reads when the clause refuses their request.\n\n'
    "Write the reason, or leave it out; `tsr lint --fix` does that.",
    severity="warning",
)
ECHOED_REASON = Code(
    "TSR411",
    "a reason that repeats its clause",
    "The `because` says what the clause says. A refusal shows both, and the reader still does not know why.\n\n"
    'Say why: what would overflow, not fit, or be slower. `K % 16 == 0 because "one tile is 16 wide"`.',
    severity="note",
)
REPEATED_WORD = Code(
    "TSR412",
    "the same value twice in a list",
    "A list of names, dtypes or values holds one of them twice. The second does nothing, and may have been meant to be another.\n\n"
    "Change it or delete it; `tsr lint --fix` deletes it.",
    severity="warning",
)
REPEATED_EXPECTATION = Code(
    "TSR413",
    "an expectation that stands twice",
    "A test expects the same thing twice.\n\nDelete one, or write the one that was meant.",
    severity="warning",
)
TWO_WINNERS = Code(
    "TSR414",
    "a test that expects two winners",
    "`expect NAME` says that NAME wins. One request has one winner, so a test that expects two fails whatever the rules say.\n\n"
    "Keep the one that wins; for the other say what becomes of it, such as `expect NAME outranked`.",
    severity="warning",
)


@check(EMPTY_BLOCK, nodes.ClausesField, nodes.AccuracyField, nodes.NamesField)
def empty_block(block: nodes.ClausesField | nodes.AccuracyField | nodes.NamesField, _where: Where) -> Iterator[Mark]:
    """A block without a clause, an accuracy without a part, a list without a name."""
    if isinstance(block, nodes.ClausesField):
        held: Sequence[object] = block.clauses
    else:
        held = block.parts if isinstance(block, nodes.AccuracyField) else block.values
    if not held and block.keyword not in ("given", "allow"):
        yield Mark(block.span, f"`{block.keyword}` holds nothing", edits=() if block.keyword == "order" else delete_lines(block.span))


@check(REPEATED_CLAUSE, nodes.ClausesField)
def repeated_clause(block: nodes.ClausesField, _where: Where) -> Iterator[Mark]:
    """Two equal clauses of one block, or equal parts of clauses that are chains of `and`."""
    first: dict[nodes.Expr, nodes.Expr] = {}
    for clause in block.clauses:
        parts = clause.expr.operands if isinstance(clause.expr, nodes.BoolOp) and clause.expr.operator == "and" else (clause.expr,)
        mine: set[nodes.Expr] = set()
        for part in parts:
            known = first.get(part)
            if known is None:
                first[part] = part
                mine.add(part)
            elif part not in mine:
                whole = part is clause.expr
                yield Mark(
                    part.span,
                    "this clause stands already in the block" if whole else "this part stands already in the block",
                    related=(Related(known.span, "the first one"),),
                    edits=delete_lines(clause.span) if whole else (),
                )


@check(EMPTY_REASON, nodes.Clause, nodes.DocField, nodes.TextField)
def empty_reason(node: nodes.Clause | nodes.DocField | nodes.TextField, _where: Where) -> Iterator[Mark]:
    """A `because` or a documentation string of blanks."""
    text = node.because if isinstance(node, nodes.Clause) else node.value
    if text is None or text.value.strip():
        return
    if isinstance(node, nodes.Clause):
        before = text.span.source.text[node.expr.span.end : text.span.start]
        at = before.rfind("because")
        start = node.expr.span.end + len(before[:at].rstrip()) if before[:at].rstrip(" \t") in ("", ")") else None
        edits = () if start is None else replace(Span(text.span.source, start, text.span.end), "")
    else:
        edits = delete_lines(node.span)
    yield Mark(text.span, "this text says nothing", hint="write the reason, or leave it out", edits=edits)


@check(ECHOED_REASON, nodes.Clause)
def echoed_reason(clause: nodes.Clause, _where: Where) -> Iterator[Mark]:
    """A reason that is its clause's text."""
    if clause.because is not None and "".join(clause.because.value.split()).lower() == "".join(clause.text.split()).lower():
        yield Mark(clause.because.span, "the reason repeats the clause", hint="say why it is so")


def _twice(words: Sequence[tuple[object, Span]], what: str) -> Iterator[Mark]:
    first: dict[object, Span] = {}
    for at, (value, span) in enumerate(words):
        known = first.setdefault(value, span)
        if known is not span:
            cut = Span(span.source, words[at - 1][1].end, span.end)
            plain = cut.text[: -len(span.text)].strip() == ","
            edits = replace(cut, "") if plain else ()
            yield Mark(span, f"{span.text} stands twice in {what}", related=(Related(known, "the first one"),), edits=edits)


@check(REPEATED_WORD, nodes.NamesField, nodes.DtypeField, nodes.DtypeSpec, nodes.ListExpr)
def repeated_word(node: nodes.NamesField | nodes.DtypeField | nodes.DtypeSpec | nodes.ListExpr, where: Where) -> Iterator[Mark]:
    """A word twice in `tags`, `honours`, `dtype … in`, `one of`, or a list after `in`."""
    if isinstance(node, nodes.NamesField):
        if node.keyword in ("tags", "honours", "given", "allow"):
            yield from _twice([(name.text, name.span) for name in node.values], f"`{node.keyword}`")
    elif isinstance(node, nodes.ListExpr):
        if where.field is not None and (not isinstance(where.field, nodes.ExprField | nodes.ClausesField)):
            return  # lists elsewhere are values, such as epilogue=[bias, bias]
        if where.field is not None or isinstance(where.declaration, nodes.Predicate):
            before = node.span.source.text[max(0, node.span.start - 80) : node.span.start]
            if before.rstrip(" \t\r\n([").endswith((" in", "\nin", ")in")):
                yield from _twice([(item, item.span) for item in node.items], "this list")
    else:
        yield from _twice([(name.text, name.span) for name in node.choices or ()], "the dtypes")


@check(REPEATED_EXPECTATION, nodes.Declaration)
def repeated_expectation(test: nodes.Declaration, _where: Where) -> Iterator[Mark]:
    """Two equal `expect` lines of one test."""
    first: dict[nodes.Field, nodes.Field] = {}
    for item in test.fields:
        if isinstance(item, nodes.ExpectField):
            known = first.setdefault(item, item)
            if known is not item:
                yield Mark(item.span, "this is expected already", related=(Related(known.span, "the first one"),), edits=delete_lines(item.span))


@check(TWO_WINNERS, nodes.Declaration)
def two_winners(test: nodes.Declaration, _where: Where) -> Iterator[Mark]:
    """Two `expect NAME` with different names, both without `not` and without another verdict."""
    first: nodes.ExpectField | None = None
    for item in test.fields:
        if isinstance(item, nodes.ExpectField) and not item.negated and (item.verdict is None or item.verdict.text == "selected"):
            if first is not None and item.candidate.text != first.candidate.text:
                related = (Related(first.candidate.span, f"'{first.candidate.text}' is expected to win"),)
                yield Mark(item.candidate.span, f"'{item.candidate.text}' cannot win as well", related=related)
            first = first or item
