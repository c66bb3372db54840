"""TMA descriptors: boxes are judged where all numbers are known, and nowhere else."""

from __future__ import annotations

import pytest
from conftest import facts_of

CALL = """
#include <cuda.h>
CUresult encode(CUtensorMap *map, void *data, int n) {{
  cuuint64_t extents[2] = {{4096, 4096}}, strides[1] = {{8192}};
  cuuint32_t steps[2] = {{1, 1}};
  {box}
  return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_{type}, 2, data, extents, strides, box,
      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_{mode},
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}}
"""


def maps(box: str, type: str = "FLOAT16", mode: str = "128B") -> list[tuple[int, ...]]:
    facts = facts_of(CALL.format(box=box, type=type, mode=mode))
    return [(*(n for _, n in use.parameters), use.element_bytes) for use in facts.layouts]


def test_the_box_is_what_the_function_computes():
    assert maps("cuuint32_t box[2] = {64, 8};") == [(64, 8, 2)]
    assert maps("constexpr int K = 32; uint32_t box[] = {2 * K, K};", "FLOAT32") == [(64, 32, 4)]
    assert maps("uint32_t box[2]; for (int i = 0; i < 2; i++) box[i] = 64 >> i;") == [(64, 32, 2)]


@pytest.mark.parametrize(
    "box",
    [
        "uint32_t box[2] = {(uint32_t)n, 8};",
        "uint32_t box[2] = {64, 8}; if (n) box[0] = 128;",
        "uint32_t box[2] = {64}; box[n] = 8;",
        "uint32_t *box = unknown();",
    ],
)
def test_a_box_that_depends_on_an_argument_is_left_alone(box):
    assert maps(box) == []


@pytest.mark.parametrize(
    ("box", "type", "mode", "message"),
    [
        ("{128, 8}", "FLOAT16", "128B", "rows of 256 bytes are wider than the 128 bytes"),
        ("{64, 8}", "FLOAT16", "128B", ""),
        ("{64, 8}", "FLOAT16", "64B", "rows of 128 bytes are wider than the 64 bytes"),
        ("{16, 8}", "FLOAT16", "32B", ""),
        ("{64, 8}", "FLOAT32", "128B", "rows of 256 bytes are wider than the 128 bytes"),
        ("{256, 256}", "FLOAT32", "NONE", ""),
        ("{257, 1}", "UINT8", "NONE", "an extent must be 1 to 256, and 257 is not"),
        ("{12, 8}", "FLOAT16", "NONE", "rows of 24 bytes are no multiple of 16"),
        ("{64, 0}", "FLOAT16", "128B", "an extent must be 1 to 256, and 0 is not"),
    ],
)
def test_boxes_that_the_driver_refuses(box, type, mode, message, smemlint, tmp_path):
    text = CALL.format(box=f"uint32_t box[2] = {box};", type=type, mode=mode)
    (tmp_path / "k.cu").write_text(text)
    code, out, _ = smemlint("check", "k.cu", "--output-format", "concise")
    assert (code, message in out) == (1 if message else 0, True), out
