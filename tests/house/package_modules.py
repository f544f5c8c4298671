"""The modules of the package as syntax trees, read once for all house tests."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tessera_rules"


@cache
def modules() -> dict[str, ast.Module]:
    """Return every module of the package by its dotted name below ``tessera_rules`` (``model.load``, ``source``)."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


def imports(tree: ast.Module) -> list[tuple[str, int]]:
    """Return each module that a tree imports when it runs, wherever the statement stands, with its line."""
    found: list[tuple[str, int]] = []
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            stack.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"a relative import in line {node.lineno}: the package names its modules in full"
            module = node.module or ""
            known = modules_known()
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                found.append((inner if inner.removeprefix("tessera_rules.") in known else module, node.lineno))
        stack.extend(ast.iter_child_nodes(node))
    return found


@cache
def modules_known() -> frozenset[str]:
    """Return the dotted names of all modules."""
    names = {".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__") for path in PACKAGE.rglob("*.py")}
    return frozenset(names)
