"""What the layout of an operand comes to: strides, contiguity, alignment, the largest offset; where nothing is stated, C-contiguous.

Sizes may be unknown. What they leave open is `UNKNOWN`; what they cannot change is said.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_rules.model.request import DEFAULT_ALIGN, MAX_ALIGN, UNKNOWN, Unknown
from tessera_rules.model.values import StatedLayout

Size = int | Unknown
PLAIN = StatedLayout()


def align(layout: StatedLayout) -> int:
    """Return the largest power of two, up to a page, that divides the address.

    >>> align(PLAIN), align(StatedLayout(align=48)), align(StatedLayout(align=65536))
    (64, 16, 4096)
    """
    stated = DEFAULT_ALIGN if layout.align is None else layout.align
    return min(stated & -stated, MAX_ALIGN) if stated > 0 else MAX_ALIGN


def stride(shape: Sequence[Size], layout: StatedLayout, axis: int) -> Size:
    """Return the stride of an axis in elements. A size of 0 counts as 1: nothing is read, and a leading dimension stays positive.

    >>> stride((4, 8, 16), PLAIN, 0), stride((4, UNKNOWN, 16), PLAIN, 0), stride((4, UNKNOWN, 16), PLAIN, 1)
    (128, <Unknown.UNKNOWN: 'unknown'>, 16)
    """
    if layout.strides is not None:
        return layout.strides[axis]
    count = 1
    for size in shape[axis + 1 :]:
        if isinstance(size, Unknown):
            return UNKNOWN
        count *= max(size, 1)
    return count


def contiguous(shape: Sequence[Size], layout: StatedLayout) -> bool | Unknown:
    """Return whether the elements lie densely in C order. The stride of an axis of one element does not matter.

    >>> contiguous((4, 8), StatedLayout(strides=(16, 1))), contiguous((1, 8), StatedLayout(strides=(16, 1)))
    (False, True)
    """
    if layout.strides is None or 0 in shape:
        return True
    open_sizes = False
    dense: Size = 1
    for size, step in zip(reversed(shape), reversed(layout.strides), strict=True):
        if isinstance(size, Unknown):
            # A wrong stride is no matter where the size turns out 1, and nothing is where one turns out 0.
            open_sizes = open_sizes or dense is UNKNOWN or step != dense
            dense = UNKNOWN
            continue
        if size != 1:
            if isinstance(dense, Unknown):
                open_sizes = True
            elif step != dense:
                return UNKNOWN if UNKNOWN in shape else False
            else:
                dense = dense * size
    return UNKNOWN if open_sizes else True


def broadcast(shape: Sequence[Size], layout: StatedLayout) -> bool | Unknown:
    """Return whether some stride is 0. Operands that nothing is stated of have none, and those without elements do not count.

    >>> broadcast((4, 8), PLAIN), broadcast((4, 8), StatedLayout(strides=(0, 1))), broadcast((0, 8), StatedLayout(strides=(0, 0)))
    (False, True, False)
    """
    if layout.strides is None or 0 not in layout.strides or 0 in shape:
        return False
    return UNKNOWN if UNKNOWN in shape else True


def max_offset(shape: Sequence[Size], layout: StatedLayout) -> Size:
    """Return the largest element offset from the address that is reached, in either direction; 0 for an operand without elements.

    >>> max_offset((4, 8), PLAIN), max_offset((4, 8), StatedLayout(strides=(100, 1))), max_offset((4, 8), StatedLayout(strides=(0, -1)))
    (31, 307, 7)
    """
    if 0 in shape:
        return 0
    up = down = 0
    for axis, size in enumerate(shape):
        step = stride(shape, layout, axis)
        if size == 1:
            continue
        if isinstance(size, Unknown) or isinstance(step, Unknown):
            return UNKNOWN
        if step > 0:
            up += (size - 1) * step
        else:
            down += (size - 1) * -step
    return max(up, down)
