"""Python files that are no good: a clear reason at its place, bounded time, no traceback."""

from __future__ import annotations

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.sources.source import Source

KERNEL = '''import cupy as cp
k = cp.RawKernel(r"""
extern "C" __global__ void t(const float* a, float* b) {  // \xe9
  __shared__ float tile[32][32];
  /* \xe9 */ tile[threadIdx.x][threadIdx.y] = 1;
}
""", 't')
k((1,), (32, 32), (a, b))
'''
JIT = "from numba import cuda\n@cuda.jit\ndef k(a):\n    s = cuda.shared.array(32, 'f4')\n    "


def notes(data: bytes) -> list[tuple[int, int, str]]:
    """Line, column and code of what was not analysed; nothing crashed."""
    facts, crashed = analyze([Source("k.py", data)], Settings())
    assert not crashed, facts.not_analysed
    found = (*facts.not_analysed, *(n for k in facts.kernels for n in k.not_analysed))
    return [(n.span.line, n.span.column, n.reason.code) for n in found]


def stores(data: bytes) -> list[tuple[int, int, float]]:
    """Line, column and ways of each access."""
    facts, crashed = analyze([Source("k.py", data)], Settings())
    assert not crashed
    assert not facts.not_analysed
    return [(a.span.line, a.span.column, a.ways) for k in facts.kernels for a in k.accesses]


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("# -*- coding: latin-1 -*-", "latin-1"),
        ("#!/usr/bin/python\n# vim: set fileencoding=cp1252 :", "cp1252"),
        ("\n# coding: utf-8", "utf-8"),
        ("", "utf-8-sig"),
    ],
)
def test_declared_encodings_are_read_and_columns_count_characters(head, encoding):
    text = f"{head}\n{KERNEL}"
    line = 6 + head.count("\n")
    assert stores(text.encode(encoding)) == [(line, 11, 32.0)]


def test_a_declaration_behind_code_is_none():
    data = ("x = 1\n# coding: latin-1\n" + KERNEL).encode("utf-8")
    assert stores(data) == [(7, 11, 32.0)]


@pytest.mark.parametrize(
    "data",
    [
        b"# coding: klingon\n",
        b"# coding: rot13\n",
        b"# coding: ascii\n",
        b"\xef\xbb\xbf# coding: latin-1\n",
    ],
)
def test_encodings_that_python_does_not_take_are_said(data):
    assert notes(data + KERNEL.encode()) == [(1, 1, "unreadable")]


def test_utf_16_and_null_bytes_are_said():
    assert notes(KERNEL.encode("utf-16")) == [(1, 1, "unreadable")]
    assert notes(b"import cupy\n\0") == [(1, 1, "unreadable")]
    late = b"#" * 9000 + b"\n\0RawKernel("
    assert notes(late)[0][2] == "syntax"


def test_what_is_not_in_utf_8_is_read_and_said():
    facts, _ = analyze([Source("k.py", KERNEL.encode("latin-1"))], Settings())
    (note,) = facts.not_analysed
    assert note.reason.code == "unreadable"
    assert [a.span.column for k in facts.kernels for a in k.accesses] == [11]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("1 <> 'x'\nk = RawKernel(x)\n", 1, 3),
        ("k = RawKernel('''\n__shared__\n", 1, 15),
        (f"{JIT}1 <> 'x'\n", 5, 7),
        (f"{JIT}s[0 = 1\n", 5, 6),
    ],
)
def test_what_is_not_python_3_is_said_at_its_place(text, line, column):
    assert notes(text.encode()) == [(line, column, "syntax")]


DEEP = {
    "parentheses": "k = RawKernel(" + "(" * 5000 + "'__shared__'" + ")" * 5000 + ", 'k')\n",
    "operators": "x = " + "-" * 20_000 + "1\nk = RawKernel('__shared__', 'k')\n",
    "concatenation": "k = RawKernel(" + "+".join(["'__shared__ int a;'"] * 60_000) + ", 'k')\n",
    "kernel": JIT + "s[0] = " + "+".join(["1"] * 60_000) + "\nk[1, 32](a)\n",
}  # fmt: skip


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_ends_and_is_said(name):
    codes = {code for _, _, code in notes(DEEP[name].encode())}
    assert codes & {"nesting-limit", "too-large", "syntax"}  # as the Python that runs it says


def test_long_lines_end(smemlint, tmp_path):
    text = "import cupy\nk = cupy.RawKernel('__shared__ " + "x" * 7_000_000 + "', 'k')\n"
    (tmp_path / "k.py").write_text(text)
    _, out, _ = smemlint("check", "k.py", "--output-format", "concise")
    assert out.startswith("k.py:2:5: SML901 note: not analysed: the CUDA text of `RawKernel`")
    (tmp_path / "k.py").write_text("k = cupy.RawKernel('__shared__" + "x" * 50_000_000 + "')\n")
    _, out, _ = smemlint("check", "k.py", "--output-format", "concise")
    assert out == "k.py:1:1: SML901 note: not analysed: larger than 8 MiB\n"


@pytest.mark.parametrize(
    "code", ["'SELECT * FROM x; __shared__ \xbf {{'", r"'\ud800 __shared__ a'"]
)
def test_strings_that_are_no_cuda_are_said(code):
    found = notes(f"k = RawKernel({code}, 'k')\nk((1,), (32,), ())\n".encode())
    assert found
    assert {line for line, _, _ in found} == {1}


@pytest.mark.parametrize(
    "code",
    [
        "Template('__shared__ float s[${n}];').render(n=3)",
        "'__shared__ %q' % 1",
        "'__shared__ {0.width}'.format(a)",
        "'__shared__ {:>{}}'.format(1, 2)",
        "('__shared__', x)[0] + make(x)",
    ],
)
def test_templates_that_are_not_followed_are_said(code):
    assert notes(f"k = RawKernel({code}, 'k')\n".encode()) == [(1, 5, "not-modelled")]


def test_an_edit_keeps_the_encoding(smemlint, tmp_path):
    text = f"# coding: latin-1\n{KERNEL}".encode("latin-1")
    (tmp_path / "k.py").write_bytes(text)
    code, _, err = smemlint("check", "k.py", "--fix", "--unsafe-fixes")
    assert code == 0, err
    assert (tmp_path / "k.py").read_bytes() == text.replace(b"[32][32];", b"[32][33];")


_GLUON = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
@gluon.jit
def k():
    rows: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], WARPS, [1, 0])
    tile = gl.allocate_shared_memory(gl.float32, [32, 32], LAYOUT)
    tile.slice(0, LENGTH).load(rows)
"""
_SWIZZLED = "gl.SwizzledSharedLayout(1, 1, 1, [1, 0])"


@pytest.mark.parametrize(
    "text",
    [
        _GLUON.replace("WARPS", "[1 << 27, 1]").replace("LAYOUT", _SWIZZLED),
        _GLUON.replace("WARPS", "[4, 1]").replace("LAYOUT", _SWIZZLED).replace("LENGTH", "0"),
        _GLUON.replace("LAYOUT", "gl.SwizzledSharedLayout(1, 1, 1, [])"),
        _GLUON.replace("WARPS", "[4, 1]").replace(
            "LAYOUT", "gl.PaddedSharedLayout.with_identity_for([[1 << 70, 1]], [32, 32], [1, 0])"
        ),
        "import triton\nimport triton.language as tl\nfor i in range(1 << 70):\n    tl.dot(i, i)\n",
        "import torch, triton\nimport triton.language as tl\n@triton.jit\ndef k(a):\n"
        "    p = tl.load(tl.make_block_ptr(a, (4, 4), (1, 2, 3), (0, 0), (32, 32), (1, 0)))\n"
        "    tl.dot(p, p)\ndef f():\n    k[(1,)](torch.empty((4, 4)))\n",
        "import cutlass.cute as cute\n@cute.struct\nclass S:\n"
        "    a: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, 4], 0]\n"
        "def f():\n    cute.make_swizzle(3, 3, 3)\n",
        "import cutlass\nimport cutlass.cute as cute\n@cute.jit\ndef f():\n"
        "    a = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 1 << 70,\n"
        "        cute.make_layout((8, 1 << 80), stride=(1 << 70, 1)))\n"
        "    cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, a, 16)\n",
        "from numba import cuda\n@cuda.jit\ndef k(o):\n    s = cuda.shared.array(32, 'f4')\n"
        "    s[len()] = len(*o)\n",
    ],
)
def test_numbers_that_no_layout_takes_are_no_error(text):
    text = text.replace("LENGTH", "16").replace("WARPS", "[4, 1]")
    assert not check([Source("k.py", text)], Settings()).crashed
