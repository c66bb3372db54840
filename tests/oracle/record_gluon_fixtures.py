"""Records what the fixture kernels cost by the PTX they become (needs the triton wheel, no GPU).

    PYTHONPATH=. python tests/oracle/record_gluon_fixtures.py > fixtures/triton/gluon_kernels.json

For every line with shared accesses: kind, width, and the wavefronts of the worst pass of its
instructions, counted by a bank model of its own: words per bank, pass by pass.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
warnings.simplefilter("ignore")

import triton  # noqa: E402
from ptx_addresses import SharedAccess, shared_accesses  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.experimental.gluon._runtime import GluonASTSource, GluonJITFunction  # noqa: E402

FIXTURE = Path(__file__).parents[2] / "fixtures" / "python" / "gluon_kernels.py"
SKIPPED = ("for_64_lanes", "odd_parameters")


def worst_pass(access: SharedAccess) -> int:
    """Most words in one bank, over passes of 128 bytes and all warps."""
    lanes = 8 if access.matrices else min(32, 128 // access.width)
    count = 8 * access.matrices or 32
    worst = 0
    for row in access.addresses:
        for start in range(0, count, lanes):
            banks: dict[int, set[int]] = {}
            for address in row[start : start + lanes]:
                for word in range(int(address) // 4, (int(address) + access.width - 1) // 4 + 1):
                    banks.setdefault(word % 32, set()).add(word)
            worst = max(worst, *(len(words) for words in banks.values()))
    return worst


def main() -> None:
    spec = importlib.util.spec_from_file_location("gluon_kernels", FIXTURE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gluon_kernels"] = module
    spec.loader.exec_module(module)
    kernels: dict[str, Any] = {}
    for name, kernel in vars(module).items():
        if not isinstance(kernel, GluonJITFunction) or name in SKIPPED:
            continue
        kinds = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
        signature = {a: kinds[a] for a in kernel.arg_names}
        source = GluonASTSource(kernel, signature, {})
        compiled = triton.compile(
            source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4}
        )
        lines: dict[str, Any] = {}
        for access in shared_accesses(compiled.asm["ptx"], 4):
            misaligned = bool((access.addresses % access.width).any())
            figure = [access.kind, access.width, 0 if misaligned else worst_pass(access)]
            worst = lines.setdefault(str(access.line), figure)
            worst[2] = 0 if misaligned else max(worst[2], figure[2])
        kernels[name] = lines
    print(json.dumps({"triton": triton.__version__, "kernels": kernels}, indent=1))


if __name__ == "__main__":
    main()
