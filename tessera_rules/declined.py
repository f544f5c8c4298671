"""How a kernel says that it cannot serve a call."""

from __future__ import annotations


class Declined(Exception):
    """A kernel's own refusal, with its reason; a Python kernel returns it or raises it.

    The call then goes to the next candidate in rank, and the log says so. A kernel must never answer with the reference's
    result instead: nobody could tell who computed what.

    >>> Declined("K is odd").reason
    'K is odd'
    """

    def __init__(self, reason: str = "no reason given") -> None:
        super().__init__(reason)
        self.reason = reason
