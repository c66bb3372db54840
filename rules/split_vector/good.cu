#include <cute/tensor.hpp>
using namespace cute;

// The same row: the copy is told that it is aligned. The plain tile has static strides.
__global__ void rows(half_t *out) {
  __shared__ half_t s[8 * 64], plain[8 * 72];
  auto layout = composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  Tensor tile = make_tensor(make_smem_ptr(s), layout);
  Tensor row = tile(threadIdx.x % 8, _);
  Tensor values = make_fragment_like(row);
  copy(AutoVectorizingCopy{}, row, values);
  Tensor padded = make_tensor(make_smem_ptr(plain), Layout<Shape<_8, _64>, Stride<_72, _1>>{});
  copy(padded(threadIdx.x % 8, _), values);
}

void launch(half_t *out) { rows<<<1, 32>>>(out); }
