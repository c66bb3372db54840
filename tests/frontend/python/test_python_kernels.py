"""Kernels of cupyx.jit and Numba: figures that are marked in fixtures/python, and refusals.

A marker `# ~ 32/1` is the worst instruction of each shared access of its line: wavefronts and
ideal; fixtures/python/JIT.md says which compiler's output stands behind them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.facts import AccessKind, Certainty
from smemlint.sources.source import Source

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "python"
HEAD = """
from numba import cuda, float32
import numpy as np
"""


def facts_of(text, tmp_path, settings=None):
    path = tmp_path / "kernel.py"
    path.write_text(text)
    facts, crashed = analyze([Source(str(path))], settings or Settings())
    assert not crashed
    return facts


def accesses(facts):
    return [a for kernel in facts.kernels for a in kernel.accesses]


@pytest.mark.parametrize("name", ["cupyx_tiles.py", "numba_tiles.py"])
def test_marked_lines_have_their_figures(name):
    path = FIXTURES / name
    marks = {
        number: tuple(map(int, found.groups()))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (found := re.search(r"# ~ (\d+)/(\d+)$", line))
    }
    facts, crashed = analyze([Source(str(path))], Settings())
    assert not crashed
    assert not list(facts.not_analysed)
    worst = {}
    for access in accesses(facts):
        assert access.certainty is Certainty.ASSUMED, access.reason
        pattern = access.worst
        best = max(pattern.ideal, pattern.profiler_ideal)
        before = worst.get(access.span.line, (0, 1))
        worst[access.span.line] = max(before, (pattern.wavefronts, best))
    assert {line: worst.get(line) for line in marks} == marks
    assert len(marks) >= 7


def test_spans_are_those_of_the_python_expressions(tmp_path):
    facts = facts_of(
        HEAD + "@cuda.jit\ndef k(a):\n    s = cuda.shared.array(32, float32)\n"
        "    é = cuda.threadIdx.x\n    a[é] = (s[é] + 1) * s[31 - é]\nk[1, 32](a)\n",
        tmp_path,
    )
    spans = [(a.span.line, a.span.column, a.span.end_line, a.span.end_column, a.expression)
             for a in accesses(facts)]  # fmt: skip
    assert spans == [(8, 13, 8, 17, "s[é]"), (8, 25, 8, 34, "s[31 - é]")]
    (array,) = facts.kernels[0].arrays
    assert (array.name, array.dims, array.element_bytes, array.span.line) == ("s", (32,), 4, 6)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("float32", 4), ("np.float64", 8), ("np.int8", 1), ("np.uint16", 2), ("np.bool_", 1),
        ("np.float16", 2), ("np.int64", 8), ("np.complex64", 8), ("unheard_of", 0),
    ],
)  # fmt: skip
def test_element_sizes(dtype, size, tmp_path):
    facts = facts_of(
        HEAD + f"@cuda.jit\ndef k(a):\n    s = cuda.shared.array(64, {dtype})\n"
        "    s[cuda.threadIdx.x] = 0\nk[1, 32](a)\n",
        tmp_path,
    )
    (access,) = accesses(facts)
    assert access.array.element_bytes == size
    assert access.certainty is (Certainty.ASSUMED if size else Certainty.UNKNOWN)


@pytest.mark.parametrize(
    ("head", "arguments", "found"),
    [
        ("from numba.cuda import float64", "(32, 33), float64", ((32, 33), 8)),
        ("from numba.cuda.types import int16", "32, int16", ((32,), 2)),
        ("SHAPE = (32, 33)", "SHAPE, np.int8", ((32, 33), 1)),
        ("TILE = 8\nSHAPE = [TILE, TILE + 1]\nTYPE = np.int8", "shape=SHAPE, dtype=TYPE", ((8, 9), 1)),
        ("TYPE = np.int8\nTYPE = np.int32", "32, TYPE", ((32,), 0)),
        ("N = 32\nTYPE = 'f4'\nN = 32", "(N, N + 1), TYPE", ((32, 33), 4)),
        ("N = 32\nN = 32.0", "(N, 33), np.int8", ((None, 33), 1)),
    ],
)  # fmt: skip
def test_shapes_and_types_may_have_names(head, arguments, found, tmp_path):
    facts = facts_of(
        f"{HEAD}{head}\n@cuda.jit\ndef k(a):\n    s = cuda.shared.array({arguments})\n"
        "    a[0] = 1\nk[1, 32](a)\n",
        tmp_path,
    )
    (array,) = facts.kernels[0].arrays
    assert (array.dims, array.element_bytes) == found


def test_what_stands_in_for_a_missing_library_is_left_out(tmp_path):
    text = (
        "try:\n    from numba import cuda\n    from numba import float64 as number\n"
        "except ImportError:\n    cuda = None\n    number = None\n"
        "@cuda.jit\ndef k(a):\n    s = cuda.shared.array(shape=(64,), dtype=number)\n"
        "    s[cuda.threadIdx.x * 2] = 0\nk[1, 32](a)\n"
    )
    (access,) = accesses(facts_of(text, tmp_path))
    assert (access.array.element_bytes, access.wavefronts.max, access.ideal.max) == (8, 4, 2)


def test_coordinates_may_have_other_names(tmp_path):
    text = HEAD + (
        "@cuda.jit\ndef k(a):\n    s = cuda.shared.array((16, 32), float32)\n"
        "    t, n = cuda.threadIdx, cuda.blockDim\n    at = cuda.threadIdx\n"
        "    s[t.y, t.x] = 0\n    a[0] = s[at.x, n.x - 16]\nk[1, (16, 16)](a)\n"
    )
    found = [(a.wavefronts.max, a.ideal.max) for a in accesses(facts_of(text, tmp_path))]
    assert found == [(2, 1), (16, 1)]


def test_a_pragma_gives_the_block(tmp_path):
    text = HEAD + (
        "# smemlint: launch(block=(16, 16))\n@cuda.jit\ndef k(a):\n"
        "    s = cuda.shared.array((16, 32), float32)\n"
        "    s[cuda.threadIdx.y, cuda.threadIdx.x] = 0\n"
    )
    (access,) = accesses(facts_of(text, tmp_path))
    assert access.instance.block == (16, 16, 1)
    assert (access.wavefronts.max, access.ideal.max) == (2, 1)


def test_an_extent_that_a_caller_gives_is_not_decided(tmp_path):
    text = HEAD + (
        "def make(n):\n    @cuda.jit\n    def k(a):\n"
        "        s = cuda.shared.array((32, n), float32)\n"
        "        s[cuda.threadIdx.x, 0] = 0\n    k[1, 32](0)\n"
    )
    (access,) = accesses(facts_of(text, tmp_path))
    assert access.certainty is Certainty.UNKNOWN
    assert access.ways == 0


def test_an_index_from_memory_is_data_dependent(tmp_path):
    text = HEAD + (
        "@cuda.jit\ndef k(a):\n    s = cuda.shared.array(256, np.int32)\n"
        "    cuda.atomic.add(s, a[cuda.grid(1)], 1)\nk[1, 128](a)\n"
    )
    (access,) = accesses(facts_of(text, tmp_path))
    assert (access.kind, access.certainty) == (AccessKind.ATOMIC, Certainty.DATA_DEPENDENT)


@pytest.mark.parametrize(
    "statement",
    [
        "with open('x'):\n        s[0] = 1",
        "for v in zip(a, a):\n        s[0] = v",
        "for v in a[cuda.threadIdx.x :]:\n        s[0] = v",
        "raise ValueError",
    ],
)
def test_statements_that_are_not_followed_are_said(statement, tmp_path):
    text = HEAD + (
        "@cuda.jit\ndef k(a):\n    s = cuda.shared.array(256, np.int32)\n"
        f"    {statement}\n    s[cuda.threadIdx.x] = 1\nk[1, 32](a)\n"
    )
    facts = facts_of(text, tmp_path)
    notes = [n for kernel in facts.kernels for n in kernel.not_analysed]
    assert [(n.span.line, n.kernel) for n in notes] == [(7, "k")]
    assert notes[0].reason.code == "not-modelled"


def test_members_of_records_are_said(tmp_path):
    text = HEAD + (
        "from shapes import particle\n@cuda.jit\ndef k(a):\n"
        "    s = cuda.shared.array(256, particle)\n    s[3].x = a[0]\n    s[4].y += a[1]\n"
        "    a[2] = s[5].x\nk[1, 32](a)\n"
    )
    notes = [n for kernel in facts_of(text, tmp_path).kernels for n in kernel.not_analysed]
    assert [n.span.line for n in notes] == [8, 9, 10]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("from numba import cuda\n1 <> 'cuda.shared.array('\n", 2),
        ("def f(:\n  jit.shared_memory(1)\n", 1),
        ("if True:\n    a = 1\n  b = jit.shared_memory(1)\n", 3),
    ],
)
def test_what_is_not_python_3_is_said_with_its_line(text, line, tmp_path):
    facts = facts_of(text, tmp_path)
    (note,) = facts.not_analysed
    assert note.reason.code == "syntax"
    assert note.span.line == line


def test_a_guess_that_leaves_the_array_is_not_relied_on(tmp_path):
    text = HEAD + (
        "@cuda.jit\ndef k(a):\n    s = cuda.shared.array((%s), float32)\n"
        "    i, j = cuda.grid(2)\n    a[i, j] = s[i, j]\n"
    )
    (small,) = accesses(facts_of(text % "10, 20", tmp_path))
    assert (small.certainty, small.reason.code) == (Certainty.SAMPLED, "unknown-block")
    (launched,) = accesses(facts_of(text % "10, 20" + "k[1, (10, 20)](a)\n", tmp_path))
    assert (launched.certainty, launched.ways) == (Certainty.ASSUMED, 2.0)  # 20 i + j, ten i


TREE = (
    "def _sum(out, a):\n    s = cuda.shared.array(32, np.float64)\n    t = cuda.threadIdx.x\n"
    "    {loop}\n        if t % (j * 2) == 0:\n            out[t] = s[t + j]\n"
)
HALVES = [2, 2, 2, 2, 1]
"""Wavefronts of 32 doubles' every 2nd, 4th, ...: a half warp at a time; of the last, one lane."""


@pytest.mark.parametrize(
    "loop",
    [
        "for j in [1, 2, 4, 8, 16]:",
        "for j in (1, 2, 4, 8, 16):",
        "for x in range(5):\n        j = 2**x",
    ],
)
@pytest.mark.parametrize("make", ["cuda.jit(_sum)", "cuda.jit()(_sum)"])
def test_steps_of_a_tree_are_followed_with_the_launch_of_the_name(loop, make, tmp_path):
    text = HEAD + TREE.format(loop=loop) + f"jitted = {make}\ndef go(a):\n    jitted[1, 32](a, a)\n"
    (access,) = accesses(facts_of(text, tmp_path))
    assert (access.instance.block, access.certainty) == ((32, 1, 1), Certainty.ASSUMED)
    assert [p.wavefronts for p in access.patterns] == HALVES


MADE = """
def make({parameters}):
    "What makes it a kernel."
    return {value}
def again(g):
    return make(g)
{decorator}
def k(a):
    s = cuda.shared.array((32, 32), float32)
    s[cuda.threadIdx.x, 0] = 0
made = {made}
made[1, 32](a)
"""


@pytest.mark.parametrize(("decorator", "made"), [("@make", "k"), ("", "make(k)"), ("", "again(k)")])
@pytest.mark.parametrize(
    ("parameters", "value", "ways"),
    [
        ("f, **others", "cuda.jit(**others)(f)", [32.0]),
        ("f", "cuda.jit(f)", [32.0]),
        ("f", "cuda.jit(device=True)(f)", []),
        ("f, g", "cuda.jit(g)", []),
        ("f", "make(f)", []),
        ("f", "f", []),
    ],
)
def test_a_function_that_returns_its_parameter_compiled_makes_kernels(
    parameters, value, ways, decorator, made, tmp_path
):
    text = MADE.format(parameters=parameters, value=value, decorator=decorator, made=made)
    assert [a.ways for a in accesses(facts_of(HEAD + text, tmp_path))] == ways


def test_what_such_a_function_makes_is_launched_by_another_name(tmp_path):
    text = HEAD + MADE.format(
        parameters="f", value="cuda.jit(f)", decorator="", made="make(k)"
    ).replace("made[1, 32](a)", "def run(f, a):\n    f[1, (64, 2)](a)\nrun(made, a)")
    facts = facts_of(text, tmp_path)
    assert [a.instance.block for a in accesses(facts)] == [(64, 2, 1)]
    assert not facts.not_analysed


def test_each_block_of_a_list_is_launched(tmp_path):
    text = HEAD + (
        "@cuda.jit\ndef k(a):\n    s = cuda.shared.array(512, float32)\n"
        "    s[cuda.threadIdx.x] = 0\ndef go(a):\n    for n in [32, 64]:\n        k[1, n](a)\n"
    )
    assert [a.instance.block[0] for a in accesses(facts_of(text, tmp_path))] == [32, 64]


@pytest.mark.parametrize("first", ["256", "(16, 16)", "64 * 4"])
def test_a_name_of_the_host_may_be_given_a_value_of_another_type(first, tmp_path):
    text = f"""{HEAD}
@cuda.jit
def k(out):
    s = cuda.shared.array((32, 33), float32)
    s[cuda.threadIdx.y, cuda.threadIdx.x] = 1.0
    out[0] = s[cuda.threadIdx.x, cuda.threadIdx.y]

threads = {first}
other[1, threads](x)
threads = (32, 8)
k[1, threads](x)
"""
    (kernel,) = facts_of(text, tmp_path).kernels
    assert kernel.instance.block == (32, 8, 1)


@pytest.mark.parametrize("power", ["2**(t / 2)", "2**(t * 0.5)"])
def test_a_power_of_a_fraction_is_not_decided(power, tmp_path):
    text = HEAD + (
        "@cuda.jit\ndef k(a):\n    s = cuda.shared.array(512, float32)\n"
        f"    t = cuda.threadIdx.x\n    s[int({power})] = 0\nk[1, 32](a)\n"
    )
    (access,) = accesses(facts_of(text, tmp_path))
    assert access.certainty is Certainty.DATA_DEPENDENT


LISTED = """
@cuda.jit
def k(near, factors, a):
    s = cuda.shared.array((32, 32), float32)
    t = cuda.threadIdx.x
    for {loop}:
        {body}
k[1, 32](a, a, a)
"""


@pytest.mark.parametrize(
    ("loop", "body", "wavefronts"),
    [
        ("n, x in enumerate(factors)", "s[t, n] = x", 32),
        ("x in factors", "s[0, t] += x", 1),
        ("n, (x, y) in enumerate(near)", "s[t, 2 * n] = x + y", 32),
        ("x, y in near", "s[0, t] = x + y", 1),
    ],
)
def test_elements_of_an_array_are_looped_over(loop, body, wavefronts, tmp_path):
    found = accesses(facts_of(HEAD + LISTED.format(loop=loop, body=body), tmp_path))
    assert {a.certainty for a in found} == {Certainty.ASSUMED}
    assert {p.wavefronts for a in found for p in a.patterns} == {wavefronts}


CALLED = """
@cuda.jit(device=True)
def read(t, w, s):
    {count}
    for i in range(n):
        w[i] = s[t * 2 + i]

@cuda.jit
def k(w):
    s = cuda.shared.array(128, float32)
    read(cuda.threadIdx.x, w, s)

def launch(x, b):
    k[x.shape[0], b](x)

def main(x):
    launch(x, 32)
"""


@pytest.mark.parametrize("count", ["n = w.shape[0]", "n = len(w)", "m, n = w.shape"])
def test_functions_that_ask_an_argument_for_its_shape_are_followed(count, tmp_path):
    """Neither the kernel nor the host passes the extent to them."""
    (access,) = accesses(facts_of(HEAD + CALLED.format(count=count), tmp_path))
    assert (access.instance.block, access.certainty) == ((32, 1, 1), Certainty.ASSUMED)
    assert {p.wavefronts for p in access.patterns} == {2}


@pytest.mark.parametrize(
    ("call", "wavefronts"),
    [
        ("put(s, t, 2)", 2),  # s[2 * t + 1]
        ("put(s, stride=t, at=0)", 1),  # s[t]
        ("put(s, off=t, at=0, stride=32)", 1),  # s[t]
        ("put(s, off=t, at=t)", 1),  # s[33 * t]
        ("put(s, at=t)", 32),  # s[32 * t + 1]
        ("put(s, at=t, lost=1)", 0),
        ("put(s, *p)", 0),
    ],
)
def test_arguments_of_device_functions_are_bound_by_name(call, wavefronts, tmp_path):
    text = f"""{HEAD}
@cuda.jit(device=True)
def put(s, stride=32, at=1, off=1):
    s[at * stride + off] = 1.0

@cuda.jit
def k():
    s = cuda.shared.array(4096, float32)
    t = cuda.threadIdx.x
    p = (t, 1)
    {call}

k[1, 32]()
"""
    (kernel,) = facts_of(text, tmp_path).kernels
    found = {p.wavefronts for a in kernel.accesses for p in a.patterns}
    assert found == ({wavefronts} if wavefronts else set())
    assert len(kernel.not_analysed) == (not wavefronts)


_X = "cuda.threadIdx.x"


@pytest.mark.parametrize(
    ("body", "ways"),
    [
        (f"s = s[128:]; s[{_X} * 4] = 1", [4.0]),
        (f"t, s = s[:128], s[128:]; t[{_X} * 2] = 1; s[{_X} * 4] = 1", [2.0, 4.0]),
        (f"s[{_X} * 2] = 1; s = cuda.shared.array(256, 'float32'); s[{_X} * 4] = 1", [2.0, 4.0]),
        (f"s[{_X} * 4] = 1; s = a; s[{_X} * 2] = 1", [4.0]),
    ],
)
def test_a_name_of_a_shared_array_may_be_given_another_value(body, ways, tmp_path):
    kernel = f"@cuda.jit\ndef k(a):\n    s = cuda.shared.array(1024, 'float32'); {body}\n"
    facts = facts_of(f"{HEAD}{kernel}k[1, 32](a)\n", tmp_path)
    assert [a.ways for a in accesses(facts)] == ways


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("s = cuda.shared.array((32, 32), 'float32')\n    s = a", [6]),
        (
            "if n:\n        s = cuda.shared.array(32, 'float32')\n"
            "    else:\n        s = cuda.shared.array(64, 'float32')",
            [7, 9],
        ),
    ],
)
def test_a_shared_array_whose_name_may_mean_others_is_said(body, lines, tmp_path):
    kernel = f"@cuda.jit\ndef k(a, n):\n    {body}\n    s[{_X}] = 1\n"
    facts = facts_of(f"{HEAD}{kernel}k[1, 32](a, n)\n", tmp_path)
    assert not accesses(facts)
    notes = [n for kernel in facts.kernels for n in kernel.not_analysed]
    assert sorted(n.span.line for n in notes) == lines


KERNEL = """
    s = cuda.shared.array((32, 33), dtype=float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    s[y, x] = a[y, x]
    cuda.syncthreads()
    a[x, y] = s[x, y]
"""
COLUMNS = KERNEL.replace("33", "32")


@pytest.mark.parametrize(
    "imports",
    [
        "from numba_fork import cuda, float32",
        "from numba_fork import numba_cuda as cuda, types\nfloat32 = types.float32",
        "from .backend import cuda\nfrom numba import float32",
        "from ours import *",
    ],
)
def test_kernels_of_a_fork_of_numba_are_read_as_its_own(imports, tmp_path):
    for body, ways in ((KERNEL, 1), (COLUMNS, 32)):
        text = f"{imports}\n@cuda.jit\ndef k(a):{body}\nk[1, (32, 32)](0)\n"
        assert [a.ways for a in accesses(facts_of(text, tmp_path))] == [1, ways]


def test_a_kernel_may_take_its_library_from_a_parameter(tmp_path):
    inner = COLUMNS.replace("\n", "\n    ")
    text = f"from numba import float32\ndef make(cuda):\n    def k(a):{inner}\n    return k\n"
    found = accesses(facts_of(text, tmp_path))
    assert [a.kind for a in found] == [AccessKind.STORE, AccessKind.LOAD]
    other = facts_of(text.replace("make(cuda)", "make(emulator)"), tmp_path)
    assert not accesses(other)
    assert [note.span.line for note in other.not_analysed] == [3]


@pytest.mark.parametrize(
    "body", ['"""Text."""\n    raise RuntimeError("outside of kernels")', "...", "raise E"]
)
def test_what_only_raises_stands_for_a_definition_that_is_not_read(body, tmp_path):
    text = f"{HEAD}def take(s):\n    {body}\n@cuda.jit\ndef k(a):\n"
    text += "    s = cuda.shared.array(32, float32)\n    take(s)\nk[1, 32](0)\n"
    notes = [n for kernel in facts_of(text, tmp_path).kernels for n in kernel.not_analysed]
    assert [note.span.line for note in notes] == [text[: text.index("    take(s)")].count("\n") + 1]


def test_shared_memory_of_a_function_that_no_kernel_calls_is_said(tmp_path):
    body = "\n    s = cuda.shared.array(32, float32)\n    s[i] = i\n    return s[0]\n"
    alone = facts_of(f"{HEAD}def f(i):{body}", tmp_path)
    assert [note.span.line for note in alone.not_analysed] == [4]
    call = "@cuda.jit\ndef k(a):\n    a[0] = f(cuda.threadIdx.x)\nk[1, 32](0)\n"
    called = facts_of(f"{HEAD}@cuda.jit(device=True)\ndef f(i):{body}{call}", tmp_path)
    assert len(accesses(called)) == 2
    assert not called.not_analysed


@pytest.mark.parametrize(
    ("host", "size"),
    [
        ("x = np.zeros(32, dtype=np.float32)", 4),
        ("x = cuda.to_device(np.zeros(32, np.int16))", 2),
        ("x = np.random.rand(32)", 8),
        ("x = np.random.rand(32).astype(np.float32).reshape(4, 8)", 4),
        ("x = torch.randn(4, 8, device='cuda').contiguous().to('cuda')", 4),
        ("x = torch.zeros(32, dtype=torch.half)", 2),
        ("x = torch.zeros(32).to(torch.float64)", 8),
        ("y = np.ones(32, dtype='f4')\nx = cuda.device_array_like(y)", 4),
        ("def f(n):\n    a = np.zeros(n, np.uint8)\n    return n, a\nn, x = f(8)\nm, x = f(9)", 1),
        ("def f(n):\n    return np.zeros(n, np.uint8)\nx = f(8)", 1),
        ("def f(n):\n    n, x = f(n)\n    return n, x\nn, x = f(8)", 0),
        ("x = np.zeros(32)\nk[1, 32](np.zeros(32, np.float32), x)", 0),
        ("x = np.zeros(32)\nx = np.zeros(32, np.float32)", 0),
        ("x = np.full(32, 1)", 0),
        ("x = load('x.npy')", 0),
        ("x = np.zeros(32, kind)", 0),
    ],
)
def test_elements_are_those_of_the_arrays_that_all_launches_pass(host, size, tmp_path):
    kernel = "import torch\n@cuda.jit\ndef k(a, b):\n    s = cuda.shared.array((32, 33), a.dtype)\n"
    kernel += "    s[cuda.threadIdx.x, 0] = 0\n"
    facts = facts_of(f"{HEAD}{kernel}{host}\nk[1, 32](x, x)\n", tmp_path)
    (access,) = accesses(facts)
    assert access.array.element_bytes == size
    assert access.certainty is (Certainty.ASSUMED if size else Certainty.UNKNOWN)


FACTORY = (
    HEAD
    + """
def build(tile, step=1):
    last = tile - 1
    @cuda.jit
    def kernel(a, o):
        s = cuda.shared.array((tile, tile), float32)
        t = cuda.threadIdx.x
        s[t, last] = a[t]
        cuda.syncthreads()
        o[t] = s[0, t * step]
    return kernel
"""
)


@pytest.mark.parametrize(
    ("calls", "wavefronts"),
    [
        ("build(32)[1, 32](a, o)", [32, 1]),
        ("N = 16\nkernel = build(N, step=2)\nkernel[1, 16](a, o)\nbuild(16, 2)", [8, 1]),
        ("made = build(16, step=2)\nmade[1, 16](a, o)", [8, 1]),
        ("class Op:\n    def run(self, a, o):\n        build(tile=32)[1, 32](a, o)", [32, 1]),
        ("build(32)[1, 32](a, o)\nbuild(16)", [0, 0]),  # of two sizes
        ("build(32)[1, 32](a, o)\nmap(build, sizes)", [0, 0]),
        ("build(32)[1, 32](a, o)\nops.build(16)", [0, 0]),
        ("build(*sizes)[1, 32](a, o)", [0, 0]),
        ("build(size())[1, 32](a, o)", [0, 0]),
    ],
)
def test_what_calls_give_the_function_around_a_kernel(calls, wavefronts, tmp_path):
    """Of a row for each lane: 32 ways of 32 rows of 32 words, 8 of 16 rows of 16."""
    found = accesses(facts_of(f"{FACTORY}{calls}\n", tmp_path))
    assert [a.wavefronts.max if a.wavefronts else 0 for a in found] == wavefronts


@pytest.mark.parametrize(
    ("place", "statement", "said"),
    [
        ("shared", "c = s[:, 3]", ["the view `s[:, 3]` is not followed"]),
        ("shared", "s[2:, 4] = 0", ["the view `s[2:, 4]` is not followed"]),
        ("shared", "c = s[3, :]", []),
        ("shared", "c = s[3]", []),
        ("local", "c = s[:, 3]", []),
    ],
)
def test_views_of_shared_memory_that_are_no_rows_are_said(tmp_path, place, statement, said):
    text = HEAD + (
        "@cuda.jit\ndef views(a):\n"
        f"    s = cuda.{place}.array((32, 32), float32)\n"
        "    t = cuda.threadIdx.x\n"
        "    s[0, t] = a[t]\n"
        f"    {statement}\n"
        "    a[t] = s[t, 0]\n"
        "views[1, 32](np.zeros(32, np.float32))\n"
    )
    facts = facts_of(text, tmp_path)
    notes = [n for kernel in facts.kernels for n in kernel.not_analysed]
    assert [n.reason.text for n in notes] == said
    assert len(accesses(facts)) == (2 if place == "shared" else 0)
