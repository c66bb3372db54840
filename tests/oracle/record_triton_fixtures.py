"""Records what the kernels of a Triton fixture do to shared memory (needs triton, no GPU).

    PYTHONPATH=. python tests/oracle/record_triton_fixtures.py > fixtures/triton/kernels.json

By architecture and kernel: wavefronts of the worst pass of each kind and width of instruction.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))
warnings.simplefilter("ignore")

import triton  # noqa: E402
from ptx_addresses import shared_accesses  # noqa: E402
from record_gluon_fixtures import worst_pass  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

FIXTURE = Path(__file__).parents[2] / "fixtures" / "python" / "triton_kernels.py"
TILES = {"M": 128, "N": 128, "BK": 64}
KERNELS: dict[str, tuple[dict[str, str], dict[str, int]]] = {
    "int8_along_n": ({"a": "*i8", "b": "*i8", "c": "*i32"}, TILES),
    "int8_along_k": ({"a": "*i8", "b": "*i8", "c": "*i32"}, TILES),
    "tf32_along_n": ({"a": "*fp32", "b": "*fp32", "c": "*fp32"}, TILES),
    "half_transposed": ({"a": "*fp16", "b": "*fp16", "c": "*fp32"}, TILES),
    "half_attention": (dict.fromkeys("qkvo", "*fp16"), {"M": 128, "N": 64, "D": 64}),
    "transpose": ({"a": "*fp32", "c": "*fp32"}, {"N": 64}),
    "sums_and_scans": ({"a": "*fp32", "c": "*fp32"}, {"N": 64}),
}


def compiled(kernel: Any, pointers: dict[str, str], constants: dict[str, int], arch: int) -> Any:
    names = list(kernel.arg_names)
    signature = {
        n: "constexpr" if n in constants else pointers.get(n, "i32") for n in names
    }  # fmt: skip
    attributes = {
        (i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if n not in constants
    }
    source = ASTSource(kernel, signature, constants, attributes)
    options = {"num_warps": 4, "num_stages": 3}
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)


def main() -> None:
    sys.modules["torch"] = mock.MagicMock()
    spec = importlib.util.spec_from_file_location("triton_kernels", FIXTURE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    del sys.modules["torch"]
    found: dict[str, dict[str, dict[str, int]]] = {}
    for arch in (80, 90, 100):
        rows = found.setdefault(f"sm_{arch}", {})
        for name, (pointers, constants) in KERNELS.items():
            kernel = compiled(getattr(module, name), pointers, constants, arch)
            figures = rows.setdefault(name, {})
            for access in shared_accesses(kernel.asm["ptx"], 4, skip=True):
                key = f"{access.kind} {access.width}"
                figures[key] = max(figures.get(key, 0), worst_pass(access))
    print(json.dumps({"triton": triton.__version__, "worst": found}, indent=1))


if __name__ == "__main__":
    main()
