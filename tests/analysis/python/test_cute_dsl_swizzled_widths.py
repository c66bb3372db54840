"""Which neighbours of a swizzled tensor's elements the compiler makes vectors of.

Expected values are SASS of nvidia-cutlass-dsl 4.8.1 for sm_90a: instructions of each warp by bytes
a lane, stores and loads alike unless both are given.
"""

from collections import Counter

import pytest
from test_cute_dsl_kernels import facts_of

from smemlint.facts import AccessKind

KERNEL = """
@cute.kernel
def kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    swizzle = cute.make_swizzle(SWIZZLE)
    rows = cute.make_layout((64, 64), stride=(PITCH, 1))
    s = smem.allocate_tensor(
        cutlass.TYPE, cute.make_composed_layout(swizzle, 0, rows), 128
    )
    r, c = PLACE
    for i in cutlass.range_constexpr(COUNT):
        s[r, c + i] = x[t * 32 + i]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(COUNT):
        x[t * 32 + i] = s[r, c + i]

@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=[1, 1, 1], block=[128, 1, 1])

def compiled(x):
    cute.compile(host, x)
"""


def widths(swizzle, type_, place, count, pitch, tmp_path):
    """Stores and loads of a warp by the bytes of a lane."""
    named = {"SWIZZLE": swizzle, "TYPE": type_, "PLACE": place, "COUNT": count, "PITCH": pitch}
    text = KERNEL
    for name, value in named.items():
        text = text.replace(name, str(value))
    found = {AccessKind.STORE: Counter(), AccessKind.LOAD: Counter()}
    for access in (a for k in facts_of(text, tmp_path).kernels for a in k.accesses):
        for pattern in access.patterns:
            found[access.kind][pattern.width] += pattern.count / 4
    return found[AccessKind.STORE], found[AccessKind.LOAD]


@pytest.mark.parametrize(
    ("swizzle", "place", "count", "pitch", "expected"),
    [
        ("2, 2, 4", "t, 0", 16, 32, {16: 1, 4: 12}),
        ("1, 2, 3", "t, 0", 16, 32, {16: 2, 4: 8}),
        ("2, 3, 3", "t, 0", 16, 32, {16: 2, 4: 8}),
        ("2, 1, 4", "t, 0", 16, 32, {8: 2, 4: 12}),
        ("3, 1, 4", "t, 0", 16, 32, {8: 1, 4: 14}),
        ("2, 1, 4", "t, 0", 16, 64, {16: 2, 4: 8}),
        ("2, 0, 5", "t, 0", 16, 32, {4: 16}),
        ("3, 4, 3", "t, 0", 16, 32, {4: 16}),
        ("3, 2, 3", "t % 32, 0", 8, 64, {16: 2}),
        ("3, 2, 3", "t // 8, t % 8 * 4", 4, 32, {4: 4}),
        ("3, 2, 3", "t + 1, 0", 8, 32, {4: 8}),
        ("2, 2, 3", "t, 0", 8, 36, {4: 8}),
        ("1, 2, 6", "t, 8", 8, 64, {16: 1, 4: 4}),
        ("2, 2, 4", "t % 16, 16 * (t // 64)", 8, 64, {16: 1, 4: 4}),
        ("2, 2, 4", "t, 2", 8, 32, {8: 1, 4: 6}),
    ],
)
def test_floats_below_the_bits_that_change(swizzle, place, count, pitch, expected, tmp_path):
    """What lies in one chunk that the exclusive-or moves as a whole, at the row's beginning."""
    assert widths(swizzle, "Float32", place, count, pitch, tmp_path) == (expected, expected)


def test_three_of_four_loads_are_one(tmp_path):
    """Of columns 1 to 8, three are loaded with the word in front, and stored as a word and two."""
    found = widths("2, 2, 4", "Float32", "t, 1", 8, 32, tmp_path)
    assert found == ({8: 1, 4: 6}, {16: 1, 4: 5})


@pytest.mark.parametrize(
    ("swizzle", "place", "count", "pitch", "expected"),
    [
        ("3, 3, 3", "t % 32, 0", 16, 64, {8: 2, 2: 8}),
        ("3, 3, 4", "t, 0", 8, 128, {8: 2}),
        ("2, 3, 4", "t, 4", 8, 64, {8: 1, 2: 4}),
        ("3, 3, 3", "t % 32, 8", 8, 64, {2: 8}),
    ],
)
def test_halves_are_fused_by_ptxas_alone(swizzle, place, count, pitch, expected, tmp_path):
    """Four at most, where a row without a swizzle is stored in vectors of eight."""
    assert widths(swizzle, "Float16", place, count, pitch, tmp_path)[0] == expected
