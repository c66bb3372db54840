"""Record fixtures/gpu/paired_lanes.json: wide loads whose lanes pair up, by both of ncu's counters.

usage (on a machine with an sm_90 GPU, ncu and nvcc): python3 tests/gpu/record_paired_lanes.py [OUT.json]

The counter of a launch is the hardware's; that of a line, which profilers show beside the source,
merges lanes that pair up only where the merged access is free of conflicts.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COUNTERS = (
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
)


def patterns() -> list[list[int]]:
    """A width and 32 byte offsets each; lane l has the address of l^1 or of l^2."""
    draw = random.Random(7)
    found = []
    for number in range(240):
        width, bit = (8 if number % 2 else 16), number // 2 % 2 + 1
        cells, unit = ((4, 128), (16, width), (64, width), (4, 256))[number // 4 % 4]
        drawn = [draw.randrange(cells) * unit for _ in range(32)]
        found.append([width, *(drawn[lane & ~bit] for lane in range(32))])
    return found


def main() -> None:
    """Profiles every pattern in a launch of its own."""
    target = ROOT / "fixtures/gpu/paired_lanes.json"
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else target
    table = patterns()
    with tempfile.TemporaryDirectory() as name:
        program, listing = Path(name, "probe"), Path(name, "patterns.txt")
        source = ROOT / "tests/gpu/paired_lanes.cu"
        flags = ["-O3", "-arch=sm_90"]
        subprocess.run(["nvcc", *flags, "-o", str(program), str(source)], check=True)
        listing.write_text("\n".join(" ".join(map(str, p)) for p in table))
        command = ["ncu", "--csv", "--metrics", ",".join(COUNTERS), str(program), str(listing)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counted: dict[int, dict[str, int]] = {}
    for row in csv.DictReader(line for line in printed.splitlines() if line.startswith('"')):
        value = int(float(row["Metric Value"].replace(",", "")))
        counted.setdefault(int(row["ID"]), {})[row["Metric Name"]] = value
    about = {"flags": " ".join(flags), "columns": ["width", "byte offset of each lane", *COUNTERS]}
    rows = [
        [pattern[0], pattern[1:], *(counted[number][c] for c in COUNTERS)]
        for number, pattern in enumerate(table)
    ]
    body = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    out.write_text(f'{{"about": {json.dumps(about)},\n"rows": [\n{body}\n]}}\n')
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
