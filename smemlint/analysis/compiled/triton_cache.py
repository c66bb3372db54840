"""What Triton writes beside a compiled kernel: `NAME.json` with its launch."""

from __future__ import annotations

import json
from typing import Any

from smemlint.files.sandbox import Sandbox
from smemlint.hardware.arch import LANES
from smemlint.limits.budgets import MAX_METADATA_BYTES

_MAX_WARPS = 32


def triton_files(compiled: str) -> tuple[str, str]:
    """Returns the paths that Triton writes what it knows of compiled code to, and its dialect."""
    stem = compiled.rpartition(".")[0]
    return f"{stem}.json", f"{stem}.ttgir"


def triton_block(compiled: str, sandbox: Sandbox) -> tuple[int, int, int] | None:
    """Returns the block that the file beside compiled code tells; None where it is not Triton's."""
    try:
        data: Any = json.loads(sandbox.read(triton_files(compiled)[0], MAX_METADATA_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    warps = data.get("num_warps")
    if not isinstance(warps, int) or not 0 < warps <= _MAX_WARPS:
        return None
    return LANES * warps, 1, 1
