"""The generic C lane of x86, each op through its suite: bound as the rules say, forced, not compared before (the suite does that)."""

from __future__ import annotations

import shutil
from functools import cache
from typing import Any

import pytest

from tessera_rules.bind.arrays import word_of
from tessera_rules.session import Arbiter, load
from tests.conformance.base import SUITES
from tests.conformance.checking import Conformance

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="compiler: there is no cc")
SERVED = {"scaled_matmul": ("i8", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz")}


@cache
def arbiter() -> Arbiter:
    return load()


def lane(op: str) -> Any:
    """Return the C lane of an op as a kernel that takes operands and attributes by name."""

    def kernel(**arguments: Any) -> Any:
        first = arguments[next(iter(arbiter().ruleset.ops[op].operands))]
        return arbiter().run(op, target="x86", force=f"x86_generic_{op}_{word_of(first.dtype)}", verify="never", **arguments)

    return kernel


def suite(op: str, of: type[Conformance]) -> type[Conformance]:
    """Return the test class of an op's C lane."""
    name = f"Test{op.title().replace('_', '')}"
    dtypes = tuple(dtype for dtype in of.dtypes if dtype in SERVED.get(op, of.dtypes))
    return type(name, (of,), {"kernel": staticmethod(lane(op)), "dtypes": dtypes, "__module__": __name__, "__doc__": f"The C lane of {op}."})


for _op, _of in SUITES.items():
    _made = suite(_op, _of)
    globals()[_made.__name__] = _made
del _made


def test_every_op_that_ships_has_a_suite() -> None:
    assert set(SUITES) == {name for name, op in arbiter().ruleset.ops.items() if op.reference is not None}
