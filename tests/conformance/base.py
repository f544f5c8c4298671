"""The conformance suites: one class an op, which the test class of every kernel inherits.

class TestMyMatmul(MatmulConformance):
    kernel = staticmethod(my_matmul)
    dtypes = ("f32", "bf16")          # where it serves fewer than the op has
    computes = "bf16"                 # where its rules declare one
"""

from __future__ import annotations

from tests.conformance.attentions import AttentionConformance, PagedAttentionConformance
from tests.conformance.checking import Conformance
from tests.conformance.products import (
    BatchedMatmulConformance,
    FusedMatmulConformance,
    GatedMatmulConformance,
    GemmConformance,
    MatmulConformance,
    ScaledMatmulConformance,
)
from tests.conformance.rows import LayernormConformance, PointwiseConformance, RmsnormConformance, SoftmaxConformance
from tests.conformance.transforms import FftConformance, IrfftConformance, RfftConformance

SUITES: dict[str, type[Conformance]] = {
    suite.op: suite
    for suite in (
        MatmulConformance,
        BatchedMatmulConformance,
        GemmConformance,
        FusedMatmulConformance,
        GatedMatmulConformance,
        ScaledMatmulConformance,
        SoftmaxConformance,
        RmsnormConformance,
        LayernormConformance,
        PointwiseConformance,
        AttentionConformance,
        PagedAttentionConformance,
        FftConformance,
        RfftConformance,
        IrfftConformance,
    )
}
