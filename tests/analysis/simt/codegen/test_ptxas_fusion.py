"""What ptxas fuses, from events built directly; widths as in the SASS of nvcc 13.0.88, sm_90."""

from __future__ import annotations

import pytest
from traces import access, lanes, shared

from smemlint.analysis.simt.codegen.ptxas_fusion import array_bases, fused
from smemlint.analysis.simt.domain.ctypes import DOUBLE, FLOAT
from smemlint.analysis.simt.domain.trace import Fence
from smemlint.facts import AccessKind

LOAD, STORE = AccessKind.LOAD, AccessKind.STORE


def widths(kind: AccessKind, starts: list[int], *, step: int = 64, between=None) -> list[int]:
    """Bytes of each instruction that accesses at these byte offsets become, in program order."""
    array = shared()
    items: list[object] = []
    for number, start in enumerate(starts):
        if between is not None and number:
            items.append(between)
        items.append(access(kind, array, lanes(step, start, step & -step), sequence=number))
    return [event.width for event in fused(items, {id(array): 0}) if event.issued]


@pytest.mark.parametrize(
    ("starts", "loads", "stores"),
    [
        ([0, 4, 8, 12], [16], [16]),
        ([0, 4, 8], [16], [8, 4]),
        ([0, 4], [8], [8]),
        ([8, 12], [8], [8]),
        ([4, 8], [4, 4], [4, 4]),  # of two halves
        ([0, 8], [4, 4], [4, 4]),
        ([0, 4, 8, 12, 16, 20, 24, 28], [16, 16], [16, 16]),
        ([0, 0], [4], [4, 4]),
    ],
)
def test_slots_of_sixteen_bytes(starts, loads, stores):
    assert widths(LOAD, starts) == loads
    assert widths(STORE, starts) == stores


@pytest.mark.parametrize(("step", "expected"), [(4, [4] * 4), (8, [8, 8]), (16, [16])])
def test_a_slot_is_as_wide_as_the_alignment_that_is_proved(step, expected):
    assert widths(LOAD, [0, 4, 8, 12], step=step) == expected


def test_nothing_fuses_across_a_fence():
    assert widths(LOAD, [0, 4], between=Fence("block")) == [4, 4]
    assert widths(STORE, [0, 4], between=Fence("barrier")) == [4, 4]


def test_a_fused_instruction_stands_at_its_first_load_and_its_last_store():
    array = shared()
    for kind, counted in ((LOAD, 0), (STORE, 3)):
        parts = [access(kind, array, lanes(64, 4 * n, 64), sequence=n) for n in range(4)]
        events = fused(parts, {id(array): 0})
        assert [event.issued for event in events] == [int(n == counted) for n in range(4)]
        (event,) = [event for event in events if event.issued]
        assert (event.offset.base[0], len(event.fused), event.spare) == (0, 4, 0)


def test_three_loads_of_a_slot_read_four_bytes_more():
    array = shared()
    parts = [access(LOAD, array, lanes(64, 4 * n, 64), sequence=n) for n in range(3)]
    (event,) = [event for event in fused(parts, {id(array): 0}) if event.issued]
    assert (event.width, event.spare) == (16, 4)


def test_volatile_accesses_are_left_alone():
    array = shared()
    parts = [access(LOAD, array, lanes(64, 4 * n, 64), sequence=n, volatile=True) for n in range(2)]
    assert [event.width for event in fused(parts, {id(array): 0})] == [4, 4]


def test_arrays_lie_in_order_at_their_alignment_those_of_one_element_last():
    one = shared("one", 1, FLOAT)
    bytes_ = shared("bytes", 3, FLOAT)
    wide = shared("wide", 4, DOUBLE, 8)
    found = array_bases([one, bytes_, wide])
    assert [found[id(obj)] for obj in (bytes_, wide, one)] == [0, 16, 48]
