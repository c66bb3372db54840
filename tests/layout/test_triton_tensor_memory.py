"""Registers of tensor memory as triton 3.9.0 gives them (`compute_tmem_reg_layout`)."""

from __future__ import annotations

import pytest

from smemlint.layout.tensor_memory import registers_of_block


def doubled(last: int, row: bool = False) -> tuple[tuple[int, int], ...]:
    """The bases of 1, 2, 4, .. up to a number, along rows or columns."""
    steps = [1 << i for i in range(last.bit_length())]
    return tuple((n, 0) if row else (0, n) for n in steps)


ROWS = doubled(16, row=True)
UPPER = doubled(8, row=True)
WHOLE = ((32, 0), (64, 0))
HALF = ((16, 0), (32, 0))


@pytest.mark.parametrize(
    ("block", "shape", "warps", "registers", "lanes", "others"),
    [
        ((128, 128), (128, 128), 4, doubled(64), ROWS, WHOLE),
        ((128, 64), (128, 256), 8, doubled(64), ROWS, (*WHOLE, (0, 128))),
        ((128, 8), (128, 16), 8, doubled(4), ROWS, (*WHOLE, (0, 8))),
        ((128, 32), (256, 64), 4, (*doubled(16), (128, 0), (0, 32)), ROWS, WHOLE),
        ((128, 64), (256, 64), 8, doubled(32), ROWS, (*WHOLE, (128, 0))),
        ((64, 64), (64, 64), 8, doubled(8), (*UPPER, (0, 16)), (*HALF, (0, 32))),
        ((64, 32), (64, 128), 4, (*doubled(16), (0, 64)), (*UPPER, (0, 32)), HALF),
        ((64, 32), (256, 64), 8, (*doubled(16), (128, 0)), (*UPPER, (64, 0)), (*HALF, (0, 32))),
        ((128, 128), (128, 32), 4, doubled(16), ROWS, WHOLE),
    ],
)
def test_registers_are_those_of_triton(block, shape, warps, registers, lanes, others):
    found = registers_of_block(block, shape, warps)
    assert found is not None
    assert (found.registers, found.lanes, found.warps, found.shape) == (
        registers, lanes, others, shape
    )  # fmt: skip


@pytest.mark.parametrize(
    ("block", "shape", "warps", "registers", "lanes", "others"),
    [
        ((128, 128), (128, 128), 4, doubled(64), ROWS, WHOLE),
        ((128, 128), (128, 128), 8, (*doubled(16), (0, 64)), ROWS, (*WHOLE, (0, 32))),
        ((64, 64), (64, 64), 4, (*doubled(8), (0, 32)), (*UPPER, (0, 16)), HALF),
    ],
)
def test_both_halves_of_the_columns_are_one_threads(block, shape, warps, registers, lanes, others):
    found = registers_of_block(block, shape, warps, halves=True)
    assert found is not None
    assert (found.registers, found.lanes, found.warps) == (registers, lanes, others)


@pytest.mark.parametrize(
    ("block", "shape", "warps", "halves"),
    [
        ((128, 64), (256, 64), 4, True),
        ((128, 128), (256, 32), 4, False),
        ((128, 64), (64, 64), 4, False),
        ((128, 64), (128, 96), 4, False),
        ((128, 64), (128, 64), 2, False),
        ((128, 1), (128, 1), 8, False),
    ],
)
def test_what_triton_refuses_or_pads_has_none(block, shape, warps, halves):
    assert registers_of_block(block, shape, warps, halves=halves) is None
