"""Tests from nodes: their requests round by round, what is assumed, what is expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from attrs import define

from tessera_rules.diagnostic import Related
from tessera_rules.dtypes import DTYPES, canonical
from tessera_rules.model import codes
from tessera_rules.model.build_op import typed_constant
from tessera_rules.model.expand import rounds
from tessera_rules.model.fields import Fields
from tessera_rules.model.loops import Loops, fill, name_text
from tessera_rules.model.report import Findings
from tessera_rules.model.types import INT, Type
from tessera_rules.model.values import Candidate, Expectation, Op, StatedLayout, Target, Test, TestRequest
from tessera_rules.model.words import PROMISES, VerdictWord
from tessera_rules.nearest import did_you_mean
from tessera_rules.source import Span
from tessera_rules.syntax import nodes

VERDICTS: tuple[str, ...] = get_args(VerdictWord)


@define
class TestBuilder:
    """Builds tests over one load. ``lost`` are candidates that could not be built, of which nothing is said."""

    __test__ = False
    ops: Mapping[str, Op]
    targets: Mapping[str, Target]
    candidates: Mapping[str, Candidate]
    lost: frozenset[str]
    findings: Findings

    def build(self, node: nodes.Declaration, loops: Loops) -> Test | None:
        """Return a test, or None where its request cannot be told."""
        fields = Fields(node, self.findings)
        whole = fields.need("request", "expect")
        request = fields.get("request", nodes.RequestField)
        loop = fields.get("for", nodes.ForClause)
        requests: list[TestRequest] = []
        expectations: list[Expectation] = []
        for inner in rounds(loop.names, loop.source, loops, self.findings, {}) if loop is not None else [loops]:
            expected = tuple(self._expectations(fields, inner))
            stated = self._request(request, fields, inner, loops, expected) if request is not None else None
            if stated is not None:
                requests.append(stated)
            expectations += [
                each
                for each in expected
                if all((each.name, each.verdict, each.by, each.span) != (one.name, one.verdict, one.by, one.span) for one in expectations)
            ]
        if not whole or not requests:
            return None
        available, unavailable = self._assumed(fields, loops)
        name = fill(node.name.text, loops, node.name.span, self.findings, string=True)
        return Test(name, tuple(requests), available, unavailable, tuple(expectations), node.span)

    def _request(self, node: nodes.RequestField, fields: Fields, loops: Loops, outer: Loops, expected: tuple[Expectation, ...]) -> TestRequest | None:
        op_name, target_name = name_text(node.op, loops, self.findings), name_text(node.target, loops, self.findings)
        op, target = self.ops.get(op_name), self.targets.get(target_name)
        if op is None:
            self.findings.add(codes.UNKNOWN_OP.at(node.op.span, f"op '{op_name}' is not declared", hint=did_you_mean(op_name, self.ops, "op")))
        if target is None:
            self.findings.add(
                codes.UNKNOWN_TARGET.at(node.target.span, f"target '{target_name}' is not declared", hint=did_you_mean(target_name, self.targets, "target"))
            )
        if op is None or target is None:
            return None
        device = fields.get("device", nodes.DeviceField)
        return TestRequest(
            op=op_name,
            target=target_name,
            words=dict(self._words(node, op, loops)),
            given=self._given(node, op, loops),
            layouts={layout.operand.text: self._layout(layout, op, loops) for layout in node.layouts},
            device={} if device is None else dict(self._facts(device, target, loops)),
            loops={name: value.value for name, value in loops.items() if name not in outer},
            expectations=expected,
        )

    def _words(self, node: nodes.RequestField, op: Op, loops: Loops) -> Iterator[tuple[str, Any]]:
        seen: dict[str, Span] = {}
        for setting in node.settings:
            name = setting.name.text
            if name in seen:
                self.findings.add(codes.DUPLICATE_FIELD.at(setting.name.span, f"'{name}' is stated twice", related=(Related(seen[name], "the first one"),)))
                continue
            seen[name] = setting.name.span
            if name in op.dims:
                value = typed_constant(setting.value, INT, dict(loops), self.findings, f"dimension '{name}'")
                if isinstance(value, int) and value < 0:
                    self.findings.add(codes.TEST_REQUEST.at(setting.value.span, f"dimension '{name}' is {value}, and sizes are from 0 up"))
                yield name, value
            elif name in op.attrs:
                yield name, typed_constant(setting.value, op.attrs[name].type, dict(loops), self.findings, f"attribute '{name}'")
            elif name == "dtype":
                yield name, self._dtype(setting.value, loops)
            elif name in ("threads", "device"):
                yield name, typed_constant(setting.value, INT, dict(loops), self.findings, f"`{name}`")
            elif name in ("allow", "require"):
                yield name, self._list(setting.value, DTYPES if name == "allow" else PROMISES, loops, name)
            else:
                known = [*op.dims, *op.attrs, "dtype", "threads", "device", "allow", "require"]
                self.findings.add(
                    codes.TEST_REQUEST.at(setting.name.span, f"'{name}' is no dimension or attribute of op {op.name}", hint=did_you_mean(name, known, "name"))
                )

    def _dtype(self, value: nodes.Expr, loops: Loops) -> str | None:
        return typed_constant(value, Type("dtype"), dict(loops), self.findings, "`dtype`")  # type: ignore[no-any-return]

    def _list(self, value: nodes.Expr, known: tuple[str, ...], loops: Loops, what: str) -> tuple[str, ...]:
        items = value.items if isinstance(value, nodes.ListExpr) else (value,)
        found: list[str] = []
        for item in items:
            text = loops[item.name].text if isinstance(item, nodes.NameRef) and item.name in loops else getattr(item, "name", "")
            word = canonical(text) or text
            if word not in known:
                self.findings.add(codes.UNKNOWN_WORD.at(item.span, f"'{text}' is no value of `{what}`", hint=did_you_mean(text, known, "value")))
            found.append(word)
        return tuple(found)

    def _given(self, node: nodes.RequestField, op: Op, loops: Loops) -> tuple[str, ...]:
        found = []
        for name in node.given or ():
            text = name_text(name, loops, self.findings)
            optional = [operand.name for operand in op.operands.values() if operand.optional]
            if text not in optional:
                self.findings.add(
                    codes.UNKNOWN_ATTRIBUTE.at(name.span, f"'{text}' is no optional operand of op {op.name}", hint=did_you_mean(text, optional, "operand"))
                )
            found.append(text)
        return tuple(found)

    def _layout(self, node: nodes.Layout, op: Op, loops: Loops) -> StatedLayout:
        operand = op.operands.get(node.operand.text)
        if operand is None:
            self.findings.add(
                codes.UNKNOWN_ATTRIBUTE.at(
                    node.operand.span, f"op {op.name} has no operand '{node.operand.text}'", hint=did_you_mean(node.operand.text, op.operands, "operand")
                )
            )
        align = None if node.align is None else typed_constant(node.align, INT, dict(loops), self.findings, "`align`")
        if isinstance(align, int) and (align <= 0 or align & (align - 1)):
            self.findings.add(codes.TEST_REQUEST.at(node.align.span if node.align else node.span, f"an alignment is a power of two, and this is {align}"))
        strides = None
        if node.strides is not None:
            strides = tuple(typed_constant(item, INT, dict(loops), self.findings, "a stride") or 0 for item in node.strides)
            if operand is not None and len(strides) != len(operand.shape):
                self.findings.add(
                    codes.TEST_REQUEST.at(node.span, f"operand '{operand.name}' has {len(operand.shape)} axes, and {len(strides)} strides are stated")
                )
        dtype = None if node.dtype is None else canonical(name_text(node.dtype, loops, self.findings))
        if node.dtype is not None and dtype is None:
            self.findings.add(codes.UNKNOWN_WORD.at(node.dtype.span, f"'{node.dtype.text}' is no dtype", hint=did_you_mean(node.dtype.text, DTYPES, "dtype")))
        return StatedLayout(align, strides, dtype)

    def _facts(self, node: nodes.DeviceField, target: Target, loops: Loops) -> Iterator[tuple[str, Any]]:
        for setting in node.settings:
            name = setting.name.text
            if name not in target.facts:
                self.findings.add(
                    codes.UNKNOWN_FACT.at(setting.name.span, f"target {target.name} has no fact '{name}'", hint=did_you_mean(name, target.facts, "fact"))
                )
                continue
            kind = target.facts[name]
            yield name, typed_constant(setting.value, kind, dict(loops), self.findings, f"fact '{name}'")

    def _assumed(self, fields: Fields, loops: Loops) -> tuple[frozenset[str] | None, frozenset[str]]:
        available: frozenset[str] | None = frozenset()
        unavailable: frozenset[str] = frozenset()
        for item in fields.all("assume", nodes.AssumeField):
            if item.names is None:
                if not item.available:
                    unavailable = frozenset(self.candidates)
                else:
                    available = None
                continue
            names = frozenset(self._candidate(name, loops) for name in item.names)
            if item.available:
                available = names if available is None else available | names
            else:
                unavailable |= names
        return available, unavailable

    def _candidate(self, name: nodes.Name, loops: Loops) -> str:
        text = name_text(name, loops, self.findings)
        if text not in self.candidates and text not in self.lost:
            self.findings.add(
                codes.UNKNOWN_CANDIDATE.at(name.span, f"candidate '{text}' is not declared", hint=did_you_mean(text, self.candidates, "candidate"))
            )
        return text

    def _expectations(self, fields: Fields, loops: Loops) -> Iterator[Expectation]:
        for item in fields.all("expect", nodes.ExpectField):
            text = name_text(item.candidate, loops, self.findings)
            if text in ("reference", "undecided"):
                if item.verdict is not None:
                    self.findings.add(codes.TEST_REQUEST.at(item.verdict.span, f"'{text}' is an outcome and has no verdict", hint=f"write `expect {text}`"))
            else:
                text = self._candidate(item.candidate, loops)
            verdict = None if item.verdict is None else item.verdict.text
            if verdict is not None and verdict not in VERDICTS and item.verdict is not None:
                self.findings.add(codes.BAD_FIELD.at(item.verdict.span, f"'{verdict}' is no verdict", hint=did_you_mean(verdict, VERDICTS, "verdict")))
            by = None if item.by is None else fill(item.by.value, loops, item.by.span, self.findings, string=True)
            yield Expectation(item.negated, text, verdict, by, item.span)
