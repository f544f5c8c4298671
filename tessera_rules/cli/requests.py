"""What a command asks: op, target and ``k=v`` words, a machine, what is assumed, who is forced."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from attrs import frozen

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


def assumed(groups: Sequence[Sequence[str]]) -> frozenset[str] | None:
    """Return the candidates whose ``available`` is held for true; None is all of them. Deciding says which it does not know."""
    names = names_of(groups)
    return None if "all" in names else frozenset(names)


def forced(argument: str | None, request: Request, ruleset: Ruleset) -> str | None:
    """Return who is forced for a request: the argument, else the entry of ``TSR_FORCE`` for this op and target."""
    return argument if argument is not None else environment_force(ruleset, request.op.name, request.target)


def _listed(what: str, names: Iterable[str]) -> str:
    shown = list(names)
    return f"the {what}s are {', '.join(shown[:12])}{', …' if len(shown) > 12 else ''}" if shown else f"these rules have no {what}"
