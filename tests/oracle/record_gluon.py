"""Records which shared addresses Gluon's loads and stores get (needs the triton wheel, no GPU).

    PYTHONPATH=. python tests/oracle/record_gluon.py 450 2026 > one.json
    PYTHONPATH=. python tests/oracle/record_gluon.py 420 771121 > two.json

The accesses of both runs stand in fixtures/triton/accesses.json.

Compiles kernels that store and load one shared tensor with random layouts to PTX for sm_90 and
evaluates every shared address of all lanes of four warps. Each entry is the access, what was done
to the descriptor, the shared layout, the register layout, the shape, the element's bits, what
Triton's own `bank_conflicts` counts (None where it refuses or would abort), and by kind, width and
matrices how many instructions there are and a digest of their addresses.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import triton  # noqa: E402
from ptx_addresses import SharedAccess, shared_accesses  # noqa: E402
from triton._C.libtriton import gluon_ir, ir, nvidia  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.experimental import gluon  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402
from triton.experimental.gluon._runtime import GluonASTSource  # noqa: E402

WARPS = 4
TYPES = {8: "i8", 16: "fp16", 32: "fp32", 64: "fp64"}


@gluon.jit
def kernel(
    x_ptr, y_ptr, v, stored: gl.constexpr, loaded: gl.constexpr, layout: gl.constexpr,
    shape: gl.constexpr, whole: gl.constexpr, step: gl.constexpr,
):  # fmt: skip
    """Stores a scalar everywhere with one layout, loads with another."""
    s = gl.allocate_shared_memory(x_ptr.dtype.element_ty, whole, layout)
    if step[0] == "index":
        s = s.index(step[1])
    if step[0] == "slice":
        s = s.slice(step[1], step[2], step[3])
    if step[0] == "permute":
        s = s.permute([1, 0])
    if step[0] == "reshape":
        s = s.reshape(shape)
    s.store(gl.full(shape, v, x_ptr.dtype.element_ty, stored))
    gl.barrier()
    y = s.load(loaded)
    rows = gl.arange(0, shape[0], gl.SliceLayout(1, loaded))
    columns = gl.arange(0, shape[1], gl.SliceLayout(0, loaded))
    gl.store(y_ptr + rows[:, None] * shape[1] + columns[None, :], y)


def ptx_of(
    stored: Any, loaded: Any, layout: Any, shape: list[int], whole: list[int], step: list[Any],
    bits: int,
) -> str:  # fmt: skip
    """The PTX of the kernel."""
    constants = {
        "stored": stored, "loaded": loaded, "layout": layout, "shape": shape, "whole": whole,
        "step": step or ["none"],
    }  # fmt: skip
    kind = TYPES[bits]
    signature = {"x_ptr": f"*{kind}", "y_ptr": f"*{kind}", "v": kind}
    signature |= dict.fromkeys(constants, "constexpr")
    source = GluonASTSource(kernel, signature, constants, {(1,): [["tt.divisibility", 16]]})
    compiled = triton.compile(
        source, target=GPUTarget("cuda", 90, 32), options={"num_warps": WARPS}
    )
    return compiled.asm["ptx"]


def shuffled_bases(rng: random.Random, shape: list[int], mixed: int) -> list[list[int]]:
    """Bases of all elements in a random order, some combined by exclusive-or."""
    found = [
        [1 << i if e == d else 0 for e in range(2)]
        for d, extent in enumerate(shape)
        for i in range(extent.bit_length() - 1)
    ]
    rng.shuffle(found)
    for _ in range(mixed):
        i, j = rng.sample(range(len(found)), 2)
        found[i] = [x ^ y for x, y in zip(found[i], found[j], strict=True)]
    return found


def random_registers(rng: random.Random, shape: list[int]) -> list[Any]:
    """A register layout."""
    chance = rng.random()
    warps = rng.choice([[4, 1], [2, 2], [1, 4]])
    if chance < 0.55:
        sizes = [2 ** rng.randint(0, 3) for _ in range(2)]
        lanes = rng.randint(0, 5)
        threads = [2**lanes, 2 ** (5 - lanes)]
        return ["blocked", sizes, threads, warps, rng.choice([[1, 0], [0, 1]])]
    if chance < 0.7:
        found = shuffled_bases(rng, shape, 0)
        many = len(found) - 7
        return ["linear", found[:many], found[many : many + 5], found[many + 5 :]]
    if chance < 0.8:
        return ["mma", 2, warps, [16, 8]]
    if chance < 0.85:
        return ["mma", 3, [4, 1], [16, 32, 16]]
    return ["dot", rng.randint(0, 1), ["mma", 2, warps, [16, 8]], rng.choice([1, 2, 4])]


def random_shared(rng: random.Random, shape: list[int], bits: int) -> list[Any]:
    """A shared layout."""
    chance = rng.random()
    order = rng.choice([[1, 0], [0, 1]])
    if chance < 0.45:
        vec = min(2 ** rng.randint(0, 4), shape[order[0]])
        return ["swizzled", vec, 2 ** rng.randint(0, 2), 2 ** rng.randint(0, 5), order]
    if chance < 0.65 and bits < 64:
        flipped = rng.random() < 0.5
        rows, columns = shape[::-1] if flipped else shape
        widths = [w for w in (0, 32, 64, 128) if w <= columns * bits // 8]
        if rows >= 8:
            return ["nvmma", rng.choice(widths), flipped]
    if chance < 0.85:
        return ["padded", [[2 ** rng.randint(3, 7), 2 ** rng.randint(0, 4)]], order]
    return ["bases", shuffled_bases(rng, shape, rng.choice([0, 0, 0, 2]))]


def theirs(record: list[Any], shape: list[int], bits: int) -> Any:
    """A recorded layout as Gluon's."""
    name, *rest = record
    match name:
        case "blocked":
            return gl.BlockedLayout(*rest)
        case "linear":
            return gl.DistributedLinearLayout(*rest, [], shape)
        case "mma":
            return gl.NVMMADistributedLayout([rest[0], 0], *rest[1:])
        case "dot":
            return gl.DotOperandLayout(rest[0], theirs(rest[1], shape, bits), rest[2])
        case "swizzled":
            return gl.SwizzledSharedLayout(*rest)
        case "nvmma":
            return gl.NVMMASharedLayout(rest[0], bits, 2, rest[1])
        case "padded":
            return gl.PaddedSharedLayout.with_identity_for(rest[0], shape, rest[1])
        case "bases":
            return gl.SharedLinearLayout(rest[0])
    raise ValueError(name)


def random_step(rng: random.Random, shape: list[int]) -> tuple[list[int], list[Any]]:
    """A shape to allocate, and what makes a view of the wanted shape of it."""
    rows, columns = shape
    match rng.choice(["index", "slice", "permute", "reshape"]):
        case "index":
            return [4, *shape], ["index", rng.randint(1, 3)]
        case "slice":
            dim = rng.randint(0, 1)
            whole = [rows * 2, columns] if dim == 0 else [rows, columns * 2]
            return whole, ["slice", shape[dim], shape[dim], dim]
        case "permute":
            return [columns, rows], ["permute", [1, 0]]
    return [rows * 2, columns // 2], ["reshape", shape]


def digests(found: list[SharedAccess]) -> dict[str, list[Any]]:
    """By kind, width and matrices: how many instructions, and a digest of their addresses."""
    groups: dict[str, list[bytes]] = defaultdict(list)
    for one in found:
        lanes = 8 * one.matrices or 32
        rows = np.ascontiguousarray(one.addresses[:, :lanes]).tobytes()
        groups[f"{one.kind} {one.width} {one.matrices}"].append(rows)
    return {
        key: [len(rows), hashlib.sha256(b"".join(sorted(rows))).hexdigest()[:16]]
        for key, rows in sorted(groups.items())
    }


class Counter:
    """Triton's own count; without these attributes and an insertion point it crashes."""

    def __init__(self) -> None:
        self._context = ir.context()
        ir.load_dialects(self._context)
        nvidia.load_dialects(self._context)
        self._builder = builder = gluon_ir.GluonOpBuilder(self._context)
        self._module = module = builder.create_module()
        module.set_attr("ttg.target", builder.get_string_attr("cuda:90"))
        for name, value in (("num-warps", WARPS), ("num-ctas", 1), ("threads-per-warp", 32)):
            module.set_attr(f"ttg.{name}", builder.get_int32_attr(value))
        function = builder.get_or_insert_function(
            module, "f", builder.get_function_ty([], []), "public", False
        )
        module.push_back(function)
        self._entry = function.add_entry_block()
        builder.set_insertion_point_to_start(self._entry)

    def count(self, registers: Any, shared: Any, shape: list[int], bits: int) -> int | None:
        """Wavefronts beyond one of the worst pass; None where Triton does not say."""
        if isinstance(shared, gl.PaddedSharedLayout):
            return None  # it would abort the process
        builder = self._builder
        try:
            return builder.get_shared_bank_conflicts(
                registers._to_ir(builder), shared._to_ir(builder), shape, bits
            )
        except Exception:
            return None


def main() -> None:
    rng = random.Random(int(sys.argv[2]))
    counter = Counter()
    found: list[Any] = []
    refused = 0
    for number in range(int(sys.argv[1])):
        shape = [2 ** rng.randint(4, 7), 2 ** rng.randint(4, 7)]
        bits = rng.choice(list(TYPES))
        whole, step = random_step(rng, shape) if number % 4 == 3 else (shape, [])
        layout = random_shared(rng, whole[-2:], bits)
        stored, loaded = random_registers(rng, shape), random_registers(rng, shape)
        try:
            shared = theirs(layout, whole[-2:], bits)
            one, two = theirs(stored, shape, bits), theirs(loaded, shape, bits)
            accesses = shared_accesses(ptx_of(one, two, shared, shape, whole, step, bits), WARPS)
        except Exception as error:
            refused += 1
            print(step, layout, stored, type(error).__name__, str(error)[:90], file=sys.stderr)
            continue
        for name, access, registers in (("store", stored, one), ("load", loaded, two)):
            mine = [a for a in accesses if a.kind[0] == name[0]]
            count = None if step else counter.count(registers, shared, shape, bits)
            steps = [step] if step else []
            found.append(
                [name, steps, layout, access, shape, whole[-2:], bits, count, digests(mine)]
            )
    print(f"{len(found)} accesses, {refused} kernels refused", file=sys.stderr)
    lines = ",\n".join(json.dumps(f, separators=(",", ":")) for f in found)
    print(f'{{"triton":"{triton.__version__}","accesses":[\n{lines}\n]}}')


if __name__ == "__main__":
    main()
