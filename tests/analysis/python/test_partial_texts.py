"""Texts of kernels with parts that are not known: only what depends on these stays undecided.

A store with a stride of two words is 2-way by arithmetic, whatever a known integer is added to it.
"""

from __future__ import annotations

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.analysis.python.cupy.partial_texts import OpenPart, PartialText, assembled
from smemlint.config.settings import Settings
from smemlint.sources.source import Source

_HEAD = "import cupy as cp\nfrom string import Template\n"
_CALL = "    cp.RawKernel({code}, 'k')((1,), (64,), (o,))\n"
_BODY = "__shared__ float s[1024];\n s[threadIdx.x * 2 + PART] = 1;\n s[threadIdx.x * 2] = 1;"
_KERNEL = "__global__ void k(float* o) {\n " + _BODY + "\n o[0] = s[0];\n}\n"
_INSERTED = _KERNEL.replace("PART", "%s")


def _facts(text: str):
    facts, crashed = analyze([Source("k.py", text)], Settings())
    assert not crashed
    return facts


def _stores(text: str) -> list[float]:
    """Ways of each store; 0 where they are not decided."""
    kernels = _facts(text).kernels
    return [a.ways for kernel in kernels for a in kernel.accesses if a.kind == "store"]


@pytest.mark.parametrize(
    ("code", "ways"),
    [
        (f"'''{_INSERTED}''' % n", [0, 2]),
        (f"'''{_KERNEL.replace('PART', '%(n)s')}''' % table", [0, 2]),
        (f"'''{_KERNEL.replace('PART', '%d')}''' % n", [2, 2]),
        (f"'''{_KERNEL}'''.replace('PART', str(n))", [0, 2]),
        (f"'''{_KERNEL}'''.replace('PART', str(len(o)))", [0, 2]),
        (f"Template('''{_KERNEL.replace('PART', '${n}')}''').substitute(n=n)", [0, 2]),
        (f"'#define PART ' + str(len(o)) + '''\n{_KERNEL}'''", [2, 2]),
        (f"'\\n'.join(['#define PART %d' % n, '''{_KERNEL}'''])", [2, 2]),
        (f"'#define PART {{:d}}\\n{{}}'.format(n, '''{_KERNEL}''')", [2, 2]),
        (f"'#define PART 4\\n' + pre + '''\n{_KERNEL}'''", [2, 2]),
        (f"('#define PART X\\n' + str(n) + '''\n{_KERNEL}''').replace('X', '4')", [2, 2]),
    ],
)
def test_only_what_depends_on_an_open_part_is_undecided(code: str, ways: list[float]) -> None:
    run = "def run(o, n, pre, table):\n" + _CALL.format(code=code)
    assert _stores(_HEAD + run) == ways


def test_an_open_type_has_no_size() -> None:
    body = "__shared__ {T} s[64]; __shared__ float v[64]; s[threadIdx.x] = v[threadIdx.x] = 1;"
    text = f"f'''__global__ void k(float* o) {{{{ {body} }}}}'''"
    assert sorted(_stores(_HEAD + "def run(o, T):\n" + _CALL.format(code=text))) == [0, 1]


@pytest.mark.parametrize("part", ["\n%s\n", "%s;\n", "if (o) %s\n", "if (o) o[0] = 1; else %s\n"])
def test_a_part_that_may_be_statements_leaves_the_text_unknown(part: str) -> None:
    kernel = _KERNEL.replace("PART", "0").replace("o[0] = s[0];", part)
    text = _HEAD + "def run(o, n):\n" + _CALL.format(code=f"'''{kernel}''' % n")
    assert _stores(text) == []
    assert [n.span.line for n in _facts(text).not_analysed] == [4]


def test_lines_outside_of_functions_are_said() -> None:
    kernel = _KERNEL.replace("PART", "0")
    code = _CALL.format(code=f"pre + '''{kernel}'''")
    text = _HEAD + "def run(o, pre):\n" + code
    assert _stores(text) == [2, 2]
    assert len(_facts(text).not_analysed) == 1


def test_an_execution_that_knows_all_of_a_text_counts_alone() -> None:
    run = "def run(o, n=4):\n" + _CALL.format(code=f"'''{_INSERTED}''' % n") + "run(0)\n"
    assert _stores(_HEAD + run) == [2, 2]


def test_a_macro_of_the_options_that_is_open_has_no_default() -> None:
    kernel = "#ifndef PART\n#define PART 1\n#endif\n" + _KERNEL.replace("2 + PART", "PART")
    call = f"    cp.RawKernel('''{kernel}''', 'k', options=(f'-DPART={{n}}',))((1,), (64,), (o,))\n"
    assert _stores(_HEAD + "def run(o, n):\n" + call) == [0, 2]


def test_names_are_no_words_of_the_text_and_alike_for_equal_parts() -> None:
    one, other = OpenPart("n"), OpenPart("n", is_integer=True)
    text = assembled(["int n = ", one, " + ", other, " + ", one, ";"])
    assert isinstance(text, PartialText)
    declared = "extern __constant__ int open_n_2;\n"
    assert text.completed() == declared + "int n = open_n + open_n_2 + open_n;"


@pytest.mark.parametrize(
    ("lines", "index"),
    [
        ("#if %s > 3\n#define P 1\n#else\n#define P 2\n#endif\n", "threadIdx.x * P"),
        ("#define N %d\n#if N > 3\n#define P 1\n#else\n#define P 2\n#endif\n", "threadIdx.x * P"),
        ("%s\n#ifndef P\n#define P 2\n#endif\n", "threadIdx.x * P"),
        ("#define %s 4\n#ifndef P\n#define P 2\n#endif\n", "threadIdx.x * P"),
        ("#define A(x) (x %s)\n", "A(threadIdx.x)"),
        ("", "threadIdx.x %s 2"),
    ],
)
def test_a_part_that_decides_lines_or_operators_leaves_the_text_unknown(
    lines: str, index: str
) -> None:
    kernel = lines + _KERNEL.replace("threadIdx.x * 2 + PART", index)
    text = _HEAD + "def run(o, n):\n" + _CALL.format(code=f"'''{kernel}''' % n")
    assert _stores(text) == []
    assert len(_facts(text).not_analysed) == 1


@pytest.mark.parametrize(
    "statement", ["if (o) %s;", "%s i *= 2;", "%s s[i] = 1;", "%s = 2 * i;", "i %s= 2;", "++%s;"]
)
def test_a_part_that_may_write_an_index_leaves_the_text_unknown(statement: str) -> None:
    body = f"int i = threadIdx.x; {statement} s[i] = 1;"
    kernel = _KERNEL.replace("s[threadIdx.x * 2 + PART] = 1;", body)
    text = _HEAD + "def run(o, n):\n" + _CALL.format(code=f"'''{kernel}''' % n")
    assert _stores(text) == []


def test_known_numbers_behind_open_ones_keep_the_text() -> None:
    head = _KERNEL.replace("PART", "' + str(n) + ' + ' + str(T + 1) + ' + ' + str(T) + '")
    code = head.replace("\n", "\\n")
    text = f"{_HEAD}T = 4\ndef run(o, n):\n" + _CALL.format(code=f"'{code}'")
    assert _stores(text) == [0, 2]


@pytest.mark.parametrize("index", ["{len(o.x)} - {len(n.x)}", "{len(o[0])} - {len(o[1])}"])
def test_parts_of_other_values_are_not_equal(index: str) -> None:
    kernel = _KERNEL.replace("{", "{{").replace("}", "}}").replace("2 + PART", f"(1 + {index})")
    text = _HEAD + "def run(o, n):\n" + _CALL.format(code=f"f'''{kernel}'''")
    assert _stores(text) == [0, 2]
