#include <cute/tensor.hpp>
using namespace cute;

using Tile = decltype(composition(Swizzle<2, 0, 3>{}, Layout<Shape<_8, _4>, Stride<_4, _1>>{}));
