"""Record fixtures/gpu/kernels.json: hardware counters of every kernel of fixtures/kernels.

usage (on a machine with an sm_90 GPU): python3 tests/gpu/record_kernels.py [OUT.json]

Rows are those of truth/lines.json (`app` is the file's stem): one per kernel instance, block,
source line and opcode, first launch of each; about.json beside it names device, driver and tools.
`file` and `line` are the innermost frame inside the fixture: an inlined CUDA header counts at its
call.
"""

from __future__ import annotations

import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import profiling

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


def rows(source: Path, program: Path) -> Iterator[dict[str, object]]:
    """The rows of one fixture file."""
    report = program.with_suffix(".ncu-rep")
    profiling.profile(program, report)
    own = profiling.own_lines(program, source)
    seen = set()
    for launch in profiling.launches(report):
        instance = (launch.mangled, launch.block)
        if instance in seen:
            continue
        seen.add(instance)
        lines = own.get(launch.mangled, {})
        table: dict[tuple[int, str], dict[str, int]] = {}
        for instruction in launch.instructions:
            line = lines.get(instruction.offset, instruction.line)
            key = (line, profiling.opcode(instruction.sass))
            row = table.setdefault(
                key, {"sass_count": 0, "inst": 0, "wavefronts": 0, "ideal": 0, "threads": 0}
            )
            row["sass_count"] += 1
            for name, value in instruction.counters.items():
                row[name] += value
        for (line, op), counts in sorted(table.items()):
            yield {
                "app": source.stem,
                "kernel": launch.kernel,
                "block": list(launch.block),
                "file": source.name,
                "line": line,
                "op": op,
                **counts,
            }


def main() -> None:
    """Compile all, then profile one after the other."""
    target = ROOT / "fixtures/gpu/kernels.json"
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else target
    sources = sorted((ROOT / "fixtures/kernels").glob("*.cu"))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(8) as pool:
        programs = list(pool.map(lambda s: profiling.compile_program(s, Path(folder)), sources))
        found: list[dict[str, object]] = []
        failed: list[str] = []
        for source, program in zip(sources, programs, strict=True):
            try:
                found.extend(rows(source, program))
            except RuntimeError as error:
                failed.append(f"{source.name}: {error}")
    lines = ",\n".join(json.dumps(row) for row in found)
    out.write_text(f"[\n{lines}\n]\n")
    about = out.with_name("about.json")
    about.write_text(json.dumps(profiling.versions(), indent=1) + "\n")
    print(f"{len(sources) - len(failed)} of {len(sources)} files, {len(found)} rows")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
