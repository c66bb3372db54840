"""Numba kernels that other files of the run launch: the block is theirs.

Lanes of `s[x, y]` in rows of 32 words lie 32 words apart in x: of 32 x 8 threads a warp meets in one
bank (32-way), of 16 x 16 in two (16-way), of 8 x 32 in four (8-way).
"""

from __future__ import annotations

import pytest

from smemlint.analysis.analyze import Analyzer
from smemlint.config.settings import Configuration
from smemlint.sources.source import Source

KERNEL = """\
from numba import cuda, float32

@cuda.jit
def kernel(a):
    s = cuda.shared.array((32, 32), float32)
    s[cuda.threadIdx.x, cuda.threadIdx.y] = a[0]
"""
OTHER = """\
from numba import cuda

@cuda.jit
def kernel(a):
    a[0] = 1
"""
SHAPES = "TILE = 8\nBLOCK = (TILE, 32)\n"


def analyzed(tmp_path, launch: str, package: str = "") -> tuple[list[float | None], list[str]]:
    """The ways of the kernel's store, and the files that they depend on, searched ones first."""
    files = {"kernels": KERNEL, "other": OTHER, "shapes": SHAPES, "__init__": package}
    for name, text in {"run": launch, **{f"tool/{k}": v for k, v in files.items()}}.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    sources = [Source(str(path)) for path in sorted(tmp_path.rglob("*.py"))]
    notes = []
    analyzer = Analyzer(sources, Configuration(isolated=True).for_file, notes.append)
    facts, found = analyzer.analyze(str(tmp_path / "tool" / "kernels.py"))
    assert not notes
    ways = [a.ways if a.certainty.is_decided else None for k in facts.kernels for a in k.accesses]
    return ways, [*found.searches.get(("kernels",), ()), *found.reads]


@pytest.mark.parametrize(
    ("launch", "ways"),
    [
        ("from tool.kernels import kernel\ndef f(a):\n    kernel[4, (32, 8)](a)\n", 32),
        ("from tool.kernels import *\ndef f(a):\n    kernel[4, (16, 16)](a)\n", 16),
        ("from tool.kernels import kernel as k\ndef f(a):\n    k[4, (16, 16)](a)\n", 16),
        ("import tool.kernels as t\ndef f(a):\n    t.kernel[4, (8, 32)](a)\n", 8),
        ("from tool import kernels\nkernels.kernel[4, (16, 16)](1)\n", 16),
        (
            "from tool.kernels import kernel\nfrom tool.shapes import BLOCK\n"
            "def f(a, n):\n    kernel[n // 8, BLOCK](a)\n",
            8,
        ),
    ],
)
def test_every_way_to_name_the_kernel_leads_to_its_launch(launch, ways, tmp_path):
    found, files = analyzed(tmp_path, launch)
    assert found == [ways]
    assert files.count(str(tmp_path / "run.py")) == 2  # searched for, and read


def test_a_package_hands_the_kernel_on(tmp_path):
    launch = "from tool import kernel\ndef f(a):\n    kernel[4, (16, 16)](a)\n"
    handed_on = "from .kernels import kernel\n"
    assert analyzed(tmp_path, launch, handed_on)[0] == [16]


@pytest.mark.parametrize(
    "launch",
    [
        "import tool.kernels\nfrom tool.other import kernel\nkernel[4, (16, 16)](1)\n",
        "import tool.kernels\ndef kernel():\n    pass\nkernel[4, (16, 16)](1)\n",
    ],
)
def test_another_function_of_the_name_is_not_the_kernel(launch, tmp_path):
    assert analyzed(tmp_path, launch)[0] == [None]


def test_a_kernel_that_is_launched_elsewhere_is_not_evaluated_there(tmp_path):
    launch = KERNEL.replace("kernel", "own") + "from tool.kernels import kernel\n"
    launch += "own[4, (8, 32)](1)\nkernel[4, (16, 16)](1)\n"
    assert analyzed(tmp_path, launch)[0] == [16]
    path = str(tmp_path / "run.py")
    sources = [Source(str(p)) for p in sorted(tmp_path.rglob("*.py"))]
    analyzer = Analyzer(sources, Configuration(isolated=True).for_file, lambda note: None)
    facts, _ = analyzer.analyze(path)
    assert [(k.instance.kernel, a.ways) for k in facts.kernels for a in k.accesses] == [("own", 8)]
