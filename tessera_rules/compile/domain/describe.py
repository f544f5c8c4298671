"""The domain of conditions: for each name the values that they leave, and what no set per name can say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from tessera_rules.compile.domain.integers import EVERY, IntegerSet
from tessera_rules.compile.domain.solve import Solved, solve
from tessera_rules.compile.evaluate import Lookup
from tessera_rules.compile.fallible import may_fail
from tessera_rules.compile.kinds import ClauseError
from tessera_rules.compile.simplify import FALSE, simplify
from tessera_rules.model.request import UNKNOWN
from tessera_rules.model.terms import Apply, Const, Fact, Term
from tessera_rules.model.values import Clause

MAX_ALTERNATIVES = 64
"""Longest ``or`` (or negated ``and``) that is described; a longer one stays opaque."""

MAX_DESCRIBED_DEPTH = 60
"""Deepest condition that is described; a deeper one stays opaque."""


@frozen
class Choice:
    """The values that a word, dtype, boolean, version or list may have: those ``allowed`` (None: any) and not ``excluded``.

    >>> (Choice(frozenset(("f16", "bf16"))) & ~Choice(frozenset(("f16",)))).allowed
    frozenset({'bf16'})
    """

    allowed: frozenset[Any] | None = None
    excluded: frozenset[Any] = frozenset()

    @property
    def empty(self) -> bool:
        """Whether nothing is left. Where any value is allowed there is always one more."""
        return self.allowed is not None and not self.allowed

    def __contains__(self, value: object) -> bool:
        return value in self.allowed if self.allowed is not None else value not in self.excluded

    def __and__(self, other: Choice) -> Choice:
        if self.allowed is not None:
            return Choice(frozenset(value for value in self.allowed if value in other))
        return other & self if other.allowed is not None else Choice(None, self.excluded | other.excluded)

    def __or__(self, other: Choice) -> Choice:
        return ~(~self & ~other)

    def __invert__(self) -> Choice:
        return Choice(self.excluded) if self.allowed is None else Choice(None, self.allowed)


@frozen(eq=False)
class Domain:
    """Where conditions can hold.

    ``integers`` and ``choices`` go by fact key (``dim:K``, ``dtype``); a name that is not there is not bounded.
    ``expressions`` bounds expressions of several names (``M * N * K``), by key, with the term. ``opaque`` are the conditions that
    these do not say completely. With none (``exact``) the conditions hold exactly where every name lies in its set; otherwise
    they hold nowhere else, and ``empty`` always means that they can never all be true.
    """

    integers: Mapping[str, IntegerSet] = field(factory=dict)
    choices: Mapping[str, Choice] = field(factory=dict)
    expressions: Mapping[str, tuple[Term, IntegerSet]] = field(factory=dict)
    opaque: tuple[Term, ...] = ()
    never: bool = False

    @property
    def exact(self) -> bool:
        """Whether the sets say all that the conditions say."""
        return not self.opaque and all(each.exact for each in self.integers.values())

    @property
    def empty(self) -> bool:
        """Whether the conditions can never all be true."""
        sets: list[IntegerSet | Choice] = [*self.integers.values(), *self.choices.values(), *(each for _, each in self.expressions.values())]
        return self.never or any(each.empty for each in sets)

    def integer(self, key: str) -> IntegerSet:
        """Return the set of an integer fact; every integer where nothing bounds it."""
        return self.integers.get(key, EVERY)

    def choice(self, key: str) -> Choice:
        """Return what another fact may be."""
        return self.choices.get(key, Choice())

    def __and__(self, other: Domain) -> Domain:
        integers, choices, expressions = dict(self.integers), dict(self.choices), dict(self.expressions)
        for key, values in other.integers.items():
            integers[key] = integers[key] & values if key in integers else values
        for key, choice in other.choices.items():
            choices[key] = choices[key] & choice if key in choices else choice
        for key, (core, values) in other.expressions.items():
            expressions[key] = (core, expressions[key][1] & values if key in expressions else values)
        return Domain(integers, choices, expressions, (*self.opaque, *other.opaque), self.never or other.never)


EVERYWHERE = Domain()


def domain(conditions: Sequence[Clause | Term], lookup: Lookup | None = None) -> Domain:
    """Return the domain of a conjunction of conditions; with ``lookup`` what is known is put in first.

    >>> from tessera_rules.model.types import BOOL, INT
    >>> k = Fact(INT, "dim:K", "K")
    >>> tile = Apply(BOOL, "eq", (Apply(INT, "mod", (k, Const(INT, 16))), Const(INT, 0)))
    >>> found = domain([tile, Apply(BOOL, "le", (k, Const(INT, 256)))])
    >>> found.integer("dim:K").modulus, found.integer("dim:K").high, found.exact
    (16, 256, True)
    """
    found = EVERYWHERE
    for condition in conditions:
        term = condition.term if isinstance(condition, Clause) else condition
        try:
            rest = simplify(term, lookup or _nothing_known, exact=True)
        except ClauseError:
            rest = FALSE  # an error is not true
        for part in rest.args if isinstance(rest, Apply) and rest.op == "and" else (rest,):
            found = found & describe(part, True)
    return found


def _nothing_known(_key: str) -> Any:
    return UNKNOWN


def describe(term: Term, wanted: bool) -> Domain:
    """Return the domain in which one condition is true, or (``wanted`` False) is false without being an error."""
    if isinstance(term, Const):
        return Domain(never=term.value is not wanted)
    if isinstance(term, Fact):
        return Domain(choices={term.key: Choice(frozenset((wanted,)))}) if term.type.kind == "bool" else _opaque(term, wanted)
    assert isinstance(term, Apply)
    if term.depth > MAX_DESCRIBED_DEPTH:
        return _opaque(term, wanted)
    if term.op == "not":
        return describe(term.args[0], not wanted)
    if term.op in ("and", "or"):
        return _all(term, wanted) if (term.op == "and") is wanted else _some(term, wanted)
    solved = solve(term, wanted)
    if solved is not None:
        return _from(solved, term, wanted)
    return _words(term, wanted) or _opaque(term, wanted)


def _opaque(term: Term, wanted: bool) -> Domain:
    return Domain(opaque=(term if wanted else Apply(term.type, "not", (term,)),))


def _from(solved: Solved, term: Term, wanted: bool) -> Domain:
    if solved.key == "":
        return Domain(never=solved.values.empty, opaque=() if solved.values.exact else _opaque(term, wanted).opaque)
    if isinstance(solved.core, Fact):
        rest = Domain(integers={solved.key: solved.values})
    else:
        rest = Domain(expressions={solved.key: (solved.core, solved.values)})
    plain = isinstance(solved.core, Fact) and solved.values.exact
    return rest if plain else evolve(rest, opaque=_opaque(term, wanted).opaque)


def _words(term: Apply, wanted: bool) -> Domain | None:
    """Describe equality of one name with constants that are no integers."""
    if term.op not in ("eq", "ne", "in"):
        return None
    names = [arg for arg in term.args if isinstance(arg, Fact)]
    values = [arg.value for arg in term.args if isinstance(arg, Const)]
    first = term.op != "in" or isinstance(term.args[0], Fact)
    if len(names) != 1 or len(values) != len(term.args) - 1 or not first or names[0].type.kind == "float":
        return None
    choice = Choice(frozenset(values))
    return Domain(choices={names[0].key: choice if (term.op != "ne") is wanted else ~choice})


def _all(term: Apply, wanted: bool) -> Domain:
    found = EVERYWHERE
    for arg in term.args:
        found = found & describe(arg, wanted)
    return found


def _some(term: Apply, wanted: bool) -> Domain:
    """Describe alternatives: per name the union, and exactly so where they are all about the one name."""
    if len(term.args) > MAX_ALTERNATIVES:
        return _opaque(term, wanted)
    branches = [branch for branch in (describe(arg, wanted) for arg in term.args) if not branch.empty]
    if not branches:
        return Domain(never=True)
    found = branches[0]
    for branch in branches[1:]:
        found = Domain(
            {key: found.integers[key] | branch.integers[key] for key in found.integers if key in branch.integers},
            {key: found.choices[key] | branch.choices[key] for key in found.choices if key in branch.choices},
            {
                key: (found.expressions[key][0], found.expressions[key][1] | branch.expressions[key][1])
                for key in found.expressions
                if key in branch.expressions
            },
        )
    names = {key for branch in branches for key in (*branch.integers, *branch.choices, *branch.expressions)}
    exact = len(names) <= 1 and all(branch.exact for branch in branches) and all(each.exact for each in found.integers.values())
    return evolve(found, opaque=() if exact and not any(map(may_fail, term.args)) else _opaque(term, wanted).opaque)
