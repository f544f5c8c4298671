"""The user's own folder for what is compiled: 0700, its owner checked before anything in it is believed."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path


class CacheError(Exception):
    """The cache folder cannot be used; the message says which folder and why."""


def cache_root() -> Path:
    """Return ``TSR_CACHE``, else ``tessera-rules`` in the user's cache folder."""
    stated = os.environ.get("TSR_CACHE")
    if stated:
        return Path(stated).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and os.path.isabs(base) else Path.home() / ".cache") / "tessera-rules"


def own_folder(name: str) -> Path:
    """Return a folder of the cache, made with mode 0700. Raises `CacheError` where it is not the user's alone."""
    try:
        folder = cache_root() / name
    except RuntimeError as problem:  # there is no home folder
        raise CacheError(f"there is no cache folder: {problem}; TSR_CACHE names one") from None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as problem:
        raise CacheError(f"the cache folder {folder} cannot be made: {problem.strerror or problem}; TSR_CACHE names another") from None
    if not stat.S_ISDIR(found.st_mode):
        raise CacheError(f"the cache folder {folder} is no folder of its own (a link or a file); TSR_CACHE names another")
    if found.st_uid != os.geteuid():
        raise CacheError(f"the cache folder {folder} belongs to user {found.st_uid}, not to {os.geteuid()}; TSR_CACHE names another")
    if found.st_mode & 0o077:
        try:
            folder.chmod(0o700)
        except OSError as problem:
            raise CacheError(f"the cache folder {folder} is open to others, and cannot be closed: {problem.strerror}") from None
    return folder


def own_file(path: Path) -> bool:
    """Whether a path is a plain file of this user that no other may write."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


_DIGESTS: dict[str, tuple[tuple[int, int, int], str]] = {}


def file_digest(path: Path | str) -> str:
    """Return the SHA-256 of a file's bytes; they are read again only where its inode, size or time of change differs.

    Raises `OSError` for a file that cannot be read.
    """
    found = os.stat(path)
    mark = (found.st_ino, found.st_size, found.st_mtime_ns)
    known = _DIGESTS.get(str(path))
    if known is not None and known[0] == mark:
        return known[1]
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    _DIGESTS[str(path)] = (mark, digest)
    return digest
