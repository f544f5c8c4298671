"""Each reference through the suite of its op, compared with the op written again as loops (tests/ops/independent.py).

The bound is that of a kernel with float64 arithmetic, far below what any lane is allowed: what is left is one rounding.
"""

from __future__ import annotations

import pytest

from tessera_rules.ops import OPS, reference_of
from tessera_rules.oracle.bounds import bound
from tests.conformance import base
from tests.conformance.checking import Array, Attrs, Conformance, Operands
from tests.ops import independent

SMALL = 8000
"""Products, roughly, that the loops do in a millisecond or so: larger shapes are left to the kernels."""


class Reference(Conformance):
    """A reference in place of a kernel."""

    def expected(self, operands: Operands, attrs: Attrs) -> Array:
        found: Array = getattr(independent, self.op)(**operands, **attrs)
        return found

    def allowed(self, operands: Operands, attrs: Attrs, expected: Array) -> Array:
        return bound(self.op, operands, attrs, expected, self.result_dtype(operands, attrs), acc_dtype="f64")

    def admits(self, operands: Operands, attrs: Attrs) -> bool:
        sizes = sorted({n for x in operands.values() for n in x.shape})[-3:]
        work = 1
        for n in sizes:
            work *= max(1, n)
        return work <= SMALL


class TestMatmul(Reference, base.MatmulConformance):
    kernel = staticmethod(reference_of("matmul"))


class TestBatchedMatmul(Reference, base.BatchedMatmulConformance):
    kernel = staticmethod(reference_of("batched_matmul"))


class TestGatedMatmul(Reference, base.GatedMatmulConformance):
    kernel = staticmethod(reference_of("gated_matmul"))


class TestSoftmax(Reference, base.SoftmaxConformance):
    kernel = staticmethod(reference_of("softmax"))


class TestRmsnorm(Reference, base.RmsnormConformance):
    kernel = staticmethod(reference_of("rmsnorm"))


class TestLayernorm(Reference, base.LayernormConformance):
    kernel = staticmethod(reference_of("layernorm"))


class TestPointwise(Reference, base.PointwiseConformance):
    kernel = staticmethod(reference_of("pointwise"))


class TestScaledMatmul(Reference, base.ScaledMatmulConformance):
    kernel = staticmethod(reference_of("scaled_matmul"))


class TestAttention(Reference, base.AttentionConformance):
    kernel = staticmethod(reference_of("attention"))


class TestPagedAttention(Reference, base.PagedAttentionConformance):
    kernel = staticmethod(reference_of("paged_attention"))


class TestFft(Reference, base.FftConformance):
    kernel = staticmethod(reference_of("fft"))


class TestRfft(Reference, base.RfftConformance):
    kernel = staticmethod(reference_of("rfft"))


class TestIrfft(Reference, base.IrfftConformance):
    kernel = staticmethod(reference_of("irfft"))


class TestGemm(Reference, base.GemmConformance):
    """The reference returns an array of its own, and leaves c as it is."""

    inout = frozenset()
    kernel = staticmethod(reference_of("gemm"))


class TestFusedMatmul(Reference, base.FusedMatmulConformance):
    kernel = staticmethod(reference_of("fused_matmul"))

    def expected(self, operands: Operands, attrs: Attrs) -> Array:
        return independent.fused_matmul(**operands, **{name: value for name, value in attrs.items() if name != "residual"})


@pytest.mark.parametrize("op", OPS)
def test_every_op_has_a_suite_a_reference_and_a_bound(op: str) -> None:
    assert op in base.SUITES
    assert getattr(independent, op)
    assert reference_of(op)
