"""Packs of template parameters; g++ 12 gives the same numbers."""

import pytest
from conftest import accesses_of
from strides import access_of

DEFINITIONS = """
template <int N> struct Arch {
  template <int Now> constexpr static bool is_for() {
    if constexpr (Now == N) { return true; } else { return false; }
  }
};
template <int Now, class T, class... U> constexpr bool is_one_of() {
  if constexpr (T::template is_for<Now>()) { return true; }
  else if constexpr (sizeof...(U) != 0) { return is_one_of<Now, U...>(); }
  else { return false; }
}
template <int... N> constexpr int count() { return sizeof...(N); }
template <int N, int... M> constexpr int sum() {
  if constexpr (sizeof...(M) > 0) return N + sum<M...>(); else return N;
}
template <class... A> __device__ int given(A... a) { return sizeof...(A) + sizeof...(a); }
template <class T, class... A> __device__ int further(T t, A... a) { return sizeof...(A); }
template <class... A> constexpr int most(int one) { return one; }
template <class... A> constexpr int most(int one, A... a) { return one > most(a...) ? one : most(a...); }
template <class T> struct Cell { T x; };
template <class... A> __device__ int cells(int n) { return 2; }
template <class... A> __device__ int cells(int n, Cell<A>... a) { return 8; }
"""


@pytest.mark.parametrize(
    ("call", "stride"),
    [
        ("is_one_of<90, Arch<80>, Arch<90>>() ? 4 : 2", 4),
        ("is_one_of<70, Arch<80>, Arch<90>>() ? 4 : 2", 2),
        ("count<7, 8>()", 2),
        ("count<>() + 16", 16),
        ("sum<1, 2, 5>()", 8),
        ("given(1, 2)", 4),
        ("further<int>(1, 2, 3)", 2),
        ("most(4)", 4),
        ("most(2, 16, 8)", 16),
        ("cells(1)", 2),
        ("cells(1, Cell<int>{}, Cell<char>{})", 8),
    ],
)
def test_what_packs_take(call, stride):
    assert access_of(DEFINITIONS, call).ways == stride


def test_instances_with_other_packs_are_others():
    text = """template <int... N> __global__ void k(float *g) {
      __shared__ int s[1024];
      s[threadIdx.x << sizeof...(N)] = 1;
    }
    void run(float *g) { k<3><<<1, 32>>>(g); k<5, 7><<<1, 32>>>(g); }"""
    found = [(dict(a.instance.template), a.ways) for a in accesses_of(text)]
    assert found == [({"N": "3"}, 2), ({"N": "5, 7"}, 4)]


@pytest.mark.parametrize(("given", "stride"), [("", 2), ("Int<4>", 4), ("Int<8>, Int<4>", 8)])
@pytest.mark.parametrize("chosen", ["first_of<2, Us...>", "typename first<2, Us...>::type"])
def test_a_pack_is_handed_on_to_an_alias_whose_class_is_specialized(given, stride, chosen):
    """Lists of options are looked through so: `find_option_t<Tag::kStages, Int<2>, Options...>`."""
    text = """template <int N> struct Int { static constexpr int value = N; };
template <int N, class... Ts> struct first { using type = Int<N>; };
template <int N, class T, class... Ts> struct first<N, T, Ts...> { using type = T; };
template <int N, class... Ts> using first_of = typename first<N, Ts...>::type;
template <class... Us> struct Kernel { using Stride = CHOSEN; static constexpr int n = Stride::value; };
template <int N> __global__ void k() { __shared__ float s[512]; s[N * threadIdx.x] = 0; }
void go() { k<Kernel<GIVEN>::n><<<1, 32>>>(); }
"""
    (access,) = accesses_of(text.replace("CHOSEN", chosen).replace("GIVEN", given))
    assert access.ways == stride
