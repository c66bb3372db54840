"""Checks the oracle itself: evaluates the kernels that a profiler counted.

    python -m tests.oracle.compiled.against_counters LINES.json CUBINS OUT [ARGUMENTS.json]

CUBINS has a folder of cubins for each program of LINES.json. OUT/PROGRAM.json is for truth/score.py,
program by program: they share names of kernels.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from smemlint.report.analysis_json import access_record
from tests.oracle.compiled.instances import base_name, template_arguments
from tests.oracle.compiled.machine import Cubin
from tests.oracle.compiled.toolchain import Toolchain

_ALIASES = {
    "cute_sgemm_1_nt": "cute_sgemm_1",
    "cute_sgemm_1_tn": "cute_sgemm_1",
    "cute_sm80_tn": "cute_sm80",
    **{f"cs_reduction{i}": "cs_reduction" for i in (1, 2, 3, 6)},
}
_LIBRARIES = ("/cutlass/include/", "/cutlass/tools/", "/usr/", "/site-packages/nvidia/", "/opt/")


def is_library(path: str) -> bool:
    """Whether a path of a line table is not the program's own."""
    return any(part in path for part in _LIBRARIES)


def main() -> None:
    """Evaluates all and writes the figures."""
    lines, cubins, out, *arguments = sys.argv[1:]
    known = json.loads(Path(arguments[0]).read_text()) if arguments else {}
    expected: dict[str, set[tuple[str, tuple[int, int, int]]]] = defaultdict(set)
    for row in json.loads(Path(lines).read_text()):
        expected[row["app"]].add((row["kernel"], tuple(row["block"])))
    tools = Toolchain.find(Path("/work/venv-nvcc"), Path("/tmp/oracle-cache"))
    Path(out).mkdir(exist_ok=True)
    for app, kernels in sorted(expected.items()):
        records: list[dict[str, Any]] = []
        start, count, steps, size = time.perf_counter(), 0, 0, 0
        folder = Path(cubins) / _ALIASES.get(app, app)
        for path in sorted(folder.glob("*.cubin")):
            cubin = Cubin(path, tools, is_library)
            for kernel, block in sorted(kernels):
                for name in chosen(cubin.names, kernel):
                    constants = {
                        place: word
                        for pattern, values in known.get(app, {}).items()
                        if re.search(pattern, name)
                        for place, word in cubin.parameter_words(
                            name, {int(k): v for k, v in values.items() if k.isdigit()}
                        ).items()
                    }
                    found = cubin.evaluate(name, block, constants)
                    count, steps = count + 1, steps + found.steps
                    size += found.instructions
                    records += [
                        {
                            **access_record(a),
                            "kernel": kernel,
                            "app": app,
                            "file": Path(a.span.path).name,
                        }
                        for a in found.accesses
                    ]
        seconds = time.perf_counter() - start
        print(
            f"{app:24s} {count:4d} kernels {size:7d} instructions {steps:7d} steps {seconds:6.2f} s"
        )
        (Path(out) / f"{app}.json").write_text(json.dumps({"accesses": records}))


def chosen(names: dict[str, str], kernel: str) -> list[str]:
    """Returns the mangled names of the profiler's spelling of a kernel."""
    same = [n for n, text in names.items() if base_name(text) == base_name(kernel)]
    arguments = template_arguments(kernel)
    exact = [n for n in same if template_arguments(names[n]) == arguments]
    return exact or (same if len(same) == 1 else [])


if __name__ == "__main__":
    main()
