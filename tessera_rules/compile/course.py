"""A decision over open sizes: what each candidate must pass, in order, and with which reason it falls out; what ranks the rest.

Structure (dtype, attributes, layouts, the machine) is settled in the terms; what they still read are dimensions. The arbiter
makes a `Course` of a request without sizes; `many` answers it for arrays of sizes, `c_header` writes it as C. A term of None is
open: it hangs on more than sizes. A fact in a term that is no dimension is missing, which makes what reads it an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from attrs import frozen

from tessera_rules.model.terms import Apply, Const, Fact, Term
from tessera_rules.model.types import BOOL
from tessera_rules.model.values import Dim

REFERENCE, UNDECIDED, RAISES = -1, -2, -3
"""Instead of a winner's index: the reference runs; what is not known decides; deciding raises (an illegal size, a refused force)."""

MISSING = Fact(BOOL, "missing", "missing")
"""A condition that is an error whatever the sizes are."""


@frozen
class Reason:
    """One way in which a candidate can come out: a verdict's word and code, and the clause that says so where one does."""

    verdict: str
    code: str
    candidate: str | None = None
    clause: str | None = None
    file: str | None = None
    line: int | None = None


@frozen(eq=False)
class Step:
    """One gate of a candidate: it stays in where ``term`` comes to ``wanted``; ``no`` and ``error`` are the reasons else."""

    term: Term | None
    no: int
    error: int
    wanted: bool = True


@frozen(eq=False)
class UsesStep:
    """A candidate stays in where another op has a winner at sizes that terms give, or an empty result."""

    course: Course
    sizes: tuple[tuple[str, Term | None], ...]
    no: int
    error: int


@frozen(eq=False)
class Lane:
    """One candidate: its steps, when it avoids itself (all terms true), its tier (smaller is better) and cost."""

    name: str
    steps: tuple[Step | UsesStep, ...]
    avoid: tuple[Term | None, ...]
    tier: int
    cost: Term | None
    open_cost: bool = False


@frozen(eq=False)
class Choice:
    """One action of a rule, where ``term`` holds (an error is a no): bit sets of lanes. ``rule`` numbers the rule, whose forces add up."""

    kind: Literal["avoid", "prefer", "force"]
    rule: int
    term: Term | None
    lanes: int
    over: int


@frozen(eq=False)
class Course:
    """A whole decision over ``dims``.

    ``domain`` (what the dimensions may be) and ``checks`` must hold for a request to be one. The result is empty where in each row
    of ``empties`` some term is 0. ``order`` holds the policy's criteria that can tell lanes apart, ``declaration`` last. ``forced``
    is the lane that the caller forces, or `REFERENCE`. ``open`` says in words what hangs on more than sizes.
    """

    op: str
    target: str
    dims: tuple[Dim, ...]
    domain: tuple[Term, ...]
    checks: tuple[Term, ...]
    empties: tuple[tuple[Term, ...], ...]
    lanes: tuple[Lane, ...]
    choices: tuple[Choice, ...]
    order: tuple[str, ...]
    nobody_raises: bool
    forced: int | None
    reasons: tuple[Reason, ...]
    open: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether each lane's place in the ranking is fixed: no rule has a say, nobody avoids or is cheaper."""
        avoids = "avoid" in self.order and any(lane.avoid for lane in self.lanes)
        return self.forced is None and not self.choices and not avoids and not self.costs

    @property
    def costs(self) -> bool:
        """Whether costs can tell lanes apart."""
        return "cost" in self.order and len(self.lanes) > 1 and any(lane.cost is not None or lane.open_cost for lane in self.lanes)

    @property
    def ranked(self) -> tuple[int, ...]:
        """Lanes by what is fixed: tier, where it is asked, then declaration."""
        places = range(len(self.lanes))
        return tuple(sorted(places, key=lambda place: (self.lanes[place].tier if "tier" in self.order else 0, place)))


CRITERIA = ("only", "force", "rules", "avoid", "tier", "cost", "declaration", "empty")
"""The codes of those that raced, in the order of their reasons: first how one is selected, then by what one is outranked."""
COMMON = (
    *(Reason("selected", code) for code in CRITERIA[:-1]),
    *(Reason("outranked", code) for code in CRITERIA[1:]),
    Reason("undecided", "undecided"),
    Reason("raises", "raises"),
)
"""The reasons that every course has first."""
SELECTED = {code: place for place, code in enumerate(CRITERIA[:-1])}
OUTRANKED = {code: place + len(CRITERIA) - 1 for place, code in enumerate(CRITERIA[1:])}
OPEN_REASON, RAISES_REASON = len(COMMON) - 2, len(COMMON) - 1


class Interner:
    """Makes terms that say the same one object, so that what several clauses share is computed once."""

    def __init__(self) -> None:
        self._known: dict[object, Term] = {}

    def __call__(self, term: Term) -> Term:
        """Return the one term that says this."""
        if isinstance(term, Const):
            value = term.value
            try:
                return self._known.setdefault((type(value), repr(value), term.type), term)
            except TypeError:
                return term
        if isinstance(term, Fact):
            return self._known.setdefault((term.key, term.type), term)
        assert isinstance(term, Apply)
        args = tuple([self(arg) for arg in term.args])
        same = all(new is old for new, old in zip(args, term.args, strict=True))
        return self._known.setdefault((term.op, term.type, *map(id, args)), term if same else Apply(term.type, term.op, args, term.span))


def kept_by_preferences(left: int, ahead: Sequence[tuple[int, int]], count: int) -> int:
    """Return who of ``left`` (a bit set) stays where these preferences hold: pairs of who is preferred, and over whom.

    Whoever is preferred over one, directly or by way of others in the race, and is not in turn outdone by it, puts it out.

    >>> bin(kept_by_preferences(0b111, [(0b001, 0b010), (0b010, 0b100)], 3)), bin(kept_by_preferences(0b11, [(1, 2), (2, 1)], 2))
    ('0b1', '0b11')
    """
    before = [0] * count
    for better, worse in ahead:
        for place in _bits(worse & left):
            before[place] |= better & left & ~(1 << place)
    for via in range(count):
        for place in range(count):
            if before[place] >> via & 1:
                before[place] |= before[via]
    for place in _bits(left):
        if any(not before[other] >> place & 1 for other in _bits(before[place])):
            left &= ~(1 << place)
    return left


def _bits(value: int) -> Iterator[int]:
    place = 0
    while value:
        if value & 1:
            yield place
        value >>= 1
        place += 1
