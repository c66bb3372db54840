"""Record fixtures/gpu/cupy.json: hardware counters of fixtures/python/cupy_kernels.py under CuPy.

usage (on a machine with an sm_90 GPU and CuPy): python3 tests/gpu/record_cupy.py [OUT.json]

A row is one kernel (its name up to the second template argument), block and direction, its shared
instructions summed; the header names device, driver, tools and CuPy.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
import tempfile
from pathlib import Path

import profiling

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "fixtures/python/cupy_kernels.py"


def rows(report: Path) -> list[dict[str, object]]:
    """Kernel, block and direction -> instructions, wavefronts and ideal of the whole launch."""
    found = []
    for launch in profiling.launches(report):
        sums: dict[str, dict[str, int]] = {}
        for instruction in launch.instructions:
            stem = profiling.opcode(instruction.sass).split(".")[0]
            direction = "load" if stem == "LDS" else "store"
            row = sums.setdefault(direction, {"inst": 0, "wavefronts": 0, "ideal": 0})
            for name in row:
                row[name] += instruction.counters[name]
        for direction, row in sums.items():
            name = re.split("[(,]", launch.kernel)[0].removeprefix("void ")
            found.append(
                {"kernel": name, "block": list(launch.block), "direction": direction, **row}
            )
    return found


def cupy_version() -> str:
    """The installed CuPy, whatever CUDA it is for."""
    names = importlib.metadata.packages_distributions().get("cupy", ["cupy"])
    return f"{names[0]} {importlib.metadata.version(names[0])}"


def main() -> None:
    """Profiles the program once."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "fixtures/gpu/cupy.json"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "cupy.ncu-rep"
        profiling.profile(Path(sys.executable), report, str(PROGRAM))
        found = rows(report)
    about = {**profiling.versions(), "flags": "NVRTC as CuPy calls it", "cupy": cupy_version()}
    lines = ",\n".join(json.dumps(row) for row in found)
    out.write_text(f'{{"about": {json.dumps(about)},\n"rows": [\n{lines}\n]}}\n')
    print(f"{len(found)} rows")


if __name__ == "__main__":
    main()
