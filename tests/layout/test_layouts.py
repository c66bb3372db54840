"""CuTe layouts, F2 maps and Triton's layouts: worked values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from smemlint.layout.cute import ComposedLayout, Layout, coalesce, compact_strides, complement
from smemlint.layout.linear import LinearMap
from smemlint.layout.swizzle import Swizzle
from smemlint.layout.triton import NVMMAShared, SwizzledShared


def test_coordinates_nested_numbered_and_vectorized() -> None:
    one = Layout((4, (2, 3)), (2, (1, 8)))
    assert one(3, (1, 2)) == 6 + 1 + 16
    assert one(3, 5) == one(3, (1, 2)) == one(23) == 23
    assert one(np.arange(24)).tolist() == one.offsets().tolist() == [one(i) for i in range(24)]
    rows, columns = np.arange(8)[:, None], np.arange(32)[None, :]
    row_major = Layout((8, 32), compact_strides((8, 32), is_right=True))
    assert row_major(rows, columns).tolist() == np.arange(256).reshape(8, 32).tolist()


def test_cosize_ignores_the_swizzle() -> None:
    tile = ComposedLayout(Swizzle(3, 0, 3), Layout((5, 9), (9, 1)))
    assert tile.cosize == 45
    assert ComposedLayout(Swizzle(3, 0, -3), Layout(8, 1)).cosize == 8


def test_coalesce_and_complement() -> None:
    assert coalesce(Layout((2, (1, 6)), (1, (6, 2)))) == Layout(12, 1)
    assert str(complement(Layout((2, 2), (1, 6)), 24)) == "(3,2):(2,12)"
    with pytest.raises(ValueError, match="two coordinates to one offset"):
        complement(Layout((4, 4), (1, 2)), 24)


@pytest.mark.parametrize(("shape", "stride"), [((2, 3), 1), ((2, 0), (1, 2))])
def test_a_layout_is_checked(shape: object, stride: object) -> None:
    with pytest.raises(ValueError):
        Layout(shape, stride)  # type: ignore[arg-type]


def test_rank_and_kernel_by_brute_force() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        one = LinearMap(tuple(int(c) for c in rng.integers(0, 32, 5)))
        images = {one(x) for x in range(32)}
        zeros = {x for x in range(32) if one(x) == 0}
        span = {0}
        for vector in one.kernel():
            span |= {x ^ vector for x in span}
        assert span == zeros
        assert len(images) == 1 << one.rank
    swizzle = Swizzle(3, 4, 3)
    assert LinearMap.of_values([swizzle(x) for x in range(1 << 10)]) == LinearMap(
        tuple(swizzle(1 << i) for i in range(10))
    )
    assert LinearMap.of_values(range(1, 9)) is None


def test_triton_swizzles_are_cute_swizzles() -> None:
    compared = 0
    for rows, columns in ((16, 16), (32, 32), (64, 64), (128, 64), (64, 128), (8, 8), (32, 8)):
        grid = np.arange(rows)[:, None], np.arange(columns)[None, :]
        plain = np.arange(rows * columns).reshape(rows, columns)
        for vec, per_phase, phases in itertools.product(
            (1, 2, 4, 8, 16), (1, 2, 4, 8), (1, 2, 4, 8, 16, 32)
        ):
            if vec > columns:
                continue
            one = SwizzledShared(vec, per_phase, phases)
            theirs = one.offset(grid, (rows, columns))
            try:
                swizzle = one.as_swizzle(columns)
            except ValueError:
                continue
            # Triton lets phases wrap in a row; CuTe's swizzle exchanges the bits there are.
            assert theirs.tolist() == swizzle(plain).tolist(), (rows, columns, one)
            if vec * phases <= columns and phases > 1:
                assert SwizzledShared.from_swizzle(swizzle, columns) == one
            compared += 1
    assert compared >= 700


def test_hopper_layouts_swizzle_bytes_in_tiles() -> None:
    rows, columns = 64, 128
    grid = np.arange(rows)[:, None], np.arange(columns)[None, :]
    for mode, bits in itertools.product((0, 32, 64, 128), (8, 16, 32)):
        offsets = NVMMAShared(mode, bits).offset(grid, (rows, columns))
        assert sorted(offsets.ravel().tolist()) == list(range(rows * columns))
        flipped = NVMMAShared(mode, bits, True).offset(
            (np.arange(columns)[:, None], np.arange(rows)[None, :]), (columns, rows)
        )
        assert flipped.T.tolist() == offsets.tolist()
    assert int(NVMMAShared(128, 16).offset((1, 8), (64, 128))) == 64
    assert int(NVMMAShared(128, 16).offset((1, 64), (64, 128))) == 64 * 64 + 64 + 8
