"""Loads of classes with members of less than a word: SASS of nvcc 13.0.88, sm_90, -O3."""

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

CLASSES = """
struct Shorts { short a, b, c, d; };
struct __align__(8) Aligned { short a, b, c, d; };
struct Mixed { short a, b; int c; };
struct Bytes { unsigned char a, b, c, d; };
struct Pair { unsigned char a, b; short c; };
struct Three { int a; char b, c, d; double e; };
struct Tail { int a; unsigned char b, c; };
"""
KERNEL = """
__global__ void k(float *o) {{
  __shared__ {name} s[512]; int t = threadIdx.x; s[t] = (({name} *)o)[t]; __syncthreads();
  {name} v = s[3 * t]; o[t] = {read};
}}
void f(float *o) {{ k<<<1, 128>>>(o); }}
"""


@pytest.mark.parametrize(
    ("name", "members", "widths"),
    [
        ("short4", "x", [2]),
        ("short4", "xy", [4]),
        ("short4", "zw", [4]),
        ("short4", "yz", [8]),
        ("short4", "xyz", [8]),
        ("Aligned", "ad", [8]),
        ("uchar4", "y", [1]),
        ("uchar4", "xy", [4]),
        ("char2", "xy", [2]),
        ("Mixed", "a", [2]),
        ("Mixed", "c", [4]),
        ("Mixed", "ab", [4]),
        ("Mixed", "ac", [2, 4]),
        ("Mixed", "bc", [2, 4]),
        ("Mixed", "abc", [8]),
        ("Tail", "ab", [4, 1]),
        ("Tail", "abc", [4, 2]),
        ("Tail", "bc", [2]),
        ("Pair", "abc", [2, 2]),
        ("Pair", "ac", [1, 2]),
        ("Three", "bcde", [4, 8]),
        ("Bytes", "abcd", [1, 1, 1, 1]),
        ("Shorts", "b", [2]),
        ("Shorts", "ac", [2, 2]),
    ],
)
def test_members_that_are_read_are_loaded(name, members, widths):
    read = " + ".join(f"v.{member}" for member in members)
    found = accesses_of(CLASSES + KERNEL.format(name=name, read=read))
    (load,) = (a for a in found if a.kind is AccessKind.LOAD)
    assert (load.instructions, load.width_bytes) == (4 * len(widths), max(widths))


def test_one_member_of_a_class_of_24_bytes_is_loaded_with_its_own_conflicts():
    """Two bytes in every 24: lanes 16 apart meet; the whole would be free of conflicts."""
    found = accesses_of(CLASSES + KERNEL.format(name="Shorts", read="v.b"))
    (load,) = (a for a in found if a.kind is AccessKind.LOAD)
    assert (load.wavefronts.mean, load.ideal.mean) == (2, 1)
