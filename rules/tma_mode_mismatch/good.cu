#include <cuda.h>

CUresult encode(CUtensorMap *map, void *data, cuuint64_t rows, cuuint64_t columns) {
  cuuint64_t extents[2] = {columns, rows};
  cuuint64_t strides[1] = {columns * 2};
  cuuint32_t box[2] = {64, 64};  // halves: rows of 128 bytes
  cuuint32_t steps[2] = {1, 1};
  return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, data, extents, strides, box,
                                steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
