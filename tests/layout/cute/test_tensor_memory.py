"""tcgen05 epilogues against nvidia-cutlass-dsl (fixtures/cute/tensor_memory.json)."""

import json
from pathlib import Path

import pytest
from printed_layouts import offsets, printed

from smemlint.layout import cute

RECORDED = json.loads(
    (Path(__file__).parents[3] / "fixtures" / "cute" / "tensor_memory.json").read_text()
)
_U = cute.UNDERSCORE


def name_of(case):
    return "-".join(str(case[k]) for k in ("ctas", "m", "n", "acc", "d", "major"))


@pytest.mark.parametrize("case", RECORDED["epilogues"], ids=name_of)
def test_an_epilogue_is_that_of_the_dsl(case):
    ctas, m, n = case["ctas"], case["m"], case["n"]
    d = cute.Output(case["d"], is_m_major=case["major"] == "COL_MAJOR")
    mma = cute.tensor_memory_mma((m, n, 16), ctas, ())
    whole = cute.Tensor(cute.Space.REGISTER, 32, cute.Layout((m, n)))
    shape = cute.TiledMma(mma).partition(whole, 0, "C").shape
    accumulator = cute.accumulator(mma, (*shape, 2), case["acc"])
    assert str(accumulator.layout) == case["accumulator"]
    epilogue = cute.epilogue_tile((m // ctas, n), ctas, d)
    assert [offsets(e) for e in epilogue] == [offsets(printed(e)) for e in case["epilogue"]]

    tile = tuple(cute.static(e.size) for e in epilogue)
    load = cute.accumulator_load(tile, cute.warps_of(m // ctas, ctas), case["acc"], d)
    one = accumulator.slice((_U, _U), 0, 0, 0).apply(lambda a: cute.flat_divide(a, epilogue))
    atom = cute.CopyAtom(cute.tensor_memory_copy(load), case["acc"])
    t2r = cute.make_tensor_memory_copy(atom, one.slice(_U, _U, 0, 0))
    loaded = (t2r.thread_value, t2r.layout_of("D"))
    assert [offsets(a) for a in loaded] == [offsets(printed(a)) for a in case["load"]]

    store = cute.CopyAtom(cute.accumulator_store(load, case["acc"], d), case["d"])
    r2s = cute.make_tiled_copy_like(store, t2r, "D")
    stored = (r2s.layout_of("S"), r2s.layout_of("D"))
    assert [offsets(a) for a in stored] == [offsets(printed(a)) for a in case["store"]]
