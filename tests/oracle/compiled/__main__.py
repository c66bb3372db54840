"""Compares smemlint with the machine code of whole repositories.

    python -m tests.oracle.compiled --environment VENV --cache FOLDER [--out DIFFERENCES.jsonl] REPOSITORY...

VENV has NVIDIA's wheels for CUDA 13 (nvidia-cuda-nvcc, nvidia-cuda-cccl, nvidia-cuda-runtime,
nvidia-cuda-nvdisasm). Of each repository every kernel instance that `smemlint analyze` assumed is
compiled for sm_90, alone or with empty stubs for headers that are missing, and every line that
either side has a figure for is compared.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.oracle.compiled.compare import WRONG
from tests.oracle.compiled.repository import Report, RepositoryCheck, table
from tests.oracle.compiled.toolchain import Toolchain

if TYPE_CHECKING:
    from tests.oracle.compiled.analysis import LineFigures
    from tests.oracle.compiled.compare import Difference


def main() -> int:
    """Compares, prints tables, and writes every difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--flag", action="append", default=[], help="passed to nvcc")
    parser.add_argument("--programs", action="store_true", help="each folder by itself")
    arguments = parser.parse_args()
    tools = Toolchain.find(arguments.environment, arguments.cache)
    reports: list[tuple[str, Report]] = []
    rows = []
    for repository in arguments.repositories:
        report = Report()
        for root in sorted(programs(repository)) if arguments.programs else [repository]:
            check = RepositoryCheck(root, tools, tuple(arguments.flag), report)
            check.run(lambda text: print(text, file=sys.stderr, flush=True))
        reports.append((repository.name, report))
        rows += [{"repository": repository.name, **record(d)} for d in report.differences]
        print(repository.name, dict(report.counts), dict(report.seconds), flush=True)
        for failure, count in report.failures.most_common(5):
            print(f"    {count} files do not compile: {failure}")
    print(table(reports))
    print(_causes(reports))
    if arguments.out:
        arguments.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return 0


def programs(repository: Path) -> set[Path]:
    """Returns the folders of a collection of programs whose CUDA files use shared memory."""
    return {path.parent for path in repository.rglob("*.cu") if b"__shared__" in path.read_bytes()}


def record(difference: Difference) -> dict[str, Any]:
    """Returns a difference as plain data."""
    instance = difference.instance
    return {
        "file": difference.file,
        "line": difference.line,
        "direction": difference.direction,
        "verdict": str(difference.verdict),
        "cause": difference.cause,
        "kernel": instance.spelling,
        "block": instance.block,
        "analysis": _figures(difference.analysis),
        "oracle": _figures(difference.oracle),
    }


def _figures(line: LineFigures | None) -> dict[str, Any] | None:
    if line is None:
        return None
    return {
        "excess": line.excess,
        "wavefronts": line.wavefronts,
        "instructions": line.instructions,
        "widths": sorted(line.widths),
        "certainties": sorted(line.certainties),
        "reasons": sorted(line.reasons),
    }


def _causes(reports: list[tuple[str, Report]]) -> str:
    counts = Counter(
        (str(d.verdict), d.cause) for _, r in reports for d in r.differences if d.verdict in WRONG
    )
    rows = [f"| {verdict} | {cause} | {n} |" for (verdict, cause), n in counts.most_common()]
    return "\n".join(["| verdict | what differs | lines |", "| --- | --- | --- |", *rows])


if __name__ == "__main__":
    sys.exit(main())
