"""What an array is offered: the smallest padding that evaluation confirms, words, or nothing."""

from __future__ import annotations

import re

import pytest
from kernels import TRANSPOSE, checked, conflicts, kernel

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.fix.edits import applied
from smemlint.fix.propose import with_fixes
from smemlint.fix.verify_by_analysis import Run
from smemlint.hardware.arch import STATIC_SHARED_LIMIT
from smemlint.sources.source import Source

BARRIER = "__syncthreads();"


def declared(finding) -> str | None:
    """The extents that a finding's fix declares."""
    return finding.fix.title.split("`")[1] if finding.fix is not None else None


def test_a_transpose_gets_one_column_more():
    (found,) = conflicts(TRANSPOSE)
    assert found.fix is not None
    assert found.help == found.fix.title
    assert declared(found) == "tile[TILE][TILE + 1]"
    assert (found.fix.is_safe, found.fix.why_unsafe) == (False, "`tile` grows by 128 bytes")
    text = applied(TRANSPOSE, found.fix.edits)
    assert text == TRANSPOSE.replace("[TILE][TILE]", "[TILE][TILE + 1]")
    assert checked(text).findings == ()
    after = found.fix.after
    assert after is not None and (after.ways, after.array.dims) == (1.0, (32, 33))
    assert [p.wavefronts for p in after.patterns] == [1] * 32


CASES = {
    # declaration, body, block, what is declared instead
    "vectors keep their alignment": (
        "__shared__ float s[32][32];",
        "*(float4 *)&s[threadIdx.x][0] = *(float4 *)out;",
        "32", "s[32][36]",
    ),
    "8-byte vectors need two": (
        "__shared__ float s[32][32];",
        "float2 v = *(float2 *)&s[threadIdx.x][0]; out[0] = v.x + v.y;",
        "32", "s[32][34]",
    ),
    "halves share words": (
        "__shared__ unsigned short s[32][64];", "s[threadIdx.x][0] = 1;", "32", "s[32][66]",
    ),
    "doubles": ("__shared__ double s[32][32];", "s[threadIdx.x][0] = 1;", "32", "s[32][33]"),
    "a middle extent": (
        "__shared__ float s[8][16][2];",
        "s[threadIdx.x][0][0] = 1; s[threadIdx.x % 8][threadIdx.x / 8][1] = n;",
        "8", "s[8][17][2]",
    ),
    "rows that are almost right": (
        "__shared__ int s[17][17];",
        "for (int i = 0; i < 16; i++) s[threadIdx.x + 1][16 - threadIdx.x] = i;",
        "16", "s[17][18]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_smallest_padding_that_frees_all_accesses(name):
    declaration, body, block, expected = CASES[name]
    text = kernel(declaration, body, block=block)
    (found, *others) = conflicts(text)
    assert declared(found) == expected
    assert all(f.fix == found.fix or f.fix.edits == found.fix.edits for f in others)
    assert checked(applied(text, found.fix.edits)).findings == ()


def test_reads_and_writes_decide_together():
    # The write wants rows 16 banks apart, the read wants them an odd number apart: one is left.
    body = (
        "s[threadIdx.x / 16][threadIdx.x % 16] = n;" + BARRIER + "out[n] = s[threadIdx.x % 16][0];"
    )
    writing, reading = conflicts(kernel("__shared__ float s[16][32];", body))
    assert (writing.message, reading.message) == (
        "2-way bank conflict writing `s`", "16-way bank conflict reading `s`",
    )  # fmt: skip
    assert declared(reading) == "s[16][33]" and "1 of 2" in reading.help
    assert writing.fix is None
    assert re.findall(r"`s\[16\]\[33\]`|\d+ wavefronts|of \d+$", writing.help) == [
        "`s[16][33]`", "3 wavefronts", "of 18",
    ]  # fmt: skip


def test_where_indices_are_flat_there_is_no_fix_but_a_swizzle():
    body = "s[threadIdx.x * 32] = n;" + BARRIER + "out[n] = s[threadIdx.x];"
    (found,) = conflicts(kernel("__shared__ float s[32 * 32];", body))
    assert found.fix is None
    assert "`i ^ ((i & 0x3e0) >> 5)`" in found.help and "Swizzle<5,0,5>" in found.help


@pytest.mark.parametrize("rows", [16, 32])
def test_instances_with_elements_of_other_sizes_are_offered_a_swizzle_of_both(rows):
    """It frees unsigned (8 ways) and unsigned long long (16 ways) in arrays of 16 columns."""
    source = (
        "template <class T, int N> __global__ void k(T *o, const T *g) { __shared__ T s[N][16];"
        " int x = threadIdx.x, y = threadIdx.y; s[y][{a}] = g[y * 16 + x]; __syncthreads();"
        " o[y * 16 + x] = s[x][{b}]; }"
        " int main() { unsigned *p; unsigned long long *q; k<unsigned, 16><<<4, dim3(16, 16)>>>(p, p);"
        f" k<unsigned long long, {rows}><<<4, dim3(16, 16)>>>(q, q); }}"
    )
    (found,) = conflicts(source.replace("{a}", "x").replace("{b}", "y"))
    assert "`s[y][x ^ (y & 15)]`" in found.help and "Swizzle<4,0,4>" in found.help
    assert conflicts(source.replace("{a}", "x ^ (y & 15)").replace("{b}", "y ^ (x & 15)")) == []


def test_code_that_counts_on_the_pitch_gets_no_fix():
    flat = "float *p = &s[0][0]; p[threadIdx.x * 32] = n;"
    parameter = "__device__ void f(float (*p)[32]) { p[threadIdx.x][0] = 1; }\n"
    for body, before in (
        (flat, ""),
        ("float *p = (float *)s; p[threadIdx.x * 32] = n;", ""),
        ("f(s);", parameter),
        ("s[threadIdx.x][0] = 1; g(&s[0][0]);", "__device__ void g(float *p);\n"),
        ("s[threadIdx.x][0] = 1; s[0][32 + threadIdx.x] = 2;", ""),
        ("AT(threadIdx.x * 32) = 1;", "#define AT(i) ((float *)s)[i]\n"),
    ):
        found = conflicts(kernel("__shared__ float s[32][32];", body, before=before))
        assert found, body
        assert [f.fix for f in found] == [None] * len(found), body
    # One row that is all of the array, in a loop of which some iterations stand for all.
    sweep = "for (int i = threadIdx.x; i < 4096; i += 32) s[0][i] = 1; s[threadIdx.x][0] = 2;"
    (found,) = conflicts(kernel("__shared__ float s[128][32];", sweep))
    assert (found.access.expression, found.fix) == ("s[threadIdx.x][0]", None)
    # One unknown count of rows away, the flat offset looks as the padded one does.
    loop = "float *p = &s[0][0]; for (int i = 0; i < n; i++) p[i * 32 + threadIdx.x * 32] = 1;"
    (found,) = conflicts(kernel("__shared__ float s[32][32];", loop))
    assert found.fix is None


def test_what_is_not_followed_may_use_the_array_so_no_other_index_is_offered():
    body = "s[threadIdx.x * 32] = n;" + BARRIER + "out[n] = s[threadIdx.x]; {use}"
    array, before = "__shared__ float s[1024];", "__device__ void g(float *p);\n"
    (found,) = conflicts(kernel(array, body.replace("{use}", "g(s);"), before=before))
    assert "Swizzle" not in found.help and "line 4" in found.help
    (found,) = conflicts(kernel(array, body.replace("{use}", "g(out);"), before=before))
    assert "Swizzle<5,0,5>" in found.help


def test_a_pointer_that_is_used_elsewhere_gets_no_fix():
    body = "float *p = &s[threadIdx.x][0]; *p = 1; p[2] = 2;"
    found = conflicts(kernel("__shared__ float s[32][32];", body))
    assert [f.fix for f in found] == [None, None]


def test_structs_get_no_fix():
    before = "struct S { float a[32][32]; };\n"
    (found,) = conflicts(kernel("__shared__ S s;", "s.a[threadIdx.x][0] = 1;", before=before))
    assert (found.fix, found.message) == (None, "32-way bank conflict writing `s`")
    # The members of an array of structs move as one.
    before = "struct P { float x, y, z; };\n"
    text = kernel("__shared__ P s[32][16];", "s[threadIdx.x][0].x = 1;", before=before)
    (found,) = conflicts(text)
    assert declared(found) == "s[32][17]"
    assert checked(applied(text, found.fix.edits)).findings == ()


def test_no_more_than_the_static_limit():
    rows = STATIC_SHARED_LIMIT // 128
    body = "for (int i = 0; i < %d; i += 32) s[i + threadIdx.x][0] = 1;"
    for count, is_offered in ((rows - 32, True), (rows, False)):
        (found,) = conflicts(kernel(f"__shared__ float s[{count}][32];", body % count))
        assert (found.fix is not None) is is_offered, count


def test_arrays_behind_it_keep_their_vectors():
    scalar, vector = "next[threadIdx.x] = n;", "*(float4 *)&next[4 * threadIdx.x] = v;"
    for declaration, use, expected in (
        ("float s[17][32], next[256]", scalar, "s[17][33]"),
        ("float s[17][32], next[256]", vector, None),  # it would begin at byte 2244
        ("float s[20][32], next[256]", vector, "s[20][33]"),
        ("float s[17][32]; __shared__ __align__(16) float next[256]", vector, "s[17][33]"),
    ):
        body = f"float4 v = *(float4 *)out; s[threadIdx.x][0] = n; {use}"
        (found,) = conflicts(kernel(f"__shared__ {declaration};", body, block="17"))
        assert declared(found) == expected, (declaration, use)


def test_a_swizzled_array_gets_no_padding():
    body = "s[threadIdx.x][threadIdx.y] = 1;"
    text = kernel("__shared__ float s[32][32];", body, block="32, 2")
    text = text.replace("__shared__", "// smemlint: swizzle(2,0,5) elements\n  __shared__")
    (found,) = conflicts(text)
    assert (found.message, found.fix) == ("8-way bank conflict writing `s`", None)


NUMBA = """\
from numba import cuda, float32

@cuda.jit
def k(a, n):
    s = cuda.shared.array((32, 32), dtype=float32)
    s[cuda.threadIdx.x, {column}] = n
    cuda.syncthreads()
    a[n] = s[0, cuda.threadIdx.x]

def run(a, n):
    k[1, 32](a, n)
"""


def test_a_shape_that_python_names_elsewhere_is_named_but_not_edited():
    text = NUMBA.replace("(32, 32)", "SHAPE").replace("\n\n@", "\nSHAPE = (32, 32)\n\n@")
    (found,) = check([Source("k.py", text.format(column=3))], Settings()).findings
    assert (found.access.ways, found.fix) == (32, None)
    assert "(32, 33)" in found.help
    healed = text.replace("(32, 32)", "(32, 33)").format(column=3)
    assert check([Source("k.py", healed)], Settings()).findings == ()
    # Where the index hides that it stays within a row, nothing is known of a longer one.
    (found,) = check([Source("k.py", text.format(column="n % 32"))], Settings()).findings
    assert (found.certainty, "(32, 33)" in found.help) == ("assumed", False)


def test_templates_share_their_declaration():
    text = """\
template <int N> __global__ void k(float *out) {
  __shared__ float s[N][N];
  s[threadIdx.x][threadIdx.y] = 1;
}
void run(float *o) { k<32><<<1, dim3(32, 8)>>>(o); k<16><<<1, 16>>>(o); }
"""
    (found,) = conflicts(text)
    assert declared(found) == "s[N][N + 1]"
    assert found.fix.why_unsafe == "`s` grows by 128 bytes"
    assert checked(applied(text, found.fix.edits)).findings == ()
    # Two columns by a warp in rows of 17: lanes 0 and 31 meet, so the instance is not healed.
    (found,) = conflicts(text.replace("<<<1, 16>>>", "<<<1, dim3(16, 2)>>>"))
    assert found.fix is None


def test_a_header_in_two_units_is_healed_in_both():
    header = "template <int N> __global__ void k(float *out) {\n  __shared__ float s[N][N];\n"
    header += "  s[threadIdx.x][0] = 1;\n}\n"
    units = [
        f'#include "k.cu"\nvoid run{n}(float *o) {{ k<{n}><<<1, 32>>>(o); }}\n' for n in (32, 64)
    ]
    found = conflicts(header, *units)
    assert [(f.span.path, declared(f)) for f in found] == [("k.cu", "s[N][N + 1]")]
    assert found[0].fix.why_unsafe == "`s` grows by 256 bytes"
    healed = applied(header, found[0].fix.edits)
    assert conflicts(healed, *units) == []


def test_a_partial_repair_says_what_is_left():
    # The second access conflicts under every pitch: lanes 32 elements apart in one row.
    body = "s[threadIdx.x][0] = 1; s[n][threadIdx.x % 4 * 32] = 2;"
    found = conflicts(kernel("__shared__ float s[32][128];", body))
    assert [f.message for f in found] == [
        "32-way bank conflict writing `s`", "4-way bank conflict writing `s`",
    ]  # fmt: skip
    assert found[0].fix is not None and found[1].fix is None
    assert declared(found[0]) == "s[32][129]" and "1 of 2" in found[0].help


def test_evaluating_has_a_budget():
    body = "for (int i = 0; i < 32; i++) s[threadIdx.x][i] = 1;"
    text = kernel("__shared__ float s[32][32];", body)
    (found,) = checked(text).findings
    assert found.fix is not None
    settings = Settings()
    sources = (Source("k.cu", text),)
    facts, _ = analyze(sources, settings)
    run = Run(sources, settings, lambda path: settings)
    (over,) = with_fixes([found], facts, run, steps_of_a_file=facts.kernels[0].steps - 1)
    assert over.help == "evaluating a padding takes long: --diff --unsafe-fixes does it"


COPIED = """#include <cuda_pipeline.h>
__global__ void k(const float *in, float *out) {{
  __shared__ __align__(128) float tile[32]{extent};
  int t = threadIdx.x;
  {copy}
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[t] = tile[{read}];
}}
void run(float *a) {{ k<<<1, 256>>>(a, a); }}
"""
WIDE = "__pipeline_memcpy_async(&tile[t / 8][t % 8 * 4], &in[t * 4], 16);"
NARROW = """for (int i = 0; i < 4; ++i)
    __pipeline_memcpy_async(&tile[t / 32 + i * 8][t % 32], &in[t + i * 256], 4);"""


def test_a_layout_that_tears_an_asynchronous_copy_is_not_offered():
    (found,) = conflicts(COPIED.format(extent="[32]", copy=WIDE, read="t % 32][t / 32"))
    assert found.fix is None and "^" not in found.help
    flat = "__pipeline_memcpy_async(&tile[t * 4], &in[t * 4], 16);"
    text = COPIED.format(extent="", copy=flat, read="t % 32 * 32 + t / 32")
    (found,) = conflicts(text.replace("tile[32]", "tile[32 * 32]"))
    assert found.fix is None and "^" not in found.help


def test_a_layout_that_suits_an_asynchronous_copy_is_offered():
    (found,) = conflicts(COPIED.format(extent="[32]", copy=NARROW, read="t % 32][t / 32"))
    assert declared(found) == "tile[32][33]"


SGEMM = """\
#define BM 128
#define BK 8
__global__ void sgemm(const float *in, float *out) {
  __shared__ __align__(16) float tile[BK][BM + 1];
  int t = threadIdx.x;
  tile[t % BK][t / BK] = in[t];
  __syncthreads();
  float4 v = *reinterpret_cast<float4 *>(&tile[t / 32][(t % 32) * 4]);
  out[t] = v.x + v.y + v.z + v.w;
}
void run(const float *in, float *out) { sgemm<<<1, 256>>>(in, out); }
"""


def test_a_row_that_misaligns_vectors_is_made_longer():
    found = {f.code: f for f in checked(SGEMM).findings}
    assert {declared(f) for f in found.values()} == {"tile[BK][BM + 4]"}
    fix = found["SML301"].fix
    assert (fix.is_safe, fix.after.ways, fix.after.array.dims) == (False, 1.0, (8, 132))
    assert checked(applied(SGEMM, fix.edits)).findings == ()


def test_where_no_row_aligns_a_vector_the_help_is_what_has_to_hold():
    text = SGEMM.replace("BM + 1", "BM").replace("(t % 32) * 4]", "(t % 32) * 4 ^ (t & 3)]")
    (found,) = (f for f in checked(text).findings if f.code == "SML301")
    assert found.fix is None and re.findall(r"\d+", found.help) == ["4", "16"]


SCAN = """\
__global__ void k(int *out) {
  __shared__ int s[512];
  int t = threadIdx.x, offset = 1;
  s[t] = out[t];
  s[t + 256] = out[t + 256];
  for (int d = 256; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  out[t] = s[t];
}
void run(int *out) { k<<<1, 256>>>(out); }
"""


def test_the_tree_of_a_scan_is_not_told_to_become_a_reduction():
    """Its elements hold sums of pairs that the way down asks for (after Blelloch)."""
    found = [f for f in conflicts(SCAN) if f.access.kind.value == "load"]
    assert [f.access.ways for f in found] == [16.0, 16.0]
    assert not any("s[t]" in f.help for f in found)


def test_a_reduction_with_growing_strides_has_help():
    text = """\
__global__ void k(float *o) {
  __shared__ float s[256];
  int t = threadIdx.x;
  for (int k = 1; k < 256; k *= 2) {
    if (2 * k * t < 256) s[2 * k * t] += s[2 * k * t + k];
    __syncthreads();
  }
  o[t] = s[0];
}
void run(float *o) { k<<<1, 256>>>(o); }
"""
    found = checked(text).findings
    assert found and all("s[t] += s[t + k]" in f.help for f in found)
    healed = text.replace("int k = 1; k < 256; k *= 2", "int k = 128; k > 0; k /= 2")
    healed = healed.replace(
        "if (2 * k * t < 256) s[2 * k * t] += s[2 * k * t + k]", "if (t < k) s[t] += s[t + k]"
    )
    assert checked(healed).findings == ()


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        ("s[threadIdx.x * (blockDim.x / 128)] = 1;", "--block-dim"),
        ("s[threadIdx.x * n] = 1;", "assume("),
    ],
)
def test_what_is_not_analysed_says_what_to_tell(body, advice):
    text = f"__global__ void k(float *g, int n) {{ __shared__ float s[4096]; {body} }}"
    (found,) = checked(text).findings
    assert found.code == "SML901" and advice in found.help


def test_a_shape_frees_the_array_in_every_block_that_is_tried(tmp_path):
    """Rows of 17 are free where 16 lanes of 32 x 8 take part, and 2-way in blocks of 16 x 16."""
    path = tmp_path / "kernel.py"
    path.write_text(
        "from numba import cuda, float32\nSHAPE = (16, 16)\n\n@cuda.jit\ndef k(A, n):\n"
        "    s = cuda.shared.array(SHAPE, float32)\n    x, y = cuda.grid(2)\n"
        "    if cuda.threadIdx.x >= n:\n        return\n"
        "    s[cuda.threadIdx.x, cuda.threadIdx.y] = A[x, y]\n"
    )
    (found,) = check([Source(str(path))], Settings()).findings
    assert re.findall(r"\d+", found.help) == ["16", "18"]
