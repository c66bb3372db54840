"""`make_int2` and the like, for which a header has overloads of other numbers of arguments."""

from __future__ import annotations

from conftest import accesses_of

_KERNEL = """
inline __host__ __device__ int2 make_int2(int s) { return make_int2(s, s); }
inline __host__ __device__ int2 make_int2(float2 a) { return make_int2(int(a.x), int(a.y)); }
__global__ void k(float *o) {
  __shared__ float s[1024];
  int2 p = make_int2(threadIdx.x * 2, 1);
  s[p.x + p.y] = o[threadIdx.x];
  int2 q = make_int2(4);
  s[q.x * threadIdx.x] = 1;
}
void run(float *o) { k<<<1, 128>>>(o); }
"""


def test_cudas_own_takes_as_many_as_there_are_members():
    assert [a.wavefronts.mean for a in accesses_of(_KERNEL)] == [2, 4]
