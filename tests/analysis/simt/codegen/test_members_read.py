"""Loads of which few members are read, as the SASS of nvcc 13.0.88 (sm_90, -O3) has them."""

from __future__ import annotations

import pytest
from conftest import accesses_of
from figures import figure, kernel

BEFORE = "struct __align__(16) Vec { float x, y, z, w; }; struct Pt { float x, y, z; }; struct P { int r, c; };"


def loads(body):
    text = kernel(body, before=BEFORE, shared="__align__(16) float s[4096]")
    found = [figure(a) for a in accesses_of(text)]
    return [(w, n, spent) for kind, w, n, spent, _ in found if kind == "load" and n]


@pytest.mark.parametrize(
    ("kind", "read", "found"),
    [
        ("float4", "v.x", [(4, 1, 4)]),
        ("float4", "v.x + v.y", [(8, 1, 4)]),
        ("float4", "v.y + v.z", [(4, 2, 4)]),
        ("float4", "v.x + v.z", [(4, 2, 4)]),
        ("float4", "v.x + v.w", [(4, 2, 4)]),
        ("float4", "v.z + v.w", [(8, 1, 4)]),
        ("float4", "v.x + v.y + v.z", [(16, 1, 4)]),
        ("float4", "v.x + v.y + v.z + v.w", [(16, 1, 4)]),
        ("float2", "v.y", [(4, 1, 2)]),
        ("double2", "v.y", [(8, 1, 4)]),
        ("Vec", "v.y", [(4, 1, 4)]),
        ("Vec", "v.y + v.w", [(4, 2, 4)]),
        ("Pt", "v.y + v.x", [(4, 2, 1)]),
        ("float4", "((float *)&v)[1]", [(4, 1, 4)]),
        ("float4", "(&v.x)[1]", [(16, 1, 4)]),
    ],
)
@pytest.mark.parametrize(
    "form", ["{0} v = reinterpret_cast<{0} *>(s)[t]", "const auto v = *(({0} *)s + t)"]
)
def test_members(kind, read, found, form):
    assert loads(f"{form.format(kind)}; g[t] = {read};") == found


@pytest.mark.parametrize(
    "body",
    [
        "float4 v = ((float4 *)s)[t]; auto f = [&] { return v; }; g[t] = v.x + f().w;",
        "volatile float4 v = ((volatile float4 *)s)[t]; g[t] = v.x + v.y + v.z + v.w;",
    ],
)
def test_other_uses_leave_the_load_whole(body):
    assert sum(w * n for w, n, _ in loads(body)) == 16


@pytest.mark.parametrize(
    ("body", "index"),
    [
        (
            "auto split = [](int i) { return P{i / 8, i % 8}; }; auto [r, c] = split(t);",
            "r * 64 + c",
        ),
        ("const auto &[r, c] = P{t / 8, t % 8};", "r * 64 + c"),
        ("int p[2] = {t / 8, t % 8}; auto [r, c] = p;", "r * 64 + c"),
    ],
)
def test_structured_bindings(body, index):
    text = kernel(f"{body} s[{index}] = 1.f;", before=BEFORE)
    assert [figure(a) for a in accesses_of(text)] == [("store", 4, 1, 4, 1)]


def test_a_structured_binding_of_a_shared_vector_is_one_load():
    assert loads("auto [a, b] = ((float2 *)s)[t]; g[t] = a + b;") == [(8, 1, 2)]


CLASSES = """
struct Row { float a[8]; };
struct Eight { float x, y, z, w, p, q, r, u; };
struct Both { Eight one, two; };
__device__ float first(Eight v) { return v.x + v.y; }
__device__ float on_condition(Eight v, int n) { if (n > 3) return v.x + v.y; return 0; }
__device__ float of_array(Row v, int n) { if (n > 3) return v.a[0] + v.a[1]; return 0; }
"""


@pytest.mark.parametrize(
    "body",
    [
        "Row b = ((Row *)s)[t]; g[t] = b.a[0] + b.a[1];",
        "Row b = ((Row *)s)[t]; if (t * 3 < (int)g[0]) g[t] = b.a[0] + b.a[1];",
        "Both b = ((Both *)s)[t]; g[t] = b.one.x + b.one.y;",
        "g[t] = first(((Eight *)s)[t]);",
        "g[t] = on_condition(((Eight *)s)[t], (int)g[0]);",
        "g[t] = of_array(((Row *)s)[t], (int)g[0]);",
    ],
)
def test_elements_and_members_of_members_and_what_functions_read(body):
    """One LDS.64 each; an array in a class and a class that is passed were loaded whole."""
    text = kernel(body, before=CLASSES, shared="__align__(16) float s[4096]")
    found = [figure(a) for a in accesses_of(text)]
    assert [(w, n) for kind, w, n, *_ in found if kind == "load" and n] == [(8, 1)]


def test_ways_that_read_other_members_load_their_own():
    """An LDS.64 and an LDS, each in its way; or a LDS.128 in front of them."""
    body = "Eight b = ((Eight *)s)[t]; if (g[3] > 1) g[t] = b.x + b.y; else g[t] = b.w;"
    found = accesses_of(kernel(body, before=CLASSES, shared="__align__(16) float s[4096]"))
    assert [a.certainty.value for a in found if a.kind == "load"] == ["sampled"]
