"""The words of verdicts, shared by tests, decisions and documents."""

from __future__ import annotations

from typing import Literal

VerdictWord = Literal[
    "selected", "outranked", "delegated", "denied", "refused", "error", "undecided", "unavailable",
    "unproved", "wrong", "mistrusted", "declined", "failed", "crashed", "quarantined",
]  # fmt: skip
