"""HIP's headers as nvcc reads them: a layer over CUDA, which defines how kernels are launched.

Source: HIP's `hip/hip_common.h` and `hip/nvidia_detail/nvidia_hip_runtime.h`, where
`__HIP_PLATFORM_NVIDIA__` was called `__HIP_PLATFORM_NVCC__` once.
"""

from __future__ import annotations

from functools import cache

from smemlint.frontend.cuda.preprocessor.macros import Macro, macros_of

NVIDIA_PLATFORM = ("__HIP_PLATFORM_NVCC__", "__HIP_PLATFORM_NVIDIA__")
"""Macros that say that HIP stands over CUDA."""
_MACROS = (
    *(f"{name} 1" for name in (*NVIDIA_PLATFORM, "__HIPCC__")),
    *(
        f"hip{name}_{axis} {name[0].lower()}{name[1:]}.{axis}"
        for name in ("ThreadIdx", "BlockIdx", "BlockDim", "GridDim")
        for axis in "xyz"
    ),
    "HIP_KERNEL_NAME(...) __VA_ARGS__",
    "HIP_SYMBOL(name) name",
    "HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];",
    "hipLaunchKernelGGL(k, grid, block, bytes, stream, ...) "
    "k<<<grid, block, bytes, stream>>>(__VA_ARGS__)",
)


def is_of_hip(name: str) -> bool:
    """Returns whether an include is written as one of HIP's: `hip/hip_runtime.h`."""
    return name.startswith("hip/")


@cache
def hip_macros() -> dict[str, Macro]:
    """Returns the macros by name."""
    return macros_of(_MACROS)
