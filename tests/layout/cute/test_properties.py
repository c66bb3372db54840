"""What the layout algebra promises, by brute force over random layouts."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

import random_cases

from smemlint.layout import cute
from smemlint.layout.cute import CuteError, DynamicInt, Layout, Space, Tensor
from smemlint.layout.swizzle import Swizzle

_ = cute.UNDERSCORE
seeds = st.integers(0, 1 << 32)


def values(layout: cute.AnyLayout) -> list[int]:
    indices = np.arange(cute.static(layout.size))
    return np.broadcast_to(layout(indices), indices.shape).tolist()


@given(seeds)
@settings(max_examples=300)
def test_coalescing_keeps_the_function(seed: int) -> None:
    layout = random_cases.Draw(seed).layout()
    assert values(cute.coalesce(layout)) == values(layout)


@given(seeds)
@settings(max_examples=300)
def test_composition_is_composition(seed: int) -> None:
    draw = random_cases.Draw(seed)
    outer, inner = draw.powers(), draw.powers(32)
    try:
        both = cute.composition(outer, inner)
    except CuteError:
        return
    assert both.size == inner.size
    inside = [i for i in values(inner) if i < cute.static(outer.size)]
    if len(inside) == inner.size:
        assert values(both) == [outer(i) for i in inside]


@given(seeds)
@settings(max_examples=300)
def test_inverses_and_complement(seed: int) -> None:
    layout = random_cases.Draw(seed).layout(is_injective=True)
    right, left = cute.right_inverse(layout), cute.left_inverse(layout)
    assert [layout(i) for i in values(right)] == list(range(cute.static(right.size)))
    assert [left(i) for i in values(layout)] == list(range(cute.static(layout.size)))
    cosize = cute.static(layout.cosize)
    rest = cute.complement(layout, cosize)
    sums = [a + b for a, b in itertools.product(values(layout), values(rest))]
    assert len(set(sums)) == len(sums)
    assert set(range(cosize)) <= set(sums)


@given(seeds)
@settings(max_examples=200)
def test_division_and_product_keep_every_element(seed: int) -> None:
    draw = random_cases.Draw(seed)
    layout, tiler = draw.powers(), draw.powers(32)
    product = cute.raked_product(layout, tiler)
    assert sorted(values(product)) == list(range(cute.static(product.size)))
    assert sorted(values(cute.blocked_product(layout, tiler))) == sorted(values(product))
    if cute.static(layout.size) % cute.static(tiler.cosize) == 0:
        divided = cute.logical_divide(layout, tiler)
        assert sorted(values(divided)) == sorted(values(layout))


@given(seeds, st.integers(0, 3), st.integers(0, 4), st.integers(0, 4), st.booleans())
@settings(max_examples=300)
def test_a_slice_has_the_addresses_of_the_whole(
    seed: int, bits: int, base: int, gap: int, is_negative: bool
) -> None:
    """With static and with dynamic coordinates, whether the swizzle decays or not."""
    draw = random_cases.Draw(seed)
    shape = tuple(2 ** draw.random.randint(0, 3) for _ in range(4))
    order = tuple(draw.random.sample(range(4), 4))
    shift = (bits + gap) * (-1 if is_negative else 1)
    swizzle = Swizzle(bits, base, shift)
    layout = cute.compose_swizzle(swizzle, cute.make_ordered_layout(shape, order))
    tensor = Tensor(Space.SHARED, 16, layout)
    expected = np.array(
        [tensor.address_of(*c) for c in itertools.product(*map(range, shape))]
    ).reshape(shape)
    kept = [draw.random.random() < 0.5 for _ in shape]
    if not any(kept):
        return
    threads = np.array(list(itertools.product(*map(range, shape))))
    coordinate: list[object] = []
    for mode, keep in enumerate(kept):
        dynamic = DynamicInt(threads[:, mode])
        fixed = shape[mode] - 1
        coordinate.append(_ if keep else dynamic if draw.random.random() < 0.6 else fixed)
    part = tensor.slice(*coordinate)  # type: ignore[arg-type]
    at = [
        threads[:, m]
        if isinstance(c, DynamicInt)
        else np.full(len(threads), c if c is not _ else 0)
        for m, c in enumerate(coordinate)
    ]
    for inside in itertools.product(
        *(range(e) for e, keep in zip(shape, kept, strict=True) if keep)
    ):
        found = part.address_of(*inside)
        remaining = iter(inside)
        index = tuple(
            np.full(len(threads), next(remaining)) if keep else a
            for keep, a in zip(kept, at, strict=True)
        )
        lanes = found.value if isinstance(found, DynamicInt) else found
        assert np.array_equal(np.broadcast_to(lanes, len(threads)), expected[index])


def test_static_and_dynamic_numbers() -> None:
    dynamic = DynamicInt(np.arange(4))
    zeros = (dynamic * 0, 0 * dynamic, 0 // dynamic, 0 % dynamic, dynamic % 1)
    assert all(type(zero) is int and zero == 0 for zero in zeros)
    assert isinstance(1 * dynamic, DynamicInt)
    assert (dynamic + 3).value.tolist() == [3, 4, 5, 6]
    assert (7 - dynamic).value.tolist() == [7, 6, 5, 4]
    assert DynamicInt() + 1 is not None and (DynamicInt() + 1).value is None
    assert DynamicInt(5) // 0 is not None and (DynamicInt(5) // 0).value is None


def test_corner_cases_of_the_reference() -> None:
    """facts/cute_partition.md, sections 1 and 2, by number."""
    assert Layout((1, 8)).stride == (0, 1)  # 1.5
    assert Layout((4, 2))(9) == 9  # 1.3: beyond the size the last mode goes on
    layout = Layout(((2, 3), 4))
    assert cute.slice_layout(layout, ((_, _), 1))[0] == Layout((2, 3), (1, 2))  # 1.8: lifted
    assert cute.coalesce(Layout((1, 1))) == Layout(1, 0)  # 2.1
    assert cute.composition(Layout((4, 1), (1, 0)), Layout(8)) == Layout((4, 2), (1, 0))  # 2.2
    assert cute.composition(Layout((4, 4, 2)), (2, 2)) == Layout((2, 2), (1, 4))  # 2.3: dropped
    assert cute.logical_divide(Layout((4, 4, 2)), (2, 2)).rank == 3  # 2.6: kept
    assert cute.upcast(Layout((8, 4), (0, 8)), 4) == Layout((8, 4), (0, 2))  # 2.8
    with pytest.raises(CuteError):
        cute.upcast(Layout((8, 4), (1, 6)), 4)
    dynamic = DynamicInt(8)
    merged = cute.coalesce(Layout((8, 4), (1, dynamic)))
    assert merged.rank == 2  # dynamic strides never merge
    assert cute.max_alignment(Layout((8, 4), (1, dynamic))) == 8  # 2.10: divisible by anything
    assert cute.max_common_vector(Layout((4, 8), (1, 6)), Layout(32)) == 4
    assert cute.nullspace(Layout((4, 3, 2), (1, 0, 4))) == Layout(3, 4)  # 2.11
    assert cute.make_fragment_like(Layout(((2, 4), 3, 5), ((1, 0), 70, 7))) == Layout(
        ((2, 4), 3, 5), ((1, 0), 10, 2)
    )  # 2.12


def test_swizzles_limit_common_vectors() -> None:
    plain = Layout((8, 8), (8, 1))
    two, three = (cute.compose_swizzle(Swizzle(2, m, 3), plain) for m in (2, 3))
    flat = Layout(64)
    row = cute.composition(plain, Layout((8, 8), (8, 1)))
    assert cute.max_common_vector(two, row) == 1
    by_row = cute.compose_swizzle(Swizzle(2, 2, 3), flat)
    assert cute.max_common_vector(by_row, flat) == cute.max_common_vector(flat, by_row) == 4
    assert cute.max_common_vector(by_row, by_row) == 64
    other = cute.compose_swizzle(Swizzle(2, 1, 3), flat)
    assert cute.max_common_vector(by_row, other) == 2
    assert isinstance(three, cute.ComposedLayout)


def test_the_atoms_of_wgmma_are_those_of_the_headers() -> None:
    bits = {"INTER": (0, 16), "SW32": (1, 32), "SW64": (2, 64), "SW128": (3, 128)}
    for mode, (b, span) in bits.items():
        for size in (1, 2, 4):
            k, mn = (cute.smem_atom(f"Layout_{m}_{mode}_Atom", 8 * size) for m in ("K", "MN"))
            assert k is not None and mn is not None
            assert k.swizzle == mn.swizzle == Swizzle(b, 4, 3)
            assert str(k.layout) == f"(8,{span // size}):({span // size},1)"
            assert str(mn.layout) == f"({span // size},8):(1,{span // size})"
    wide = cute.smem_atom("Layout_MN_SW128_32B_Atom", 32)
    assert wide is not None
    assert (wide.swizzle, str(wide.layout)) == (Swizzle(2, 5, 2), "(32,4):(1,32)")
    assert cute.smem_atom("Layout_K_SW256_Atom", 16) is None
    assert cute.select_smem_atom("K", 16, 128, 96) == "Layout_K_SW64_Atom"


def test_numbers_that_no_lane_can_hold_are_unknown():
    lanes = DynamicInt(np.arange(2))
    assert (7 // lanes).value is None
    assert (lanes + (1 << 70)).value is None
    assert list((lanes + 1).value) == [1, 2]
