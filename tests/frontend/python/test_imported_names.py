"""Constants and functions that Numba kernels import from files beside theirs."""

from __future__ import annotations

import pytest

from smemlint.analysis.analyze import Analyzer, analyze
from smemlint.config.settings import Configuration, Settings
from smemlint.sources.source import Source

HELPERS = """\
from numba import cuda as nc, float32 as real

TILE = 16
PITCH = 2 * TILE + 1 if TILE == 32 else TILE
ELEMENT = real
SHAPE = (TILE, PITCH)

@nc.jit(device=True)
def column():
    return nc.threadIdx.x * STEP

@nc.jit
def put(tile, value):
    tile[column() // STEP, nc.threadIdx.y] = value

STEP = 2
CHANGED = 1
CHANGED = 2
"""
KERNEL = """\
from numba import cuda, float64
{imports}

TILE = 32
STEP = 5

@cuda.jit
def kernel(out):
    s = cuda.shared.array({shape})
    {put}(s, 1.0)
    cuda.syncthreads()
    out[0] = s[0, cuda.threadIdx.x]

def run(out):
    kernel[1, ({block})](out)
"""


def dependencies_of(source: Source) -> list[str]:
    """The files that the facts of a source depend on."""
    analyzer = Analyzer([source], Configuration(isolated=True).for_file, lambda note: None)
    return list(analyzer.analyze(source.path)[1].reads)


def accesses(tmp_path, **parts: str) -> list[tuple[str, int, float | None]]:
    folder = tmp_path / "tool"
    folder.mkdir()
    (folder / "helpers.py").write_text(HELPERS)
    (folder / "kernels.py").write_text(KERNEL.format(**parts))
    source = Source(str(folder / "kernels.py"))
    facts, crashed = analyze([source], Settings())
    assert not crashed
    assert str(folder / "helpers.py") in dependencies_of(source)
    return [
        (a.span.path.rpartition("/")[2], a.span.line, a.ways)
        for kernel in facts.kernels
        for a in kernel.accesses
    ]


@pytest.mark.parametrize(
    ("imports", "put", "shape"),
    [
        ("from helpers import put, SHAPE", "put", "SHAPE, float64"),
        ("from .helpers import put as store, SHAPE as S", "store", "S, float64"),
        ("from tool.helpers import put, TILE as N", "put", "(N, N), float64"),
        ("import helpers", "helpers.put", "(helpers.TILE, helpers.PITCH), float64"),
        ("from . import helpers as h", "h.put", "(h.TILE, 16), float64"),
        ("import tool.helpers as h", "h.put", "h.SHAPE, float64"),
        ("from helpers import *", "put", "SHAPE, float64"),
        ("from .helpers import *; from math import *", "put", "(SHAPE[0], PITCH), float64"),
    ],
)
def test_every_way_to_import_leads_to_the_file(imports, put, shape, tmp_path):
    found = accesses(tmp_path, imports=imports, put=put, shape=shape, block="16, 16")
    assert found == [("helpers.py", 14, 16.0), ("kernels.py", 12, 1.0)]


def test_names_of_a_function_are_those_of_its_own_file(tmp_path):
    """`STEP` is 2 in the helper's file, and 5 in the kernel's."""
    found = accesses(
        tmp_path, imports="import helpers", put="helpers.put", shape="(32, 33), float64",
        block="helpers.TILE * STEP - 48, 1",
    )  # fmt: skip
    assert found == [("helpers.py", 14, 1.0), ("kernels.py", 12, 1.0)]


@pytest.mark.parametrize("shape", ["(helpers.CHANGED, 32), float64", "(helpers.gone, 32), float64"])
def test_what_is_not_one_constant_is_not_known(shape, tmp_path):
    found = accesses(
        tmp_path, imports="import helpers", put="helpers.put", shape=shape, block="1, 32"
    )
    assert [ways for _, _, ways in found] == [1.0, 1.0]  # one lane writes; rows are not asked for


def test_a_module_that_is_not_there_is_looked_for(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(KERNEL.format(
        imports="from helpers import put", put="put", shape="(32, 32), float64", block="32, 32"
    ))  # fmt: skip
    source = Source(str(path))
    facts, _ = analyze([source], Settings())
    assert str(tmp_path / "helpers.py") in dependencies_of(source)
    (kernel,) = facts.kernels
    assert [n.reason.code for n in kernel.not_analysed] == ["not-declared"]


def test_a_shape_that_is_not_known_has_no_figure(tmp_path):
    found = accesses(
        tmp_path, imports="import helpers", put="helpers.put", shape="helpers.gone, float64",
        block="16, 16",
    )  # fmt: skip
    assert [ways for _, _, ways in found] == [0.0, 0.0]
