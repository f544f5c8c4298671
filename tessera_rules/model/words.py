"""Words that tests, decisions and documents share: of verdicts, of promises."""

from __future__ import annotations

from typing import Literal

VerdictWord = Literal[
    "selected", "outranked", "delegated", "denied", "refused", "error", "undecided", "unavailable",
    "unproved", "wrong", "mistrusted", "declined", "failed", "crashed", "quarantined",
]  # fmt: skip

PROMISES = ("deterministic", "batch_invariant")
"""What a candidate may promise, and a request or the policy may require."""
