"""Decisions written down so that many processes come to the same ones: ``TSR_DECISIONS`` names a file of them (P22).

A pin is a force, not a hint: where the pinned candidate is not in the race the call raises, since going on with another one
is what pins are there to prevent. It holds for a structure and a shape, on whatever machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

from tessera_rules.arbiter.decision import Decision
from tessera_rules.corpus.key import structure_of
from tessera_rules.corpus.record import canonical, digest_of
from tessera_rules.errors import ArbiterError, UsageError
from tessera_rules.model.request import Request
from tessera_rules.model.values import Ruleset

FORMAT = 1
NAME = "TSR_DECISIONS"


def write_pins(ruleset: Ruleset, decisions: Iterable[Decision], *, strict: bool = False) -> str:
    """Return the file of some decisions: a line that says what a miss is, then one line each. The open ones are left out.

    ``strict`` makes a request that has no pin an error.
    """
    lines: dict[str, str] = {}
    for decision in decisions:
        request = decision.request
        structure = structure_of(ruleset, request)
        if structure is not None and decision.tag != "undecided":
            line = canonical({"request": structure, "dims": dict(request.dims), "winner": decision.tag})
            lines[pin_name(structure, request.dims)] = line
    head = canonical({"decisions": FORMAT, "on_miss": "error" if strict else "decide"})
    return "\n".join([head, *(lines[name] for name in sorted(lines, key=lambda name: lines[name]))]) + "\n"


def pin_name(structure: Mapping[str, Any], dims: Mapping[str, int]) -> str:
    """Return what a pin is found by."""
    return digest_of({"request": dict(structure), "dims": dict(dims)})


@frozen(eq=False)
class Pins:
    """The pins of one file. ``strict`` makes a miss an error."""

    place: str
    winners: Mapping[str, str]
    strict: bool
    boxes: Mapping[tuple[str, str], Mapping[str, tuple[int, int]]] = field(factory=dict)

    def winner(self, ruleset: Ruleset, request: Request) -> str | None:
        """Return who is pinned for a request, None where nobody is. Raises `ArbiterError` for a miss where that is an error."""
        structure = structure_of(ruleset, request)
        found = self.winners.get(pin_name(structure, request.dims)) if structure is not None else None
        if found is None and self.strict:
            sizes = " ".join(f"{name}={size}" for name, size in request.dims.items())
            raise ArbiterError(f"{self.place} has no decision for {request.op.name} on {request.target} with {sizes}, and says that this is an error")
        return found


def read_pins(place: str) -> Pins:
    """Return the pins of a file. Raises `UsageError` for one that cannot be read whole: who asks for agreement gets it or is told."""
    winners: dict[str, str] = {}
    boxes: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    number = 1
    try:
        with open(place, encoding="utf-8") as stream:
            head = json.loads(stream.readline())
            if not isinstance(head, dict) or head.get("decisions") != FORMAT or head.get("on_miss") not in ("decide", "error"):
                raise UsageError(f"{NAME}={place} is no file of decisions", hint="tsr corpus pin FILE writes one")
            for line in stream:
                number += 1
                row = json.loads(line)
                structure, dims = row["request"], row["dims"]
                winners[pin_name(structure, dims)] = str(row["winner"])
                box = boxes.setdefault((structure["op"], structure["target"]), {})
                for name, size in dims.items():
                    low, high = box.get(name, (size, size))
                    box[name] = min(low, size), max(high, size)
    except OSError as problem:
        raise UsageError(f"{NAME}={place} cannot be read: {problem.strerror or problem}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise UsageError(f"{NAME}={place}:{number} is no decision: {problem}", hint="tsr corpus pin FILE writes such files") from None
    return Pins(place, winners, head["on_miss"] == "error", boxes)


def pins_of_environment() -> Pins | None:
    """Return the pins that ``TSR_DECISIONS`` names, None where it names none."""
    place = os.environ.get(NAME)
    return read_pins(place) if place else None
