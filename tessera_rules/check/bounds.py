"""What is known of an integer term without a solver: a lower and an upper bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import define, field

from tessera_rules.model.terms import Apply, Const, Fact, Term
from tessera_rules.model.values import Dim, Op

_LEAST = {"align:": 1, "max_offset:": 0}
"""Facts that are never below a value, whatever the request is."""


@define
class Bounds:
    """Bounds of facts: those of an op's ``dim`` fields, narrowed by conditions that hold.

    A condition narrows where it is a comparison of one fact with a constant, or an `and` of such.
    """

    dims: Mapping[str, Dim] = field(factory=dict)
    low: dict[str, int] = field(factory=dict)
    high: dict[str, int] = field(factory=dict)

    @classmethod
    def of(cls, op: Op | None, held: Iterable[Term] = ()) -> Bounds:
        """Return the bounds for requests of an op of which some conditions hold."""
        made = cls(op.dims if op is not None else {})
        for term in held:
            made.take(term)
        return made

    def copy(self) -> Bounds:
        """Return bounds that can be narrowed without changing these."""
        return Bounds(self.dims, dict(self.low), dict(self.high))

    def take(self, term: Term, *, holds: bool = True) -> None:
        """Narrow by a condition that holds, or (``holds=False``) that does not."""
        if not isinstance(term, Apply):
            return
        if term.op == "not":
            self.take(term.args[0], holds=not holds)
        elif (term.op == "and" and holds) or (term.op == "or" and not holds):
            for arg in term.args:
                self.take(arg, holds=holds)
        elif term.op in _MIRROR:
            self._compare(term.op if holds else _NEGATED[term.op], term.args[0], term.args[1])
        elif term.op == "in_range" and holds:
            self._compare("ge", term.args[0], term.args[1])
            self._compare("le", term.args[0], term.args[2])
        elif term.op == "in" and holds:
            values = [constant(arg) for arg in term.args[1:]]
            known = [value for value in values if value is not None]
            if values and len(known) == len(values):
                self._compare("ge", term.args[0], Const(term.args[0].type, min(known)))
                self._compare("le", term.args[0], Const(term.args[0].type, max(known)))

    def _compare(self, op: str, left: Term, right: Term) -> None:
        if isinstance(right, Fact) and constant(left) is not None:
            op, left, right = _MIRROR[op], right, left
        value = constant(right)
        if not isinstance(left, Fact) or value is None:
            return
        key = left.key
        if op in ("ge", "gt", "eq"):
            least = value + (op == "gt")
            self.low[key] = max(self.low.get(key, least), least)
        if op in ("le", "lt", "eq"):
            most = value - (op == "lt")
            self.high[key] = min(self.high.get(key, most), most)
        if op == "ne" and value == 0 and (self.lower(left) or 0) == 0 and self.lower(left) is not None:
            self.low[key] = 1

    def lower(self, term: Term) -> int | None:
        """Return a value that the term is never below, or None."""
        value = constant(term)
        if value is not None:
            return value
        if isinstance(term, Fact):
            known = self.low.get(term.key)
            own = self._fact_low(term.key)
            return own if known is None else known if own is None else max(known, own)
        return self._apply_low(term) if isinstance(term, Apply) else None

    def upper(self, term: Term) -> int | None:
        """Return a value that the term is never above, or None."""
        value = constant(term)
        if value is not None:
            return value
        if isinstance(term, Fact):
            known = self.high.get(term.key)
            dim = self.dims.get(term.key[4:]) if term.key.startswith("dim:") else None
            own = dim.high if dim is not None else None
            return own if known is None else known if own is None else min(known, own)
        return self._apply_high(term) if isinstance(term, Apply) else None

    def _fact_low(self, key: str) -> int | None:
        if key.startswith("dim:"):
            dim = self.dims.get(key[4:])
            return dim.low if dim is not None else 0
        if key == "threads":
            return 1
        return next((least for start, least in _LEAST.items() if key.startswith(start)), None)

    def _apply_low(self, term: Apply) -> int | None:
        lows = [self.lower(arg) for arg in term.args if term.op not in ("if", "bytes", "bits")]
        known = [low for low in lows if low is not None]
        everything = len(known) == len(lows)
        if term.op in ("bytes", "bits"):
            return 1
        if term.op == "if":
            branches = [self.lower(arg) for arg in term.args[1:]]
            return None if None in branches else min(each for each in branches if each is not None)
        if term.op == "max" and known:
            return max(known)
        if term.op in ("add", "min", "mul") and everything and known:
            if term.op == "add":
                return sum(known)
            if term.op == "min":
                return min(known)
            product = 1
            for low in known:
                if low < 0:
                    return None
                product *= low
            return product
        if term.op == "sub" and everything:
            most = self.upper(term.args[1])
            return None if most is None else known[0] - most
        if term.op in ("ceil_div", "floordiv") and everything and known[0] >= 0 and known[1] >= 1:
            most = self.upper(term.args[1])
            if most is None:
                return int(term.op == "ceil_div" and known[0] >= 1)
            return -(-known[0] // most) if term.op == "ceil_div" else known[0] // most
        if term.op == "align_up" and everything and known[1] >= 1:
            return known[0]
        if term.op == "gcd" and everything:
            return 1 if any(low >= 1 for low in known) else 0
        if term.op in ("mod", "abs", "log2"):
            return 0
        return None

    def _apply_high(self, term: Apply) -> int | None:
        if term.op in ("bytes", "bits"):
            return 16 if term.op == "bytes" else 128
        if term.op == "min":
            known = [high for arg in term.args if (high := self.upper(arg)) is not None]
            return min(known) if known else None
        if term.op == "mod":
            most = self.upper(term.args[1])
            return None if most is None else most - 1
        highs = [self.upper(arg) for arg in (term.args[1:] if term.op == "if" else term.args)]
        if any(high is None for high in highs):
            return self.upper(term.args[0]) if term.op == "floordiv" and (self.lower(term.args[0]) or -1) >= 0 else None
        known = [high for high in highs if high is not None]
        match term.op:
            case "add":
                return sum(known)
            case "max" | "if":
                return max(known)
            case "mul":
                product = 1
                for arg, high in zip(term.args, known, strict=True):
                    low = self.lower(arg)
                    if low is None or low < 0:
                        return None
                    product *= high
                return product
            case "sub":
                least = self.lower(term.args[1])
                return None if least is None else known[0] - least
            case "floordiv" | "ceil_div":
                least = self.lower(term.args[1])
                if least is None or least < 1 or known[0] < 0:
                    return None
                return known[0] // least if term.op == "floordiv" else -(-known[0] // least)
        return None


_MIRROR = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


def constant(term: Term) -> int | None:
    """Return the value of a term that is a constant integer, or None."""
    if isinstance(term, Const):
        return term.value if isinstance(term.value, int) and not isinstance(term.value, bool) else None
    if isinstance(term, Apply) and term.op in ("add", "sub", "mul", "neg", "floordiv", "mod", "min", "max"):
        values: list[int] = []
        for arg in term.args:
            value = constant(arg)
            if value is None:
                return None
            values.append(value)
        return _fold(term.op, values)
    return None


def _fold(op: str, values: list[int]) -> int | None:
    match op:
        case "neg":
            return -values[0]
        case "add":
            return values[0] + values[1]
        case "sub":
            return values[0] - values[1]
        case "mul":
            return values[0] * values[1]
        case "floordiv" | "mod":
            if values[1] <= 0:
                return None
            return values[0] // values[1] if op == "floordiv" else values[0] % values[1]
        case "min":
            return min(values)
    return max(values)
