"""Layout facts of operands of which nothing is stated, as terms over the dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_rules.compile.simplify import simplify
from tessera_rules.model.request import DEFAULT_ALIGN, UNKNOWN
from tessera_rules.model.terms import Apply, Const, Term
from tessera_rules.model.types import BOOL, INT
from tessera_rules.model.values import Op


def plain_layout(op: Op) -> dict[str, Term]:
    """Return what each layout fact of an op's operands is where they are C-contiguous at 64-byte-aligned addresses, by fact key.

    Put in place of the facts (`tessera_rules.compile.simplify.substitute`), a clause about strides becomes one about dimensions, and
    an answer of the search is a request that can be stated by its dimensions alone. A size of 0 counts as 1 in a stride.
    """
    found: dict[str, Term] = {}
    for operand in op.operands.values():
        name = operand.name
        found[f"align:{name}"] = Const(INT, DEFAULT_ALIGN)
        found[f"contiguous:{name}"] = Const(BOOL, True)
        found[f"broadcast:{name}"] = Const(BOOL, False)
        found[f"max_offset:{name}"] = Apply(INT, "max", (Apply(INT, "sub", (_product(operand.shape), Const(INT, 1))), Const(INT, 0)))
        for axis in range(len(operand.shape)):
            later = [Apply(INT, "max", (size, Const(INT, 1))) for size in operand.shape[axis + 1 :]]
            found[f"stride:{name}:{axis}"] = _product(later)
    return {key: simplify(term, lambda key: UNKNOWN) for key, term in found.items()}


def _product(sizes: Sequence[Term]) -> Term:
    if not sizes:
        return Const(INT, 1)
    product = sizes[0]
    for size in sizes[1:]:
        product = Apply(INT, "mul", (product, size))
    return product
