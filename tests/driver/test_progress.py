"""The progress bar, as a terminal sees it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from smemlint.driver import progress
from smemlint.driver.progress import Progress

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
termios = pytest.importorskip("termios")

ROOT = Path(__file__).resolve().parents[2]
ERASE = "\r\x1b[K"
KERNEL = "__global__ void k(int *p) { __shared__ int s[32]; s[threadIdx.x] = *p; *p = s[0]; }"
RUN = """
import sys
from smemlint.cli import main
from smemlint.driver import progress
progress._SILENT_SECONDS = 0.0
sys.exit(main.main(["check", "--no-cache", "--isolated", "--jobs=2", "."]))
"""


class Screen:
    """The other end of a terminal of some width."""

    def __init__(self, columns: int) -> None:
        self.theirs, self.ours = pty.openpty()
        termios.tcsetwinsize(self.ours, (24, columns))

    def text(self) -> str:
        """All that was written, once nobody can write any more."""
        os.close(self.ours)
        parts = []
        try:
            while part := os.read(self.theirs, 65536):
                parts.append(part)
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(self.theirs)
        return b"".join(parts).decode()


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")


def drawn(screen: Screen, *names: str) -> list[str]:
    with os.fdopen(os.dup(screen.ours), "w", encoding="utf-8") as stream:
        bar = Progress(len(names), stream)
        for name in names:
            bar.step(name)
        bar.close()
    return screen.text().split(ERASE)


def test_each_step_erases_the_one_before_and_the_end_all(at_once):
    begin, one, two, end = drawn(Screen(100), "a.cu", "b\n.cu")
    assert (begin, end) == ("", "")
    assert one == f"[{'#' * 15}{' ' * 15}] 1/2 a.cu"
    assert two == f"[{'#' * 30}] 2/2 b?.cu"


@pytest.mark.parametrize("columns", [20, 38, 60, 80])
def test_a_line_never_wraps(at_once, columns):
    (_, line, _) = drawn(Screen(columns), "folder/" * 30 + "kernel.cu")
    assert len(line) == max(columns - 1, len(f"[{'#' * 30}] 1/1 "))
    assert columns < 50 or line.endswith("kernel.cu")
    (_, wide, _) = drawn(Screen(columns), "核" * 100)
    assert len(wide) + wide.count("核") <= max(columns - 1, 37)


def test_short_runs_and_dumb_terminals_are_left_alone(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert drawn(Screen(80), "a.cu") == [""]
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "dumb")
    assert drawn(Screen(80), "a.cu") == [""]


def test_a_run_shows_a_bar_and_leaves_only_its_summary(tmp_path):
    for i in range(8):
        (tmp_path / f"k{i}.cu").write_text(KERNEL)
    screen = Screen(90)
    done = subprocess.run(
        [sys.executable, "-c", RUN], cwd=tmp_path, check=False, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=screen.ours,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
    )  # fmt: skip
    *bars, summary = screen.text().split(ERASE)
    assert [
        re.sub(r"k\d", "k", bar.lstrip("[# ]")) for bar in bars if bar and " 0/8" not in bar
    ] == [f"{n}/8 k.cu" for n in range(1, 9)]
    assert summary.startswith("checked 8 files: 16 shared accesses decided, 0 not")
    assert (done.returncode, done.stdout) == (0, "")
