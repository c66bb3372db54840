"""Layouts of published CuTe kernels whose conflicts are known, written as their authors wrote them.

The figures are those of CuTe's own headers, compiled on the host, under the bank model
(`fixtures/cute/copies.xz` has the addresses of the same copies).
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"
KERNEL = (
    HEAD
    + """
template <class T, class Smem, class Tiled, class Mma>
__global__ void k(Smem layout, Tiled tiled, Mma mma) {
  extern __shared__ __align__(1024) char buffer[];
  Tensor s = make_tensor(make_smem_ptr(reinterpret_cast<T *>(buffer)), layout);
  ThrCopy thr = tiled.get_slice(threadIdx.x);
  BODY
}
template <class T, class Smem, class Tiled, class Mma>
void run(Smem layout, Tiled tiled, Mma mma, int threads) { k<T><<<1, threads, 65536>>>(layout, tiled, mma); }
void host() {
  HOST
}
"""
)
LOAD = "Tensor r = make_fragment_like(thr.partition_S(s)); copy(tiled, thr.partition_S(s), r);"
STORE = "Tensor r = make_fragment_like(thr.partition_D(s)); copy(tiled, r, thr.partition_D(s));"
OPERAND = """Tensor r = mma.get_slice(threadIdx.x).partition_fragment_A(s);
  copy(tiled, thr.partition_S(s), thr.retile_D(r));"""
RESULT = """Tensor r = partition_fragment_C(mma, shape(s));
  copy(tiled, thr.retile_S(r), thr.partition_D(s));"""

# The padded tile of the tutorials sgemm_2 and sgemm_sm70, `gemm_tn`.
TUTORIAL = """
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
                               Layout<Shape<_32, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _1>>{});
  run<float>(Layout<Shape<_128, _8>, Stride<_1, Int<128 + PAD>>>{}, tiled, 0, 256);
"""
# CUTLASS's default_gemm_configuration.hpp, OperandA<tfloat32_t, layout::ColumnMajor>.
TF32 = """
  auto mma = TiledMMA<MMA_Atom<SM80_16x8x8_F32TF32TF32F32_TN>, Layout<Shape<_2, _2, _1>, Stride<_2, _1, _1>>,
                      Tile<_32, _32, _8>>{};
  auto atom = composition(SWIZZLE{}, Layout<Shape<_32, _8>, Stride<_1, _32>>{});
  auto tiled = make_tiled_copy_A(Copy_Atom<UniversalCopy<tfloat32_t>, tfloat32_t>{}, mma);
  run<tfloat32_t>(tile_to_shape(atom, Shape<_128, _32>{}), tiled, mma, 128);
"""
# The builder's epilogue of sm_90 for a row-major D of 32 bits.
EPILOGUE = """
  auto mma = make_tiled_mma(SM90_64x32x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
  auto layout = tile_to_shape(GMMA::Layout_K_MODE_Atom<float>{}, Shape<_64, _32>{});
  auto tiled = make_tiled_copy_C(Copy_Atom<AutoVectorizingCopyWithAssumedAlignment<128>, float>{}, mma);
  run<float>(layout, tiled, mma, 128);
"""
# examples/50_hopper_gemm_with_epilogue_swizzle: "bank-conflict free loads & stores".
EXAMPLE_50 = """
  using PreSwizzleLayout = Layout<Shape<Shape<_32, _4>, _64>, Stride<Stride<_1, _2048>, _32>>;
  using SmemLayout = ComposedLayout<Swizzle<3, 4, 3>, smem_ptr_flag_bits<sizeof_bits<int>::value>, PreSwizzleLayout>;
  using TiledCopyS2R = TiledCopy<Copy_Atom<DefaultCopy, int>, Layout<Shape<_128, _16>, Stride<_16, _1>>,
                                 Shape<_128, _16>>;
  run<int>(SmemLayout{}, TiledCopyS2R{}, 0, 128);
"""
CASES = {
    "sgemm_2 and sgemm_sm70, TN": (STORE, TUTORIAL.replace("PAD", "1"), "store", 4, 4),
    "the same with 4 more": (STORE, TUTORIAL.replace("PAD", "4"), "store", 4, 1),
    "tf32, column-major": (OPERAND, TF32.replace("SWIZZLE", "Swizzle<3, 2, 3>"), "load", 4, 2),
    "tf32, column-major, mended": (
        OPERAND,
        TF32.replace("SWIZZLE", "Swizzle<2, 3, 2>"),
        "load",
        4,
        1,
    ),
    "epilogue of 32 bits, SW128": (RESULT, EPILOGUE.replace("MODE", "SW128"), "store", 8, 2),
    "epilogue of 32 bits, SW64": (RESULT, EPILOGUE.replace("MODE", "SW64"), "store", 8, 2),
    "epilogue of 32 bits, SW32": (RESULT, EPILOGUE.replace("MODE", "SW32"), "store", 8, 1),
    "example 50": (LOAD, EXAMPLE_50, "load", 16, 4),
}


@pytest.mark.parametrize("case", CASES)
def test_a_known_conflict_comes_out_unaided(case):
    body, host, kind, width, ways = CASES[case]
    (access,) = accesses_of(KERNEL.replace("BODY", body).replace("HOST", host))
    assert (str(access.kind), access.width_bytes, access.ways) == (kind, width, ways)
    assert access.certainty.is_decided


ELEMENTS = (
    HEAD
    + """
__global__ void k(const float *a, float *o) {
  __shared__ float s[512];
  auto A = make_tensor(make_smem_ptr<float>(s), make_layout(make_shape(Int<16>{}, Int<32>{})));
  int t = threadIdx.x;
  for (LOOP) A(PLACE) = a[i];
  __syncthreads();
  o[t] = s[t];
}
void host(float *a) { k<<<1, 128>>>(a, a); }
"""
)


@pytest.mark.parametrize(
    ("loop", "place", "width", "ways"),
    [  # nvcc 13.0.88, sm_90, -O3
        ("int i = t; i < 512; i += blockDim.x", "i / 32, i % 32", 4, 16),
        ("int i = t; i < 512; i += 128", "i / 32, i % 32", 4, 16),
        ("int i = 0; i < 4; ++i", "i, blockDim.x - 97 - t % 32", 16, 4),
        ("int i = 0; i < 4; ++i", "(t & 3) * 4 + i, t >> 2", 16, 1),
        ("int i = 0; i < 4; ++i", "t / 32 * 4 + i, t % 32", 16, 4),
    ],
)
def test_coordinates_are_neighbours_where_the_compiler_knows_it(loop, place, width, ways):
    found = accesses_of(ELEMENTS.replace("LOOP", loop).replace("PLACE", place))
    (store,) = (a for a in found if str(a.kind) == "store")
    assert (store.width_bytes, store.ways) == (width, ways)


@pytest.mark.parametrize(
    ("layout", "index", "width", "instructions", "ways"),
    [  # nvcc 13.0.88, sm_90, -O3
        ("Layout<Shape<_32, _32>>", "threadIdx.x * 4 + i", 16, 4, 1),
        ("Layout<Shape<_32, _32>, Stride<_1, Int<36>>>", "threadIdx.x * 4 + i", 4, 16, 4),
        ("Layout<Shape<_32, Shape<_2, _2>>, Stride<_2, Stride<_1, Int<64>>>>",
         "threadIdx.x % 32 + i * 32", 8, 8, 1),
        ("Layout<Shape<_128, Shape<_2, _2>>, Stride<_2, Stride<_1, Int<256>>>>",
         "threadIdx.x + i * 128", 4, 16, 2),
    ],
)  # fmt: skip
def test_a_number_for_several_modes_is_taken_apart_at_run_time(
    layout, index, width, instructions, ways
):
    """`i % 32` and `i / 32` are no sums to the compiler, but where they make `i` again."""
    text = ELEMENTS.replace("LOOP", "int i = 0; i < 4; ++i").replace(
        "float s[512]", "float s[2048]"
    )
    made = "make_layout(make_shape(Int<16>{}, Int<32>{}))"
    found = accesses_of(text.replace(made, f"{layout}{{}}").replace("PLACE", index))
    (store,) = (a for a in found if str(a.kind) == "store")
    assert (store.width_bytes, store.instructions, store.ways) == (width, instructions, ways)
