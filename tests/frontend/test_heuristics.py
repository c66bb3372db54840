"""Each guess from spelling with names that it is made for and names that it must pass over."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
from syntax_trees import tree_of

from smemlint.frontend import heuristics, text_heuristics

ROOT = Path(__file__).resolve().parents[2]
CASES: dict[Callable[[str], bool], tuple[tuple[str, ...], tuple[str, ...]]] = {
    heuristics.is_extent: (("extent", "stride", "size"), ("thread_rank", "begin", "resize")),
    heuristics.gives_elements: (("data_ptr", "mutable_data", "dptr"), ("size", "cast", "pointers")),
    heuristics.accessor_class: (
        ("packed_accessor32", "accessor", "generic_packed_accessor"), ("accessors", "my_accessor32"),
    ),
    heuristics.is_warp_size: (
        ("warp_size", "raft::WarpSize", "WARP_SIZE", "kWarpSize"), ("warps", "BlockSize", "warp"),
    ),
    heuristics.has_no_lanes: (
        ("mbarrier_wait", "named_barrier_sync", "cp_async_bulk_wait", "clc_response",
         "pipeline.PipelineTmaUmma.create", "make_smem_desc_base"),
        ("load", "ldmatrix", "copy_rows", "cp_async"),
    ),
    heuristics.launches_kernel: (("LaunchKernel", "launch_kernel"), ("launch", "LaunchKernels")),
    heuristics.is_format: (('"%d x %5.2f"', '"block {}"'), ('"threads"', "format", '"100%"')),
    heuristics.only_reads_ranges: (
        ("std::accumulate", "std::ranges::max_element"),
        ("std::sort", "std::copy", "accumulate", "thrust::reduce"),
    ),
    heuristics.is_copy_instruction: (
        ("cute::SM80_CP_ASYNC_CACHEALWAYS<float>::copy", "SM90_TMA_LOAD_2D::copy", "UniversalCopy<S, D>::copy"),
        ("cute::copy", "SM80_X::copy_if", "Loader::copy"),
    ),
    heuristics.is_macro_name: (("FLOAT4", "CP_ASYNC", "LDG"), ("float4", "cpAsync", "Load")),
    heuristics.is_macro_word: (("API_EXPORT", "PRAGMA"), ("T", "NT", "TID", "Export")),
    heuristics.names_kernel: (
        ("KERNEL", "TV_GLOBAL", "FLASH_KERNEL_2"), ("kernel", "my_KERNEL", "__global__"),
    ),
    heuristics.names_device: (
        ("HOST_DEVICE", "DEV_INLINE", "GPU_FN", "MY_DEV"), ("device", "DEVIATION", "CPU_FN"),
    ),
    heuristics.names_host: (("HOST_DEVICE", "MY_HOST"), ("host", "DEVICE", "__host__")),
    heuristics.is_hip_file: (
        ("a/gemm.hip", "settle_hip.cpp", "gemm.hip.cpp", "csrc/rocm/a.cu"),
        ("a/ship.cu", "chips.cpp", "hip/a.cu", "a/rocm.cu"),
    ),
    heuristics.is_hip_call: (("hipMalloc", "hipLaunchKernelGGL"), ("hip", "hipster", "cudaMalloc")),
    heuristics.is_cuda_call: (("cudaMalloc", "cuInit"), ("custom", "cu", "cudart")),
    heuristics.names_amd_module: (
        ("triton.experimental.gluon.language.amd.cdna3", "gl.amd"), ("amd", "gluon.nvidia"),
    ),
    heuristics.switches_cuda: (
        ("USE_CUDA", "K2_WITH_CUDA", "_CUDA_ENABLED", "HAVE_GPU", "MY_USING_CUDA"), ("DEBUG_CUDA", "CUDA_FORCESTL", "FAST"),
    ),
    heuristics.states_a_version: (
        ("TORCH_VERSION_MAJOR", "NCCL_VERSION_CODE", "LIB_MINOR"), ("BLOCK_M", "MAJOR_STEPS"),
    ),
    heuristics.switches_hip: (("ENABLE_HIP", "MY_WITH_HIP"), ("HIP", "ENABLE_HIPBLAS", "USE_CUDA")),
    text_heuristics.names_amd_atom: (
        ("MMA_Atom<GFX928_16x16x16_F32F16F16F32_NT>",), ("GFX928", "SM80_16x8x16_F32F16F16F32_TN"),
    ),
    text_heuristics.may_touch_shared: (
        ("__shared__ int a;", "st.shared.f32", "ldmatrix_x4(p)", "make_smem_ptr(p)", "cutlass::device_kernel<K>",
         "__cvta_generic_to_shared(p)", "cutlass::kernel_launch<K>",
         "Sm90TmaWarpSpecializedAdapter<E> GemmUniversalAdapter<K>",
         "CollectiveBuilder<S, epilogue::TmaWarpSpecialized> GemmUniversalAdapter<K>",
         "CollectiveBuilder<arch::Sm100> GemmUniversalAdapter<K>"),
        ("std::shared_ptr<int>", "Sm90TmaWarpSpecializedAdapter<E>", "my_kernel_launch", "x.shared_a", "my_make_smem_ptr", ""),
    ),
    heuristics.names_shared: (("shared_mem", "getshared"), ("smem", "share")),
    heuristics.names_shared_tensor: (("sA_SMEM", "SharedStorage"), ("gmem", "share")),
    heuristics.names_sm_version: (("sm_version", "sm_arch"), ("version", "sm_count", "arch")),
    heuristics.names_memory: (
        ("tAsA", "tAgA_k", "mO_cur", "tTR_tAcc", "tdKrdK", "t0OcO", "bSG_gC", "sO", "tDg_flat"),
        ("s", "smem", "tile", "tA", "regs", "mask", "tTMEM_LOADdO", "sa", "x"),
    ),
    text_heuristics.describes_swizzle: (
        ("Swizzle<3, 4, 3>", "CU_TENSOR_MAP_SWIZZLE_128B"), ("swizzle(3)", "MySwizzle<1>"),
    ),
    text_heuristics.may_matter_in_a_comment: (
        ("<<<", "__shared__", "cudaLaunchKernel", "CU_TENSOR_MAP_SWIZZLE_128B", "include_hip"),
        ("rows", "the", "padding"),
    ),
    heuristics.is_barrier_allocation: (
        ("alloc(gl.int64, [1], mbarrier.MBarrierLayout())", "alloc(x, MBAR, mbarrier_layout)"),
        ("alloc(gl.float32, [1], layout)",),
    ),
    heuristics.guessed_extents: (
        ("head_dim", "num_threads", "N", "tile_m", "num_stages"), ("seed", "x", "scale"),
    ),
    heuristics.guessed_shapes: (
        ("mma_tiler_mn", "atom_layout_mnk", "cluster_shape_mnk"), ("tile_layout_mnk", "tile", "mn"),
    ),
    heuristics.guessed_rows: (("N", "hidden_size"), ("head_dim", "rows")),
    heuristics.names_flag: (("is_causal", "has_bias", "use_mask"), ("island", "hash", "reuse_is")),
    heuristics.names_accumulator: (("acc_dtype", "qk_acc_dtype"), ("accept_dtype", "dtype")),
    heuristics.may_test_alignment: (
        ("n % 4 == 0", "(p & 15) == 0", "is_aligned(p)", "IS_ALIGNED(p)"), ("n > 4", "i < n"),
    ),
    text_heuristics.template_lines: (
        ("__shared__ ${type} s[4];", "LOCAL_MEM float s[4];", "  LOCAL_DECL int x;"),
        ("LOCAL_MEM_FENCE", "local_mem", "GLOBAL_MEM float *a", "shared"),
    ),
    heuristics.numba_member: (
        ("fork.cuda.jit", ".backend.cuda.shared.array", "fork.numba_cuda.jit", "cuda.grid"),
        ("torch.cuda.jit", "cupy.cuda.jit", "fork.jit", "cuda", "pycuda.driver.jit"),
    ),
    heuristics.is_numba: (("numba_fork", "numba.types"), ("numpy", "fork.numba", "")),
}  # fmt: skip


@pytest.mark.parametrize("guess", CASES, ids=lambda guess: guess.__name__)
def test_what_a_guess_takes_and_passes_over(guess):
    takes, passes = CASES[guess]
    assert [text for text in takes if not guess(text)] == []
    assert [text for text in passes if guess(text)] == []


def test_a_launched_kernel_without_a_definition_is_of_a_header_of_the_project():
    text = '#include "k.cuh"\nvoid f() {\nlocal<<<1, 32>>>();\nfar<float><<<1, 32>>>();\n}\n'
    text += "__global__ void local() {}\n"
    assert text_heuristics.may_launch(text)
    assert text_heuristics.launched_and_not_defined(text) == {"far": text.index("far")}
    assert text_heuristics.launched_and_not_defined(text.replace('"k.cuh"', "<k.h>")) == {}
    assert text_heuristics.launched_and_not_defined(text.replace('"k.cuh"', "<cub/k.cuh>")) == {}
    assert text_heuristics.launched_and_not_defined(text.replace('"k.cuh"', "<p/k.cuh>"))


def test_a_file_instantiates_templates_of_the_headers_of_its_project():
    text = '#include <a.h>\n#include "run.h"\ntemplate void run<64>(Params &);\n'
    assert text_heuristics.instantiated_includes(text) == ["run.h"]
    assert text_heuristics.instantiated_includes(text.replace("template", "extern template")) == []
    assert text_heuristics.instantiated_includes(text.replace("template", "template <int N>")) == []


@pytest.mark.parametrize(
    ("specialization", "found"),
    [
        ("template<>\nvoid run<64>(Params &p) { launch<64>(p); }", ["run.h"]),
        ("  template < > void run<64>(Params &p) { launch<64>(p); }", ["run.h"]),
        ("template <> struct Traits<64> { using T = float; };", []),
    ],
)
def test_specialized_functions_instantiate_what_they_call(specialization, found):
    assert text_heuristics.instantiated_includes(f'#include "run.h"\n{specialization}\n') == found


def test_kernels_of_cutlass_are_named_by_their_templates():
    text = "using G = cutlass::gemm::device::GemmUniversalAdapter<K>; cutlass::gemm::GemmCoord c;"
    assert text_heuristics.library_kernels(text) == [
        ("GemmUniversalAdapter", text.index("cutlass"))
    ]
    assert text_heuristics.library_kernels("cutlass::gemm::device::run(k<<<1, 2>>>)") == []
    part = "cutlass::epilogue::collective::DefaultEpilogue<T> e; "
    count = "cutlass::gemm::collective::StageCountAutoCarveout<4> n; "
    assert text_heuristics.library_kernels(part + count + text)[0][0] == "GemmUniversalAdapter"
    assert text_heuristics.library_kernels(part + count) == [("DefaultEpilogue", 0)]


def test_code_that_calls_both_run_time_libraries_is_not_for_amd_alone():
    assert heuristics.calls_hip_alone(["main", "hipMalloc"])
    assert not heuristics.calls_hip_alone(["main", "hipMalloc", "cudaMalloc"])
    assert not heuristics.calls_hip_alone(["main"])
    assert heuristics.computes_with_hip_types(["k", "__hip_fp8_e4m3_fnuz"])
    assert not heuristics.computes_with_hip_types(["k", "__hip_bfloat162", "cudaMalloc"])
    assert not heuristics.computes_with_hip_types(["k", "hip_fp8"])


def test_a_text_defines_a_kernel_or_declares_a_variable():
    text = "__global__ void k(int n) {}\n__global__ void declared(int n);\nvoid host(F f) { g(x); }"
    kernels = [n for n in ("k", "declared", "host") if text_heuristics.defines_kernel(text, n)]
    variables = [n for n in ("n", "f", "x", "k") if text_heuristics.declares_variable(text, n)]
    assert (kernels, variables) == (["k"], ["n", "f"])
    assert text_heuristics.declares_variable("void run(void (*f)());", "f")
    assert all(
        text_heuristics.declares_variable(f"auto{p}f = &k<4>;", "f") for p in ("* ", " *", "& ")
    )
    assert not any(text_heuristics.declares_variable(t, "f") for t in ("return *f;", "g(&f);"))
    assert not text_heuristics.declares_variable("return f;", "f")


def test_parameters_of_host_functions_of_the_dsl_are_guessed_by_name():
    assert heuristics.names_capability("device_capability")
    assert not heuristics.names_capability("capacity")
    majors = map(heuristics.guessed_majors, ("a_major", "b_major", "d_major"))
    assert list(majors) == [("k", "m"), ("k", "n"), ("n", "m")]


def test_every_guess_is_tested_and_gives_its_reason():
    guesses = {
        name: value
        for module in (heuristics, text_heuristics)
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__
    }
    assert set(guesses) == {
        "guessed_majors",
        "names_capability",
        "built_includes",
        "calls_hip_alone",
        "computes_with_hip_types",
        "declares_variable",
        "defines_kernel",
        "library_kernels",
        "writes_arguments",
        "instantiated_includes",
        "launched_and_not_defined",
        "may_launch",
        "names_another",
        *(guess.__name__ for guess in CASES),
    }
    assert [name for name, guess in guesses.items() if not guess.__doc__] == []


def test_no_other_module_guesses_by_capitals():
    found = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "smemlint").rglob("*.py")
        if path.name != "heuristics.py" and "isupper" in path.read_text(encoding="utf-8")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr == "isupper"
    ]
    assert found == [
        "smemlint/analysis/python/cute_dsl/execution/functions/atoms.py"
    ]  # CuTe's classes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("template <int N> __global__ void __launch_bounds__(N) k(float *g) {\n}", True),
        ("__global__ void k(float *g);", False),
        ("__global__ void other(float *g) { int k = 0; k++; }\nk<<<1, 2>>>(g);", False),
        ("auto k = other<3>;\nk<<<1, 2>>>(g);", True),
        ("for (int k = 0; k < n; k++) {}", True),
        ("void f(int k) { k<4><<<1, n>>>(g); }", False),
        ("void f(int k) {}", True),
        ("template __global__ void k<3>(float *);", False),
        ("cudaLaunchKernel((void *)k, 1, 2);", False),
        ("return k;", False),
        ("launch(k, 3);", False),
        ('check(n > 0, "k does not take empty rows");', True),
        ('check(n > 0, "k does not take empty rows"); launch(k, 3);', False),
        ('// k is launched\ncheck(n > 0, "for k the rows are empty");', True),
        ('launch("k", 3);', False),
        ('launch("k<unsigned long long>", 3);', False),
        ('launch("k", "rows that are empty");', False),
    ],
)
def test_what_a_file_means_by_the_name_of_a_kernel(text, expected):
    assert text_heuristics.names_another(text, "k") is expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.cu", '#include "k.cuh"\n#include <b>\nint main() {}\n', ["k.cuh"]),
        ("a.cpp", '#include "k.cuh"\nint main() {}\n', []),
        ("a.cu", '#include "k.cuh"\n__global__ void k() {}\n', []),
        ("a.cu", '#include "k.cuh"\nint main() { k<<<1, 2>>>(); }\n', []),
        ("a.cu", '#include "k.cuh"\ntemplate void run<64>();\n', []),
    ],
)
def test_built_includes(path, text, expected):
    assert text_heuristics.built_includes(path, text) == expected


@pytest.mark.parametrize(
    ("name", "is_object", "is_used", "expected"),
    [
        ("parse", False, False, True),
        ("args.get", False, False, True),
        ("args.get", True, True, True),
        ("div_up", False, True, False),
        ("printf", True, False, False),
        ("cudaMemset", True, False, False),
        ("CHECK", True, False, False),
        ("v.push_back", True, False, False),
        ("std::max", True, False, False),
        ("std::swap", False, False, True),
        ("std::tie", False, True, True),
        ("std::begin", True, True, True),
        ("std::ranges::sort", True, True, True),
        ("std::ranges::fill", False, False, False),
    ],
)
def test_unread_host_functions_that_write_what_they_are_given(name, is_object, is_used, expected):
    found = heuristics.writes_arguments(name, is_object=is_object, is_used=is_used)
    assert found == expected
