"""Where members of records lie, as g++ 12 lays them out for x86-64, which nvcc follows."""

import pytest
from figures import facts_in, lanes

ENUMS = """
#include <cstdint>
enum class E1 : uint8_t { A, B };
enum E2 : short { A2 };
enum class E8 : unsigned long long { A };
enum class E4 { A };
struct Tail { Tail() {} int x; char y; };
struct Plain { int x; char y; };
"""


def _bytes(text: str, name: str, place: str) -> int | None:
    """Returns where a member of the second of two records lies; the size for no place."""
    body = f"p[threadIdx.x].{place}" if place else f"*(b + threadIdx.x * sizeof({name}))"
    kernel = f"""{ENUMS}{text}
    __global__ void k() {{
      __shared__ alignas(128) char b[4096];
      {name} *p = ({name} *)b;
      *(volatile char *)&{body} = 1;
    }}
    void go() {{ k<<<1, 2>>>(); }}"""
    (found,) = facts_in(a_cu=kernel).kernels
    (access,) = found.accesses
    if not access.certainty.is_decided:
        return None
    ((_, second, *_),) = lanes(access)
    return second


@pytest.mark.parametrize(
    ("record", "size", "last"),
    [
        ("struct S { E1 a; E1 b[3]; E2 z; };", 6, 4),
        ("struct S { E8 a; char z; };", 16, 8),
        ("struct S { E4 a; char z; };", 8, 4),
        ("struct S { enum class In : uint16_t { A }; In a; In z; };", 4, 2),
        ("struct S { wchar_t a; char16_t z; };", 8, 4),
        ("struct S { double d; short z[3]; };", 16, 8),
        ("struct __attribute__((packed)) S { char a; int z; };", 5, 1),
        ("struct S { char a; int z; } __attribute__((packed));", 5, 1),
        ("typedef struct { char a; int z; } __attribute__((packed, aligned(4))) S;", 8, 1),
        ("struct __attribute__((packed)) S { char a; alignas(8) int z; };", 16, 8),
        ("#pragma pack(push, 2)\nstruct S { char a; double z; };\n#pragma pack(pop)", 10, 2),
        ("#pragma pack(1)\n#pragma pack()\nstruct S { char a; double z; };", 16, 8),
        ("#pragma pack(2)\nstruct S { char a; struct { int b; double c; } z; };", 14, 2),
        ("struct __attribute__((aligned(16))) S { char a; char z; };", 16, 1),
        ("struct S { char a; float z[2] __attribute__((aligned(16))); };", 32, 16),
        ("struct alignas(32) S : Plain { char z; };", 32, 8),
        ("struct S : Plain { char z; };", 12, 8),
        ("struct S : Tail { char z; };", 8, 5),
        ("struct M : Tail { char m; }; struct S : M { char z; };", 8, 6),
        ("struct S { unsigned a : 7; unsigned b : 26; char z; };", 12, 8),
        ("struct S { int a : 3; long b : 40; bool z; };", 8, 6),
        ("struct S { unsigned char a : 7; unsigned char : 0; char z; };", 2, 1),
        ("struct S { int : 20; char z; };", 4, 3),
        ("struct S { char a; CUtensorMap m; char z; };", 256, 192),  # cuda.h of CUDA 13
        ("struct S { cute::TmaDescriptor m; char z; };", 192, 128),
        ("struct S { long : 49; char z; };", 8, 7),
        ("struct S { short a : 9; short b : 9; char z; };", 6, 4),
        ("union S { int a : 3; short z; };", 4, 0),
        ("struct S { virtual ~S() {} char z; };", 16, 8),
        ("struct S { char a; virtual int f(int) { return 1; } char z; };", 16, 9),
        (
            "struct B { virtual void f(); int b; }; struct S : B { virtual void g(); char z; };",
            16,
            12,
        ),
        (
            "struct A { int a; }; struct B { virtual void f(); char b; }; struct S : A, B { char z; };",
            24,
            16,
        ),
        ("struct A { int a; }; struct S : A { virtual void f(); char z; };", 16, 12),
        (
            "struct A { virtual void f(); char a; }; struct B { virtual void f(); char b; };"
            " struct S : A, B { char z; };",
            32,
            25,
        ),
        (
            "template <class T> struct B { virtual T f(); T b; }; struct S : B<short> { char z; };",
            16,
            10,
        ),
        (
            "struct B { void f() { struct I { virtual void g(); }; } char b; }; struct S : B { char z; };",
            2,
            1,
        ),
    ],
)
def test_sizes_and_offsets(record, size, last):
    assert _bytes(record, "S", "") == size
    assert _bytes(record, "S", "z[0]" if "z[" in record else _leaf(record)) == size + last


def _leaf(record: str) -> str:
    return "z.b" if "struct { int b" in record else "z"


@pytest.mark.parametrize(
    "record",
    [
        "struct S { unsigned a : 1; unsigned b : 1; unsigned c : 1; unsigned d : 1; bool e : 1; };",
        "struct S { char a; int z __attribute__((packed)); };",
        "struct __attribute__((packed)) S : Plain { double z; };",
        "struct S { Unread a; int z; };",
        "struct S : virtual Plain { char z; };",
    ],
)
def test_what_is_not_followed_has_no_size(record):
    assert _bytes(record, "S", "") is None


def test_an_access_of_a_bit_field_is_not_priced():
    """A store of one loads its word before (LDS, STS); a field of whole bytes is one of its own."""
    text = """
    struct F { unsigned a : 5; unsigned b : 11; int c; };
    __global__ void k(float *g) {
      __shared__ F s[64];
      s[threadIdx.x].a = 1;
      s[threadIdx.x].b = 1;
      s[threadIdx.x].c = 1;
      g[threadIdx.x] = s[threadIdx.x + 1].b;
    }
    void go(float *g) { k<<<1, 32>>>(g); }"""
    (found,) = facts_in(a_cu=text).kernels
    decided = [(a.span.line, a.wavefronts.mean) for a in found.accesses if a.certainty.is_decided]
    assert len(found.accesses) == 4
    assert decided == [(7, 2)]


def test_bit_fields_of_one_word_keep_their_values_apart():
    text = """
    struct F { unsigned a : 4; unsigned b : 4; unsigned c : 24; };
    __global__ void k(float *g) {
      __shared__ float s[1024];
      F f;
      f.a = 2;
      f.b = 8;
      g[threadIdx.x] = s[threadIdx.x * f.a];
    }
    void go(float *g) { k<<<1, 32>>>(g); }"""
    (found,) = facts_in(a_cu=text).kernels
    (access,) = found.accesses
    assert not access.certainty.is_decided or access.wavefronts.mean == 2


def test_pointers_to_functions_are_members():
    record = "struct S { char a; void (*f)(float *, int); int (*h[2])(int); char z; };"
    assert (_bytes(record, "S", ""), _bytes(record, "S", "z")) == (40, 40 + 32)


@pytest.mark.parametrize(("member", "wavefronts"), [("a", 4), ("b", 1), ("c", 8), ("d", 1)])
def test_bit_fields_keep_as_many_bits_as_they_have(member, wavefronts):
    """As g++ 12 computes: 12 of 3 bits is 4, 33 of 5 bits 1, 24 of a signed one of 5 bits -8."""
    text = f"""
    struct F {{ unsigned a : 3, b : 5; int c : 5; bool d : 1; }};
    __global__ void k() {{
      __shared__ float s[4096];
      F f{{12, 33, 24, 2}};
      s[1024 + (int)threadIdx.x * f.{member}] = 1;
    }}
    void go() {{ k<<<1, 32>>>(); }}"""
    (found,) = facts_in(a_cu=text).kernels
    assert [a.wavefronts.mean for a in found.accesses] == [wavefronts]
