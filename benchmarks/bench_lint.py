"""Times lint at 1,000, 2,000, 5,000 and 10,000 generated candidates, stage by stage, and says whether it is linear.

    python -m benchmarks.bench_lint [SIZE …]

Bars (docs of the design): t(2n)/t(n) < 2.5 up to 10,000; lint of 1,000 candidates within 4 s.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import pairwise
from math import log2
from pathlib import Path

from benchmarks.generate import rules
from tessera_rules.check.driver import all_checks, check_load
from tessera_rules.model.load import load
from tessera_rules.source import Source
from tessera_rules.syntax import parse

SIZES = (1000, 2000, 5000, 10000)
FACTOR = 2.5


def measure(count: int) -> tuple[float, float, float, int, list[str]]:
    """Return seconds of processor time of parse, of load (parse included) and of the checks, the number of findings, and the codes of errors."""
    text = rules(count)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.tsr"
        path.write_text(text, encoding="utf-8")
        start = time.process_time()
        parse(Source("r.tsr", text))
        parsed = time.process_time()
        loaded = load([path])
        built = time.process_time()
        findings = check_load(loaded)
        done = time.process_time()
    return parsed - start, built - parsed, done - built, len(findings), sorted({each.code for each in findings if each.severity == "error"})


def main(words: list[str]) -> int:
    """Print one line a size; 1 where a bar is not met."""
    all_checks()
    sizes = [int(word) for word in words] or list(SIZES)
    times: dict[int, float] = {}
    failed = False
    for count in sizes:
        parsed, built, checked, findings, errors = measure(count)
        times[count] = built + checked
        print(f"{count:>6} candidates: parse {parsed:.2f} s, load {built:.2f} s, checks {checked:.2f} s, {findings} findings, errors {errors}")
    for small, large in pairwise(sizes):
        per_doubling = (times[large] / times[small]) ** (1 / log2(large / small))
        failed |= per_doubling >= FACTOR
        print(f"t({large})/t({small}) = {times[large] / times[small]:.2f}, {per_doubling:.2f} a doubling (bar {FACTOR})")
    if 1000 in times:
        failed |= times[1000] > 4
        print(f"lint of 1,000 candidates: {times[1000]:.2f} s (bar 4)")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
