"""Records what operands cost in other tiles, and in the second product of an attention.

    PYTHONPATH=. python tests/oracle/record_attention.py > fixtures/triton/attention.json

Needs triton, no GPU. The attention's left operand is computed and stays in registers; its right one, V, is contiguous along `n` or
along `k`. By kind and width of shared instruction: how many, and wavefronts of the worst pass.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
warnings.simplefilter("ignore")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from record_dots import TILES, Mark, shared_of, specialized  # noqa: E402
from record_dots import compiled as product  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, o_ptr, L, svk, svn, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    rows = tl.arange(0, M)
    keys = tl.arange(0, N)
    depth = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + depth[None, :])
    k_tile = k_ptr + keys[None, :] * D + depth[:, None]
    v_tile = v_ptr + keys[:, None] * svk + depth[None, :] * svn
    total = tl.zeros((M, D), dtype=tl.float32)
    for _ in range(0, L, N):
        k = tl.load(k_tile)
        p = tl.exp2(tl.dot(q, k))
        v = tl.load(v_tile)
        total += tl.dot(p.to(v.dtype), v)
        k_tile += N * D
        v_tile += N * svk
    tl.store(o_ptr + rows[:, None] * D + depth[None, :], total)


def compiled(arch: int, kind: str, major: str, extents: dict[str, int]) -> Any:
    """The kernel as a launch compiles it."""
    strides = {"svk": extents["D"], "svn": 1} if major == "n" else {"svk": 1, "svn": 4096}
    numbers = {"L": 4096, **strides}
    constants: dict[str, Any] = dict(extents)
    signature, attributes = {}, {}
    for i, name in enumerate(attention.arg_names):
        says: Any = "D"
        if name in numbers:
            signature[name], says = specialized(numbers[name], Mark())
            if signature[name] == "constexpr":
                constants[name] = numbers[name]
        elif name in extents:
            signature[name] = "constexpr"
        else:
            signature[name] = "*fp32" if name == "o_ptr" else f"*{kind}"
        if says == "D" and name not in constants:
            attributes[(i,)] = [["tt.divisibility", 16]]
    source = ASTSource(attention, signature, constants, attributes)
    options = {"num_warps": 4, "num_stages": 2}
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)


def main() -> None:
    found = []
    for arch in (80, 90, 100):
        for kind in ("fp8e4nv", "fp16", "fp32"):
            for major in ("k", "n"):
                for depth in (64, 128):
                    if (arch == 80 and kind == "fp8e4nv") or (kind == "fp32" and depth == 128):
                        continue
                    extents = {"M": 128, "N": 64, "D": depth}
                    row = {"arch": f"sm_{arch}", "type": kind, "v": major, **extents}
                    try:
                        kernel = compiled(arch, kind, major, extents)
                    except Exception as error:
                        print(row, error, file=sys.stderr)
                        continue
                    found.append(row | {"shared": shared_of(kernel)})
    tiles = []
    for arch, kind in ((90, "fp8e4nv"), (90, "i8"), (90, "fp32"), (100, "fp32")):
        for tile, warps in TILES:
            row = {"arch": f"sm_{arch}", "type": kind, "tile": tile, "warps": warps}
            try:
                tiles.append(
                    row | {"shared": shared_of(product(arch, kind, "n", 3, None, tile, warps))}
                )
            except Exception as error:
                print(row, error, file=sys.stderr)
    record = {"triton": triton.__version__, "attention": found, "tiles": tiles}
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
