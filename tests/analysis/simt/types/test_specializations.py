"""Which explicit specialization of a function a call means; strides that g++ 12 computes, too."""

import pytest
from conftest import accesses_of, facts_of
from figures import facts_in
from strides import access_of

from smemlint.facts import Certainty

DEFINITIONS = """
template <int Bytes> __device__ int bytes();  // declared only
template <> __device__ int bytes<16>() { return 16; }
template <> __device__ int bytes<4>() { return 4; }
enum class Mode { A, B };
template <Mode m> __device__ int mode();
template <> __device__ int mode<Mode::A>() { return 1; }
template <> __device__ int mode<Mode::B>() { return 2; }
template <typename T> __device__ int of(T *p) { return 1; }
template <> __device__ int of(float *p) { return 2; }
template <> __device__ int of<double>(double *p) { return 8; }
template <typename T, int N> __device__ int both(T x) { return 1; }
template <> __device__ int both<float, 4>(float x) { return 8; }
template <> __device__ int both<float, 2>(float x) { return 16; }
constexpr int two = 2;
"""


@pytest.mark.parametrize(
    ("call", "stride"),
    [
        ("bytes<sizeof(int)>()", 4),
        ("bytes<two * 8>()", 16),
        ("mode<Mode::B>()", 2),
        ("of((int *)g)", 1),
        ("of(g)", 2),
        ("of((double *)g)", 8),
        ("both<float, sizeof(short)>(g[0])", 16),
        ("both<float, 8>(g[0])", 1),
        ("both<int, 4>(3)", 1),
    ],
)
def test_the_values_of_template_arguments_choose(call, stride):
    access = access_of(DEFINITIONS, call)
    assert (access.certainty, access.ways) == (Certainty.ASSUMED, stride)


@pytest.mark.parametrize("argument", ["8", "N", "UNREAD"])
def test_no_specialization_is_taken_at_random(argument):
    text = f"""{DEFINITIONS}
    template <int N> __global__ void k(float *g) {{
      __shared__ int s[1024];
      s[bytes<{argument}>() * threadIdx.x] = 1;
    }}"""
    (access,) = accesses_of(text)
    assert access.certainty is Certainty.UNKNOWN


@pytest.mark.parametrize(("argument", "bytes_"), [("float", 4), ("half", 2)])
@pytest.mark.parametrize("before", ["template <typename T> struct Traits;", ""])
def test_a_class_template_that_is_only_declared_is_chosen_by_a_parameter(argument, bytes_, before):
    text = f"""{before}
    template <> struct Traits<float> {{ using Ordered = unsigned; }};
    template <> struct Traits<half> {{ using Ordered = unsigned short; }};
    template <typename T> __device__ void put(typename T::Ordered *s) {{ s[threadIdx.x * 2] = 1; }}
    template <typename D> __global__ void k(D *g) {{
      extern __shared__ char raw[];
      put<Traits<D>>(reinterpret_cast<typename Traits<D>::Ordered *>(raw));
    }}
    void run({argument} *g) {{ k<<<1, 32, 4096>>>(g); }}"""
    (access,) = accesses_of(text)
    assert (access.width_bytes, access.wavefronts.mean) == (bytes_, bytes_ / 2)


SHARED = """
template <typename T> struct Shared { __device__ T *get() { return nullptr; } };
template <> struct Shared<float> {
  __device__ float *get() { extern __shared__ float floats[]; return floats; }
};
template <typename T> __global__ void k(T *g) {
  Shared<T> shared;
  T *s = shared.get();
  s[2 * threadIdx.x] = g[threadIdx.x];
}
template <typename T> void run(T *g) { k<T><<<1, 32, 256>>>(g); }
"""


def test_memory_of_a_specialization_that_may_be_meant_is_not_lost_without_a_word():
    facts = facts_in(a_cu=SHARED)
    (kernel,) = facts.kernels
    assert not kernel.accesses
    assert [n.span.line for n in kernel.not_analysed] == [8]


def test_memory_of_a_specialization_is_found_where_the_argument_is_known():
    kernels = facts_in(a_cu=SHARED + "void go(float *g, int *h) { run(g); run(h); }").kernels
    assert [a.ways for k in kernels for a in k.accesses] == [2]
    assert not any(k.not_analysed for k in kernels)


@pytest.mark.parametrize("of", ["V<Y, int>::n", "V<Y, int>::Of::n", "V<T::Y, int>::Of::n"])
def test_an_enumerator_that_a_variadic_template_is_given_is_no_type(of):
    """Its specialization knew that of its parameter `e` it is given `int`, the type of the enum."""
    text = """enum T { X, Y };
template <T e> struct Of_ { static constexpr int n = e == Y ? 2 : 8; };
template <T e, class... Ts> struct V {};
template <T e> struct V<e, int> {
  using Of = Of_<e>;
  static constexpr int n = e == Y ? 2 : 8;
};
template <int N> __global__ void k() { __shared__ float s[256]; s[N * threadIdx.x] = 0; }
void go() { k<OF><<<1, 32>>>(); }
"""
    (kernel,) = facts_of(text.replace("OF>", of + ">")).kernels
    assert [(a.ways, a.width_bytes) for a in kernel.accesses] == [(2.0, 4)]
