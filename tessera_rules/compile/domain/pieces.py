"""One interval of integers with a congruence: what sets are made of.

Everything is exact. Where a result would need a larger table of residues than `MAX_RESIDUES`, it is a superset and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd, lcm

from attrs import frozen

MAX_RESIDUES = 65_536
"""Largest table of residues that is worked out."""


@frozen
class Piece:
    """``low <= x <= high`` (None is open) and ``x % modulus in residues``. Both ends are members where they are given."""

    low: int | None
    high: int | None
    modulus: int = 1
    residues: frozenset[int] = frozenset((0,))

    def __contains__(self, x: int) -> bool:
        return (self.low is None or self.low <= x) and (self.high is None or x <= self.high) and x % self.modulus in self.residues

    @property
    def _dense(self) -> bool:
        """Whether a step or two from any number leads to a member, as where only a few residues are left out."""
        return 1 < self.modulus <= 2 * len(self.residues)

    def first(self, at_least: int) -> int | None:
        """Return the least member that is at least a number."""
        x = at_least if self.low is None else max(at_least, self.low)
        if self._dense:
            while x % self.modulus not in self.residues:
                x += 1
        elif self.modulus > 1:
            place = x % self.modulus
            x += min((r - place) % self.modulus for r in self.residues)
        return x if self.high is None or x <= self.high else None

    def last(self, at_most: int) -> int | None:
        """Return the largest member that is at most a number."""
        x = at_most if self.high is None else min(at_most, self.high)
        if self._dense:
            while x % self.modulus not in self.residues:
                x -= 1
        elif self.modulus > 1:
            place = x % self.modulus
            x -= min((place - r) % self.modulus for r in self.residues)
        return x if self.low is None or x >= self.low else None

    def count(self) -> int | None:
        """Return how many members there are, or None where there is no end."""
        if self.low is None or self.high is None:
            return None
        if self.modulus == 1:
            return self.high - self.low + 1
        rounds, rest = divmod(self.high - self.low + 1, self.modulus)
        start = self.low % self.modulus
        return rounds * len(self.residues) + sum((r - start) % self.modulus < rest for r in self.residues)


ANY_RESIDUE = frozenset((0,))


def make_piece(low: int | None, high: int | None, modulus: int = 1, residues: Iterable[int] = ANY_RESIDUE) -> Piece | None:
    """Return a piece in its one form, its ends moved in to members, or None where it has no member."""
    modulus, found = _reduced(modulus, frozenset(residues))
    if not found:
        return None
    piece = Piece(low, high, modulus, found)
    if low is not None:
        low = piece.first(low)
        if low is None:
            return None
    if high is not None:
        high = piece.last(high)
        if high is None or (low is not None and low > high):
            return None
    return Piece(low, high) if low is not None and low == high else Piece(low, high, modulus, found)


def _reduced(modulus: int, residues: frozenset[int]) -> tuple[int, frozenset[int]]:
    """Return the same congruence with the least modulus that can say it."""
    if len(residues) == modulus:
        return 1, ANY_RESIDUE
    if len(residues) > 1:
        for prime in _primes_of(modulus):
            while modulus % prime == 0 and len(residues) % prime == 0 and all((r + modulus // prime) % modulus in residues for r in residues):
                modulus //= prime
                residues = frozenset(r % modulus for r in residues)
    return modulus, residues


def _primes_of(n: int) -> Iterator[int]:
    prime = 2
    while prime * prime <= n and prime < 1000:
        if n % prime == 0:
            yield prime
            while n % prime == 0:
                n //= prime
        prime += 1
    if n > 1:
        yield n


def meet(a: Piece, b: Piece) -> tuple[Piece | None, bool]:
    """Return the common part of two pieces, and whether it is exact."""
    low = a.low if b.low is None else b.low if a.low is None else max(a.low, b.low)
    high = a.high if b.high is None else b.high if a.high is None else min(a.high, b.high)
    if low is not None and high is not None and low > high:
        return None, True
    if a.modulus > b.modulus:
        a, b = b, a
    if b.modulus % a.modulus == 0:
        found = b.residues if a.modulus == 1 else frozenset(r for r in b.residues if r % a.modulus in a.residues)
        return make_piece(low, high, b.modulus, found), True
    both = lcm(a.modulus, b.modulus)
    if len(b.residues) * (both // b.modulus) <= MAX_RESIDUES:
        found = frozenset(x for r in b.residues for x in range(r, both, b.modulus) if x % a.modulus in a.residues)
        return make_piece(low, high, both, found), True
    if len(a.residues) * len(b.residues) <= MAX_RESIDUES:
        common = gcd(a.modulus, b.modulus)
        found = frozenset(_crt(r, a.modulus, s, b.modulus, common, both) for r in a.residues for s in b.residues if (r - s) % common == 0)
        return make_piece(low, high, both, found), True
    return make_piece(low, high, b.modulus, b.residues), False


def _crt(r: int, m: int, s: int, n: int, common: int, both: int) -> int:
    """Return the residue modulo ``lcm(m, n)`` that is r modulo m and s modulo n."""
    inverse = pow(m // common, -1, n // common) if n > common else 0
    return (r + m * ((s - r) // common * inverse % (n // common))) % both


def moved(piece: Piece, by: int) -> Piece:
    """Return the piece of ``x + by``."""
    return Piece(
        None if piece.low is None else piece.low + by,
        None if piece.high is None else piece.high + by,
        piece.modulus,
        frozenset((r + by) % piece.modulus for r in piece.residues),
    )


def joined(a: Piece, b: Piece) -> Piece | None:
    """Return one piece for two, where one is enough; ``b`` does not start before ``a``."""
    within = b.modulus % a.modulus == 0 and (a.modulus == 1 or all(r % a.modulus in a.residues for r in b.residues))
    if within and (a.high is None or (b.high is not None and b.high <= a.high)):
        return a
    single = b.low is not None and b.low == b.high
    if single and b.low is not None and b.low in a:
        return a
    if (a.modulus, a.residues) == (b.modulus, b.residues) or (single and b.low is not None and b.low % a.modulus in a.residues):
        following = None if a.high is None else Piece(None, None, a.modulus, a.residues).first(a.high + 1)
        if following is None or b.low is None or b.low <= following:
            high = None if a.high is None or b.high is None else max(a.high, b.high)
            return Piece(a.low, high, a.modulus, a.residues)
    if a.modulus == b.modulus and (a.low, a.high) == (b.low, b.high) and a.modulus > 1:
        return make_piece(a.low, a.high, a.modulus, a.residues | b.residues)
    return None
