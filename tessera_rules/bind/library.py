"""Libraries of native and source bindings, loaded once for each content."""

from __future__ import annotations

import ctypes
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

from attrs import frozen

from tessera_rules.bind import ccall, source
from tessera_rules.bind.cache import CacheError, file_digest, own_file, own_folder
from tessera_rules.bind.outcome import Unbound
from tessera_rules.bind.paths import PathError, library_path
from tessera_rules.machine.asking import load_elsewhere
from tessera_rules.machine.shared_objects import ElfError, find_library, symbols_of
from tessera_rules.model.values import NativeBinding
from tessera_rules.nearest import nearest

_LOADED: dict[str, tuple[str, Any]] = {}
"""By path: the digest of what was loaded from it last, and the library."""
_GUARD = threading.Lock()


@frozen(eq=False)
class Function:
    """A function of a library, with the digest of the library's bytes and the path that the loader took."""

    function: Any
    path: str
    digest: str


@frozen
class Located:
    """A library's file, and the digest of its bytes."""

    path: str
    digest: str


def locate(binding: NativeBinding) -> Located | Unbound:
    """Return the library of a binding without loading it; a source is compiled if it has to be."""
    if binding.language == "source":
        built = source.build(binding)
        return built if isinstance(built, Unbound) else Located(built.path, built.digest)
    try:
        name = library_path(binding)
    except PathError as problem:
        return Unbound(str(problem))
    path = name if "/" in name else find_library(name)
    if path is None or not os.path.isfile(path):
        return Unbound(f"library {binding.path} is not here" + (f" (looked for {name})" if "/" in name else " (the loader does not find it)"))
    try:
        return Located(path, file_digest(path))
    except OSError as problem:
        return Unbound(f"library {path} cannot be read: {problem.strerror}")


def changed_marks(binding: NativeBinding) -> Any:
    """Return a mark of the files and the environment that a binding depends on: it differs where one has changed."""
    if binding.language == "source":
        return source.changed_marks(binding)
    try:
        name = library_path(binding)
    except PathError as problem:
        return str(problem)
    path = name if "/" in name else find_library(name)
    return (path, source.mark(path) if path else os.environ.get("LD_LIBRARY_PATH"))


def load_function(binding: NativeBinding) -> Function | Unbound:
    """Return the function of a binding, or why there is none: no library, one that does not load, no such symbol (T4)."""
    found = locate(binding)
    if isinstance(found, Unbound):
        return found
    try:
        exported = symbols_of(found.path)
    except (ElfError, OSError) as problem:
        return Unbound(f"library {found.path} is none that can be loaded: {problem}")
    if binding.symbol not in exported:
        near = nearest(binding.symbol, exported)
        return Unbound(f"{Path(found.path).name} has no symbol '{binding.symbol}'" + (f"; did you mean '{near}'?" if near else ""))
    try:
        with _GUARD:
            library = _library(found, foreign=binding.language == "native")
            if isinstance(library, Unbound):
                return library
            function = ccall.function_of(library, binding.symbol, binding.returns)
    except (OSError, AttributeError, CacheError) as problem:
        return Unbound(f"library {found.path} does not load: {problem}")
    return Function(function, found.path, found.digest)


def _library(found: Located, *, foreign: bool) -> Any | Unbound:
    """Return a library loaded here. A foreign one is loaded by a child first, once for its bytes: what runs as it loads may crash."""
    known = _LOADED.get(found.path)
    if known is not None and known[0] == found.digest:
        return known[1]
    if foreign:
        reason = _harmful(found)
        if reason is not None:
            return Unbound(f"library {found.path} does not load: {reason}")
    if known is None:
        library = ctypes.CDLL(found.path)
    else:
        # The loader knows a library by its path, and would give back the bytes of before: these go by another name.
        with tempfile.TemporaryDirectory(dir=own_folder("kernels"), prefix="again-") as folder:
            alias = Path(folder) / os.path.basename(found.path)
            alias.write_bytes(Path(found.path).read_bytes())
            library = ctypes.CDLL(str(alias))
    _LOADED[found.path] = (found.digest, library)
    return library


def _harmful(found: Located) -> str | None:
    """Say why a child cannot load a library, or None where it can; that it could is noted for its bytes, for other processes too."""
    note = own_folder("loads") / found.digest
    if own_file(note):
        return None
    reason = load_elsewhere(found.path)
    if reason is None:
        note.touch(mode=0o600)
    return reason
