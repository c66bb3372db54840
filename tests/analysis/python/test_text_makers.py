"""CUDA text that PyCUDA, PyTorch and cuda.core compile: analysed with the launches of each.

The kernel stores with a stride of STEP words: STEP ways in a warp, by arithmetic.
"""

from __future__ import annotations

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.sources.source import Source

_KERNEL = """__global__ void k(float* o) {
    __shared__ float s[4096];
    s[threadIdx.x * STEP] = 1;
    o[0] = s[0];
}
"""
_TEXT = f"TEXT = '''{_KERNEL}'''\n"
_PYCUDA = "import numpy as np\nfrom pycuda.compiler import SourceModule\n" + _TEXT
_HOST = "void go(float *o) { k<<<1, 64>>>(o); }\n"


def _facts(text: str):
    facts, crashed = analyze([Source("k.py", text)], Settings())
    assert not crashed
    return facts


def _stores(text: str) -> set[tuple[int, float, tuple[int, int, int]]]:
    """Line, ways and block of each store."""
    return {
        (a.span.line, a.ways, a.instance.block)
        for kernel in _facts(text).kernels
        for a in kernel.accesses
        if a.kind == "store"
    }


def _notes(text: str) -> list[tuple[int, str]]:
    return [(n.span.line, n.reason.code) for n in _facts(text).not_analysed]


@pytest.mark.parametrize(
    "launch",
    [
        "f(o, block=(64, 1, 1), grid=(4, 1))",
        "f(o, grid=(4, 1), block=(64, 1, 1), shared=16)",
        "f.prepare('P')\nf.prepared_call((4, 1), (64, 1, 1), o.gpudata)",
        "f.prepare('P').prepared_async_call((4, 1), (64, 1, 1), stream, o, shared_size=4)",
        "f.prepared_timed_call((4, 1), (64, 1, 1), o)",
    ],
)
def test_pycuda_names_its_grid(launch: str) -> None:
    text = f"{_PYCUDA}f = SourceModule(TEXT, options=['-DSTEP=4']).get_function('k')\n{launch}\n"
    assert _stores(text) == {(5, 4.0, (64, 1, 1))}


def test_arguments_of_pycuda_are_those_of_the_kernel() -> None:
    text = _PYCUDA.replace("float* o", "float* o, int step").replace("STEP", "step")
    text += "f = SourceModule(TEXT).get_function('k')\nf(o, np.int32(8), block=(32, 1, 1))\n"
    assert _stores(text) == {(5, 8.0, (32, 1, 1))}


@pytest.mark.parametrize("sources", ["TEXT", "[TEXT, HOST]", "(TEXT + HOST)"])
def test_a_text_of_load_inline_launches_its_own_kernels(sources: str) -> None:
    text = (
        f"from torch.utils.cpp_extension import load_inline\n{_TEXT}HOST = '''{_HOST}'''\n"
        f"m = load_inline('m', '', cuda_sources={sources}, extra_cuda_cflags=['-DSTEP=2'])\n"
    )
    found = {(4, 2.0, (64, 1, 1))}
    assert (_stores(text) == found) is (sources != "TEXT")


def test_load_inline_of_host_code_alone_is_not_mentioned() -> None:
    assert _notes("m = load_inline('m', cpp_sources=[CPP], functions=['f'])\n") == []
    assert _notes("m = load_inline('m', CPP, make(), functions=['f'])\n") == [(1, "not-modelled")]


def test_a_kernel_of_torch_is_called_as_one_of_cupy() -> None:
    text = (
        f"import torch\n{_TEXT}"
        "k = torch.cuda._compile_kernel(TEXT.replace('STEP', '8'), 'k')\n"
        "k(grid=(1, 1, 1), block=(32, 1, 1), args=(o,))\n"
    )
    assert _stores(text) == {(4, 8.0, (32, 1, 1))}
    other = "from mine import _compile_kernel\nk = _compile_kernel(TEXT, 'k')\n"
    assert _notes(other) == []


@pytest.mark.parametrize("order", ["stream, config, kernel, o", "kernel, config, o"])
def test_programs_of_cuda_core_are_launched_by_their_configuration(order: str) -> None:
    template = _KERNEL.replace("__global__", "template <int M> __global__").replace("STEP", "M")
    text = (
        "from cuda.core.experimental import LaunchConfig, Program, ProgramOptions, launch\n"
        f"TEXT = '''{template}'''\n"
        "program = Program(TEXT, code_type='c++', options=ProgramOptions(std='c++17'))\n"
        "code = program.compile('cubin', name_expressions=('k<4>', 'k<16>'))\n"
        "config = LaunchConfig(grid=2, block=32)\n"
        "kernel = code.get_kernel('k<16>')\n"
        f"launch({order})\n"
    )
    assert _stores(text) == {(4, 16.0, (32, 1, 1))}


def test_a_program_of_another_package_is_none() -> None:
    assert _notes("import menu\np = menu.Program(menu.text())\n") == []


def test_a_text_that_nothing_compiles_is_said() -> None:
    assert _notes(f"import jitify\n{_TEXT}f = jitify.build(TEXT, 'k')\n") == [(2, "not-reached")]
    assert _notes(f"def f():\n    '''{_KERNEL}'''\n") == []  # a comment
    assert _notes("TEXT = '__shared__ float s[32];'\n") == []  # no kernel


def test_a_text_that_a_function_of_another_file_compiles_is_judged_where_it_stands(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    helper = "from torch.utils.cpp_extension import load_inline\n"
    helper += "def load(code):\n    return load_inline('m', '', cuda_sources=[code])\n"
    (tmp_path / "helper.py").write_text(helper)
    text = _TEXT.replace("STEP", "16").replace("}\n'", f"}}\n{_HOST}'")
    text = f"from helper import load\n{text}m = load(TEXT)\n"
    (tmp_path / "k.py").write_text(text)
    assert _stores(text) == {(4, 16.0, (64, 1, 1))}


def test_kernels_of_one_text_are_judged_by_the_launches_of_all_calls_that_compile_it() -> None:
    second = _KERNEL.replace("void k(", "void two(").replace("STEP", "2")
    text = (
        f"import cupy as cp\nTEXT = '''extern \"C\" {_KERNEL.replace('STEP', '4')}{second}'''\n"
        "k, two = cp.RawKernel(TEXT, 'k'), cp.RawKernel(TEXT, 'two')\n"
        "k((1,), (64,), (o,))\ntwo((1,), (32,), (o,))\n"
    )
    assert _stores(text) == {(4, 4.0, (64, 1, 1)), (9, 2.0, (32, 1, 1))}
    assert len(_facts(text).kernels) == 2


def test_a_global_that_functions_rebind_has_other_values_than_its_first():
    text = f"""{_PYCUDA}mode = 0
def press(key):
    global mode
    mode = key
def draw(o):
    global mode
    if mode == 3:
        f = SourceModule(TEXT.replace("STEP", "8")).get_function("k")
        f(o, block=(64, 1, 1))
"""
    assert _stores(text) == {(5, 8, (64, 1, 1))}
