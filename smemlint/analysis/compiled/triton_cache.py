"""What Triton writes beside a compiled kernel: `NAME.json` with its launch."""

from __future__ import annotations

import json
from typing import Any

from smemlint.files.sandbox import Sandbox
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_METADATA_BYTES

_MAX_WARPS = 32


@dataclass(frozen=True, slots=True)
class TritonLaunch:
    """How Triton launches a kernel.

    Attributes:
        warps: of a block.
        shared: bytes of dynamic shared memory; 0 where not given.
    """

    warps: int
    shared: int = 0

    @property
    def block(self) -> tuple[int, int, int]:
        """The block shape."""
        return 32 * self.warps, 1, 1


def triton_files(compiled: str) -> tuple[str, str]:
    """Returns the paths that Triton writes what it knows of compiled code to, and its dialect."""
    stem = compiled.rpartition(".")[0]
    return f"{stem}.json", f"{stem}.ttgir"


def triton_launch(compiled: str, sandbox: Sandbox) -> TritonLaunch | None:
    """Returns what the file beside compiled code says; None where it is not Triton's."""
    try:
        data: Any = json.loads(sandbox.read(triton_files(compiled)[0], MAX_METADATA_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    warps, shared = data.get("num_warps"), data.get("shared", 0)
    if not isinstance(warps, int) or not 0 < warps <= _MAX_WARPS:
        return None
    return TritonLaunch(warps, shared if isinstance(shared, int) and shared > 0 else 0)
