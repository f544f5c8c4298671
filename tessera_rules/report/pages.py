"""The page of a code: its own text, and the two golden files that show it.

``python -m tessera_rules.report.pages docs/codes`` writes all of them.
"""

from __future__ import annotations

from pathlib import Path

from tessera_rules.diagnostic import CODES, Code
from tessera_rules.resources import resource

_GOLDEN = ("tests", "golden")
_FOUND_BY = ("lint", "check")
"""Folders of golden files: those that ``tsr lint`` finds, and those that need ``tsr check``."""
_SEVERITIES = {"error": "an error", "warning": "a warning", "note": "a note, which never fails a run"}
_MOST = 3000
_SETTING = ("tessera ", "op ", "target ")
"""What both examples have is left out where it only sets the scene."""


def page(code: Code) -> str:
    """Return the page as Markdown: what is wrong, why it matters, the way on, and an example where the checkout is at hand."""
    parts = [f"# {code.code}: {code.title}", f"{code.code} is {_SEVERITIES[code.severity]}.", code.text.strip()]
    flagged, clean = _example(code.code, "flagged"), _example(code.code, "clean")
    if flagged and clean:
        shared = {piece for _, pieces in flagged for piece in pieces} & {piece for _, pieces in clean for piece in pieces}
        for said, files in (("Found in", flagged), ("Not found in", clean)):
            shown = _shown(files, shared)
            if shown:
                parts.append(f"{said}:\n\n```\n{shown}```")
    return "\n\n".join(parts) + "\n"


def contents() -> dict[str, str]:
    """Return every page by file name, and ``README.md``, the list of them, for the codes declared by the modules imported so far."""
    pages = {f"{code}.md": page(CODES[code]) for code in sorted(CODES)}
    rows = [f"| [{code}]({code}.md) | {CODES[code].severity} | {CODES[code].title} |" for code in sorted(CODES)]
    head = "What `tsr lint` and `tsr check` find. `tsr lint --explain TSR401` prints the page of a code.\n\n| code | severity | what |\n| --- | --- | --- |\n"
    pages["README.md"] = "# Codes\n\n" + head + "\n".join(rows) + "\n"
    return pages


def write_pages(folder: Path) -> None:
    """Write every page into a folder and delete those of codes that are gone."""
    pages = contents()
    for path in folder.glob("TSR*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


Pieces = list[tuple[str, list[str]]]
"""Files by name, each as the text of its declarations."""


def _example(code: str, name: str) -> Pieces:
    """Return a golden file, or a folder of them, as declarations; nothing where there is none or it is no text to show."""
    folders = [resource("rules").parent.joinpath(*_GOLDEN, kind, code) for kind in _FOUND_BY]
    base = next((folder for folder in folders if folder.is_dir()), folders[0])
    one = base / f"{name}.tsr"
    paths = [one] if one.is_file() else sorted((base / name).glob("*.tsr"))
    try:
        return [("" if path is one else path.name, _declarations(_unmarked(path))) for path in paths]
    except (OSError, UnicodeDecodeError):
        return []


def _unmarked(path: Path) -> str:
    """Return a golden file without the markers that its test reads."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return "\n".join(line.split("#!", 1)[0].rstrip() if "#! TSR" in line else line for line in lines)


def _declarations(text: str) -> list[str]:
    """Return a text in pieces, each from a line at the margin up to the next."""
    pieces: list[str] = []
    for line in text.removesuffix("\n").split("\n"):
        if pieces and (not line.strip() or line[0] in " \t}"):
            pieces[-1] += line + "\n"
        else:
            pieces.append(line + "\n")
    return pieces


def _shown(files: Pieces, shared: set[str]) -> str:
    """Return what differs from the other example, or nothing where it is too long or cannot be shown."""
    texts = []
    for name, pieces in files:
        own = "".join(piece for piece in pieces if piece not in shared or not piece.startswith(_SETTING)) or "".join(pieces)
        texts.append(f"# {name}\n{own}" if name else own)
    text = "\n".join(texts)
    fits = len(text) <= _MOST and max(map(len, text.split("\n"))) <= 200
    return text if fits and all(char.isprintable() or char in "\n\t" for char in text) else ""


def _main(words: list[str]) -> None:
    import tessera_rules.analyze.codes
    import tessera_rules.report.schema
    from tessera_rules.check.driver import all_checks

    assert tessera_rules.report.schema.DEMAND.code in CODES
    assert tessera_rules.analyze.codes.GAP.code in CODES
    all_checks()
    write_pages(Path(words[0]))


if __name__ == "__main__":
    import sys

    from tessera_rules.report import pages  # this module under its own name, so that there is one of each

    pages._main(sys.argv[1:])
