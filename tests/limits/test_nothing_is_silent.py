"""Whatever a limit cuts off is said: at its place, with its number, by `check` and `analyze`."""

from __future__ import annotations

import json
import re

import pytest

KERNEL = """\
__global__ void {0}(float *o) {{ __shared__ float t[32][32]; o[0] = t[threadIdx.x][0]; }}
void h_{0}() {{ {0}<<<1, 32>>>(0); }}
"""
OK = KERNEL.format("ok")
TEMPLATE = "template <int N> __global__ void k(float *o) { __shared__ float t[32 * N]; o[0] = t[threadIdx.x * N]; }\n"
GLUON = """
import torch, pytest
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
@gluon.jit
def k(o, layout: gl.constexpr):
    m = gl.allocate_shared_memory(gl.float32, [64, 32], layout)
    o + m.load(gl.BlockedLayout([1, 1], [32, 1], [4, 1], [0, 1]))
def layout(n, vec=1):
    return gl.SwizzledSharedLayout(vec, 1, n, [1, 0])
"""
TRITON = """
import torch, pytest, triton, triton.language as tl
@triton.autotune(configs=[triton.Config({{"B": 32 * (i + 1)}}, num_warps=4) for i in range({configs})], key=[])
@triton.jit
def k(a, b, o, B: tl.constexpr):
    i = tl.arange(0, 64)
    x = tl.load(a + i[:, None] * 64 + i[None, :])
    y = tl.load(b + i[:, None] + i[None, :] * 64)
    tl.store(o + i[:, None] * 64 + i[None, :], tl.dot(x, y))
def h():
    a = torch.empty((64, 64), dtype=torch.float16, device="cuda")
"""
DSL = """
import argparse
import cutlass
import cutlass.cute as cute
import cutlass.utils as utils
{imports}

@cute.kernel
def k(n: cutlass.Constexpr):
    sA = utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((32, n)), 16)
    sA[cute.arch.thread_idx()[0], 0] = 1.0

{more}
@cute.jit
def h(n):
    k(n).launch(grid=[1, 1, 1], block=[32, 1, 1])
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", choices=[1, 2, 3, 4, 5, 6, 7, 8, 9][:{choices}], default=1)
    n = parser.parse_args().n
    {run}
"""


def dsl(imports: str = "", more: str = "", choices: int = 1, run: str = "h(n)") -> str:
    return DSL.format(imports=imports, more=more, choices=choices, run=run)


def lines(text: str, count: int) -> str:
    return "".join(text.format(i) for i in range(count))


CASES = {
    "strays": ({"a.cu": OK + ")\n" * 60}, [("a.cu", 23, 40)], 21),
    "unread kernels": (
        {"a.cu": OK + "#if A0\nint x;\n#else\n" + "".join(KERNEL.format(f"k{i}") for i in range(60)) + "#endif\n"},
        [("a.cu", 106, 10)], 51,
    ),
    "a stray and a deep scope": (
        {"a.cu": OK + "namespace a {\n" * 110 + KERNEL.format("deep") + "}" * 110}, [("a.cu", 104, 100)], 1,
    ),
    "recursive include": ({"a.cu": '#include "a.cuh"\n' + OK, "a.cuh": '#include "a.cuh"\n'}, [("a.cuh", 1, None)], 1),
    "instantiations": (
        {"a.cu": TEMPLATE + "template <int N> void go(float *o) { k<N><<<1, 32>>>(o); }\n" + lines("template void go<1 + 2 * {}>(float *);\n", 9)},
        [("a.cu", 1, 3)], 1,
    ),
    "instantiations of the kernel": (
        {"a.cu": TEMPLATE + lines("template __global__ void k<1 + 2 * {}>(float *);\n", 9)}, [("a.cu", 1, 3)], 1,
    ),
    "a long host function": (
        {"a.cu": TEMPLATE + "void h(float *o, int a) { k<1><<<1, 32>>>(o);\n" + "a = a * 3 + 1;\n" * 12_500 + "k<32><<<1, 32>>>(o); }\n"},
        [("a.cu", 1, None)], 1,
    ),
    "files that launch": (
        {"a.cuh": TEMPLATE, **{f"m{i}.cu": f'#include "a.cuh"\nvoid h() {{ k<{2 * i + 1}><<<1, 32>>>(0); }}\n' for i in range(10)}},
        [("m0.cu", 1, 3)], 1,
    ),
    "launches of Gluon": ({"k.py": GLUON + "def h():\n" + lines("    k[(1,)](0, layout(2 ** ({0} % 4), 1 + {0} // 4), num_warps=4)\n", 12)}, [("k.py", 6, 4)], 1),
    "parametrizations": (
        {"k.py": GLUON + '@pytest.mark.parametrize("n", [1, 2, 4, 8, 16])\ndef test(n):\n    k[(1,)](0, layout(n), num_warps=4)\n'},
        [("k.py", 12, 2)], 1,
    ),
    "launches of Triton": (
        {"k.py": TRITON.format(configs=1) + "    k[(1,)](a, a.T, a)\n" * 11}, [("k.py", 5, 3)], 1,
    ),
    "configurations of Triton": ({"k.py": TRITON.format(configs=18) + "    k[(1,)](a, a.T, a)\n"}, [("k.py", 5, 2)], 1),
    "launches of the CuTe DSL": ({"k.py": dsl(run="; ".join(f"h({i + 1})" for i in range(30)))}, [("k.py", 9, 6)], 1),
    "choices of the CuTe DSL": ({"k.py": dsl(choices=9)}, [("k.py", 1, 2)], 1),
    "functions of the CuTe DSL": (
        {"k.py": dsl(more=lines("@cute.jit\ndef h{0}():\n    k({0} + 1).launch(grid=[1, 1, 1], block=[32, 1, 1])\n", 30))},
        [("k.py", 1, 6)], 1,
    ),
    "modules of the CuTe DSL": (
        {"k.py": dsl(imports=lines("from m{0} import x{0}\n", 69)), **{f"m{i}.py": f"x{i} = 1\n" for i in range(69)}},
        [("k.py", 1, 5)], 1,
    ),
    "makers of swizzles": (
        {
            "k.py": "import cutlass.cute as cute\n" + lines("import m{0}\n", 20) + "def h():\n" + lines("    m{0}.make()\n", 20),
            **{f"m{i}.py": "import cutlass.cute as cute\ndef make():\n    return cute.make_swizzle(3, 3, 3)\n" for i in range(20)},
        },
        [("k.py", 1, 4)], 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.slow) if c == "a long host function" else c for c in CASES],
)
def test_what_a_limit_cuts_off_is_said(tmp_path, smemlint, case):
    files, expected, count = CASES[case]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    _, out, err = smemlint("check", "--no-cache", "--isolated", "--output-format", "json", ".")
    notes = [f for f in json.loads(out)["findings"] if f["code"] == "SML901"]
    assert len(notes) == count
    places = {
        (f["file"], f["line"]): set(map(int, re.findall(r"\d+", f["message"]))) for f in notes
    }
    for path, line, number in expected:
        assert number is None or number in places[path, line], places
    assert re.search(rf"\b{count} notes?\b", err), err
    listed = json.loads(smemlint("analyze", "--isolated", "--output-format", "json", ".")[1])
    assert {(n["file"], n["line"]) for n in listed["not_analysed"]} == set(places)
    assert len(listed["not_analysed"]) == count
