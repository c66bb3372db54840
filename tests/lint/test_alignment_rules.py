"""Where static arrays lie, as an H200 answered: which casts fault and which go well."""

from __future__ import annotations

import pytest

KERNEL = """
__global__ void k(float4 *out, const float *in, int n) {{
  {before}
  __shared__ {align} float tile[128];
  {after}
  {use}
  for (int i = threadIdx.x; i < 128; i += 32) tile[i] = in[i];
  __syncthreads();
  float4 v = *reinterpret_cast<float4 *>(&tile[threadIdx.x * 4]);
  {read}
  out[threadIdx.x] = v;
}}
void launch(float4 *o, float *i) {{ k<<<1, 32>>>(o, i, 1); }}
"""
USE = "if (threadIdx.x < 3) first[threadIdx.x] = in[threadIdx.x + n];"
READ = "v.x += first[n % 3];"


@pytest.mark.parametrize(
    ("before", "after", "faults"),
    [
        ("", "", False),
        ("__shared__ float first[3];", "", True),
        ("__shared__ float first[5];", "", True),
        ("__shared__ float first[4];", "", False),
        ("__shared__ char first[6];", "", True),
        ("", "__shared__ float first[3];", False),
        ("__shared__ float first[131];", "", True),
    ],
)
def test_it_is_what_the_hardware_says(before, after, faults, smemlint, tmp_path):
    used = bool(before or after)
    text = KERNEL.format(
        before=before, after=after, align="", use=USE if used else "", read=READ if used else ""
    )
    (tmp_path / "k.cu").write_text(text)
    code, out, _ = smemlint("check", "k.cu", "--select", "SML3", "--output-format", "concise")
    assert (code, "SML303" in out) == (int(faults), faults), out


@pytest.mark.parametrize("align", ["__align__(16)", "alignas(32)"])
def test_an_alignment_keeps_the_promise(align, smemlint, tmp_path):
    before = "__shared__ float first[3];"
    text = KERNEL.format(before=before, after="", align=align, use=USE, read=READ)
    (tmp_path / "k.cu").write_text(text)
    assert smemlint("check", "k.cu", "--select", "SML3")[:2] == (0, "")


def test_an_array_that_nothing_reads_may_be_left_out(smemlint, tmp_path):
    before = "__shared__ float first[3];"
    text = KERNEL.format(before=before, after="", align="", use=USE, read="")
    (tmp_path / "k.cu").write_text(text)
    assert smemlint("check", "k.cu", "--select", "SML3")[:2] == (0, "")
