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


WRITTEN = """
struct Written {{ {members} }};
__global__ void k(float *o, const int *p) {{
  __shared__ Written s[256]; int t = threadIdx.x; {stores} __syncthreads();
  o[t] = ((float *)s)[t ^ 1]; o[t] += {read};
}}
void f(float *o) {{ k<<<1, 128>>>(o, 0); }}
"""


@pytest.mark.parametrize(
    ("members", "stored", "instructions"),
    [
        ("short a, b; int c;", "abc", "STS.64"),
        ("int a; short b, c;", "abc", "STS.64"),
        ("char a, b; short c;", "abc", "STS"),
        ("char a, b; short c; float d;", "abcd", "STS STS"),
        ("char a, b, c, d; int e;", "abcde", "STS.64"),
        ("char a, b, c, d; short e, f;", "abcdef", "STS.64"),
        ("float a; uchar4 b;", ("a", "b.x", "b.y", "b.z", "b.w"), "STS.64"),
        ("float a, b; short c, d; int e;", "abcde", "STS.128"),
        ("float a; short b, c; float d; char e, f, g, h;", "hgfedcba", "STS.128"),
        ("short a, b, c, d;", "abcd", "STS.64"),
        ("short a, b;", "ab", "STS"),
        ("char a, b; float c;", "abc", "STS.U16 STS"),
        ("char a; short b; int c;", "abc", "STS.U8 STS.U16 STS"),
    ],
)
def test_members_that_are_stored_become_words_and_these_are_fused(members, stored, instructions):
    """nvcc 13.5.37, sm_90, -O3. LLVM makes words, and pairs of bytes, which ptxas fuses."""
    stores = " ".join(f"s[t].{member} = p[t + {i}];" for i, member in enumerate(stored))
    found = accesses_of(WRITTEN.format(members=members, stores=stores, read="0"))
    made = [a for a in found if a.kind is AccessKind.STORE and a.instructions]
    widths = {"STS.128": 16, "STS.64": 8, "STS": 4, "STS.U16": 2, "STS.U8": 1}
    expected = sorted(widths[each] for each in instructions.split())
    assert sorted(a.width_bytes for a in made for _ in range(a.instructions // 4)) == expected


@pytest.mark.parametrize(
    ("members", "read", "instructions", "width"),
    [
        ("short a, b; int c;", "abc", 1, 8),
        ("char a, b, c, d; short e; short f; float g, h;", "abcdefgh", 1, 16),
        ("short a, b; float c, d, e;", "abcde", 1, 16),
        ("float a; uchar4 b;", ("a", "b.x", "b.y", "b.z", "b.w"), 1, 8),
        ("short a[4]; float x, y;", ("a[0]", "a[1]", "a[2]", "a[3]", "x", "y"), 1, 16),
        ("char a, b; short c; float d;", "abcd", 3, 4),
    ],
)
def test_members_that_are_read_become_words_and_these_are_fused(members, read, instructions, width):
    """nvcc 13.5.37, sm_90, -O3. Whether a value of two bytes is extended is no matter to a pair."""
    sum_of = " + ".join(f"s[t].{member}" for member in read)
    found = accesses_of(WRITTEN.format(members=members, stores="", read=sum_of))
    loads = [a for a in found if a.kind is AccessKind.LOAD and a.width_bytes and a.instructions]
    assert sum(a.instructions for a in loads[1:]) == 4 * instructions
    assert max(a.width_bytes for a in loads[1:]) == width


@pytest.mark.parametrize(
    ("members", "align", "read", "loads"),
    [
        ("float2 a; float b; char c;", 8, ("b", "c"), [8]),
        ("float2 a; float b; char c;", 8, ("a.x", "a.y", "b", "c"), [16]),
        ("float2 a; float b; char c;", 8, ("c",), [1]),
        ("char a; float2 b;", 16, ("a", "b.x", "b.y"), [16]),
        ("int a, b;", 16, ("a", "b"), [8]),
        ("short a, b; int c;", 8, ("a", "c"), [8]),
        ("short a, b; int c;", 8, ("b",), [2]),
        ("float2 a; float b; int c; short d, e; char f;", 8, ("b", "e", "f"), [4, 8]),
        ("float2 a; float b; int c; short d, e; char f;", 8, ("a.x", "a.y", "d"), [2, 8]),
        ("float a; half b; char c; float d;", 8, ("a", "b"), [4, 2]),
        ("float a; short b, c; double d;", 16, ("a", "b"), [8]),
        ("float a; short b, c; double d;", 16, ("a", "b", "d"), [8, 8]),
    ],
)
def test_members_of_an_aligned_class_are_loaded_as_words(members, align, read, loads):
    """nvcc 13.5.37, sm_90, -O3: a word that stays alone is narrowed to the one member read of it."""
    classes = f"struct __align__({align}) Wide {{ {members} }};"
    sum_of = " + ".join(f"v.{member}" for member in read)
    found = accesses_of(classes + KERNEL.format(name="Wide", read=sum_of))
    (load,) = (a for a in found if a.kind is AccessKind.LOAD)
    assert (load.instructions, load.width_bytes) == (4 * len(loads), max(loads))
