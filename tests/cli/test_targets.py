"""Several architectures in one run."""

from __future__ import annotations

import json

KERNEL = """\
#include <cuda_pipeline.h>
__global__ void k(const float4* in, float* out) {
  __shared__ float4 t[160]; __shared__ float s[1024];
  int i = threadIdx.x;
  s[i * 32] = 1;
#if __CUDA_ARCH__ >= 900
  s[i * 16] = 2;
#endif
  __pipeline_memcpy_async(&t[i], &in[i], 16);
  __syncthreads();
  out[i] = s[i];
}
int main() { k<<<1, 32>>>(0, 0); }
"""


def test_findings_say_where_they_hold(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(KERNEL)
    code, out, _ = smemlint("check", "k.cu", "--arch", "sm_75,sm_90", "--output-format", "json")
    document = json.loads(out)
    found = {
        (f["line"], f["code"]): [n for n in f["notes"] if n.startswith("holds on")]
        for f in document["findings"]
    }
    assert (code, document["arch"]) == (1, "sm_75,sm_90")
    assert found == {
        (5, "SML101"): [],
        (7, "SML101"): ["holds on sm_90, not on sm_75"],
        (9, "SML504"): ["holds on sm_75, not on sm_90"],
        (2, "SML901"): ["holds on sm_75, not on sm_90"],
    }


def test_accesses_name_their_targets(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(KERNEL)
    _, out, _ = smemlint("analyze", "k.cu", "--arch", "sm_80,sm_90", "--output-format", "json")
    document = json.loads(out)
    archs = [(a["line"], a["kind"], a["archs"]) for a in document["accesses"]]
    assert document["arch"] == "sm_80,sm_90"
    assert (5, "store", ["sm_80", "sm_90"]) in archs
    assert (7, "store", ["sm_90"]) in archs
    copies = [a for _, kind, a in archs if kind == "async_copy"]
    assert copies == [["sm_80"], ["sm_90"]]  # what is assumed of sm_80 differs


def test_the_default_target_asks_for_nothing(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(KERNEL)
    _, out, _ = smemlint("check", "k.cu", "--output-format", "json")
    assert {f["code"] for f in json.loads(out)["findings"]} == {"SML101"}


def test_fixes_are_for_one_target(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(KERNEL)
    code, _, err = smemlint("check", "k.cu", "--arch", "sm_80,sm_90", "--fix")
    assert (code, "--arch" in err) == (2, True)
