"""Layout facts as terms over dimensions are what the arbiter says of operands of which nothing is stated."""

from __future__ import annotations

import itertools

from tessera_rules.arbiter import layouts
from tessera_rules.compile.domain import between, domain, plain_layout, satisfy
from tessera_rules.compile.evaluate import evaluate
from tessera_rules.compile.simplify import substitute
from tessera_rules.model.load import load
from tessera_rules.model.show import show

RULES = """
op attention {
  operand q: [B, Hq, 2 * Sq, 8]
  operand m: [Sq, B]
  result [B, Hq]
  dtype q
  reference python "no.such.module:f"
}
target gpu {}
candidate c {
  tier emitted; target gpu; op attention
  requires { aligned(q, 64) and contiguous(q) and not broadcast(m); stride(q, 1) % 128 == 0; max_offset(q) < 2147483648 }
  bind python "no.such.module:c"
}
"""


def test_every_layout_fact_of_every_shape() -> None:
    op = load([], texts={"r.tsr": RULES}).ruleset.ops["attention"]
    terms = plain_layout(op)
    for b, h, s in itertools.product((0, 1, 2, 5), repeat=3):
        values = {"dim:B": b, "dim:Hq": h, "dim:Sq": s}
        for name, operand in op.operands.items():
            shape = [evaluate(size, values.__getitem__) for size in operand.shape]
            plain = layouts.PLAIN
            expected = {
                f"align:{name}": layouts.align(plain),
                f"contiguous:{name}": layouts.contiguous(shape, plain),
                f"broadcast:{name}": layouts.broadcast(shape, plain),
            }
            expected |= {f"max_offset:{name}": layouts.max_offset(shape, plain)}
            expected |= {f"stride:{name}:{axis}": layouts.stride(shape, plain, axis) for axis in range(len(shape))}
            for key, value in expected.items():
                assert evaluate(terms[key], values.__getitem__) == value, (key, values)


def test_clauses_about_strides_become_clauses_about_dimensions() -> None:
    ruleset = load([], texts={"r.tsr": RULES}).ruleset
    terms = plain_layout(ruleset.ops["attention"])
    plain, strides, offset = (substitute(clause.term, terms) for clause in ruleset.candidates["c"].requires)
    assert domain([plain]).exact
    assert not domain([plain]).empty
    assert show(strides) == "max(2 * Sq, 1) * 8 % 128 == 0"
    assert domain([strides]).integer("dim:Sq").values(3) is None
    assert [size for size in range(1, 40) if size in domain([strides]).integer("dim:Sq")] == [8, 16, 24, 32]
    found = satisfy([strides, offset], {"dim:B": between(1, None)})
    assert isinstance(found, dict)
    assert found["dim:Sq"] == 8
