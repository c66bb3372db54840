"""A tree of 2,000 files, 5 of them hostile: `python tests/benchmarks/bench_hostile.py [SECONDS]`.

Prints wall time, memory of the largest process and what is said, cold and warm, with the time limit
for one file (default 10 s): an endless loop, a line of 50 MB, deep nesting, a binary file and an
unreadable one. The tree is that of `tests/driver/test_many_files.py`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "driver"))

from test_many_files import FILES, WITH_KERNELS, plant  # noqa: E402


def main() -> None:
    limit = sys.argv[1] if len(sys.argv) > 1 else "10"
    with tempfile.TemporaryDirectory() as folder:
        plant(Path(folder))
        print(f"{FILES} files, {WITH_KERNELS} with a conflict, 5 hostile; --time-limit {limit}")
        for name in ("cold", "warm"):
            began = time.monotonic()
            command = [sys.executable, "-m", "smemlint", "check", "--time-limit", limit]
            done = subprocess.run(
                [*command, "--output-format", "json", "."],
                cwd=folder, capture_output=True, check=False,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )  # fmt: skip
            seconds = time.monotonic() - began
            most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
            found = json.loads(done.stdout)["findings"]
            conflicts = sum(f["code"] == "SML101" and "/f" in f["file"] for f in found)
            notes = sorted(f["file"] for f in found if f["code"] == "SML901")
            print(
                f"{name}: {seconds:.1f} s, at most {most} MiB a process, exit code "
                f"{done.returncode}, {conflicts} conflicts, not analysed: {', '.join(notes)}"
            )


if __name__ == "__main__":
    main()
