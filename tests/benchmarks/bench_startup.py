"""Whole-process times of short runs: `python tests/benchmarks/bench_startup.py`.

Prints the best wall time of ten fresh processes for each path through the program, with the best
processor time, which other load on the machine moves less; and of ruff, clang-tidy and fixit on the
same files where they are found beside this interpreter or in PATH. What each path imports is pinned
by `tests/cli/test_startup.py`.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from processes import ROOT, fastest

_BASE = "import numpy, pycparser"
"""What no check of a kernel can do without: the goal is 1.5 times this, and 60 ms without one."""
KERNEL = ROOT / "rules" / "bank_conflict" / "bad.cu"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "plain.cu").write_text("int add(int a, int b) { return a + b; }\n" * 300)
        (Path(folder) / "plain.py").write_text("def add(a, b):\n    return a + b\n\n\n" * 100)
        (Path(folder) / "kernel.cu").write_text(KERNEL.read_text())
        own = (sys.executable, "-m", "smemlint")
        rows: list[tuple[str, tuple[str, ...]]] = [
            ("python -c pass", (sys.executable, "-c", "pass")),
            (_BASE, (sys.executable, "-c", _BASE)),
            ("smemlint --version", (*own, "--version")),
            ("smemlint check --help", (*own, "check", "--help")),
            ("smemlint rule SML101", (*own, "rule", "SML101")),
            ("check, C++ without kernels", (*own, "check", "--no-cache", "plain.cu")),
            ("check, Python without kernels", (*own, "check", "--no-cache", "plain.py")),
            ("check, one kernel", (*own, "check", "--no-cache", "kernel.cu")),
            ("check, one kernel, cached", (*own, "check", "kernel.cu")),
        ]
        beside = Path(sys.executable).parent
        for name, arguments in (
            ("ruff", ("check", "--isolated", "--no-cache", "plain.py")),
            ("fixit", ("lint", "plain.py")),
            ("clang-tidy", ("--checks=bugprone-*", "plain.cu", "--", "-x", "c++")),
            (
                "clang-tidy",
                ("--checks=bugprone-*", "kernel.cu", "--", "-x", "c++", "-fsyntax-only"),
            ),
        ):
            found = shutil.which(name, path=f"{beside}{os.pathsep}{os.environ['PATH']}")
            if found is None:
                print(f"{name} is not installed")
                continue
            file = next(a for a in arguments if a.startswith(("plain", "kernel")))
            rows.append((f"{name}, {file}", (found, *arguments)))
        os.utime(Path(folder) / "kernel.cu", (time.time() - 600,) * 2)
        base = 0.0
        for name, command in rows:
            wall, processor = fastest(command, folder)
            base = processor if name == _BASE else base
            ratio = f", {processor / base:.2f} of `{_BASE}`" if base else ""
            print(
                f"{name:<34}{1000 * wall:6.0f} ms, of processor {1000 * processor:5.0f} ms{ratio}"
            )


if __name__ == "__main__":
    main()
