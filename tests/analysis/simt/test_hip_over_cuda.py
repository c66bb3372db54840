"""HIP as a layer over CUDA: units that call HIP's library alone are for NVIDIA's GPUs as well."""

from __future__ import annotations

import pytest
from figures import facts_in

UNIT = """
#include {header}
template <int N, int M> __global__ void k(float *g, int stride) {{
  HIP_DYNAMIC_SHARED(float, s)
  s[threadIdx.x * N * M * stride] = g[0];
}}
#ifdef __HIPCC__
void go(float *g) {{
  hipMalloc(&g, 4);
  hipLaunchKernelGGL({kernel}, dim3(1), dim3(64), 4096, 0, g, 2);
}}
#endif
"""
TEST = "#if defined({})\n#define PLATFORM 1\n#endif\n"


@pytest.mark.parametrize("header", ['"hip/hip_runtime.h"', "<hip/hip_runtime.h>"])
@pytest.mark.parametrize("kernel", ["(k<2, 1>)", "HIP_KERNEL_NAME(k<1, 2>)"])
@pytest.mark.parametrize("macro", ["__HIP_PLATFORM_NVCC__", "__HIP_PLATFORM_NVIDIA__"])
def test_a_launch_passes_what_it_is_given(header, kernel, macro):
    text = UNIT.format(header=header, kernel=kernel)
    (found,) = facts_in(k_cu=text, p_h=TEST.format(macro)).kernels
    assert found.instance.block == (64, 1, 1)
    (access,) = found.accesses
    assert (access.certainty, access.instructions) == ("assumed", 2)
    assert access.wavefronts.mean == 4  # lane t stores to word 2 * 2 * t


@pytest.mark.parametrize("macro", ["__HIP_PLATFORM_AMD__", "__CUDACC__"])
def test_a_run_that_never_asks_for_nvidia_is_for_amd(macro):
    text = UNIT.format(header="<hip/hip_runtime.h>", kernel="(k<2, 1>)")
    facts = facts_in(k_cu=text, p_h=TEST.format(macro))
    assert not facts.kernels
    assert [(n.span.line, n.kernel) for n in facts.not_analysed] == [(1, "")]


@pytest.mark.parametrize(
    ("macro", "expected"),
    [("ENABLE_HIP", [4]), ("MY_WITH_HIP", [4]), ("NO_HIP", []), ("MY_HIP_FAST", [])],
)
def test_what_includes_hip_over_cuda_is_built_with_hip(macro, expected):
    text = UNIT.format(header="<hip/hip_runtime.h>", kernel="(k<2, 1>)")
    head, kernel = text.split("template", 1)
    text = f"{head}\n#ifdef {macro}\ntemplate{kernel}#endif\n"
    facts = facts_in(k_cu=text, p_h=TEST.format("__HIP_PLATFORM_NVCC__"))
    assert [a.wavefronts.mean for k in facts.kernels for a in k.accesses] == expected


def test_indices_have_names_of_their_own_there():
    text = """
    #include <hip/hip_runtime.h>
    __global__ void k(float *g) {
      __shared__ float s[2048];
      s[hipThreadIdx_x + hipThreadIdx_y * hipBlockDim_x * 2 + hipBlockIdx_z * 0] = g[0];
    }
    void go(float *g) { hipMalloc(&g, 4); hipLaunchKernelGGL(k, dim3(1), dim3(16, 4), 0, 0, g); }
    """
    (found,) = facts_in(k_cu=text, p_h=TEST.format("__HIP_PLATFORM_NVIDIA__")).kernels
    (access,) = found.accesses
    assert (access.instructions, access.wavefronts.mean) == (2, 2)  # word x + 32 y
