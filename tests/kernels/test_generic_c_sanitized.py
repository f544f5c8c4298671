"""The tests of the generic C lane once more, on kernels built with the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.generic_c import compiler

ROOT = Path(__file__).parents[2]
TESTS = sorted(str(path) for path in Path(__file__).parent.glob("test_generic_c_*.py") if path.stem not in ("test_generic_c_bound", Path(__file__).stem))
OVERRUN = "int main(int count, char **words) { char *p = __builtin_malloc(4); p[4 + (words == 0)] = (char)count; return p[4]; }"


def _runtime(name: str) -> str:
    said = subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    if not Path(said).is_absolute():
        pytest.skip(f"sanitizer: cc has no {name}")
    return said


@pytest.mark.deep
@compiler
def test_no_access_outside_of_an_operand_and_no_undefined_behaviour(tmp_path: Path) -> None:
    preload = " ".join(_runtime(name) for name in ("libasan.so", "libubsan.so"))
    (tmp_path / "overrun.c").write_text(OVERRUN)
    subprocess.run(["cc", "-fsanitize=address,undefined", "-o", str(tmp_path / "overrun"), str(tmp_path / "overrun.c")], check=True)
    assert subprocess.run([str(tmp_path / "overrun")], capture_output=True, check=False).returncode != 0, "the sanitizer sees nothing here"
    settings = {"KERNEL_TEST_SANITIZE": "1", "PYTHONMALLOC": "malloc", "ASAN_OPTIONS": "detect_leaks=0", "LD_PRELOAD": preload}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
