"""What may come of binding and of a call besides a result."""

from __future__ import annotations

from attrs import frozen


@frozen
class Unbound:
    """A binding that cannot be bound here, and why; the candidate is unavailable with that reason."""

    reason: str


class KernelFailed(Exception):
    """A kernel was entered and did not deliver, or could not be entered with these values; ``reason`` says what happened.

    ``status`` is the word or number that a native function returned, where it returned one.
    """

    def __init__(self, reason: str, status: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status


class BrokenContract(KernelFailed):
    """A kernel gave something else than the op's results: another shape, dtype or number of them, or no array at all."""
