"""Generic lambdas whose template arguments a call writes: `f.template operator()<8>()`."""

from __future__ import annotations

from figures import facts_in, kernel

K = """
template <typename T, int N> __global__ void k(T *g) {
  __shared__ T s[2048];
  s[threadIdx.x * N] = g[0];
}
"""


def test_launches_in_a_lambda_have_its_arguments():
    host = """
    void go(float *g, double *h) {
      auto f = [&]<typename T, int N = 16>(T *p) { k<T, N><<<1, 2 * N>>>(p); };
      f.template operator()<float, 32>(g);
      f.template operator()<double>(h);
    }
    """
    kernels = facts_in(a_cu=K + host).kernels
    found = {(k.instance.block[0], k.accesses[0].width_bytes): k for k in kernels}
    figures = {key: k.accesses[0].wavefronts.mean for key, k in found.items()}
    # lane t stores to word 32 t, all in a bank; and to the 8 bytes from word 32 t on
    assert figures == {(64, 4): 32, (32, 8): 32}


def test_a_kernel_calls_its_lambda_for_each_argument():
    body = (
        "auto f = [&]<int N>(int at) { s[t * N] = at; };\n"
        "f.template operator()<8>(1); f.operator()<2>(2);"
    )
    (found,) = facts_in(a_cu=kernel(body)).kernels
    (access,) = found.accesses
    assert (access.instructions, access.wavefronts.mean) == (2, (8 + 2) / 2)


def test_what_hangs_on_an_argument_that_no_call_writes_is_not_decided():
    body = "auto f = [&]<int N>(number<N> at) { s[t * N] = 1; };\nf(number<8>{});"
    before = "template <int N> struct number { static constexpr int value = N; };"
    (found,) = facts_in(a_cu=kernel(body, before=before)).kernels
    assert [a.certainty.is_decided for a in found.accesses] == [False]
