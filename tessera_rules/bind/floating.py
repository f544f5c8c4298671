"""The floating-point environment of this thread, told by arithmetic alone. Standard library only: the child of trials loads it by path."""

from __future__ import annotations

SMALLEST, LEAST_NORMAL, STEP = 5e-324, 2.2250738585072014e-308, 2.0**-53


def disturbed(smallest: float = SMALLEST, normal: float = LEAST_NORMAL, step: float = STEP) -> str | None:
    """Return what is not as a process starts with: subnormal numbers flushed or read as 0, rounding that is not to nearest; else None.

    The arguments keep the compiler from doing the arithmetic itself.

    >>> disturbed() is None
    True
    """
    found = []
    if smallest * 1.0 == 0.0 or smallest + smallest == 0.0:
        found.append("subnormal numbers read as 0 (DAZ)")
    elif normal * 0.5 == 0.0:
        found.append("subnormal results flushed to 0 (FTZ)")
    up, down = 1.0 + step * 1.5, -1.0 - step * 1.5
    if not (1.0 + step == 1.0 and -1.0 - step == -1.0 and up == 1.0 + 2.0 * STEP and down == -up):
        found.append("rounding is not to nearest")
    return "; ".join(found) or None
