"""The NumPy lanes of x86, each through the suite of its op."""

from __future__ import annotations

from tessera_rules.kernels.x86 import numpy_attention, numpy_fft, numpy_matmul, numpy_pointwise, numpy_rows, numpy_scaled_matmul
from tests.conformance import base


class TestMatmul(base.MatmulConformance):
    kernel = staticmethod(numpy_matmul.matmul)


class TestBatchedMatmul(base.BatchedMatmulConformance):
    kernel = staticmethod(numpy_matmul.batched_matmul)


class TestGemm(base.GemmConformance):
    kernel = staticmethod(numpy_matmul.gemm)


class TestFusedMatmul(base.FusedMatmulConformance):
    kernel = staticmethod(numpy_matmul.fused_matmul)


class TestGatedMatmul(base.GatedMatmulConformance):
    kernel = staticmethod(numpy_matmul.gated_matmul)


class TestScaledMatmul(base.ScaledMatmulConformance):
    kernel = staticmethod(numpy_scaled_matmul.scaled_matmul)


class TestSoftmax(base.SoftmaxConformance):
    kernel = staticmethod(numpy_rows.softmax)


class TestRmsnorm(base.RmsnormConformance):
    kernel = staticmethod(numpy_rows.rmsnorm)


class TestLayernorm(base.LayernormConformance):
    kernel = staticmethod(numpy_rows.layernorm)


class TestPointwise(base.PointwiseConformance):
    kernel = staticmethod(numpy_pointwise.pointwise)


class TestAttention(base.AttentionConformance):
    kernel = staticmethod(numpy_attention.attention)


class TestPagedAttention(base.PagedAttentionConformance):
    kernel = staticmethod(numpy_attention.paged_attention)


class TestFft(base.FftConformance):
    kernel = staticmethod(numpy_fft.fft)


class TestRfft(base.RfftConformance):
    kernel = staticmethod(numpy_fft.rfft)


class TestIrfft(base.IrfftConformance):
    kernel = staticmethod(numpy_fft.irfft)
