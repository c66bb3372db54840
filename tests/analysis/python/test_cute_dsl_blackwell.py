"""Kernels with tcgen05 in the DSL: their layouts of shared memory, and what their epilogues store."""

import json
from pathlib import Path

import pytest
from printed_layouts import offsets, printed

from smemlint.analysis.python.cute_dsl.execution import program  # noqa: F401  # registers
from smemlint.analysis.python.cute_dsl.execution.call import FUNCTIONS, Call
from smemlint.analysis.python.cute_dsl.execution.libraries.hopper import COLUMN, ROW
from smemlint.analysis.python.cute_dsl.execution.libraries.host import dtype_named
from smemlint.analysis.python.cute_dsl.execution.values import Cute
from smemlint.analysis.python.interpreter.arguments import BoundArguments
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
