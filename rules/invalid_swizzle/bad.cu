#include <cute/tensor.hpp>
using namespace cute;

// 8 rows of 4 elements: three bits of the row number, two bits further up
using Tile = decltype(composition(Swizzle<3, 0, 2>{}, Layout<Shape<_8, _4>, Stride<_4, _1>>{}));  //~ SML201 |SShift| must be at least BBits
