"""Sets of integers that clauses describe: unions of intervals with congruences, closed under and, or and not.

Everything is exact integer arithmetic. Where an operation would grow past the limits below, the result is a superset and
says so (``exact`` is False), so that *empty* always means empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import gcd

from attrs import frozen

from tessera_rules.compile.domain.pieces import MAX_RESIDUES, Piece, joined, make_piece, meet, moved

MAX_PIECES = 64
"""Most intervals in one set."""


@frozen
class IntegerSet:
    """A set of integers. ``exact`` False means that it may hold more than what was described, never less.

    >>> tiles = multiples(16) & between(1, 256)
    >>> tiles.low, tiles.high, 72 in tiles, tiles.first(17), (tiles & at_most(15)).empty
    (16, 256, False, 32, True)
    """

    pieces: tuple[Piece, ...]
    exact: bool = True

    def __contains__(self, x: int) -> bool:
        return any(x in piece for piece in self.pieces)

    @property
    def empty(self) -> bool:
        """Whether there is no member. Certain also where the set is not exact."""
        return not self.pieces

    @property
    def low(self) -> int | None:
        """The least member, None where there is none or no end."""
        lows = [piece.low for piece in self.pieces]
        return None if None in lows or not lows else min(low for low in lows if low is not None)

    @property
    def high(self) -> int | None:
        """The largest member, None where there is none or no end."""
        highs = [piece.high for piece in self.pieces]
        return None if None in highs or not highs else max(high for high in highs if high is not None)

    @property
    def full(self) -> bool:
        """Whether every integer is a member."""
        return Piece(None, None) in self.pieces

    @property
    def only(self) -> int | None:
        """The one member, where there is exactly one."""
        if len(self.pieces) != 1:
            return None
        return self.pieces[0].low if self.pieces[0].low == self.pieces[0].high else None

    @property
    def modulus(self) -> int:
        """The largest m such that all members agree modulo m (1 where there is none; 0 for at most one member)."""
        found = 0
        anchor: int | None = None
        for piece in self.pieces:
            for r in piece.residues:
                member = piece.first(piece.low) if piece.low is not None else r
                assert member is not None
                x = member + (r - member) % piece.modulus
                anchor = x if anchor is None else anchor
                found = gcd(found, abs(x - anchor), 0 if piece.low is not None and piece.low == piece.high else piece.modulus)
        return found

    def count(self) -> int | None:
        """Return the number of members (at most: pieces may overlap), or None where there is no end."""
        total = 0
        for piece in self.pieces:
            count = piece.count()
            if count is None:
                return None
            total += count
        return total

    def first(self, at_least: int) -> int | None:
        """Return the least member that is at least a number."""
        found = [x for piece in self.pieces if (x := piece.first(at_least)) is not None]
        return min(found, default=None)

    def last(self, at_most: int) -> int | None:
        """Return the largest member that is at most a number."""
        found = [x for piece in self.pieces if (x := piece.last(at_most)) is not None]
        return max(found, default=None)

    def members(self, at_least: int = 0) -> Iterator[int]:
        """Yield the members from a number upwards, without end where the set has none."""
        x = self.first(at_least)
        while x is not None:
            yield x
            x = self.first(x + 1)

    def values(self, limit: int) -> tuple[int, ...] | None:
        """Return all members in order, or None where they are more than a limit."""
        count = self.count()
        if count is None or count > 4 * limit:
            return None
        low = self.low
        found = tuple(self.members(low)) if low is not None else ()
        return found if len(found) <= limit else None

    def __and__(self, other: IntegerSet) -> IntegerSet:
        if self.full and self.exact:
            return other
        if other.full and other.exact:
            return self
        found: list[Piece] = []
        exact = self.exact and other.exact
        for a in self.pieces:
            for b in other.pieces:
                piece, precise = meet(a, b)
                exact = exact and precise
                if piece is not None:
                    found.append(piece)
        return _gathered(found, exact)

    def __or__(self, other: IntegerSet) -> IntegerSet:
        return _gathered([*self.pieces, *other.pieces], self.exact and other.exact)

    def __invert__(self) -> IntegerSet:
        if not self.exact:
            return IntegerSet((Piece(None, None),), exact=False)
        found = EVERY
        for piece in self.pieces:
            rest: list[Piece | None] = []
            if piece.low is not None:
                rest.append(make_piece(None, piece.low - 1))
            if piece.high is not None:
                rest.append(make_piece(piece.high + 1, None))
            exact = True
            if piece.modulus > MAX_RESIDUES:
                rest.append(make_piece(piece.low, piece.high))
                exact = False
            elif piece.modulus > 1:
                others = frozenset(range(piece.modulus)) - piece.residues
                rest.append(make_piece(piece.low, piece.high, piece.modulus, others))
            found = found & _gathered([each for each in rest if each is not None], exact)
        return found

    def shift(self, by: int) -> IntegerSet:
        """Return the set of ``x + by``."""
        return IntegerSet(tuple(moved(piece, by) for piece in self.pieces), self.exact)

    def negated(self) -> IntegerSet:
        """Return the set of ``-x``."""
        found = [
            Piece(
                None if piece.high is None else -piece.high,
                None if piece.low is None else -piece.low,
                piece.modulus,
                frozenset(-r % piece.modulus for r in piece.residues),
            )
            for piece in self.pieces
        ]
        return _gathered(found, self.exact)


def _order(piece: Piece) -> tuple[bool, int]:
    return piece.low is not None, piece.low or 0


def _gathered(pieces: list[Piece], exact: bool) -> IntegerSet:
    """Return the union of pieces, joined where they touch, and as one hull where they are too many."""
    kept: list[Piece] = []
    for piece in sorted(pieces, key=_order):
        for i, other in enumerate(kept):
            whole = joined(other, piece)
            if whole is not None:
                kept[i] = whole
                break
        else:
            kept.append(piece)
    if len(kept) > MAX_PIECES:
        lows, highs = [piece.low for piece in kept], [piece.high for piece in kept]
        low = None if None in lows else min(low for low in lows if low is not None)
        high = None if None in highs else max(high for high in highs if high is not None)
        return IntegerSet((Piece(low, high),), exact=False)
    return IntegerSet(tuple(kept), exact)


def _of(piece: Piece | None) -> IntegerSet:
    return IntegerSet(() if piece is None else (piece,))


EVERY = IntegerSet((Piece(None, None),))
NOTHING = IntegerSet(())
MAX_SIZE = 2**63 - 1
"""No operand has a dimension past this."""


def between(low: int | None, high: int | None, step: int = 1) -> IntegerSet:
    """Return ``low..high step s``, counted from ``low``; None is open."""
    if step == 1 or low is None:
        return _of(make_piece(low, high))
    return _of(make_piece(low, high, step, (low % step,)))


def at_least(low: int) -> IntegerSet:
    """Return all integers from a number up."""
    return between(low, None)


def at_most(high: int) -> IntegerSet:
    """Return all integers up to a number."""
    return between(None, high)


def exactly(*values: int) -> IntegerSet:
    """Return a set of listed integers."""
    found = sorted(set(values))
    steps = {b - a for a, b in pairwise(found)}
    if len(steps) == 1:
        return between(found[0], found[-1], steps.pop())
    pieces: list[Piece] = []
    for value in found:
        if pieces and pieces[-1].high == value - 1:
            pieces[-1] = Piece(pieces[-1].low, value)
        else:
            pieces.append(Piece(value, value))
    if len(pieces) > MAX_PIECES:
        return IntegerSet((Piece(found[0], found[-1]),), exact=False)
    return IntegerSet(tuple(pieces))


def multiples(modulus: int, *residues: int) -> IntegerSet:
    """Return the integers that leave one of the residues (0 where none is listed)."""
    return _of(make_piece(None, None, modulus, residues or (0,)))


NATURAL = between(0, MAX_SIZE)
