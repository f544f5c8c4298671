"""Counts instructions of the warm path, which do not move with the machine's load. Needs valgrind and glibc.

    python -m benchmarks.count_instructions [CASE …]

Each case is called from the comparison of ``qsort``, a function of the C library that nothing else here calls, and callgrind
collects only while that runs. ``nothing`` is the call of an empty function from there, and is taken off the others.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = {
    "nothing": "f = lambda: None",
    "prepared decision": "f = lambda d=ready.decide: d(8, 16, 8)",
    "prepared decision, by name": "f = lambda d=ready.decide: d(M=8, K=16, N=8)",
    "decision from operands": "f = lambda d=ready.decide_on: d(a, b)",
    "the kernel with a new output": "f = lambda: product(a, b, np.empty((8, 8), np.float32))",
    "prepared call": "f = lambda d=ready: d(a, b)",
    "Arbiter.run": 'f = lambda d=arbiter.run: d("product", a, b, target="cpu")',
}
PROGRAM = """
import ctypes, gc
import numpy as np
from benchmarks.kernel import RULES, product
from tessera_rules.session import open_arbiter
arbiter = open_arbiter([], texts={{"rules.tsr": RULES.replace("tessera 1", "tessera 1\\npolicy {{ verify never }}")}})
ready = arbiter.prepare("product", target="cpu", dtype="f32")
a, b = np.ones((8, 16), np.float32), np.ones((16, 8), np.float32)
{case}
for _ in range(50):
    f()
calls = 0
def compare(_one, _two):
    global calls
    calls += 1
    f()
    return 0
libc = ctypes.CDLL(None)
compared = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(compare)
memory = ctypes.create_string_buffer(1024)
gc.disable()
for _ in range(5):
    libc.qsort(memory, ctypes.c_size_t(64), ctypes.c_size_t(1), compared)
print(calls)
"""


def counted(case: str) -> float:
    """Return the instructions of one call."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--collect-atstart=no", "--toggle-collect=qsort_r"]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        command += [sys.executable, "-c", PROGRAM.format(case=CASES[case])]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1], env=environment)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None or done.returncode:
        raise SystemExit(f"valgrind says nothing of {case}: {done.stderr[-500:]}")
    return int(found.group(1)) / int(done.stdout.split()[-1])


def main(words: list[str]) -> int:
    """Print one line a case."""
    nothing: float | None = None
    for case in ["nothing", *(words or [each for each in CASES if each != "nothing"])]:
        each = counted(case)
        nothing = each if nothing is None else nothing
        print(f"{case:32} {each - (0 if case == 'nothing' else nothing):>10.0f} instructions a call", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
