"""Kernels of the DSL whose classes get their arguments in other files of the run."""

import ast

import pytest
from test_cute_dsl_kernels import HEAD, LAUNCHED

from smemlint.analysis.analyze import Analyzer
from smemlint.analysis.python.cute_dsl.execution.outside.callers import Callers
from smemlint.analysis.python.importers import Importers
from smemlint.config.settings import Settings
from smemlint.driver.results import UnitResult, merge
from smemlint.facts import Certainty, sites_of
from smemlint.frontend.python.python_source import PythonText
from smemlint.limits.budgets import MAX_CALL_SITES, MAX_DSL_KERNELS
from smemlint.lint.check import run_rules
from smemlint.reasons import Topic
from smemlint.sources.source import Source

METHODS = f"""
{LAUNCHED}\
        layout = cute.make_layout((32, 32), stride=(self.pitch, 1))
        s = smem.allocate_tensor(cutlass.Float32, layout, 16)
        x = s[tx, 0]
"""
COLUMNS = (
    """
class Columns:
    def __init__(self, plan, *, mode="rows"):
        CHECK
        self.pitch = plan[1]
"""
    + METHODS
)
MAKER = """
from kernels import Columns

def make(x, name, mode):
    if name == "other":
        return None
    if mode:
        PLAN
        columns = Columns(plan)
    else:
        columns = None
    return cute.compile(columns, x)
"""


def analysed(tmp_path, files, path="kernels.py"):
    """Facts of one file of a run, and what they depend on."""
    sources = []
    for name, text in files.items():
        at = tmp_path / name
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(HEAD + text)
        sources.append(Source(str(at), below=str(tmp_path)))
    settings = Settings(arch="sm_90")
    return Analyzer(sources, lambda _: settings, pytest.fail).analyze(str(tmp_path / path))


def columns(check="pass"):
    return COLUMNS.replace("CHECK", check)


def maker(plan, name="make"):
    return MAKER.replace("PLAN", f"plan = {plan}").replace("def make(", f"def {name}(")


def ways_of(facts):
    return sorted(a.ways for k in facts.kernels for a in k.accesses)


def test_without_a_call_the_pitch_is_not_known(tmp_path):
    facts, _ = analysed(tmp_path, {"kernels.py": columns()})
    assert not any(a.certainty.is_decided for k in facts.kernels for a in k.accesses)
    assert facts.kernels[0].not_analysed


@pytest.mark.parametrize(("pitch", "ways"), [(32, 32), (33, 1), (36, 4), (40, 8)])
def test_a_call_in_another_file_gives_the_arguments_of_a_class(tmp_path, pitch, ways):
    """A read by column: 32 rows that are `pitch` words apart meet in gcd(pitch, 32) banks."""
    files = {"kernels.py": columns(), "launch.py": maker(f"(8, {pitch})")}
    facts, dependencies = analysed(tmp_path, files)
    (access,) = (a for k in facts.kernels for a in k.accesses)
    assert (access.ways, access.certainty) == (ways, Certainty.ASSUMED)
    (place,) = (a.place for a in access.assumptions if a.place is not None)
    line = (HEAD + files["launch.py"]).splitlines().index("        columns = Columns(plan)") + 1
    assert (place.path, place.line) == (str(tmp_path / "launch.py"), line)
    assert dependencies.searches["kernels",] == (str(tmp_path / "launch.py"),)


def test_each_call_with_other_figures_is_an_instance(tmp_path):
    files = {
        "kernels.py": columns(),
        "one.py": maker("(8, 32)"),
        "other.py": maker("(8, 33)"),
        "same.py": maker("(16, 33)"),
    }
    facts, _ = analysed(tmp_path, files)
    assert ways_of(facts) == [1, 32]


def test_packages_and_derived_classes_stand_for_a_class(tmp_path):
    files = {
        "pack/kernels.py": columns(),
        "pack/__init__.py": "from .kernels import Columns as Exported",
        "derived.py": "from pack import Exported\n\nclass Wider(Exported):\n    pass\n",
        "launch.py": maker("(8, 36)").replace(
            "from kernels import Columns", "from derived import Wider as Columns"
        ),
    }
    facts, dependencies = analysed(tmp_path, files, "pack/kernels.py")
    assert ways_of(facts) == [4]
    assert {words[0] for words in dependencies.searches} >= {"kernels", "pack", "derived"}


def test_a_class_that_constructs_another_one_leads_to_it(tmp_path):
    """Of two classes that a third one chooses from, the way to the file's own is taken."""
    files = {
        "kernels.py": columns(),
        "chosen.py": """
from kernels import Columns

class Other:
    def __init__(self, plan):
        pass

class Chosen:
    def __new__(cls, plan, *, size=None):
        made = Other if size else Columns
        return made(plan)
""",
        "launch.py": maker("(8, 40)")
        .replace("from kernels import Columns", "from chosen import Chosen")
        .replace("Columns(plan)", "Chosen(plan, size=name)"),
    }
    facts, _ = analysed(tmp_path, files)
    assert ways_of(facts) == [8]


@pytest.mark.parametrize(
    "check",
    [
        "if plan != (8, 40):\n            raise ValueError(plan)",
        "assert plan == (8, 40)",
        "assert mode and (8, 40) == plan",
        "if not plan == (8, 40) or mode:\n            raise ValueError(plan)",
        "if plan not in [(8, 40)]:\n            raise ValueError(plan)",
    ],
)
def test_what_a_program_refuses_says_what_it_takes(tmp_path, check):
    facts, _ = analysed(tmp_path, {"kernels.py": columns(check)})
    assert ways_of(facts) == [8]


@pytest.mark.parametrize(
    "check",
    [
        "if plan == (8, 40):\n            raise ValueError(plan)",
        "if plan != (8, 40) and mode:\n            pass",
        "if plan != (8, 40) and len(plan) == 3:\n            raise ValueError(plan)",
        "assert plan == (8, 40) or len(plan) == 3",
    ],
)
def test_other_conditions_say_nothing(tmp_path, check):
    facts, _ = analysed(tmp_path, {"kernels.py": columns(check)})
    assert not any(a.certainty.is_decided for k in facts.kernels for a in k.accesses)


def test_of_several_values_that_it_takes_two_are_tried(tmp_path):
    """Pitches of 40 and 33 words: what they differ in is a sample."""
    check = "if plan not in {(8, 40), (8, 36), (8, 33)}:\n            raise ValueError(plan)"
    facts, _ = analysed(tmp_path, {"kernels.py": columns(check)})
    (access,) = (a for k in facts.kernels for a in k.accesses)
    assert (access.ways, access.certainty) == (8, Certainty.SAMPLED)
    assert [a.topic for a in access.assumptions if a.subject == "plan"] == [Topic.ARGUMENT]


def test_parameters_of_a_test_are_arguments(tmp_path):
    text = """
from kernels import Columns
import pytest

@pytest.mark.parametrize("pitch", [36, 32])
def test_columns(pitch, x):
    Columns((8, pitch))(x)
"""
    facts, _ = analysed(tmp_path, {"kernels.py": columns(), "test_columns.py": text})
    assert ways_of(facts) == [4]


def test_host_code_computes_what_it_passes(tmp_path):
    """Texts, sets, tables of element types and loops that the host is known to make."""
    plan = """plan = None
        modes = frozenset(["wide", "narrow"])
        table = {torch.float16: 16, torch.float32: 32}
        stages = 7
        while stages > 1 and 32 % stages != 0:
            stages -= 1
        sizes = [table[torch.float32]]
        sizes.insert(0, stages)
        if " WIDE".strip().lower() in modes:
            plan = (8, sizes[0] + sizes[1])"""
    facts, _ = analysed(tmp_path, {"kernels.py": columns(), "launch.py": maker(plan[7:])})
    assert ways_of(facts) == [4]  # a pitch of 4 + 32


def test_calls_are_bounded(tmp_path):
    files = {f"launch{i}.py": maker(f"(8, {33 + 2 * i})") for i in range(30)}
    for name, text in {"kernels.py": columns(), **files}.items():
        (tmp_path / name).write_text(HEAD + text)
    sources = [Source(str(p), below=str(tmp_path)) for p in sorted(tmp_path.iterdir())]
    home = PythonText.of(next(s for s in sources if s.path.endswith("kernels.py")))
    sites = Callers(home, Importers(sources).of).sites
    assert len(sites) == MAX_CALL_SITES
    assert [{ast.unparse(c): holds for c, holds in s.outcomes.items()} for s in sites] == [
        {"name == 'other'": False, "mode": True}
    ] * MAX_CALL_SITES


@pytest.mark.parametrize(
    "text",
    [
        "from kernels import *",
        "from kernels import Columns\nColumns = Columns\nclass Columns(Columns):\n    pass",
        "import kernels\ndef f(x):\n    kernels.Columns(kernels.Columns)(kernels)",
        "from kernels import Columns\ndef f(x):\n    return Columns(f(x))(x)",
        "from kernels import Columns\nclass A(B, Columns):\n    pass\nclass B(A):\n    pass\n"
        "def f(x):\n    A(x)(x)\n    while True:\n        B(x)(x)",
        "from kernels import Columns\ndef f(x):\n    while True:\n        x = Columns((1, 10**9))",
        "from kernels import Columns\ndef f(x:\n",
    ],
)
def test_odd_files_do_no_harm(tmp_path, text):
    files = {"kernels.py": columns() + "\nfrom launch import f\n", "launch.py": text}
    facts, _ = analysed(tmp_path, files)
    assert [k.instance.kernel for k in facts.kernels] == ["kernel"]


@pytest.mark.parametrize(
    ("call", "ways"),
    [
        ("Wider((8, 40))", [8]),
        ("Wider((8, 40), 4)", [4]),
        ("Wider(more=4, plan=(8, 40))", [4]),
        ("Wider(**dict(more=4), plan=(8, 40))", [4]),
        ("Wider(**x.options, plan=(8, 40))", []),
    ],
)
def test_a_constructor_hands_its_arguments_on(tmp_path, call, ways):
    """A pitch of 40 or 44 words; of a table that is not known, nobody knows which default holds."""
    base = (
        COLUMNS.replace("CHECK", "pass")
        .replace('plan, *, mode="rows"', "plan, more=0")
        .replace("plan[1]", "plan[1] + more")
        .replace("class Columns:", "class Base:")
    )
    derived = """
class Wider(Base):
    def __init__(self, *args, mode="rows", **kwargs):
        super().__init__(*args, **kwargs)
        self.mode = mode
"""
    launch = f"from kernels import Wider\n\ndef make(x):\n    return cute.compile({call}, x)\n"
    facts, _ = analysed(tmp_path, {"kernels.py": base + derived, "launch.py": launch})
    decided = [a.ways for k in facts.kernels for a in k.accesses if a.certainty.is_decided]
    assert decided == ways


LAUNCHED = """
import torch
from kernels import Columns

class Pitched(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, pitch):
        return cute.compile(Columns((8, pitch)), x)

class Later(torch.autograd.Function):
    @staticmethod
    def forward(x, pitch):
        return cute.compile(Columns((8, pitch)), x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

def pitched(x, pitch):
    return cute.compile(Columns((8, pitch)), x)
"""


@pytest.mark.parametrize(
    "call",
    [
        "pitched(x, x.size(1))",
        "pitched(x, x.numel() // x.size(0))",
        "pitched(x, 36 if x.unsqueeze(0).is_contiguous() else 40)",
        "Pitched.apply(x, x.stride(0))",
        "Later.apply(x, x.stride()[0])",
    ],
)
def test_tensors_and_functions_of_pytorch_give_arguments(tmp_path, call):
    """A tensor of 36 columns gives a pitch of 36 words to what constructs the kernel."""
    launch = f"{LAUNCHED}\ndef main():\n    x = torch.empty(8, 36)\n    {call}\n\nmain()\n"
    text = launch.replace("from kernels import Columns\n", columns().strip() + "\n")
    facts, _ = analysed(tmp_path, {"kernels.py": text})
    assert set(ways_of(facts)) == {4}


def test_what_only_a_guess_leads_to_stays_beside_what_a_call_decides(tmp_path):
    """The call decides two reads of a pitch of 32 words; the guess alone, one of 2 words."""
    text = (
        columns()
        .replace('plan, *, mode="rows"', "plan, is_wide")
        .replace("self.pitch = plan[1]", "self.pitch, self.is_wide = plan[1], is_wide")
    )
    text += """\
        y = s[tx, 5]
        if cutlass.const_expr(not self.is_wide):
            pairs = smem.allocate_tensor(cutlass.Float32, cute.make_layout(64), 16)
            z = pairs[2 * tx]
"""
    launch = "from kernels import Columns\n\ndef make(x):\n"
    launch += "    return cute.compile(Columns((8, 32), True), x)\n"
    facts, _ = analysed(tmp_path, {"kernels.py": text, "launch.py": launch})
    assert ways_of(facts) == [2, 32, 32]


@pytest.mark.parametrize("is_last", [False, True])
def test_of_a_kernel_that_several_files_executed_the_one_counts_that_decided_most(
    is_last, tmp_path
):
    """A file that executes the kernels of another one may not know what their callers pass."""
    alone, _ = analysed(tmp_path, {"kernels.py": columns()})
    called, _ = analysed(tmp_path, {"kernels.py": columns(), "maker.py": maker("(8, 33)")})
    assert ways_of(called) == [1]
    parts = [called, alone] if is_last else [alone, called]
    merged = merge([UnitResult(facts=facts, sites=sites_of(facts.kernels)) for facts in parts])
    assert ways_of(merged.facts) == [1]
    assert len(merged.facts.kernels) == 1


def test_a_pair_that_makes_a_tma_atom_keeps_its_layout_in_a_kernel(tmp_path):
    """The pitch is that of the layout: two words."""
    program = """
@cute.jit
def run(a: cute.Tensor):
    made = cute.nvgpu.cpasync.make_tiled_tma_atom(
        cute.nvgpu.cpasync.CopyBulkTensorTileG2SOp(), a, cute.make_layout((32, 2), stride=(2, 1)), (32, 2)
    )
    kernel(made, a).launch(grid=[1, 1, 1], block=[32, 1, 1])

@cute.kernel
def kernel(made, a: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, made.smem_layout, 16)
    x = s[tx, 0]
"""
    facts, _ = analysed(tmp_path, {"kernels.py": program})
    assert ways_of(facts) == [2]


HELPERS = """
@cute.jit
def load(s, r):
    cute.autovec_copy(s, r)

@cute.jit
def unload(s, r):
    cute.autovec_copy(r, s)

class Storage:
    smem = 1
"""
USER = """
from helpers import load

@cute.kernel
def kernel():
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 4), stride=(4, 1)), 16)
    r = cute.make_rmem_tensor((4,), cutlass.Float32)
    load(s[tx, None], r)

@cute.jit
def host():
    kernel().launch(grid=[1, 1, 1], block=[32, 1, 1])
"""


@pytest.mark.parametrize("is_used", [False, True])
def test_of_a_copy_that_another_file_reaches_it_is_not_said_that_nothing_does(is_used, tmp_path):
    files = {"helpers.py": HELPERS} | ({"user.py": USER} if is_used else {})
    parts, settings = [], Settings()
    for path in files:
        facts, dependencies = analysed(tmp_path, files, path)
        found = tuple(run_rules(facts, lambda _: settings))
        parts.append(
            UnitResult(found, dependencies=dependencies, facts=facts, reached=facts.reached)
        )
    merged = merge(parts)
    lines = [
        number for number, line in enumerate((HEAD + HELPERS).splitlines(), 1) if "autovec" in line
    ]
    notes = [n for n in merged.facts.not_analysed if n.span.path.endswith("helpers.py")]
    assert [n.span.line for n in notes] == lines[is_used:]
    left = {gap.span.line for f in merged.findings for gap in f.gaps}
    assert left == set(lines[is_used:])


HOLDER = """
from kernels import Columns

class Operation:
    def __init__(self, x, pitch=36):
        self.x = x
        self.pitch = pitch
        self._kernel = Columns

    def check(self):
        return self._kernel is not None

    def prepare(self):
        return self._kernel

    def compile(self):
        columns = self._kernel(plan=(8, self.pitch))
        return cute.compile(columns, self.x)
"""


def test_a_class_is_called_that_another_one_holds_in_an_attribute(tmp_path):
    facts, _ = analysed(tmp_path, {"kernels.py": columns(), "holder.py": HOLDER})
    assert ways_of(facts) == [4]  # 32 rows that are 36 words apart meet in gcd(36, 32) banks


TYPES = """
MAP = {
    getattr(torch, "float16", None): getattr(cutlass, "Float16", None),
    getattr(torch, "float32", None): getattr(cutlass, "Float32", None),
    getattr(torch, "float4_e2m1fn_x2", None): getattr(cutlass, "Float4E2M1FN", None),
}
KNOWN = {t: c for t, c in MAP.items() if t is not None and c is not None}

@cute.kernel
def kernel():
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(KNOWN[torch.float32], cute.make_layout((32, 32), stride=(33, 1)), 16)
    x = s[tx, 0]

@cute.jit
def host():
    kernel().launch(grid=[1, 1, 1], block=[32, 1, 1])
"""


def test_element_types_are_looked_up_by_the_names_that_a_library_has(tmp_path):
    facts, _ = analysed(tmp_path, {"kernels.py": TYPES})
    (access,) = (a for k in facts.kernels for a in k.accesses)
    assert (access.ways, access.width_bytes) == (1, 4)
    assert not any("torch" in assumption.text for assumption in access.assumptions)


def test_defaults_of_a_caller_are_the_arguments_that_nothing_gives(tmp_path):
    """The API's class holds kernels that it is told by name; what it hands on has a default."""
    caller = """
from kernels import Columns

class Api:
    def __init__(self, x: torch.Tensor, plan=(1, 33), names=None, mode="rows"):
        self.plan = plan
        self.kernel = names[mode] if names else Columns

    def compile(self, y):
        return cute.compile(self.kernel(self.plan[y]), y)
"""
    facts, _ = analysed(tmp_path, {"kernels.py": columns(), "api.py": caller})
    (kernel,) = facts.kernels
    (access,) = kernel.accesses
    assert (access.ways, access.certainty) == (1, Certainty.ASSUMED)  # rows of 33 words
    assert "plan" in {a.subject for a in access.assumptions}


def test_functions_that_compile_come_before_those_that_only_ask(tmp_path):
    caller = """
from kernels import Columns

def fits(x):
    return Columns.limit(x)

def size(x):
    return Columns.bytes(x)

def make(x, other):
    kind = Columns if other else None
    return cute.compile(kind((1, 36)), x)
"""
    facts, _ = analysed(tmp_path, {"kernels.py": columns(), "api.py": caller})
    assert ways_of(facts) == [4]  # 32 rows that are 36 words apart


def test_of_what_a_caller_launches_kernels_of_other_files_are_not_followed(tmp_path):
    """They are neither executed nor counted among the kernels that an execution follows."""
    others = MAX_DSL_KERNELS * "    other().launch(grid=[1, 1, 1], block=[32, 1, 1])\n"
    launch = maker("(8, 36)").replace("    if mode:\n", f"{others}    if mode:\n")
    launch = f"@cute.kernel\ndef other():\n    pass\n\n{launch}"
    facts, _ = analysed(tmp_path, {"kernels.py": columns(), "launch.py": launch})
    assert ways_of(facts) == [4]  # 32 rows that are 36 words apart


def guessed(tmp_path, parameter, pitch):
    """Figures of the columns whose pitch a function of another file has from a parameter."""
    text = maker(f"(0, {pitch})").replace("(x, name, mode)", f"(x, name, mode, {parameter})")
    facts, _ = analysed(tmp_path, {"kernels.py": columns(), "make.py": text})
    return [(a.ways, a.certainty) for k in facts.kernels for a in k.accesses]


def test_the_capability_of_a_device_is_that_of_the_architecture(tmp_path):
    pitch = "{8: 16, 9: 4, 10: 8}[device_capability[0]]"
    assert guessed(tmp_path, "device_capability", pitch) == [(4, Certainty.ASSUMED)]


def test_the_contiguous_mode_of_an_operand_is_one_of_two(tmp_path):
    same, other = '4 if b_major in "kn" else 8', '4 if b_major == "k" else 8'
    assert guessed(tmp_path, "b_major", same) == [(4, Certainty.ASSUMED)]
    assert guessed(tmp_path, "b_major", other) == [(4, Certainty.SAMPLED)]


def test_the_shape_of_a_tile_that_a_caller_is_given_is_guessed(tmp_path):
    assert guessed(tmp_path, "tile_shape_mn", "tile_shape_mn[1] // 128 * 4") == [
        (4, Certainty.SAMPLED)
    ]
    assert guessed(tmp_path, "tile_shape_mnk", "tile_shape_mnk[2] // 16") == [
        (4, Certainty.ASSUMED)
    ]


DISPATCH = """
import torch
from kernels import Columns

class Other:
    def __init__(self, plan):
        pass

def make(x, device_capacity):
    CHOICE
    return cute.compile(made((8, 36)), x)
"""


@pytest.mark.parametrize(
    "choice",
    [
        "made = {8: Other, 9: Other, 10: Columns, 12: Other}[device_capacity[0]]",
        "made = {9: Other, 12: Columns}.get(torch.cuda.get_device_capability()[0], Other)",
        "made = Columns if device_capacity[0] == 8 else Other",
        """match torch.cuda.get_device_capability()[0]:
        case 9:
            made = Other
        case 10:
            made = Columns""",
        """if device_capacity >= (10, 0):
        made = Columns
    else:
        made = Other""",
    ],
)
def test_a_caller_is_followed_on_the_device_that_leads_to_the_kernel(tmp_path, choice):
    """The run is one for sm_90, where none of these comes to the class: 36 words apart, 4-way."""
    files = {"kernels.py": columns(), "launch.py": DISPATCH.replace("CHOICE", choice)}
    facts, _ = analysed(tmp_path, files)
    (access,) = (a for k in facts.kernels for a in k.accesses)
    assert (access.ways, access.certainty) == (4, Certainty.ASSUMED)
    assert any(a.topic is Topic.HOST for a in access.assumptions)


def test_on_the_device_of_the_run_nothing_is_assumed_of_it(tmp_path):
    choice = "made = {9: Columns, 10: Other}[device_capacity[0]]"
    files = {"kernels.py": columns(), "launch.py": DISPATCH.replace("CHOICE", choice)}
    facts, _ = analysed(tmp_path, files)
    (access,) = (a for k in facts.kernels for a in k.accesses)
    assert access.ways == 4
    assert all(a.topic is not Topic.HOST for a in access.assumptions)


DECLARED = (
    """
class Rows:
    def __init__(self, pitch, is_wide=False, doubles: bool = True, odd: cutlass.Constexpr[bool] = 1):
        self.pitch = 4 * pitch if odd else 2 * pitch if doubles else pitch
"""
    + METHODS
)


def test_what_is_declared_a_truth_is_guessed_as_one(tmp_path):
    """A caller hands on what it is given and asks nothing of it: rows of 36 words, 4-way."""
    caller = """
from kernels import Rows

def make(x, doubles, odd):
    return cute.compile(Rows(36, False, doubles, odd), x)
"""
    facts, _ = analysed(tmp_path, {"kernels.py": DECLARED, "launch.py": caller})
    assert ways_of(facts) == [4]


OPERATIONS = """
class Load:
    def part(self, smem):
        return smem.allocate_tensor(
            cutlass.Float32, cute.make_layout((32, 32), stride=(40, 1)), 16
        )

    def load(self, part, tx):
        y = part[tx, 0]

class Rows:
    def __init__(self, pitch, extra):
        self.pitch = pitch
        self.operations = tuple(op for op in (Load(),) if extra is not None)

    @cute.jit
    def __call__(self, a: cute.Tensor):
        self.kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        layout = cute.make_layout((32, 32), stride=(self.pitch, 1))
        s = smem.allocate_tensor(cutlass.Float32, layout, 16)
        x = s[tx, 0]
        parts = [op.part(smem) for op in self.operations]
        for op in self.operations:
            op.load(parts[0], tx)
"""


def test_what_a_caller_leaves_open_is_tried_where_nothing_else_is_open(tmp_path):
    """Rows of 36 words, 4-way; where a guess has the operation, its rows of 40, 8-way."""
    caller = """
from kernels import Rows

def make(x, mode):
    extra = 1
    if mode == 1:
        extra = None
    return cute.compile(Rows(36, extra), x)
"""
    facts, _ = analysed(tmp_path, {"kernels.py": OPERATIONS, "launch.py": caller})
    assert {a.ways for k in facts.kernels for a in k.accesses} == {4, 8}


def test_what_a_caller_leads_to_at_a_place_of_its_own_is_a_sample_where_guesses_differ(tmp_path):
    """The operation's rows are 40 or 34 words apart: the class itself decides as many accesses."""
    text = OPERATIONS.replace(
        "class Load:", "class Load:\n    def __init__(self, pitch):\n        self.pitch = pitch\n"
    )
    text = text.replace("stride=(40, 1)", "stride=(self.pitch, 1)").replace("Load()", "Load(extra)")
    text = text.replace(
        "layout = cute.make_layout((32, 32), stride=(self.pitch, 1))",
        "layout = cute.make_layout((32, 32), stride=(36, 1))",
    )
    text = text.replace(
        "        x = s[tx, 0]\n", "        x = s[tx, 0]\n        z = s[self.pitch * tx, 0]\n"
    )
    caller = """
from kernels import Rows

def make(x, mode):
    pitch, extra = 1, 40
    if mode == 1:
        pitch, extra = 2, 34
    return cute.compile(Rows(pitch, extra), x)
"""
    facts, _ = analysed(tmp_path, {"kernels.py": text, "launch.py": caller})
    (found,) = (
        a for k in facts.kernels for a in k.accesses if a.expression == "tx, 0" and a.ways != 4
    )
    assert (found.ways, found.certainty) == (8, Certainty.SAMPLED)


@pytest.mark.parametrize("is_used", [False, True])
def test_of_memory_that_another_file_allocates_it_is_not_said_that_nothing_does(is_used, tmp_path):
    helper = "@cute.jit\ndef allocated(smem):\n    return smem.allocate_tensor(SHAPE)\n".replace(
        "SHAPE", "cutlass.Float32, cute.make_layout((32, 4), stride=(4, 1)), 16"
    )
    user = USER.replace(
        "smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 4), stride=(4, 1)), 16)",
        "allocated(smem)",
    )
    user = user.replace("load(s[tx, None], r)", "x = s[tx, 0]").replace(
        "import load", "import allocated"
    )
    files = {"helpers.py": helper} | ({"user.py": user} if is_used else {})
    parts = [analysed(tmp_path, files, path)[0] for path in files]
    merged = merge([UnitResult(facts=facts, reached=facts.reached) for facts in parts])
    assert len(merged.facts.not_analysed) == (0 if is_used else 1)
    assert [a.ways for k in merged.facts.kernels for a in k.accesses] == [4] * is_used
