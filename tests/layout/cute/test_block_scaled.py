"""Scale factors of sm_120 against nvidia-cutlass-dsl (fixtures/cute/block_scaled.json)."""

import json
from pathlib import Path

import pytest
from printed_layouts import offsets, printed

from smemlint.layout import cute

RECORDED = json.loads(
    (Path(__file__).parents[3] / "fixtures" / "cute" / "block_scaled.json").read_text()
)


@pytest.mark.parametrize("case", RECORDED["cases"])
def test_scale_factors_are_those_of_the_dsl(case):
    is_fp4 = case["op"] != "MmaMXF8Op"
    name = "SM80_16x8x64_S32S4S4S32_TN" if is_fp4 else "SM80_16x8x32_S32S8S8S32_TN"
    order = cute.warp_permutation(tuple(case["tile"]), case["vector"], is_fp4=is_fp4)
    mma = cute.TiledMma(cute.mma_op(name), cute.Layout(tuple(case["atoms"])), order)
    found = [cute.scale_factor_thread_value(mma, operand) for operand in "AB"]
    assert [offsets(f) for f in found] == [offsets(printed(case[key])) for key in "ab"]
    m, _, k = case["tile"]
    shared = cute.scale_factor_layout(mma, m, k, case["vector"], 2)
    assert offsets(shared) == offsets(printed(case["shared"]))
