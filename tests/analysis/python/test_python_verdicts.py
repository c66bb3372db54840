"""Every kernel of the table of Python fixtures has its verdict; who checked it is in the table."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.lint.result import Result
from smemlint.sources.source import Source

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "python"
TABLE = json.loads((FOLDER / "verdicts.json").read_text())["rows"]
WORST = json.loads((FOLDER.parent / "triton" / "kernels.json").read_text())["worst"]


@cache
def checked(file: str, arch: str) -> Result:
    return check([Source(str(FOLDER / file))], Settings(arch=arch))


def lines_of(file: str, function: str) -> range:
    for node in ast.parse((FOLDER / file).read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    raise AssertionError(f"no function {function} in {file}")


@pytest.mark.parametrize("row", TABLE, ids=lambda r: f"{r['row']}-{r['kernel']}-{r['arch']}")
def test_a_kernel_has_its_verdict(row):
    result = checked(row["file"], row["arch"])
    if row["codes"] is not None:
        lines = lines_of(row["file"], row["kernel"])
        found = sorted((f.span.line, f.code) for f in result.findings if f.span.line in lines)
        assert sorted(code for _, code in found) == sorted(row["codes"])
    if row["worst"] is not None:
        mine = [
            kernel
            for kernel in result.facts.kernels
            if kernel.instance.title == row["kernel"]
            and (row["block"] is None or list(kernel.instance.block or ()) == row["block"])
        ]
        assert mine, [k.instance.title for k in result.facts.kernels]
        assert {max(a.ways for a in kernel.accesses) for kernel in mine} == {row["worst"]}


def test_the_table_has_all_twenty():
    assert {r["row"] for r in TABLE if isinstance(r["row"], int)} == set(range(1, 21))


@pytest.mark.parametrize("arch", WORST)
def test_triton_kernels_are_reported_where_the_ptx_conflicts(arch):
    """On sm_80 nothing conflicts, and what is reported there are notes on lost `ldmatrix`."""
    file = "triton_kernels.py"
    for kernel, instructions in WORST[arch].items():
        lines = lines_of(file, kernel)
        found = [f for f in checked(file, arch).findings if f.span.line in lines]
        warned = [f for f in found if f.severity >= 1]
        assert bool(warned) == (max(instructions.values()) > 1), (kernel, instructions)
        if arch == "sm_80":
            scalar = "load 1" in instructions or ("along_n" in kernel and "load 4" in instructions)
            assert bool(found) == scalar


def test_an_array_that_is_not_known_is_named_as_its_source_does() -> None:
    text = """
from numba import cuda
@cuda.jit
def k(o, shape, dt):
    a = cuda.shared.array(shape, 'float32')
    b = cuda.shared.array(32, dt)
    a[cuda.threadIdx.x, 0] = 1
    b[cuda.threadIdx.x] = 1
"""
    facts, _ = analyze([Source("k.py", text)], Settings())
    reasons = [str(a.reason) for kernel in facts.kernels for a in kernel.accesses]
    assert ["`shape`" in reasons[0], "`dt`" in reasons[1]] == [True, True]
