"""Swizzles that a file spells: the one that advice replaces is edited, or named."""

from __future__ import annotations

import pytest

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.fix.edits import applied
from smemlint.fix.verify_by_analysis import compare_swizzle
from smemlint.reasons import ReasonCode
from smemlint.sources.source import Source

TILED = """\
#include <cute/tensor.hpp>
using namespace cute;
using Atom = decltype(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
using Tile_ = decltype(tile_to_shape(Atom{}, Shape<_128, _64>{}));
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_4, _1, _1>>>;
__global__ void kernel(half_t const *a) {
    __shared__ alignas(1024) half_t smem[128 * 64];
    auto sA = make_tensor(make_smem_ptr(smem), Tile_{});
    Mma mma;
    auto rA = mma.get_thread_slice(threadIdx.x).partition_fragment_A(sA);
    auto s2r = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
    auto from = s2r.get_thread_slice(threadIdx.x);
    copy(s2r, from.partition_S(sA), from.retile_D(rA));
}
void run(half_t const *a) { kernel<<<1, 128>>>(a); }
"""
DSL = """\
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp

@cute.jit
def run(a: cute.Tensor):
    mma = cute.make_tiled_mma(
        warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)), (4, 1, 1)
    )
    layout = cute.make_composed_layout(
        cute.make_swizzle(2, 3, 3), 0, cute.make_layout((64, 64), stride=(64, 1))
    )
    kernel(a, mma, layout).launch(grid=[1, 1, 1], block=[128, 1, 1])

@cute.kernel
def kernel(a: cute.Tensor, mma: cute.TiledMma, layout: cute.ComposedLayout):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float16, layout, 1024)
    load = cute.make_tiled_copy_A(
        cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16), mma
    ).get_slice(tx)
    r = mma.make_fragment_A(mma.get_slice(tx).partition_A(s))
    cute.copy(load, load.partition_S(s), load.retile(r))
"""
INDEXED = """\
#include <cute/tensor.hpp>
using namespace cute;
template <int B, int M, int S>
__global__ void k(unsigned *out, const half_t *in) {
  auto layout = composition(Swizzle<B, M, S>{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  __shared__ alignas(1024) half_t s[64 * 64];
  int t = threadIdx.x;
  for (int i = t; i < 512; i += 128)
    *(uint4 *)&s[layout(i / 8, i % 8 * 8)] = ((const uint4 *)in)[i];
  __syncthreads();
  for (int c = 0; c < 64; c += 16) {
    unsigned a = cast_smem_ptr_to_uint(&s[layout(t % 64, c)]), r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(a));
    out[t + c] = r;
  }
}
void go(unsigned *o, const half_t *i) { k<2, 4, 3><<<1, 128>>>(o, i); k<3, 3, 3><<<1, 128>>>(o, i); }
"""


def findings(path: str, text: str):
    return check([Source(path, text)], Settings()).findings


@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [
        ("k.cu", TILED, "Swizzle<2, 3, 3>", "Swizzle<3, 3, 3>"),
        ("k.py", DSL, "make_swizzle(2, 3, 3)", "make_swizzle(3, 3, 3)"),
    ],
)
def test_the_swizzle_that_a_file_spells_is_edited(path, text, old, new):
    (found,) = findings(path, text)
    assert (found.access.ways, found.fix.is_safe) == (2, False)
    healed = applied(text, found.fix.edits)
    assert healed == text.replace(old, new)
    assert findings(path, healed) == ()
    assert found.fix.after.ways == 1


def test_of_two_swizzles_that_are_spelled_alike_none_is_edited():
    (found,) = findings(
        "k.cu", TILED.replace("using Tile_", "using B = Swizzle<2, 3, 3>;\nusing Tile_")
    )
    assert (found.access.ways, found.fix) == (2, None)
    assert "Swizzle<3,3,3>" in found.help


SHARED = """\
import cutlass
import cutlass.cute as cute

@cute.kernel
def kernel(out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    layout = cute.make_composed_layout(
        cute.make_swizzle(3, 4, 3), 0, cute.make_layout((64, 64), stride=(64, 1))
    )
    s = smem.allocate_tensor(cutlass.Float16, layout, 1024)
    s[t, 0] = out[t]
    s2 = smem.allocate_tensor(cutlass.Float16, layout.outer, 1024, swizzle=layout.inner)
    s2[t, 0] = out[t]

@cute.jit
def run(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(64, 1, 1))
"""


def test_a_swizzle_whose_other_user_would_need_more_alignment_is_not_edited():
    """As make_swizzle(5, 1, 5) it repeats after 2,048 bytes, and `s2` is aligned to 1,024."""
    found = findings("k.py", SHARED)
    assert [(f.code, f.fix) for f in found] == [("SML204", None)] + [("SML101", None)] * 2
    changed = findings("k.py", SHARED.replace("(3, 4, 3)", "(5, 1, 5)"))
    assert "SML206" in [f.code for f in changed]


def test_parameters_that_an_index_goes_through_are_named():
    """k<2, 4, 3> takes 2 wavefronts for 8 rows; under Swizzle<3, 3, 3> both instances take 1."""
    (found,) = findings("k.cu", INDEXED)
    assert (found.access.ways, found.fix) == (2, None)
    assert "`Swizzle<3,3,3>` instead of `Swizzle<B,M,S>` (line 5)" in found.help
    assert findings("k.cu", INDEXED.replace("B, M, S>{}", "3, 3, 3>{}")) == ()


def test_findings_of_one_swizzle_are_evaluated_once(monkeypatch):
    calls = []

    def counted(*given):
        calls.append(given)
        return compare_swizzle(*given)

    monkeypatch.setattr("smemlint.fix.propose.compare_swizzle", counted)
    copies = "    copy(s2r, from.partition_S(sA), from.retile_D(rA));\n"
    found = findings("k.cu", TILED.replace(copies, copies + "    __syncthreads();\n" + copies))
    assert [f.fix is not None for f in found] == [True, True]
    assert len(calls) == 1


def test_a_defect_while_a_swizzle_is_evaluated_costs_the_fix_only(monkeypatch):
    def broken(*given):
        raise ValueError("broken")

    monkeypatch.setattr("smemlint.fix.propose.compare_swizzle", broken)
    (found,) = findings("k.cu", TILED)
    assert "Swizzle<3,3,3>" in found.help
    assert (found.fix, found.no_fix.code) == (None, ReasonCode.INTERNAL_ERROR)


RECORDS = """\
#include <cute/tensor.hpp>
using namespace cute;
struct Node { float v[8]; };
__global__ void k(float *out) {
  auto layout = composition(Swizzle<2, 0, 3>{}, Layout<Shape<_8, _8>, Stride<_8, _1>>{});
  __shared__ Node s[64];
  int t = threadIdx.x;
  s[layout(t % 8, t / 8)].v[0] = t;
  __syncthreads();
  out[t] = s[layout(t % 8, t / 8)].v[0];
}
void go(float *o) { k<<<1, 64>>>(o); }
"""


def test_accesses_of_less_than_an_element_have_no_swizzle_of_elements():
    """Eight records of 32 bytes each begin in banks 0, 8, 16 and 24, in whichever order."""
    found = findings("k.cu", RECORDS)
    assert [(f.access.ways, f.fix, f.no_fix) for f in found] == [(8, None, None)] * 2


def test_without_a_swizzle_to_try_nothing_is_put_off(monkeypatch):
    """Evaluating such a kernel takes 1,607 statements; there is nothing to evaluate it for."""
    monkeypatch.setattr("smemlint.fix.propose.MAX_TRIAL_STEPS", 0)
    text = (
        "__global__ void k(float *out) {\n  __shared__ float s[1024];\n  int t = threadIdx.x, a = t;\n"
        + "  a = (a * 5 + 1) % 1024;\n" * 1_600
        + "  s[(t * t * 7 + t * 13) % 1021] = a;\n  __syncthreads();\n  out[t] = s[t];\n}\n"
        "void go(float *o) { k<<<1, 256>>>(o); }\n"
    )
    (found,) = findings("k.cu", text)
    assert (found.code, found.fix, found.no_fix) == ("SML101", None, None)
