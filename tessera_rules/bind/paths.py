"""Where the files lie that bindings name: ``$NAME`` in them, and the folders that relative ones start from."""

from __future__ import annotations

import os
from pathlib import Path

import tessera_rules
from tessera_rules.machine.probe_text import UnsetVariable
from tessera_rules.machine.probe_text import expanded as expand
from tessera_rules.model.values import NativeBinding
from tessera_rules.resources import resource


class PathError(Exception):
    """A path cannot be told; the message says why."""


def expanded(text: str) -> str:
    """Return a text with each ``$NAME`` replaced by that environment variable. Raises `PathError` for one that is not set."""
    try:
        return expand(text, os.environ)
    except UnsetVariable as unset:
        raise PathError(f"{unset}, and {text} names it") from None


def source_path(binding: NativeBinding) -> Path:
    """Return the source of a binding: relative to its rule file's folder, for the rules that ship also to the package.

    Raises `PathError`.
    """
    path = Path(expanded(binding.path)).expanduser()
    if path.is_absolute():
        return path
    folder = Path(binding.folder) if binding.folder is not None else Path.cwd()
    beside = folder / path
    if not beside.exists() and _ships(folder):
        inside = Path(tessera_rules.__file__).parent / path
        if inside.exists():
            return inside
    return beside


def _ships(folder: Path) -> bool:
    try:
        return folder.resolve().is_relative_to(resource("rules").resolve())
    except OSError:
        return False


def library_path(binding: NativeBinding) -> str:
    """Return what names a library to the loader: a file beside the rule file if there is one, else the name as it stands.

    A name with a slash is a path (relative to the rule file's folder); a plain name is the loader's to find. Raises `PathError`.
    """
    text = os.path.expanduser(expanded(binding.path))
    if os.path.isabs(text):
        return text
    folder = Path(binding.folder) if binding.folder is not None else Path.cwd()
    beside = folder / text
    return str(beside.resolve()) if "/" in text or beside.is_file() else text
