"""Blocks of iterations that are moved copies of one another, from values built directly."""

from __future__ import annotations

import numpy as np
import pytest
from traces import access, lanes, shared

from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.ctypes import FLOAT, I32
from smemlint.analysis.simt.domain.trace import Fence
from smemlint.analysis.simt.domain.values import AffineInt, Pointer, Symbol, Unknown
from smemlint.analysis.simt.loops.translation import at_block, moved, put_in, repeats, step_between
from smemlint.facts import AccessKind
from smemlint.frontend import ir
from smemlint.reasons import Reason, ReasonCode

BLOCK = Symbol("block", "block")
N = Symbol("n", "n")
NODE = ir.ID("s")


def test_a_step_is_what_begin_and_end_differ_by():
    domain, array = AffineDomain(), shared()
    n = AffineInt(3, I32, ((N, 2),))
    assert step_between(AffineInt(5), AffineInt(9), domain) == 4
    assert step_between(n, domain.add(n, AffineInt(-7)), domain) == -7
    assert step_between(AffineInt(0), n, domain) is None
    begin, end = (Pointer(array, lanes(4, start), FLOAT) for start in (0, 256))
    assert step_between(begin, end, domain) == 256
    assert step_between(begin, Pointer(shared("t"), lanes(4), FLOAT), domain) is None


@pytest.mark.parametrize("number", [-1, 0, 3])
def test_a_number_in_place_of_the_block_is_a_move_by_steps(number):
    at = put_in(moved(lanes(8, 4), BLOCK, 64), BLOCK, number)
    assert at.terms == ()
    assert at.base.tolist() == [8 * lane + 4 + 64 * number for lane in range(32)]
    pointer = put_in(moved(Pointer(shared(), lanes(8), FLOAT), BLOCK, 64), BLOCK, number)
    assert pointer.offset.base[1] == 8 + 64 * number


def block(step: int, *, number: Symbol | None = None, start: int = 0) -> list:
    offset = lanes(4, start)
    if number is not None:
        offset = moved(lanes(4, start + step), number, step)
    return [access(AccessKind.LOAD, ARRAY, offset, node=NODE), Fence("block")]


ARRAY = shared()


@pytest.mark.parametrize(
    ("step", "general", "is_copy"),
    [(128, 128, True), (4, 4, True), (2, 2, False), (128, 256, False)],
)
def test_the_second_block_repeats_the_first_where_it_moves_by_whole_words(step, general, is_copy):
    first = block(step)
    second = [access(AccessKind.LOAD, ARRAY, moved(lanes(4, step), BLOCK, general), node=NODE)]
    assert repeats(first, second, BLOCK) is is_copy


def test_blocks_with_other_instructions_do_not_repeat():
    general = block(128, number=BLOCK)
    assert repeats(block(128), general, BLOCK)
    assert not repeats(block(128)[1:], general, BLOCK)
    other = [access(AccessKind.STORE, ARRAY, lanes(4), node=NODE)]
    assert not repeats(other, general, BLOCK)
    half = [access(AccessKind.LOAD, ARRAY, lanes(4), node=NODE, mask=np.arange(32) < 16)]
    assert not repeats(half, general, BLOCK)
    unknown = Unknown(Reason(ReasonCode.DATA, "x"))
    lost = [access(AccessKind.LOAD, ARRAY, unknown, node=NODE)]
    assert not repeats(lost, general, BLOCK)
    assert repeats(lost, lost, BLOCK)


def test_a_block_is_issued_as_often_as_it_stands_for():
    event, fence = at_block(block(128), block(128, number=BLOCK), BLOCK, 2, 7)
    assert (event.issued, event.offset.base[0], fence) == (7, 3 * 128, Fence("block"))
