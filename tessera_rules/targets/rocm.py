"""What this machine's AMD GPUs are, read from the kernel driver's own tables; no framework, nothing loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

KFD = Path("/sys/class/kfd/kfd/topology/nodes")


def facts(root: Path = KFD) -> list[dict[str, Any]] | None:
    """Return the facts of each GPU, or None where the driver lists none.

    ``arch`` is the physical architecture that the driver reports (an ``HSA_OVERRIDE_GFX_VERSION`` does not change it);
    ``compute_units``; ``memory`` in bytes, the local heap; ``driver`` the amdgpu module's version where it has one.
    Source: KFD topology, Linux Documentation/ABI/testing/sysfs-class-kfd and include/uapi/linux/kfd_sysfs.h.
    """
    devices = []
    for node in sorted(root.glob("[0-9]*"), key=lambda each: int(each.name)):
        properties = _properties(node / "properties")
        version = properties.get("gfx_target_version", 0)
        if not version:
            continue
        device: dict[str, Any] = {"arch": _arch(version), "compute_units": properties.get("simd_count", 0) // max(1, properties.get("simd_per_cu", 1))}
        memory = sum(_properties(bank / "properties").get("size_in_bytes", 0) for bank in sorted(node.glob("mem_banks/[0-9]*")))
        if memory:
            device["memory"] = memory
        module = Path("/sys/module/amdgpu/version")
        if module.is_file():
            device["driver"] = module.read_text().strip()
        devices.append(device)
    return devices or None


def _properties(path: Path) -> dict[str, int]:
    try:
        text = path.read_text()
    except OSError:
        return {}
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _arch(version: int) -> str:
    """Return the name of a ``gfx_target_version``: major, minor and stepping in hundreds, the last two in hexadecimal.

    >>> _arch(110501), _arch(90402), _arch(90010)
    ('gfx1151', 'gfx942', 'gfx90a')
    """
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{stepping:x}"
