"""Bounds of expressions of several names, and what bounds of the whole say about the names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

from tessera_rules.compile.domain.integers import IntegerSet
from tessera_rules.compile.domain.linear import integer
from tessera_rules.model.terms import Apply, Fact, Term


@frozen
class Interval:
    """``low <= x <= high``; None is open.

    >>> Interval(1, 4) * Interval(2, None)
    Interval(low=2, high=None)
    """

    low: int | None = None
    high: int | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing lies between."""
        return self.low is not None and self.high is not None and self.low > self.high

    def __and__(self, other: Interval) -> Interval:
        low = self.low if other.low is None else other.low if self.low is None else max(self.low, other.low)
        high = self.high if other.high is None else other.high if self.high is None else min(self.high, other.high)
        return Interval(low, high)

    def __add__(self, other: Interval) -> Interval:
        return Interval(
            None if self.low is None or other.low is None else self.low + other.low,
            None if self.high is None or other.high is None else self.high + other.high,
        )

    def __neg__(self) -> Interval:
        return Interval(None if self.high is None else -self.high, None if self.low is None else -self.low)

    def __mul__(self, other: Interval) -> Interval:
        if self.low is not None and other.low is not None and self.low >= 0 and other.low >= 0:
            return Interval(self.low * other.low, None if self.high is None or other.high is None else self.high * other.high)
        if None in (self.low, self.high, other.low, other.high):
            return Interval()
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high) if a is not None and b is not None]
        return Interval(min(corners), max(corners))


POSITIVE = Interval(1, None)

Bounds = Callable[[str], Interval]
"""From a fact key to the bounds of its values."""


def bounds(term: Term, of: Bounds) -> Interval:
    """Return bounds that an integer expression cannot leave where it is no error."""
    constant = integer(term)
    if constant is not None:
        return Interval(constant, constant)
    if isinstance(term, Fact):
        return of(term.key) if term.type.kind == "int" else Interval()
    if not isinstance(term, Apply) or term.type.kind != "int":
        return Interval()
    op = term.op
    if op == "if":
        a, b = bounds(term.args[1], of), bounds(term.args[2], of)
        low = None if a.low is None or b.low is None else min(a.low, b.low)
        return Interval(low, None if a.high is None or b.high is None else max(a.high, b.high))
    if op == "bits" or op == "bytes":
        return Interval(1, 128)
    parts = [bounds(arg, of) for arg in term.args] if op in _FORWARD else []
    return _FORWARD[op](parts) if op in _FORWARD else Interval()


def _floordiv(parts: list[Interval]) -> Interval:
    x, d = parts
    if d.high is not None and d.high < 1:
        return Interval()  # always an error: nothing to bound
    low_d, high_d = max(d.low or 1, 1), d.high
    low = None if x.low is None else x.low // low_d if x.low < 0 else 0 if high_d is None else x.low // high_d
    high = None if x.high is None else x.high // low_d if x.high >= 0 else -1 if high_d is None else x.high // high_d
    return Interval(low, high)


def _mod(parts: list[Interval]) -> Interval:
    x, d = parts
    if d.high is not None and d.high < 1:
        return Interval()
    high = None if d.high is None else d.high - 1
    if x.low is not None and x.low >= 0 and x.high is not None:
        high = x.high if high is None else min(high, x.high)
    return Interval(0, high)


def _least(parts: list[Interval]) -> Interval:
    lows = [part.low for part in parts]
    highs = [part.high for part in parts if part.high is not None]
    return Interval(None if None in lows else min(low for low in lows if low is not None), min(highs, default=None))


def _most(parts: list[Interval]) -> Interval:
    return -_least([-part for part in parts])


def _ceil_div(parts: list[Interval]) -> Interval:
    return -_floordiv([-parts[0], parts[1]])


def _align_up(parts: list[Interval]) -> Interval:
    x, d = parts
    return Interval(x.low, None if x.high is None or d.high is None else x.high + d.high - 1)


def _abs(parts: list[Interval]) -> Interval:
    (x,) = parts
    if x.low is not None and x.low >= 0:
        return x
    return Interval(0, None if x.low is None or x.high is None else max(-x.low, x.high))


def _log2(parts: list[Interval]) -> Interval:
    (x,) = parts
    low = 0 if x.low is None or x.low < 1 else x.low.bit_length() - 1
    return Interval(low, None if x.high is None else max(x.high, 1).bit_length() - 1)


_FORWARD: dict[str, Callable[[list[Interval]], Interval]] = {
    "add": lambda parts: parts[0] + parts[1],
    "sub": lambda parts: parts[0] + -parts[1],
    "neg": lambda parts: -parts[0],
    "mul": lambda parts: parts[0] * parts[1],
    "floordiv": _floordiv,
    "mod": _mod,
    "min": _least,
    "max": _most,
    "ceil_div": _ceil_div,
    "align_up": _align_up,
    "abs": _abs,
    "log2": _log2,
    "gcd": lambda parts: Interval(0, None),
}


def contradictory(expressions: Mapping[str, tuple[Term, IntegerSet]], of: Bounds) -> bool:
    """Whether bounds of differences of two names (``M - N <= 3``) exclude each other around a cycle, such as ``M < N``, ``N < K``, ``K < M``."""
    edges: list[tuple[str, str, int]] = []  # (x, y, c) says x - y <= c; the name "" is 0
    for core, values in expressions.values():
        if isinstance(core, Apply) and core.op == "sub" and all(isinstance(arg, Fact) for arg in core.args):
            x, y = (arg.key for arg in core.args if isinstance(arg, Fact))
            if values.high is not None:
                edges.append((x, y, values.high))
            if values.low is not None:
                edges.append((y, x, -values.low))
    names = {name for x, y, _ in edges for name in (x, y)}
    if len(edges) < 2:
        return False
    for name in names:
        within = of(name)
        if within.high is not None:
            edges.append((name, "", within.high))
        if within.low is not None:
            edges.append(("", name, -within.low))
    distance = dict.fromkeys((*names, ""), 0)
    for _ in range(len(distance)):
        moved = False
        for x, y, c in edges:
            if distance[y] + c < distance[x]:
                distance[x] = distance[y] + c
                moved = True
        if not moved:
            return False
    return True


def narrow(term: Term, within: Interval, of: Bounds, found: dict[str, Interval]) -> bool:
    """Collect into ``found`` what ``term`` lying in an interval says of its facts. Returns False where it cannot lie there."""
    pending = [(term, within)]
    while pending:
        part, wanted = pending.pop()
        wanted = wanted & bounds(part, of)
        if wanted.empty:
            return False
        if isinstance(part, Fact):
            if part.type.kind == "int":
                found[part.key] = found.get(part.key, Interval()) & wanted
                if found[part.key].empty:
                    return False
        elif isinstance(part, Apply):
            pending += _backward(part, wanted, of)
    return True


def _backward(term: Apply, wanted: Interval, of: Bounds) -> list[tuple[Term, Interval]]:
    """Return what an interval of an expression says of its parts."""
    op = term.op
    if op in ("add", "sub", "mul", "floordiv", "ceil_div", "align_up"):
        x, y = term.args
        a, b = bounds(x, of), bounds(y, of)
        if op == "add":
            return [(x, wanted + -b), (y, wanted + -a)]
        if op == "sub":
            return [(x, wanted + b), (y, a + -wanted)]
        if op == "mul":
            return [*_factor(x, wanted, b), *_factor(y, wanted, a)]
        if op == "floordiv":
            return [(x, Interval(_times(wanted.low, b), _past(wanted.high, b))), (y, POSITIVE)]
        if op == "ceil_div":
            inner = -wanted
            return [(x, -Interval(_times(inner.low, b), _past(inner.high, b))), (y, POSITIVE)]
        low = None if wanted.low is None or b.high is None else wanted.low - b.high + 1
        return [(x, Interval(low, wanted.high)), (y, POSITIVE)]
    if op == "mod":
        return [(term.args[1], POSITIVE)]
    if op == "neg":
        return [(term.args[0], -wanted)]
    if op == "min" and wanted.low is not None:
        return [(arg, Interval(wanted.low, None)) for arg in term.args]
    if op == "max" and wanted.high is not None:
        return [(arg, Interval(None, wanted.high)) for arg in term.args]
    return []


def _factor(x: Term, product: Interval, other: Interval) -> list[tuple[Term, Interval]]:
    """Bounds of one factor, where the other is positive: the product's bounds divided."""
    if other.low is None or other.low < 1:
        return []
    low = None if product.low is None else -(-product.low // other.low) if product.low <= 0 else 1 if other.high is None else -(-product.low // other.high)
    high = None if product.high is None else product.high // other.low if product.high >= 0 else -1 if other.high is None else product.high // other.high
    return [(x, Interval(low, high))]


def _times(quotient: int | None, divisor: Interval) -> int | None:
    """The least x with ``x // d`` at least a quotient, for the divisor that asks least."""
    if quotient is None:
        return None
    if quotient >= 0:
        return quotient * max(divisor.low or 1, 1)
    return None if divisor.high is None else quotient * divisor.high


def _past(quotient: int | None, divisor: Interval) -> int | None:
    """The largest x with ``x // d`` at most a quotient, for the divisor that allows most."""
    if quotient is None:
        return None
    if quotient >= 0:
        return None if divisor.high is None else quotient * divisor.high + divisor.high - 1
    return (quotient + 1) * max(divisor.low or 1, 1) - 1
