"""Compares what programs launch with what smemlint evaluates their kernels for.

    python -m tests.oracle.launches --environment VENV --cache FOLDER [--out ROWS.jsonl] PATH...

Each program below the paths is compiled and run with a CUDA runtime that has no GPU and logs its
launches (`cudart.c`). VENV has the same wheels as for `tests.oracle.compiled`. Programs are run in
a copy of their folder, without a network, with little memory and for seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from tests.oracle.compiled.toolchain import Toolchain
from tests.oracle.launches.compare import compared, counts
from tests.oracle.launches.runtime import Runtime, programs


def main() -> int:
    """Compares, prints how many launches have each verdict, and writes every row."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--record-only", action="store_true", help="analyses nothing")
    arguments = parser.parse_args()
    try:
        runtime = Runtime.build(Toolchain.find(arguments.environment, arguments.cache))
    except FileNotFoundError as error:
        print(f"skipped: {error}")
        return 0
    rows, states = [], Counter[str]()
    for program in (found for path in arguments.paths for found in programs(path)):
        launched, failure = runtime.launches(program)
        state = "launches" if launched else "not compiled" if failure else "launches nothing"
        states[state] += 1
        print(program.main, state, len(launched), failure, file=sys.stderr, flush=True)
        if launched and not arguments.record_only:
            rows += compared(program, launched)
    print("programs", dict(states))
    print("launches", counts(rows))
    if arguments.out:
        lines = (json.dumps(asdict(row) | {"verdict": str(row.verdict)}) + "\n" for row in rows)
        arguments.out.write_text("".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
