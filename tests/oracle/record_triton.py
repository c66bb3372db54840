"""Records Triton's shared layouts as offset bases (needs the triton wheel, no GPU).

    python tests/oracle/record_triton.py > fixtures/triton/layouts.json

Each entry is the layout's class and arguments, the block's shape, and for every bit of the element
offset the coordinate that it adds by exclusive-or.
"""

from __future__ import annotations

import itertools
import json

import triton
from triton._C.libtriton import gluon_ir, ir, nvidia
from triton.experimental.gluon import language as gl

SHAPES = ((16, 16), (32, 32), (64, 64), (128, 64), (64, 128), (8, 8), (32, 8), (128, 16))


def main() -> None:
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    module = builder.create_module()
    # Without these attributes and an insertion point the verifiers crash.
    module.set_attr("ttg.target", builder.get_string_attr("cuda:90"))
    for name, value in (("num-warps", 4), ("num-ctas", 1), ("threads-per-warp", 32)):
        module.set_attr(f"ttg.{name}", builder.get_int32_attr(value))
    function = builder.get_or_insert_function(
        module, "f", builder.get_function_ty([], []), "public", False
    )
    module.push_back(function)
    builder.set_insertion_point_to_start(function.add_entry_block())

    def bases(layout: object, shape: tuple[int, int]) -> list[list[int]]:
        linear = builder.to_linear_layout(layout._to_ir(builder), list(shape))
        return linear.offset_bases

    found = []
    for shape, order in itertools.product(SHAPES, ((1, 0), (0, 1))):
        for vec, per_phase, phases in itertools.product(
            (1, 2, 4, 8, 16), (1, 2, 4, 8), (1, 2, 4, 8, 16, 32)
        ):
            if vec > shape[order[0]]:
                continue
            one = gl.SwizzledSharedLayout(vec, per_phase, phases, list(order))
            record = ["swizzled", [vec, per_phase, phases, list(order)]]
            found.append([*record, list(shape), bases(one, shape)])
    for mode, bits, flipped in itertools.product((0, 32, 64, 128), (8, 16, 32), (False, True)):
        for shape in ((64, 64), (128, 64), (64, 128), (64, 256), (16, 32)):
            rows, columns = shape[::-1] if flipped else shape
            if columns * bits // 8 < max(mode, 16) or rows < 8:
                continue
            one = gl.NVMMASharedLayout(mode, bits, 2, flipped)
            found.append(["nvmma", [mode, bits, flipped], list(shape), bases(one, shape)])
    print(json.dumps({"triton": triton.__version__, "layouts": found}, separators=(",", ":")))


if __name__ == "__main__":
    main()
