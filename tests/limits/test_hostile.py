"""Inputs that ended a run, or a file, with an internal error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import facts_of

from smemlint.analysis.analyze import analyze
from smemlint.analysis.simt.builtins.call import BUILTINS
from smemlint.config.settings import Configuration, Settings
from smemlint.limits.budgets import MAX_FILE_BYTES
from smemlint.sources.notebook import Notebook
from smemlint.sources.source import Source

NAMES = sorted({*BUILTINS, "__init", "__launch", "__unparsed"})


def kernel_of(statement: str) -> str:
    return (
        "__global__ void k(float *o) { __shared__ float t[32][32]; "
        f"{statement}; o[0] = t[threadIdx.x][0]; }}\n"
        "void run(float *o) { k<<<1, 32>>>(o); }\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_calls_of_built_in_functions_with_any_arguments_are_survived(part):
    for name in NAMES[part::8]:
        calls = "; ".join(f"{name}({given})" for given in ("", "1", "o, 1"))
        text = kernel_of(f"{calls}; int x = {name}(t, t, t, t, t); t[x][x] = x")
        assert facts_of(text).kernels or name == "__launch_bounds__", name


def test_too_few_arguments_make_an_access_undecided():
    facts = facts_of(kernel_of("o[1] = t[abs()][0]"))
    decided = sorted(a.certainty.is_decided for k in facts.kernels for a in k.accesses)
    assert decided == [False, True]


def test_names_with_null_bytes_are_not_found():
    assert facts_of('// padding\n#include "a\0b.h"\n' + kernel_of("")).kernels
    text = "import cupy\nk = cupy.RawKernel(open('a\\0b.cu').read(), 'k')\n"
    facts, crashed = analyze([Source("n.py", text)], Settings())
    assert (crashed, len(facts.not_analysed)) == (False, 1)


def test_numbers_of_a_notebook_may_have_any_length():
    cell = {"cell_type": "code", "source": ["x = 1"], "execution_count": 7, "x": 1.5}
    text = json.dumps({"cells": [cell], "n": 0}).replace("7", "7" * 5_000)
    assert Notebook.of(text).module == "x = 1"


def test_folders_may_be_thousands_deep():
    path = Path("/", *(["d"] * 3_000), "k.cu")
    assert Configuration().for_file(str(path)) == Configuration().for_file("/k.cu")


@pytest.mark.parametrize(
    "given", ["x" * (MAX_FILE_BYTES + 1), "\u20ac" * (MAX_FILE_BYTES // 3 + 1)]
)
def test_open_documents_have_the_size_limit_of_files(given):
    source = Source("k.cu", given)
    assert (source.text, source.problem) == ("", "larger than 8 MiB")
    whole = Source("k.cu", "x" * MAX_FILE_BYTES)
    assert (len(whole.text), whole.problem) == (MAX_FILE_BYTES, "")
