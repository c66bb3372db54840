"""Where the system has no timer or no limit of memory, a run says so and reports the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from smemlint.limits import memory, time_limit
from smemlint.limits.guard import Allowance, limited, missing_guards

KERNEL = "__global__ void k(float *o) { __shared__ float t[32][32]; o[0] = t[threadIdx.x][0]; }\n"
WITHOUT = {
    "resource": "sys.modules['resource'] = None",
    "timer": "del signal.setitimer, signal.SIGPROF",
}


def run(folder: Path, *lines: str) -> tuple[int, str, list[str]]:
    call = "from smemlint.cli.main import main; raise SystemExit(main(['check', '--no-cache', '--isolated', '--output-format', 'json', '.']))"
    code = "; ".join(("import os, signal, sys", *lines, call))
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr.splitlines()


@pytest.mark.parametrize("missing", [("resource",), ("timer",), ("resource", "timer"), ()])
def test_a_missing_guard_is_said_once_and_changes_nothing(tmp_path, missing):
    (tmp_path / "a.cu").write_text(KERNEL)
    code, out, err = run(tmp_path)
    assert (code, len(err)) == (1, 1)
    output = run(tmp_path, *(WITHOUT[name] for name in missing))
    assert (output[0], output[1], len(output[2])) == (code, out, 1 + bool(missing))
    assert output[2][-1:] == err


def test_both_are_named(monkeypatch):
    assert missing_guards() == ""
    monkeypatch.setattr(memory, "HAS_RESOURCE", False)
    one = missing_guards()
    monkeypatch.setattr(time_limit, "HAS_TIMER", False)
    assert 0 < len(one) < len(missing_guards())


def test_steps_end_the_work_without_either(monkeypatch):
    from smemlint.limits.errors import OutOfSteps, OutOfTime
    from smemlint.limits.steps import spend

    monkeypatch.setattr(memory, "HAS_RESOURCE", False)
    monkeypatch.setattr(time_limit, "HAS_TIMER", False)
    with pytest.raises(OutOfSteps), limited(Allowance(1_000, 100)):
        while True:
            spend()
    with pytest.raises(OutOfTime), limited(Allowance(1 << 40, 0.05)):
        while True:
            spend()
