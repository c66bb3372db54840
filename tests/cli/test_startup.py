"""What each path imports is pinned: start-up time is what a hook's user pays every time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "numpy",
    "libcst",
    "pycparser",
    "subprocess",
    "json",
    "concurrent.futures",
    "hypothesis",
    "pygls",
    "shutil",
    "_hashlib",
    "smemlint.layout.cute",
    "smemlint.analysis.simt.cute.values",
    "smemlint.frontend.ptx.module",
    "smemlint.frontend.cuda.preprocessor.cutlass_gemm",
    "smemlint.analysis.simt.loops.loops",
    "smemlint.analysis.simt.interpreter.switches",
)


def imported(*arguments: str, stdin: str = "") -> set[str]:
    code = (
        "import sys\nfrom smemlint.cli.main import main\n"
        f"try:\n    main({list(arguments)!r})\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', *[m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=stdin, capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    return set(done.stdout.rsplit("LOADED", 1)[1].split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("rule", "--help"),
        ("rule", "SML101"),
        ("check", "--help"),
        ("lsp", "--help"),
    ],
)
def test_help_loads_nothing_heavy(arguments):
    assert imported(*arguments) == set()


def test_a_file_without_kernels_loads_no_parser_and_no_arrays():
    assert imported("check", "-", "--isolated", stdin="int main() {}") == set()
    assert imported("check", "-", "--isolated", "--select=SML101", stdin="int main() {}") == set()
    assert imported("analyze", "-", "--isolated", stdin="int main() {}") == set()


def test_a_kernel_loads_what_evaluation_needs_and_no_more():
    text = "__global__ void k() { __shared__ int s[32]; s[threadIdx.x] = 0; }"
    brought_by_numpy = {"subprocess", "json"}
    loaded = imported("analyze", "-", "--isolated", stdin=text) - brought_by_numpy
    assert loaded == {"numpy", "pycparser"}


def test_layouts_of_cute_are_loaded_for_files_that_mention_it():
    text = (
        "template <int N> struct Tile { float data[N]; __device__ float &operator[](int i)"
        " { return data[i]; } };\n"
        "template <typename T> __device__ T twice(T x) { return x + x; }\n"
        "__global__ void k(int n, float *out) { __shared__ Tile<64> s; float sum = 0;\n"
        "for (int i = 0; i < n; i++) { if (i & 1) s[threadIdx.x] = twice(sum); sum += s[i]; }\n"
        "out[threadIdx.x] = sum; }\n"
        "void f(int n, float *out) { k<<<1, 64>>>(n, out); }"
    )
    own = {"smemlint.layout.cute", "smemlint.analysis.simt.cute.values"}
    assert not imported("analyze", "-", "--isolated", stdin=text) & own
    of_cute = f"#include <cute/tensor.hpp>\n{text.replace('sum = 0', 'sum = cute::get<0>(n)')}"
    assert "smemlint.layout.cute" in imported("analyze", "-", "--isolated", stdin=of_cute)
