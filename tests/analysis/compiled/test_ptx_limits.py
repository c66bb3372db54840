"""Budgets of PTX files: what they end is said, what was decided before stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemlint.analysis.compiled.files import compiled_facts
from smemlint.config.settings import Settings
from smemlint.facts import Facts
from smemlint.limits.steps import step_limit
from smemlint.sources.source import Source

PTX = Path(__file__).with_name("ptx") / "transpose.ptx"
LOOP = """
.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u32 k_param_0)
{
.reg .pred %p<2>;
.reg .b32 %r<9>;
.shared .align 4 .b8 tile[4096];
mov.u32 %r1, %tid.x;
ld.param.u32 %r7, [k_param_0];
mov.b32 %r2, 0;
mov.u32 %r3, tile;
shl.b32 %r4, %r1, 2;
add.s32 %r5, %r3, %r4;
$L: st.shared.u32 [%r5], %r1;
add.s32 %r5, %r5, 128;
add.s32 %r2, %r2, 1;
setp.lt.s32 %p1, %r2, BOUND;
@%p1 bra $L;
ret;
}
"""


def facts_of(text: str) -> Facts:
    source = Source("k.ptx", text)
    return compiled_facts(source, Settings(block_dim=(32, 1, 1)), [], pytest.fail)


def test_kernels_before_the_end_of_the_budget_are_kept() -> None:
    with step_limit(1_000_000) as all_steps:
        whole = compiled_facts(Source(str(PTX)), Settings(block_dim=(32, 8, 1)), [], pytest.fail)
    with step_limit(all_steps.spent // 2):
        half = compiled_facts(Source(str(PTX)), Settings(block_dim=(32, 8, 1)), [], pytest.fail)
    assert len(whole.kernels) == 5
    assert 0 < len(half.kernels) < 5
    (note,) = half.not_analysed
    assert note.kernel not in {k.instance.kernel for k in half.kernels}


@pytest.mark.parametrize(
    ("bound", "instructions"), [("8", 8), ("%r7", 2), ("1000000", 1024), ("-5", 1)]
)
def test_a_loop_runs_as_often_as_is_known_or_stands_for_all_rounds(
    bound: str, instructions: int
) -> None:
    (kernel,) = facts_of(LOOP.replace("BOUND", bound)).kernels
    (access,) = kernel.accesses
    assert access.wavefronts is not None
    assert access.wavefronts.mean == 1.0
    assert access.instructions >= instructions
    assert kernel.steps < 10_000


def test_patterns_that_are_not_kept_are_counted() -> None:
    growing = LOOP.replace("add.s32 %r5, %r5, 128", "add.s32 %r5, %r5, %r4").replace(
        "4096", "16384"
    )
    for bound, omitted in ((60, 0), (100, 36)):
        (access,) = facts_of(growing.replace("BOUND", str(bound))).kernels[0].accesses
        found = access.instructions, len(access.patterns), access.omitted
        assert found == (bound, bound - omitted, omitted)


def test_lanes_that_move_by_an_unknown_pitch_have_no_figure() -> None:
    text = LOOP.replace("shl.b32 %r4, %r1, 2;", "mul.lo.s32 %r4, %r1, %r7;").replace("BOUND", "8")
    (kernel,) = facts_of(text).kernels
    (access,) = kernel.accesses
    assert (access.wavefronts, str(access.certainty)) == (None, "unknown")


def test_a_warp_wide_unknown_offset_keeps_the_figure() -> None:
    text = LOOP.replace("add.s32 %r5, %r3, %r4;", "add.s32 %r5, %r7, %r4;").replace("BOUND", "8")
    (kernel,) = facts_of(text).kernels
    (access,) = kernel.accesses
    assert access.wavefronts is not None
    assert (access.wavefronts.max, str(access.certainty)) == (1.0, "assumed")


CALLS = """
.version 8.7
.target sm_90
.address_size 64
.shared .align 4 .b8 tile[4096];
.func inner(.param .b32 inner_param_0)
{
st.shared.u32 [tile], 1;
ret;
}
.func outer(.param .b32 outer_param_0)
{
call.uni inner, (outer_param_0);
ret;
}
.func pure(.param .b32 pure_param_0)
{
ret;
}
.visible .entry k()
{
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
mov.u32 %r1, %tid.x;
CALL
st.shared.u32 [tile], %r1;
ret;
}
"""


@pytest.mark.parametrize(
    ("call", "notes"),
    [
        ("call.uni outer, (%r1);", 1),
        ("call.uni inner, (%r1);", 1),
        ("call.uni pure, (%r1);", 0),
        ("call.uni (%r2), %rd1, (%r1), prototype;", 1),
    ],
)
def test_calls_of_functions_that_share_memory_are_said(call: str, notes: int) -> None:
    (kernel,) = facts_of(CALLS.replace("CALL", call)).kernels
    assert len(kernel.not_analysed) == notes
    assert [a.instructions for a in kernel.accesses] == [1]


ONE_LANE_EACH = """
.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0)
.reqntid 64
{
.reg .pred %p<9>;
.reg .b32 %r<19>;
.shared .align 4 .b8 tile[8192];
mov.u32 %r1, %tid.x;
mov.u32 %r9, tile;
BODY
ret;
}
"""


def wavefronts(body: str) -> list[float | None]:
    """Of the accesses of a kernel of two warps, an instruction."""
    (kernel,) = facts_of(ONE_LANE_EACH.replace("BODY", body)).kernels
    return [a.wavefronts.mean if a.wavefronts else None for a in kernel.accesses]


def test_a_shuffle_of_what_some_lanes_do_not_know() -> None:
    """Lane 31 loads what is shuffled up; the others hold a constant."""
    body = """
setp.ne.u32 %p1, %r1, 31;
mov.u32 %r2, 0;
@%p1 bra $L1;
ld.global.u32 %r2, [%r1];
$L1:
shfl.sync.up.b32 %r3, %r2, 1, 0, -1;
shl.b32 %r4, %r3, 2;
add.s32 %r5, %r4, %r9;
st.shared.u32 [%r5], %r1;
"""
    assert wavefronts(body) == [1.0]


def test_the_lanes_that_run_together() -> None:
    """Half of a warp counts 16 lanes, so that its rows of 16 words meet in two banks."""
    body = """
and.b32 %r2, %r1, 1;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra $L1;
activemask.b32 %r3;
popc.b32 %r4, %r3;
mul.lo.s32 %r5, %r4, %r1;
shl.b32 %r5, %r5, 2;
add.s32 %r5, %r5, %r9;
st.shared.u32 [%r5], %r1;
$L1:
"""
    assert wavefronts(body) == [16.0]


def test_what_a_function_returns_is_not_one_number_for_all() -> None:
    body = """
.param .b32 retval0;
call.uni (retval0), other, (%r1);
ld.param.b32 %r3, [retval0+0];
shl.b32 %r5, %r3, 2;
add.s32 %r5, %r5, %r9;
st.shared.u32 [%r5], %r1;
"""
    assert wavefronts(body) == [None]


@pytest.mark.parametrize(
    "body",
    [
        "add.u32 %r2, %r1;",  # one operand too few
        "mul.lo.s32 %r2, %r1, %r1, %r1;",
        "mov.u32 %r2, %r1, %r9;",
        "ld.shared.u32 %r2;",
        "shfl.sync.idx.b32 %r2, %r1;",
    ],
)
def test_operands_that_an_opcode_does_not_take(body: str) -> None:
    """Found by random changes of PTX: the kernel stays, and what the line writes is not known."""
    store = "\nshl.b32 %r5, %r1, 2;\nadd.s32 %r5, %r5, %r9;\nst.shared.u32 [%r5], %r1;\n"
    assert wavefronts(body + store) == [1.0]
