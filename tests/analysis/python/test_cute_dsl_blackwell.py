"""Kernels with tcgen05 in the DSL: their layouts of shared memory, and what their epilogues store."""

import json
from pathlib import Path

import pytest
from printed_layouts import offsets, printed

from smemlint.analysis.python.cute_dsl.execution import program  # noqa: F401  # registers
from smemlint.analysis.python.cute_dsl.execution.call import FUNCTIONS, Call
from smemlint.analysis.python.cute_dsl.execution.libraries.hopper import COLUMN, ROW
from smemlint.analysis.python.cute_dsl.execution.libraries.torch import dtype_named
from smemlint.analysis.python.cute_dsl.execution.values import Cute
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import Instance
from smemlint.layout import cute

RECORDED = json.loads(
    (Path(__file__).parents[3] / "fixtures" / "cute" / "tensor_memory.json").read_text()
)


def called(name, *arguments):
    """The layout that a function of `cutlass.utils` returns, as offsets and its swizzle."""
    found = FUNCTIONS[name](Call(None, name, None, BoundArguments(list(arguments), {}), None))
    layout = found.payload
    return offsets(layout.plain), str(layout.swizzle)


def recorded(text):
    swizzle = text.partition(" o ")[0]
    return offsets(printed(text)), swizzle.replace("S<", "Swizzle<")


@pytest.mark.parametrize(
    "case", RECORDED["operands"], ids=lambda c: "-".join(map(str, list(c.values())[:5]))
)
def test_operands_lie_in_shared_memory_as_in_the_dsl(case):
    ctas, m, n, dtype = case["ctas"], case["m"], case["n"], dtype_named(case["dtype"])
    mma = cute.TiledMma(
        cute.tensor_memory_mma((m, n, 256 // dtype.bits), ctas, (), (case["major"],) * 2)
    )
    for operand in "ab":
        name = f"sm100.make_smem_layout_{operand}"
        assert called(name, Cute(mma), (m, n, 64), dtype, 3) == recorded(case[operand])


@pytest.mark.parametrize("case", RECORDED["epilogues"])
def test_an_epilogue_has_the_layout_of_the_dsl(case):
    dtype = dtype_named({32: "Float32", 16: "Float16", 8: "Float8E4M3FN"}[case["d"]])
    epilogue = tuple(Cute(printed(text)) for text in case["epilogue"])
    major = ROW if case["major"] == "ROW_MAJOR" else COLUMN
    found = called("sm100.make_smem_layout_epi", dtype, major, epilogue, 2)
    assert found == recorded(case["shared"])


@pytest.mark.parametrize(("name", "packed"), [("NONE", False), ("PACK_16b_IN_32b", True)])
def test_a_copy_of_tensor_memory_tells_its_properties(name, packed):
    shape = cute.TensorMemoryShape(32, 32, 16, is_packed=packed)
    atom = Cute(cute.CopyAtom(cute.tensor_memory_copy(shape), 32))
    call = Call(None, "", None, BoundArguments([atom], {}), None)
    *numbers, packing = FUNCTIONS["get_tmem_copy_properties"](call)
    assert (numbers, packing.name) == ([32, 32, 16], name)


def test_quack_makes_the_layouts_of_hopper():
    """One stage in two modes, three in three: of the atom that 64 halves, or a given extent, take."""
    dtype = dtype_named("Float16")
    assert called("quack.make_smem_layout", dtype, ROW, (128, 64), 3) == called(
        "make_smem_layout_epi", dtype, ROW, (128, 64), 3
    )
    whole, narrow = (
        called("quack.make_smem_layout", dtype, COLUMN, (64, 32), None, *size)
        for size in ((), (16,))
    )
    assert (len(whole[0]), whole[1], narrow[1]) == (2048, "Swizzle<3,4,3>", "Swizzle<1,4,3>")


def test_the_store_of_an_epilogue_follows_the_load_of_its_accumulator():
    """Each thread has a row of 16 floats, of 64 bytes; thread 3 begins at byte 192."""
    float32 = dtype_named("Float32")
    atom = cute.CopyAtom(cute.tensor_memory_copy(cute.TensorMemoryShape(32, 32, 16)), 32)
    lanes = cute.Layout((128, 16), (1 << 16, 1))
    load = cute.make_tensor_memory_copy(atom, cute.Tensor(cute.Space.TENSOR_MEMORY, 32, lanes))
    kernel = Instance(None, {"c_layout": ROW, "c_dtype": float32, "acc_dtype": float32})
    shared = cute.Tensor(cute.Space.SHARED, 32, cute.Layout((128, 16), (16, 1)), alignment=16)
    registers = cute.make_register_tensor(32, load.partition(shared, 0, "D").layout)
    given = [kernel, Cute(load), Cute(registers), 3, Cute(shared)]
    name = "epilogue_smem_copy_and_partition"
    found = FUNCTIONS[name](Call(None, name, None, BoundArguments(given, {}), None))
    store, source, destination = (value.payload for value in found)
    stored = cute.copy(source, destination, store)
    assert sum(i.width for i in stored) == 64
    assert min(i.address for i in stored) == 192


def test_rows_and_columns_of_a_partitioned_accumulator_are_seen_as_two_modes():
    layout = cute.Layout(((4, 8), 2, 3, 5), ((1, 4), 32, 64, 192))
    tensor = Cute(cute.make_register_tensor(32, layout))
    name = "transform_partitioned_tensor_layout"
    found = FUNCTIONS[name](Call(None, name, None, BoundArguments([tensor], {}), None))
    assert str(found.payload.layout) == "((4,2),(8,3),5):((1,32),(4,64),192)"


@pytest.mark.parametrize("extent", [None, (64, 1)])
def test_an_epilogue_without_a_static_extent_has_no_layout(extent):
    with pytest.raises(cute.CuteError):
        called("sm100.make_smem_layout_epi", dtype_named("Float16"), ROW, (128, extent), 2)
