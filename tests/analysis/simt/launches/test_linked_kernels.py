"""A launch of a kernel that another file defines: linked by the types of its parameters."""

from __future__ import annotations

import pytest
from figures import facts_in

BODY = "{ __shared__ float s[512]; s[threadIdx.x * 2] = n; }\n"


def blocks(**files: str) -> dict[str, set[int | None]]:
    """Returns the widths of the blocks that launches tell by file; None for guesses."""
    found: dict[str, set[int | None]] = {}
    for kernel in facts_in(**files).kernels:
        told = kernel.instance.block[0] if kernel.instance.place is not None else None
        found.setdefault(kernel.instance.span.path, set()).add(told)
    return found


@pytest.mark.parametrize(("declared", "defined", "is_linked"), [
    ("float *o, int n", "float *o, int n", True),
    ("float *, int", "float *o, const int n", True),
    ("float *o, int n", "float *__restrict__ o, int n", True),
    ("float o[], int n", "float *o, int n", True),
    ("real *o, int n", "float *o, int n", True),
    ("const real *o, int n", "float const *o, int n", True),
    ("fixed *o, int n", "const float *o, int n", True),
    ("fixed *o, int n", "float *o, int n", True),  # what an alias says is not compared
    ("unread_t *o, int n", "double *o, int n", True),
    ("P p, int n", "struct P p, int n", True),
    ("float *o, int n = 3", "float *o, int n", True),
    ("float *o, unsigned int", "float *o, unsigned n", True),
    ("float *o, int n", "const float *o, int n", False),
    ("const float *o, int n", "float *o, int n", False),
    ("float *o, int n", "float *const *o, int n", False),
    ("float *o, float n", "float *o, int n", False),
    ("float *o, int n", "float *o, int n, int m", False),
    ("real *o, int n", "double *o, int n", False),
    ("float *o, unsigned n", "float *o, int n", False),
    ("P p, int n", "struct Q p, int n", False),
])  # fmt: skip
def test_declarations_of_kernels(declared, defined, is_linked):
    types = (
        "typedef float real; typedef const float fixed; struct P { int a; }; struct Q { int a; };\n"
    )
    found = blocks(
        k_cu=f"{types}__global__ void k({defined}) {BODY}",
        main_cu=f"{types}extern __global__ void k({declared});\n"
        "void go() { auto given = 0; k<<<1, 96>>>(given, 3); }",
    )
    assert found == {"k.cu": {96} if is_linked else {None}}


def test_declarations_with_c_linkage_have_no_types():
    found = blocks(
        k_cu='extern "C" __global__ void k(const float *o, int n) ' + BODY,
        main_cu='extern "C" __global__ void k(float *o, int n);\nvoid go(float *o) { k<<<1, 96>>>(o, 3); }',
    )
    assert found == {"k.cu": {96}}


def test_a_launch_means_what_its_unit_defines():
    found = blocks(
        a_cuh="__global__ void k(float *o, int n) " + BODY,
        a_cu='#include "a.cuh"\nvoid go(float *o) { k<<<1, 96>>>(o, 3); }',
        b_cuh="__global__ void k(double *o, int n) " + BODY,
        b_cu='#include "b.cuh"\nvoid go(void *o) { k<<<1, 160>>>((double *)o, 3); }',
        c_cu="__global__ void k(float *o, int n, int m) "
        + BODY
        + "void go(float *o) { k<<<1, 224>>>(o, 3, 4); }",
    )
    assert found == {"a.cuh": {96}, "b.cuh": {160}, "c.cu": {224}}


def test_of_two_programs_each_has_the_launches_that_link():
    launch = "void go(float *o) {{ k<<<1, {}>>>(o, 3); }}"
    found = blocks(
        a_cu="__global__ void k(float *o, int n) " + BODY,
        b_cu="__global__ void k(const float *o, int n) " + BODY,
        one_cu="__global__ void k(float *, int);\n" + launch.format(96),
        two_cu="__global__ void k(const float *, int);\n" + launch.format(160),
    )
    assert found == {"a.cu": {96}, "b.cu": {160}}


@pytest.mark.parametrize(("defined", "is_linked"), [
    ("__global__ void in::a::k(float *o, int n)", True),
    ("namespace in { __global__ void a::k(float *o, int n)", True),
    ("namespace in { namespace a { __global__ void k(float *o, int n)", True),
    ("namespace in { using namespace b; __global__ void a::k(float *o, int n)", True),
    ("using namespace in; __global__ void a::k(float *o, int n)", True),
    ("__global__ void in::b::k(float *o, int n)", False),
    ("namespace in { namespace b { __global__ void k(float *o, int n)", False),
    ("namespace in { __global__ void k(float *o, int n)", False),
    ("__global__ void k(float *o, int n)", False),
])  # fmt: skip
def test_kernels_of_another_namespace(defined, is_linked):
    declared = "namespace in { namespace a { __global__ void k(float *, int); } namespace b { } }\n"
    braces = "}" * (defined.count("{"))
    found = blocks(
        k_cu=f"{declared}{defined} {BODY} {braces}",
        main_cu=declared + "void go(float *o) { in::a::k<<<1, 96>>>(o, 3); }",
    )
    assert found == {"k.cu": {96} if is_linked else {None}}


def test_which_of_two_declared_kernels_is_launched():
    both = "".join(f"namespace {n} {{ __global__ void k(float *, int); }}\n" for n in "ab")
    found = blocks(
        a_cu=f"{both}__global__ void a::k(float *o, int n) {BODY}",
        b_cu=f"{both}namespace b {{ __global__ void k(float *o, int n) {BODY} }}",
        main_cu=both + "void go(float *o) { a::k<<<1, 96>>>(o, 3); b::k<<<1, 32>>>(o, 3); }\n"
        "namespace b { void local(float *o) { k<<<1, 64>>>(o, 3); } }",
    )
    assert found == {"a.cu": {96}, "b.cu": {32, 64}}
