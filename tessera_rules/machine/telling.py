"""Who hears what takes its time: what is compiled, deep inside of a decision, tells it here; whoever shows progress listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def tell(text: str) -> None:
    """Tell what is going on now, if anybody listens."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(text)


@contextmanager
def heard_by(listener: Callable[[str], None]) -> Iterator[None]:
    """Let a listener hear what this thread tells.

    >>> heard = []
    >>> with heard_by(heard.append):
    ...     tell("compiling k.c")
    >>> tell("nobody hears this"), heard
    (None, ['compiling k.c'])
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
