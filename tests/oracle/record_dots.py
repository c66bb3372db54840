"""Records what dot operands cost by element type and contiguous dimension (needs triton, no GPU).

    PYTHONPATH=. python tests/oracle/record_dots.py > fixtures/triton/dots.json

For a pipelined product of 128 x 128 x 64 in 3 stages: by kind and width of shared instruction how
many there are and how many wavefronts the worst pass takes, and the shared memory of the block.
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
from ptx_addresses import shared_accesses  # noqa: E402
from record_gluon_fixtures import worst_pass  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402


@triton.jit
def product(
    a_ptr, b_ptr, c_ptr, K, sa, sak, sbk, sbn, sc,
    M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    depth = tl.arange(0, BK)
    a_tile = a_ptr + rows[:, None] * sa + depth[None, :] * sak
    b_tile = b_ptr + depth[:, None] * sbk + columns[None, :] * sbn
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, K, BK):
        a = tl.load(a_tile)
        b = tl.load(b_tile)
        total += tl.dot(a, b)
        a_tile += BK * sak
        b_tile += BK * sbk
    tl.store(c_ptr + rows[:, None] * sc + columns[None, :], total)


def compiled(arch: int, kind: str, major: str, stages: int) -> Any:
    constants: dict[str, Any] = {"M": 128, "N": 128, "BK": 64, "sak": 1}
    constants["sbk" if major == "k" else "sbn"] = 1
    names = list(product.arg_names)
    types = {"a_ptr": f"*{kind}", "b_ptr": f"*{kind}", "c_ptr": "*fp32"}
    signature = {n: "constexpr" if n in constants else types.get(n, "i32") for n in names}
    attributes = {
        (i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if n not in constants
    }
    source = ASTSource(product, signature, constants, attributes)
    options = {"num_warps": 4, "num_stages": stages}
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)


def main() -> None:
    found = []
    for arch in (80, 90, 100):
        for kind in ("fp8e4nv", "fp16", "fp32"):
            for major in ("k", "n"):
                if arch == 80 and kind == "fp8e4nv":
                    continue
                made = compiled(arch, kind, major, 3)
                said: dict[str, list[int]] = {}
                for access in shared_accesses(made.asm["ptx"], 4, skip=True):
                    held = said.setdefault(f"{access.kind} {access.width}", [0, 0])
                    held[0] += 1
                    held[1] = max(held[1], worst_pass(access))
                row = {"arch": f"sm_{arch}", "type": kind, "b": major, "shared": said}
                found.append(row | {"bytes": made.metadata.shared})
    rings = []
    for arch in (80, 90, 100):
        for stages in (2, 3, 4, 6, 8):
            row = {"arch": f"sm_{arch}", "type": "fp16", "stages": stages}
            rings.append(row | {"bytes": compiled(arch, "fp16", "n", stages).metadata.shared})
    print(json.dumps({"triton": triton.__version__, "dots": found, "rings": rings}, indent=1))


if __name__ == "__main__":
    main()
