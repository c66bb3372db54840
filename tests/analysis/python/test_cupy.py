"""CUDA text in CuPy's calls: evaluated as its launches have it; what is not read is said."""

from __future__ import annotations

import textwrap

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.analysis.python.cupy.source_map import Position, literal
from smemlint.config.settings import Settings
from smemlint.sources.source import Source

_SHARED = "'__global__ void f() { __shared__ float s[32]; }'"
_KERNEL = """extern "C" __global__ void k(float* o) {
    __shared__ float s[1024];
    s[threadIdx.x * STEP] = 1;
    o[0] = 0;
}
"""


def _facts(text: str, path: str = "k.py"):
    facts, crashed = analyze([Source(path, text)], Settings())
    assert not crashed
    return facts


def _notes(text: str) -> list[tuple[int, int, str]]:
    return [(n.span.line, n.span.column, n.reason.code) for n in _facts(text).not_analysed]


def _stores(text: str, path: str = "k.py"):
    """Line, column, ways and block of each access."""
    return [
        (a.span.line, a.span.column, a.ways, a.instance.block)
        for kernel in _facts(text, path).kernels
        for a in kernel.accesses
    ]


def _program(code: str, launch: str = "k((1,), (32,), (o,))", options: str = "()") -> str:
    return (
        f"import cupy as cp\nk = cp.RawKernel({code}, 'k', {options})\ndef run(o):\n    {launch}\n"
    )


STEP_2 = _KERNEL.replace("STEP", "2")


def test_a_literal_is_evaluated_at_its_place_and_launch() -> None:
    text = _program(f"r'''{STEP_2}'''", "k((1,), (16, 4), (o,))")
    assert _stores(text) == [(4, 5, 1.0, (16, 4, 1))]  # 16 lanes a row: x * 2 covers 16 banks twice
    assert _stores(_program(f"'''{STEP_2}'''")) == [(4, 5, 2.0, (32, 1, 1))]


@pytest.mark.parametrize(
    "code",
    [
        f"'''{_KERNEL}'''.replace('STEP', '2')",
        f"'''{_KERNEL}'''.replace('STEP', str(1 + 1))",
        "'''" + _KERNEL.replace("STEP", "%d").replace("%d]", "2]") + "''' % 2",
        "'''"
        + _KERNEL.replace("{", "{{").replace("}", "}}").replace("STEP", "{}")
        + "'''.format(2)",
        "f'''" + _KERNEL.replace("{", "{{").replace("}", "}}").replace("STEP", "{1 + 1}") + "'''",
    ],
    ids=["replace", "str", "percent", "format", "f-string"],
)
def test_texts_that_are_put_together_keep_their_places(code: str) -> None:
    assert _stores(_program(code)) == [(4, 5, 2.0, (32, 1, 1))]


def test_macros_come_from_options_and_constants_from_the_module() -> None:
    assert _stores(_program(f"'''{_KERNEL}'''", options="('-DSTEP=8',)")) == [
        (4, 5, 8.0, (32, 1, 1))
    ]
    text = f"N = 4\nCODE = '''{_KERNEL}'''\nimport cupy\nK = cupy.RawKernel('#define STEP ' + str(N) + '\\n' + CODE, 'k')\nK((1,), (N * 8,), ())\n"
    assert _stores(text) == [(4, 5, 4.0, (32, 1, 1))]


def test_implicit_concatenation_escapes_and_wide_characters_keep_columns() -> None:
    code = "('extern \"C\" __global__ void k(float* o) {\\n'\n  ' /* é */ __shared__ float s[64];'\n  '\\ts[threadIdx.x * 2] = 1; }')"
    assert _stores(_program(code)) == [(4, 6, 2.0, (32, 1, 1))]


def test_each_way_of_an_open_condition_launches_and_names_stand_for_calls() -> None:
    text = textwrap.dedent(
        """
        import cupy
        CODE = '''
        template<typename T, int M> __global__ void k(T* o) {
            __shared__ T s[M][M];
            s[threadIdx.x][threadIdx.y] = 1;
        }
        '''
        def module():
            return cupy.RawModule(code=CODE, name_expressions=['k<float, 32>', 'k<double, 16>'])
        class Filter:
            def run(self, o, n, name):
                if n < 8:
                    block = (32, 32)
                else:
                    block = (16, 16)
                module().get_function(name)((1,), block, (o,))
        """
    )
    found = {
        (a.instance.title, a.instance.block, a.ways)
        for kernel in _facts(text).kernels
        for a in kernel.accesses
    }
    assert found == {
        ("k<float, 32>", (32, 32, 1), 32.0),
        ("k<float, 32>", (16, 16, 1), 16.0),
        ("k<double, 16>", (32, 32, 1), 16.0),
        ("k<double, 16>", (16, 16, 1), 16.0),
    }


def test_files_beside_are_read_and_findings_stand_in_them(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cu").write_text(_KERNEL)
    (tmp_path / "helper.py").write_text(
        "def read(path, params):\n    with open(path) as f:\n        code = f.read()\n"
        "    for k, v in params.items():\n        code = '#define ' + k + ' ' + str(v) + '\\n' + code\n"
        "    return code\n"
    )
    text = (
        "import os\nimport cupy\nfrom helper import read\n"
        "FILE = os.path.join(os.path.dirname(__file__), 'k.cu')\n"
        "def run(o, step=16):\n    k = cupy.RawKernel(read(FILE, {'STEP': step}), 'k')\n    k((1,), (32,), (o,))\n"
    )
    (tmp_path / "main.py").write_text(text)
    facts = _facts(text, "main.py")
    (access,) = (a for k in facts.kernels for a in k.accesses)
    assert (access.span.path, access.span.line, access.ways) == ("k.cu", 3, 16.0)
    assert "launch at main.py:7" in access.instance.origin


def test_findings_in_texts_are_suppressed_in_them(smemlint, tmp_path) -> None:
    marked = STEP_2.replace("= 1;", "= 1;  // smemlint: ignore[bank-conflict] once")
    (tmp_path / "a.py").write_text(_program(f"'''{STEP_2}'''"))
    (tmp_path / "b.py").write_text(_program(f"'''{marked}'''"))
    assert smemlint("check", "a.py")[0] == 1
    assert smemlint("check", "b.py")[0] == 0


@pytest.mark.parametrize("argument", ["code=TEXT", "TEXT", "f'{TEXT}'"])
def test_texts_that_are_not_followed_are_said(argument: str) -> None:
    found = _notes(f"m = cupy.RawModule({argument})\n")
    assert found == [(1, 5, "not-modelled")]


@pytest.mark.parametrize(
    "call",
    [
        "cp.RawKernel('__global__ void f() {}', 'f')",
        "cp.RawModule(code='__global__ void f() {}')",
        "cp.ElementwiseKernel('T x', 'T y', OPERATION, 'f')",
        "RawKernel",
    ],
)
def test_texts_without_it_are_not_mentioned(call: str) -> None:
    assert _notes(f"k = {call}\n") == []


def test_preambles_with_it_are_said_where_a_piece_is_not_known() -> None:
    for kind, pieces in (("ReductionKernel", "x, 'a+b', 'y=a', '0'"), ("ElementwiseKernel", "x")):
        text = f"k = cp.{kind}('T x', 'T y', {pieces}, 'n', preamble={_SHARED})\n"
        assert _notes(text) == [(1, 5, "not-modelled")]


@pytest.mark.parametrize("text", ["import cupy.RawKernel(\n", "1 <> 'RawKernel('\n", "x = (" * 400])
def test_what_is_no_python_is_said(text: str) -> None:
    (note,) = _facts(text + "# RawKernel(").not_analysed
    assert note.reason.code in ("syntax", "nesting-limit")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"'a\n\x41\u00e9\101\'' 'b'", "a\nA\u00e9A'b"),
        ("r'a\\n' \"b\"", "a\\nb"),
        ("'''a\n b'''", "a\n b"),
        ("('a' # no\n 'b')", "ab"),
        ("'a\\\nb'", "ab"),
    ],
)
def test_literals_are_read_as_python_reads_them(written: str, text: str) -> None:
    result = literal(written, Position("p", 1, 1))
    assert result == text
    assert sum(run.length for run in result.runs) == len(text)
    assert all(result.place(i) is not None for i in range(len(text)))


def test_a_module_of_compiled_code_is_said_by_its_reason() -> None:
    code = "not-modelled"
    assert _notes("m = cupy.RawModule(path='a.cubin')\n") == [(1, 5, code)]
    assert _notes("m = cupy.RawModule()\n") == []


def test_texts_and_kernels_come_from_files_beside(tmp_path) -> None:
    (tmp_path / "texts.py").write_text(f"KERNEL = r'''{_KERNEL}'''\n")
    main = "import cupy as cp\nfrom texts import KERNEL\n"
    program = main + "k = cp.RawKernel('#define STEP 2\\n' + KERNEL, 'k')\nk((1,), (32,), (0,))\n"
    facts = _facts(program, str(tmp_path / "main.py"))
    (access,) = facts.kernels[0].accesses
    place = (access.span.path, access.span.line, access.ways, access.instance.block)
    assert place == (str(tmp_path / "texts.py"), 3, 2.0, (32, 1, 1))
    (tmp_path / "kernels.py").write_text(_program(f"r'''{STEP_2}'''", "pass"))
    program = "from .kernels import k\nk((1,), (64,), (0,))\n# RawKernel("
    facts = _facts(program, str(tmp_path / "main.py"))
    (access,) = facts.kernels[0].accesses
    place = (access.span.path, access.span.line, access.ways, access.instance.block)
    assert place == (str(tmp_path / "kernels.py"), 4, 2.0, (64, 1, 1))


def test_each_text_that_a_function_may_return_is_evaluated(tmp_path) -> None:
    (tmp_path / "k.cu").write_text(_KERNEL)
    program = """import cupy as cp
def source(n):
    text = "#define STEP 2\\n" if n > 3 else "#define STEP 4\\n"
    if n > 3:
        text = "#define STEP 2\\n"
    else:
        text = "#define STEP 4\\n"
    with open("k.cu") as f:
        text += "".join(f.readlines())
    return text
def run(o, n):
    k = cp.RawModule(code=source(n)).get_function("k")
    k((1,), (32,), (o,))
"""
    facts = _facts(program, str(tmp_path / "main.py"))
    assert sorted(k.accesses[0].ways for k in facts.kernels) == [2.0, 4.0]
    assert {k.accesses[0].span.path for k in facts.kernels} == {str(tmp_path / "k.cu")}


@pytest.mark.parametrize(
    ("one", "other", "ways"),
    [("cp.int16", "cp.int16", 2.0), ("cp.int16", "cp.int32", 4.0), ("cp.int16", "np.int16", 0)],
)
def test_types_are_compared_by_name(one: str, other: str, ways: float) -> None:
    text = (
        f"import cupy as cp\nimport numpy as np\nstep = 2 if {one} == {other} else 4\n"
        f"k = cp.RawKernel('#define STEP %d\\n' % step + r'''{_KERNEL}''', 'k')\n"
        "k((1,), (32,), (0,))\n"
    )
    assert [a[2] for a in _stores(text)] == [ways]  # 0: it is not decided


def test_a_file_that_a_program_compiles_with_macros_is_not_judged_bare(smemlint, tmp_path) -> None:
    (tmp_path / "k.cu").write_text(_KERNEL)
    bare = smemlint("check", ".", "--output-format", "concise")[1]
    assert bare.startswith("k.cu:1:28: SML901 note: not fully analysed: `k`, 1 undecided")
    (tmp_path / "main.py").write_text(
        "import cupy as cp\nm = cp.RawModule(path='k.cu', options=('-DSTEP=2',))\n"
        "m.get_function('k')((1,), (32,), (0,))\n"
    )
    for _ in range(2):  # the second time from the cache
        output = smemlint("check", ".", "--output-format", "concise")
        assert (
            output[1]
            == "k.cu:3:5: SML101 warning: 2-way bank conflict writing `s` in `k` [assumed]\n"
        )
    assert "1 shared access decided, 0 not" in output[2]
    (tmp_path / "main.py").write_text((tmp_path / "main.py").read_text().replace("=2", "=4"))
    output = smemlint("check", ".", "--output-format", "concise")
    assert "4-way" in output[1]
    (tmp_path / "k.cu").write_text(_KERNEL.replace("STEP", "STEP * 2"))
    output = smemlint("check", ".", "--output-format", "concise")
    assert "8-way" in output[1]  # the program is read again when its kernels' file changed


_PIECES = """
import cupy
PREAMBLE = '''
__device__ void put(int i, float v) {
    __shared__ float s[1024];
    s[i * STEP] = v;
}
'''
k = cupy.KIND(IN, 'float32 y', BODY, 'n', preamble=PREAMBLE, options=('-DSTEP=4',))
"""


@pytest.mark.parametrize(
    ("parameters", "body", "ways"),
    [
        ("float32 x", "put(threadIdx.x, x)", 4.0),
        ("raw float32 x, int32 n", "if (i < n) { put(threadIdx.x, x[i]); }", 4.0),
        ("T x, raw T z", "put(threadIdx.x % 8, z[i] + x)", 1.0),
        ("int32 x", "put(x, 1)", 0.0),  # data decides
    ],
)
def test_an_elementwise_kernel_is_evaluated_with_its_preamble(parameters, body, ways) -> None:
    text = _PIECES.replace("KIND", "ElementwiseKernel").replace("IN,", f"'{parameters}',")
    assert _stores(text.replace("BODY", f"'{body}'")) == [(6, 5, ways, (128, 1, 1))]


def test_shared_memory_of_the_operation_itself_is_evaluated() -> None:
    text = (
        "import cupy\nk = cupy.ElementwiseKernel('float32 x', 'float32 y', '''\n"
        "    s[threadIdx.x * 2] = x; y = s[threadIdx.x];''', 'n',\n"
        "    loop_prep='__shared__ float s[256];')\n"
    )
    assert _stores(text) == [(3, 5, 2.0, (128, 1, 1)), (3, 33, 1.0, (128, 1, 1))]


def test_a_reduction_has_the_block_that_cupy_chooses() -> None:
    text = _PIECES.replace("KIND", "ReductionKernel").replace("IN,", "'float32 x',")
    body = "'put(threadIdx.x, x), x', 'a + b', 'y = a', '0'"
    ((line, column, ways, block),) = _stores(text.replace("BODY", body))
    assert (line, column, ways) == (6, 5, 4.0)
    assert block != (128, 1, 1)


def test_texts_that_others_import_are_judged_in_their_own_file_too(smemlint, tmp_path) -> None:
    (tmp_path / "texts.py").write_text(
        f"import cupy as cp\nKERNEL = r'''{STEP_2}'''\nk = cp.RawKernel(KERNEL, 'k')\n"
    )
    (tmp_path / "main.py").write_text("import cupy as cp\nfrom texts import KERNEL\n"
        "k = cp.RawKernel(KERNEL.replace('threadIdx.x * 2', 'threadIdx.x'), 'k')\n"
        "k((1,), (32,), (0,))\n")  # fmt: skip
    _, out, err = smemlint("check", ".", "--output-format", "concise")
    assert out == "texts.py:4:5: SML101 warning: 2-way bank conflict writing `s` in `k` [assumed]\n"
    assert "1 shared access decided" in err  # one place, by two programs


_COLUMN = """
    extern "C" __global__ void k(float* o) {
        __shared__ float s[32][PITCH];
        s[threadIdx.x][threadIdx.y] = 1;
    }
"""
_OBJECTS = f"""
import cupy

class Base:
    code = '''{_COLUMN}'''
    block = (32, 8)

    def build(self, pitch):
        return cupy.RawKernel(self.code.replace('PITCH', str(pitch)), 'k')

class Derived(Base):
    PITCH = 32

    def __init__(self, padded=True, rows=4):
        super().__init__()
        self.rows = rows
        if padded:
            self.kernel = self.build(self.PITCH + 1)
        else:
            self.kernel = self.build(self.PITCH)

    @property
    def threads(self):
        return (32, self.rows)

    def __call__(self, o):
        BODY
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("self.kernel((1,), self.threads, (o,))", {(1.0, 4), (32.0, 4)}),
        ("self.kernel((1,), self.block, (o,))", {(1.0, 8), (32.0, 8)}),
        ("Derived(False, rows=2).kernel((1,), (32, 2), (o,))", {(1.0, 8), (32.0, 2)}),  # 8: guessed
    ],
)
def test_kernels_of_objects_are_launched_by_their_methods(body: str, found: set) -> None:
    text = _OBJECTS.replace("BODY", body)
    assert {(ways, block[1]) for _, _, ways, block in _stores(text) if block} == found


def test_an_object_that_is_made_has_what_its_arguments_say() -> None:
    text = _OBJECTS.replace("BODY", "self.kernel((1,), self.threads, (o,))")
    text += "\ndef run(o):\n    Derived(padded=False, rows=16)(o)\n"
    found = {(ways, block[1]) for _, _, ways, block in _stores(text)}
    assert found == {(1.0, 4), (32.0, 4), (32.0, 16)}


def test_an_attribute_that_methods_change_is_not_known() -> None:
    text = _OBJECTS.replace("BODY", "self.kernel((1,), (32, self.rows), (o,))")
    text += "\n    def grow(self):\n        self.rows = 2 * self.rows\n"
    assert {block for _, _, _, block in _stores(text)} == {(32, 8, 1)}  # guessed


def test_a_condition_that_is_asked_again_has_the_answer_it_had() -> None:
    code = _COLUMN.replace("PITCH", "N")
    text = (
        f"import cupy\nCODE = '''{code}'''\n"
        "def run(o, wide):\n"
        "    options = ['-DN=32']\n"
        "    block = (16, 16) if wide else (32, 32)\n"
        "    if wide:\n"
        "        options = ['-DN=33']\n"
        "        options.append('-DM=1')\n"
        "    cupy.RawKernel(CODE, 'k', tuple(options))((1,), block, (o,))\n"
    )
    found = {(ways, block) for _, _, ways, block in _stores(text)}
    assert found == {(32.0, (32, 32, 1)), (2.0, (16, 16, 1))}


def test_what_one_path_leaves_in_a_list_is_not_there_on_the_other() -> None:
    code = _COLUMN.replace("PITCH", "N")
    text = (
        f"import cupy\nCODE = '''{code}'''\n"
        "def run(o, wide):\n"
        "    options = []\n"
        "    with cupy.cuda.Device(0):\n"
        "        if wide:\n"
        "            options.append('-DN=32')\n"
        "        else:\n"
        "            options.append('-DN=33')\n"
        "    cupy.RawKernel(CODE, 'k', tuple(options))((1,), (32, 8), (o,))\n"
    )
    assert {ways for _, _, ways, _ in _stores(text)} == {32.0, 1.0}


@pytest.mark.parametrize("default", ["True", "'fast'", "None"])
def test_callers_may_choose_what_a_default_does_not(default: str) -> None:
    bad = _COLUMN.replace("PITCH", "32")
    text = (
        f"import cupy\nBAD = cupy.RawKernel('''{bad}''', 'k')\n"
        f"GOOD = cupy.RawKernel('''{bad.replace('[32][32]', '[32][33]')}''', 'k')\n"
        f"def run(o, mode={default}):\n"
        f"    kernel = GOOD if mode == {default} else BAD\n"
        "    kernel((1,), (32, 8), (o,))\n"
    )
    assert {ways for _, _, ways, _ in _stores(text)} == {32.0, 1.0}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("f'k<{kind}, 8>'", {("float", "8"), ("int", "8")}),
        ("f'k<{kind}, {n}>'", {("float", "8"), ("int", "8"), ("float", "16"), ("int", "16")}),
        ("f'k<float, {n!s:>2}>'", {("float", "8"), ("float", "16")}),
        ("f'k<double, {n}>'", set()),
    ],
)
def test_a_name_known_in_part_is_that_of_the_kernels_it_fits(name, expected):
    text = (
        "import cupy as cp\n"
        "CODE = 'template<typename T, int N> __global__ void k(T *o) "
        "{ __shared__ T s[N * 32]; s[threadIdx.x * N] = o[0]; }'\n"
        "NAMES = [f'k<{t}, {n}>' for t in ('float', 'int') for n in (8, 16)]\n"
        "module = cp.RawModule(code=CODE, name_expressions=NAMES)\n"
        "def run(kind, n, o):\n"
        f"    module.get_function({name})((1,), (32,), (o,))\n"
    )
    launched = {
        tuple(value for _, value in k.instance.template)
        for k in _facts(text).kernels
        if "k.py:6" in k.instance.origin
    }
    assert launched == expected


def test_device_code_that_nothing_known_compiles_is_noted() -> None:
    """The wrapper of another file compiles it, and its kernel calls the function."""
    head = "template <int N>\n__device__ void f()"
    text = f"from mine import build\nSOURCE = '''{head} {{ __shared__ float s[32]; }}'''\n"
    assert _notes(text + "build('k', SOURCE)\n") == [(2, 10, "not-reached")]


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("f'__global__ void k({T} *o) {{ __shared__ {T} s[32]; }}'", [2]),
        ("'__global__ void k(float *o) {' + 'extern __shared__ ' + T + ' s[];}'", []),
        ("'__global__ void k(float *o) {' + '__shared__ float s[32];' + T + '}'", [2]),
        ("['__global__', '__shared__', '__shared__ memory']", []),
        ("'__shared__ float s[32];'", []),
    ],
)
def test_pieces_of_kernels_that_nothing_known_compiles_are_noted(code: str, lines) -> None:
    text = f"class Generator:\n    def code(self, T): self.code = {code}\n"
    assert [line for line, _, _ in _notes("import pycuda\n" + text[:-1])] == [n + 1 for n in lines]
