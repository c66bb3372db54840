"""Record fixtures/gpu/atomics.json: what a shared atomic of each form costs on each pattern.

usage (on a machine with an sm_90 GPU): python3 tests/gpu/record_atomics.py [OUT.json]

`patterns` names 32 element indices each (-1: the lane is off); elements start at a multiple of
1024 bytes. A row: form, type, pattern and per opcode of the atomic's own source line
`inst` (warp instructions: more than one means a retry loop), `wavefronts`, `ideal`, `threads`.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from pathlib import Path

import profiling

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests/gpu/atomic_forms.cu"
STEMS = (*profiling.SHARED_STEMS, "ATOM", "RED", "LD", "ST")


def patterns() -> dict[str, list[int]]:
    """Element indices per lane."""
    lanes = range(32)
    chosen = {
        "distinct": list(lanes),
        "stride2": [2 * lane for lane in lanes],
        "stride3": [3 * lane for lane in lanes],
        "stride4": [4 * lane for lane in lanes],
        "stride8": [8 * lane for lane in lanes],
        "stride16": [16 * lane for lane in lanes],
        "stride32": [32 * lane for lane in lanes],
        "one word": [5 for _ in lanes],
        "pairs": [lane // 2 for lane in lanes],
        "far pairs": [lane % 16 for lane in lanes],
        "quads": [lane // 4 for lane in lanes],
        "two words": [lane % 2 for lane in lanes],
        "two words, one bank": [lane % 2 * 32 for lane in lanes],
        "four words, one bank": [lane % 4 * 32 for lane in lanes],
        "eight words, two a bank": [lane % 4 + lane // 4 % 2 * 32 for lane in lanes],
        "three and the rest": [0 if lane < 3 else lane for lane in lanes],
        "first lane": [7 if lane == 0 else -1 for lane in lanes],
        "eight lanes, one word": [7 if lane < 8 else -1 for lane in lanes],
        "even lanes, stride2": [2 * lane if lane % 2 == 0 else -1 for lane in lanes],
        "odd lanes, stride32": [32 * lane if lane % 2 else -1 for lane in lanes],
    }
    source = random.Random(20261121)
    for size in (4, 8, 16, 64, 512):
        chosen[f"random in {size}"] = [source.randrange(size) for _ in lanes]
    chosen["random, some off"] = [
        source.randrange(64) if source.random() < 0.6 else -1 for _ in lanes
    ]
    return chosen


def main() -> None:
    """Profile every form on every pattern in one run."""
    target = ROOT / "fixtures/gpu/atomics.json"
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else target
    table = patterns()
    types = dict(re.findall(r"^(?:RED|ATOM)\((\w+), ([\w ]+),", SOURCE.read_text(), re.MULTILINE))
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = profiling.compile_program(SOURCE, folder)
        listing = folder / "patterns.txt"
        listing.write_text("\n".join(" ".join(map(str, p)) for p in table.values()))
        report = folder / "atomics.ncu-rep"
        profiling.profile(program, report, str(listing))
        own = profiling.own_lines(program, SOURCE)
        text = SOURCE.read_text().splitlines()
        for number, launch in enumerate(profiling.launches(report, STEMS)):
            pattern = list(table)[number % len(table)]
            form = re.search(r"probe<(\w+)>", launch.kernel)
            assert form, launch.kernel
            lines = own[launch.mangled]
            operations: dict[str, dict[str, int]] = {}
            for instruction in launch.instructions:
                line = text[lines.get(instruction.offset, 1) - 1]
                if f"({form[1]}," not in line:
                    continue
                op = profiling.opcode(instruction.sass)
                counts = operations.setdefault(op, dict.fromkeys(profiling.COUNTERS, 0))
                for counter, value in instruction.counters.items():
                    counts[counter] += value
            row = {"form": form[1], "type": types[form[1]], "pattern": pattern, "ops": operations}
            rows.append(row)
    body = ",\n".join(json.dumps(row) for row in rows)
    header = json.dumps(profiling.versions())
    listed = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in table.items())
    out.write_text(f'{{"about": {header},\n"patterns": {{\n{listed}\n}},\n"rows": [\n{body}\n]}}\n')
    print(f"{len(table)} patterns, {len(rows)} rows")


if __name__ == "__main__":
    main()
