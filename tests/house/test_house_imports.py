"""Imports point one way, low to high, in the order that docs/architecture.md and the design give."""

from __future__ import annotations

import ast
import re

import pytest

from tests.house.package_modules import ROOT, imports, modules

ARCHITECTURE = ROOT / "docs" / "architecture.md"
BESIDE = {"declined": "source", "targets": "kernels", "measure": "oracle", "corpus": "oracle", "analyze": "ops", "lsp": "cli", "pytest_plugin": "cli"}
"""Rooms that the table does not name yet, each with one of the line that it belongs to."""


def order() -> list[list[str]]:
    """Return the rooms of the table in docs/architecture.md, line by line, low to high."""
    lines = ARCHITECTURE.read_text(encoding="utf-8").splitlines()
    rows = [line.split("|")[1] for line in lines if line.startswith("| `")]
    return [[name.removesuffix("/").removesuffix(".py") for name in re.findall(r"`([^`]+)`", row)] for row in rows]


ORDER = order()
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}
RANK.update({name: RANK[other] for name, other in BESIDE.items() if name not in RANK})
SESSION = RANK["session"]
"""Where plain modules beside `session` stand that the table does not name: pieces of the whole order."""

FREE_WITHIN = {0, len(ORDER) - 1, len(ORDER) - 2}
"""Lines whose members may import each other: the plain modules at the bottom, the session, the commands."""

PEERS = [{"check", "bind"}, {"check", "oracle"}, {"check", "measure"}, {"bind", "measure"}, {"oracle", "measure"}]
"""Pairs of rooms that meet only in `model` values and in the session. The oracle takes bound candidates, so it may know `bind`."""

ONLY_IN = {
    "lark": {"syntax"},
    "jsonschema": {"report"},
    "referencing": {"report"},
    "prompt_toolkit": {"repl"},
    "ctypes": {"bind", "machine", "targets", "kernels"},
    "cffi": {"bind"},
    "z3": {"analyze"},
    "numpy": {"bind", "oracle", "measure", "kernels", "ops", "targets", "compile", "report", "cli", "repl"},
}
NEVER_IN_ARBITER = {"os", "io", "pathlib", "time", "datetime", "random", "subprocess", "socket", "threading", "numpy", "ctypes", "sys"}


def room(module: str) -> str:
    return module.split(".", 1)[0]


def rank(name: str) -> int:
    return RANK.get(name, SESSION)


def upward(graph: dict[str, list[tuple[str, int]]]) -> list[str]:
    """Return each import that goes against the order, as a line of text."""
    wrong = []
    for module, found in graph.items():
        if module in ("__init__", ""):
            continue  # the package's own front door, which names everything
        for name, line in found:
            if not name.startswith("tessera_rules."):
                continue
            mine, theirs = room(module), room(name.removeprefix("tessera_rules."))
            same = mine == theirs or (rank(mine) == rank(theirs) and rank(mine) in FREE_WITHIN)
            if not same and (rank(theirs) >= rank(mine) or {mine, theirs} in PEERS):
                wrong.append(f"tessera_rules.{module} line {line} imports {name}")
    return wrong


def test_the_table_is_read() -> None:
    assert ORDER[0][0] == "source"
    assert RANK["source"] < RANK["syntax"] < RANK["model"] < RANK["check"] < RANK["arbiter"] < RANK["report"] < RANK["session"] < RANK["cli"]


def test_every_room_has_its_place_in_the_order() -> None:
    rooms = {room(module) for module in modules() if "." in module}
    assert rooms <= set(RANK), f"not in the order: {sorted(rooms - set(RANK))}"


def test_imports_go_one_way() -> None:
    assert upward({module: imports(tree) for module, tree in modules().items()}) == []


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("model.load", "from tessera_rules.arbiter import decide"),
        ("check.names", "def f():\n    import tessera_rules.bind.native\n"),
        ("bind.call", "from tessera_rules.oracle import prove"),
        ("arbiter.race", "from tessera_rules import report"),
    ],
)
def test_an_import_against_the_order_is_seen(module: str, text: str) -> None:
    assert len(upward({module: imports(ast.parse(text))})) == 1


@pytest.mark.parametrize("package", sorted(ONLY_IN))
def test_a_heavy_package_stays_in_its_room(package: str) -> None:
    wrong = [
        f"{module} line {line}"
        for module, tree in modules().items()
        for name, line in imports(tree)
        if name.split(".", 1)[0] == package and room(module) not in ONLY_IN[package] and not (package == "numpy" and rank(room(module)) == SESSION)
    ]
    assert wrong == []


def test_the_arbiter_is_pure() -> None:
    wrong = [
        f"{module} line {line} imports {name}"
        for module, tree in modules().items()
        if room(module) == "arbiter"
        for name, line in imports(tree)
        if name.split(".", 1)[0] in NEVER_IN_ARBITER
    ]
    assert wrong == []


def test_nobody_but_measure_reads_a_clock() -> None:
    allowed = {"measure", "bind", "machine", "cli", "repl", "oracle", "trial", "log"}  # time limits of probes, progress, and the time that `tsr run` shows
    wrong = [
        f"{module} line {line}"
        for module, tree in modules().items()
        if room(module) not in allowed
        for name, line in imports(tree)
        if name.split(".", 1)[0] in ("time", "datetime")
    ]
    assert wrong == []
