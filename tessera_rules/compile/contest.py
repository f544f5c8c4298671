"""What a decision hangs on once structure is settled: who may still win, on which conditions, and what ranks them.

Everything here is terms and numbers; `tessera_rules.compile.plan` makes one function of it.
"""

from __future__ import annotations

from attrs import frozen

from tessera_rules.model.terms import Fact, Term
from tessera_rules.model.values import Criterion


@frozen(eq=False)
class Entrant:
    """One candidate that structure leaves in.

    It races where every one of ``conditions`` is true (an error is a no) and none of ``denials`` is true (an error is a yes).
    It is avoided where all terms of one row of ``avoid`` are true (an error is a no). ``tier`` and ``order``: smaller comes
    first. ``open``: whether it races hangs on more than the plan is given, so that it never wins here and nobody behind it does.
    """

    place: int
    conditions: tuple[Term, ...]
    denials: tuple[Term, ...]
    avoid: tuple[tuple[Term, ...], ...]
    tier: int
    cost: Term | None
    order: int
    open: bool = False


@frozen(eq=False)
class Contest:
    """Everybody who may win for one structure.

    ``parameters`` are the facts that a request of it is told apart by. ``demands`` hold for each request that can be decided
    here (an error is a no). ``forces`` and ``preferences`` are conditions of rules (an error is a no): where a force holds
    nothing is decided here, where a preference does the whole field is ranked. ``criteria`` are the policy's that can tell
    entrants apart.
    """

    parameters: tuple[Fact, ...]
    demands: tuple[Term, ...]
    forces: tuple[Term, ...]
    preferences: tuple[Term, ...]
    entrants: tuple[Entrant, ...]
    criteria: tuple[Criterion, ...]
