"""Kernels in branches of `#if` that were not read are named; what no build reads is not."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.frontend.cuda.preprocessor.options import LoadOptions
from smemlint.frontend.cuda.preprocessor.preprocess import preprocess

KERNEL = "__global__ void %s(float *o) { __shared__ float t[32]; o[0] = t[threadIdx.x]; }"
DEFINED = "#ifdef OPEN\n#define WAY 1\n#define GPU\n#else\n#define WAY 0\n#endif\n"
A, B = KERNEL % "a", KERNEL % "b"


def unread(text: str, **options: object) -> list[tuple[int, int]]:
    found = preprocess("k.cu", text, LoadOptions(**options)).unread  # type: ignore[arg-type]
    return [(n.span.line, n.span.column) for n in found]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (f"#if X\nint x;\n#else\n{A}\n#endif", [(4, 17)]),
        (f"#if X\n{A}\n#else\n{B}\n#endif", [(4, 17)]),
        (f"#ifdef X\n{A}\n#else\n{B}\n#endif", [(2, 17)]),
        (f"#if X\nint x;\n#elif Y\n{A}\n#else\n{B}\n#endif", [(4, 17), (6, 17)]),
        (f"#ifdef X\nint x;\n#endif\n#ifndef X\n{A}\n#endif", [(5, 17)]),
        ("#if X\nint x;\n#else\nvoid f() { __shared__ int s[2]; }\n#endif", [(4, 12)]),
        (f"#if X\nint x;\n#else\n#if Y\n{A}\n#else\n{B}\n#endif\n#endif", [(5, 17), (7, 17)]),
        (f"{DEFINED}#ifdef GPU\n{A}\n#endif", [(8, 17)]),
        (f"{DEFINED}#if WAY == 2\n{A}\n#elif defined(GPU)\n{B}\n#endif", [(10, 17)]),
        (f"// #define X\n#ifdef X\n{A}\n#endif", [(3, 17)]),  # off until somebody edits it
        (f"//#define X 1\n#if X\n{A}\n#else\n{B}\n#endif", [(3, 17)]),
    ],
)
def test_kernels_of_other_builds_are_named(text, places):
    assert unread(text) == places


@pytest.mark.parametrize(
    "text",
    [
        f"#if X\n{A}\n#endif",  # read
        f"#if X\n{A}\n#else\nint x;\n#endif",
        f"#if 0\n{A}\n#endif",  # no build reads it
        f"{DEFINED}#undef GPU\n#ifdef GPU\n{A}\n#endif",
        f"{DEFINED}#define GPU\n#ifdef GPU\n{A}\n#endif",
        f"//#define X\n#define X\n#ifdef X\n{A}\n#endif",
        f"// #define WITH_CUDA\n#ifdef WITH_CUDA\n{A}\n#endif",  # the build system's
        f"#ifdef __HIP__\n{A}\n#else\n{B}\n#endif",
        f"#if __CUDA_ARCH__ >= 800\n{B}\n#else\n{A}\n#endif",
        f"#define X 1\n#if X\n{A}\n#else\n{B}\n#endif",
        f"#if X\nint x;\n#else\n#if 0\n{A}\n#endif\n#endif",
        f"#if X\nint x;\n#else\n#ifdef __HIP__\n{A}\n#elif 1\nint y;\n#else\n{B}\n#endif\n#endif",
        "#if X\nint x;\n#else\n__global__ void a(float *o);\n#endif",  # defines nothing
        "#if X\nint x;\n#else\n#define GLOBAL __global__\n#endif",
        '#if X\nint x;\n#else\nconst char *s = "__global__"; // __global__\n#endif',
    ],
)
def test_nothing_is_said_where_nothing_is_lost(text):
    assert unread(text) == []


def test_a_definition_on_the_command_line_decides_it():
    text = f"#if X\nint x;\n#else\n{A}\n#endif"
    assert unread(text, defines={"X": "0"}) == unread(text, undefines=frozenset("X")) == []


def test_deep_chains_are_bounded():
    depth = 3_000
    text = "#if X\nint x;\n#else\n" + "#if Y\n" * depth + A + "\n" + "#endif\n" * (depth + 1)
    assert unread(text) == [(depth + 4, 17)]


def test_it_is_said_once_of_the_files_of_the_run():
    (note,) = facts_of(f"#if X\nint x;\n#else\n{A}\n#endif\n").not_analysed
    assert (note.span.path, note.span.line, note.span.column) == ("k.cu", 4, 17)
