"""Members that are references, initialized without a constructor: they name what they are given."""

import pytest
from conftest import ways_of

TYPES = """
struct Both { unsigned &n; unsigned *s; };
struct One { unsigned &n; };
struct Constant { const float &c; unsigned *s; };
"""


def rows(body: str) -> list[tuple[str, float]]:
    """Returns kind and ways of every access of a kernel."""
    kernel = f"__global__ void k() {{ __shared__ unsigned n[1024], s[1024]; {body} }}"
    host = "void h() { k<<<1, 128>>>(); }"
    return [(kind, ways) for _, kind, ways in ways_of(f"{TYPES}\n{kernel}\n{host}")]


@pytest.mark.parametrize(
    "made",
    [
        "Both p{n[threadIdx.x * 4], s};",
        "Both p = {n[threadIdx.x * 4], s};",
        "auto p = Both{n[threadIdx.x * 4], s};",
        "Both p{.n = n[threadIdx.x * 4], .s = s};",
        "auto p = Both{.n = n[threadIdx.x * 4], .s = s};",
        "auto p = (Both){.n = n[threadIdx.x * 4], .s = s};",
    ],
)
def test_initializing_a_reference_reads_nothing(made):
    assert rows(f"{made} p.s[threadIdx.x * 2] = 1;") == [("store", 2)]
    assert rows(f"{made} p.n = 1;") == [("store", 4)]


def test_the_only_member_may_be_a_reference():
    assert rows("One p{n[threadIdx.x * 2]}; p.n = 1;") == [("store", 2)]
    assert rows("One p{n[threadIdx.x * 2]}; One q{p}; q.n = 1;") == [("store", 2)]


def test_a_reference_to_a_value_has_a_temporary():
    assert rows("Constant p{2.f, s}; p.s[threadIdx.x * 2] = p.c;") == [("store", 2)]


@pytest.mark.parametrize("list_", [".s = s, .stride = 4", ".s{s}, .stride{4}"])
def test_designated_members_of_an_operand_are_followed(list_):
    text = f"""
    template <class T> struct P {{ T *s; int stride; int offset = 3; }};
    template <class T> __device__ void f(P<T> p) {{ p.s[threadIdx.x * p.stride + p.offset] = 1; }}
    __global__ void k() {{ __shared__ float s[1024]; f(P<float>{{{list_}}}); }}
    void h() {{ k<<<1, 128>>>(); }}"""
    assert {ways for _, _, ways in ways_of(text)} == {4}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("L l; l = {.step = 4, .n = 1}; s[threadIdx.x * l.step] = 1;", ("store", 4)),
        ("s[threadIdx.x * made(2).step] = 1;", ("store", 2)),
        ("g[0] = {.step = 4, .n = s[threadIdx.x * 8]};", ("load", 8)),
        ("ls[threadIdx.x] = {.step = 4, .n = 1};", ("store", 1)),  # two words a lane, one STS.64
    ],
)
def test_lists_with_designators_are_assigned_and_returned(body, expected):
    text = f"""
    struct L {{ int step; int n; }};
    __device__ L made(int i) {{ return {{.step = i, .n = 3}}; }}
    __global__ void k(L *g) {{ __shared__ int s[1024]; __shared__ L ls[128]; {body} }}
    void h(L *g) {{ k<<<1, 128>>>(g); }}"""
    assert [(kind, ways) for _, kind, ways in ways_of(text)] == [expected]
