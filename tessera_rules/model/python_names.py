"""What an installed Python package holds, read from its files and never imported."""

from __future__ import annotations

import ast
import sys
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=4096)
def missing_name(module: str, name: str) -> str | None:
    """Say what ``module:name`` lacks, or None where nothing can be said against it.

    Nothing is said of a package that is not installed, of compiled modules, and of modules that make names up
    (``__getattr__``, ``import *``).

    >>> missing_name("json", "loads") is None, missing_name("no.such.module", "f") is None
    (True, True)
    >>> missing_name("json", "laods")
    "module 'json' has no name 'laods'"
    """
    found = _find(module)
    if found is None or isinstance(found, str):
        return found
    names = _names(found)
    first = name.split(".")[0]
    if names is None or first in names:
        return None
    if found.name == "__init__.py" and ((found.parent / f"{first}.py").exists() or (found.parent / first).is_dir()):
        return None
    return f"module '{module}' has no name '{first}'"


def names_of(module: str) -> list[str]:
    """Return the names that a module's text binds, for the nearest one; empty where it cannot be read."""
    found = _find(module)
    return sorted(_names(found) or ()) if isinstance(found, Path) else []


@lru_cache(maxsize=1024)
def _find(module: str) -> Path | str | None:
    """Return the file of a module, a sentence that says what is missing, or None where its package is not here."""
    parts = module.split(".")
    for folder in sys.path:
        if not folder:
            continue
        here = Path(folder) / parts[0]
        package = here / "__init__.py"
        try:
            if package.is_file():
                return _below(here, parts)
            if here.with_name(f"{parts[0]}.py").is_file():
                return here.with_name(f"{parts[0]}.py") if len(parts) == 1 else f"'{parts[0]}' is a module and holds no module '{parts[1]}'"
        except OSError:
            continue
    return None


def _below(folder: Path, parts: list[str]) -> Path | str | None:
    for i, part in enumerate(parts[1:], 1):
        below = folder / part
        if (below / "__init__.py").is_file() or (i < len(parts) - 1 and below.is_dir()):
            folder = below
        elif i == len(parts) - 1 and below.with_name(f"{part}.py").is_file():
            return below.with_name(f"{part}.py")
        elif any(folder.glob(f"{part}.*.so")) or any(folder.glob(f"{part}.so")) or any(folder.glob(f"{part}.*.pyd")):
            return None
        else:
            return f"package '{'.'.join(parts[:i])}' has no module '{part}'"
    return folder / "__init__.py"


@lru_cache(maxsize=1024)
def _names(path: Path) -> frozenset[str] | None:
    """Return the names that a file binds at its top level; None where that cannot be told from its text."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    names: set[str] = set()
    stack: list[ast.AST] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            if any(alias.name == "*" for alias in node.names):
                return None
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("globals", "setattr", "vars"):
            return None
        else:
            stack.extend(ast.iter_child_nodes(node))
    return None if "__getattr__" in names else frozenset(names)
