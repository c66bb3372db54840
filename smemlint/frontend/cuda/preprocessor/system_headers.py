"""Headers of the CUDA toolkit and the C library: what is needed of them is known without them."""

from __future__ import annotations

_FOLDERS = frozenset(("cub", "cuda", "cooperative_groups", "nv", "sys", "thrust"))
_C = "assert ctype errno float limits math stdbool stddef stdint stdio stdlib string time"
_CUDA = (
    "cooperative_groups cublas cublas_v2 cuda cuda_awbarrier_primitives cuda_bf16 cuda_fp16 "
    "cuda_fp8 cuda_pipeline cuda_profiler_api cuda_runtime cuda_runtime_api cufft curand "
    "curand_kernel cusolverDn cusparse device_functions device_launch_parameters math_constants "
    "math_functions mma vector_functions vector_types"
)
_NAMES = frozenset(f"{name}.h" for name in f"{_C} {_CUDA}".split())


def is_of_system(name: str) -> bool:
    """Returns whether an include names such a header, e.g. `cuda_fp16.h` or `thrust/sort.h`."""
    return name in _NAMES or name.partition("/")[0] in _FOLDERS


def may_be_of_project(name: str) -> bool:
    """Returns whether `<name>` may be a header of the project: those of C++ have no suffix."""
    return "." in name and not is_of_system(name)


def may_define_kernels(name: str, is_quoted: bool) -> bool:
    """Returns whether an include names a file of the project, or one of CUDA of another library.

    What stands in brackets is the project's own too where a folder of the build leads to it:
    `<raft/linalg/detail/add.cuh>`. Headers in brackets that end in `.h` are of host libraries.
    """
    return is_quoted or (name.endswith(".cuh") and not is_of_system(name))
