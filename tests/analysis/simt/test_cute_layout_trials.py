"""Layouts that free a CuTe tensor: each is evaluated, none is offered where it was not shown."""

from __future__ import annotations

import re

import pytest
from conftest import accesses_of

HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"
TRANSPOSE = (
    HEAD
    + """
__global__ void k(float const *in, float *out) {
  __shared__ float data[N * N];
  auto to = WRITE;
  auto from = READ;
  Tensor write = make_tensor(make_smem_ptr(data), to);
  Tensor read = make_tensor(make_smem_ptr(data), from);
  Tensor g = make_tensor(make_gmem_ptr(in), make_shape(Int<N>{}, Int<N>{}), make_stride(gridDim.x, _1{}));
  auto threads = make_layout(make_shape(_8{}, _32{}), make_stride(_32{}, _1{}));
  copy(local_partition(g, threads, threadIdx.x), local_partition(write, threads, threadIdx.x));
  __syncthreads();
  MORE
  copy(local_partition(read, threads, threadIdx.x), local_partition(g, threads, threadIdx.x));
}
void launch(float *p) { k<<<1, 256>>>(p, p); }
"""
)
ROWS = "make_layout(make_shape(Int<N>{}, Int<N>{}), make_stride(Int<N>{}, _1{}))"
COLUMNS = "make_layout(make_shape(Int<N>{}, Int<N>{}), make_stride(_1{}, Int<N>{}))"


def transpose(n: int, swizzle: str = "", more: str = "") -> str:
    text = TRANSPOSE.replace("WRITE", ROWS).replace("READ", COLUMNS)
    if swizzle:
        text = text.replace(ROWS, f"composition({swizzle}{{}}, {ROWS})")
        text = text.replace(COLUMNS, f"composition({swizzle}{{}}, {COLUMNS})")
    return re.sub(r"\bN\b", str(n), text.replace("MORE", more))


def ways(text: str) -> list[float]:
    return [a.ways for a in accesses_of(text)]


def advised(text: str) -> set[str]:
    """What the advice of the conflicting accesses names: swizzles, else numbers."""
    found: set[str] = set()
    for access in accesses_of(text):
        assert not access.advice or access.ways > 1
        found.update(re.findall(r"Swizzle<[\d,]+>", access.advice))
        if "Swizzle" not in access.advice:
            found.update(re.findall(r"\d+", access.advice))
    return found


@pytest.mark.parametrize(
    ("n", "swizzle", "before", "freeing"),
    [
        (32, "", [1, 32], "Swizzle<5,0,5>"),
        (64, "", [1, 32], "Swizzle<5,0,6>"),
        # Colfax's transpose: S must be the 6 bits of a row; nvcc 13.0.88 makes 2-way loads, too
        (64, "Swizzle<5, 0, 5>", [1, 2], "Swizzle<5,0,6>"),
        (32, "Swizzle<3, 0, 5>", [1, 4], "Swizzle<5,0,5>"),
    ],
)
def test_a_swizzle_that_frees_both_views(n, swizzle, before, freeing):
    assert ways(transpose(n, swizzle)) == before
    assert advised(transpose(n, swizzle)) == {freeing}
    assert ways(transpose(n, freeing)) == [1, 1]


@pytest.mark.parametrize(
    "more",
    [
        "data[threadIdx.x] = 0;",  # is not reached through the layout
        "Tensor t = make_tensor(make_smem_ptr(data + 32), Layout<_32>{}); t(threadIdx.x % 32) = 0;",
        "elsewhere(read);",  # may read it by TMA
    ],
)
def test_no_layout_where_something_else_touches_the_tensor(more):
    assert advised(transpose(32, more=more)) == set()


STAGED = (
    HEAD
    + """
template <class SL, class Tiled>
__global__ void k(TYPE const *in, TYPE *out, SL layout, Tiled tiled) {
  __shared__ __align__(128) TYPE data[cosize_v<SL>];
  Tensor s = make_tensor(make_smem_ptr(data), layout);
  Tensor g = make_tensor(make_gmem_ptr(in), shape(layout), make_stride(gridDim.x, _1{}));
  ThrCopy mine = tiled.get_slice(threadIdx.x);
  copy(tiled, mine.partition_S(g), mine.partition_D(s));
  __syncthreads();
  READ
}
void launch(TYPE *p) {
  k<<<1, 256>>>(p, p, LAYOUT, make_tiled_copy(Copy_Atom<OP, TYPE>{}, THREADS{}, VALUES{}));
}
"""
)


LDMATRIX = """
  TiledMMA mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_4, _2, _1>>{});
  auto load = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  Tensor r = mma.get_slice(threadIdx.x).partition_fragment_A(s);
  copy(load, load.get_slice(threadIdx.x).partition_S(s), load.get_slice(threadIdx.x).retile_D(r));
"""
ROWS_OF_64 = "make_layout(make_shape(_64{}, _64{}), make_stride(_64{}, _1{}))"


def ldmatrix(layout: str = ROWS_OF_64, then: str = "") -> str:
    text = STAGED.replace("TYPE", "half_t").replace("OP", "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>")
    text = text.replace("THREADS", "Layout<Shape<_32, _8>, Stride<_8, _1>>")
    text = text.replace("VALUES", "Layout<Shape<_1, _8>>")
    return text.replace("READ", LDMATRIX + then).replace("LAYOUT", layout)


def test_ldmatrix_of_rows_of_128_bytes_and_the_copies_that_fill_them():
    assert ways(ldmatrix()) == [1, 8]
    assert advised(ldmatrix()) == {"Swizzle<3,3,3>"}
    assert ways(ldmatrix(f"composition(Swizzle<3, 3, 3>{{}}, {ROWS_OF_64})")) == [1, 1]


@pytest.mark.parametrize(
    ("element", "swizzle", "expected"),
    [
        ("half_t", "Swizzle<2, 3, 3>", {"Swizzle<3,3,3>"}),
        ("float", "Swizzle<2, 3, 3>", set()),  # moves the same bytes: the data may be the same
        ("half_t", "Swizzle<0, 3, 3>", set()),
        ("half_t", "Swizzle<2, 4, 3>", {"Swizzle<3,3,3>"}),
    ],
)
def test_a_buffer_that_is_used_again_under_another_swizzle(element, swizzle, expected):
    """CUTLASS's epilogues store C where A was, under a swizzle of its own."""
    again = f"""
  __syncthreads();
  auto rows = composition({swizzle}{{}}, Layout<Shape<_64, _32>, Stride<_32, _1>>{{}});
  Tensor c = make_tensor(make_smem_ptr(reinterpret_cast<{element} *>(data)), rows);
  c(threadIdx.x / 32, threadIdx.x % 32) = 0;
"""
    text = ldmatrix(f"composition(Swizzle<2, 4, 3>{{}}, {ROWS_OF_64})", again)
    assert ways(text) == [1, 2, 1]
    assert advised(text) == expected


def test_a_padding_that_is_no_odd_number():
    """CuTe's sgemm_2, TN: its own padding leaves 4-way stores; CUTLASS's default is 4."""
    text = STAGED.replace("TYPE", "float").replace("OP", "UniversalCopy<float>")
    text = text.replace("THREADS", "Layout<Shape<_32, _8>, Stride<_8, _1>>")
    text = text.replace("VALUES", "Layout<Shape<_1, _1>>")
    text = text.replace("READ", "out[threadIdx.x] = s(threadIdx.x % 128, threadIdx.x / 128);")
    rows = "make_layout(make_shape(_128{}, _8{}), make_stride(_1{}, Int<129>{}))"
    assert ways(text.replace("LAYOUT", rows)) == [4, 1]
    assert advised(text.replace("LAYOUT", rows)) == {"132", "129"}
    assert ways(text.replace("LAYOUT", rows.replace("129", "132"))) == [1, 1]


def test_no_swizzle_that_takes_vectors_apart():
    """CuTe's sgemm_1, TN: with Swizzle<3,2,3> each LDS.128 becomes four loads of single floats."""
    text = STAGED.replace("TYPE", "float").replace("OP", "UniversalCopy<float>")
    text = text.replace("THREADS", "Layout<Shape<_32, _8>, Stride<_8, _1>>")
    text = text.replace("VALUES", "Layout<Shape<_1, _1>>")
    read = """
  Tensor mine = local_partition(s, make_layout(make_shape(_16{}, _16{})), threadIdx.x, Step<_1, X>{});
  Tensor theirs = local_partition(s, make_layout(make_shape(_16{}, _16{})), threadIdx.x, Step<X, _1>{});
  Tensor sum = make_tensor<float>(make_shape(_8{}, _8{}));
  gemm(mine, theirs, sum);
"""
    rows = "make_layout(make_shape(_128{}, _8{}), make_stride(_8{}, _1{}))"
    found = text.replace("READ", read).replace("LAYOUT", rows)
    assert max(ways(found)) > 1
    assert advised(found) == set()


OPERANDS = (
    HEAD
    + """
__global__ void k(half_t *out) {
  extern __shared__ __align__(128) half_t data[];
  auto layout = Layout<Shape<_128, _32>, Stride<_32, _1>>{};
  Tensor a = make_tensor(make_smem_ptr(data), layout);
  Tensor b = make_tensor(make_smem_ptr(data + SECOND), layout);
  auto mma = make_tiled_mma(SM80_16x8x16_F16F16F16F16_TN{}, Layout<Shape<_2, _2>>{});
  auto mine = mma.get_slice(threadIdx.x);
  Tensor ra = mine.partition_fragment_A(a), rb = mine.partition_fragment_B(b);
  copy(mine.partition_A(a), ra);
  copy(mine.partition_B(b), rb);
  out[threadIdx.x] = ra(0) + rb(0);
}
void launch(half_t *p) { k<<<1, 128, 32768>>>(p); }
"""
)


@pytest.mark.parametrize(("second", "free"), [("4096", True), ("2048", False), ("0", True)])
def test_operands_beside_each_other_are_apart_however_many_patterns_they_have(second, free):
    """Rows of 64 bytes: words of eight rows of four lanes each lie in 8 banks."""
    text = OPERANDS.replace("SECOND", second)
    assert [(a.ways, len(a.patterns)) for a in accesses_of(text)] == [(4, 64), (4, 64)]
    assert advised(text) == ({"Swizzle<3,3,3>"} if free else set())


def test_a_padding_takes_the_place_of_a_swizzle():
    text = (
        HEAD
        + """
    __global__ void k(const half_t *in, float *out, int n) {
      __shared__ half_t data[150 * 32];
      auto s = make_tensor(make_smem_ptr(data), LAYOUT);
      auto g = make_tensor(make_gmem_ptr(in), Shape<_128, _32>{}, make_stride(n, _1{}));
      auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<half_t>, half_t>{},
                                   Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{});
      auto thr = tiled.get_slice(threadIdx.x);
      copy(tiled, thr.partition_S(g), thr.partition_D(s));
      __syncthreads();
      auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_4, _1>>{});
      auto tA = mma.get_slice(threadIdx.x).partition_A(s);
      auto rA = mma.get_slice(threadIdx.x).make_fragment_A(tA);
      copy(tA, rA);
    }
    void launch(half_t *p) { k<<<1, 128>>>(p, nullptr, 128); }
    """
    )
    rows = "Layout<Shape<_128, _32>, Stride<_1, Int<%d>>>{}"
    swizzled = text.replace("LAYOUT", f"composition(Swizzle<6, 0, 7>{{}}, {rows % 128})")
    assert sorted(ways(swizzled)) == [2, 4]
    for access in accesses_of(swizzled):
        assert re.findall(r"Swizzle<[\d,]+>", access.advice) == ["Swizzle<6,0,7>"]  # to leave away
        assert {"134", "128"} <= set(re.findall(r"\d+", access.advice))
    assert ways(text.replace("LAYOUT", rows % 134)) == [1, 1]
    kept = text.replace("LAYOUT", f"composition(Swizzle<6, 0, 7>{{}}, {rows % 134})")
    assert ways(kept) != [1, 1]
