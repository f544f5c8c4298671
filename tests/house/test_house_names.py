"""Nobody below `cli` prints; no module is a drawer for odds and ends; modules stay readable."""

from __future__ import annotations

import ast

from tests.house.package_modules import PACKAGE, modules

SPEAKS = {"cli", "repl", "lsp", "pytest_plugin"}
DRAWERS = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}


def writes(tree: ast.Module) -> list[int]:
    """Return the lines that print or write to a standard stream."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            lines.append(node.lineno)
        if isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr") and isinstance(node.value, ast.Name) and node.value.id == "sys":
            lines.append(node.lineno)
    return lines


def test_nobody_below_cli_prints() -> None:
    wrong = {module: lines for module, tree in modules().items() if module.split(".")[0] not in SPEAKS and (lines := writes(tree))}
    assert wrong == {}


def test_a_print_is_seen() -> None:
    assert writes(ast.parse("def f():\n    print(1)\n    sys.stderr.write('x')\n")) == [2, 3]


def test_no_module_is_a_drawer() -> None:
    assert [module for module in modules() if set(module.split(".")) & DRAWERS] == []


def test_every_module_says_what_it_is_for() -> None:
    assert [module for module, tree in modules().items() if (ast.get_docstring(tree) or "TODO").startswith("TODO")] == []


def test_no_module_is_past_a_readers_patience() -> None:
    long = {str(path.relative_to(PACKAGE)): count for path in PACKAGE.rglob("*.py") if (count := len(path.read_text(encoding="utf-8").splitlines())) > 620}
    assert long == {}
