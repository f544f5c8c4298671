"""What this machine's x86-64 CPU is, read from the kernel's own tables; nothing is run."""

from __future__ import annotations

import os
import platform
from typing import Any

from tessera_rules.machine.cpu import Cpu, cpu, usable_cores

LEVELS = {
    # The micro-architecture levels of the x86-64 psABI, section 3.1.1, by Linux's names of the flags that each adds.
    2: ("cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"),
    3: ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"),
    4: ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}


def facts() -> dict[str, Any] | None:
    """Return the facts of the host's CPU, or None where it is no x86-64.

    ``cores`` that this process may use; ``vendor`` and ``model``; ``level`` of the psABI (1 to 4); what kernels ask for most:
    ``avx2``, ``fma``, ``avx512`` (F, BW, CD, DQ and VL), ``avx512_bf16``, ``avx512_vnni``, ``amx``; ``l1_bytes``, ``l2_bytes``,
    ``l3_bytes`` of data cache that one core sees (0 where it is not told); ``memory`` in bytes. Any other flag is
    ``cpu("…")`` in `available`.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return None
    return of(cpu(), usable_cores(), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def of(here: Cpu, cores: int, memory: int) -> dict[str, Any]:
    """Return the facts of a CPU.

    >>> of(Cpu("X", "Y", frozenset({"avx2", "fma"}), {1: 32768}), 4, 2**34)["avx2"]
    True
    """
    return {
        "cores": cores,
        "vendor": here.vendor,
        "model": here.model,
        "level": level(here.flags),
        "avx2": here.has("avx2"),
        "fma": here.has("fma"),
        "avx512": all(here.has(flag) for flag in LEVELS[4]),
        "avx512_bf16": here.has("avx512_bf16"),
        "avx512_vnni": here.has("avx512_vnni"),
        "amx": here.has("amx_tile"),
        "l1_bytes": here.caches.get(1, 0),
        "l2_bytes": here.caches.get(2, 0),
        "l3_bytes": here.caches.get(3, 0),
        "memory": memory,
    }


def level(flags: frozenset[str]) -> int:
    """Return the micro-architecture level of a set of flags.

    >>> level(frozenset(LEVELS[2])), level(frozenset(LEVELS[3]))
    (2, 1)
    """
    found = 1
    for each, needed in LEVELS.items():
        if not all(flag in flags for flag in needed):
            break
        found = each
    return found
