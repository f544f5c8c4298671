# ruff: noqa: D102 - the methods are named and ordered by the aliases in grammars/tsr.lark, which say what each is for

"""The parts that only rules and tests have: selectors, requests, devices, expectations."""

from __future__ import annotations

from typing import Any

from tessera_rules.syntax import codes, nodes
from tessera_rules.syntax.expressions import ExpressionBuilder, Part, Parts


class TestBuilder(ExpressionBuilder):
    """The methods for fields of rules and tests."""

    __test__ = False

    def action(self, parts: Parts, begin: int, end: int) -> nodes.ActionField:
        return nodes.ActionField(self.text(parts[0]), tuple(parts[1]), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def action_over(self, parts: Parts, begin: int, end: int) -> nodes.ActionField:
        return nodes.ActionField("prefer", tuple(parts[1]), tuple(parts[3]), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def selector_name(self, parts: Parts, begin: int, end: int) -> nodes.SelectorItem:
        return nodes.SelectorItem("name", self.text(parts[0]), span=self.span(begin, end))

    def selector_word(self, parts: Parts, begin: int, end: int) -> nodes.SelectorItem:
        kind: Any = self.text(parts[0])
        return nodes.SelectorItem(kind, self.text(parts[1]), span=self.span(begin, end))

    def selector_glob(self, parts: Parts, begin: int, end: int) -> nodes.SelectorItem:
        return nodes.SelectorItem("glob", self.string(parts, begin, end).value, span=self.span(begin, end))

    def for_clause(self, parts: Parts, begin: int, end: int) -> nodes.ForClause:
        return nodes.ForClause("for", tuple(parts[1]), self.loop_source(parts[3]), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def request_empty(self, parts: Parts, begin: int, end: int) -> nodes.RequestField:
        return self._request(parts, [], begin, end)

    def request(self, parts: Parts, begin: int, end: int) -> nodes.RequestField:
        return self._request(parts, parts[5], begin, end)

    def _request(self, parts: Parts, settings: Parts, begin: int, end: int) -> nodes.RequestField:
        given: tuple[nodes.Name, ...] | None = None
        for each in settings:
            if isinstance(each, tuple):
                place, names = each
                if given is not None:
                    self.report(codes.MISPLACED.at(self.span(*place), "`given` stands twice in this `request`", hint="join the two"))
                given = (given or ()) + tuple(names)
        return nodes.RequestField(
            "request",
            self.to_name(parts[1]),
            self.to_name(parts[3]),
            tuple(each for each in settings if isinstance(each, nodes.Setting)),
            given,
            tuple(each for each in settings if isinstance(each, nodes.Layout)),
            keyword_span=self.span(*parts[0]),
            span=self.span(begin, end),
        )

    def given(self, parts: Parts, begin: int, end: int) -> Part:
        return parts[0], parts[1]

    def layout_empty(self, parts: Parts, begin: int, end: int) -> nodes.Layout:
        return nodes.Layout(self.to_name(parts[1]), None, None, None, span=self.span(begin, end))

    def layout(self, parts: Parts, begin: int, end: int) -> nodes.Layout:
        values = self.once(parts[3], "layout")
        return nodes.Layout(self.to_name(parts[1]), values.get("align"), values.get("strides"), values.get("dtype"), span=self.span(begin, end))

    def layout_expr(self, parts: Parts, begin: int, end: int) -> Part:
        return self.word_part(parts, parts[1])

    def layout_strides(self, parts: Parts, begin: int, end: int) -> Part:
        return self.word_part(parts, tuple(parts[1]))

    def layout_dtype(self, parts: Parts, begin: int, end: int) -> Part:
        return self.word_part(parts, self.to_name(parts[1]))

    def setting(self, parts: Parts, begin: int, end: int) -> nodes.Setting:
        return nodes.Setting(self.to_name(parts[0]), parts[1], span=self.span(begin, end))

    def device_empty(self, parts: Parts, begin: int, end: int) -> nodes.DeviceField:
        return nodes.DeviceField("device", (), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def device(self, parts: Parts, begin: int, end: int) -> nodes.DeviceField:
        return nodes.DeviceField("device", tuple(parts[2]), keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def assume(self, parts: Parts, begin: int, end: int) -> nodes.AssumeField:
        names = None if len(parts[2]) == 1 and parts[2][0].text == "all" else tuple(parts[2])
        return nodes.AssumeField("assume", self.text(parts[1]) == "available", names, keyword_span=self.span(*parts[0]), span=self.span(begin, end))

    def expect(self, parts: Parts, begin: int, end: int) -> nodes.ExpectField:
        return self._expect(False, parts, parts[1:], begin, end)

    def expect_by(self, parts: Parts, begin: int, end: int) -> nodes.ExpectField:
        return self._expect(False, parts, parts[1:], begin, end)

    def expect_not(self, parts: Parts, begin: int, end: int) -> nodes.ExpectField:
        return self._expect(True, parts, parts[2:], begin, end)

    def expect_not_by(self, parts: Parts, begin: int, end: int) -> nodes.ExpectField:
        return self._expect(True, parts, parts[2:], begin, end)

    def _expect(self, negated: bool, parts: Parts, rest: Parts, begin: int, end: int) -> nodes.ExpectField:
        verdict = self.to_name(rest[1]) if len(rest) > 1 else None
        by = self.string(rest[3:], *rest[3]) if len(rest) > 3 else None
        return nodes.ExpectField("expect", negated, self.to_name(rest[0]), verdict, by, keyword_span=self.span(*parts[0]), span=self.span(begin, end))
