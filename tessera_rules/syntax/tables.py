"""The parser's tables: computed by Lark from ``grammars/tsr.lark``, kept beside it as JSON, so that a start needs no Lark.

``python -m tessera_rules.syntax.tables`` writes the JSON anew. Where it is older than the grammar (its digest differs), the
tables are computed in memory, so an edited grammar counts at once; a test holds the two together.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from attrs import frozen

from tessera_rules.resources import resource

FORMAT = 1
STARTS = ("file", "expr")


@frozen(eq=False, repr=False)
class Tables:
    """An LALR(1) table by state: what to do at a symbol.

    Symbols are a terminal's own text (``tier``, ``==``), a terminal's name where it is a pattern (``NAME``), or ``@`` and
    a rule's name. A number from 0 up is the state to go to, a negative one the rule ``-1 - n`` to reduce by; a rule is
    ``(its symbol, how many parts, the builder method or None)``.
    """

    actions: tuple[dict[str, int], ...]
    rules: tuple[tuple[str, int, str | None], ...]
    patterns: dict[str, str]
    literals: tuple[str, ...]
    starts: dict[str, int]
    ends: dict[str, int]


def compute(grammar: str) -> dict[str, Any]:
    """Return the tables of a grammar as JSON data. Imports Lark."""
    from lark import Lark, __version__
    from lark.lexer import PatternStr

    parser = Lark(grammar, parser="lalr", lexer="contextual", start=list(STARTS))
    key: dict[str, str] = {}
    patterns: dict[str, str] = {}
    literals: list[str] = []
    for terminal in parser.terminals:
        if isinstance(terminal.pattern, PatternStr):
            key[terminal.name] = terminal.pattern.value
            literals.append(terminal.pattern.value)
        else:
            patterns[terminal.name] = terminal.pattern.value
    table = parser.parser.parser._parse_table
    rules: list[list[Any]] = []
    numbers: dict[int, int] = {}
    states: list[dict[str, int]] = []
    for state in range(len(table.states)):
        row: dict[str, int] = {}
        for symbol, (_, argument) in table.states[state].items():
            name = "@" + symbol if symbol.islower() and not symbol.startswith("$") else key.get(symbol, symbol)
            if isinstance(argument, int):
                row[name] = argument
            else:
                number = numbers.get(id(argument))
                if number is None:
                    number = numbers[id(argument)] = len(rules)
                    rules.append(["@" + str(argument.origin.name), len(argument.expansion), argument.alias])
                row[name] = -1 - number
        states.append(row)
    return {
        "format": FORMAT,
        "digest": _digest(grammar),
        "lark": __version__,
        "actions": states,
        "rules": rules,
        "patterns": patterns,
        "literals": literals,
        "starts": dict(table.start_states),
        "ends": dict(table.end_states),
    }


@cache
def tables() -> Tables:
    """Return the tables of the grammar that this installation has."""
    folder = resource("grammars")
    grammar = (folder / "tsr.lark").read_text(encoding="utf-8")
    data = _stored(folder / "tsr.tables.json", _digest(grammar))
    if data is None:
        data = compute(grammar)
    return Tables(
        tuple(data["actions"]),
        tuple((origin, length, method) for origin, length, method in data["rules"]),
        data["patterns"],
        tuple(data["literals"]),
        data["starts"],
        data["ends"],
    )


def _stored(path: Path, digest: str) -> dict[str, Any] | None:
    try:
        data: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return data if data.get("format") == FORMAT and data.get("digest") == digest else None


def _digest(grammar: str) -> str:
    return sha256(grammar.encode()).hexdigest()


def write() -> Path:
    """Compute the tables and write them beside the grammar."""
    folder = resource("grammars")
    data = compute((folder / "tsr.lark").read_text(encoding="utf-8"))
    path = folder / "tsr.tables.json"
    path.write_text(json.dumps(data, separators=(",", ":"), ensure_ascii=True) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    write()
