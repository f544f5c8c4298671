"""What a command asks: op, target and ``k=v`` words, a machine, what is assumed, who is forced."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from attrs import frozen

from tessera_rules.arbiter.situation import Measured
from tessera_rules.cli.arguments import names_of
from tessera_rules.errors import UsageError
from tessera_rules.forced import environment_force
from tessera_rules.machine.base import Machine
from tessera_rules.model.request import Request
from tessera_rules.model.values import Ruleset


@frozen
class Asked:
    """The words of one request as typed: ``words`` maps each ``k`` of ``k=v`` to its text."""

    op: str
    target: str | None
    words: dict[str, str]


def read_words(verb: str, words: Sequence[str], ruleset: Ruleset) -> Asked:
    """Return op, target and ``k=v`` words, told apart by the ``=``; whether the rules have them, binding says.

    Raises: `UsageError` for a word that is neither, and for one said twice.
    """
    plain = [word for word in words if "=" not in word]
    pairs: dict[str, str] = {}
    for word in words:
        if "=" in word:
            name, value = word.split("=", 1)
            if not name:
                raise UsageError(f"'{word}' has no name before its '='", hint="a word is NAME=VALUE, such as M=512")
            if name in pairs:
                raise UsageError(f"{name} is given twice: {name}={pairs[name]} and {word}")
            pairs[name] = value
    if not plain:
        raise UsageError(f"tsr {verb} needs an op", hint=_listed("op", ruleset.ops))
    if len(plain) > 2:
        raise UsageError(f"'{plain[2]}' is no NAME=VALUE", hint=f"tsr {verb} OP TARGET NAME=VALUE …, such as M=512")
    return Asked(plain[0], plain[1] if len(plain) == 2 else None, pairs)


def machine_of(path: str | None, ruleset: Ruleset) -> Machine:
    """Return the machine that a file states, or this one, where candidates of the rules are bound."""
    if path is None:
        from tessera_rules.bind.bindings import this_machine

        return this_machine(ruleset)
    from tessera_rules.cli.rules import readable
    from tessera_rules.machine.stated import read_machine

    return read_machine(readable(path))


def pinned(ruleset: Ruleset, request: Request) -> str | None:
    """Return whom ``TSR_DECISIONS`` pins for a request; None where it is not set or pins nobody."""
    if not os.environ.get("TSR_DECISIONS"):
        return None
    from tessera_rules.corpus.lookup import Corpus

    return Corpus().pinned(ruleset, request)


def evidence_for(ruleset: Ruleset, request: Request, machine: Machine) -> Measured | None:
    """Return what was measured of a request on this machine, or on a stated one that says which it is (``fingerprint``)."""
    if machine.stated and not getattr(machine, "fingerprint", None):
        return None
    from tessera_rules.corpus.lookup import Corpus

    return Corpus().measured(ruleset, request, machine)


def assumed(groups: Sequence[Sequence[str]]) -> frozenset[str] | None:
    """Return the candidates whose ``available`` is held for true; None is all of them. Deciding says which it does not know."""
    names = names_of(groups)
    return None if "all" in names else frozenset(names)


def forced(argument: str | None, request: Request, ruleset: Ruleset) -> str | None:
    """Return who is forced for a request: the argument, else the entry of ``TSR_FORCE`` for this op and target."""
    return argument if argument is not None else environment_force(ruleset, request.op.name, request.target)


def override_notes(argument: str | None, assume: frozenset[str] | None, request: Request, ruleset: Ruleset) -> tuple[str, ...]:
    """Return what became of each override: none is read in silence. What a force came to, deciding itself says."""
    op, target = request.op.name, request.target
    here = {candidate.name for candidate in ruleset.for_op(op, target)}
    notes = ["--assume all: every `available` is held for true"] if assume is None else []
    for name in sorted(assume or ()):
        other = ruleset.candidates[name]
        outcome = "its `available` is held for true" if name in here else f"no part in this, it is a candidate of {other.op} on {other.target}"
        notes.append(f"--assume {name}: {outcome}")
    entries = [entry.strip() for entry in os.environ.get("TSR_FORCE", "").split(",") if entry.strip()]
    mine = [entry for entry in entries if entry.startswith(f"{op}@{target}=")]
    if mine:
        notes.append(f"TSR_FORCE={mine[-1]}: " + ("replaced by --force" if argument is not None else "taken"))
    if len(entries) > len(mine):
        count = len(entries) - len(mine)
        notes.append(f"TSR_FORCE: {count} {'entry is' if count == 1 else 'entries are'} for another op or target")
    return tuple(notes)


def _listed(what: str, names: Iterable[str]) -> str:
    shown = list(names)
    return f"the {what}s are {', '.join(shown[:12])}{', …' if len(shown) > 12 else ''}" if shown else f"these rules have no {what}"
