"""Records where CuTe's Python DSL puts scale factors of sm_120, for `fixtures/cute/block_scaled.json`.

    CUTE_DSL_ARCH=sm_120a python tests/oracle/record_block_scaled.py

Needs nvidia-cutlass-dsl (4.8.1 recorded what is there); no GPU.
"""

import json
from itertools import product
from pathlib import Path

import cutlass
import cutlass.cute as cute
import cutlass.utils.blackwell_helpers as helpers
from cutlass.cute.nvgpu import warp
from cutlass.utils import blockscaled_layout

OUTPUT = Path(__file__).parents[2] / "fixtures" / "cute" / "block_scaled.json"
TILES = ((128, 128, 128), (128, 128, 256))
ATOMS = ((4, 2, 1), (2, 2, 1))
OPERANDS = (("MmaMXF4NVF4Op", 16), ("MmaMXF4Op", 32), ("MmaMXF8Op", 32))
cases = []


@cute.jit
def scale_factors():
    for tile, atoms, (name, vector) in product(TILES, ATOMS, OPERANDS):
        is_fp8 = name == "MmaMXF8Op"
        kind = cutlass.Float8E4M3FN if is_fp8 else cutlass.Float4E2M1FN
        scale = cutlass.Float8E4M3FN if vector == 16 else cutlass.Float8E8M0FNU
        op = getattr(warp, name)(kind, cutlass.Float32, scale)
        order = helpers.get_permutation_mnk(tile, vector, is_fp8)
        mma = cute.make_tiled_mma(op, cute.make_layout(atoms), permutation_mnk=order)
        cases.append({
            "tile": tile,
            "atoms": atoms,
            "op": name,
            "vector": vector,
            "a": str(helpers.get_layoutSFA_TV(mma)),
            "b": str(helpers.get_layoutSFB_TV(mma)),
            "shared": str(blockscaled_layout.sm120_make_smem_layout_sfa(mma, tile, vector, 2)),
        })  # fmt: skip


cute.compile(scale_factors)
OUTPUT.write_text(json.dumps({"version": "4.8.1", "cases": cases}, indent=1) + "\n")
