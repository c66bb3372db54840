#include <cute/tensor.hpp>
using namespace cute;

// A row of a swizzled tile: which chunk comes first, only run time tells.
__global__ void rows(half_t *out) {
  __shared__ half_t s[8 * 64];
  auto layout = composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  Tensor tile = make_tensor(make_smem_ptr(s), layout);
  Tensor row = tile(threadIdx.x % 8, _);
  Tensor values = make_fragment_like(row);
  copy(row, values);  //~ SML304 2 bytes at a time, where 16
}

void launch(half_t *out) { rows<<<1, 32>>>(out); }
