"""Records what dot operands cost by element type and contiguous dimension (needs triton, no GPU).

    PYTHONPATH=. python tests/oracle/record_dots.py > fixtures/triton/dots.json

For a pipelined product of 128 x 128 x 64 in 3 stages: by kind and width of shared instruction how
many there are and how many wavefronts the worst pass takes, and the shared memory of the block.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
warnings.simplefilter("ignore")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from ptx_addresses import shared_accesses  # noqa: E402
from record_gluon_fixtures import worst_pass  # noqa: E402
from triton._C.libtriton import native_specialize_impl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.backends.nvidia.compiler import CUDABackend  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402


@triton.jit
def product(
    a_ptr, b_ptr, c_ptr, K, sa, sak, sbk, sbn, sc,
    M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, SUM: tl.constexpr,
):  # fmt: skip
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    depth = tl.arange(0, BK)
    a_tile = a_ptr + rows[:, None] * sa + depth[None, :] * sak
    b_tile = b_ptr + depth[:, None] * sbk + columns[None, :] * sbn
    total = tl.zeros((M, N), dtype=SUM)
    for _ in range(0, K, BK):
        a = tl.load(a_tile)
        b = tl.load(b_tile)
        total += tl.dot(a, b)
        a_tile += BK * sak
        b_tile += BK * sbk
    tl.store(c_ptr + rows[:, None] * sc + columns[None, :], total)


@dataclass(frozen=True, slots=True)
class Mark:
    """What the source says of a parameter, as `triton.runtime.jit.KernelParam` reads it."""

    annotation: str = ""
    specializes: bool = True
    aligns: bool = True


MARKS = {
    "none": {},
    "sbn: tl.int64": {"sbn": Mark("i64")},
    "sbk: tl.int64": {"sbk": Mark("i64")},
    "sbk: tl.int64, sbn: tl.int64": {"sbk": Mark("i64"), "sbn": Mark("i64")},
    "do_not_specialize=[sbn]": {"sbn": Mark(specializes=False)},
    "do_not_specialize=[sbk]": {"sbk": Mark(specializes=False)},
    "do_not_specialize_on_alignment=[sbn]": {"sbn": Mark(aligns=False)},
    "do_not_specialize_on_alignment=[sbk]": {"sbk": Mark(aligns=False)},
}


def specialized(value: int, mark: Mark) -> tuple[str, str | int | None]:
    """The type of a parameter and what is known of it, as `create_function_from_signature`."""
    result = native_specialize_impl(CUDABackend, value, False, mark.specializes, mark.aligns)
    return (mark.annotation, *result[1:]) if mark.annotation else result


def compiled(
    arch: int,
    kind: str,
    major: str,
    stages: int,
    marks: dict[str, Mark] | None = None,
    tile: tuple[int, int, int] = (128, 128, 64),
    warps: int = 4,
) -> Any:
    """The kernel as a launch compiles it whose strides are 1 and multiples of 16."""
    sums = tl.int32 if kind == "i8" else tl.float32
    constants: dict[str, Any] = dict(zip(("M", "N", "BK"), tile, strict=True)) | {"SUM": sums}
    strides = {"sa": 64, "sak": 1, "sbk": 64, "sbn": 1, "sc": 64, "K": 64}
    if major == "k":
        strides |= {"sbk": 1, "sbn": 64}
    types = {"a_ptr": f"*{kind}", "b_ptr": f"*{kind}", "c_ptr": "*i32" if kind == "i8" else "*fp32"}
    names = list(product.arg_names)
    signature, attributes = {}, {}
    for i, name in enumerate(names):
        if name in strides:
            signature[name], says = specialized(strides[name], (marks or {}).get(name, Mark()))
            if signature[name] == "constexpr":
                constants[name] = strides[name]
        else:
            signature[name] = "constexpr" if name in constants else types[name]
            says = "D"
        if says == "D" and name not in constants:
            attributes[(i,)] = [["tt.divisibility", 16]]
    source = ASTSource(product, signature, constants, attributes)
    options = {"num_warps": warps, "num_stages": stages}
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)


def shared_of(kernel: Any) -> dict[str, list[int]]:
    """By kind and width: how many instructions, and wavefronts of the worst pass."""
    figures: dict[str, list[int]] = {}
    for access in shared_accesses(kernel.asm["ptx"], 4, skip=True):
        figure = figures.setdefault(f"{access.kind} {access.width}", [0, 0])
        figure[0] += 1
        figure[1] = max(figure[1], worst_pass(access))
    return figures


TILES = (
    ((128, 32, 64), 4), ((128, 64, 64), 4), ((128, 128, 64), 4), ((128, 256, 64), 8),
    ((128, 128, 64), 8), ((64, 128, 64), 4), ((128, 128, 32), 4), ((128, 128, 128), 8),
    ((256, 64, 32), 8),
)  # fmt: skip


def main() -> None:
    found = []
    for arch in (80, 86, 89, 90, 100, 120):
        for kind in ("i8", "fp8e4nv", "fp16", "fp32"):
            for major in ("k", "n"):
                if arch < 89 and kind == "fp8e4nv":
                    continue
                kernel = compiled(arch, kind, major, 3)
                row = {"arch": f"sm_{arch}", "type": kind, "b": major, "shared": shared_of(kernel)}
                found.append(row | {"bytes": kernel.metadata.shared})
    strides = []
    for arch in (80, 90, 100):
        for label, marks in MARKS.items():
            row = {"arch": f"sm_{arch}", "type": "fp16", "b": "n", "marks": label}
            strides.append(row | {"shared": shared_of(compiled(arch, "fp16", "n", 3, marks))})
    rings = []
    for arch in (80, 90, 100):
        for stages in (2, 3, 4, 6, 8):
            row = {"arch": f"sm_{arch}", "type": "fp16", "stages": stages}
            rings.append(row | {"bytes": compiled(arch, "fp16", "n", stages).metadata.shared})
    print(
        json.dumps(
            {"triton": triton.__version__, "dots": found, "rings": rings, "strides": strides},
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
