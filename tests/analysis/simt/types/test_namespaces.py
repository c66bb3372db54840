"""Names of several namespaces and classes: the one that is meant where the name stands."""

import pytest
from conftest import facts_of

DEFINED = """
namespace {name} {{
  struct C {{ float v[{n}]; static constexpr int size = {n}; }};
  using T = {type};
  constexpr int N = {n};
  __device__ int index(int t) {{ return {n} * t; }}
  template <class U> __global__ void k(float* o) {{
    __shared__ U s[32]; o[threadIdx.x] = s[threadIdx.x].v[0];
  }}
  __global__ void own(float* o) {{ __shared__ C s[32]; o[threadIdx.x] = s[threadIdx.x].v[0]; }}
  __global__ void number(float* o) {{
    __shared__ float s[32 * N]; o[threadIdx.x] = s[N * threadIdx.x];
  }}
  __global__ void alias(float* o) {{ __shared__ T s[32]; o[threadIdx.x] = s[threadIdx.x]; }}
  __global__ void call(float* o) {{ __shared__ float s[1024]; o[threadIdx.x] = s[index(threadIdx.x)]; }}
}}
"""
TWO = "".join(
    DEFINED.format(name=name, n=n, type=t)
    for name, n, t in (("a", 1, "float"), ("b", 32, "double"))
)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("{0}::own", [1, 32]),
        ("{0}::number", [1, 32]),
        ("{0}::alias", [1, 2]),
        ("{0}::call", [1, 32]),
        ("a::k<{0}::C>", [1, 32]),
    ],
)
def test_kernels_of_two_namespaces_are_two_kernels(kernel, expected):
    launches = " ".join(f"{kernel.format(name)}<<<1, 32>>>(o);" for name in "ab")
    facts = facts_of(f"{TWO} void f(float* o) {{ {launches} }}")
    launched = [k for k in facts.kernels if k.instance.origin]
    assert sorted(a.wavefronts.mean for k in launched for a in k.accesses) == expected


def test_a_specialization_beside_the_namespace_is_of_the_class_of_that_name():
    text = "namespace a { template <class T> struct W { T v[1]; }; }"
    text += "namespace b { template <class T> struct W { T v[2]; }; }"
    text += "template <> struct a::W<int> { int v[32]; };"
    text += "template <class P> __global__ void k(float* o) {"
    text += "__shared__ P s[32]; o[threadIdx.x] = s[threadIdx.x].v[0]; }"
    text += "void f(float* o) { k<a::W<int>><<<1, 32>>>(o); k<a::W<float>><<<1, 32>>>(o); "
    text += "k<b::W<float>><<<1, 32>>>(o); }"
    assert [k.accesses[0].wavefronts.mean for k in facts_of(text).kernels] == [32, 1, 2]


NAMES = """
namespace a {
  constexpr int P = 32; enum E { X = 32 }; enum class G { Y = 32 }; constexpr int list[2] = {32, 32};
  struct R { float v[32]; }; template <class T> struct Q { static constexpr int N = 32; };
  inline namespace v1 { constexpr int I = 32; } namespace d { constexpr int Z = 32; }
  template <int D> __device__ int index(int t) { return 32 * D * t; }
}
namespace b {
  constexpr int P = 33; enum E { X = 33 }; enum class G { Y = 33 }; constexpr int list[2] = {33, 33};
  struct R { float v[33]; }; template <class T> struct Q { static constexpr int N = 33; };
  inline namespace v2 { constexpr int I = 33; } namespace d { constexpr int Z = 33; }
  template <int D> __device__ int index(int t) { return 33 * D * t; }
}
namespace MACRO c { constexpr int P = 32; }
namespace other = b;
struct A { enum { N = 32 }; enum class F { Q = 32 }; static const int M = 32; };
struct B { enum { N = 33 }; enum class F { Q = 33 }; static const int M = 33; };
using Alias = b::G;
"""


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("t * {0}::P", [32, 1]),
        ("t * {0}::X", [32, 1]),
        ("t * {0}::E::X", [32, 1]),
        ("t * (int){0}::G::Y", [32, 1]),
        ("t * {0}::list[1]", [32, 1]),
        ("t * {0}::Q<int>::N", [32, 1]),
        ("t * (int)(sizeof({0}::R) / 4)", [32, 1]),
        ("t * {0}::I", [32, 1]),
        ("t * {0}::d::Z", [32, 1]),
        ("{0}::index<1>(t)", [32, 1]),
        ("t * {1}::N", [32, 1]),
        ("t * {1}::M", [32, 1]),
        ("t * (int){1}::F::Q", [32, 1]),
    ],
)
def test_a_qualified_name_means_that_of_its_scope(index, expected):
    body = "__shared__ float s[33 * 32]; int t = threadIdx.x; s[{}] = o[t]; o[t] = s[t];"
    kernels = "".join(
        f"__global__ void k_{x}(float *o) {{ {body.format(index.format(x, y))} }}"
        for x, y in zip("ab", "AB", strict=True)
    )
    facts = facts_of(NAMES + kernels)
    assert [k.accesses[0].wavefronts.mean for k in facts.kernels] == expected


@pytest.mark.parametrize(
    ("before", "index", "expected"),
    [
        ("", "t * other::P", 1),
        ("", "t * other::X", 1),
        ("", "t * c::P", 32),
        ("using namespace b;", "t * P", 1),
        ("using namespace a;", "t * P", 32),
        ("using b::P;", "t * P", 1),
        ("using b::d::Z;", "t * Z", 1),
        ("enum { P = 33 };", "t * P", 1),
    ],
)
def test_directives_make_names_visible(before, index, expected):
    text = f"{NAMES} __global__ void k(float *o) {{ {before} __shared__ float s[33 * 32]; "
    text += f"int t = threadIdx.x; s[{index}] = o[t]; o[t] = s[t]; }}"
    (kernel,) = facts_of(text).kernels
    assert kernel.accesses[0].wavefronts.mean == expected


def test_an_alias_of_one_of_two_enums_is_not_guessed():
    text = f"{NAMES} __global__ void k(float *o) {{ __shared__ float s[33 * 32]; "
    text += "s[threadIdx.x * (int)Alias::Y] = o[0]; o[1] = s[0]; }"
    (kernel,) = facts_of(text).kernels
    assert kernel.accesses[0].wavefronts is None


def test_enumerators_that_are_equal_in_all_enums_are_known_by_an_alias():
    text = "namespace a { enum class G { X = 32, Y }; } namespace b { enum class H { X = 32, Y }; }"
    text += "using Alias = b::H; __global__ void k(float *o) { __shared__ float s[33 * 32];"
    text += " s[threadIdx.x * (int)Alias::Y] = o[0]; o[1] = s[0]; }"
    (kernel,) = facts_of(text).kernels
    assert kernel.accesses[0].wavefronts.mean == 1


def test_launches_are_of_the_kernel_of_their_namespace():
    one = (
        "namespace {0} {{ template <int N> __global__ void k(float *o) {{ __shared__ float s[4096];"
    )
    one += " s[threadIdx.x * N] = o[0]; o[1] = s[0]; }} void run(float *o) {{ {1} }} }}"
    text = one.format("a", "k<2><<<1, 64>>>(o);") + one.format("b", "k<4><<<1, 128>>>(o);")
    text += "int main() { float *o; a::run(o); b::run(o); a::k<1><<<1, 96>>>(o); }"
    found = sorted(
        (k.accesses[0].span.column, k.instance.block, k.accesses[0].wavefronts.mean)
        for k in facts_of(text).kernels
    )
    first = text.index("s[threadIdx.x * N]") + 1
    second = text.rindex("s[threadIdx.x * N]") + 1
    assert found == [
        (first, (64, 1, 1), 2),
        (first, (96, 1, 1), 1),
        (second, (128, 1, 1), 4),
    ]


def test_a_specialization_is_of_the_template_that_its_qualifiers_name():
    one = "namespace {0} {{ template <class T> struct P {{ static constexpr int v = {1}; }}; }}\n"
    text = one.format("a", 32) + one.format("b", 33)
    text += "template <> struct a::P<int> { static constexpr int v = 8; };\n"
    text += "__global__ void k(float *o) { __shared__ float s[33 * 32]; int t = threadIdx.x;\n"
    text += "s[t * a::P<int>::v] = 0;\ns[t * b::P<int>::v] = 1;\ns[t * a::P<float>::v] = 2; }"
    (kernel,) = facts_of(text).kernels
    assert [a.wavefronts.mean for a in kernel.accesses] == [8, 1, 32]


def strides_of(text):
    """The wavefronts of the stores of a kernel to every so many words, in order."""
    return [a.wavefronts.mean for k in facts_of(text).kernels for a in k.accesses]


OUTER = """constexpr int P = 2; struct R { int v[2]; static constexpr int N = 8; }; using T = short;
enum E { X = 2 }; __device__ int g() { return 2; }
namespace b { constexpr int P = 4; struct R { int v[4]; static constexpr int N = 16; };
using T = double; enum E { X = 4 }; __device__ int g() { return 4; }
template <int N> __global__ void k(float *o) { __shared__ int s[4096]; constexpr int M = 1;"""


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("::P", 2), ("b::P", 4), ("P", 4), ("M + ::P - 1", 2), ("sizeof(::R)", 8),
        ("sizeof(R)", 16), ("::R::N", 8), ("R::N", 16), ("sizeof(::T)", 2), ("::X", 2),
        ("::E::X", 2), ("X", 4), ("::g()", 2), ("g()", 4), ("(int)::P", 2), ("::b::P", 4),
    ],
)  # fmt: skip
def test_colons_in_front_mean_the_outermost_scope(index, expected):
    text = f"{OUTER} s[({index}) * threadIdx.x] = 1; }} }}"
    text += "void f(float *o) { b::k<32><<<1, 32>>>(o); }"
    assert strides_of(text) == [expected]


def test_colons_in_front_pass_template_parameters_and_local_names():
    text = "constexpr int N = 2, M = 4; template <int N> __global__ void k(float *o) {"
    text += "__shared__ int s[4096]; int M = 16; s[::N * threadIdx.x] = 1; __syncthreads();"
    text += "s[(::M) * threadIdx.x] = 2; } void f(float *o) { k<32><<<1, 32>>>(o); }"
    assert strides_of(text) == [2, 4]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("fa()", 2), ("fb()", 4), ("za()", 2), ("zb()", 4), ("ua()", 2), ("ub()", 4),
        ("n1::f()", 2), ("n2::f()", 4), ("in_turn()", 8),
    ],
)  # fmt: skip
def test_directives_hold_in_their_scope(index, expected):
    text = """namespace a { constexpr int P = 2; } namespace b { constexpr int P = 4; }
    namespace n1 { using namespace a; __device__ int f() { return P; } }
    namespace n2 { using namespace b; __device__ int f() { return P; } }
    __device__ int fa() { using namespace a; return P; }
    __device__ int fb() { using namespace b; return P; }
    __device__ int za() { namespace z = a; return z::P; }
    __device__ int zb() { namespace z = b; return z::P; }
    __device__ int ua() { using a::P; return P; }
    __device__ int ub() { using b::P; return P; }
    __device__ int in_turn() { int n = 0; { using namespace a; n += P; }
      { using namespace b; n += P * 4; } { using a::P; n += P * 3; } return n; }
    """
    text += f"__global__ void k() {{ __shared__ int s[4096]; s[({index}) * threadIdx.x] = 1; }}"
    text += "void run() { k<<<1, 32>>>(); }"
    assert strides_of(text) == [expected]
