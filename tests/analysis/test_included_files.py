"""Which files of a run includes name: kernels of headers are evaluated where they are launched."""

from __future__ import annotations

import posixpath

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.analysis.program.included_files import IncludedFiles
from smemlint.analysis.simt.analyze import Project
from smemlint.config.settings import Settings
from smemlint.sources.discovery import find_sources

FILES = (
    "csrc/topk.cu",
    "include/lib/topk.cuh",
    "include/lib/detail/topk.cuh",
    "include/cutlass/gemm.h",
    "include/cub/cub.cuh",
    "other/kernels/math.cuh",
    "other/kernels/vector",
    "other/kernels/norm.cuh",
    "third/kernels/norm.cuh",
)


@pytest.mark.parametrize(
    ("name", "includer", "is_quoted", "found"),
    [
        ("lib/topk.cuh", "csrc/topk.cu", False, "include/lib/topk.cuh"),
        ("lib/topk.cuh", "csrc/topk.cu", True, "include/lib/topk.cuh"),
        ("topk.cuh", "include/lib/detail/mma.cuh", True, "include/lib/detail/topk.cuh"),
        ("../topk.cuh", "include/lib/detail/mma.cuh", True, "include/lib/topk.cuh"),
        ("kernels/math.cuh", "csrc/topk.cu", True, "other/kernels/math.cuh"),
        ("kernels/math.cuh", "csrc/topk.cu", False, "other/kernels/math.cuh"),
        ("math.cuh", "csrc/topk.cu", False, "other/kernels/math.cuh"),
        ("kernels/norm.cuh", "csrc/topk.cu", False, None),
        ("kernels/norm.cuh", "third/topk.cu", True, "third/kernels/norm.cuh"),
        ("kernels/math.cuh", "csrc/built.cu", False, "other/kernels/math.cuh"),
        ("vector", "other/kernels/math.cuh", False, None),
        ("cub/cub.cuh", "csrc/topk.cu", False, None),
        ("cutlass/gemm.h", "csrc/topk.cu", False, None),
        ("cutlass/gemm.h", "csrc/topk.cu", True, None),
    ],
)
def test_includes_are_found_where_the_preprocessor_looks(name, includer, is_quoted, found):
    built = {"csrc/built.cu": ["other"]}
    files = IncludedFiles(FILES, lambda path: built.get(path, ()))
    assert files.find(name, includer, is_quoted=is_quoted) == found


HEADER = """#pragma once
template <typename DType>
__global__ void topk(DType* out) {
  __shared__ DType s[32 * 32];
  s[threadIdx.x * 32] = 0;
  out[0] = s[threadIdx.x * 32];
}
template <typename DType>
void run(DType* out) { topk<DType><<<1, 32>>>(out); }
"""


@pytest.mark.parametrize("written", ["<lib/topk.cuh>", '"lib/topk.cuh"'])
@pytest.mark.parametrize("folder", ["include", "common/base/include"])
def test_a_header_in_brackets_has_the_template_arguments_of_its_launch(written, folder, tmp_path):
    (tmp_path / "csrc").mkdir()
    (tmp_path / folder / "lib").mkdir(parents=True)
    (tmp_path / folder / "lib" / "topk.cuh").write_text(HEADER)
    calls = "void go(double* a) { run(a); }\n"
    (tmp_path / "csrc" / "topk.cu").write_text(f"#include {written}\n{calls}")
    facts, crashed = analyze(find_sources([str(tmp_path)]), Settings())
    assert not crashed
    (kernel,) = facts.kernels
    assert dict(kernel.instance.template)["DType"] == "double"
    assert all(a.certainty.is_decided for a in kernel.accesses)
    assert [p.wavefronts for a in kernel.accesses for p in a.patterns] == [32, 32]


KERNEL = """#pragma once
template <int N>
__global__ void k(float* a) {
  __shared__ float s[32 * N];
  s[threadIdx.x * N] = a[threadIdx.x];
}
"""


def instances_of(files, tmp_path):
    """Returns the template argument and the wavefronts of each instance of `k`."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    facts, crashed = analyze(find_sources([str(tmp_path)]), Settings())
    assert not crashed
    found = {
        (k.instance.template[0][1], k.accesses[0].patterns[0].wavefronts) for k in facts.kernels
    }
    assert len(found) == len(facts.kernels)
    return found


def test_a_header_that_a_condition_keeps_out_of_all_units_is_a_unit_of_its_own(tmp_path):
    launch = "void run(float* a) { k<32><<<1, 32>>>(a); }\n"
    files = {"k.cuh": KERNEL + launch, "a.cu": '#if 0\n#include "k.cuh"\n#endif\n'}
    assert instances_of(files, tmp_path) == {("32", 32)}


def test_of_units_that_call_each_others_launchers_the_one_with_the_body_evaluates(tmp_path):
    files = {
        "k.cuh": KERNEL,
        "go.h": '#include "k.cuh"\ntemplate <int N> void go(float* a) { k<N><<<1, 32>>>(a); }\n',
        "impl.h": "void run(float* a) { go<16>(a); }\n",
        "calls.h": "void run(float*);\nvoid all(float* a) { run(a); }\n",
        "helper.cu": '#include "go.h"\n#include "impl.h"\n',
        "main.cu": '#include "go.h"\n#include "calls.h"\n',
    }
    assert instances_of(files, tmp_path) == {("16", 16)}


def test_files_that_nvcc_compiles_come_before_those_of_the_host(tmp_path):
    files = {
        "k.cuh": KERNEL,
        "a.cpp": '#include "k.cuh"\nvoid f(float* a) { k<8><<<1, 32>>>(a); }\n',
        "b.cu": '#include "k.cuh"\nvoid g(float* a) { k<4><<<1, 32>>>(a); }\n',
    }
    assert instances_of(files, tmp_path) == {("4", 4)}


GO = KERNEL + "template <int N> void go(float* a) { k<N><<<1, 32>>>(a); }\n"


def test_units_whose_headers_call_each_others_launcher_evaluate_the_kernel(tmp_path):
    files = {
        "k.cuh": GO,
        "a.cuh": '#include "k.cuh"\ninline void wrap_a(float* a) { go<32>(a); }\n',
        "b.cuh": '#include "k.cuh"\ninline void wrap_b(float* a) { go<16>(a); }\n',
        "a.cu": '#include "a.cuh"\n',
        "b.cu": '#include "b.cuh"\n',
    }
    assert instances_of(files, tmp_path) == {("32", 32), ("16", 16)}


@pytest.mark.parametrize(
    "other",
    [
        '#include "k.cuh"\n// go<32>(a);\n',
        '#include "k.cuh"\n#if 0\nvoid f(float* a) { go<32>(a); }\n#endif\n',
        '#if 0\n#include "k.cuh"\nvoid f(float* a) { go<32>(a); }\n#endif\n',
    ],
)
def test_a_kernel_is_not_left_to_a_unit_that_only_seems_to_launch_it(other, tmp_path):
    for name, text in {"k.cuh": GO, "a.cu": '#include "k.cuh"\n', "b.cu": other}.items():
        (tmp_path / name).write_text(text)
    facts, crashed = analyze(find_sources([str(tmp_path)]), Settings())
    assert not crashed
    assert [len(kernel.accesses) for kernel in facts.kernels] == [1]


REDUCTION = """#pragma once
__device__ float sum(float v) {
  __shared__ float s[32 * 32];
  s[threadIdx.x * 32] = v;
  return s[threadIdx.x];
}
"""


def test_a_kernel_whose_shared_memory_is_of_a_header_is_evaluated_in_any_number_of_files(tmp_path):
    (tmp_path / "sum.cuh").write_text(REDUCTION)
    kernel = "__global__ void k{0}(float* a) {{ a[0] = sum(a[threadIdx.x]); }}\n"
    for i in range(5):
        (tmp_path / f"k{i}.cuh").write_text('#include "sum.cuh"\n' + kernel.format(i))
        (tmp_path / f"main{i}.cu").write_text(f'#include "k{i}.cuh"\n')
    facts, crashed = analyze(find_sources([str(tmp_path)]), Settings())
    assert not crashed
    assert sorted(k.instance.kernel for k in facts.kernels) == ["k0", "k1", "k2", "k3", "k4"]
    assert {a.patterns[0].wavefronts for k in facts.kernels for a in k.accesses} == {32, 1}


@pytest.mark.parametrize(
    ("ending", "call"), [(".cu", "hipFree(a);"), (".cpp", "hipFree(a);"), ("_hip.cpp", "")]
)
def test_main_files_for_amd_come_behind_those_for_cuda(ending, call, tmp_path):
    launch = "inline void run(float* a) { k<16><<<1, 32>>>(a); }\n"
    host = '#include "k.cuh"\nvoid f(float* a) {{ {0} run(a); }}\n'
    files = {f"{name}{ending}": host.format(call) for name in "abc"}
    files |= {
        "k.cuh": KERNEL + launch,
        f"d{ending.removeprefix('_hip')}": host.format("cudaFree(a);"),
    }
    assert instances_of(files, tmp_path) == {("16", 16)}


def test_main_files_that_are_near_come_first(tmp_path):
    files = {
        "k.cuh": KERNEL + "template <int N> void go(float* a) { k<N><<<1, 32>>>(a); }\n",
        "far.h": '#include "k.cuh"\n',
        "near.cu": '#include "k.cuh"\nvoid g(float* a) { go<32>(a); }\n',
        **{
            f"a{n}.cu": f'#include "far.h"\nvoid f{n}(float* a) {{ go<{n}>(a); }}\n'
            for n in (2, 4, 8, 16)
        },
    }
    assert len(instances_of(files, tmp_path)) == 5
    project = Project(find_sources([str(tmp_path)]), Settings())
    mains = project.main_files.of[(tmp_path / "k.cuh").as_posix()]
    assert [posixpath.basename(m) for m in mains] == ["near.cu", "a16.cu", "a2.cu"]
