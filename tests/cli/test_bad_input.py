"""Bad input: a clear message or silence, bounded time, no traceback."""

from __future__ import annotations

import errno
import io
import os
import re
import tracemalloc

import pytest
from conftest import facts_of

from smemlint.cli.main import main

KERNEL = """\
__global__ void good(float *out) {
  __shared__ float s[32][32];
  out[threadIdx.x] = s[threadIdx.x][0];
}
void run(float *out) { good<<<1, 32>>>(out); }
"""
CASES = {
    "unbalanced": "__global__ void bad(int *p) { __shared__ int s[4]; s[(threadIdx.x] = 0; \n\n" + KERNEL,
    "recursive macro": "#define A B\n#define B A\n__global__ void m(int *p) { __shared__ int s[A]; s[0] = B; }\n" + KERNEL,
    "recursive function": "__device__ int f(int n) { return n < 1 ? 1 : f(n - 1) + f(n - 2); }\n"
    "__global__ void r(int *p, int n) { __shared__ int s[64]; s[f(n)] = 1; }\n"
    "void go(int *p) { r<<<1, 32>>>(p, 3); }\n" + KERNEL,
    "endless loop": "__global__ void e(int *p) { __shared__ int s[64]; for (;;) s[threadIdx.x] = 1; }\n"
    "__global__ void w(int *p) { __shared__ int s[64]; int i = 0; while (true) { s[i & 63] = i; i++; } }\n"
    "void go(int *p) { e<<<1, 32>>>(p); w<<<1, 32>>>(p); }\n" + KERNEL,
    "unterminated": KERNEL + '/* comment\n"string',
    "crlf": KERNEL.replace("\n", "\r\n"),
    "empty extents": "__global__ void z(int *p) { __shared__ int s[0]; s[threadIdx.x / 0] = 1; }\n"
    "void go(int *p) { z<<<1, 32>>>(p); }\n" + KERNEL,
    "deep nesting": "__global__ void d(int *p) { __shared__ int s[4]; s[" + "(" * 3000 + "0" + ")" * 3000
    + "] = 1; }\n" + KERNEL,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_kernel_beside_the_bad_one_is_still_analysed(smemlint, tmp_path, name):
    (tmp_path / "k.cu").write_text(CASES[name], newline="")
    code, out, err = smemlint("check", "k.cu", "--output-format", "concise")
    assert code == 1, err
    assert "32-way bank conflict reading `s`" in out
    assert "Traceback" not in err


def test_brackets_beyond_reason_cost_one_statement_and_no_memory():
    """Every level took all of its words along: 200,000 levels took 4.7 GB and all the time."""
    nested = "(" * 20_000 + "0" + ")" * 20_000
    text = f"__global__ void d() {{ __shared__ int s[4]; s[{nested}] = 1; s[9] = 0; }}\n"
    tracemalloc.start()
    (kernel,) = facts_of(text).kernels
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [n.reason.code for n in kernel.not_analysed] == ["syntax"]
    assert [a.span.column for a in kernel.accesses] == [text.index("s[9]") + 1]
    assert most < 100e6, most


def test_binary_files_are_said(smemlint, tmp_path):
    (tmp_path / "k.cu").write_bytes(b"BM\0\0" * 100)
    (tmp_path / "object.cu").write_bytes(b"\x7fELF\0\0" * 100)
    code, out, _ = smemlint("check", ".", "--output-format", "concise")
    ours, compiled = out.splitlines()
    assert (code, ours) == (0, "k.cu:1:1: SML901 note: not analysed: binary")
    assert compiled.startswith("object.cu:1:1: SML901 ")
    assert "cuobjdump -xptx" in compiled


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("k.cu", b"// caf\xe9", ""),
        ("k.cu", b'/* \xe9 */ const char *name = "caf\xe9";', ""),
        ("k.cu", b"int caf\xe9;", "k.cu:1:1: SML901 note: not analysed: not UTF-8 at byte 7: "
         "read with replacement characters\n"),
        ("k.py", b"import cupy  # caf\xe9", "k.py:1:1: SML901 note: not analysed: "
         "not UTF-8 at byte 18: read with replacement characters\n"),
    ],
)  # fmt: skip
def test_what_is_no_utf8_is_said_where_it_is_no_comment(smemlint, tmp_path, name, line, expected):
    """Compilers take the names of authors in Latin-1 comments as they are; Python does not."""
    text = KERNEL if name == "k.cu" else f"k = cupy.RawKernel({KERNEL!r}, 'good')\n"
    (tmp_path / name).write_bytes(line + b"\n" + text.encode())
    _, out, _ = smemlint("check", name, "--output-format", "concise")
    assert out.startswith(expected) and ("SML901" in out) is bool(expected)
    assert "32-way bank conflict reading `s`" in out


@pytest.mark.slow
def test_a_very_long_line_is_bounded(smemlint, tmp_path):
    text = KERNEL + "int a[] = {" + "1," * 1_000_000 + "};\n"
    (tmp_path / "k.cu").write_text(text)
    code, out, _ = smemlint("check", "k.cu", "--output-format", "concise")
    assert code == 1 and "32-way" in out


def test_a_huge_file_is_not_analysed_and_said(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text("//" + "x" * (9 << 20) + "\n" + KERNEL)
    code, out, _ = smemlint("check", ".", "--output-format", "concise")
    assert code == 0 and "larger than 8 MiB" in out


def test_a_directory_without_kernels_is_clean(smemlint, tmp_path):
    (tmp_path / "a.cpp").write_text("int main() { return 0; }\n")
    assert smemlint("check", ".")[:2] == (0, "")
    code, _, err = smemlint("check", ".", "--exclude", "*.cpp")
    assert code == 0 and "no files to check" in err


@pytest.fixture
def closed(tmp_path, monkeypatch):
    """A folder that nobody may look into; whoever runs the tests may look into all of them."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "c.cu").write_text(KERNEL)
    (tmp_path / "k.cu").write_text(KERNEL)
    monkeypatch.chdir(tmp_path)

    def refusing(ask, what):
        def asked(path=".", *arguments, **options):
            if re.search(what, str(path)):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return ask(path, *arguments, **options)

        return asked

    for module, name, what in (
        (os, "scandir", r"closed$"), (os, "stat", r"closed/"), (io, "open", r"closed(/|$)"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, refusing(getattr(module, name), what))


@pytest.mark.parametrize("path", ["closed", "closed/c.cu"])
def test_a_named_path_that_nobody_may_look_at_is_an_error(closed, capsys, path):
    assert main(["check", "--no-cache", path]) == 2
    message = f"smemlint: error: {path}: cannot be read: Permission denied\n"
    assert capsys.readouterr().err == message


def test_a_folder_that_cannot_be_walked_is_said(closed, capsys):
    assert main(["check", "--no-cache", "--output-format", "concise"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "closed:1:1: SML901 note: not analysed: cannot be read: Permission denied"
    assert lines[1].startswith("k.cu:3:22: SML101")
