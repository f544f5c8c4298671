"""What a command asks: op, target and ``k=v`` words, a machine, what is assumed, who is forced."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence

from attrs import frozen

from tessera_rules.cli.arguments import names_of
from tessera_rules.errors import UsageError
from tessera_rules.machine.base import Machine
from tessera_rules.model.request import Request
from tessera_rules.model.values import Ruleset
from tessera_rules.nearest import did_you_mean


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


def machine_of(path: str | None) -> Machine:
    """Return the machine that a file states, or this one."""
    if path is None:
        from tessera_rules.machine.local import LocalMachine

        return LocalMachine()
    from tessera_rules.cli.rules import readable
    from tessera_rules.machine.stated import parse_machine

    try:
        document = json.loads(readable(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"--machine '{path}' cannot be read: {error}", hint="tsr probe --json > box.json writes one") from None
    return parse_machine(document, path)


def assumed(groups: Sequence[Sequence[str]], ruleset: Ruleset) -> frozenset[str] | None:
    """Return the candidates whose ``available`` is held for true; None is all of them."""
    names = names_of(groups)
    if "all" in names:
        return None
    for name in names:
        _known(name, ruleset.candidates, "--assume names a candidate that these rules lack")
    return frozenset(names)


def forced(argument: str | None, request: Request, ruleset: Ruleset) -> str | None:
    """Return who is forced for a request: the argument, else the entry of ``TSR_FORCE`` for this op and target.

    Raises: `UsageError` for a candidate, op or target that the rules lack, or an entry that is no ``op@target=name``.
    """
    from_environment = _environment_force(os.environ.get("TSR_FORCE", ""), request, ruleset)
    name, said = (argument, "--force") if argument is not None else (from_environment, "TSR_FORCE")
    if name is None or name == "reference":
        return name
    _known(name, ruleset.candidates, f"{said} names a candidate that these rules lack")
    candidate = ruleset.candidates[name]
    op, target = request.op.name, request.target
    if (candidate.op, candidate.target) != (op, target):
        raise UsageError(
            f"{said} names '{name}', which is registered for {candidate.op} on {candidate.target}, not for {op} on {target}",
            hint=_listed("candidate", [other.name for other in ruleset.for_op(op, target)]),
        )
    return name


def _environment_force(text: str, request: Request, ruleset: Ruleset) -> str | None:
    found = None
    for entry in filter(None, (part.strip() for part in text.split(","))):
        where, equals, name = entry.partition("=")
        op, at, target = where.partition("@")
        if not (equals and at and op and target and name):
            raise UsageError(f"TSR_FORCE has '{entry}', which is no op@target=name", hint="such as matmul@x86=x86_generic_c")
        if (op, target) == (request.op.name, request.target):
            found = name
        elif op not in ruleset.ops and (near := did_you_mean(op, ruleset.ops, "op")).startswith("did"):
            raise UsageError(f"TSR_FORCE has '{entry}', whose op these rules lack", hint=near)
    return found


def _known(name: str, known: Iterable[str], said: str) -> None:
    if name not in known:
        raise UsageError(f"{said}: '{name}'", hint=did_you_mean(name, known, "candidate"))


def _listed(what: str, names: Iterable[str]) -> str:
    shown = list(names)
    return f"the {what}s are {', '.join(shown[:12])}{', …' if len(shown) > 12 else ''}" if shown else f"these rules have no {what}"
