"""Code for AMD's GPUs is not priced by NVIDIA's banks; that is said once for a file."""

from __future__ import annotations

import pytest
from figures import facts_in

KERNEL = """
__global__ void k(float *g) { __shared__ float s[64]; s[2 * threadIdx.x] = g[0]; BODY }
__global__ void l(float *g) { __shared__ float s[64]; s[2 * threadIdx.x] = g[0]; }
void go(float *g) { HOST k<<<1, 32>>>(g); l<<<1, 32>>>(g); }
"""


def text(body="", host=""):
    return KERNEL.replace("BODY", body).replace("HOST", host)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("settle_hip.cpp", text()),
        ("settle.hip", text()),
        ("settle.hip.cpp", text()),
        ("k.cu", text(body="__builtin_amdgcn_s_barrier();")),
        ("k.cu", text(host="hipMalloc(&g, 4);")),
        ("k.cu", text(body="__hip_bfloat16 x = 0; g[1] = x;")),
        ("k.cu", text(body="g[1] = (float)*(__hip_fp8_e4m3_fnuz *)g;")),
        (
            "k.cu",
            "#if __CUDA_ARCH__ < 800\nusing A = GFX928_16x16x16_F32F16F16F32_NT;\n#endif" + text(),
        ),
    ],
)
def test_silent(name, code):
    facts = facts_in(**{name: code})
    assert not facts.kernels
    assert [(n.span.line, n.kernel) for n in facts.not_analysed] == [(1, "")]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("ship.cu", text()),
        (
            "k.cu",
            text(body="\n#ifdef __HIP_PLATFORM_AMD__\n__builtin_amdgcn_s_barrier();\n#endif\n"),
        ),
        ("k.cu", text(host="cudaMalloc(&g, 4); hipMalloc(&g, 4);")),
        ("k.cu", text(host="int hipbone = 1; (void)hipbone;")),
        ("k.cu", text(body="\n#ifdef USE_ROCM\n__hip_bfloat16 x = 0;\n#endif\n")),
        ("k.cu", text(body="__hip_bfloat16 x = 0;", host="cudaMalloc(&g, 4);")),
        ("k.cu", "enum { GFX928, GFX_16x16x16, SM80_16x8x16_NT };" + text()),
        (
            "k.cu",  # a header for all vendors, as ggml has one
            "#if defined(LIB_USE_HIP)\n#define cudaMalloc hipMalloc\n#endif\n"
            + text(host="cudaMalloc(&g, 4);"),
        ),
    ],
)
def test_priced(name, code):
    facts = facts_in(**{name: code})
    assert [a.wavefronts.mean for k in facts.kernels for a in k.accesses] == [2, 2]
