# ruff: noqa: D102 - the methods are named and ordered by the aliases in grammars/tsr.lark, which say what each is for

"""The parts that only candidates have: clauses, accuracy, bindings."""

from __future__ import annotations

from typing import Any

from tessera_rules.syntax import codes, nodes
from tessera_rules.syntax.expressions import ExpressionBuilder, Part, Parts


class CandidateBuilder(ExpressionBuilder):
    """The methods for fields of candidates."""

    def clauses_field(self, parts: Parts, begin: int, end: int) -> nodes.ClausesField:
        clauses = tuple(each for each in parts[1] if each is not None)
        return nodes.ClausesField(self.text(parts[0]), clauses, keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def guard_else(self, parts: Parts, begin: int, end: int) -> nodes.ClausesField:
        clauses = tuple(each for each in parts[1] if each is not None)
        return nodes.ClausesField("guard", clauses, self.to_name(parts[3]), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def accuracy_empty(self, parts: Parts, begin: int, end: int) -> nodes.AccuracyField:
        return nodes.AccuracyField("accuracy", (), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def accuracy(self, parts: Parts, begin: int, end: int) -> nodes.AccuracyField:
        return nodes.AccuracyField("accuracy", tuple(parts[2]), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def uses_bare(self, parts: Parts, begin: int, end: int) -> nodes.UsesField:
        return nodes.UsesField("uses", self.to_name(parts[1]), (), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def uses(self, parts: Parts, begin: int, end: int) -> nodes.UsesField:
        return nodes.UsesField("uses", self.to_name(parts[1]), tuple(parts[3]), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def packs(self, parts: Parts, begin: int, end: int) -> nodes.PacksField:
        path = self.string(parts[3:], *parts[3])
        return nodes.PacksField("packs", self.to_name(parts[1]), path, keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def bind(self, parts: Parts, begin: int, end: int) -> nodes.BindField:
        language: Any = self.text(parts[1])
        values: dict[str, Any] = {}
        for word, place, value in parts[3] if len(parts) > 3 else ():
            key = {"(": "arguments", "with": "constants"}.get(word, word)
            if key in values:
                self.report(codes.MISPLACED.at(self.span(*place), f"`{word}` stands twice in this `bind`", hint="join the two, or delete one"))
                continue
            values[key] = value
        returns, statuses = values.get("returns", (None, ()))
        return nodes.BindField(
            "bind",
            language,
            self.string(parts[2:], *parts[2]),
            constants=values.get("constants", ()),
            compiler=values.get("compiler"),
            flags=values.get("flags", ()),
            symbol=values.get("symbol"),
            arguments=values.get("arguments"),
            returns=returns,
            statuses=statuses,
            launch=values.get("launch"),
            keyword_span=self.span(*parts[0]),
            span=self.span(begin, end),
        )

    def part_string(self, parts: Parts, begin: int, end: int) -> Part:
        return self.word_part(parts, self.string(parts[1:], *parts[1]))

    def part_flags_empty(self, parts: Parts, begin: int, end: int) -> Part:
        return self.word_part(parts, ())

    def part_flags(self, parts: Parts, begin: int, end: int) -> Part:
        return self.word_part(parts, tuple(parts[2]))

    def part_arguments_empty(self, parts: Parts, begin: int, end: int) -> Part:
        return self.word_part(parts, ())

    def part_arguments(self, parts: Parts, begin: int, end: int) -> Part:
        return self.word_part(parts, tuple(parts[1]))

    def part_with(self, parts: Parts, begin: int, end: int) -> Part:
        return self.word_part(parts, tuple(parts[2]))

    def part_returns_empty(self, parts: Parts, begin: int, end: int) -> Part:
        return self.word_part(parts, (self.to_name(parts[1]), ()))

    def part_returns(self, parts: Parts, begin: int, end: int) -> Part:
        return self.word_part(parts, (self.to_name(parts[1]), tuple(parts[3])))

    def part_launch(self, parts: Parts, begin: int, end: int) -> Part:
        values = self.once(parts[2], "launch")
        launch = nodes.Launch(values.get("grid"), values.get("block"), values.get("shared"), span=self.span(begin, end))
        return self.word_part(parts, launch)

    def launch_part(self, parts: Parts, begin: int, end: int) -> Part:
        return self.word_part(parts, parts[1])

    def argument(self, parts: Parts, begin: int, end: int) -> nodes.Argument:
        return nodes.Argument(self.text(parts[0]), len(parts) > 2, self.to_name(parts[-1]), None, span=self.span(begin, end))

    def argument_value(self, parts: Parts, begin: int, end: int) -> nodes.Argument:
        return nodes.Argument(self.text(parts[0]), len(parts) > 4, self.to_name(parts[-3]), parts[-1], span=self.span(begin, end))

    def status(self, parts: Parts, begin: int, end: int) -> nodes.Status:
        return nodes.Status(self.to_name(parts[0]), parts[1], span=self.span(begin, end))
