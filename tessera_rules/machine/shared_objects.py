"""Shared libraries read from their files: where the loader finds one, what it exports, whether it is for this machine.

Nothing is loaded here, so that no constructor of a foreign library runs in this process.
Source: System V ABI, chapters 4 and 5 (ELF headers, section headers, symbol table); ld.so(8) for the search order.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from functools import lru_cache

MACHINES = {"x86_64": 62, "aarch64": 183, "riscv64": 243, "ppc64le": 21}
DYNSYM = 11


class ElfError(Exception):
    """A file is no shared library for this machine; the message says what it is."""


def find_library(name: str) -> str | None:
    """Return the file that the loader would take for a plain name: ``LD_LIBRARY_PATH``, then its cache, then its folders."""
    if "/" in name:
        return name if os.path.isfile(name) else None
    for folder in filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    known = _loader_cache().get(name)
    if known is not None and os.path.isfile(known):
        return known
    machine = os.uname().machine
    folders = [f"/lib/{machine}-linux-gnu", f"/usr/lib/{machine}-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"]
    return next((path for path in (os.path.join(folder, name) for folder in folders) if os.path.isfile(path)), None)


@lru_cache(maxsize=1)
def _loader_cache() -> dict[str, str]:
    """Return what ``ldconfig -p`` lists for this machine's word size, first entry of each name."""
    command = next((path for path in ("/sbin/ldconfig", "/usr/sbin/ldconfig") if os.path.isfile(path)), None)
    if command is None:
        return {}
    try:
        text = subprocess.run([command, "-p"], capture_output=True, timeout=10, env={"LC_ALL": "C"}, check=False).stdout.decode(errors="replace")
    except (OSError, subprocess.SubprocessError):
        return {}
    wanted = "x86-64" if os.uname().machine == "x86_64" else ""
    found: dict[str, str] = {}
    for line in text.splitlines():
        head, arrow, path = line.strip().partition(" => ")
        if arrow and wanted in head:
            found.setdefault(head.split(" ", 1)[0], path)
    return found


def forget_loader_cache() -> None:
    """Ask the loader's cache anew at the next look-up."""
    _loader_cache.cache_clear()


def symbols_of(path: str) -> frozenset[str]:
    """Return the names that a shared library exports. Raises `ElfError` or `OSError`."""
    found = os.stat(path)
    return _symbols(path, found.st_ino, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=64)
def _symbols(path: str, _inode: int, _size: int, _time: int) -> frozenset[str]:
    with open(path, "rb") as file:
        head = file.read(64)
        if head[:4] != b"\x7fELF":
            raise ElfError("it is no ELF file")
        if len(head) < 64 or head[4] != 2 or head[5] != (1 if sys.byteorder == "little" else 2):
            raise ElfError("it is for another word size or byte order")
        kind, machine = struct.unpack_from("<HH", head, 16)
        if kind != 3:
            raise ElfError("it is no shared library")
        here = MACHINES.get(os.uname().machine)
        if here is not None and machine != here:
            raise ElfError(f"it is for another machine (ELF machine {machine})")
        table, each, count = struct.unpack_from("<Q", head, 40)[0], *struct.unpack_from("<HH", head, 58)
        if each != 64 or count == 0:
            raise ElfError("it has no section table")
        file.seek(table)
        raw = file.read(each * count)
        if len(raw) != each * count:
            raise ElfError("it is cut short")
        sections = [struct.unpack_from("<IIQQQQIIQQ", raw, each * index) for index in range(count)]
        names: set[str] = set()
        for section in sections:
            if section[1] == DYNSYM and section[6] < count:
                strings = sections[section[6]]
                names |= _exported(_part(file, section[4], section[5]), _part(file, strings[4], strings[5]))
    return frozenset(names)


def _part(file: object, offset: int, size: int) -> bytes:
    file.seek(offset)  # type: ignore[attr-defined]
    data: bytes = file.read(size)  # type: ignore[attr-defined]
    if len(data) != size:
        raise ElfError("it is cut short")
    return data


def _exported(symbols: bytes, strings: bytes) -> set[str]:
    """Return the names of defined global, weak or unique symbols."""
    names: set[str] = set()
    for name, info, other, section, _, _ in struct.iter_unpack("<IBBHQQ", symbols[: len(symbols) // 24 * 24]):
        if section and info >> 4 in (1, 2, 10) and other & 3 in (0, 3) and name < len(strings):
            names.add(strings[name : strings.find(b"\0", name)].decode(errors="replace"))
    return names


def is_library(path: str) -> str | None:
    """Say why a file is no shared library for this machine, or None where it is one.

    >>> is_library("/etc/hostname") is None
    False
    """
    try:
        symbols_of(path)
    except ElfError as problem:
        return str(problem)
    except OSError as problem:
        return problem.strerror or "it cannot be read"
    return None
