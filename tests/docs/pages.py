"""What a page of the documentation holds: its code blocks, its links, its words."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?P<fence>```+)(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
NOTE = re.compile(r"<!--\s*(?P<word>before|not run|needs):(?P<text>(?:(?!-->).)*)-->\s*\Z", re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\((?P<to>[^)\s]+)\)")
HEADING = re.compile(r"^#+[ \t]+(?P<title>.+?)[ \t]*$", re.MULTILINE)


@frozen
class Block:
    """One fenced block. ``file`` and ``codes`` follow the language: a file's name, and what a bad text is found to have.

    ``before`` is what an HTML comment ``<!-- before: … -->`` above puts in front of a rules text, ``not_run`` the reason of
    ``<!-- not run: … -->``, ``needs`` the package of ``<!-- needs: … -->`` without which it cannot run.
    """

    language: str
    file: str
    codes: tuple[str, ...]
    text: str
    line: int
    before: str = ""
    not_run: str = ""
    needs: str = ""


def pages() -> list[Path]:
    """Return the pages that people read: the front page and those of ``docs/``, those made from the code left out."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def name_of(page: Path) -> str:
    """Return a page's path from the root."""
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    found = []
    for match in FENCE.finditer(text):
        language, *words = match["info"].split() or [""]
        note = NOTE.search(text, 0, match.start())
        said = {note["word"]: note["text"].strip()} if note is not None else {}
        line = text.count("\n", 0, match.start()) + 2
        codes = tuple(word for word in words if word.startswith("TSR"))
        file = next((word for word in words if word not in codes), "")
        found.append(Block(language, file, codes, match["text"], line, said.get("before", ""), said.get("not run", ""), said.get("needs", "")))
    return found


def prose(text: str) -> str:
    """Return a page without its fenced blocks."""
    return FENCE.sub("", text)


def links(text: str) -> list[str]:
    """Return where the links of a page go."""
    return [match["to"] for match in LINK.finditer(re.sub(r"`[^`\n]*`", "", prose(text)))]


def anchors(text: str) -> set[str]:
    """Return the anchors that the headings of a page make, as GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", re.sub(r"`", "", match["title"]).lower()).replace(" ", "-") for match in HEADING.finditer(prose(text))}
