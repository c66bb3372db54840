"""CUDA text that PyCUDA, PyTorch and cuda.core compile: analysed with the launches of each.

The kernel stores with a stride of STEP words: STEP ways in a warp, by arithmetic.
"""

from __future__ import annotations

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.sources.discovery import find_sources
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


_LOAD = "from torch.utils.cpp_extension import load\nN = 4\nflags = ['-O3', f'-DSTEP={N}']\n"


@pytest.mark.parametrize(
    ("call", "ways"),
    [
        ("load('m', ['csrc/k.cpp', 'csrc/k.cu'], None, flags)", 4.0),
        ("load(name='m', sources=[f'csrc/k.cu'], extra_cuda_cflags=[*flags, '-DOTHER'])", 4.0),
        ("load('m', ['csrc/k.cu'], extra_cuda_cflags=[f'-DSTEP={read()}'])", None),
        ("load('m', ['csrc/k.cu'])", None),
        ("load('m', [path()], extra_cuda_cflags=flags)", None),
    ],
)
def test_files_that_load_compiles_have_its_macros(call: str, ways, tmp_path, monkeypatch) -> None:
    """The folder is the one that the program is started in, above the module."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "csrc").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "csrc" / "names.h").write_text("#define COUNT 64\n")
    host = _HOST.replace("64", "COUNT")
    (tmp_path / "csrc" / "k.cu").write_text(f'#include "names.h"\n{_KERNEL}{host}')
    (tmp_path / "src" / "model.py").write_text(f"{_LOAD}m = {call}\nx = load('m.pt')\n")
    facts, crashed = analyze(find_sources(["."]), Settings())
    assert not crashed
    (kernel,) = facts.kernels
    assert {"csrc/k.cu"} == {access.span.path for access in kernel.accesses}
    (store,) = (a for a in kernel.accesses if a.kind == "store")
    assert kernel.instance.block == (64, 1, 1)
    assert "k.cu:7" in kernel.instance.origin
    assert (store.span.line, store.ways) == (4, ways if ways is not None else 0.0)
    assert not facts.not_analysed


def test_a_launch_in_a_text_is_named_by_its_line() -> None:
    text = f"from torch.utils.cpp_extension import load_inline\nTEXT = '''{_KERNEL}{_HOST}'''\n"
    text += "m = load_inline('m', '', cuda_sources=TEXT, extra_cuda_cflags=['-DSTEP=2'])\n"
    (kernel,) = _facts(text).kernels
    assert "k.py:7" in kernel.instance.origin
    open_ = _facts(text.replace("1, 64", "1, n"))
    notes = [n.reason.text for k in open_.kernels for n in k.not_analysed]
    notes += [n.reason.text for n in open_.not_analysed]
    assert not any(".cu" in note for note in notes)


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


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("'''{}'''", "jitify.build(TEXT, 'k')"),
        ("'''{}'''", "nvrtc.nvrtcCreateProgram(str.encode(TEXT), b'k.cu', 0, [], [])"),
        ("b'''{}'''", "nvrtc.nvrtcCreateProgram(TEXT, b'k.cu', 0, [], [])"),
    ],
)
def test_a_text_that_nothing_known_compiles_is_analysed_as_it_stands(code, call) -> None:
    text = f"from cuda.bindings import nvrtc\nTEXT = {code.format(_KERNEL)}\nx = {call}\n"
    assert _notes(text) == []
    known = {(line, ways) for line, ways, _ in _stores(text.replace("STEP", "4"))}
    assert known == {(4, 4.0)}
    assert {ways for _, ways, _ in _stores(text)} == {0.0}  # what STEP means is open
    (template,) = _facts(text.replace("STEP", "%d")).kernels  # a number is filled in
    assert [note.span.line for note in template.not_analysed] == [4]


@pytest.mark.parametrize(
    ("module", "get"),
    [
        ("from cuda import cuda as driver", "error, k = driver.cuModuleGetFunction(m, b'k')"),
        ("from cuda.bindings import driver", "k = check(driver.cuModuleGetFunction(m, b'k'))"),
    ],
)
def test_a_launch_by_the_driver_is_one_of_the_kernel_of_its_name(module, get) -> None:
    text = (
        f"{module}\nfrom cuda.bindings import nvrtc\n{_TEXT.replace('STEP', '4')}"
        "def check(result):\n    if result[0].value:\n        raise RuntimeError(result[0])\n"
        "    return result[1] if len(result) == 2 else result[1:]\n"
        "program = check(nvrtc.nvrtcCreateProgram(str.encode(TEXT), b'k.cu', 0, [], []))\n"
        f"def run(m, stream, args):\n    {get}\n"
        "    driver.cuLaunchKernel(k, 2, 1, 1, 32, 4, 1, 0, stream, args, 0)\n"
    )
    assert _stores(text) == {(5, 4.0, (32, 4, 1))}
    assert _notes(text) == []


def test_modules_of_early_versions_of_cupy_are_compiled() -> None:
    text = f"import cupy\n{_TEXT}m = cupy.cuda.compile_with_cache(TEXT, ('-DSTEP=4',))\n"
    text += "m.get_function('k')(grid=(1,), block=(64,), args=[o])\n"
    assert _stores(text) == {(4, 4.0, (64, 1, 1))}


def test_a_text_that_nothing_compiles_and_is_no_kernel_of_cuda_is_said() -> None:
    prose = f"TEXT = '''Make it fast:\n```cuda\n{_KERNEL}```\n'''\n"
    assert _notes(f"import model\n{prose}x = model.ask(TEXT)\n") == [(2, "not-reached")]
    assert _notes(f"def f():\n    '''{_KERNEL}'''\n") == []  # a comment
    assert _notes("TEXT = '__shared__ float s[32];'\n") == []  # no kernel


def test_of_many_texts_that_nothing_compiles_the_first_are_analysed(monkeypatch) -> None:
    monkeypatch.setattr("smemlint.analysis.python.cupy.analysis.MAX_KERNEL_STRINGS", 1)
    text = "".join(f"x = f('''{_KERNEL.replace('STEP', n)}''')\n" for n in "48")
    assert {ways for _, ways, _ in _stores(text)} == {4.0}
    assert _notes(text) == [(7, "not-reached")]


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


@pytest.mark.parametrize("blank", ["", "\n" * 30])
def test_functions_and_classes_that_cross_files_keep_their_texts(
    tmp_path, monkeypatch, blank: str
) -> None:
    """`Maker` is called by the one file, `text` by the other; the lines of neither fit the other"""
    monkeypatch.chdir(tmp_path)
    helper = f"import pycuda.compiler\n{blank}def apply(f, x):\n    return f(x)\n"
    helper += "class Maker:\n    def __init__(self, text, step):\n"
    helper += "        options = [f'-DSTEP={step}']\n"
    helper += "        self.f = pycuda.compiler.SourceModule(text, options=options)\n"
    helper += "        self.k = self.f.get_function('k')\n"
    (tmp_path / "helper.py").write_text(helper)
    text = f"from helper import Maker, apply\ndef text(x):\n    return f'{{x}} '\n{_TEXT}"
    text += "m = Maker(apply(text, TEXT), 4)\nm.k(o, block=(64, 1, 1))\n"
    (tmp_path / "k.py").write_text(text)
    assert _stores(text) == {(6, 4.0, (64, 1, 1))}


def test_the_source_of_a_compiler_beside_the_file_does_not_hide_what_it_compiles(
    tmp_path, monkeypatch
) -> None:
    """PyCUDA's own repository holds `pycuda/compiler.py`, which defines the class"""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pycuda").mkdir()
    own = "class SourceModule:\n    def __init__(self, source, **kwargs):\n"
    (tmp_path / "pycuda" / "compiler.py").write_text(own + "        self.module = build(source)\n")
    text = f"{_PYCUDA}f = SourceModule(TEXT, options=['-DSTEP=4']).get_function('k')\n"
    (tmp_path / "k.py").write_text(text + "f(o, block=(64, 1, 1))\n")
    found = Source(str(tmp_path / "k.py"), text + "f(o, block=(64, 1, 1))\n")
    facts, crashed = analyze([found], Settings())
    accesses = [a for kernel in facts.kernels for a in kernel.accesses]
    assert not crashed
    assert [a.ways for a in accesses if a.kind == "store"] == [4.0]


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


_TEMPLATES = {
    "mako": ("from mako.template import Template\n", "${%s}", "Template(TEXT).render"),
    "jinja2": ("import jinja2\n", "{{ %s }}", "jinja2.Template(TEXT).render"),
    "environment": (
        "from jinja2 import Environment\n", "{{%s}}", "Environment().from_string(TEXT).render",
    ),
    "string": ("from string import Template\n", "$%s", "Template(TEXT).substitute"),
}  # fmt: skip


def _templated(engine: str, given: str, kernel: str = _KERNEL) -> str:
    head, field, render = _TEMPLATES[engine]
    text = f"TEXT = '''{kernel.replace('STEP', field % 'step')}'''\n"
    made = f"f = SourceModule({render}({given})).get_function('k')\nf(o, block=(64, 1, 1))\n"
    return f"from pycuda.compiler import SourceModule\n{head}{text}{made}"


@pytest.mark.parametrize("engine", _TEMPLATES)
def test_fields_of_templates_are_filled_in(engine: str) -> None:
    for given in ("step=4", "{'step': 4}"):
        assert _stores(_templated(engine, given)) == {(5, 4.0, (64, 1, 1))}
    open_ = _facts(_templated(engine, "step=read()"))
    found = [a for kernel in open_.kernels for a in kernel.accesses]
    assert [a.certainty for a in found if a.kind == "store"] == ["unknown"]


@pytest.mark.parametrize(
    ("engine", "statement"),
    [
        ("mako", "% if n:\nint x;\n% endif\n"),
        ("mako", '<%def name="f()">1</%def>\n'),
        ("mako", "## nothing\n"),
        ("mako", "#define N ${n | trim}${'}'}\n"),
        ("jinja2", "{% if n %}int x;{% endif %}\n"),
        ("jinja2", "{# nothing #}"),
        ("jinja2", "int {{- n }};"),
        ("string", "// $$\n"),
    ],
)
def test_templates_with_statements_are_said(engine: str, statement: str) -> None:
    text = _templated(engine, "step=4", statement + _KERNEL)
    assert _stores(text) == set()
    assert [code for _, code in _notes(text)] == ["not-modelled"]


def test_an_environment_with_other_marks_is_not_known() -> None:
    text = _templated("environment", "step=4")
    assert not _stores(text.replace("Environment()", "Environment(variable_start_string='<<')"))


def test_texts_in_the_words_of_reikna_are_said() -> None:
    body = "KERNEL void k(GLOBAL_MEM float *a) { LOCAL_MEM float s[32]; s[get_local_id(0)] = 1; }"
    assert _notes(f"thread.compile('''{body}''')\n") == [(1, "not-modelled")]
    assert _notes(f"thread.compile('''{body.replace('LOCAL_MEM float', 'float')}''')\n") == []


@pytest.mark.parametrize("suffix", [".mako", ".jinja", ".jinja2", ".j2"])
def test_files_of_templates_are_said_where_they_declare_shared_memory(suffix, tmp_path) -> None:
    kernel = "\n__global__ void k() {\n% if n:\n  __shared__ float s[${n}];\n% endif\n}\n"
    for text, lines in ((kernel, [4]), (kernel.replace("__shared__", ""), [])):
        (tmp_path / f"k{suffix}").write_text(text)
        facts, _ = analyze(find_sources([str(tmp_path)]), Settings())
        assert [note.span.line for note in facts.not_analysed] == lines
        assert not facts.kernels


def test_a_function_with_too_many_paths_is_followed_with_its_paths_as_one() -> None:
    """The 17 paths of 16 conditions take 17 times the 6,000 steps behind these: 60,000 at most."""
    text = (
        f"{_PYCUDA}f = SourceModule(TEXT, options=['-DSTEP=4']).get_function('k')\n"
        + "def go(c, o):\n"
        + "".join(f"    if c[{i}]: c = renewed(c)\n" for i in range(16))
        + "    n = c + 1\n" * 1500
        + "    f(o, block=(64, 1, 1), grid=(4, 1))\n"
    )
    assert _stores(text) == {(5, 4.0, (64, 1, 1))}
    assert _notes(text) == []


def test_what_is_executed_behind_a_function_that_takes_too_long_is_not_inside_its_loop() -> None:
    text = (
        f"{_PYCUDA}f = SourceModule(TEXT, options=['-DSTEP=4']).get_function('k')\n"
        "def endless(c):\n    while c:\n" + "        n = c + 1\n" * 8000 + "def go(o):\n"
        "    global block\n    block = (32, 1, 1)\n    f(o, block=block, grid=(4, 1))\n"
    )
    assert _stores(text) == {(5, 4.0, (32, 1, 1))}
    assert _notes(text) == [(1, "step-limit")]


def test_behind_a_statement_of_a_module_that_takes_too_long_the_others_are_followed() -> None:
    text = (
        "step = '4'\nwhile step:\n    step = 8\n" + "    n = step + 1\n" * 8000 + _PYCUDA
        + "f = SourceModule(TEXT, options=['-DSTEP=' + step]).get_function('k')\n"
        "g = SourceModule(TEXT, options=['-DSTEP=2']).get_function('k')\n"
        "f(o, block=(64, 1, 1), grid=(4, 1))\ng(o, block=(32, 1, 1), grid=(4, 1))\n"
    )  # fmt: skip
    found = {(ways, block) for _, ways, block in _stores(text)}
    assert found == {(2.0, (32, 1, 1)), (0.0, (64, 1, 1))}  # without a figure where it is open
    assert (1, "step-limit") in _notes(text)


def test_a_file_that_a_module_opens_is_read(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cu").write_text(_KERNEL)
    text = (
        "from pycuda import compiler\nwith open('k.cu') as file:\n    text = file.read()\n"
        "f = compiler.SourceModule(text, options=['-DSTEP=4']).get_function('k')\n"
        "f(o, block=(64, 1, 1), grid=(4, 1))\n"
    )
    assert _stores(text) == {(3, 4.0, (64, 1, 1))}


@pytest.mark.parametrize("name", ["", "package/"])
def test_a_folder_is_no_file_that_a_module_opens(name, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "package").mkdir()
    text = f"{_PYCUDA}def build(name='{name}'):\n    return SourceModule(open(name).read())\n"
    assert [code for _, code in _notes(text)] == ["not-modelled"]


@pytest.mark.parametrize(
    "code",
    [
        "open(Path(__file__).parent / 'k.cu').read()",
        "Path(__file__).parent.joinpath('k.cu').read_text()",
        "open(str(Path(__file__).parent / 'k.cu')).read()",
        "open(os.path.dirname(os.path.realpath(__file__)) + '/k.cu').read()",
        "files('package').joinpath('k.cu').read_text()",
    ],
)
@pytest.mark.parametrize("folder", ["", "package"])
def test_the_path_of_a_file_beside_is_followed(code, folder, tmp_path, monkeypatch) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "k.cu").write_text(_KERNEL)
    text = (
        "import os\nfrom importlib.resources import files\nfrom pathlib import Path\n"
        "from pycuda.compiler import SourceModule\n"
        f"f = SourceModule({code}, options=['-DSTEP=4']).get_function('k')\n"
        "f(o, block=(64, 1, 1), grid=(4, 1))\n"
    )
    monkeypatch.chdir(tmp_path if folder else tmp_path / "package")
    facts, crashed = analyze([Source(f"{folder}/k.py".lstrip("/"), text)], Settings())
    assert not crashed
    stores = [a for k in facts.kernels for a in k.accesses if a.kind == "store"]
    assert [(a.ways, a.instance.block) for a in stores] == [(4.0, (64, 1, 1))]


def test_macros_of_a_table_of_open_values_stand_in_front_of_a_text() -> None:
    text = (
        f"{_PYCUDA}"
        "def source(table=None):\n    if table is None:\n        return TEXT\n"
        "    lines = ['#define {key} {value}'.format(key=key, value='' if value is None else value)"
        " for key, value in table.items()]\n"
        "    return '\\n'.join(lines) + '\\n#define STEP 4\\n' + TEXT\n"
        "def go(o, n):\n    f = SourceModule(source(dict(N=n))).get_function('k')\n"
        "    f(o, block=(64, 1, 1), grid=(4, 1))\n"
    )
    assert _stores(text) == {(5, 4.0, (64, 1, 1))}
    assert _notes(text) == []
