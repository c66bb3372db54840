"""Which side of an asynchronous copy SML103 holds to be at fault."""

from __future__ import annotations

import re

import pytest

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.reasons import Topic
from smemlint.sources.source import Source

KERNEL = """\
#include <cuda_pipeline.h>
__global__ void k(const float4 *in, float4 *out) {
  __shared__ __align__(128) float4 tile[2048];
  int lane = threadIdx.x & 31;
  __pipeline_memcpy_async(&tile[%s], &in[%s], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = tile[threadIdx.x];
}
void run(float4 *in, float4 *out) { k<<<1, 32>>>(in, out); }
"""


def numbers(to: str, source: str) -> list[str]:
    """The numbers of the reason and of the help: ways first."""
    found = check([Source("k.cu", KERNEL % (to, source))], Settings()).findings
    (copy,) = (finding for finding in found if finding.code == "SML103")
    reason = re.sub(r"`.*?`", "", copy.message)
    return re.findall(r"\d+", f"{reason}; {copy.help}")


@pytest.mark.parametrize(
    ("to", "source", "expected"),
    [
        # all 512 bytes of four lines, but each lane beside one of another line (Sparse-Marlin)
        ("lane", "lane % 4 * 8 + lane / 4", ["8", "8", "128"]),
        ("lane", "lane + 2", ["2", "32", "128"]),
        ("lane", "lane / 4 * 32 + lane % 4", ["2", "64", "128", "128", "2"]),
        ("lane + 4", "lane", ["2", "64", "128", "128"]),
        ("lane", "lane * 32", ["8", "128"]),  # a column of a wide tile, or a tile of 16 bytes
        ("2 * lane", "lane", ["8", "16"]),  # gaps
        ("2 * lane", "2 * lane", ["2", "16"]),  # both sides contiguous: one edit
        # one side alone would leave eight wavefronts
        (
            "lane / 4 * 8 + lane % 4",
            "lane / 4 * 32 + lane % 4",
            ["2", "64", "64", "128", "128", "2", "128"],
        ),
        # parts of rows without padding: chunks stay in their rows, however they are swizzled
        ("lane / 2 * 8 + lane % 2", "lane", ["4", "32", "128"]),
        ("lane / 2 * 8 + (lane % 2 ^ lane / 2 % 8)", "lane", ["4", "32", "128"]),
        ("8 * lane", "lane", ["8"]),  # a column
        ("16 * lane", "lane", ["8"]),
    ],
)
def test_what_is_at_fault(to, source, expected):
    assert numbers(to, source) == expected


@pytest.mark.parametrize(
    ("pitch", "subject"),
    [
        ("n", "n"),
        ("(n & ~3)", "n & ~3"),
        ("((n + 3) / 4)", "(n + 3) / 4"),
        ("(n * m)", "n * m"),
        ("(max(n, m) >> 2)", "max(n, m) >> 2"),
    ],
)
def test_a_pitch_that_is_assumed_is_named_as_the_source_writes_it(pitch, subject):
    text = KERNEL.replace("float4 *out)", "float4 *out, int n, int m)")
    source = f"lane / 4 * {pitch} + lane % 4 + 8 * blockIdx.x"  # rows are longer than 64 bytes
    text = text.replace("(in, out)", "(in, out, n, m)") % ("lane", source)
    (copy,) = (f for f in check([Source("k.cu", text)], Settings()).findings if f.code == "SML103")
    numbers = [a.subject for a in copy.access.assumptions if a.topic is Topic.NUMBER]
    assert numbers == [subject]


FRAGMENTS = """\
#include <cuda_pipeline.h>
#include <mma.h>
__global__ void k(const half *in, float *out) {
  __shared__ __align__(128) half tile[64][32 + 8];
  int row = threadIdx.x / 4, chunk = threadIdx.x % 4;
  __pipeline_memcpy_async(&tile[row][chunk * 8], &in[row * 1024 + chunk * 8], 16);
  __pipeline_wait_prior(0);
  __syncthreads();
  %s
}
void run(half *in, float *out) { k<<<1, 256>>>(in, out); }
"""
BY_WMMA = """
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> a;
  nvcuda::wmma::load_matrix_sync(a, &tile[0][0], 40);
  out[threadIdx.x] = a.x[0];"""


@pytest.mark.parametrize(
    ("reads", "is_swizzled"),
    [("out[threadIdx.x] = tile[row][chunk];", True), (BY_WMMA, False)],
)
def test_no_swizzle_is_proposed_where_fragments_take_a_pitch(reads, is_swizzled):
    found = check([Source("k.cu", FRAGMENTS.replace("%s", reads))], Settings()).findings
    (copy,) = (finding for finding in found if finding.code == "SML103")
    assert ("Swizzle<3,4,3>" in copy.help) is is_swizzled


ROWS_OF_A_TABLE = """\
#include <cuda_pipeline.h>
__global__ void k(const int4 *in, const int *rows, int4 *out, int n) {
  __shared__ __align__(128) int4 tile[64];
  int *row = (int *)tile;  // in front of what is copied
  row[threadIdx.x & 15] = rows[threadIdx.x & 15];
  __syncthreads();
  __pipeline_memcpy_async(&tile[BEGIN + threadIdx.x], &in[row[threadIdx.x / 16] * n + threadIdx.x % 16], 16);
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
void run(int4 *in, int *rows, int4 *out, int n) { k<<<1, 32>>>(in, rows, out, n); }
"""


def test_rows_that_are_looked_up_give_a_lower_bound():
    """A warp writes five rows of shared memory, or four from a multiple of 128 bytes on."""
    texts = [Source("k.cu", ROWS_OF_A_TABLE.replace("BEGIN", begin)) for begin in "48"]
    found = [f for t in texts for f in check([t], Settings()).findings if f.code == "SML103"]
    (copy,) = found
    assert Topic.SOURCE in {a.topic for a in copy.access.assumptions}
    assert re.findall(r"\d+", f"{copy.message}; {copy.help}") == ["1", "25", "64", "128", "128"]
