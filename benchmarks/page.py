"""Writes the tables of docs/performance.md from the figures of the last `make bench`: what stands between its two comments.

python -m benchmarks.page
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.bench_decisions import BARS, RESULTS, cell

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- figures: python -m benchmarks.page -->", "<!-- end of figures -->"


def tables(found: dict[str, Any]) -> str:
    """Return the figures as tables."""
    about, generated = found["about"], found["generated"]
    load = ", ".join(f"{each:g}" for each in about["load_average"])
    lines = [
        f"{about['cpu']}, {about['cores']} cores shared with other work (load averages {load}), Python {about['python']}, NumPy {about['numpy']}.",
        "Microseconds: median of the repeats of one run, in brackets the best repeat.",
        "",
        "| generated rules: candidates over ops | " + " | ".join(generated) + " | bar |",
        "| --- |" + " ---: |" * len(generated) + " ---: |",
    ]
    for row in dict.fromkeys(name for table in generated.values() for name in table):
        bars = sorted({f"{bar:g}" for bar in BARS.get(row, ())}, key=float)
        lines.append(f"| {row} | " + " | ".join(cell(table.get(row)) for table in generated.values()) + f" | {' to '.join(bars)} |")
    lines += ["", "| shipped rules, matmul on x86 | µs |", "| --- | ---: |"]
    lines += [f"| {row} | {cell(figure)} |" for row, figure in found["shipped"].items()]
    return "\n".join(lines)


def main() -> None:
    """Put the figures into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(f"{before}{BEGIN}\n{tables(found)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
