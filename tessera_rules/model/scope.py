"""What names mean in one place of a file: the op's, the target's, the loops', and what the place may ask at all."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from tessera_rules.model.loops import Loops
from tessera_rules.model.types import Type
from tessera_rules.model.values import Attr, Dim, Operand, Result
from tessera_rules.syntax import nodes


@frozen
class Place:
    """A kind of place where expressions stand: what it is called in messages, and what it may read."""

    name: str
    request: bool = True
    device: bool = True
    probes: bool = False
    data: bool = False
    floats: bool = False


REQUIRES = Place("requires")
AVAILABLE = Place("available", request=False, probes=True)
AVOID = Place("avoid")
WHEN = Place("when")
GUARD = Place("guard", data=True, floats=True)
COST = Place("cost", floats=True)
ACCURACY = Place("accuracy", floats=True)
WORKSPACE = Place("workspace")
ARGUMENT = Place("a native argument", floats=True)
CHECK = Place("check", device=False)
SHAPE = Place("a shape", device=False)
USES = Place("uses")


@frozen(eq=False)
class OpNames:
    """The names that an op brings: what its clauses, and those of its candidates, can read."""

    name: str
    dims: Mapping[str, Dim]
    attrs: Mapping[str, Attr]
    operands: Mapping[str, Operand]
    results: tuple[Result, ...] = ()


@frozen(eq=False)
class PredicateDef:
    """A declared predicate with the loops around it."""

    node: nodes.Predicate
    loops: Loops


@frozen(eq=False)
class Scope:
    """Everything that a name in one place can mean."""

    place: Place
    op: OpNames | None
    target: str | None
    target_facts: Mapping[str, Type] | None
    predicates: Mapping[str, PredicateDef]
    loops: Loops = field(factory=dict)
    subject: str = ""
    """Who asks, for messages: ``candidate flash`` or ``rule decode``."""

    def names(self) -> list[str]:
        """Return every name that an expression here may use, for the nearest one."""
        known = list(self.loops)
        if self.op is not None and self.place.request:
            known += [*self.op.dims, *self.op.attrs, "dtype", "threads"]
        return [*known, *self.predicates]
