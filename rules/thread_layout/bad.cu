#include <cute/tensor.hpp>
using namespace cute;

__global__ void tile(float *out) {
  __shared__ float s[512];
  auto t = make_tensor(make_smem_ptr(s), Layout<Shape<_16, _32>>{});
  auto copy = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},  //~ SML208 16 of 128
                              Layout<Shape<_16, _8>, Stride<_1, _32>>{});
  out[threadIdx.x] = s[threadIdx.x];
}

void launch(float *out) { tile<<<1, 128>>>(out); }
