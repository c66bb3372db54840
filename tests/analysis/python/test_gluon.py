"""Gluon kernels: findings at their lines, figures as the PTX has them, and what is not decided."""

from __future__ import annotations

import json
import re
from math import ceil
from pathlib import Path

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.facts import Certainty, Facts
from smemlint.sources.source import Source

FIXTURES = Path(__file__).parents[3] / "fixtures"
KERNELS = FIXTURES / "python" / "gluon_kernels.py"
RECORD = json.loads((FIXTURES / "triton" / "gluon_kernels.json").read_text())
HEAD = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
"""


def facts_of(text: str, **settings: object) -> Facts:
    facts, crashed = analyze([Source("k.py", text)], Settings(**settings))  # type: ignore[arg-type]
    assert not crashed, facts.not_analysed
    return facts


def test_findings_are_exactly_the_marked_ones(smemlint):
    expected = [
        (number, *found)
        for number, line in enumerate(KERNELS.read_text().splitlines(), 1)
        for found in re.findall(r"# ?~ (SML\d+) (.*)$", line)
    ]
    _, out, _ = smemlint("check", str(KERNELS), "--output-format", "json")
    findings = json.loads(out)["findings"]
    assert [(f["line"], f["code"]) for f in findings] == [(n, c) for n, c, _ in expected]
    for finding, (_, _, message) in zip(findings, expected, strict=True):
        texts = [finding["message"], *finding["notes"]]
        if re.fullmatch(r"\d+/\d+", message):
            spent, ideal = message.split("/")
            message = f"{spent} wavefronts instead of {ideal}"
        assert any(message in t for t in texts), texts


@pytest.mark.parametrize("kernel", RECORD["kernels"])
def test_figures_are_those_of_the_ptx(kernel):
    facts = facts_of(KERNELS.read_text())
    ours = {}
    for found in facts.kernels:
        if found.instance.kernel != kernel:
            continue
        for access in found.accesses:
            worst = max(ceil(p.wavefronts / p.ideal) if p.ideal else 0 for p in access.patterns)
            if any(not p.ideal for p in access.patterns):
                worst = 0  # it faults
            ours[str(access.span.line)] = [str(access.kind), access.width_bytes, worst]
    assert ours == RECORD["kernels"][kernel]


def test_layouts_reach_a_kernel_from_its_launch():
    text = (
        HEAD
        + """
@gluon.jit
def kernel(x_ptr, layout: gl.constexpr, shared: gl.constexpr, N: gl.constexpr):
    tile = gl.allocate_shared_memory(gl.float32, [N, N], shared)
    helper(tile, layout)

@gluon.jit
def helper(tile, layout: gl.constexpr):
    tile.load(layout)

def run(x):
    for n in (32,):
        column = gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])
        kernel[(1,)](x, column, gl.SwizzledSharedLayout(1, 1, n // 2, [1, 0]), N=n, num_warps=4)
"""
    )
    (kernel,) = facts_of(text).kernels
    (access,) = kernel.accesses
    assert (access.ways, access.certainty, access.span.line) == (2.0, Certainty.ASSUMED, 12)
    assert kernel.instance.origin == "launch in line 17"


def test_what_is_not_known_is_said():
    text = (
        HEAD
        + """
@gluon.jit
def kernel(x_ptr, shared: gl.constexpr, n):
    column: gl.constexpr = gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    gl.allocate_shared_memory(gl.float32, [32, 32], shared).load(column)
    gl.allocate_shared_memory(x_ptr.dtype.element_ty, [32, 32], plain).load(column)
    gl.allocate_shared_memory(gl.float32, [32, 32], plain).load(gl.AutoLayout())
    gl.allocate_shared_memory(gl.float32, [n, 32], plain).load(column)
    if n:
        plain = gl.SwizzledSharedLayout(1, 1, 32, [1, 0])
    gl.allocate_shared_memory(gl.float32, [32, 32], plain).load(column)
"""
    )
    (kernel,) = facts_of(text).kernels
    assert [(a.certainty, a.reason.code) for a in kernel.accesses] == [
        (Certainty.UNKNOWN, "unknown-layout"),
        (Certainty.UNKNOWN, "unknown-type"),
        (Certainty.UNKNOWN, "compiler"),
        (Certainty.UNKNOWN, "unknown-type"),
        (Certainty.UNKNOWN, "unknown-layout"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "def f(:\n  gluon  # experimental.gluon",
        "1 <> 'experimental.gluon'",
        "# experimental.gluon\n" + "(" * 5000,
    ],
)
def test_what_is_no_python_is_said(text):
    (note,) = facts_of(text).not_analysed
    assert note.reason.code in ("syntax", "nesting-limit")


def test_endless_work_is_cut():
    text = (
        HEAD
        + "@gluon.jit\ndef k(n):\n"
        + "".join(f"{'  ' * (d + 1)}for i{d} in gl.static_range(32):\n" for d in range(12))
        + "  " * 13
        + "n += 1\n"
    )
    (note,) = facts_of(text).not_analysed
    assert (note.kernel, note.reason.code) == ("k", "step-limit")


def test_an_allocation_that_is_not_reached_is_said():
    text = (
        HEAD
        + """
@gluon.aggregate
class Ring:
    def make(self):
        return gl.allocate_shared_memory(gl.float32, [32, 32], self.layout)
"""
    )
    (note,) = facts_of(text).not_analysed
    assert (note.span.line, note.reason.code) == (8, "not-reached")


@pytest.mark.parametrize(
    ("arguments", "decided"),
    [("128, 32", 1), ("128, 32, **{}", 1), ("128, 32, **MORE", 0), ("128, 32, *MORE", 0)],
)
def test_a_default_is_taken_only_where_nothing_else_can_be_given(arguments, decided):
    """What is unpacked may be `transposed=True`."""
    text = (
        HEAD
        + f"""
from mine import MORE

@gluon.jit
def kernel(x_ptr):
    row: gl.constexpr = gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0])
    layout: gl.constexpr = gl.NVMMASharedLayout({arguments})
    gl.allocate_shared_memory(gl.float32, [64, 64], layout).load(row)
"""
    )
    (kernel,) = facts_of(text).kernels
    assert [a.certainty.is_decided for a in kernel.accesses] == [bool(decided)]


def test_a_ring_of_three_buffers_is_priced_like_one_of_four():
    text = (
        HEAD
        + """
@gluon.jit
def kernel(n, i):
    column: gl.constexpr = gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])
    ring = gl.allocate_shared_memory(gl.float32, [N, 32, 32], gl.SwizzledSharedLayout(1, 1, 16, [1, 0]))
    ring.index(i % 3).load(column)
    ring.index(2).load(column)
"""
    )
    figures = []
    for count in ("3", "4"):
        (kernel,) = facts_of(text.replace("[N,", f"[{count},")).kernels
        figures.append([(a.ways, a.patterns[0].addresses.min() // 4096) for a in kernel.accesses])
        assert kernel.arrays[0].bytes == int(count) * 4096
    assert figures[0] == figures[1] == [(2.0, 0), (2.0, 2)]


ADVICE = {
    "column_of_plain_rows": (1056, 64),
    "column_of_half_the_phases": (96, 64),
    "half_rows_unswizzled": (1152, 256),
    "short_rows_wrap": (192, 128),
    "inside_the_word": (576, 128),
    "narrow_nvmma": (384, 256),
}


@pytest.mark.parametrize("kernel", ADVICE)
def test_the_advised_layout_frees_the_kernel_that_is_written_with_it(kernel):
    text = KERNELS.read_text()
    start = text.index(f"def {kernel}(")
    end = text.index("@gluon.jit", start)
    body = text[start:end]
    before = check([Source("k.py", HEAD + "@gluon.jit\n" + body)], Settings())
    (finding,) = [f for f in before.findings if f.code == "SML101"]
    spent, least = ADVICE[kernel]
    assert f"({least} wavefronts instead of {spent})" in finding.help
    (layout,) = re.findall(r"`(.*?)`:", finding.help)
    old = re.search(r"gl\.(?:Swizzled|NVMMA)SharedLayout\([^)]*\)", body)
    after = check(
        [
            Source(
                "k.py",
                HEAD + "@gluon.jit\n" + body.replace(old[0], f"gl.{layout}").replace(", ..", ""),
            )
        ],
        Settings(),
    )
    assert after.findings == ()


def test_layouts_that_others_need_get_no_advice():
    text = (
        HEAD
        + """
@gluon.jit
def kernel(p, desc, bar):
    column: gl.constexpr = gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])
    tile = gl.allocate_shared_memory(gl.float32, [32, 32], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))
    USE
    tile.load(column)
"""
    )
    for use, has_advice in (
        ("pass", True),
        ("gl.async_copy.async_copy_global_to_shared(tile, p)", False),
        ("tile.reinterpret(gl.int32, [32, 32], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))", False),
    ):
        (finding,) = check([Source("k.py", text.replace("USE", use))], Settings()).findings
        assert bool(finding.help) == has_advice, use


def test_element_types_come_from_tensors_of_the_host():
    text = (
        HEAD
        + """
import torch

@gluon.jit
def kernel(x_ptr):
    column: gl.constexpr = gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    gl.allocate_shared_memory(x_ptr.dtype.element_ty, [32, 32], plain).load(column)

def run():
    x = torch.randn(32, 32, dtype=torch.float32, device="cuda")
    kernel[(1,)](MAKE, num_warps=4)
"""
    )
    for make, width, ways in (
        ("x", 4, 32), ("x.to(torch.float16)", 2, 16), ("torch.zeros_like(x)", 4, 32),
        ("torch.empty_like(x, dtype=torch.float64)", 8, 16), ("x.contiguous().cuda()", 4, 32),
    ):  # fmt: skip
        (kernel,) = facts_of(text.replace("MAKE", make)).kernels
        assert [(a.width_bytes, a.ways) for a in kernel.accesses] == [(width, ways)], make
    (kernel,) = facts_of(text.replace("MAKE", "x.view(torch.int8)")).kernels
    assert [a.reason.code for a in kernel.accesses] == ["unknown-type"]


@pytest.mark.parametrize(
    ("buffers", "padding", "size"),
    [
        (1, 1, 16636), (2, 1, 33276), (3, 1, 49916),
        (1, 4, 17392), (2, 4, 34800), (3, 4, 52208),
        (1, 8, 18400), (2, 8, 36832), (3, 8, 55264),
    ],
)  # fmt: skip
def test_a_padded_allocation_holds_its_gaps(buffers, padding, size):
    """The sizes are those of triton 3.9.0's compiled kernels (`metadata.shared`, sm_90)."""
    text = (
        HEAD
        + f"""
@gluon.jit
def kernel(R: gl.constexpr = {buffers}):
    shared: gl.constexpr = gl.PaddedSharedLayout.with_identity_for(
        [[64, {padding}]], [64, 64], [1, 0])
    rows: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    ring = gl.allocate_shared_memory(gl.float32, [R, 64, 64], shared)
    ring.index(R - 1).load(rows)
"""
    )
    facts = facts_of(text)
    (access,) = [a for k in facts.kernels for a in k.accesses]
    assert access.array.bytes == size
    assert not check([Source("k.py", text)], Settings()).findings


LAUNCHED = """
import pytest
import torch
import triton
HEAD
@gluon.jit
def kernel(p, sx, sy, X: gl.constexpr, shared: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, 4], [1, 0])
    s = gl.allocate_shared_memory(gl.float32, [X, X], layout=shared)
    s.store(gl.full([X, X], 1.0, gl.float32, layout))

def run(p, shared, X):
    kernel[(1,)](p, *p.stride(), X, shared)

@pytest.mark.parametrize("X", [32, 128])
def test(X):
    shared = gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[1, 0])
    run(torch.randn(X, 64, device="cuda"), shared, X)
""".replace("HEAD", HEAD)


def test_a_launch_is_evaluated_with_what_its_callers_pass():
    """Not once more for nobody: triton 3.9 has 8 and 32 stmatrix a warp (sm_90)."""
    facts = facts_of(LAUNCHED)
    found = [(a.certainty, a.instructions, a.ways) for k in facts.kernels for a in k.accesses]
    assert found == [(Certainty.ASSUMED, 32, 1.0), (Certainty.ASSUMED, 128, 1.0)]


def test_a_launch_that_nobody_calls_is_not_known():
    facts = facts_of(LAUNCHED.partition("@pytest")[0])
    assert [a.certainty for k in facts.kernels for a in k.accesses] == [Certainty.UNKNOWN]


TENSOR_MEMORY = """
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout, allocate_tensor_memory,
)
HEAD
@gluon.jit
def kernel(p, BLOCK_M: gl.constexpr):
    memory: gl.constexpr = TensorMemoryLayout([BLOCK_M, 64], col_stride=1)
    acc = allocate_tensor_memory(gl.float32, [2, BLOCK_M, 64], memory).index(1)
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0])
    s = gl.allocate_shared_memory(gl.float32, [BLOCK_M, 64], shared)
    s.store(acc.load())
    rows: gl.constexpr = acc.slice(0, 32).get_reg_layout()
    t = gl.allocate_shared_memory(gl.float32, [BLOCK_M, 32], shared)
    acc.slice(0, 32).store(t.load(rows))

kernel[(1,)](p, BLOCK_M, num_warps=WARPS)
""".replace("HEAD", HEAD)


@pytest.mark.parametrize(
    ("rows", "warps", "stored", "loaded"),
    [(128, 4, (64, 8.0), (32, 8.0)), (128, 8, (64, 8.0), (32, 8.0)), (64, 4, (32, 8.0), (16, 8.0))],
)
def test_registers_of_tensor_memory_reach_shared_memory(rows, warps, stored, loaded):
    """As many st.shared.v4 and ld.shared.v4 as triton 3.9 has (sm_100); a lane has a row."""
    text = TENSOR_MEMORY.replace("BLOCK_M, num", f"{rows}, num").replace("WARPS", str(warps))
    (kernel,) = facts_of(text).kernels
    found = [(a.instructions, a.ways) for a in kernel.accesses]
    assert found == [stored, loaded]


@pytest.mark.parametrize("warps", ["n", "2"])
def test_registers_of_tensor_memory_hang_on_the_warps(warps):
    text = TENSOR_MEMORY.replace("BLOCK_M, num", "128, num").replace("WARPS", warps)
    (kernel,) = facts_of(text).kernels
    assert {a.certainty for a in kernel.accesses} == {Certainty.UNKNOWN}
