"""This machine's CPU: flags as Linux names them, model, cores that this process may use, cache sizes."""

from __future__ import annotations

import os
import platform
import re
from functools import lru_cache
from pathlib import Path

from attrs import frozen

# What people write, and what Linux calls it (arch/x86/include/asm/cpufeatures.h names flags by the lower-cased macro).
ALIASES = {
    "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "avx512": "avx512f", "avx512_f": "avx512f", "avx512vnni": "avx512_vnni",
    "avx512bf16": "avx512_bf16", "avx512fp16": "avx512_fp16", "avx512vbmi2": "avx512_vbmi2", "avx512bitalg": "avx512_bitalg",
    "avx512vpopcntdq": "avx512_vpopcntdq", "avxvnni": "avx_vnni", "amx_bf": "amx_bf16", "lzcnt": "abm", "neon": "asimd",
}  # fmt: skip

SILICON = ("cpu family", "model", "stepping", "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision")


@frozen
class Cpu:
    """One kind of CPU; ``caches`` maps a level to the bytes that one core sees (the L3 may be shared).

    ``silicon`` is the chip's own numbers (family, model, stepping, or ARM's implementer and part): a product label may name several.
    """

    model: str
    vendor: str
    flags: frozenset[str]
    caches: dict[int, int]
    silicon: tuple[str, ...] = ()

    def has(self, flag: str) -> bool:
        """Whether a flag, by Linux's name or one of its aliases, is there on every core."""
        word = flag.lower()
        return word in self.flags or ALIASES.get(word) in self.flags


@lru_cache(maxsize=1)
def cpu() -> Cpu:
    """Return this machine's CPU, read once."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        text = ""
    return parse(text, _caches(Path("/sys/devices/system/cpu/cpu0/cache")))


def parse(text: str, caches: dict[int, int]) -> Cpu:
    """Return what ``/proc/cpuinfo`` says; the flags are those that all processors have.

    >>> parse("model name\\t: X\\nflags\\t: a b\\n\\nflags\\t: b c\\n", {}).flags
    frozenset({'b'})
    """
    pairs = [tuple(part.strip() for part in line.split(":", 1)) for line in text.splitlines() if ":" in line]

    def first(*names: str) -> str:
        return next((pair[1] for pair in pairs if pair[0] in names), "")

    lists = [frozenset(pair[1].split()) for pair in pairs if pair[0] in ("flags", "Features")]
    flags = frozenset.intersection(*lists) if lists else frozenset()
    return Cpu(
        first("model name", "CPU part", "Processor") or platform.machine(), first("vendor_id", "CPU implementer"), flags, caches, tuple(map(first, SILICON))
    )


def _caches(folder: Path) -> dict[int, int]:
    """Return the bytes of the data or unified cache of each level."""
    found: dict[int, int] = {}
    for index in sorted(folder.glob("index*")):
        try:
            if (index / "type").read_text().strip() == "Instruction":
                continue
            level, size = int((index / "level").read_text()), (index / "size").read_text().strip()
        except (OSError, ValueError):
            continue
        match = re.fullmatch(r"(\d+)([KM]?)", size)
        if match:
            found[level] = int(match[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20}[match[2]]
    return found


def usable_cores() -> int:
    """Return how many cores this process may use: its affinity, and the CPU quota of its cgroup where one is set."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota("/sys/fs/cgroup/cpu.max")
    return max(1, min(count, quota or count))


@lru_cache(maxsize=4)
def _quota(path: str) -> int | None:
    """Return the whole cores of a ``cpu.max``, rounded up, or None where there is no limit."""
    try:
        limit, period = Path(path).read_text().split()
        return None if limit == "max" else -(-int(limit) // int(period))
    except (OSError, ValueError):
        return None
