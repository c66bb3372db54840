"""Records what nvcc makes of the CuTe kernels of a fixture (needs CUTLASS and nvcc, no GPU).

    python -m tests.oracle.record_cute_machine_code --environment VENV --cache FOLDER \\
        --cutlass CUTLASS/include > fixtures/cute/machine_code.json

VENV is that of `tests.oracle.compiled`, which compiles each instance that the analysis assumed for
sm_90 and runs its machine code for the lanes of a block. By kernel, template arguments, line and
direction: instructions, wavefronts, ideal and bytes a lane.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.oracle.compiled.repository import RepositoryCheck
from tests.oracle.compiled.toolchain import Toolchain

if TYPE_CHECKING:
    from tests.oracle.compiled.compare import Difference

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "cute"


def recorded(differences: list[Difference]) -> list[dict[str, object]]:
    """Returns the oracle's side of what was compared, one row a line and direction."""
    return [
        {
            "kernel": d.instance.kernel,
            "template": dict(d.instance.template),
            "block": d.instance.block,
            "line": d.line,
            "direction": d.direction,
            "instructions": d.oracle.instructions,
            "wavefronts": d.oracle.wavefronts,
            "ideal": d.oracle.ideal,
            "widths": sorted(d.oracle.widths),
        }
        for d in sorted(differences, key=lambda d: (d.instance, d.line, d.direction))
        if d.oracle is not None
    ]


def main() -> int:
    """Compiles, runs the machine code, and prints the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--cutlass", type=Path, required=True)
    arguments = parser.parse_args()
    tools = replace(Toolchain.find(arguments.environment, arguments.cache), seconds=1200)
    check = RepositoryCheck(FOLDER, tools, (f"-I{arguments.cutlass.resolve()}",))
    report = check.run(lambda text: print(text, file=sys.stderr, flush=True))
    print(dict(report.counts), dict(report.failures), file=sys.stderr)
    record = {"compiler": tools.version(), "arch": tools.arch}
    print(json.dumps({**record, "rows": recorded(report.differences)}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
