"""Compiled kernels with one fault each never pass, and right ones always do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle import bad_c
from tests.oracle.subjects import c_candidate, proved

QUICK = ("k past 64 dropped", "adds to what was there", "one past the end", "operands of 17 bits", "segmentation fault", "FTZ left on", "NaN skipped")
PROMISED = ("other result at the second call", "noise of one ulp")
"""Wrong only because they promise to be deterministic, or wrong by less than the bound."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.deep) for name in bad_c.BODIES])
def test_T19_P4_a_wrong_kernel_in_C_is_not_verified(name: str, tmp_path: Path) -> None:
    more = "requires { dtype == f32 }" + ("\n deterministic" if name in PROMISED else "")
    proof = proved(c_candidate(bad_c.write(tmp_path, name, bad_c.BODIES[name]), more))
    assert proof.outcome != "verified"
    assert proof.reason


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name == "in f32, four sums" else pytest.mark.deep) for name in bad_c.RIGHT_BODIES])
def test_a_right_kernel_in_C_is_verified(name: str, tmp_path: Path) -> None:
    proof = proved(c_candidate(bad_c.write(tmp_path, name, bad_c.RIGHT_BODIES[name]), "requires { dtype == f32 }\n deterministic; batch_invariant"))
    assert proof.outcome == "verified", proof.reason
