"""Where the grammar and the shipped rules are: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(kind: str) -> Path:
    """Return the folder ``grammars`` or ``rules``, wherever this installation has it.

    A checkout and an editable install have it beside the package, a wheel in ``tessera_rules/_data``. A checkout's own
    folder counts first, and only where it is this project's: the grammar lies in it.

    >>> (resource("grammars") / "tsr.lark").is_file()
    True
    """
    if kind not in ("grammars", "rules"):
        raise ValueError(f"there is no resource '{kind}': it is 'grammars' or 'rules'")
    beside = _PACKAGE.parent
    if (beside / "grammars" / "tsr.lark").is_file():
        return beside / kind
    return _PACKAGE / "_data" / kind


_INSTEAD: ContextVar[Path | None] = ContextVar("shipped rules", default=None)


def rules_folder() -> Path:
    """Return the folder of the rules that ship, which ``use "std/…"`` starts from.

    >>> rules_folder().name
    'rules'
    """
    return _INSTEAD.get() or resource("rules")


@contextmanager
def rules_folder_at(folder: Path) -> Iterator[None]:
    """Let another folder be that of the rules that ship: a saved run brings those that it was made with.

    >>> with rules_folder_at(Path("/saved/rules")):
    ...     rules_folder().as_posix()
    '/saved/rules'
    """
    token = _INSTEAD.set(folder)
    try:
        yield
    finally:
        _INSTEAD.reset(token)
