"""How long whole processes take."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 10
_KEEPS_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""Where it is set, each run compiles modules that were edited since somebody last ran without."""


def fastest(command: Sequence[str], cwd: str | Path = ROOT) -> tuple[float, float]:
    """Seconds on the clock and of the processor, each of the fastest of ten runs after a first one.

    On a machine with other work the latter is what counts.
    """
    kept = {k: v for k, v in os.environ.items() if k != _KEEPS_NO_BYTECODE}
    environment = {**kept, "PYTHONPATH": str(ROOT)}
    walls, spent = [], []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        walls.append(time.perf_counter() - began)
        spent.append(usage.ru_utime + usage.ru_stime)
    return min(walls[1:]), min(spent[1:])


def addition_loop() -> float:
    """Returns the processor seconds of a Python loop of 20 million additions, a machine's measure."""
    began, total = time.process_time(), 0
    for number in range(20_000_000):
        total += number
    return time.process_time() - began
