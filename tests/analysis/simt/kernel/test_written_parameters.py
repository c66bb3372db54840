"""Structs that a kernel is given by value and writes: what it writes is what it reads."""

import pytest
from conftest import facts_of, ways_of

STRUCTS = """
struct View { float *s; int stride; int more[4]; __device__ void use(void *p) { s = (float *)p; } };
struct Nested { int n; View view; };
"""


def ways(body: str, kind: str = "View", host: str = "") -> list[float]:
    """Returns the ways of the stores of a kernel that has a struct `p`."""
    kernel = f"__global__ void k({kind} p) {{ __shared__ float s[4096]; {body} }}"
    launch = f"void h({kind} p) {{ {host} k<<<1, 64>>>(p); }}"
    return [w for _, kind, w in ways_of(f"{STRUCTS}{kernel}{launch}") if kind == "store"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p.s = s; p.s[threadIdx.x * 2] = 1;", [2]),
        ("p.use(s); p.s[threadIdx.x * 4] = 1;", [4]),
        ("p.stride = 8; s[threadIdx.x * p.stride] = 1;", [8]),
        ("p.more[2] = 16; s[threadIdx.x * p.more[2]] = 1;", [16]),
        ("View q = p; q.stride = 2; s[threadIdx.x * q.stride] = 1;", [2]),
    ],
)
def test_what_is_written_is_read(body, expected):
    assert ways(body) == expected
    if not body.startswith("View"):
        assert ways(body.replace("p.", "p.view."), "Nested") == expected


def test_a_member_that_a_launch_gives_changes_in_a_loop():
    body = "for (int i = 0; i < 3; i++) { s[threadIdx.x * p.stride] = 1; p.stride *= 2; }"
    assert ways(body, host="p.stride = 1;") == [2.333]  # 1, 2 and 4 ways


def test_what_is_not_written_is_still_the_arguments():
    assert ways("p.s = s; s[threadIdx.x * p.stride] = 1;", host="p.stride = 4;") == [4]


@pytest.mark.parametrize(
    "kernel",
    [
        "struct A { lib::Unread u; float *s; }; __global__ void k(A a) { __shared__ float s[64];"
        " a.s = s; a.s[threadIdx.x] = 1; }",
        "__global__ void k() { lib::Unread a; __shared__ float s[64]; a.s = s; a.s[0] = 1; }",
        "__global__ void k() { __shared__ lib::Unread s[64]; s[threadIdx.x].a = 1; }",
        "__global__ void k(int *o) { __shared__ lib::Unread s[64]; o[0] = s[threadIdx.x].a; }",
        "__global__ void k() { extern __shared__ char m[]; auto *p = (lib::Unread *)m; p->a = 1; }",
        "__global__ void k() { __shared__ lib::Unread s[64]; s[threadIdx.x].set(1); }",
    ],
)
def test_shared_memory_of_classes_that_were_not_read_is_said(kernel):
    launch = "void h() { k<<<1, 64>>>({}); }" if "A a" in kernel else "void h() { k<<<1, 64>>>(); }"
    facts = facts_of(f"#include <lib/unread.h>\n{kernel}\n{launch}")
    undecided = [a for k in facts.kernels for a in k.accesses if a.wavefronts is None]
    assert undecided or any(k.not_analysed for k in facts.kernels)
