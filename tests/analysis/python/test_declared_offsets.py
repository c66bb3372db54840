"""Offsets that comments of Triton kernels declare: figures of hand-computed index arithmetic."""

from __future__ import annotations

import re

import numpy as np
import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.hardware.banks import wavefronts
from smemlint.layout.declared_offsets import offsets_in
from smemlint.layout.swizzle import Swizzle
from smemlint.sources.source import Source

KERNEL = """import triton
import triton.language as tl

@triton.jit
def kernel(p, stride, n, BLOCK: tl.constexpr = 64):
    rows = tl.arange(0, 8)
    cols = tl.arange(0, BLOCK)
    lanes = tl.arange(0, 32)
    {before}
    x = tl.load(p + lanes)  # smemlint: {pragma}
"""


def source(pragma: str, before: str = "pass") -> Source:
    return Source("k.py", KERNEL.format(pragma=pragma, before=before))


def facts_of(pragma: str, before: str = "pass"):
    facts, crashed = analyze([source(pragma, before)], Settings())
    assert not crashed
    return facts


def access_of(pragma: str, before: str = "pass"):
    (kernel,) = facts_of(pragma, before).kernels
    (access,) = kernel.accesses
    return access


ROW = "rows[:, None] * 64 + cols[None, :]"
COLUMN = "offs.T, dtype=fp16, vec=1"


@pytest.mark.parametrize(
    ("pragma", "figures"),
    [
        ("shared(lanes * 32, dtype=fp32)", (32, 1)),
        ("shared(lanes * 33, dtype=tl.float32)", (1, 1)),
        ("swizzle(5, 0, 5) shared(lanes * 32, dtype=fp32)", (1, 1)),
        ("swizzle(5, 2, 5) bytes shared(lanes * 32, dtype=fp32)", (1, 1)),
        ("shared(lanes * 32 + (lanes ^ 5), dtype=i32)", (1, 1)),
        ("shared(lanes * 64 + (lanes << 1), dtype=bf16)", (1, 1)),
        ("shared(lanes * stride, dtype=fp64, stride=16)", (32, 2)),
        ("shared(tl.where(lanes < 16, lanes * 32, lanes), dtype=fp32)", (16, 1)),
        ("shared(tl.arange(0, 8) * 64, dtype=fp16)", (8, 1)),
        ("shared(tl.minimum(lanes * 32, 32) // 4 % 7, dtype=fp32)", (1, 1)),
    ],
)
def test_one_element_a_lane(pragma, figures):
    worst = access_of(pragma).worst
    assert (worst.wavefronts, worst.ideal) == figures


@pytest.mark.parametrize(
    ("swizzle", "wavefronts_of_a_column"),
    [((0, 3, 3), 32), ((3, 3, 3), 4), ((3, 4, 3), 8), ((2, 3, 3), 8), ((3, 2, 3), None)],
)
def test_rows_of_16_bytes_go_where_the_swizzle_keeps_them(swizzle, wavefronts_of_a_column):
    """One 16-byte vector of each of 32 rows of 128 bytes: 4 wavefronts are ideal."""
    parameters = ", ".join(map(str, swizzle))
    before = "offs = lanes[:, None] * 64 + tl.arange(0, 8)[None, :]"
    pragma = f"swizzle({parameters}) shared(offs, dtype=fp16, block=(32, 8), vec=8)"
    access = access_of(pragma, before)
    expected = Swizzle(*swizzle)(np.arange(32) * 64) * 2
    assert (access.worst.addresses == expected).all()
    if wavefronts_of_a_column is not None:
        cost = wavefronts(expected, kind="load", width=16).wavefronts
        assert access.worst.wavefronts == wavefronts_of_a_column == cost


def test_a_vector_beyond_mbase_and_a_swizzle_that_frees_nothing_are_found():
    before = f"offs = {ROW}"
    for pragma, codes in (
        ("swizzle(3, 2, 3) shared(offs, dtype=fp16, block=(8, 64), vec=8)", ["SML302"]),
        ("swizzle(3, 3, 3) shared(offs, dtype=fp16, block=(8, 64), vec=8)", []),
        ("swizzle(2, 7, 3) shared(lanes * 32, dtype=fp32)", ["SML101", "SML203"]),
        ("shared(lanes * 2, dtype=fp16, vec=1)", []),
    ):
        found = check([source(pragma, before)], Settings()).findings
        assert sorted(f.code for f in found) == codes, pragma
        assert all(f.span.line == 10 and f.certainty == "assumed" for f in found if f.access)


def test_lanes_run_along_the_order():
    before = f"offs = {ROW}"
    across = access_of("shared(offs, dtype=fp32, block=(8, 64))", before)
    down = access_of("shared(offs, dtype=fp32, block=(8, 64), order=(0, 1))", before)
    assert (across.worst.wavefronts, down.worst.wavefronts) == (1, 8)
    assert (across.instructions, down.instructions) == (16, 16)
    assert down.worst.addresses[:9].tolist() == [r * 256 for r in range(8)] + [4]


def test_a_block_broadcasts_and_a_misaligned_vector_is_found():
    access = access_of("shared(rows[:, None] * 32, dtype=fp32, block=(8, 4), order=(1, 0))")
    assert access.worst.wavefronts == 8 and access.instructions == 1
    findings = check([source("shared(lanes[:, None] * 33 + tl.arange(0, 4), dtype=fp32, vec=4)")],
                     Settings()).findings  # fmt: skip
    assert [f.code for f in findings] == ["SML301"]


@pytest.mark.parametrize(
    ("pragma", "before", "code"),
    [
        ("shared(lanes * n, dtype=fp32)", "pass", "unknown-value"),
        ("shared(offs, dtype=fp32)", "offs = tl.load(p + lanes)", "data"),
        ("shared(offs, dtype=fp32)", "offs = tl.program_id(0) * 8 + lanes", "unknown-value"),
        ("shared(offs, dtype=fp32)", "offs = lanes - 40", "wrong-pragma"),
        ("shared(offs, dtype=fp32)", "offs = (lanes - 40) // 2", "no-value"),
        ("shared(offs, dtype=fp32)", "offs = tl.sort(lanes)", "not-modelled"),
        ("shared(offs, dtype=fp32)", "offs = lanes * 2147483647", "too-large"),
        ("shared(offs, dtype=fp32)", "offs = lanes << 40", "no-value"),
        ("shared(tl.arange(0, 1 << 30), dtype=fp32)", "pass", "too-large"),
        ("shared(tl.arange(0, 1 << 9)[:, None] * cols * 512, dtype=fp32, block=(512, 32))", "pass",
         "wrong-pragma"),
        ("shared(lanes, dtype=fp32, block=(7,))", "pass", "wrong-pragma"),
        ("shared(lanes * 2, dtype=fp32, vec=4)", "pass", "wrong-pragma"),
        ("shared(lanes, dtype=fp32, order=(1, 0))", "pass", "wrong-pragma"),
        ("shared(nothing, dtype=fp32)", "pass", "unknown-value"),
    ],
)  # fmt: skip
def test_what_cannot_be_evaluated_is_said(pragma, before, code):
    facts = facts_of(pragma, before)
    (note,) = facts.not_analysed
    assert (facts.kernels, note.span.line, note.kernel) == ((), 10, "kernel")
    assert note.reason.code == code


def test_offsets_that_change_in_a_loop_are_said():
    before = "offs = lanes\n    for i in range(n):\n        offs += 4"
    (note,) = facts_of("shared(offs, dtype=fp32)", before).not_analysed
    assert note.reason.code == "not-modelled"
    text = KERNEL.format(pragma="none", before="for i in range(3):\n        offs = lanes * i")
    text = text.replace("lanes * i", "lanes * i  # smemlint: shared(offs, dtype=fp32)")
    facts, _ = analyze([Source("k.py", text)], Settings())
    assert facts.not_analysed[0].reason.code == "unknown-value"


def test_a_pragma_that_stands_nowhere_is_said():
    text = "import triton\n# smemlint: shared(x, dtype=fp32)\nx = 3\n"
    (note,) = analyze([Source("k.py", text)], Settings())[0].not_analysed
    assert note.reason.code == "wrong-pragma"


def test_a_comment_on_a_line_of_its_own_speaks_of_the_next_statement():
    text = KERNEL.format(pragma="none", before="# smemlint: shared(offs, dtype=fp32)\n    offs = lanes * 2\n    offs = lanes * 32")  # fmt: skip
    (kernel,) = analyze([Source("k.py", text)], Settings())[0].kernels
    assert kernel.accesses[0].worst.wavefronts == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shared(offs)", "of which type?"),
        ("shared(offs, dtype=half7)", "`half7` is not an element type"),
        ("shared(offs, dtype=fp16", "not closed"),
        ("shared(offs offs, dtype=fp16)", "is not an expression"),
        ("shared(a, b, dtype=fp16)", "one expression"),
        ("shared(*a, dtype=fp16)", "one expression"),
        ("shared(a, dtype=fp16, **b)", "one expression"),
        ("shared(offs, dtype=fp16, vec=3)", "a power of two of at most 16 bytes"),
        ("shared(offs, dtype=fp16, vec=16)", "a power of two of at most 16 bytes"),
        ("shared(offs, dtype=fp16, block=(0, 3))", "`block` is a shape"),
        ("shared(offs, dtype=fp16, stride=(1, 2))", "gets one number"),
        ("shared(offs, dtype=fp16, stride=other)", "is not a number or shape"),
        ("swizzle(3, 3, 2) shared(offs, dtype=fp16)", "at least BBits"),
        ("swizzle(3, 3) shared(offs, dtype=fp16)", "three numbers"),
        ("swizzle(3, 3, 3) words shared(offs, dtype=fp16)", "`bytes` or `elements`"),
        ("swizzle(3, 3, 3) mine your shared(offs, dtype=fp16)", "is not understood"),
    ],
)
def test_malformed_declarations_say_what_to_write(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        offsets_in(text)
    (finding,) = check([source(text)], Settings()).findings
    assert (finding.code, finding.span.line) == ("SML903", 10) and message in finding.message


def test_cuda_is_told_to_declare_its_array():
    text = (
        "__global__ void k() { __shared__ int s[4]; s[0] = 1; }  // smemlint: shared(x, dtype=fp16)"
    )
    findings = check([Source("k.cu", text)], Settings()).findings
    assert [f.code for f in findings] == ["SML903"]
    assert "declare a swizzle at its `__shared__` array" in findings[0].message
