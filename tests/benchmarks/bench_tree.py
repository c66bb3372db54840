"""What cold runs over whole trees cost: `python tests/benchmarks/bench_tree.py TREE...`.

Prints a row a tree: processor seconds of the whole process tree as a multiple of a Python loop of
20 million additions, timed before and after on the same machine (a loaded machine slows both down);
accesses that were decided of those that were listed; parts of the tree that a limit on time or
memory cost; the largest process; and a digest of the output, by which two revisions are compared.

`--command check` runs the rules and looks for fixes, too. `--keep DIR` writes the outputs there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from processes import ROOT, addition_loop

_LOST = ("evaluation stopped after", "memory")
"""Begin of the reasons that depend on the machine or on a limit of time."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run cost.

    Attributes:
        seconds: of the processor, with all processes of the run.
        wall: seconds on the clock.
        loops: `seconds` as a multiple of the loop of additions.
        megabytes: of the largest process.
    """

    seconds: float
    wall: float
    loops: float
    megabytes: float


def cost_of(arguments: list[str], output: Path) -> Cost:
    """Runs smemlint in a process of its own; its standard output is written to a file."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
    before, began = addition_loop(), time.perf_counter()
    with output.open("wb") as out:
        command = [sys.executable, "-m", "smemlint", *arguments]
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"smemlint {' '.join(arguments)} ended with {process.returncode}")
    seconds = usage.ru_utime + usage.ru_stime
    loop = (before + addition_loop()) / 2
    largest = max(usage.ru_maxrss, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    return Cost(seconds, wall, seconds / loop, largest / 1024)


def counts(output: Path) -> tuple[int, int, int]:
    """Returns how many accesses `analyze` decided, how many it listed, and what limits cost."""
    report = json.loads(output.read_text())
    accesses = report["accesses"]
    decided = sum(a["wavefronts"] is not None for a in accesses)
    lost = sum(n["reason"].startswith(_LOST) for n in report["not_analysed"])
    return decided, len(accesses), lost


def main() -> None:
    """Measures each tree that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--command", choices=("analyze", "check"), default="analyze")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--keep", type=Path, help="folder for the outputs")
    given = parser.parse_args()
    print(
        f"{'tree':<28}{'loops':>8}{'CPU s':>8}{'wall s':>8}{'decided':>14}{'lost':>6}{'MB':>6}  output"
    )
    with tempfile.TemporaryDirectory() as folder:
        keep = given.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        for tree in given.trees:
            output = keep / f"{'_'.join(tree.parts[-2:])}.{given.command}.json"
            options = ["--output-format", "json", "--jobs", given.jobs]
            options += ["--no-cache", "--exit-zero"] if given.command == "check" else []
            cost = cost_of([given.command, *options, str(tree)], output)
            digest = hashlib.md5(output.read_bytes(), usedforsecurity=False).hexdigest()[:8]
            of, lost = "", ""
            if given.command == "analyze":
                decided, listed, stopped = counts(output)
                of, lost = f"{decided} / {listed}", str(stopped)
            print(
                f"{'/'.join(tree.parts[-2:]):<28}{cost.loops:8.1f}{cost.seconds:8.1f}{cost.wall:8.1f}"
                f"{of:>14}{lost:>6}{cost.megabytes:6.0f}  {digest}",
                flush=True,
            )


if __name__ == "__main__":
    main()
