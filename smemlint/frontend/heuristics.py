"""Guesses from spelling: what a name most likely means where its definition is not read.

Each function is one guess, with what it rests on; those at whole texts stand in `text_heuristics`.
No other module decides on the spelling of a user's names (`tests/frontend/test_heuristics.py`);
names that CUDA, PTX, CuTe or Triton define are no guesses and stand in the tables that model them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from smemlint.lazy_patterns import pattern

_SHORTEST_MACRO = 4
_KERNEL_MACRO = pattern(r"[A-Z0-9_]*(?:KERNEL|GLOBAL)[A-Z0-9_]*")
_DEVICE_MACRO = pattern(r"[A-Z0-9_]*(?:DEVICE|DEV_|_DEV|GPU)[A-Z0-9_]*")
_HOST_MACRO = pattern(r"[A-Z0-9_]*HOST[A-Z0-9_]*")
_HIP_FILE = pattern(r"(?:^|[._-])hip(?:\.\w+)?$", re.IGNORECASE)
_HIP_CALL = pattern(r"hip[A-Z]\w*")
_CUDA_CALL = pattern(r"cu(?:da)?[A-Z]\w*")
_SHARED_TENSOR = pattern("smem|shared", re.IGNORECASE)
_CUTE_TENSOR = pattern(r"[tb]d?[A-Z0-9][A-Z0-9_]*([gmrtcs])(?:d?[A-Z]|_|$)|([gmrcs])d?[A-Z]")
_LANELESS = (
    "barrier", "tmem", "fence", "tensormap", "bulk", "prefetch", "clc", "Pipeline", "smem_desc",
)  # fmt: skip
ROUNDED_UP_QUOTIENTS = ("ceildiv", "div_up", "divUp", "DivUp", "CeilDiv", "ceilDiv", "div_ceil")
"""Functions of unread headers, as `raft::ceildiv(a, b)`: nothing else has these names."""
_CUDA_SWITCH = pattern(
    r"(?:^|_)(?:USE|USING|WITH|HAVE|HAS|ENABLE|BUILD)_(?:CUDA|GPU)$"
    r"|(?:^|_)(?:CUDA|GPU)_(?:ENABLED?|FOUND|SUPPORT|AVAILABLE|BACKEND)$"
)
_HIP_SWITCH = pattern(r"(?:^|_)(?:USE|USING|WITH|HAVE|HAS|ENABLE|BUILD)_HIP$")
_HEAD_NAMES = frozenset(("head_dim", "hdim", "headdim", "head_dim_v", "head_dim_qk", "d_head"))
_CAPABILITY_NAMES = frozenset((
    "compute_capability", "device_capability", "device_capacity",
))  # fmt: skip
_ROW_NAMES = frozenset(
    ("n", "h", "hidden", "hidden_size", "hidden_dim", "cols", "n_cols", "num_cols")
)
_EXTENTS = {
    "thread": (128, 256), "warp": (4, 8), "stage": (2, 3), "cluster": (1, 2), "tile_k": (32, 64),
    "block_k": (32, 64), "tile": (64, 128), "block_m": (64, 128), "block_n": (64, 128),
    "m_block": (64, 128), "n_block": (64, 128), "block_size": (64, 128),
}  # fmt: skip
"""Parts of names of numbers, the first that fits."""
_MODES = {"m": (128, 64), "n": (128, 256), "k": (64, 64)}
"""Extents of a tile by the letter that a name has for the mode."""
_EXTENT_METHODS = frozenset(
    ("extent", "stride", "size", "numel", "n_rows", "n_cols", "length", "dim")
)
_ALIGNMENT_TESTS = ("%", "&", "align", "ALIGN")
_OTHER_CUDA = frozenset(
    ("torch", "cupy", "cupyx", "pycuda", "jax", "cutlass", "triton", "tvm", "mxnet", "hidet")
)
"""Packages whose `cuda` is no Numba."""


# ---- constants, functions and macros of headers that were not read


def is_extent(name: str) -> bool:
    """Returns whether a method gives an extent of a view or tensor: `graph.extent(0)`."""
    return name in _EXTENT_METHODS


def gives_elements(method: str) -> bool:
    """Returns whether a method template is named after the elements that it gives a pointer to.

    `tensor.data_ptr<float>()` of PyTorch, `data<T>()` of Paddle, `dptr<T>()` of MXNet.
    """
    return method.lower().endswith(("data", "ptr"))


def accessor_class(method: str) -> str:
    """Returns the class that a method of PyTorch's tensors gives; empty for other methods.

    `x.packed_accessor32<float, 2>()` is a `PackedTensorAccessor32<float, 2>`, and so on.
    """
    found = re.fullmatch(r"(generic_)?(packed_)?accessor(32|64)?", method)
    if found is None:
        return ""
    generic, packed, bits = found.groups(default="")
    return f"{generic[:-1].title()}{packed[:-1].title()}TensorAccessor{bits}"


def is_warp_size(name: str) -> bool:
    """Returns whether a constant or function is the number of a warp's lanes: `raft::WarpSize`."""
    word = name.rsplit("::", 1)[-1].replace("_", "").lower()
    return word in ("warpsize", "kwarpsize", "threadsperwarp", "kthreadsperwarp")


def has_no_lanes(name: str) -> bool:
    """Returns whether a function given shared memory handles barriers or starts asynchronous units.

    Neither accesses the memory by lane: `mbarrier_wait`, `cp_async_bulk`, `PipelineTmaUmma.create`,
    `make_smem_desc`.
    """
    return any(part in name for part in _LANELESS)


KERNEL_LAUNCHERS = frozenset(("LaunchKernel", "launchKernel", "launch_kernel"))
_C_LIBRARY = pattern(
    r"[a-z]*printf|f?puts|put(?:s|char)|exit|abort|assert|free|[mc]alloc|mem(?:set|cpy|move|cmp)|s?rand"
    r"|u?sleep|perror|str\w+|ato[filq]+|f?(?:open|close|read|write|seek)|hip[A-Z]\w*"
    r"|(?:cublas|cusparse|cusolver|cufft|curand|cudnn|nccl|nvtx|nvml|omp|MPI|gsl|fftw[fl]?|H5\w?)_?[A-Z_]?\w*"
)
_STANDARD_WRITERS = frozenset(("swap", "tie", "exchange", "ref", "getline", "from_chars", "apply"))
_CONTAINER_METHODS = frozenset((
    "append", "assign", "at", "begin", "capacity", "contains", "count", "data", "dim",
    "emplace", "emplace_back", "empty", "end", "erase", "fill", "find", "front", "insert",
    "length", "numel", "pop_back", "push", "push_back", "reserve", "reset", "resize", "size",
    "stride",
))  # fmt: skip
_CONVERSION = pattern(r"%[-+ #0]*\d*(?:\.\d+)?[hlzjt]*[diuxXofFeEgGcsp]|\{[^{}]*\}")
_COPY_INSTRUCTION = pattern(r"(?:^|::)(?:SM\d+_\w+|UniversalCopy)(?:<.*>)?::copy$")


def is_macro_name(name: str) -> bool:
    """Returns whether a callee is a macro: C++ writes functions in lower or mixed case."""
    return name.isupper()


_STANDARD_READERS = frozenset((
    "accumulate", "reduce", "inner_product", "max_element", "min_element", "minmax_element",
    "count", "count_if", "find", "find_if", "find_if_not", "any_of", "all_of", "none_of", "equal",
    "lower_bound", "upper_bound", "binary_search", "distance", "is_sorted", "adjacent_find",
))  # fmt: skip


def writes_arguments(name: str, *, is_object: bool, is_used: bool) -> bool:
    """Returns whether a host function that was not read may write to a variable that it is given.

    Functions of C take values, and so do those of the standard library but for a few, macros, which
    check, and methods of containers. Of others an object may be filled in; a number where the
    call's value is not used: `parse(argc, argv, threads)`.
    """
    parts = name.replace("->", "::").replace(".", "::").split("::")
    last = parts[-1]
    if parts[0] == "std":
        leads_to_elements = last in ("begin", "end", "data") or "ranges" in parts[1:-1]
        return last in _STANDARD_WRITERS or (is_object and leads_to_elements)
    is_c = len(parts) == 1 and (_C_LIBRARY.fullmatch(last) is not None or is_cuda_call(last))
    takes_values = is_c or is_macro_name(last) or last in _CONTAINER_METHODS
    return not takes_values and (is_object or not is_used)


def only_reads_ranges(name: str) -> bool:
    """Returns whether a function is an algorithm of the standard library that changes no element.

    Of `std::accumulate(sizes.begin(), sizes.end(), 1)` the sizes stay; of `std::sort` they do not.
    """
    parts = name.split("::")
    return parts[0] == "std" and parts[-1] in _STANDARD_READERS


def is_format(text: str) -> bool:
    """Returns whether an argument is a text with conversions: `"block %d x %d"`, `"block {}"`.

    What is given one prints values; those that read them take addresses.
    """
    return text.startswith('"') and _CONVERSION.search(text) is not None


def launches_kernel(name: str) -> bool:
    """Returns whether a function of an unread header launches the kernel that it takes first.

    `gpu::LaunchKernel(kernel, grid, block, bytes, stream, ..)`: in the order of `<<<..>>>`.
    """
    return name in KERNEL_LAUNCHERS


def is_copy_instruction(name: str) -> bool:
    """Returns whether a callee is the `copy` of one of CuTe's instructions, which takes references.

    `SM80_CP_ASYNC_CACHEALWAYS<float>::copy(g[i], s[i])` writes `s[i]` and loads nothing of it.
    """
    return _COPY_INSTRUCTION.search(name) is not None


def is_macro_word(word: str) -> bool:
    """Returns whether a word that stands where no expression does is a macro.

    Template parameters are in capitals too, but short: `T`, `N`, `NT`.
    """
    return word.isupper() and len(word) >= _SHORTEST_MACRO


def names_kernel(specifier: str) -> bool:
    """Returns whether a macro stands for `__global__`: `KERNEL`, `MY_GLOBAL`, `LAUNCH_KERNEL_`.

    Libraries that compile for several vendors hide the specifier behind such names.
    """
    return _KERNEL_MACRO.fullmatch(specifier) is not None


def names_device(specifier: str) -> bool:
    """Returns whether a macro stands for `__device__`: `HOST_DEVICE`, `DEV_INLINE`, `GPU_FN`."""
    return _DEVICE_MACRO.fullmatch(specifier) is not None


def names_host(specifier: str) -> bool:
    """Returns whether a macro stands for `__host__`, among others: `HOST_DEVICE`."""
    return _HOST_MACRO.fullmatch(specifier) is not None


# ---- code for other hardware


def switches_cuda(macro: str) -> bool:
    """Returns whether a macro is named after a build with CUDA: `K2_WITH_CUDA`, `_CUDA_ENABLED`.

    Who builds a kernel defines it, by CMake as a rule, in words that are not followed.
    """
    return _CUDA_SWITCH.search(macro) is not None


def states_a_version(macro: str) -> bool:
    """Returns whether a macro is named after a version, which headers define and `-D` does not."""
    return "VERSION" in macro or macro.endswith(("_MAJOR", "_MINOR"))


def switches_hip(macro: str) -> bool:
    """Returns whether a macro is named after a build with HIP: `ENABLE_HIP`, `MY_WITH_HIP`."""
    return _HIP_SWITCH.search(macro) is not None


def is_hip_file(path: str) -> bool:
    """Returns whether a path says that a file is HIP's: `gemm.hip`, `settle_hip.cpp`, `rocm/a.cu`.

    A folder `hip` says less: what stands there may be built with HIP over CUDA.
    """
    folder, name = posixpath.split(path)
    return _HIP_FILE.search(name) is not None or "rocm" in folder.lower().split("/")


def is_hip_call(word: str) -> bool:
    """Returns whether a word is of the HIP run-time library: `hipMalloc`."""
    return _HIP_CALL.fullmatch(word) is not None


def is_cuda_call(word: str) -> bool:
    """Returns whether a word is of the CUDA run-time library or driver: `cudaMalloc`, `cuInit`."""
    return _CUDA_CALL.fullmatch(word) is not None


def calls_hip_alone(words: Iterable[str]) -> bool:
    """Returns whether code calls the HIP run-time library and never CUDA's."""
    found = set(words)
    return any(map(is_hip_call, found)) and not any(map(is_cuda_call, found))


def computes_with_hip_types(words: Iterable[str]) -> bool:
    """Returns whether code has number types of HIP, `__hip_bfloat16`, and never calls CUDA."""
    found = set(words)
    has_type = any(word.startswith(("__hip_bfloat16", "__hip_fp8_")) for word in found)
    return has_type and not any(map(is_cuda_call, found))


def names_amd_module(text: str) -> bool:
    """Returns whether a dotted name or a text uses Gluon's modules for AMD: `gluon.amd.cdna3`."""
    return ".amd" in text


# ---- names of shared memory


def names_shared(word: str) -> bool:
    """Returns whether a word of a function's body is about shared memory: `shared_mem_ptr`.

    Helpers that hand out shared memory are templates of libraries, named after what they give.
    """
    return "shared" in word


def names_shared_tensor(text: str) -> bool:
    """Returns whether a text of the CuTe DSL names a tensor of shared memory: `sA_smem`."""
    return _SHARED_TENSOR.search(text) is not None


def names_memory(tensor: str) -> str:
    """Returns the letter for its memory in the name of a tensor of CuTe; empty where it has none.

    `tAsA` is what the pattern `tA` makes of `sA`, in shared memory; `tAgA` and `mA` lie in global
    memory, `tCrA` in registers, `tCtC` in tensor memory, and `tCcC` are coordinates.
    """
    found = _CUTE_TENSOR.match(tensor)
    return (found[1] or found[2]) if found is not None else ""


def is_barrier_allocation(call: str) -> bool:
    """Returns whether an allocation of Gluon's is for barriers, of which no lane has an address.

    Its layout comes from `mbarrier.MBarrierLayout()`, or from a variable named after it.
    """
    return "mbarrier" in call.lower()


# ---- arguments


def guessed_extents(name: str) -> tuple[int, int] | None:
    """Returns two numbers that a parameter of a Python kernel may be; None where none is likely.

    Threads, warps, tiles and heads come in powers of two. Rows of a matrix do not: of theirs, one
    number is, and one is a multiple of a vector only.
    """
    lower = name.lower()
    if lower in _HEAD_NAMES:
        return 64, 128
    for part, extents in _EXTENTS.items():
        if part in lower:
            return extents
    return (1024, 1000) if lower in _ROW_NAMES else None


def guessed_rows(name: str) -> tuple[int, ...]:
    """Returns further lengths of rows, for which programs have code of its own; none for others.

    Of short rows a block has several, and long ones do not fit into registers.
    """
    return (128, 32768) if name.lower() in _ROW_NAMES else ()


def guessed_shapes(name: str, rank: int = 0) -> tuple[tuple[int, ...], ...]:
    """Returns two shapes that a parameter of so many modes may be; none where none is likely.

    `mma_tiler_mn`, `tile_shape_mnk` and `cta_tiler` are those of products of matrices, and of what
    is computed by such. Clusters have one block or a pair, and tiles one group of warps or two.
    """
    lower = name.lower()
    letters = lower.rpartition("_")[2]
    modes = "mnk"[: rank or (len(letters) if letters in ("mn", "mnk") else 0)]
    if modes and ("cluster" in lower or "atom_layout" in lower):
        return (1, 1, 1)[: len(modes)], (2, 1, 1)[: len(modes)]
    is_tile = modes and "tile" in lower and "layout" not in lower
    return tuple(tuple(_MODES[m][at] for m in modes) for at in (0, 1)) if is_tile else ()


def guessed_majors(name: str) -> tuple[str, str]:
    """Returns the modes that may be contiguous of the operand that a parameter is about.

    Operands of products, `a_major`, have rows along K, as a rule, and results, `d_major`, along N.
    """
    return {"a_major": ("k", "m"), "b_major": ("k", "n")}.get(name, ("n", "m"))


def names_flag(name: str) -> bool:
    """Returns whether a parameter is a flag: `is_causal`, `has_bias`, `use_mask`."""
    return name.startswith(("is_", "has_", "use_", "return_"))


def names_capability(name: str) -> bool:
    """Returns whether a parameter is the compute capability of a device: `device_capability`."""
    return name in _CAPABILITY_NAMES


def names_sm_version(name: str) -> bool:
    """Returns whether a parameter is a capability as one number: 90 of `sm_version`."""
    return name in ("sm_version", "sm_arch")


def names_accumulator(name: str) -> bool:
    """Returns whether an element type is that of accumulators, `acc_dtype`: floats, as a rule.

    Tensor cores accumulate halves in halves for programs that ask for it only.
    """
    return "acc" in name.split("_")


# ---- conditions


def may_test_alignment(condition: str) -> bool:
    """Returns whether a condition may part aligned addresses from others.

    Such a test takes a remainder, masks the low bits, or calls a function that says so.
    """
    return any(test in condition for test in _ALIGNMENT_TESTS)


# ---- modules of Python


def numba_member(name: str) -> str:
    """Returns the part of a dotted name behind its module `cuda`; empty where that is no Numba.

    Forks of Numba, and modules that hand its `cuda` on, are used as Numba is: `fork.cuda.jit`.
    """
    head, *parts = name.split(".")
    if head in _OTHER_CUDA:
        return ""
    behind = [head, *parts]
    modules = [
        i for i, p in enumerate(behind[:-1]) if p == "cuda" or ("numba" in p and "cuda" in p)
    ]
    return ".".join(behind[modules[-1] + 1 :]) if modules else ""


def is_numba(module: str) -> bool:
    """Returns whether a module is Numba's, or that of a fork: `numba_cuda_mlir.types`."""
    return "numba" in module.partition(".")[0]
