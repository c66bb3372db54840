"""Record fixtures/gpu/async_copies.json: what cp.async costs on pairs of address patterns.

usage (on a machine with an sm_90 GPU): python3 tests/gpu/record_async_copies.py [OUT.json]

A row: form, 32 byte offsets in shared memory, 32 in global memory (both bases are multiples of 1,024
bytes), 32 source sizes (-1: the lane is off; left out where every lane copies its width) and the
profiler's wavefronts and ideal. `.z` forms have a source size operand (ZFILL in SASS).

Nsight Compute 2025.3.1 drops the wavefronts of a `.cg` copy that is predicated by P0, and counts one
whose source size P0 selects as if every lane copied: those rows are not recorded.
"""

from __future__ import annotations

import json
import random
import struct
import sys
import tempfile
from pathlib import Path
from typing import TypeAlias

import profiling

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests/gpu/async_copies.cu"
LANES = range(32)
WIDTHS = (("cg", 16), ("ca", 16), ("ca", 8), ("ca", 4))
PER_LAUNCH = 64

Lanes: TypeAlias = "list[int]"
Pattern: TypeAlias = "tuple[Lanes, Lanes, Lanes]"
"""Shared offsets, global offsets, sizes."""


def tile(row_bytes: int, pitch: int, width: int, by_columns: bool = False) -> Lanes:
    """Offsets of a warp that walks rows of a tile."""
    per_row = max(row_bytes // width, 1)
    rows = 32 // min(per_row, 32)
    if by_columns:
        return [lane % rows * pitch + lane // rows * width for lane in LANES]
    return [lane // per_row * pitch + lane % per_row * width for lane in LANES]


def structured(width: int, rng: random.Random) -> tuple[Lanes, Lanes]:
    """What kernels do: rows with a pitch, padding, swizzles, shifted bases."""
    row = max(rng.choice([width, 32, 64, 128, 256, 512]), width)
    by_columns = rng.random() < 0.1
    pitch = max(rng.choice([row, 256, 528, 1024, 2064, 4096]), row)
    source = tile(row, pitch, width, by_columns)
    base = rng.choice([0, 0, 0, 16, 32, 64, 96])
    padding = rng.choice([0, 0, 16, 16, 32, 64, 8 * width])
    to = tile(row, row + padding, width, by_columns and rng.random() < 0.7)
    bits = rng.choice([0, 1, 2, 3])
    to = [at ^ (at >> 3 & ((1 << bits) - 1) << 4) for at in to]
    return to, [at + base for at in source]


def scattered(width: int, rng: random.Random) -> tuple[Lanes, Lanes]:
    """Units of a few rows and lines, with and without equal addresses."""
    sides = []
    for _ in "sg":
        units = max(rng.choice([1, 2, 4, 16]) * 128 // width, 32)
        few = rng.choice([units, units // 2])
        repeats = rng.random() < 0.5 or few < 32
        chosen = [rng.randrange(few) for _ in LANES] if repeats else rng.sample(range(few), 32)
        sides.append([unit * width for unit in chosen])
    return sides[0], sides[1]


def lanes_on(rng: random.Random) -> list[bool]:
    """Which lanes take part."""
    few = rng.randrange(1, 33)
    return rng.choice(
        [
            [lane < few for lane in LANES],
            [lane % 3 == 0 for lane in LANES],
            [rng.random() < 0.6 for _ in LANES],
            [lane // 8 % 2 == 1 for lane in LANES],
        ]
    )


def patterns(cache: str, width: int, variant: str) -> list[Pattern]:
    """Patterns of a form: `plain`, `masked` (lanes off) or `sized` (source sizes)."""
    rng = random.Random(f"{cache}{width}{variant}")
    found: list[Pattern] = []
    for number in range(3 * PER_LAUNCH if variant == "plain" else PER_LAUNCH):
        to, source = (structured if number % 2 else scattered)(width, rng)
        sizes = [width] * 32
        if variant == "masked":
            sizes = [width if on else -1 for on in lanes_on(rng)]
        elif variant == "sized" and cache == "ca":
            sizes = [width if on else 0 for on in lanes_on(rng)]
        found.append((to, source, sizes))
    return found


def record(program: Path, number: int, table: list[Pattern], folder: Path) -> list[tuple[int, int]]:
    """Wavefronts and ideal per pattern; -1 where the profiler drops them."""
    listing, report = folder / "patterns.bin", folder / f"{number}.ncu-rep"
    listing.write_bytes(b"".join(struct.pack("96i", *a, *b, *c) for a, b, c in table))
    profiling.profile(program, report, str(number), str(listing))
    rows = []
    for launch in profiling.launches(report, ("LDGSTS",)):
        assert len(launch.instructions) == PER_LAUNCH, launch
        for one in launch.instructions:
            words = one.sass.rstrip(" ;").split()
            hangs_on_p0 = "P0" in (words[0].lstrip("@!"), words[-1].lstrip("!"))
            is_dropped = "BYPASS" in one.sass and hangs_on_p0
            counted = one.counters["wavefronts"], one.counters["ideal"]
            rows.append((-1, -1) if is_dropped else counted)
    return rows


def main() -> None:
    """Profile every form on its patterns."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "fixtures/gpu/async_copies.json"
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = profiling.compile_program(SOURCE, folder)
        for v, variant in enumerate(("plain", "masked", "sized")):
            for w, (cache, width) in enumerate(WIDTHS):
                table = patterns(cache, width, variant)
                counted = record(program, len(WIDTHS) * v + w, table, folder)
                for (to, source, sizes), (wavefronts, ideal) in zip(table, counted, strict=True):
                    if wavefronts < 0:
                        continue
                    form = f"{cache}.{width}" + ".z" * (variant == "sized")
                    row: dict[str, object] = {"form": form, "shared": to, "global": source}
                    if any(size != width for size in sizes):
                        row["sizes"] = sizes
                    row |= {"wavefronts": wavefronts, "ideal": ideal}
                    lines.append(json.dumps(row, separators=(",", ":")))
    body = ",\n".join(lines)
    out.write_text(f'{{"about": {json.dumps(profiling.versions())},\n"rows": [\n{body}\n]}}\n')
    print(f"{len(lines)} rows")


if __name__ == "__main__":
    main()
