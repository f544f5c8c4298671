"""Rows as aligned columns."""

from __future__ import annotations

from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (0,)) -> str:
    """Return rows under their heads; the columns of ``right`` are aligned to the right.

    >>> print(table(("M", "winner"), [("8", "a"), ("16", "bb")]))
     M  winner
     8  a
    16  bb
    """
    cells = [list(map(str, heads)), *[list(map(str, row)) for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    lines = [
        "  ".join(cell.rjust(width) if i in right else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))) for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines)
