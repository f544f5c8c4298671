"""What `sweep` goes through: ``head_dim=16..256 step 8``, or a list ``M=1,7,64``."""

from __future__ import annotations

import re

from tessera_rules.arbiter.words import integer
from tessera_rules.errors import UsageError

MAX_ROWS = 2000
_RANGE = re.compile(r"([^\s=]+)\s*=\s*([^\s.,]+)\s*\.\.\s*([^\s.]+)(?:\s+step\s+(\S+))?")
_LIST = re.compile(r"([^\s=]+)\s*=\s*([^\s,]+(?:\s*,\s*[^\s,]+)+)")


def sweep_values(text: str) -> tuple[str, list[int | str]]:
    """Return the name and the values of a sweep. Raises `UsageError`.

    >>> sweep_values("head_dim=16..64 step 16")
    ('head_dim', [16, 32, 48, 64])
    >>> sweep_values("act=none,relu")
    ('act', ['none', 'relu'])
    """
    listed = _LIST.fullmatch(text.strip())
    if listed is not None:
        return listed.group(1), [part.strip() for part in listed.group(2).split(",")]
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"'{text}' is no sweep", hint="sweep head_dim=16..256 step 8, or sweep M=1,7,64")
    name, *parts = found.groups()
    numbers = [1 if part is None else integer(part) for part in parts]
    for part, number in zip(parts, numbers, strict=True):
        if number is None:
            raise UsageError(f"'{part}' is no integer", hint="sweep head_dim=16..256 step 8")
    low, high, step = (number or 0 for number in numbers)
    if step <= 0 or low > high:
        raise UsageError(f"{low}..{high} step {step} holds nothing", hint="the low end first, and a positive step")
    if (high - low) // step >= MAX_ROWS:
        raise UsageError(f"this sweep has {(high - low) // step + 1} rows, and {MAX_ROWS} are the most", hint="a larger step")
    return name, list(range(low, high + 1, step))
