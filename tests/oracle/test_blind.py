"""What docs/oracle.md says that the oracle cannot see, shown by a kernel; and that its use at that size is seen after all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.oracle import bad_c
from tests.oracle.subjects import c_candidate, session

BLIND = "LOOP { SUM(0, K == 1091 ? K - 1 : K) out[i*N + j] = (float)s; } return 0;"


def test_a_fault_at_one_size_shows_when_that_size_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSR_CACHE", str(tmp_path / "cache"))
    arbiter = session(c_candidate(bad_c.write(tmp_path, "blind", BLIND)))
    rng = np.random.default_rng(0)

    def tag(k: int) -> str:
        a, b = rng.standard_normal((3, k)).astype(np.float32), rng.standard_normal((k, 3)).astype(np.float32)
        return arbiter.run_traced("product", a, b, target="cpu")[1].tag

    assert [tag(64), tag(1090), tag(1091), tag(1092)] == ["it", "it", "reference", "it"]
