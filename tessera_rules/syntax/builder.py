# ruff: noqa: D102 - the methods are named and ordered by the aliases in grammars/tsr.lark, which say what each is for

"""What each alternative of the grammar builds: one method per alias in ``grammars/tsr.lark``.

A method gets the parts of its alternative and where the alternative begins and ends. Parts are nodes, lists of nodes, or for
a token its ``(start, end)``. Everything is built from the leaves up, so nothing here recurses.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import Any

from tessera_rules.nearest import nearest
from tessera_rules.source import Source, Span
from tessera_rules.syntax import codes, nodes
from tessera_rules.syntax.build_candidate import CandidateBuilder
from tessera_rules.syntax.build_test import TestBuilder
from tessera_rules.syntax.literals import folded

EDITION = 1

_HEAD = re.compile(r"([A-Za-z_]+)[ \t]+([A-Za-z_{][A-Za-z0-9_{}]*)[ \t]*\{")

Part = Any
Parts = list[Any]
Token = tuple[int, int]


class Edition:
    """The ``tessera N`` line, kept among the entries until the file is put together."""

    __slots__ = ("number", "span")

    def __init__(self, number: int, span: Span) -> None:
        self.number = number
        self.span = span


class Builder(CandidateBuilder, TestBuilder):
    """Builds the nodes of one source; ``findings`` and ``damage`` (offsets of mistakes) grow as it goes."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.declarations = 0

    # ---- files ---------------------------------------------------------------------------------------------------

    def edition(self, parts: Parts, begin: int, end: int) -> Edition:
        number = self.int_literal(parts[1:], *parts[1])
        return Edition(number.value, self.span(begin, end))

    def use(self, parts: Parts, begin: int, end: int) -> nodes.Use:
        return nodes.Use(self.string(parts[1:], *parts[1]), span=self.span(begin, end))

    def error(self, parts: Parts, begin: int, end: int) -> Part:
        return parts[0]

    def declaration(self, parts: Parts, begin: int, end: int) -> nodes.Declaration:
        keyword, name, fields = parts
        return self._declared(self.text(keyword), self.to_name(name), fields, begin, end)

    def policy(self, parts: Parts, begin: int, end: int) -> nodes.Declaration:
        return self._declared("policy", nodes.Name("", span=self.span(*parts[0])), parts[1], begin, end)

    def test(self, parts: Parts, begin: int, end: int) -> nodes.Declaration:
        title = self.string(parts[1:], *parts[1])
        return self._declared("test", nodes.Name(title.value, span=title.span), parts[2], begin, end)

    def _declared(self, kind: Any, name: nodes.Name, fields: Parts, begin: int, end: int) -> nodes.Declaration:
        self.misplaced_tuples(begin)
        self.declarations += 1
        kept = [each for each in fields if each is not None]
        for position, each in enumerate(kept):
            if isinstance(each, nodes.DocField) and position > 0 and not self.damaged(each.span.start, each.span.start + 1):
                self.report(
                    codes.MISPLACED.at(
                        each.span, "a documentation string stands first in its block", hint=f"move it up, or write it as a comment: # {each.value.value}"
                    )
                )
        return nodes.Declaration(kind, name, tuple(kept), damaged=self.damaged(begin, end), span=self.span(begin, end))

    def broken(self, parts: Parts, begin: int, end: int) -> nodes.Declaration | nodes.Predicate | None:
        """Return what is known of a declaration that could not be read to its end: its kind and name."""
        if len(parts) < 2 or not all(isinstance(each, tuple) for each in parts[:2]):
            return None
        kind: Any = self.text(parts[0])
        span = self.span(begin, end)
        if kind in ("op", "target", "candidate", "rule"):
            return nodes.Declaration(kind, self.to_name(parts[1]), (), damaged=True, span=span)
        if kind == "predicate":
            return nodes.Predicate(self.to_name(parts[1]), (), nodes.NullLit(span=span), "", damaged=True, span=span)
        return None

    def guessed(self, start: int, end: int) -> nodes.Declaration | None:
        """Return the declaration that a misspelt word most likely begins, so that its name counts as declared."""
        head = _HEAD.match(self.source.text, start, end)
        kind: Any = nearest(head[1], ("op", "target", "candidate", "rule")) if head else None
        if head is None or kind is None:
            return None
        return nodes.Declaration(kind, self.to_name(head.span(2)), (), damaged=True, span=self.span(start, end))

    def predicate(self, parts: Parts, begin: int, end: int) -> nodes.Predicate:
        return self._predicate(parts[1], [], parts[2], parts[3], begin, end)

    def predicate_none(self, parts: Parts, begin: int, end: int) -> nodes.Predicate:
        return self._predicate(parts[1], [], parts[4], parts[5], begin, end)

    def predicate_parameters(self, parts: Parts, begin: int, end: int) -> nodes.Predicate:
        return self._predicate(parts[1], parts[3], parts[5], parts[6], begin, end)

    def _predicate(self, name: Token, parameters: list[nodes.Name], equal: Token, body: nodes.Expr, begin: int, end: int) -> nodes.Predicate:
        self.misplaced_tuples(begin)
        self.declarations += 1
        text = folded(self.source.text[equal[1] : end])
        return nodes.Predicate(self.to_name(name), tuple(parameters), body, text, damaged=self.damaged(begin, end), span=self.span(begin, end))

    def for_empty(self, parts: Parts, begin: int, end: int) -> nodes.For:
        return self._for(parts[1], parts[3], [], begin, end)

    def for_block(self, parts: Parts, begin: int, end: int) -> nodes.For:
        return self._for(parts[1], parts[3], parts[5], begin, end)

    def _for(self, names: list[nodes.Name], source: nodes.ForSource, items: Parts, begin: int, end: int) -> nodes.For:
        body = tuple(each for each in items if each is not None)
        starts = [item.span.start for item in body]
        hurt = False
        for offset in self.damage[bisect_left(self.damage, begin) : bisect_left(self.damage, end)]:
            place = bisect_right(starts, offset) - 1
            hurt = hurt or place < 0 or offset >= body[place].span.end
        return nodes.For(tuple(names), self.loop_source(source), body, damaged=hurt, span=self.span(begin, end))

    def loop_name(self, parts: Parts, begin: int, end: int) -> list[nodes.Name]:
        return [self.to_name(parts[0])]

    def targets_with_op(self, parts: Parts, begin: int, end: int) -> nodes.TargetsWithOp:
        return nodes.TargetsWithOp(self.to_name(parts[3]), span=self.span(begin, end))

    # ---- fields that several blocks have ----------------------------------------------------------------------------

    def doc(self, parts: Parts, begin: int, end: int) -> nodes.DocField:
        span = self.span(begin, end)
        return nodes.DocField("doc", self.string(parts, begin, end), keyword_span=span, span=span)

    def name_field(self, parts: Parts, begin: int, end: int) -> nodes.NameField:
        return nodes.NameField(self.text(parts[0]), self.to_name(parts[1]), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def names_field(self, parts: Parts, begin: int, end: int) -> nodes.NamesField:
        return nodes.NamesField(self.text(parts[0]), tuple(parts[1]), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def flag_field(self, parts: Parts, begin: int, end: int) -> nodes.FlagField:
        span = self.span(begin, end)
        return nodes.FlagField(self.text(parts[0]), keyword_span=span, span=span)

    def expr_field(self, parts: Parts, begin: int, end: int) -> nodes.ExprField:
        text = folded(self.source.text[parts[0][1] : end])
        return nodes.ExprField(self.text(parts[0]), parts[1], text, keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def text_field(self, parts: Parts, begin: int, end: int) -> nodes.TextField:
        return nodes.TextField(self.text(parts[0]), self.string(parts[1:], *parts[1]), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def python_field(self, parts: Parts, begin: int, end: int) -> nodes.BindField:
        path = self.string(parts[2:], *parts[2])
        return nodes.BindField(self.text(parts[0]), "python", path, keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def clause(self, parts: Parts, begin: int, end: int) -> nodes.Clause:
        return nodes.Clause(parts[0], folded(self.source.text[begin:end]), None, span=self.span(begin, end))

    def clause_because(self, parts: Parts, begin: int, end: int) -> nodes.Clause:
        because = self.string(parts[2:], *parts[2])
        return nodes.Clause(parts[0], folded(self.source.text[begin : parts[1][0]]), because, span=self.span(begin, end))

    # ---- op ------------------------------------------------------------------------------------------------------

    def operand(self, parts: Parts, begin: int, end: int) -> nodes.OperandField:
        dtype = parts[4] if len(parts) > 4 else None
        return nodes.OperandField(
            self.text(parts[0]), self.to_name(parts[1]), False, tuple(parts[3]), dtype, keyword_span=self.span(*parts[0]), span=self.span(begin, end)
        )

    def operand_optional(self, parts: Parts, begin: int, end: int) -> nodes.OperandField:
        dtype = parts[5] if len(parts) > 5 else None
        return nodes.OperandField(
            self.text(parts[0]), self.to_name(parts[1]), True, tuple(parts[4]), dtype, keyword_span=self.span(*parts[0]), span=self.span(begin, end)
        )

    def result(self, parts: Parts, begin: int, end: int) -> nodes.ResultField:
        dtype = parts[2] if len(parts) > 2 else None
        return nodes.ResultField("result", None, tuple(parts[1]), dtype, keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def result_named(self, parts: Parts, begin: int, end: int) -> nodes.ResultField:
        dtype = parts[4] if len(parts) > 4 else None
        return nodes.ResultField("result", self.to_name(parts[1]), tuple(parts[3]), dtype, keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def result_inout(self, parts: Parts, begin: int, end: int) -> nodes.ResultField:
        return nodes.ResultField("result", self.to_name(parts[1]), None, None, keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def attr(self, parts: Parts, begin: int, end: int) -> nodes.AttrField:
        return nodes.AttrField("attr", self.to_name(parts[1]), parts[3], None, keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def attr_default(self, parts: Parts, begin: int, end: int) -> nodes.AttrField:
        return nodes.AttrField("attr", self.to_name(parts[1]), parts[3], parts[5], keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def dim(self, parts: Parts, begin: int, end: int) -> nodes.DimField:
        return nodes.DimField("dim", self.to_name(parts[1]), parts[3], keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def dtype_field(self, parts: Parts, begin: int, end: int) -> nodes.DtypeField:
        choices = tuple(parts[3]) if len(parts) > 3 else None
        return nodes.DtypeField("dtype", self.to_name(parts[1]), choices, keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def check(self, parts: Parts, begin: int, end: int) -> nodes.ClausesField:
        return nodes.ClausesField("check", (parts[1],), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def dtype_name(self, parts: Parts, begin: int, end: int) -> nodes.DtypeSpec:
        return nodes.DtypeSpec(name=self.to_name(parts[0]), span=self.span(begin, end))

    def dtype_choices(self, parts: Parts, begin: int, end: int) -> nodes.DtypeSpec:
        return nodes.DtypeSpec(choices=tuple(parts[2]), span=self.span(begin, end))

    def dtype_attribute(self, parts: Parts, begin: int, end: int) -> nodes.DtypeSpec:
        return nodes.DtypeSpec(attribute=self.to_name(parts[1]), span=self.span(begin, end))

    def type_name(self, parts: Parts, begin: int, end: int) -> nodes.TypeSpec:
        return nodes.TypeSpec(self.text(parts[0]), nullable=len(parts) > 1, span=self.span(begin, end))

    def type_one_of(self, parts: Parts, begin: int, end: int) -> nodes.TypeSpec:
        return nodes.TypeSpec("one of", words=tuple(parts[2]), nullable=len(parts) > 3, span=self.span(begin, end))

    def type_list_of_words(self, parts: Parts, begin: int, end: int) -> nodes.TypeSpec:
        return nodes.TypeSpec("list of", words=tuple(parts[2]), nullable=len(parts) > 3, span=self.span(begin, end))

    def type_list_of(self, parts: Parts, begin: int, end: int) -> nodes.TypeSpec:
        return nodes.TypeSpec("list of", item=self.text(parts[2]), nullable=len(parts) > 3, span=self.span(begin, end))

    def fact(self, parts: Parts, begin: int, end: int) -> nodes.FactField:
        return nodes.FactField("fact", self.to_name(parts[1]), parts[3], keyword_span=self.span(*parts[0]), span=self.span(begin, end))
