"""Classes that inherit a class on several ways: each is looked through once."""

import pytest
from conftest import accesses_of, facts_of

from smemlint.analysis.simt.domain.ctypes import I32, Member, RecordType


def diamonds(levels, first):
    """`struct L : S {}; struct R : S {}; struct Next : L, R {}`: 2**levels ways to the first."""
    return f"struct S0 {{ {first} }};" + "".join(
        f"struct L{i} : S{i} {{}}; struct R{i} : S{i} {{}}; struct S{i + 1} : L{i}, R{i} {{}};"
        for i in range(levels)
    )


@pytest.mark.parametrize(
    ("levels", "first", "stride", "wavefronts"),
    [
        (0, "int first = 4;", "p.first", 4),
        (3, "int first = 4;", "p.first", 4),
        (24, "int first;", "8", 8),
    ],
)
def test_default_values_of_bases(levels, first, stride, wavefronts):
    body = f"__shared__ float s[256]; S{levels} p; o[0] = s[threadIdx.x * {stride}];"
    launch = "void run(float *o) { k<<<1, 32>>>(o); }"
    kernel = f"__global__ void k(float *o) {{ {body} }}\n{launch}"
    (access,) = accesses_of(f"{diamonds(levels, first)}\n{kernel}")
    assert access.wavefronts.mean == wavefronts


def test_members_and_bases_that_are_not_there():
    kind = RecordType("S", (Member("first", I32, 0),), 4, 4)
    other = RecordType("Other", (), 1, 1)
    for level in range(60):
        sides = [RecordType(f"{n}{level}", (Member("", kind, 0),), 4, 4) for n in "LR"]
        kind = RecordType(f"S{level}", (Member("", sides[0], 0), Member("", sides[1], 4)), 8, 4)
    assert kind.member("nothing") is None
    assert kind.base_offset(other) is None
    assert kind.member("first") == Member("first", I32, 0)
    assert kind.base_offset(sides[1]) == 4


@pytest.mark.parametrize("base", ["Unread", "unread::Base<float>"])
def test_behind_a_base_that_was_not_read_no_member_has_a_known_place(base):
    (kernel,) = facts_of(f"""
struct Row : {base} {{ float v[32]; }};
__global__ void k() {{ __shared__ Row s[32]; s[threadIdx.x].v[0] = 1; }}
void go() {{ k<<<1, 32>>>(); }}
""").kernels
    assert [access.wavefronts for access in kernel.accesses] == [None]
