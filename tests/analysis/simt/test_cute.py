"""CuTe tensors in shared memory: every address is that of the layout algebra."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import accesses_of, facts_of

from smemlint.layout.cute import ComposedLayout, Layout, tile_to_shape
from smemlint.layout.swizzle import Swizzle

HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"


def kernel(body: str, head: str = "", launch: str = "k<<<1, 32>>>(o)", template: str = "") -> str:
    return (
        f"{HEAD}{head}\n{template}\n__global__ void k(float *out) {{\n"
        f"  int i = threadIdx.x;\n{body}\n}}\nvoid launch(float *o) {{ {launch}; }}\n"
    )


def addresses(text: str) -> np.ndarray:
    """Byte addresses of the first access of a text."""
    (first, *_) = accesses_of(text)
    assert first.certainty.is_decided, first.reason
    return first.worst.addresses


LANES = np.arange(32)
TILE = Layout((8, 64), (64, 1))
CASES = [
    # (type or expression of the layout, element, coordinates in C++, offsets in bytes)
    ("Layout<Shape<_32, _33>, Stride<_33, _1>>{}", "float", "i, 2", 4 * (33 * LANES + 2)),
    ("make_layout(make_shape(_32{}, _8{}))", "float", "i, 3", 4 * (LANES + 96)),
    ("make_layout(make_shape(_32{}, Int<8>{}), LayoutRight{})", "half_t", "i, 3", 2 * (8 * LANES + 3)),
    ("make_layout(make_shape(_8{}, _16{}), make_stride(_16{}, _1{}))", "float", "i",
     4 * (LANES % 8 * 16 + LANES // 8)),
    ("composition(Swizzle<3,3,3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{})", "half_t",
     "i % 8, i / 8 * 8", 2 * Swizzle(3, 3, 3)(LANES % 8 * 64 + LANES // 8 * 8)),
    ("tile_to_shape(composition(Swizzle<3,3,3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), "
     "make_shape(_32{}, _128{}))", "half_t", "i, 70",
     2 * ComposedLayout(Swizzle(3, 3, 3), tile_to_shape(TILE, (32, 128)))(LANES, 70)),
    ("tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{})", "half_t", "i, 8",
     Swizzle(3, 4, 3)(2 * tile_to_shape(TILE, (64, 64))(LANES, 8))),
    ("tile_to_shape(GMMA::Layout_MN_SW64_Atom<float>{}, make_shape(_32{}, _32{}))", "float", "i, 5",
     Swizzle(2, 4, 3)(4 * tile_to_shape(Layout((16, 8), (1, 16)), (32, 32))(LANES, 5))),
    ("ComposedLayout<Swizzle<2,0,3>, _0, Layout<Shape<_32, _4>, Stride<_4, _1>>>{}", "float", "i, 1",
     4 * Swizzle(2, 0, 3)(LANES * 4 + 1)),
    ("make_layout(make_shape(make_shape(_4{}, _8{}), _2{}), "
     "make_stride(make_stride(_1{}, _8{}), _4{}))", "float", "make_coord(i % 4, i / 4), 1",
     4 * (LANES % 4 + LANES // 4 * 8 + 4)),
]  # fmt: skip


@pytest.mark.parametrize(("layout", "element", "coordinate", "expected"), CASES)
def test_an_element_lies_where_the_layout_puts_it(layout, element, coordinate, expected):
    body = (
        f"  auto layout = {layout};\n  __shared__ alignas(1024) {element} smem[8192];\n"
        f"  Tensor t = make_tensor(make_smem_ptr(smem), layout);\n  t({coordinate}) = {element}(1);"
    )
    assert np.array_equal(addresses(kernel(body)), expected)


def test_sizes_come_from_the_layout():
    body = """
  using L = decltype(tile_to_shape(Atom{}, make_shape(_16{}, Int<2 * 64>{})));
  __shared__ half_t smem[cosize_v<L>];
  auto t = make_tensor(make_smem_ptr(smem), L{});
  t(size<0>(t) - 1, size<1>(L{}) - 32 + i) = half_t(rank(t));"""
    head = "using Atom = decltype(composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{}));"
    (access,) = accesses_of(kernel(body, head))
    layout = ComposedLayout(Swizzle(3, 3, 3), tile_to_shape(TILE, (16, 128)))
    assert access.array.dims == (2048,)
    assert np.array_equal(access.worst.addresses, 2 * layout(15, 96 + LANES))


@pytest.mark.parametrize(
    ("numbers", "wavefronts"),
    [("round_up(5, 4)", 8), ("size(round_up(make_shape(3, 1), make_shape(_4{})))", 4)],
)
def test_numbers_are_rounded_up(numbers, wavefronts):
    (store,) = accesses_of(kernel(f"  __shared__ float s[1024];\n  s[i * int({numbers})] = 1;"))
    assert store.wavefronts.mean == wavefronts


def test_the_first_thread_writes_alone():
    """In one pass, whatever the other lanes would meet; 4 bytes an element of `tf32`."""
    body = "  __shared__ cutlass::tfloat32_t s[1024];\n  if (thread0()) s[i * 32] = s[i * 32 + 1];"
    found = {(a.kind.value, a.width_bytes, a.wavefronts.mean) for a in accesses_of(kernel(body))}
    assert found == {("load", 4, 1.0), ("store", 4, 1.0)}


def test_layouts_are_template_arguments():
    text = f"""{HEAD}
template <int B, class SLayout>
__global__ void k(float *out, SLayout layout) {{
  __shared__ float smem[cosize_v<SLayout>];
  auto t = make_tensor(make_smem_ptr(smem), composition(Swizzle<B, 0, B>{{}}, layout));
  out[threadIdx.x] = t(threadIdx.x, 0);
}}
void launch(float *o) {{
  auto rows = make_layout(make_shape(_32{{}}, _32{{}}), LayoutRight{{}});
  k<5><<<1, 32>>>(o, rows);
}}
"""
    (access,) = accesses_of(text)
    assert (access.worst.wavefronts, access.layout.swizzle) == (1, (5, 0, 5))
    assert np.array_equal(access.worst.addresses, 4 * Swizzle(5, 0, 5)(32 * LANES))


def test_a_slice_adds_before_the_swizzle():
    body = """
  __shared__ half_t smem[2 * 512];
  auto layout = tile_to_shape(composition(Swizzle<3,3,3>{},
      Layout<Shape<_8, _64>, Stride<_64, _1>>{}), make_shape(_16{}, _64{}));
  auto t = make_tensor(make_smem_ptr(smem), layout);
  auto column = t(_, 24);
  column(i % 16) = half_t(1);"""
    layout = ComposedLayout(Swizzle(3, 3, 3), tile_to_shape(TILE, (16, 64)))
    assert np.array_equal(addresses(kernel(body)), 2 * layout(LANES % 16, 24))


def test_a_swizzled_tensor_is_a_fact_of_its_own():
    body = """
  __shared__ float smem[45];
  auto t = make_tensor(make_smem_ptr(smem),
      composition(Swizzle<3,0,3>{}, make_layout(make_shape(_5{}, _9{}), make_stride(_9{}, _1{}))));
  if (i < 5) t(i, 0) = 1.f;"""
    bound = [use for use in facts_of(kernel(body)).layouts if use.is_bound]
    (use,) = bound
    assert (use.swizzle, use.units, use.element_bytes) == ((3, 0, 3), "elements", 4)
    assert (use.shape, use.stride, use.extent, use.base) == ((5, 9), (9, 1), 45, 0)


def findings(text: str, smemlint, tmp_path, code: str) -> str:
    (tmp_path / "k.cu").write_text(text)
    return str(smemlint("check", "k.cu", "--select", code)[1])


def test_rules_judge_it(smemlint, tmp_path):
    body = """
  __shared__ float smem[45];
  auto t = make_tensor(make_smem_ptr(smem),
      composition(Swizzle<3,0,3>{}, make_layout(make_shape(_5{}, _9{}), make_stride(_9{}, _1{}))));
  if (i < 5) t(i, 0) = 1.f;"""
    out = findings(kernel(body), smemlint, tmp_path, "SML205")
    assert "offset 42 is kept at 47, and there are 45 elements; cosize is 45" in out


def test_a_wide_view_of_a_narrow_swizzle_is_torn(smemlint, tmp_path):
    body = """
  __shared__ alignas(16) float smem[1024];
  auto t = make_tensor(make_smem_ptr(smem),
      composition(Swizzle<3,0,3>{}, make_layout(make_shape(_32{}, _32{}), LayoutRight{})));
  t(i, 0) = 1.f;
  auto wide = recast<uint128_t>(t);"""
    out = findings(kernel(body), smemlint, tmp_path, "SML302")
    assert "Swizzle<3,2,3> in bytes becomes Swizzle<1,0,3>" in out
    assert not findings(kernel(body.replace("3,0,3", "3,2,3")), smemlint, tmp_path, "SML302")


def test_parameters_of_an_instance_are_checked(smemlint, tmp_path):
    body = """
  __shared__ float smem[1024];
  auto t = make_tensor(make_smem_ptr(smem), composition(Swizzle<B, 0, S>{},
      make_layout(make_shape(_32{}, _32{}), LayoutRight{})));
  t(i, 0) = 1.f;"""
    bad = kernel(body, launch="k<4, 3><<<1, 32>>>(o)", template="template <int B, int S>")
    out = findings(bad, smemlint, tmp_path, "SML201")
    assert "`Swizzle<4,0,3>` is not a valid swizzle" in out
    good = bad.replace("k<4, 3>", "k<4, 5>")
    assert not findings(good, smemlint, tmp_path, "SML201")


def test_a_run_time_extent_leaves_what_does_not_depend_on_it_decided():
    head = (
        "  __shared__ float smem[1024];\n"
        "  auto t = make_tensor(make_smem_ptr(smem), make_layout({}));\n  {} = 1.f;"
    )
    last = kernel(head.format("make_shape(_32{}, gridDim.x)", "t(i, 3)"))
    assert np.array_equal(addresses(last), 4 * (LANES + 96))
    body = head.format("make_shape(gridDim.x, _32{})", "t(0, i)")
    (access,) = accesses_of(kernel(body, launch="k<<<blocks(), 32>>>(o)"))
    assert not access.certainty.is_decided


def test_a_class_of_that_name_that_is_not_cutes_is_left_alone(smemlint, tmp_path):
    text = (
        "// not cute\nnamespace mine { template <int B, int M, int S> struct Swizzle {}; }\n"
        "using A = mine::Swizzle<3, 0, 2>;\nusing namespace mine;\nusing B = Swizzle<3, 0, 2>;\n"
    )
    assert not findings(text, smemlint, tmp_path, "SML201")


@pytest.mark.parametrize(
    "line",
    [
        "template <int B, int M, int S> struct Swizzle;\n",
        "template <int S> auto f() { return Swizzle<S, 0, S>{}; }\n",
        "constexpr int S = 2; template <int S> auto f() { return Swizzle<3, 0, S>{}; }\n",
        "int a() { int S = 1; } int b() { int S = 5; return sizeof(Swizzle<3, 0, S>); }\n",
        "// Swizzle<3, 0, 2>\nconst char *s = \"Swizzle<3, 0, 2>\";\n",
        "#if 0\nusing A = Swizzle<3, 0, 2>;\n#endif\n",
    ],
)  # fmt: skip
def test_swizzles_that_depend_on_something_are_silent(line, smemlint, tmp_path):
    assert not findings(HEAD + line, smemlint, tmp_path, "SML201")


def test_a_constant_is_a_number(smemlint, tmp_path):
    text = HEAD + "constexpr int kShift = 2;\nusing A = cute::Swizzle<3, 0, kShift>;\n"
    assert "k.cu:4:17" in findings(text, smemlint, tmp_path, "SML201")


def test_what_becomes_of_a_tensor_elsewhere_is_said():
    text = (
        HEAD
        + """
template <class Thr>
__global__ void k(half_t *out, Thr thr) {
  __shared__ half_t smem[512];
  auto s = make_tensor(make_smem_ptr(smem), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  auto mine = thr.get_slice(threadIdx.x).partition_S(s);
  copy(thr, s, out);
  auto tile = local_tile(s, make_shape(_8{}, _8{}), make_coord(0, threadIdx.x / 8));
  use(tile);
}
"""
    )
    notes = [n for k in facts_of(text).kernels for n in k.not_analysed]
    assert [n.span.line for n in notes] == [8, 9, 11]


def test_a_constant_that_takes_the_value_of_its_namesake_does_not_recurse():
    text = """
namespace lib { constexpr int N = 32; }
constexpr int N = lib::N;
namespace own { constexpr int N = ::N; }
__global__ void k(float *out) {
  __shared__ float s[own::N][own::N];
  out[threadIdx.x] = s[threadIdx.x][0];
}
void launch(float *o) { k<<<1, 32>>>(o); }
"""
    (access,) = accesses_of(text)
    assert access.array is not None


def test_elements_of_identity_tensors_are_coordinates():
    """Thread t has row t / 8 and columns 2 (t % 8) and the next of each tile of 4 x 16."""
    text = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(float *o, int n) {
  __shared__ float s[64 * 33];
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_4, _8>, Stride<_8, _1>>{},
                               Layout<Shape<_1, _2>>{});
  Tensor mine = tiled.get_slice(threadIdx.x).partition_S(make_identity_tensor(Shape<_32, _64>{}));
  s[get<0>(mine(0, 0, 0)) * 32] = 1;
  s[get<1>(mine(0, 0, 0)) * 32] = 1;
  s[get<1>(mine(1, 0, 1))] = 1;
  s[get<0>(mine(0, 1, 0)) * 33 + get<1>(mine(0, 1, 0))] = 1;
  if (get<0>(mine(0, 1, 0)) < n) s[threadIdx.x * 2] = 1;
  if (get<0>(mine(0, 0, 0)) < 2) s[threadIdx.x * 4] = 1;
  Tensor moved = domain_offset(make_coord(-1, 0), make_identity_tensor(Shape<_32, _64>{}));
  s[get<0>(moved(threadIdx.x, 0))] = 1;
}
void go(float *o, int n) { k<<<1, 32>>>(o, n); }
"""
    found = [(a.span.line, a.ways) for a in accesses_of(text)]
    # The last: a coordinate below zero is not one that is followed.
    assert found == [(9, 4), (10, 8), (11, 1), (12, 2), (13, 2), (14, 2), (16, 0)]


def test_the_iterator_of_an_identity_tensor_takes_another_layout():
    """Of an MMA's accumulators as rows and columns: lane l has row l / 4 and column 2 (l % 4)."""
    text = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(float *o) {
  __shared__ float s[2048];
  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{});
  Tensor mine = mma.get_slice(threadIdx.x).partition_C(make_identity_tensor(Shape<_16, _16>{}));
  auto l = mine.layout();
  Tensor rows = make_tensor(mine.data(), make_layout(make_layout(get<0, 1>(l), get<1>(l)),
                                                     make_layout(get<0, 0>(l), get<2>(l))));
  s[get<0>(rows(1, 2)) * 32 + get<1>(rows(1, 2))] = 1;
  s[get<1>(rows(1, 2)) * 32] = 1;
}
void go(float *o) { k<<<1, 32>>>(o); }
"""
    assert [(a.span.line, a.ways) for a in accesses_of(text)] == [(11, 8), (12, 4)]


def test_a_class_of_another_namespace_is_no_type_of_cute():
    """`cute::Layout` is CuTe's where the project has a `Layout` of its own."""
    source = """
#include <cute/tensor.hpp>
namespace mine { class Layout { int a, b; }; class Shape { int n; }; }
struct Quad { float values[4]; };
__global__ void k(float *out) {
  __shared__ Quad s[64];
  auto smem = cute::make_tensor(cute::make_smem_ptr(s[threadIdx.x].values),
                                cute::Layout<cute::Shape<cute::_4>, cute::Stride<cute::_1>>{});
  auto regs = cute::make_fragment_like(smem);
  cute::copy(cute::Copy_Atom<cute::UniversalCopy<cute::uint128_t>, float>{}, regs, smem);
}
void go(float *out) { k<<<1, 64>>>(out); }
"""
    (store,) = accesses_of(source)
    assert store.width_bytes == 16
    assert store.wavefronts is not None
    assert store.wavefronts.mean == 4


def test_the_copy_of_an_instruction_loads_nothing_of_what_it_writes():
    source = """
#include <cute/arch/copy_sm80.hpp>
__global__ void k(const float *g) {
  __shared__ float s[64][4];
  cute::SM80_CP_ASYNC_CACHEALWAYS<float>::copy(g[threadIdx.x], s[threadIdx.x][0]);
}
void go(float *g) { k<<<1, 64>>>(g); }
"""
    (copy,) = accesses_of(source)  # rows of 16 bytes
    assert (copy.span.line, str(copy.kind), copy.width_bytes) == (5, "async_copy", 4)
    assert copy.wavefronts is not None
    assert copy.wavefronts.mean == 4
