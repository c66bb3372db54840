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
        "float4 v = ((float4 *)s)[t]; float4 w = v; g[t] = w.x;",
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
