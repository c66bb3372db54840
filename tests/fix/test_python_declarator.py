"""Arrays that Python declares: the shape that is written, evaluated, applied, found clean."""

from __future__ import annotations

import pytest

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.fix.apply import edited
from smemlint.sources.source import Source

KERNEL = """\
from numba import cuda, float32

TPB = 32


@cuda.jit
def k(a, out):
    tile = {declaration}
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tile[ty, tx] = a[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = {read}


k[(16, 16), (32, 32)](a, c)
"""


def kernel(declaration: str, read: str = "tile[tx, ty]") -> str:
    return KERNEL.format(declaration=declaration, read=read)


def found_in(text: str):
    return [f for f in check([Source("k.py", text)], Settings()).findings if f.code == "SML101"]


SHAPES = {
    "cuda.shared.array((TPB, TPB), float32)": "cuda.shared.array((TPB, 33), float32)",  # TPB + 1 is refused
    "cuda.shared.array(shape=(32, 32), dtype=float32)":
        "cuda.shared.array(shape=(32, 33), dtype=float32)",
    "cuda.shared.array([TPB, 16 + 16], float32)": "cuda.shared.array([TPB, 16 + 17], float32)",
    "cuda.shared.array((TPB, 16 | 16 * 2 - 16 | 32), float32)": None,  # 48 columns: 16-way
    "cuda.shared.array((TPB, 32 | 0), float32)": "cuda.shared.array((TPB, (32 | 0) + 1), float32)",
    "cuda.shared.array((TPB, 2 * 16), float32)": "cuda.shared.array((TPB, 2 * 16 + 1), float32)",
}  # fmt: skip


@pytest.mark.parametrize("declaration", SHAPES)
def test_a_shape_grows_by_the_padding_and_is_clean_then(declaration):
    expected = SHAPES[declaration]
    text = kernel(declaration)
    (found,) = found_in(text)
    assert found.fix is not None
    changed = edited(text.encode(), found.fix.edits).decode()
    if expected is not None:
        assert changed == kernel(expected)
        assert f"`{expected}`" in found.fix.title
    assert found_in(changed) == []
    assert not found.fix.is_safe


def test_all_patterns_are_priced_by_evaluation_where_not_all_are_kept():
    """1,024 patterns of the read are more than facts keep."""
    text = (
        kernel("cuda.shared.array((TPB, TPB), float32)")
        .replace(
            "    out[ty, tx] = tile[tx, ty]",
            "    sum = 0.0\n    for j in range(TPB):\n        sum += tile[j, ty]\n    out[ty, tx] = sum",
        )
        .replace("tile[ty, tx] = a", "tile[tx, ty] = a")
    )
    (found,) = found_in(text)
    assert found.access is not None and found.access.ways == 32
    assert found.fix is not None and found.fix.edits[0].text == "33"


@pytest.mark.parametrize(
    ("declaration", "read"),
    [
        ("cuda.shared.array(SHAPE, float32)", "tile[tx, ty]"),
        ("cuda.shared.array((TPB, TPB), float32)", "tile[tx][ty]"),
        ("cuda.shared.array((TPB, TPB), float32)", "helper(tile, tx, ty)"),
    ],
)
def test_no_edit_where_the_shape_is_elsewhere_or_the_array_goes_elsewhere(declaration, read):
    text = kernel(declaration, read).replace("TPB = 32\n", "TPB = 32\nSHAPE = (32, 32)\n")
    assert all(f.fix is None for f in found_in(text))
