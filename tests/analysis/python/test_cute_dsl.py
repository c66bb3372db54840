"""Swizzles of CuTe DSL: what they are bound to, in which units, under which condition.

The verdicts are those of the PTX of nvidia-cutlass-dsl 4.8.1 on a tile of 16-bit elements of which
8 rows of 16 bytes are read at once: composed (3,3,3) 1 wavefront, (3,4,3) 2; on a pointer (3,4,3) 1,
(3,3,3) 4 and torn vectors; (3,3,2) is the identity, 8 in both.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from smemlint.analysis.analyze import Analyzer, analyze
from smemlint.analysis.python.cute_dsl.execution import run
from smemlint.config.settings import Configuration, Settings
from smemlint.driver.run import check
from smemlint.hardware.banks import wavefronts
from smemlint.layout.swizzle import Swizzle
from smemlint.reasons import ReasonCode, outcome
from smemlint.sources.source import Source

HEAD = "import math\nimport cutlass\nimport cutlass.cute as cute\n"
HSTU = "cutlass/examples/python/CuTeDSL/cute/ampere/kernel/attention/hstu_attention.py"
CORPUS = Path("/work/corpus")
FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
COMPOSED = """
def f(smem):
    rows = cute.make_layout((8, 64), stride=(64, 1))
    tile = cute.make_composed_layout(cute.make_swizzle({}), 0, rows)
    smem.allocate_tensor(cutlass.Float16, tile, 1024)
"""
POINTER = """
def f(smem):
    rows = cute.make_layout((8, 64), stride=(64, 1))
    smem.allocate_tensor(cutlass.Float16, rows, 1024, swizzle=cute.make_swizzle({}))
"""


def written(text, tmp_path, *, is_check=False):
    path = tmp_path / "layouts.py"
    path.write_text(HEAD + text)
    if is_check:
        return check([Source(str(path))], Settings()).findings
    facts, crashed = analyze([Source(str(path))], Settings())
    assert not crashed
    return facts.layouts


def bound(text, tmp_path):
    """(swizzle, units, element bytes, shape, stride) of each binding."""
    return [
        (u.swizzle, u.units, u.element_bytes, u.shape, u.stride)
        for u in written(text, tmp_path)
        if u.units
    ]


@pytest.mark.parametrize(
    ("template", "triple", "code", "cost"),
    [
        (COMPOSED, (3, 3, 3), None, 1),
        (COMPOSED, (3, 4, 3), "SML204", 2),
        (COMPOSED, (3, 3, 2), "SML201", 8),
        (POINTER, (3, 4, 3), None, 1),
        (POINTER, (3, 3, 3), "SML204", None),
        (POINTER, (3, 3, 2), "SML201", 8),
    ],
)
def test_units_decide_the_verdict(template, triple, code, cost, tmp_path):
    """Rows 17 and 18 of the facts; the cost is recomputed from the model."""
    findings = written(template.format(", ".join(map(str, triple))), tmp_path, is_check=True)
    assert [f.code for f in findings] == ([code] if code else [])
    rows = np.zeros(32, dtype=np.int64)
    rows[:8] = np.arange(8) * 128
    unit = 2 if template is COMPOSED else 1
    if Swizzle.why_invalid(*triple) is None:
        rows = Swizzle(*triple)(rows // unit) * unit
    if cost is not None:
        assert wavefronts(rows, kind="ldmatrix", width=16, matrices=1).wavefronts == cost


def test_the_fixture_has_the_marked_findings():
    path = Path(__file__).resolve().parents[3] / "fixtures" / "python" / "cute_swizzles.py"
    marks = [
        (number, line.rpartition("~ ")[2])
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "# ~ " in line
    ]
    findings = check([Source(str(path))], Settings()).findings
    assert [(f.span.line, f.code) for f in findings] == marks
    assert len(marks) == 4


def test_pointer_swizzles_have_strides_in_bytes(tmp_path):
    assert bound(POINTER.format("3, 4, 3"), tmp_path) == [
        ((3, 4, 3), "bytes", 2, (8, 64), (128, 2))
    ]
    assert bound(COMPOSED.format("3, 3, 3"), tmp_path) == [
        ((3, 3, 3), "elements", 2, (8, 64), (64, 1))
    ]


def test_layouts_as_cute_builds_them(tmp_path):
    text = """
def f(field):
    ordered = cute.make_ordered_layout((8, (2, 4)), order=(1, (0, 2)))
    a = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, ordered)
    field.get_tensor(a, dtype=cutlass.Float32)
    b = cute.make_composed_layout(cute.make_swizzle(1, 3, 3), 16, cute.make_layout((4, 8)))
    field.get_tensor(cute.tile_to_shape(b, (64, 64), (0, 1)), dtype=cutlass.Int8)
    bits = int(math.log2(64 * cutlass.Float16.width // 128))
    field.get_tensor(b.outer, swizzle=cute.make_swizzle(bits, 4, 3), dtype=cutlass.BFloat16)
"""
    assert bound(text, tmp_path) == [
        ((2, 3, 3), "elements", 4, (8, 2, 4), (2, 1, 16)),
        ((1, 3, 3), "elements", 1, (4, 8), (1, 4)),
        ((3, 4, 3), "bytes", 2, (4, 8), (2, 8)),
    ]
    found = written(text, tmp_path)
    assert [u.is_bound for u in found if u.units] == [True, False, True]
    assert [u.offset for u in found if u.units] == [0, 16, 0]


def test_one_open_condition_is_taken_both_ways_and_named(tmp_path):
    text = """
class Kernel:
    def make(self, mQ):
        assert self._dtype == cutlass.Float16 or self._dtype == cutlass.BFloat16
        size = 64 if self.head % 64 == 0 else 32
        bits = 3 if size == 64 else 2
        rows = cute.make_layout((8, size), stride=(size, 1))
        tile = cute.make_composed_layout(cute.make_swizzle(bits, 4, 3), 0, rows)

        @cute.struct
        class Storage:
            sQ: cute.struct.Align[cute.struct.MemRange[self._dtype, cute.cosize(tile)], 1024]
"""
    found = {
        (u.swizzle, u.element_bytes, u.shape): u.assumptions[1:]
        for u in written(text, tmp_path)
        if u.units and u.shape
    }
    assert found == {
        ((3, 4, 3), 2, (8, 64)): (outcome("self.head % 64 == 0", True),),
        ((2, 4, 3), 2, (8, 32)): (outcome("self.head % 64 == 0", False),),
    }
    codes = [(f.code, f.span.line) for f in written(text, tmp_path, is_check=True)]
    assert set(codes) == {("SML204", 11)}


def test_what_two_open_conditions_decide_together_is_left_open(tmp_path):
    text = """
def f(n, dtype):
    bits = 4 if n == 128 else 3
    shift = 2 if dtype.width == 32 else bits
    return cute.make_swizzle(bits, 2, shift)
"""
    assert written(text, tmp_path) == ()
    (note,) = written(text, tmp_path, is_check=True)
    assert (note.code, note.span.line, note.span.column) == ("SML901", 8, 12)


def test_helpers_are_followed_with_the_types_of_their_calls(tmp_path):
    text = """
def atom(dtype, size):
    base = 2 if dtype.width == 32 else 3
    rows = cute.make_ordered_layout((8, size), order=(1, 0))
    return cute.make_composed_layout(cute.make_swizzle(3, base, 3), 0, rows)


def f(field):
    field.get_tensor(atom(cutlass.Float32, 32), dtype=cutlass.Float32)
    field.get_tensor(atom(cutlass.Float16, 64), dtype=cutlass.Float16)
"""
    assert bound(text, tmp_path) == [
        ((3, 2, 3), "elements", 4, (8, 32), (32, 1)),
        ((3, 3, 3), "elements", 2, (8, 64), (64, 1)),
    ]


def test_other_libraries_of_that_name_are_none_of_ours(tmp_path):
    path = tmp_path / "other.py"
    path.write_text("from mine import make_swizzle\ndef f():\n    return make_swizzle(3, 3, 2)\n")
    facts, crashed = analyze([Source(str(path))], Settings())
    assert (facts.layouts, facts.not_analysed, crashed) == ((), (), False)


@pytest.mark.skipif(not (CORPUS / HSTU).exists(), reason="CUTLASS is not checked out here")
def test_the_units_of_hstu_attention_come_out_unaided():
    findings = check([Source(str(CORPUS / HSTU))], Settings()).findings
    found = [(f.code, f.span.line) for f in findings if f.code != "SML901"]
    loads = (692, 703, 708, 716, 721, 849, 857)
    assert found == [("SML204", 147), *(("SML101", line) for line in loads)]
    assert {f.weight for f in findings if f.code == "SML101"} == {2}


VECTORS = FIXTURES / "python" / "cute_vectors.py"
VECTOR_RULES = ("SML301", "SML302", "SML304")
WIDTHS = json.loads((FIXTURES / "cute" / "vectors.json").read_text())["kernels"]


@pytest.mark.parametrize("kernel", WIDTHS)
def test_copies_are_split_where_the_ptx_splits_them(kernel):
    lines = VECTORS.read_text().splitlines()
    start = lines.index(f"def {kernel}():") + 1
    end = next((n for n, t in enumerate(lines[start:], start) if t.startswith("@")), len(lines))
    narrowest = min(int(marker.split()[1]) for marker in WIDTHS[kernel])
    found = [f for f in check([Source(str(VECTORS))], Settings()).findings
             if start < f.span.line <= end and f.code in VECTOR_RULES]  # fmt: skip
    assert len(found) == (narrowest < 16)
    for finding in found:
        assert finding.message.startswith("16-byte copies")
        assert f" {narrowest} bytes" in finding.notes[0]
        assert f"# ~ {finding.code} 16/{narrowest}" in lines[finding.span.line - 1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("smem.allocate_tensor(cutlass.Float32, rows, 16)", "make(cutlass.Float32, rows)"),
        ("(1, 4), (tx, 0)", "(1, 4), (tx * 4, 0)"),  # multiples of four rows are aligned
        ("(1, 4), (tx, 0)", "(1, 4), (where, 0)"),
        ("(1, 4), (tx, 0)", "(1, 4), (8, 0)"),
        ("(1, 4), (tx, 0)", "(4, 1), (0, tx)"),
        ("(1, 4), (tx, 0)", "(1, 1), (tx, 0)"),
        ("r = cute.make_rmem_tensor((1, 4), cutlass.Float32)", "r = somewhere"),
    ],
)
def test_copies_that_may_be_whole_are_silent(old, new, tmp_path):
    bad = FIXTURES.parent / "rules" / "split_vector" / "bad.py"
    text = bad.read_text()
    assert old in text
    (tmp_path / "k.py").write_text(text.replace(old, new))
    findings = check([Source(str(tmp_path / "k.py"))], Settings()).findings
    assert not [f for f in findings if f.code in VECTOR_RULES]


def test_only_the_first_allocation_has_a_known_place(tmp_path):
    bad = FIXTURES.parent / "rules" / "split_vector" / "bad_field.py"
    text = bad.read_text().replace(
        "storage = cutlass.memory.SmemAllocator().allocate",
        "smem = cutlass.memory.SmemAllocator()\n    smem.allocate(16)\n    storage = smem.allocate",
    )
    (tmp_path / "k.py").write_text(text)
    findings = check([Source(str(tmp_path / "k.py"))], Settings()).findings
    assert not [f for f in findings if f.code in VECTOR_RULES]


HELPER = """
import cutlass.cute as cute

def atom(dtype, size):
    base = 2 if dtype.width == 32 else (3 if dtype.width == 16 else 4)
    rows = cute.make_layout((8, size), stride=(size, 1))
    return cute.make_composed_layout(cute.make_swizzle(3, base, 3), 0, rows)

def wide(k):
    size = 128 if k % 128 == 0 else (64 if k % 64 == 0 else 32)
    bits = 4 if size == 128 else (3 if size == 64 else 2)
    return cute.make_swizzle(bits, 3, 3)
"""


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("from .helper import atom", "atom"),
        ("from helper import atom as make_atom", "make_atom"),
        ("from . import helper", "helper.atom"),
        ("import helper", "helper.atom"),
        ("from parts import helper as h", "h.atom"),
    ],
)
def test_helpers_of_files_beside_are_read(imported, call, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "helper.py").write_text(HELPER)
    path = folder / "kernel.py"
    path.write_text(
        f"import cutlass\nimport cutlass.cute as cute\n{imported}\n"
        f"def f(smem):\n    smem.allocate_tensor(cutlass.Float32, {call}(cutlass.Float32, 32), 1024)\n"
        f"    smem.allocate_tensor(cutlass.Int8, {call}(cutlass.Int8, 128), 1024)\n"
    )
    source = Source(str(path))
    facts, _ = analyze([source], Settings())
    found = [(Path(u.span.path).name, u.span.line, u.swizzle, u.element_bytes)
             for u in facts.layouts if u.units]  # fmt: skip
    assert found == [("helper.py", 7, (3, 2, 3), 4), ("helper.py", 7, (3, 4, 3), 1)]
    analyzer = Analyzer([source], Configuration(isolated=True).for_file, lambda note: None)
    assert str(folder / "helper.py") in analyzer.analyze(source.path)[1].reads


def test_what_an_open_condition_decides_is_not_asked_for_itself(tmp_path):
    """`size == 128` may hold for a type of 1 byte only: no finding rests on it alone."""
    text = HELPER[HELPER.index("def wide") :]
    found = {u.swizzle: u.assumptions for u in written(text, tmp_path)}
    assert found == {(4, 3, 3): (outcome("k % 128 == 0", True),)}


def test_methods_and_attributes_of_the_object_are_followed(tmp_path):
    text = """
class Kernel:
    def __init__(self, rows):
        self.bits = 3
        self.rows = rows
        self.twice = 2
        self.twice = 3

    def _atom(self, base):
        outer = cute.make_layout((8, 64), stride=(64, 1))
        return cute.make_composed_layout(cute.make_swizzle(self.bits, base, 3), 0, outer)

    def launch(self, smem):
        smem.allocate_tensor(cutlass.Float16, self._atom(4), 1024)

    def other(self, smem):
        return cute.make_swizzle(self.twice, 3, 3), cute.make_swizzle(self.rows, 3, 3)
"""
    assert bound(text, tmp_path) == [((3, 4, 3), "elements", 2, (8, 64), (64, 1))]
    findings = written(text, tmp_path, is_check=True)
    lines = [(f.code, f.span.line) for f in findings]
    assert lines == [("SML204", 14), ("SML901", 20)]


def test_a_layout_is_bound_in_a_kernel_of_the_class_that_inherits_its_maker(tmp_path):
    text = """
import cutlass
import cutlass.cute as cute
import cutlass.utils as utils

class Base:
    rows = 8

    def __init__(self, width=64):
        self.width = width

    def _atom(self, base):
        outer = cute.make_layout((self.rows, self.width), stride=(self.width, 1))
        return cute.make_composed_layout(cute.make_swizzle(3, base, 3), 0, outer)

class Copy(Base):
    @cute.jit
    def __call__(self, g):
        self.kernel(g, self._atom(BASE)).launch(grid=(1, 1, 1), block=(128, 1, 1))

    @cute.kernel
    def kernel(self, g, layout):
        smem = utils.SmemAllocator()
        smem.allocate_tensor(cutlass.Float16, layout, 1024)
"""
    for base, code in ((4, ["SML204"]), (3, [])):
        placed = text.replace("BASE", str(base))
        assert bound(placed, tmp_path) == [((3, base, 3), "elements", 2, (8, 64), (64, 1))]
        assert [f.code for f in written(placed, tmp_path, is_check=True)] == code


def test_a_kernel_that_takes_more_steps_than_it_may_is_noted(tmp_path, monkeypatch):
    text = """
@cute.kernel
def kernel():
    smem = cutlass.memory.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((16, 32)), 16)
    s.fill(0.0)
"""
    path = tmp_path / "fills.py"
    path.write_text(HEAD + text)
    monkeypatch.setattr(run, "MAX_DSL_STEPS", 1)
    facts, _ = analyze([Source(str(path))], Settings())
    assert not facts.kernels
    assert [(n.span.line, n.kernel, n.reason.code) for n in facts.not_analysed] == [
        (6, "kernel", "step-limit")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "import cutlass.cute as cute\n@cute.kernel\ndef kernel(:\n    pass\n",
        "import cutlass.cute as cute\ns = cute.make_swizzle(3, 3, 3\n",
        "import cutlass.cute as cute\n@cute.jit\ndef f():\n    s = cute.make_swizzle(3, 3, 3\n",
    ],
)
def test_a_file_that_is_no_python_is_said_once(text):
    facts, _ = analyze([Source("k.py", text)], Settings())
    assert [n.reason.code for n in facts.not_analysed] == [ReasonCode.SYNTAX]
