"""Asynchronous copies of PTX: both sides, over what is not known of the arguments.

The expected figures are those of `hardware.async_wavefronts`, which follows 569 of 569 patterns that
were counted on an H100, at addresses that are computed here.
"""

from __future__ import annotations

import numpy as np
import pytest

from smemlint.analysis.compiled.files import compiled_facts
from smemlint.config.settings import Settings
from smemlint.facts import Access, Certainty
from smemlint.hardware.async_copies import async_wavefronts
from smemlint.reasons import Topic
from smemlint.sources.source import Source

T = np.arange(32)
HEAD = """
.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 pitch, .param .u64 table)
.reqntid 32
{
.reg .b32 %r<19>;
.reg .b64 %rd<19>;
.shared .align 128 .b8 tile[16384];
mov.u32 %r1, %tid.x;
mov.u32 %r2, tile;
ld.param.u64 %rd1, [a];
cvta.to.global.u64 %rd2, %rd1;
ld.param.u32 %r3, [pitch];
shr.u32 %r4, %r1, 2;
and.b32 %r5, %r1, 3;
shl.b32 %r6, %r5, 4;
mov.u32 %r16, %ctaid.x;
"""
BY_PITCH = """
mul.lo.s32 %r7, %r4, %r3;
add.s32 %r7, %r7, %r16;
mul.wide.s32 %rd3, %r7, 2;
cvt.u64.u32 %rd4, %r6;
add.s64 %rd5, %rd2, %rd3;
add.s64 %rd5, %rd5, %rd4;
"""


def copy(body: str) -> Access:
    """The copy of a kernel of one warp, whose threads 4 r to 4 r + 3 copy row r."""
    source = Source("k.ptx", f"{HEAD}{body}ret;\n}}\n")
    (kernel,) = compiled_facts(source, Settings(), [], pytest.fail).kernels
    (access,) = kernel.accesses
    return access


@pytest.mark.parametrize(("pitch", "form"), [(64, "cg"), (80, "cg"), (64, "ca"), (1024, "cg")])
def test_rows_of_any_pitch_in_global_memory(pitch: int, form: str) -> None:
    body = (
        f"mad.lo.s32 %r8, %r4, {pitch}, %r2;\nadd.s32 %r8, %r8, %r6;\n{BY_PITCH}"
        f"cp.async.{form}.shared.global [%r8], [%rd5], 16;\n"
    )
    access = copy(body)
    to, source = T // 4 * pitch + T % 4 * 16, T // 4 * 2048 + T % 4 * 16
    cost = async_wavefronts(to, source, form=form, width=16)
    assert access.wavefronts is not None
    assert access.ideal is not None
    assert (access.wavefronts.mean, access.ideal.mean) == (cost.wavefronts, cost.ideal)
    assert (access.certainty, access.note) == (Certainty.ASSUMED, f"cp.async.{form}")


def test_a_cost_that_falls_for_other_arguments_is_none() -> None:
    """Through L1, rows of 2048 bytes meet in the banks of a line, and rows of 2064 do not."""
    access = copy(
        f"mad.lo.s32 %r8, %r4, 80, %r2;\nadd.s32 %r8, %r8, %r6;\n{BY_PITCH}"
        "cp.async.ca.shared.global [%r8], [%rd5], 16;\n"
    )
    to = T // 4 * 80 + T % 4 * 16
    costs = [
        int(async_wavefronts(to, T // 4 * 2 * n + T % 4 * 16, form="ca", width=16).wavefronts)
        for n in (1024, 1032)
    ]
    assert costs[0] > costs[1]
    assert (access.wavefronts, access.certainty) == (None, Certainty.UNKNOWN)


def test_what_takes_other_lines_for_another_pitch_is_named() -> None:
    """Rows of 16 bytes: four lie in one line for no pitch that was tried, whole lines part them."""
    apart = "shl.b32 %r8, %r1, 4;\nadd.s32 %r8, %r8, %r2;\n"
    by_pitch = copy(f"{apart}{BY_PITCH}cp.async.cg.shared.global [%r8], [%rd5], 16;\n")
    fixed = copy(
        f"{apart}mul.wide.s32 %rd3, %r1, 16;\nadd.s64 %rd5, %rd2, %rd3;\n"
        "cp.async.cg.shared.global [%r8], [%rd5], 16;\n"
    )
    assert by_pitch.wavefronts is not None
    assert fixed.wavefronts is not None
    assert (by_pitch.wavefronts.mean, fixed.wavefronts.mean) == (8.0, 4.0)
    mentions = {"1040" in a.text for access in (fixed,) for a in access.assumptions}
    assert mentions == {True}  # other numbers cost the same: the cost hangs on none


def test_a_source_size_is_taken_to_be_whole() -> None:
    apart = "shl.b32 %r8, %r1, 4;\nadd.s32 %r8, %r8, %r2;\n"
    row = "mul.wide.s32 %rd3, %r1, 16;\nadd.s64 %rd5, %rd2, %rd3;\n"
    part = copy(f"{apart}{row}cp.async.cg.shared.global [%r8], [%rd5], 16, %r5;\n")
    whole = copy(f"{apart}{row}cp.async.cg.shared.global [%r8], [%rd5], 16, 16;\n")
    assert [Topic.NUMBER in [t.topic for t in a.assumptions] for a in (part, whole)] == [
        True,
        False,
    ]


def test_addresses_from_memory_have_no_figure() -> None:
    access = copy(
        "shl.b32 %r8, %r1, 4;\nadd.s32 %r8, %r8, %r2;\nmul.wide.s32 %rd3, %r1, 8;\n"
        "add.s64 %rd4, %rd2, %rd3;\nld.global.u64 %rd5, [%rd4];\n"
        "cp.async.cg.shared.global [%r8], [%rd5], 16;\n"
    )
    assert (access.wavefronts, access.certainty) == (None, Certainty.DATA_DEPENDENT)


@pytest.mark.parametrize(
    "load",
    [
        "ld.param.u32 %r3, [s+8];",
        "mov.b64 %rd9, s;\nadd.s64 %rd9, %rd9, 16;\nld.param.v2.u32 {%r17, %r3}, [%rd9+-12];",
    ],
)
def test_a_pitch_in_a_structure(load: str) -> None:
    """The pitch is read by name or by an address; CUTLASS does both."""
    head = HEAD.replace(".param .u32 pitch,", ".param .align 8 .b8 s[24],")
    text = head.replace("ld.param.u32 %r3, [pitch];", load)
    body = f"mad.lo.s32 %r8, %r4, 64, %r2;\nadd.s32 %r8, %r8, %r6;\n{BY_PITCH}"
    source = Source(
        "k.ptx", f"{text}{body}cp.async.cg.shared.global [%r8], [%rd5], 16;\nret;\n}}\n"
    )
    (kernel,) = compiled_facts(source, Settings(), [], pytest.fail).kernels
    (access,) = kernel.accesses
    assert access.wavefronts is not None
    assert access.ideal is not None
    assert (access.wavefronts.mean, access.ideal.mean) == (8, 4)
