"""The conformance cases of the analysis, as the runner that came with them runs them, where they are at hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "cases"


@pytest.mark.skipif(not (SHARED / "run_cases.py").is_file(), reason="cases: the shared folder is not here")
def test_every_case_holds_with_its_witness_replayed() -> None:
    runner = [sys.executable, str(SHARED / "run_cases.py"), "--tsr", f"{sys.executable} -m tessera_rules.cli", str(SHARED / "analysis")]
    done = subprocess.run(runner, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
