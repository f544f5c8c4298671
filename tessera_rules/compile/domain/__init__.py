"""Where conditions can hold: the sets of values that clauses leave, points inside and just outside, values that satisfy them.

Four questions, each answered for one clause or for a conjunction of clauses (or of bare terms):

- `domain(conditions, lookup)`: per name the values that are left, as an `IntegerSet` (bounds, congruences, holes) or a `Choice`
  (words, dtypes, booleans); what they cannot say is in ``opaque``. Always a superset; ``exact`` says where it is the set itself,
  ``empty`` is a proof.
- `satisfy(holds, universe, fails=…)`: values under which some conditions are true and others are not, evaluated; None where
  that has been proved impossible; `UNDECIDED` where the budget ended.
- `sample_points(conditions, names, …)`: telling points inside and the nearest outside, evaluated.
- `universe_of(terms, given)`: what names may be where nobody says.

Strides and offsets are names of their own unless they are put in terms of the dimensions first: `plain_layout` with
`tessera_rules.compile.simplify.substitute`.

A conjunction *fails* where it is false or an error: hand it to ``fails`` as one term (`tessera_rules.compile.simplify.conjunction`).
Keys are those of facts (``dim:K``, ``dtype``, ``attr:causal``, ``align:q``, ``device:arch``).
"""

from tessera_rules.compile.domain.describe import Choice, Domain, describe, domain
from tessera_rules.compile.domain.integers import EVERY, NATURAL, NOTHING, IntegerSet, at_least, at_most, between, exactly, multiples
from tessera_rules.compile.domain.layout import plain_layout
from tessera_rules.compile.domain.pieces import Piece
from tessera_rules.compile.domain.sample import Outside, Points, sample_points
from tessera_rules.compile.domain.satisfy import UNDECIDED, Undecided, satisfy
from tessera_rules.compile.domain.solve import Solved, solve
from tessera_rules.compile.domain.store import preferred
from tessera_rules.compile.domain.universe import OTHER, Universe, Values, named_values, of_dim, universe_of, values_of_kind
from tessera_rules.compile.fallible import may_fail

__all__ = [
    "EVERY",
    "NATURAL",
    "NOTHING",
    "OTHER",
    "UNDECIDED",
    "Choice",
    "Domain",
    "IntegerSet",
    "Outside",
    "Piece",
    "Points",
    "Solved",
    "Undecided",
    "Universe",
    "Values",
    "at_least",
    "at_most",
    "between",
    "describe",
    "domain",
    "exactly",
    "may_fail",
    "multiples",
    "named_values",
    "of_dim",
    "plain_layout",
    "preferred",
    "sample_points",
    "satisfy",
    "solve",
    "universe_of",
    "values_of_kind",
]
