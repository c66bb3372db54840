"""A cast to a base class: which overload is called, and which part of the object it gets."""

from __future__ import annotations

from conftest import facts_of, ways_of

KERNEL = """
struct Pitch { int unused; int words; };
struct Tag { int number; };
template <class T> struct Named : public Tag, public T {
  __device__ Named(int n, int w) { number = n; words = w; }
};
struct Frame {
  __device__ int stride(const Pitch &p) const { return p.words; }
  __device__ int stride(const Named<Pitch> &p) const { return 2 * stride((Pitch)p); }
};
__global__ void k(float *o) {
  __shared__ float s[1024];
  Frame f;
  Named<Pitch> p(16, 4);
  s[threadIdx.x * f.stride(p)] = o[0];
}
void go(float *o) { k<<<1, 32>>>(o); }
"""


def test_a_cast_to_a_base_class_chooses_the_overload_and_the_part() -> None:
    (kernel,) = facts_of(KERNEL).kernels
    assert kernel.not_analysed == ()
    (store,) = [found for found in ways_of(KERNEL) if found[1] == "store"]
    assert store[2] == 8.0  # 2 * 4 words
