"""What this machine's NVIDIA GPUs are, asked of the driver library; no framework, no context is made."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

# CUdevice_attribute of the CUDA driver API reference, section 6.1.
MAJOR, MINOR, SM_COUNT, L2_BYTES, SHARED_OPTIN = 75, 76, 16, 38, 97


def facts() -> list[dict[str, Any]] | None:
    """Return the facts of each GPU, or None where there is no driver or no device.

    ``arch`` (``sm_90``), ``sm_count``, ``shared_memory`` (bytes that one block may opt in to), ``memory`` and ``l2`` (bytes),
    ``driver`` (the kernel driver's version; where it cannot be read, the CUDA version that the driver supports).
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    count, version = ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return None
    driver.cuDriverGetVersion(ctypes.byref(version))
    release = _kernel_driver() or f"{version.value // 1000}.{version.value % 1000 // 10}"
    return [_device(driver, ordinal, release) for ordinal in range(count.value)]


def _device(driver: ctypes.CDLL, ordinal: int, release: str) -> dict[str, Any]:
    handle, size = ctypes.c_int(), ctypes.c_size_t()
    driver.cuDeviceGet(ctypes.byref(handle), ordinal)
    driver.cuDeviceTotalMem_v2(ctypes.byref(size), handle)

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        driver.cuDeviceGetAttribute(ctypes.byref(value), number, handle)
        return value.value

    return {
        "arch": f"sm_{attribute(MAJOR)}{attribute(MINOR)}",
        "sm_count": attribute(SM_COUNT),
        "shared_memory": attribute(SHARED_OPTIN),
        "memory": size.value,
        "l2": attribute(L2_BYTES),
        "driver": release,
    }


def _kernel_driver() -> str | None:
    try:
        words = Path("/proc/driver/nvidia/version").read_text().split()
    except OSError:
        return None
    return next((word for word in words if word.count(".") >= 1 and word.replace(".", "").isdigit()), None)
