"""Declarators in the text: which are plain, and how an extent grows in each spelling."""

from __future__ import annotations

import pytest
from conftest import facts_of
from kernels import kernel

from smemlint.fix.array_uses import Mentions, mentions
from smemlint.fix.declarator import declarator
from smemlint.fix.edits import applied

USE = "tile[threadIdx.x][0] = 1;"


def grown(declaration: str, axis: int, extra: int, before: str = "") -> str | None:
    """The declaration with one extent of `tile` grown; None where it is not plain."""
    text = kernel(declaration, USE, before=before)
    arrays = facts_of(text).kernels[0].arrays
    array = next(a for a in arrays if a.name == "tile")
    found = declarator(text, array)
    if found is None:
        return None
    start = text.index(declaration)
    edited = applied(text, [found.grown(axis, extra, "k.cu")])
    return edited[start : start + len(declaration) + len(edited) - len(text)]


@pytest.mark.parametrize(
    ("extent", "expected"),
    [
        ("32", "33"),
        ("N", "N + 1"),
        ("N + 1", "N + 2"),
        ("N+3", "N+4"),
        ("4 * N", "4 * N + 1"),
        ("N - 1", "N - 1 + 1"),
        ("1 << 5", "(1 << 5) + 1"),
        ("N > 2 ? 32 : 64", "(N > 2 ? 32 : 64) + 1"),
        ("(N + 1)", "(N + 1) + 1"),
        ("0x20", "0x20 + 1"),
        ("32u", "32u + 1"),
        ("N /* columns */", "N + 1 /* columns */"),
    ],
)
def test_an_extent_grows_as_it_is_spelled(extent, expected):
    got = grown(f"__shared__ float tile[32][{extent}];", 1, 1, "#define N 32\n")
    assert got == f"__shared__ float tile[32][{expected}];"


def test_only_the_array_and_the_extent_that_are_meant_change():
    declaration = "__shared__ float a[32][32], tile[8]\n   [ 32 ]\n   [32], b[32][32];"
    assert grown(declaration, 1, 4) == declaration.replace("[ 32 ]", "[ 36 ]")
    assert grown(declaration, 2, 1) == declaration.replace("[32], b", "[33], b")


def test_what_a_macro_makes_is_not_rewritten():
    for define, declaration in (
        ("#define DECLARE __shared__ float tile[32][32]\n", "DECLARE;"),
        ("#define EXTENTS [32][32]\n", "__shared__ float tile EXTENTS;"),
        ("#define NAME tile\n", "__shared__ float NAME[32][32];"),
    ):
        assert grown(declaration, 1, 1, define) is None, define
    argument = "#define SHARED(x) __shared__ x\n"
    assert grown("SHARED(float tile[32][32]);", 1, 1, argument) == "SHARED(float tile[32][33]);"


def named(body: str, before: str = "") -> Mentions | None:
    text = kernel("__shared__ float tile[32][32];", body, before=before)
    array = facts_of(text).kernels[0].arrays[0]
    found = declarator(text, array)
    assert found is not None
    return mentions(found, "k.cu")


def test_full_subscripts_are_typed():
    for body in (
        USE,
        "tile[0][threadIdx.x] = sizeof(tile) + tile[1][tile[0][0] > 0];",
        "S s; s.tile = 1; tile[threadIdx.x][0] = s.tile;",
        "AT(threadIdx.x, 0) = 1;",
    ):
        before = "struct S { int tile; };\n#define AT(i, j) \\\n  tile[i][j]\n"
        found = named(body, before)
        assert found is not None and found.is_typed, body


def test_other_uses_are_not():
    for body in (
        f"float *p = tile[0]; p[threadIdx.x] = 1; {USE}",
        f"float *p = (float *)tile; p[threadIdx.x] = 1; {USE}",
        f"float (&row)[32] = tile[1]; row[threadIdx.x] = 1; {USE}",
        f"__shared__ float *q; q = *tile; {USE}",
    ):
        assert named(body) is None, body
    assert named(f"FLAT(3); {USE}", "#define FLAT(i) (&tile[0][0])[i] = 1\n") is None


def test_addresses_are_kept_apart():
    found = named(f"float *p = &tile[0][0]; p[threadIdx.x] = 1; {USE}")
    assert found is not None and not found.is_typed
    assert [(s.line, s.column, s.end_column) for s in found.pointers] == [(3, 15, 19)]
    found = named(f"unsigned p = __cvta_generic_to_shared(&tile[0][0]); {USE}")
    assert found == Mentions((), is_converted=True)
    assert not found.is_typed
