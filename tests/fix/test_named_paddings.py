"""Constants that pad rows, free elements behind runs, and what is said where nothing helps."""

from __future__ import annotations

import pytest
from kernels import checked, conflicts, kernel

from smemlint.fix.edits import applied

ROWS = """\
{define}
template <int SKEW>
__global__ void k(float *out, const float *in) {{
  __shared__ float s[{extent}];
  s[threadIdx.y][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x][threadIdx.y];
}}
void run(float *out, const float *in) {{ k<{skew}><<<1, dim3(32, 32)>>>(out, in); }}
"""


@pytest.mark.parametrize(
    "define", ["#define PAD {}", "constexpr int PAD = {};", "const int PAD = {};"]
)
def test_a_constant_that_only_pads_is_changed_itself(define):
    text = ROWS.format(define=define.format(0), extent="32][32 + PAD", skew=0)
    (found,) = conflicts(text)
    healed = ROWS.format(define=define.format(1), extent="32][32 + PAD", skew=0)
    assert applied(text, found.fix.edits) == healed
    assert conflicts(healed) == []


def test_a_constant_that_others_use_stays_and_is_named():
    text = ROWS.format(define="#define PAD 0\nint other = PAD;", extent="32][32 + PAD", skew=0)
    (found,) = conflicts(text)
    assert applied(text, found.fix.edits) == text.replace("[32 + PAD]", "[32 + PAD + 1]")
    assert "`PAD` = 1" in found.fix.title


def test_a_constant_whose_other_uses_would_fault_is_not_named():
    """With `PAD` = 1 the last lane reads beyond the end of `u`."""
    body = "s[threadIdx.x][threadIdx.y] = n; u[threadIdx.x] = n; __syncthreads();"
    body += "out[n] = s[threadIdx.y][threadIdx.x] + u[threadIdx.x + PAD];"
    arrays = "__shared__ float s[32][32 + PAD]; __shared__ float u[32];"
    found = conflicts(kernel(arrays, body, block="32, 32", before="#define PAD 0\n"))
    assert found
    for each in found:
        assert "[32 + PAD + 1]" in each.fix.title
        assert "`PAD`" not in each.fix.title


def test_a_template_argument_is_named():
    text = ROWS.format(define="", extent="32][32 + SKEW", skew=0)
    (found,) = conflicts(text)
    assert applied(text, found.fix.edits) == text.replace("+ SKEW]", "+ SKEW + 1]")
    assert "`SKEW` = 1" in found.fix.title
    assert conflicts(text.replace("k<0>", "k<1>")) == []


@pytest.mark.parametrize(
    ("define", "extent", "padded"),
    [
        # 010 is 8, and the constant of a shift is not what is added to the extent.
        ("#define PAD 010", "32][24 + PAD", "32][24 + PAD + 1"),
        ("#define PAD 1", "32][16 << 0 + PAD", "32][(16 << 0 + PAD) + 1"),
    ],
)
def test_no_value_is_named_of_what_is_no_decimal_addend(define, extent, padded):
    text = ROWS.format(define=define, extent=extent, skew=0)
    (found,) = conflicts(text)
    assert applied(text, found.fix.edits) == ROWS.format(define=define, extent=padded, skew=0)
    assert "`PAD`" not in found.fix.title


DYNAMIC = """\
#define SKEW {skew}
__global__ void k(float *out, const float *in) {{
  extern __shared__ float s[][32 + SKEW];
  float *p = &s[0][0];
  p[threadIdx.y * (32 + SKEW) + threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = p[threadIdx.x * (32 + SKEW) + threadIdx.y];
}}
void run(float *out, const float *in) {{
  k<<<1, dim3(32, 32), 32 * (32 + SKEW) * 4>>>(out, in);
}}
"""


def test_another_value_of_a_constant_is_evaluated_where_the_code_computes_rows_itself():
    (found,) = conflicts(DYNAMIC.format(skew=16))
    assert (found.access.ways, found.fix) == (16, None)
    # 32 stores of 1 and 32 loads of 16 wavefronts; 33 elements a row need least memory.
    assert "`SKEW` = 1 " in found.help and "544" in found.help and " 64 " in found.help
    assert conflicts(DYNAMIC.format(skew=1)) == []


def test_no_other_value_is_named_where_a_use_of_the_array_is_not_followed():
    """What another function reads with the old rows may conflict with the new ones."""
    hidden = "__device__ float row(const float *p);\n" + DYNAMIC.format(skew=16).replace(
        "out[threadIdx.x] =", "out[threadIdx.x] = row(p + threadIdx.y) +"
    )
    (found,) = conflicts(hidden)
    assert (found.access.ways, found.fix) == (16, None)
    assert "`SKEW`" not in found.help


FLAT = """\
#define PAD 2
__global__ void k(float *out) {
  __shared__ __align__(16) float s[32][32 + PAD];
  float *flat = &s[0][0];
  float4 v = *reinterpret_cast<float4 *>(flat + 8 * threadIdx.x);
  out[threadIdx.x] = v.x + v.y + v.z + v.w + s[threadIdx.x][1];
}
void run(float *out) { k<<<1, 32>>>(out); }
"""


def test_a_constant_that_would_misalign_a_vector_is_no_candidate():
    """With 36 elements a row, row 1 from element 6 on lies at byte 168."""
    found = conflicts(FLAT)
    assert [(f.access.width_bytes, f.access.ways, f.no_fix) for f in found] == [
        (16, 2, None), (4, 2, None),
    ]  # fmt: skip


VECTORS = """\
__global__ void k(float *out, const float *in) {{
  __shared__ float s[{size}];
  int tid = threadIdx.x;
  for (int k = 0; k < 8; ++k) s[{write}] = in[tid + 256 * k];
  __syncthreads();
  float sum = 0;
  #pragma unroll
  for (int k = 0; k < 8; ++k) sum += s[{read}];
  out[tid] = sum;
}}
void run(float *out, const float *in) {{ k<<<1, 256>>>(out, in); }}
"""


def test_elements_are_left_free_where_a_swizzle_would_split_vectors():
    """SASS of nvcc 13.0.88, sm_90: two LDS.128 before and after, eight LDS for `(x + j) / 32`."""
    plain = VECTORS.format(size=2048, write="tid + 256 * k", read="tid * 8 + k")
    (found,) = conflicts(plain)
    assert (found.access.ways, found.access.width_bytes) == (2, 16)
    assert "x + x / 32 * 4 + j" in found.help and "2304" in found.help
    write = "(tid + 256 * k) + (tid + 256 * k) / 32 * 4"
    healed = VECTORS.format(size=2304, write=write, read="tid * 8 + tid * 8 / 32 * 4 + k")
    assert conflicts(healed) == []
    (load,) = [a for k in checked(healed).facts.kernels for a in k.accesses if a.kind == "load"]
    assert (load.width_bytes, load.wavefronts.mean) == (16, 4)
    read = "(tid * 8 + k) + (tid * 8 + k) / 32 * 4"
    (split,) = conflicts(VECTORS.format(size=2304, write=write, read=read))
    assert split.access.width_bytes == 4


def test_vectors_of_macros_are_not_swizzled():
    """SASS of nvcc 13.0.88, sm_90: a swizzle of `x` makes six LDS.64 of three LDS.128."""
    text = VECTORS.format(size=2048, write="tid + 256 * k", read="tid * 8 + k")
    hidden = "#define AT(x) s[x]\n" + text.replace("s[tid * 8 + k]", "AT(tid * 8 + k)")
    (found,) = conflicts(hidden)
    assert (found.access.ways, found.access.width_bytes) == (2, 16)
    assert "x + x / 32 * 4 + j" in found.help and " ^ " not in found.help


def test_vectors_that_fault_are_no_access_out_of_bounds():
    text = """\
__global__ void k(float *out) {
  __shared__ float s[64];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  *(float4 *)out = *(float4 *)&s[threadIdx.x + 32];
}
void run(float *out) { k<<<1, 32>>>(out); }
"""
    assert {f.code for f in checked(text).findings} - {"SML101"} == {"SML301"}
