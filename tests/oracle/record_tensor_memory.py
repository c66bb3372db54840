"""Records what CuTe's Python DSL makes of tcgen05 epilogues, for `fixtures/cute/tensor_memory.json`.

    CUTE_DSL_ARCH=sm_100a python tests/oracle/record_tensor_memory.py

Needs nvidia-cutlass-dsl (4.8.1 recorded what is there); no GPU.
"""

import json
import warnings
from itertools import product
from pathlib import Path

import cutlass
import cutlass.cute as cute
import cutlass.utils.blackwell_helpers as sm100
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05
from cutlass.tensor_utils import LayoutEnum

warnings.simplefilter("ignore")
OUTPUT = Path(__file__).parents[2] / "fixtures" / "cute" / "tensor_memory.json"
INSTRUCTIONS = [(1, 64, n) for n in (64, 128)] + [(1, 128, n) for n in (32, 128, 256)]
INSTRUCTIONS += [(2, 128, n) for n in (64, 256)] + [(2, 256, n) for n in (64, 256)]
TYPES = [
    ("Float32", "Float32"),
    ("Float32", "Float16"),
    ("Float32", "Float8E4M3FN"),
    ("Float16", "Float16"),
]
CASES = list(product(INSTRUCTIONS, TYPES, ("ROW_MAJOR", "COL_MAJOR")))
OPERANDS = list(product(INSTRUCTIONS, ("Float16", "Float8E4M3FN", "TFloat32"), ("K", "MN")))
found = {"version": "4.8.1", "epilogues": [], "operands": []}


@cute.jit
def epilogues():
    for (ctas, m, n), (acc, d), major in CASES:
        group = tcgen05.CtaGroup.TWO if ctas == 2 else tcgen05.CtaGroup.ONE
        k_major = OperandMajorMode.K
        acc_type, d_type = getattr(cutlass, acc), getattr(cutlass, d)
        layout = getattr(LayoutEnum, major)
        tile = (m // ctas, n)
        case = {
            "ctas": ctas,
            "m": m,
            "n": n,
            "acc": acc_type.width,
            "d": d_type.width,
            "major": major,
        }
        found["epilogues"].append(case)
        mma = sm100.make_trivial_tiled_mma(
            cutlass.Float16, cutlass.Float16, k_major, k_major, acc_type, group, (m, n)
        )
        stages = cute.append(mma.partition_shape_C((m, n)), 2)
        accumulator = mma.make_fragment_C(stages)
        epilogue = sm100.compute_epilogue_tile_shape((*tile, 64), ctas == 2, layout, d_type)
        load = sm100.get_tmem_load_op((*tile, 64), layout, d_type, acc_type, epilogue, ctas == 2)
        divided = cute.flat_divide(accumulator[((None, None), 0, 0, None)], epilogue)
        t2r = tcgen05.make_tmem_copy(load, divided[(None, None, 0, 0, 0)])
        store = sm100.get_smem_store_op(layout, d_type, acc_type, t2r)
        r2s = cute.make_tiled_copy_D(store, t2r)
        case["accumulator"] = str(accumulator.layout)
        case["epilogue"] = [str(mode) for mode in epilogue]
        case["load"] = [str(t2r.layout_tv_tiled), str(t2r.layout_dst_tv_tiled)]
        case["store"] = [str(r2s.layout_src_tv_tiled), str(r2s.layout_dst_tv_tiled)]
        case["shared"] = str(sm100.make_smem_layout_epi(d_type, layout, epilogue, 2))


@cute.jit
def operands():
    for (ctas, m, n), dtype, major in OPERANDS:
        group = tcgen05.CtaGroup.TWO if ctas == 2 else tcgen05.CtaGroup.ONE
        mode, kind = getattr(OperandMajorMode, major), getattr(cutlass, dtype)
        case = {"ctas": ctas, "m": m, "n": n, "dtype": dtype, "major": major}
        found["operands"].append(case)
        mma = sm100.make_trivial_tiled_mma(kind, kind, mode, mode, cutlass.Float32, group, (m, n))
        case["a"] = str(sm100.make_smem_layout_a(mma, (m, n, 64), kind, 3))
        case["b"] = str(sm100.make_smem_layout_b(mma, (m, n, 64), kind, 3))


cute.compile(epilogues)
cute.compile(operands)
OUTPUT.write_text(json.dumps(found, indent=1) + "\n")
