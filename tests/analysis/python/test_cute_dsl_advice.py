"""Layouts that free tensors of the CuTe DSL: what is advised heals the kernel it is written into."""

import re

import pytest
from test_cute_dsl_kernels import LOAD, MMA, facts_of, ways

from smemlint.lint.thread_values import thread_values

TRANSPOSE = """
@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    smem = utils.SmemAllocator()
    other = smem.allocate_tensor(cutlass.Float32, cute.make_layout(8), 16)
    layout = cute.make_layout((N, N), stride=(N, 1))
    tile = smem.allocate_tensor(ELEMENT, LAYOUT, 128)
    other[tx % 8] = 0.0
    for i in cutlass.range_constexpr(N // 8):
        tile[ty + 8 * i, tx] = a[ty + 8 * i, tx]
    cute.arch.sync_threads()
    MORE
    for i in cutlass.range_constexpr(N // 8):
        b[ty + 8 * i, tx] = tile[tx, ty + 8 * i]


@cute.jit
def launch(a: cute.Tensor, b: cute.Tensor):
    kernel(a, b).launch(grid=[1, 1, 1], block=[32, 8, 1])


if __name__ == "__main__":
    x = torch.empty((N, N), dtype=torch.float32, device="cuda")
    cute.compile(launch, from_dlpack(x), from_dlpack(x))
"""


def transpose(n, layout="layout", element="cutlass.Float32", more="pass"):
    text = TRANSPOSE.replace("LAYOUT", layout).replace("ELEMENT", element).replace("MORE", more)
    return re.sub(r"\bN\b", str(n), text)


def advice_of(text, tmp_path):
    """What the accesses that conflict are advised, and why others are not."""
    accesses = [a for k in facts_of(text, tmp_path).kernels for a in k.accesses]
    assert all(not (a.advice or a.unadvised) for a in accesses if a.ways <= 1)
    found = {(a.advice, a.unadvised) for a in accesses if a.ways > 1}
    (advice,) = found
    return advice


def worst(text, tmp_path):
    return max(w for _, _, w in ways(facts_of(text, tmp_path)))


@pytest.mark.parametrize(
    ("n", "layout", "element", "before"),
    [
        (32, "layout", "cutlass.Float32", 32),
        (64, "layout", "cutlass.Float32", 32),
        (32, "layout", "cutlass.Float16", 16),
        (32, "cute.make_composed_layout(cute.make_swizzle(3, 0, 5), 0, layout)", "cutlass.Float32", 4),
    ],
)  # fmt: skip
def test_the_swizzle_that_is_advised_frees_the_tile(n, layout, element, before, tmp_path):
    text = transpose(n, layout, element)
    assert worst(text, tmp_path) == before
    advice, why = advice_of(text, tmp_path)
    assert not why
    (swizzle,) = re.findall(r"cute\.make_swizzle\(\d+, \d+, \d+\)", advice)
    healed = transpose(n, f"cute.make_composed_layout({swizzle}, 0, layout)", element)
    assert worst(healed, tmp_path) == 1


BYTES = """
@cute.kernel
def kernel(n: cutlass.Int32):
    tx, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((32, 4096), stride=(PITCH, 1))
    tile = utils.SmemAllocator().allocate_tensor(cutlass.Uint8, layout, 128)
    x = tile[tx, 5]


@cute.jit
def launch(n: cutlass.Int32):
    kernel(n).launch(grid=[1, 1, 1], block=[32, 1, 1])


if __name__ == "__main__":
    cute.compile(launch, 1)
"""


def test_rows_that_are_too_long_for_a_swizzle_get_another_stride(tmp_path):
    text = BYTES.replace("PITCH", "4096")
    assert worst(text, tmp_path) == 32
    advice, _ = advice_of(text, tmp_path)
    padded, pitch = map(int, re.findall(r"\d+", advice)[:2])
    assert pitch == 4096
    assert worst(BYTES.replace("PITCH", str(padded)), tmp_path) == 1


VECTORS = """
    for i in cutlass.range_constexpr(1):
        r = cute.make_rmem_tensor((1, 4), cutlass.Float32)
        cute.autovec_copy(r, cute.local_tile(tile, (1, 4), (tx, ty)))
"""


def test_a_layout_that_would_split_vectors_is_not_advised(tmp_path):
    """Columns of words need other banks a word, vectors of four words keep four together."""
    advice, why = advice_of(transpose(32, more=VECTORS.strip()), tmp_path)
    assert not advice
    assert why


@pytest.mark.parametrize(
    "more",
    [
        "cute.make_tensor(tile.iterator + 4, cute.make_layout(32))[tx] = 0.0",
        "elsewhere(tile)",
        "elsewhere(cute.flat_divide(tile, (5, 3, 2, 7)))",  # which CuTe refuses
        "cute.autovec_copy(elsewhere(), cute.flat_divide(other, (5, 3, 2, 7)))",
    ],
)
def test_no_layout_where_something_else_may_touch_the_tile(more, tmp_path):
    advice, why = advice_of(transpose(32, more=more), tmp_path)
    assert not advice
    assert why


MATRICES = """
class Tile:
    @cute.jit
    def __call__(self, a: cute.Tensor):
        MMA
        layout = cute.make_layout((64, COLUMNS), stride=(COLUMNS, 1))
        ATOM
        self.kernel(a, atom, layout, mma).launch(grid=[1, 1, 1], block=[mma.size, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, atom: cute.CopyAtom, layout: cute.Layout, mma: cute.TiledMma):
        tx, _, _ = cute.arch.thread_idx()
        s = cutlass.utils.SmemAllocator().allocate_tensor(a.element_type, layout, 1024 SWIZZLE)
        FILL
        LOAD


if __name__ == "__main__":
    x = torch.empty((64, COLUMNS), dtype=torch.float16, device="cuda")
    cute.compile(Tile(), from_dlpack(x, assumed_align=16))
""".replace("MMA", MMA).replace("LOAD", LOAD)
BY_TMA = {
    "ATOM": "atom, _ = cute.nvgpu.cpasync.make_tiled_tma_atom("
    "cpasync.CopyBulkTensorTileG2SOp(), a, layout, (64, COLUMNS))",
    "FILL": "box, tile = cpasync.tma_partition(atom, 0, cute.make_layout(1), "
    "cute.group_modes(s, 0, 2), cute.group_modes(a, 0, 2)); cute.copy(atom, tile, box)",
}
BY_LANES = {"ATOM": "atom = None", "FILL": "pass"}


def matrices(columns, fill, swizzle=""):
    text = MATRICES.replace("SWIZZLE", f", {swizzle}" if swizzle else "")
    for name, words in fill.items():
        text = text.replace(name, words)
    return text.replace("COLUMNS", str(columns))


@pytest.mark.parametrize(
    ("columns", "fill", "swizzle", "before", "advised"),
    [
        (128, BY_LANES, "cute.make_swizzle(3, 4, 3)", 2, "3, 4, 4"),
        (64, BY_LANES, "", 8, "3, 3, 3"),
        (64, BY_TMA, "", 8, "3, 3, 3"),  # as SW128 for rows of 128 bytes
        (32, BY_TMA, "", 4, "2, 3, 3"),  # as SW64
        (128, BY_LANES, "", 8, "3, 3, 4"),
        (128, BY_TMA, "", 8, ""),  # no box of TMA is 256 bytes wide under a swizzle
        (64, BY_LANES, "cute.make_swizzle(3, 5, 3)", 2, "3, 4, 3"),  # a pointer's is of bytes
        (64, BY_TMA, "cute.make_swizzle(2, 4, 3)", 2, "3, 4, 3"),
    ],
)
def test_the_swizzle_stays_one_of_tma_where_tma_fills(
    columns, fill, swizzle, before, advised, tmp_path
):
    text = matrices(columns, fill, swizzle)
    assert worst(text, tmp_path) == before
    advice, why = advice_of(text, tmp_path)
    assert re.findall(r"make_swizzle\((.*?)\)", advice) == ([advised] if advised else [])
    assert bool(advice) != bool(why)
    if swizzle:
        healed = matrices(columns, fill, f"cute.make_swizzle({advised})")
        assert worst(healed, tmp_path) == 1


def test_the_picture_of_a_column(tmp_path):
    (read,) = (
        a for k in facts_of(transpose(32), tmp_path).kernels for a in k.accesses if a.ways > 1
    )
    picture = thread_values(read, read.worst)
    assert picture is not None
    assert picture.rows == list(range(32))
    assert list(picture.columns) == [0]
    assert {picture.banks[row, 0] for row in picture.rows} == {0}


def test_a_copy_whose_other_tensor_is_not_known_leaves_the_layout_alone(tmp_path):
    more = "cute.autovec_copy(unknown(a), tile)"
    advice, why = advice_of(transpose(32, more=more), tmp_path)
    assert not advice
    assert why
