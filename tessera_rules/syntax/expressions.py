# ruff: noqa: D102 - the methods are named and ordered by the aliases in grammars/tsr.lark, which say what each is for

"""Expressions from the leaves up, with their limits: depth, size and the bits of an integer."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any

from tessera_rules.diagnostic import Finding
from tessera_rules.source import Source, Span
from tessera_rules.syntax import codes, nodes
from tessera_rules.syntax.literals import integer, unescape

Part = Any
Parts = list[Any]


class ExpressionBuilder:
    """The methods for expressions, patterns, names and lists."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.findings: list[Finding] = []
        self.damage: list[int] = []
        self._tuples: dict[int, nodes.TupleExpr] = {}

    def span(self, begin: int, end: int) -> Span:
        """Return a piece of the source."""
        return Span(self.source, begin, end)

    def text(self, token: tuple[int, int]) -> str:
        """Return the text of a token."""
        return self.source.text[token[0] : token[1]]

    def damaged(self, begin: int, end: int) -> bool:
        """Whether a mistake lies in a piece of the source."""
        place = bisect_left(self.damage, begin)
        return place < len(self.damage) and self.damage[place] < end

    def hurt(self, offset: int) -> None:
        """Note that a mistake lies at an offset; `damage` stays sorted."""
        insort(self.damage, offset)

    # ---- lists and names -------------------------------------------------------------------------------------------

    def first(self, parts: Parts, begin: int, end: int) -> Parts:
        return [parts[0]]

    def append(self, parts: Parts, begin: int, end: int) -> Parts:
        grown: Parts = parts[0]
        grown.append(parts[2])
        return grown

    def join(self, parts: Parts, begin: int, end: int) -> Parts:
        grown: Parts = parts[0]
        grown.append(parts[1])
        return grown

    # The same three by other names: the layout tells what they join.
    append_part = append
    join_part = join
    join_field = join

    def second(self, parts: Parts, begin: int, end: int) -> Part:
        return parts[1]

    def block_empty(self, parts: Parts, begin: int, end: int) -> Parts:
        return []

    empty_list = block_empty

    def chain_two(self, parts: Parts, begin: int, end: int) -> Parts:
        return [parts[0], parts[2]]

    def to_name(self, token: tuple[int, int]) -> nodes.Name:
        """Return the name that a token is."""
        return nodes.Name(self.source.text[token[0] : token[1]], span=Span(self.source, *token))

    def name(self, parts: Parts, begin: int, end: int) -> nodes.Name:
        return self.to_name(parts[0])

    def keyword(self, parts: Parts, begin: int, end: int) -> tuple[nodes.Name, nodes.Expr]:
        return self.to_name(parts[0]), parts[2]

    # ---- leaves ----------------------------------------------------------------------------------------------------

    def name_ref(self, parts: Parts, begin: int, end: int) -> nodes.NameRef:
        return nodes.NameRef(self.source.text[begin:end], span=Span(self.source, begin, end))

    def int_literal(self, parts: Parts, begin: int, end: int) -> nodes.IntLit:
        span = Span(self.source, begin, end)
        value = integer(self.source.text[begin:end])
        if value is None:
            self._limit(codes.BIG_INTEGER.at(span, "this integer has more than 4,096 bits", hint="no size or address comes near it"))
            value = 0
        return nodes.IntLit(value, span=span)

    def float_literal(self, parts: Parts, begin: int, end: int) -> nodes.FloatLit:
        span = Span(self.source, begin, end)
        text = self.source.text[begin:end].replace("_", "")
        value = float(text) if len(text) <= 1300 else float("inf")
        if value == float("inf"):
            self._limit(codes.BAD_NUMBER.at(span, "this float is too large: floats go to 1.8e308"))
            value = 0.0
        return nodes.FloatLit(value, span=span)

    def string(self, parts: Parts, begin: int, end: int) -> nodes.StrLit:
        value, bad = unescape(self.source.text[begin:end])
        if bad is not None:
            at = Span(self.source, begin + bad, self.source.text.index("}", begin + bad) + 1)
            self._limit(
                codes.BAD_ESCAPE.at(at, f"'{at.text}' is no character", hint="characters go from \\u{0} to \\u{10FFFF}, without \\u{D800} to \\u{DFFF}")
            )
        return nodes.StrLit(value, span=Span(self.source, begin, end))

    def bool_literal(self, parts: Parts, begin: int, end: int) -> nodes.BoolLit:
        return nodes.BoolLit(end - begin == 4, span=Span(self.source, begin, end))

    def null_literal(self, parts: Parts, begin: int, end: int) -> nodes.NullLit:
        return nodes.NullLit(span=Span(self.source, begin, end))

    def word_part(self, parts: Parts, value: Any) -> tuple[str, tuple[int, int], Any]:
        """Return a part of a block as its word, the word's place, and its value."""
        return self.text(parts[0]), parts[0], value

    def once(self, parts: Parts, block: str) -> dict[str, Any]:
        """Return the values of parts by word; each stands once."""
        values: dict[str, Any] = {}
        for word, place, value in parts:
            if word in values:
                self.report(codes.MISPLACED.at(self.span(*place), f"`{word}` stands twice in this `{block}`", hint="delete one"))
            else:
                values[word] = value
        return values

    def report_at(self, finding: Finding, damage: int) -> None:
        """Keep a finding whose damage lies elsewhere than its place."""
        self.findings.append(finding)
        self.hurt(damage)

    def report(self, finding: Finding) -> None:
        """Keep a finding; the declaration that it lies in counts as damaged."""
        self.findings.append(finding)
        self.hurt(finding.span.start)

    # ---- limits ----------------------------------------------------------------------------------------------------

    def _limit(self, finding: Finding) -> None:
        self.findings.append(finding)
        self.hurt(finding.span.start)

    def _sizes(self, parts: tuple[nodes.Expr, ...] | Parts, begin: int, end: int) -> tuple[int, int] | None:
        """Return depth and size of a node over these parts; None, and a finding, where it is past a limit."""
        depth = 1
        size = 1
        for part in parts:
            if part.depth >= depth:
                depth = part.depth + 1
            size += part.size
        if depth > nodes.MAX_DEPTH:
            self._limit(
                codes.TOO_DEEP.at(
                    Span(self.source, begin, end),
                    f"this expression is nested deeper than {nodes.MAX_DEPTH} levels; each operator of a chain counts as one",
                    hint="name parts of it as predicates",
                )
            )
            return None
        if size > nodes.MAX_TERMS:
            self._limit(
                codes.TOO_LONG.at(Span(self.source, begin, end), f"this expression has more than {nodes.MAX_TERMS:,} parts", hint="split it into clauses")
            )
            return None
        return depth, size

    # ---- operators -------------------------------------------------------------------------------------------------

    def binary(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        left, operator, right = parts
        depth = (left.depth if left.depth > right.depth else right.depth) + 1
        size = left.size + right.size + 1
        if (depth > nodes.MAX_DEPTH or size > nodes.MAX_TERMS) and self._sizes((left, right), begin, end) is None:
            return right  # type: ignore[no-any-return]
        word: Any = self.source.text[operator[0] : operator[1]]
        return nodes.Binary(word, left, right, span=Span(self.source, begin, end), depth=depth, size=size)

    def unary_minus(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return self._unary("-", parts[1], begin, end)

    def unary_not(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return self._unary("not", parts[1], begin, end)

    def _unary(self, operator: Any, operand: nodes.Expr, begin: int, end: int) -> nodes.Expr:
        sizes = self._sizes((operand,), begin, end)
        if sizes is None:
            return nodes.NullLit(span=self.span(begin, end))
        return nodes.Unary(operator, operand, span=self.span(begin, end), depth=sizes[0], size=sizes[1])

    def bool_or(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return self._flat("or", parts[0], begin, end)

    def bool_and(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return self._flat("and", parts[0], begin, end)

    def _flat(self, operator: Any, operands: Parts, begin: int, end: int) -> nodes.Expr:
        sizes = self._sizes(operands, begin, end)
        if sizes is None:
            return nodes.NullLit(span=self.span(begin, end))
        return nodes.BoolOp(operator, tuple(operands), span=self.span(begin, end), depth=sizes[0], size=sizes[1])

    def compare_tail(self, parts: Parts, begin: int, end: int) -> tuple[str, nodes.Expr]:
        return self.text(parts[0]), parts[1]

    def compare_not_in(self, parts: Parts, begin: int, end: int) -> tuple[str, nodes.Expr]:
        return "not in", parts[2]

    def compare_first(self, parts: Parts, begin: int, end: int) -> Part:
        operator, right = parts[1]
        return [parts[0], right], [operator]

    def compare_more(self, parts: Parts, begin: int, end: int) -> Part:
        operator, right = parts[1]
        parts[0][0].append(right)
        parts[0][1].append(operator)
        return parts[0]

    def compare(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        operands, operators = parts[0]
        sizes = self._sizes(operands, begin, end)
        if sizes is None:
            return nodes.NullLit(span=self.span(begin, end))
        return nodes.Compare(tuple(operands), tuple(operators), span=Span(self.source, begin, end), depth=sizes[0], size=sizes[1])

    def if_else(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        value, _, condition, _, otherwise = parts
        sizes = self._sizes((value, condition, otherwise), begin, end)
        if sizes is None:
            return nodes.NullLit(span=self.span(begin, end))
        return nodes.IfElse(value, condition, otherwise, span=self.span(begin, end), depth=sizes[0], size=sizes[1])

    def range(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return self._range(parts[0], parts[2], None, begin, end)

    def range_step(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return self._range(parts[0], parts[2], parts[4], begin, end)

    def range_open(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return self._range(parts[0], None, None, begin, end)

    def _range(self, low: nodes.Expr, high: nodes.Expr | None, step: nodes.Expr | None, begin: int, end: int) -> nodes.Expr:
        sizes = self._sizes([each for each in (low, high, step) if each is not None], begin, end) or (1, 1)
        return nodes.RangeExpr(low, high, step, span=self.span(begin, end), depth=sizes[0], size=sizes[1])

    # ---- what follows a value ------------------------------------------------------------------------------------------

    def member(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        value = self.name_ref(parts[:1], *parts[0])
        return nodes.Member(value, self.text(parts[2]), span=self.span(begin, end), depth=2, size=2)

    def index(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        sizes = self._sizes((parts[0], parts[2]), begin, end)
        if sizes is None:
            return nodes.NullLit(span=self.span(begin, end))
        return nodes.Index(parts[0], parts[2], span=self.span(begin, end), depth=sizes[0], size=sizes[1])

    def call_bare(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return nodes.Call(self.text(parts[0]), (), function_span=self.span(*parts[0]), span=self.span(begin, end))

    def call(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        positional: list[nodes.Expr] = []
        keywords: list[tuple[nodes.Name, nodes.Expr]] = []
        for each in parts[2]:
            if isinstance(each, tuple):
                keywords.append(each)
                continue
            if keywords:
                self._limit(codes.MISPLACED.at(each.span, "an argument by position after one by name", hint="arguments by name come last"))
            positional.append(each)
        sizes = self._sizes([*positional, *(value for _, value in keywords)], begin, end)
        if sizes is None:
            return nodes.NullLit(span=self.span(begin, end))
        return nodes.Call(
            self.text(parts[0]),
            tuple(positional),
            tuple(keywords),
            function_span=self.span(*parts[0]),
            span=self.span(begin, end),
            depth=sizes[0],
            size=sizes[1],
        )

    def probe_python(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        path = self.string(parts[2:], *parts[2])
        return nodes.Call("probe python", (path,), function_span=self.span(parts[0][0], parts[1][1]), span=self.span(begin, end), depth=2, size=2)

    # ---- lists and tuples --------------------------------------------------------------------------------------------

    def list_empty(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return nodes.ListExpr((), span=self.span(begin, end))

    def list_items(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        sizes = self._sizes(parts[1], begin, end)
        if sizes is None:
            return nodes.NullLit(span=self.span(begin, end))
        return nodes.ListExpr(tuple(parts[1]), span=self.span(begin, end), depth=sizes[0], size=sizes[1])

    def tuple(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return self._tuple(parts[1], begin, end)

    def tuple_one(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return self._tuple([parts[1]], begin, end)

    def _tuple(self, items: Parts, begin: int, end: int) -> nodes.Expr:
        sizes = self._sizes(items, begin, end)
        if sizes is None:
            return nodes.NullLit(span=self.span(begin, end))
        made = nodes.TupleExpr(tuple(items), span=self.span(begin, end), depth=sizes[0], size=sizes[1])
        self._tuples[id(made)] = made
        return made

    def loop_source(self, source: nodes.ForSource) -> nodes.ForSource:
        """Return the source of a loop: its tuples stand where they may."""
        if isinstance(source, nodes.ListExpr):
            for item in source.items:
                self._tuples.pop(id(item), None)
        return source

    def misplaced_tuples(self, begin: int) -> None:
        """Report the tuples from an offset on that stand in no loop's list, unless that list is what could not be read."""
        if self._tuples:
            text = self.source.text
            for made in [each for each in self._tuples.values() if each.span.start >= begin]:
                broken = any(made.span.start < offset and "\n" not in text[made.span.start : offset].strip() for offset in self.damage)
                open_at_end = (each.span for finding in self.findings[-1:] if finding.code == codes.END_OF_FILE.code for each in finding.related)
                if not broken and not any(each.start < made.span.start and each.text == "[" for each in open_at_end):
                    self._limit(codes.MISPLACED.at(made.span, "a tuple stands only in the list of a `for`", hint="write a list: [a, b]"))
                del self._tuples[id(made)]

    # ---- patterns ----------------------------------------------------------------------------------------------------

    def pattern_empty(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return nodes.Pattern((), span=self.span(begin, end))

    def pattern(self, parts: Parts, begin: int, end: int) -> nodes.Expr:
        return nodes.Pattern(tuple(parts[1]), span=self.span(begin, end), size=1 + len(parts[1]))

    def pattern_word(self, parts: Parts, begin: int, end: int) -> nodes.PatternItem:
        return nodes.PatternWord(self.text(parts[0]), span=self.span(begin, end))

    def pattern_any(self, parts: Parts, begin: int, end: int) -> nodes.PatternItem:
        return nodes.PatternAny(span=self.span(begin, end))

    def pattern_choice(self, parts: Parts, begin: int, end: int) -> nodes.PatternItem:
        return nodes.PatternChoice(tuple(parts[1]), span=self.span(begin, end))

    def pattern_repeat(self, parts: Parts, begin: int, end: int) -> nodes.PatternItem:
        times: Any = self.text(parts[1])
        return nodes.PatternRepeat(parts[0], times, span=self.span(begin, end))
