"""Record fixtures/gpu/cluster.json: accesses through the shared window of a cluster.

usage (on a machine with an sm_90 GPU): python3 tests/gpu/record_cluster.py [OUT.json]

One block of two issues 64 patterns of each form, to its own memory and to that of the other: what
the profiler counts, in the order of the instructions (the compiler swaps neighbouring loads), and
for stores the cycles of an instruction where 16 warps issue it.
"""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import profiling

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests/gpu/cluster.cu"
FORMS = ("load.4", "load.8", "load.16", "store.4", "store.16", "atomic.4")
LANES = range(32)
WINDOW = 1 << 16
EQUAL_STORES = 8
"""Unrolled in the timed loop, of which ptxas leaves one."""


def wide(rng: random.Random) -> Iterator[list[int]]:
    """Offsets that are multiples of 16 bytes: strides, padded rows, random ones."""
    for stride in (0, 1, 2, 3, 4, 5, 8, 16, 32, 33):
        yield [lane * stride * 16 % WINDOW for lane in LANES]
    for stride in (4, 8, 12, 16, 20, 32, 36, 64, 128, 132, 144, 256):
        yield [lane * stride // 16 * 16 for lane in LANES]
    for pitch in (80, 144, 272, 528):
        yield [lane // 8 * pitch + lane % 8 * 16 for lane in LANES]
    while True:
        few = rng.random() >= 0.5
        if few:
            yield [rng.randrange(8) * 128 + rng.randrange(8) * 16 for _ in LANES]
        else:
            yield [rng.randrange(4096) * 16 for _ in LANES]


def patterns() -> list[list[int]]:
    """64 lists of byte offsets."""
    rng = random.Random(5)
    found = list(islice(wide(rng), 40))
    for stride in (1, 2, 3, 4, 8, 16, 31, 32, 33):
        found.append([lane * stride * 16 % WINDOW for lane in LANES])
    while len(found) < 64:
        found.append([rng.randrange(512) * 16 for _ in LANES])
    return found


def main() -> None:
    """Count and time the patterns."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "fixtures/gpu/cluster.json"
    table = patterns()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = profiling.compile_program(SOURCE, folder)
        listing, report = folder / "patterns.bin", folder / "cluster.ncu-rep"
        listing.write_bytes(b"".join(struct.pack("32i", *row) for row in table))
        timed = subprocess.run(
            [program, "time", listing], capture_output=True, text=True, check=True
        ).stdout
        profiling.profile(program, report, "count", str(listing))
        counted = list(profiling.launches(report, ("LD", "ST", "ATOM")))
    cycles = {tuple(line.split()[:2]): line.split()[2:] for line in timed.splitlines()}
    rows = []
    for number, launch in enumerate(counted):
        form, rank = FORMS[number // 2], number % 2
        row = {
            "form": form,
            "block": "other" if rank else "own",
            "wavefronts": [one.counters["wavefronts"] for one in launch.instructions],
            "ideal": [one.counters["ideal"] for one in launch.instructions],
        }
        if form.startswith("store"):
            times = cycles[str(number // 2), str(rank)]
            row["cycles"] = [round(float(t) * EQUAL_STORES, 2) for t in times]
        rows.append(json.dumps(row, separators=(",", ":")))
    shown = ",\n".join(json.dumps(row, separators=(",", ":")) for row in table)
    body = ",\n".join(rows)
    about = json.dumps(profiling.versions())
    out.write_text(f'{{"about": {about},\n"offsets": [\n{shown}\n],\n"rows": [\n{body}\n]}}\n')


if __name__ == "__main__":
    main()
