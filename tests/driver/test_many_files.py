"""A tree of 2,000 files with hostile ones: the others are reported, time and memory are bounded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smemlint.analysis.simt.analyze import Project
from smemlint.config.settings import Settings
from smemlint.sources.discovery import find_sources

ROOT = Path(__file__).resolve().parents[2]
FILES = 2_000
WITH_KERNELS = 40
BAD = """\
__global__ void k{0}(float *out) {{
  __shared__ float s[32][32];
  out[threadIdx.x] = s[threadIdx.x][0];
}}
void run{0}(float *out) {{ k{0}<<<1, 32>>>(out); }}
"""
ENDLESS = """\
__global__ void e(int *p, int n) {
  __shared__ int s[64];
  for (;;) for (int i = 0; i < 1000000000; i++) { s[(i * n) & 63] = i; n = n * 3 + s[i & 63]; }
}
void go(int *p) { e<<<1, 1024>>>(p, 3); }
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    plant(folder)
    return folder


def plant(folder: Path) -> None:
    """Writes the tree: files with and without kernels, and five that are hostile."""
    for i in range(FILES - 5):
        part = folder / f"d{i % 20}"
        part.mkdir(exist_ok=True)
        text = BAD.format(i) if i < WITH_KERNELS else f"int host{i}(int x) {{ return x + {i}; }}\n"
        (part / f"f{i}.cu").write_text(text)
    (folder / "endless.cu").write_text(ENDLESS)
    (folder / "line.cu").write_text("__shared__ int x; //" + "a" * (50 << 20))
    nested = "(" * 20_000 + "0" + ")" * 20_000
    (folder / "nested.cu").write_text(
        f"__global__ void n() {{ __shared__ int s[4]; s[{nested}] = 1; {'{' * 5_000}\n"
    )
    (folder / "binary.cu").write_bytes(b"__shared__\0\xff\xfe" * 10_000)
    unreadable = folder / "unreadable.cu"
    unreadable.symlink_to(folder / "nowhere.cu") if os.geteuid() == 0 else unreadable.write_text("")
    unreadable.chmod(0) if os.geteuid() else None


# A process begins with the memory of the one that starts it, and pytest's own grows with its tests:
# a small process in between, whose first argument is a file, writes what its children took there.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[2:]).returncode
with open(sys.argv[1], "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""


def check(tree, *arguments, peak=os.devnull):
    began = time.monotonic()
    command = [sys.executable, "-m", "smemlint", "check", "--output-format", "json"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(peak), *command, *arguments, "."],
        cwd=tree, capture_output=True, text=True, check=False, timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return done, time.monotonic() - began


@pytest.mark.slow
def test_all_others_are_reported_in_bounded_time_and_memory(tree, tmp_path):
    done, seconds = check(tree, "--time-limit", "2", "--no-cache", peak=tmp_path / "peak")
    assert "Traceback" not in done.stderr
    assert done.returncode == 1  # findings, and nothing that could not be done
    findings = json.loads(done.stdout)["findings"]
    conflicts = [f for f in findings if f["code"] == "SML101" and "/f" in f["file"]]
    assert len(conflicts) == WITH_KERNELS
    assert {f["message"] for f in conflicts} == {"32-way bank conflict reading `s`"}
    notes = {f["file"]: f["message"] for f in findings if f["code"] == "SML901"}
    assert notes["line.cu"] == "not analysed: larger than 8 MiB"
    assert "nested.cu" in notes and "endless.cu" in notes
    assert notes["binary.cu"] == "not analysed: binary"
    assert seconds < 60
    most = int((tmp_path / "peak").read_text())  # KiB, of the largest process
    assert 10_000 < most < 1 << 20


@pytest.mark.slow
def test_an_unchanged_tree_is_not_evaluated_again(tree, tmp_path):
    old = time.time() - 3600
    for file in tree.rglob("*.cu"):
        if file.exists():
            os.utime(file, (old, old))
    options = ("--time-limit", "2", "--cache-dir", str(tmp_path / "cache"))
    cold, _ = check(tree, *options)
    warm, seconds = check(tree, *options)
    assert warm.stdout == cold.stdout and warm.returncode == cold.returncode == 1
    assert warm.stderr == cold.stderr
    assert seconds < 5


def test_units_of_earlier_tasks_are_forgotten_and_read_again(tmp_path, monkeypatch):
    for i in range(6):
        (tmp_path / f"k{i}.cu").write_text(f'#include "tile.cuh"\n{BAD.format(i)}')
    (tmp_path / "tile.cuh").write_text(BAD.format("_shared"))
    (tmp_path / "run.cu").write_text('#include "tile.cuh"\nvoid go() { k3<<<1, 32>>>(0); }\n')
    sources = find_sources([str(tmp_path)])

    def run(characters: int) -> tuple[list[int], list[object]]:
        monkeypatch.setattr("smemlint.analysis.program.units.MAX_EARLIER_CHARACTERS", characters)
        project = Project(sources, Settings())
        kept, found = [], []
        for task in project.tasks():
            facts, _ = project.alone(task)
            kept.append(len(project.index._units))
            found += [
                (k.instance.title, a.span, a.certainty, a.ways)
                for k in facts.kernels
                for a in k.accesses
            ]
        return kept, found

    everything, nothing = run(1 << 30), run(0)
    assert max(everything[0]) == 7 and max(nothing[0]) <= 3
    assert everything[1] == nothing[1]
    assert sum(ways == 32 for *_, ways in nothing[1]) >= 7
