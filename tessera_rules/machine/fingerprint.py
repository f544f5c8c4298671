"""What names a machine, in two parts: what its results hang on, and what its times hang on."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib import metadata

from attrs import frozen

from tessera_rules.machine.cpu import Cpu

LIBRARIES = ("numpy", "ml-dtypes", "scipy", "torch")
"""Python packages whose kernels' results may differ from version to version."""


@frozen
class Fingerprint:
    """Two digests. A proof holds where ``numerics`` is the same, a time only where ``timing`` is too.

    >>> str(Fingerprint("a" * 64, "b" * 64))
    'aaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb'
    """

    numerics: str
    timing: str

    def __str__(self) -> str:
        return f"{self.numerics[:16]}-{self.timing[:16]}"


def fingerprint(cpu: Cpu, threads: int) -> Fingerprint:
    """Return the digests: of silicon, flags, C library and numerical packages; and of these with cores, caches and memory."""
    numerics = [cpu.vendor, *cpu.silicon, *sorted(cpu.flags), *platform.libc_ver(), platform.system(), platform.machine()]
    numerics += [f"{name} {_version(name)}" for name in LIBRARIES]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    timing = [*numerics, cpu.model, str(threads), str(sorted(cpu.caches.items())), str(memory), platform.release()]
    return Fingerprint(_digest(numerics), _digest(timing))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
