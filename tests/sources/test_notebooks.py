"""Notebooks: cells as one module, places in cells, edits that keep the JSON text."""

from __future__ import annotations

import json
import re

import pytest

from smemlint.facts import Span
from smemlint.finding import Edit
from smemlint.sources.notebook import NotANotebook, Notebook
from smemlint.sources.source import Source

KERNEL = """k = cp.RawKernel(r'''
extern "C" __global__ void t(const float* a, float* b) {  // \u00e9
  __shared__ float tile[32][32];
  /* "\U0001f600" */ tile[threadIdx.y][threadIdx.x] = a[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  b[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
''', 't')"""
LAUNCH = "k((1,), (32, 32), (a, b))"


def code(source: str | list[str]) -> dict[str, object]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source,
    }


def notebook(*cells: dict[str, object], ensure_ascii: bool = True) -> str:
    document = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=ensure_ascii) + "\n"


CONCISE = ("--output-format", "concise")
MARKDOWN = {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]}
TRANSPOSE = notebook(
    MARKDOWN,
    code(["%matplotlib inline\n", "!pip install cupy\n", "import cupy as cp\n"]),
    code(KERNEL.splitlines(keepends=True)),
    code(LAUNCH),
)


def module(*sources: str) -> str:
    return Notebook.of(notebook(*map(code, sources))).module


def test_a_conflict_is_named_by_cell_and_line_in_it(smemlint, tmp_path):
    (tmp_path / "n.ipynb").write_text(TRANSPOSE)
    status, stdout, _stderr = smemlint("check", ".", *CONCISE)
    assert stdout == (
        "n.ipynb:cell 3:6:39: SML101 warning: 32-way bank conflict reading `tile` in `t` [assumed]\n"
    )
    assert status == 1
    full = smemlint("check", "n.ipynb")[1]
    assert "--> n.ipynb:cell 3:6:39" in full
    assert "launch at n.ipynb:cell 4:1" in full


def test_json_says_cell_and_sarif_the_line_of_the_file(smemlint, tmp_path):
    (tmp_path / "n.ipynb").write_text(TRANSPOSE)
    output = smemlint("check", "n.ipynb", "--output-format", "json")[1]
    (finding,) = json.loads(output)["findings"]
    place = {key: finding[key] for key in ("file", "cell", "line", "column", "end_column")}
    assert place == {"file": "n.ipynb", "cell": 3, "line": 6, "column": 39, "end_column": 69}
    output = smemlint("analyze", "n.ipynb", "--output-format", "json")[1]
    assert [(a["cell"], a["line"], a["column"]) for a in json.loads(output)["accesses"]] == [
        (3, 4, 13),
        (3, 6, 39),
    ]
    output = smemlint("check", "n.ipynb", "--output-format", "sarif")[1]
    (result,) = json.loads(output)["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    row = TRANSPOSE.split("\n")[region["startLine"] - 1]
    found = row[region["startColumn"] - 1 : region["endColumn"] - 1]
    assert found == "tile[threadIdx.x][threadIdx.y]"


def test_places_are_found_behind_escapes():
    parsed = Notebook.of(TRANSPOSE)
    row = next(i for i, r in enumerate(parsed.module.split("\n"), 1) if "__syncthreads" in r) - 1
    place = parsed.in_file(Span("n.ipynb", row, 13, row, 17))
    text = TRANSPOSE.split("\n")[place.line - 1]
    assert text[place.column - 1 : place.end_column - 1] == "tile"
    assert "\\ud83d\\ude00" in text[: place.column]


def test_an_edit_changes_its_string_and_nothing_else(smemlint, tmp_path):
    for ensure_ascii in (True, False):
        text = notebook(code("import cupy as cp"), code(KERNEL.splitlines(keepends=True)),
                        code(LAUNCH), ensure_ascii=ensure_ascii)  # fmt: skip
        (tmp_path / "n.ipynb").write_text(text, encoding="utf-8")
        status, _stdout, stderr = smemlint("check", "n.ipynb", "--fix", "--unsafe-fixes")
        assert status == 0, stderr
        after = (tmp_path / "n.ipynb").read_text(encoding="utf-8")
        assert after == text.replace("tile[32][32];", "tile[32][33];")


def test_an_edit_with_quotes_and_line_ends_is_escaped():
    parsed = Notebook.of(notebook(code("a = 1")))
    edit = parsed.edit_in_file(Edit(Span("n.ipynb", 1, 5, 1, 6), '"x"\n'))
    assert edit.text == r"\"x\"\n"


def test_suppressions_work_in_cells(smemlint, tmp_path):
    row = "  b[threadIdx.y * 32 + threadIdx.x] ="
    ignored = KERNEL.replace(row, f"  // smemlint: ignore[bank-conflict] once\n{row}")
    (tmp_path / "n.ipynb").write_text(
        notebook(code("import cupy as cp"), code(ignored), code(LAUNCH))
    )
    _, stdout, stderr = smemlint("check", "n.ipynb", *CONCISE)
    assert stdout == ""
    assert "(1 suppressed)" in stderr
    unused = "# smemlint: ignore[bank-conflict] old\nx = 1"
    (tmp_path / "n.ipynb").write_text(notebook(MARKDOWN, code("y = 1"), code(unused)))
    _status, stdout, stderr = smemlint("check", "n.ipynb", *CONCISE)
    assert stdout.startswith("n.ipynb:cell 3:1:1: SML902")


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("%load_ext x\nx = 1", ["pass", "x = 1"]),
        ("if a:\n    !ls -l\nb = 2", ["if a:", "    pass", "b = 2"]),
        ("files = !ls \\\n  -l\nb = 2", ["pass", "", "b = 2"]),
        ("cp.RawKernel?\nb = 2", ["pass", "b = 2"]),
        ("%timeit k[1, 2](a); b()\nb = 2", ["_     = k[1, 2](a); b()", "b = 2"]),
        ("%timeit -n 10 -r3 k(a)", ["_               = k(a)"]),
        ("if a:\n    %time x = k(a)", ["if a:", "    _   = x = k(a)"]),
        ("%time for x in y:\nb = 2", ["pass", "b = 2"]),
        ("%%time\nx = 1", ["", "x = 1"]),
        ("%%capture out\nx = 1\n", ["", "x = 1"]),
        ("s = '''\n%d\n''' % 3", ["s = '''", "%d", "''' % 3"]),
        ("await f()", ["await f()"]),
    ],
)
def test_lines_for_ipython_alone_are_blanked(source, lines):
    assert module(source).split("\n") == lines


def test_cells_of_other_languages_and_broken_ones_are_left_out_and_said(smemlint, tmp_path):
    cuda = "%%bash\ncat > k.cu << EOF\n__global__ void k() { __shared__ int s[32]; }\nEOF"
    text = notebook(code(cuda), code("x = RawKernel("), code("%%bash\nls"), code("y = (1"))
    assert Notebook.of(text).module == "\n" * 7
    (tmp_path / "n.ipynb").write_text(text)
    _status, stdout, _stderr = smemlint("check", "n.ipynb", *CONCISE)
    notes = [line.split(": ", 1) for line in stdout.splitlines()]
    assert [place for place, _ in notes] == ["n.ipynb:cell 1:1:1", "n.ipynb:cell 2:1:1"]
    assert "cells of `%%bash` are not read" in notes[0][1]
    assert "'(' was never closed in line 1" in notes[1][1]


def test_cells_of_cuda_text_are_units_that_include_cells(smemlint, tmp_path):
    """`put` stores a column of 32 words (32 ways), `j` every other word of a row (2 ways)."""
    header = "%%writefile src/t.cuh\n#define N 32\n__device__ void put(float (*s)[N]) {\n"
    header += "  s[threadIdx.x][0] = 1;\n}\n"
    kernel = '%%writefile src/k.cu\n#include "t.cuh"\n__global__ void k(float *o) {\n'
    kernel += "  __shared__ float s[N][N];\n  put(s);\n  o[0] = s[0][0];\n}\n"
    kernel += "void go(float *o) { k<<<1, 32>>>(o); }\n"
    other = (
        "%%cu\n__global__ void j(float *o) {\n  __shared__ float s[64];\n  printf(\"'''\\n\");\n"
    )
    other += (
        "  s[threadIdx.x * 2] = 1;\n  o[0] = s[0];\n}\nint main() { float *o; j<<<1, 32>>>(o); }"
    )
    python = "%%writefile 'k.py'\nfrom numba import cuda, int32\n@cuda.jit\ndef k(a):\n"
    python += "    s = cuda.shared.array(128, int32)\n    s[cuda.threadIdx.x * 4] = 1\nk[1, 32](0)"
    cells = code("import x"), code(header), code(kernel), code(other), code(python)
    (tmp_path / "n.ipynb").write_text(notebook(*cells))
    _status, stdout, _stderr = smemlint("check", "n.ipynb", *CONCISE)
    found = {line.split(": ", 1)[0]: line for line in stdout.splitlines()}
    assert list(found) == ["n.ipynb:cell 2:4:3", "n.ipynb:cell 4:5:3", "n.ipynb:cell 5:6:5"]
    ways = [re.search(r"(\d+)-way", line) for line in found.values()]
    assert [int(m[1]) for m in ways if m] == [32, 2, 4]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not a notebook: Expecting property name enclosed in double quotes in line 1"),
        ('{\n"cells": [,]}', "not a notebook: Expecting value in line 2, column 11"),
        ("[1]", "not a notebook: its JSON is no object"),
        ('{"cells": 3}', "not a notebook: it has no list of `cells`"),
        ('{"cells": [{"cell_type": "markdown"}, 3]}', "not a notebook: cell 2 is no object"),
        ('{"cells": [{"cell_type": "code", "source": [3]}]}', "the source of cell 1 is no text"),
        ("[" * 100_000, "not a notebook: nested too deeply"),
        ("", "not a notebook: Expecting value in line 1, column 1"),
    ],
)
def test_what_is_no_notebook_is_said(text, reason):
    source = Source("n.ipynb", text.encode())
    assert source.text == ""
    assert reason in source.problem
    with pytest.raises(NotANotebook):
        Notebook.of(text)


def test_standard_input_may_be_a_notebook(smemlint):
    status, stdout, _stderr = smemlint(
        "check", "-", "--stdin-filename", "x.ipynb", *CONCISE, stdin=TRANSPOSE.encode()
    )
    assert stdout.startswith("x.ipynb:cell 3:6:39: SML101")
    status, stdout, _ = smemlint("check", "-", "--stdin-filename", "x.ipynb", stdin=b"{")
    assert status == 0
    assert "not a notebook" in stdout


def test_a_notebook_of_version_3_has_its_cells_in_worksheets():
    sheet = {"cells": [{"cell_type": "code", "input": ["a = 1\n", "b = 2"], "language": "python"}]}
    assert Notebook.of(json.dumps({"worksheets": [sheet]})).module == "a = 1\nb = 2"
