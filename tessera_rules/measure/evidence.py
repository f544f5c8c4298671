"""Evidence that one of two contestants is faster: an e-value of their rounds, which may be looked at after each of them."""

from __future__ import annotations

from functools import cache
from math import comb


def e_value(rounds: int, wins: int) -> float:
    """Return the evidence of ``wins`` in ``rounds`` against "it wins at most every other time".

    It is ``2^(n+1) * integral over p in [1/2, 1] of p^k (1-p)^(n-k)``: a uniform mixture of likelihood ratios, whose mean
    under the hypothesis is at most 1 at any stopping time, so that it exceeds 1/α with a probability of at most α (Ville).
    The integral is a sum of binomials, and the value here exact but for the last rounding.

    >>> e_value(0, 0), round(e_value(8, 8), 2), round(e_value(24, 12), 2)
    (1.0, 56.78, 0.25)
    """
    n, k = rounds, wins
    return sum(comb(n + 1, j) for j in range(k + 1)) / ((n + 1) * comb(n, k))


@cache
def wins_needed(rounds: int, threshold: float) -> int:
    """Return the fewest wins in so many rounds whose evidence reaches a threshold; one more than the rounds where none does.

    >>> wins_needed(7, 40.0), wins_needed(8, 40.0), wins_needed(24, 40.0)
    (8, 8, 20)
    """
    return next((wins for wins in range(rounds + 1) if e_value(rounds, wins) >= threshold), rounds + 1)
