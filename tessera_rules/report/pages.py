"""The page of a code: its own text, and the two golden files that show it."""

from __future__ import annotations

from pathlib import Path

from tessera_rules.diagnostic import CODES, Code
from tessera_rules.resources import resource

_GOLDEN = ("tests", "golden", "lint")
_SEVERITIES = {"error": "an error", "warning": "a warning", "note": "a note, which never fails a run"}


def page(code: Code) -> str:
    """Return the page as Markdown: what is wrong, why it matters, the way on, and an example where the checkout is at hand."""
    parts = [f"# {code.code}: {code.title}", f"{code.code} is {_SEVERITIES[code.severity]}.", code.text.strip()]
    for name, said in (("flagged", "Found in"), ("clean", "Not found in")):
        shown = example(code.code, name)
        if shown is not None:
            parts.append(f"{said}:\n\n```tsr\n{shown}```")
    return "\n\n".join(parts) + "\n"


def example(code: str, name: str) -> str | None:
    """Return a golden file of a code as text to show, or None where there is none or it is no text."""
    path = resource("rules").parent.joinpath(*_GOLDEN, code, f"{name}.tsr")
    try:
        text = _shown(path)
    except (OSError, UnicodeDecodeError):
        return None
    if len(text) > 4000 or any(not char.isprintable() and char not in "\n\t" for char in text):
        return None
    return text if text.endswith("\n") else text + "\n"


def _shown(path: Path) -> str:
    """Return a golden file without the markers that its test reads."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(line.split("#!", 1)[0].rstrip() if "#! TSR" in line else line for line in lines) + "\n"


def contents() -> dict[str, str]:
    """Return every page by file name, and ``README.md``, the list of them, for the codes declared by the modules imported so far."""
    pages = {f"{code}.md": page(CODES[code]) for code in sorted(CODES)}
    rows = [f"| [{code}]({code}.md) | {CODES[code].severity} | {CODES[code].title} |" for code in sorted(CODES)]
    head = "What `tsr lint` and `tsr check` find. `tsr lint --explain TSR401` prints the page of a code.\n\n| code | severity | what |\n| --- | --- | --- |\n"
    pages["README.md"] = "# Codes\n\n" + head + "\n".join(rows) + "\n"
    return pages
