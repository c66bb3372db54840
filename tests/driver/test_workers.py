"""Work over processes: one that dies, hangs or takes all memory costs its own task only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smemlint.driver.failures import Failure
from smemlint.driver.schedule import run_tasks
from smemlint.driver.workers import spread

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
TASKS = [*range(12), "killed", "exits", "raises", "hangs", *range(12, 24)]


def work(task):
    if task == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "exits":
        os._exit(3)
    if task == "raises":
        raise RuntimeError("on purpose")
    while task == "hangs":
        pass
    return task * task


def test_one_process_that_dies_or_hangs_costs_its_own_task():
    began = time.monotonic()
    answers = {TASKS[index]: answer for index, answer in spread(TASKS, work, jobs=2, seconds=0.5)}
    assert len(answers) == len(TASKS)
    assert {n: answers[n] for n in range(24)} == {n: n * n for n in range(24)}
    failures = {name: answers[name] for name in ("killed", "exits", "raises", "hangs")}
    assert {name: failure.reason.code for name, failure in failures.items()} == {
        "killed": "internal-error",
        "exits": "internal-error",
        "raises": "internal-error",
        "hangs": "time-limit",
    }
    assert [failure.is_crash for failure in failures.values()] == [True, True, True, False]
    assert time.monotonic() - began < 30


def test_a_process_may_not_take_all_memory(monkeypatch):
    monkeypatch.setattr("smemlint.limits.memory.MAX_MEMORY_BYTES", 1 << 28)

    def greedy(task):
        return len(bytes(task))

    found = dict(spread([1 << 10, 1 << 30, 1 << 11], greedy, jobs=1, seconds=20))
    assert (found[0], found[2]) == (1 << 10, 1 << 11)
    assert isinstance(found[1], Failure)
    assert found[1].reason.code == "memory-limit"


def test_a_unit_whose_process_is_killed_is_said_and_the_rest_goes_on(tmp_path, monkeypatch):
    from smemlint.config.settings import Configuration
    from smemlint.driver import tasks
    from smemlint.driver.run import check_run
    from smemlint.sources.discovery import find_sources

    text = (
        "__global__ void k{0}(float *out) {{\n  __shared__ float s[32][32];\n"
        "  out[threadIdx.x] = s[threadIdx.x][0];\n}}\n"
        "void run{0}(float *out) {{ k{0}<<<1, 32>>>(out); }}\n"
    )
    for i in range(6):
        (tmp_path / f"f{i}.cu").write_text(text.format(i))
    original = tasks.UnitTask.__call__

    def dying(self, root):
        if root == "f3.cu":
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, root)

    monkeypatch.setattr(tasks.UnitTask, "__call__", dying)
    monkeypatch.chdir(tmp_path)
    configuration = Configuration({"no-cache": True}, isolated=True)
    result = check_run(find_sources(["."]), configuration, configuration.for_file("x"))
    conflicts = [f.span.path for f in result.findings if f.code == "SML101"]
    assert conflicts == ["f0.cu", "f1.cu", "f2.cu", "f4.cu", "f5.cu"]
    notes = [(f.span.path, f.message) for f in result.findings if f.code == "SML901"]
    message = "not analysed: internal error: the process ended with signal 9"
    assert notes == [("f3.cu", message)] and result.crashed


def test_processes_end_with_the_one_that_began_them():
    """A run that was killed left its processes waiting for ever: each kept the others' pipes open."""
    script = (
        "import os, time\n"
        "from smemlint.driver.workers import spread\n"
        "def work(task):\n"
        "    os.write(1, b'%d\\n' % os.getpid())  # at once: three write to one pipe\n"
        "    time.sleep(60)\n"
        "for _ in spread([1, 2, 3], work, jobs=3, seconds=60): pass\n"
    )
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    workers = [int(run.stdout.readline()) for _ in range(3)]
    assert all(map(is_running, workers))
    run.kill()
    run.wait()
    deadline = time.monotonic() + 20
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, workers))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_largest_tasks_are_begun_first():
    answers = run_tasks([3, 1, 7, 5, 2], work, 1, 1.0, size_of=lambda task: task)
    assert list(answers) == [(7, 49), (5, 25), (3, 9), (2, 4), (1, 1)]
