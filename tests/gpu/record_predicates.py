"""Record fixtures/gpu/predicates.json: 8- and 16-byte accesses with some lanes off.

usage (on a machine with an sm_90 GPU): python3 tests/gpu/record_predicates.py [OUT.json]

A pattern has 32 byte offsets and 32 flags. Lanes that are off have an address too, since a
predicated instruction reads its register: the pattern's own, zero, or that of the neighbour.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

import profiling

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests/gpu/predicated.cu"
LANES = range(32)


def patterns() -> dict[str, list[int]]:
    """64 numbers each: byte offsets, then flags."""
    masks = {
        "third": [lane % 3 == 0 for lane in LANES],
        "even": [lane % 2 == 0 for lane in LANES],
        "quad leader": [lane % 4 == 0 for lane in LANES],
        "first 20": [lane < 20 for lane in LANES],
        "two": [lane in (0, 16) for lane in LANES],
    }
    bases = {
        "stride 64": [64 * lane for lane in LANES],
        "stride 16": [16 * lane for lane in LANES],
        "pairs": [lane // 2 * 32 for lane in LANES],
    }
    found = {}
    for base_name, base in bases.items():
        for mask_name, mask in masks.items():
            off = {
                "own": base,
                "zero": [0] * 32,
                "neighbour": [base[lane ^ 1] for lane in LANES],
            }
            for off_name, other in off.items():
                at = [base[lane] if mask[lane] else other[lane] for lane in LANES]
                found[f"{base_name}, {mask_name}, off {off_name}"] = [*at, *map(int, mask)]
    return found


def main() -> None:
    """Profile every form on every pattern in one run."""
    target = ROOT / "fixtures/gpu/predicates.json"
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else target
    table = patterns()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = profiling.compile_program(SOURCE, folder)
        listing = folder / "patterns.txt"
        listing.write_text("\n".join(" ".join(map(str, p)) for p in table.values()))
        report = folder / "predicates.ncu-rep"
        profiling.profile(program, report, str(listing))
        for number, launch in enumerate(profiling.launches(report)):
            form = re.search(r"probe<(\w+)>", launch.kernel)
            assert form, launch.kernel
            for instruction in launch.instructions:
                op = profiling.opcode(instruction.sass)
                if op.endswith((".64", ".128")):
                    row = {"form": form[1], "pattern": list(table)[number % len(table)], "op": op}
                    rows.append({**row, "sass": instruction.sass.strip(), **instruction.counters})
    body = ",\n".join(json.dumps(row) for row in rows)
    header = json.dumps(profiling.versions())
    listed = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in table.items())
    out.write_text(f'{{"about": {header},\n"patterns": {{\n{listed}\n}},\n"rows": [\n{body}\n]}}\n')
    print(f"{len(table)} patterns, {len(rows)} rows")


if __name__ == "__main__":
    main()
