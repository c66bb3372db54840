"""The limit on memory, where the system has one and where it has none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from smemlint.limits.memory import memory_limit

ROOT = Path(__file__).resolve().parents[2]
KERNEL = "__global__ void k(float *o) { __shared__ float t[32][32]; o[0] = t[threadIdx.x][0]; }\n"
HIDDEN = (
    "import os, signal, sys; sys.modules['resource'] = None; del os.fork; "
    "del signal.setitimer, signal.SIGPROF, signal.ITIMER_PROF; "
)
RUN = "from smemlint.cli.main import main; sys.exit(main(['check', '--no-cache', '.']))"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the address space")
def test_an_allocation_over_the_limit_fails_and_the_limit_ends_with_the_block():
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    with memory_limit(1 << 28), pytest.raises(MemoryError):
        bytes(1 << 30)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert len(bytes(1 << 29)) == 1 << 29


def test_without_fork_timer_and_resource_the_same_is_found(tmp_path):
    """As on Windows, where none of them exists."""
    (tmp_path / "k.cu").write_text(KERNEL)
    found = [
        subprocess.run(
            [sys.executable, "-c", before + RUN],
            cwd=tmp_path, capture_output=True, check=False, timeout=60, env={"PYTHONPATH": str(ROOT)},
        )
        for before in ("import sys; ", HIDDEN)
    ]  # fmt: skip
    assert found[0].stdout == found[1].stdout != b""
    assert b"Traceback" not in found[1].stderr
