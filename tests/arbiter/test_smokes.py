"""Smoke probes are held against their own candidate: no run, only the words."""

from __future__ import annotations

import pytest

from tessera_rules.arbiter.smokes import smoke_findings
from tessera_rules.model.load import load

RULES = """tessera 1
op product {
  operand a: [M, K]
  operand b: [K, N]
  operand tab?: [P]
  result [M, N]
  dtype a in [f32, f16]
  check M != 13
  reference python "no.such:product"
}
target box { fact arch: one of ["v1"] }
candidate c {
  tier emitted
  target box
  op product
  available { device.arch == "v1" and smoke(%s) }
  requires { %s }
  honours [tab]
  bind python "no.such:c"
}
"""


@pytest.mark.parametrize(
    ("request_", "requires", "wanted"),
    [
        ("M=16, N=16, K=16, dtype=f16", "M % 16 == 0", None),
        ("M=16, N=16, K=16", "M % 16 == 0; dtype == f16", None),
        ("M=16, N=16, K=16", "M % 16 == 0", "admits 2 dtypes"),
        ("M=17, N=16, K=16", "dtype == f16; M % 16 == 0", "M % 16 == 0` does not hold (M = 17)"),
        ("M=16, N=16, K=16, dtype=f32", "dtype == f16", "dtype == f16` does not hold (dtype = f32)"),
        ("M=16, N=16, K=16, dtype=f64", "M == 16", "no request of product"),
        ("M=13, N=16, K=16, dtype=f32", "N == 16", "no request of product"),
        ("M=16, N=16, K=16, dtype=f32", 'M == 16; device.arch == "v2" or M == 16', None),
        ("M=16, N=16, K=16, dtype=f32, given=[tab], P=3", "not given(tab) or P == 4", "P == 4"),
    ],
)
def test_P15_a_smoke_asks_for_what_its_candidate_serves(request_: str, requires: str, wanted: str | None) -> None:
    loaded = load([], texts={"a.tsr": RULES.replace("%s", request_, 1).replace("%s", requires, 1)})
    assert loaded.errors == (), loaded.errors
    found = [each.message for each in smoke_findings(loaded.ruleset)]
    assert len(found) == (wanted is not None), found
    assert wanted is None or wanted in found[0]
