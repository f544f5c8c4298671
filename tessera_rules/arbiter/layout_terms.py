"""What layouts come to as terms over sizes: the same as `layouts.py` says for sizes that are known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tessera_rules.arbiter import layouts
from tessera_rules.compile.fallible import may_fail
from tessera_rules.model.request import Request
from tessera_rules.model.terms import Apply, Const, Term
from tessera_rules.model.types import BOOL, INT
from tessera_rules.model.values import StatedLayout

ONE, ZERO = Const(INT, 1), Const(INT, 0)


def layout_terms(request: Request) -> dict[str, Term]:
    """Return the facts about layouts that hang on sizes, by key. An operand whose sizes can be errors has none."""
    found: dict[str, Term] = {}
    for name, operand in request.op.operands.items():
        shape = operand.shape
        if any(map(may_fail, shape)):
            continue
        layout = request.layouts.get(name, layouts.PLAIN)
        for axis in range(len(shape)):
            found[f"stride:{name}:{axis}"] = _stride(shape, layout, axis)
        found[f"max_offset:{name}"] = _max_offset(shape, layout)
        found[f"contiguous:{name}"] = _contiguous(shape, layout)
        found[f"broadcast:{name}"] = _broadcast(shape, layout)
    return found


def _product(terms: Sequence[Term]) -> Term:
    return reduce(lambda a, b: Apply(INT, "mul", (a, b)), terms) if terms else ONE


def _is(term: Term, size: Const) -> Term:
    return Apply(BOOL, "eq", (term, size))


def _any(terms: Sequence[Term]) -> Term:
    return Apply(BOOL, "or", tuple(terms)) if terms else Const(BOOL, False)


def _stride(shape: Sequence[Term], layout: StatedLayout, axis: int) -> Term:
    if layout.strides is not None:
        return Const(INT, layout.strides[axis])
    return _product([Apply(INT, "max", (size, ONE)) for size in shape[axis + 1 :]])


def _max_offset(shape: Sequence[Term], layout: StatedLayout) -> Term:
    if not shape:
        return ZERO
    if layout.strides is None:
        reached: Term = Apply(INT, "sub", (_product(shape), ONE))
    else:
        sides: list[Term] = []
        for sign in (1, -1):
            parts = [
                Apply(INT, "mul", (Apply(INT, "sub", (size, ONE)), Const(INT, abs(step))))
                for size, step in zip(shape, layout.strides, strict=True)
                if step * sign > 0
            ]
            sides.append(reduce(lambda a, b: Apply(INT, "add", (a, b)), parts) if parts else ZERO)
        reached = Apply(INT, "max", tuple(sides))
    return Apply(INT, "if", (_any([_is(size, ZERO) for size in shape]), ZERO, reached))


def _contiguous(shape: Sequence[Term], layout: StatedLayout) -> Term:
    if layout.strides is None or not shape:
        return Const(BOOL, True)
    dense = [Apply(BOOL, "or", (_is(size, ONE), _is(_product(shape[axis + 1 :]), Const(INT, layout.strides[axis])))) for axis, size in enumerate(shape)]
    return _any([*(_is(size, ZERO) for size in shape), Apply(BOOL, "and", tuple(dense))])


def _broadcast(shape: Sequence[Term], layout: StatedLayout) -> Term:
    if layout.strides is None or 0 not in layout.strides:
        return Const(BOOL, False)
    return Apply(BOOL, "not", (_any([_is(size, ZERO) for size in shape]),))
