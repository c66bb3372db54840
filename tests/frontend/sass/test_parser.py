"""The parser of nvdisasm's text: operands, instructions, labels, line tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemlint.frontend.sass.operands import (
    Address,
    Constant,
    Immediate,
    Label,
    Operand,
    Predicate,
    Register,
    Word,
    next_register,
    parse_operand,
    split_operands,
)
from smemlint.frontend.sass.parser import Disassembly, SourceLine

TEXT = Path(__file__).parents[3].joinpath("fixtures/sass/kernels.sass").read_text()


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("R12.reuse", Register("R12")),
        ("-RZ", Register("RZ", is_negated=True)),
        ("~UR4", Register("UR4", is_inverted=True)),
        ("|R3|", Register("R3", is_absolute=True)),
        ("R5.H1_H1", Register("R5", part="H1_H1")),
        ("!PT", Predicate("PT", is_negated=True)),
        ("UP3", Predicate("UP3")),
        ("0x1f", Immediate(31, "0x1f")),
        ("-0x1", Immediate(0xFFFFFFFF, "-0x1")),
        ("-010", Immediate(0xFFFFFFF6, "-010")),
        ("1.5", Immediate(0x3FC00000, "1.5")),
        ("+INF", Immediate(0x7F800000, "+INF")),
        ("c[0x0][0x210]", Constant(0, "", 0x210)),
        ("-c[0x3][R4+0x8]", Constant(3, "R4", 8, is_negated=True)),
        ("cx[UR4][0x0]", Constant(-1, "", 0)),
        ("[R2.X4+UR5+-0x10]", Address((("R2", 4), ("UR5", 1)), -16, "R2")),
        ("[UR4]", Address((("UR4", 1),), 0, "UR4")),
        ("desc[UR6][R2.64+0x80]", Address((("R2", 1),), 128, "R2")),
        ("[R0.U32+UR4]", Address((("R0", 1), ("UR4", 1)), 0, "UR4")),
        ("`(.L_x_4)", Label(".L_x_4")),
        ("SR_TID.X", Word("SR_TID.X")),
    ],
)
def test_operand(text: str, operand: Operand) -> None:
    assert parse_operand(text) == operand


def test_operands_are_split_outside_of_brackets() -> None:
    assert split_operands("R6, desc[UR6, UR8][R6.64], {R1, R2}") == [
        "R6",
        "desc[UR6, UR8][R6.64]",
        "{R1, R2}",
    ]
    assert split_operands("") == []


def test_next_register() -> None:
    assert [next_register(n, 3) for n in ("R12", "UR4", "RZ")] == ["R15", "UR7", "RZ"]


def test_functions_and_instructions() -> None:
    code = Disassembly(TEXT)
    assert len(code.kernels) == 10
    function = code.function("_Z9transposePfPKfi")
    assert function.is_kernel
    shared = [i for i in function.instructions if i.opcode in ("LDS", "STS")]
    assert [(i.opcode, i.line) for i in shared] == [
        ("STS", SourceLine("kernels.cu", 7)),
        ("LDS", SourceLine("kernels.cu", 9)),
    ]


def test_inlined_code_stands_on_the_line_of_the_caller() -> None:
    function = Disassembly(TEXT, lambda path: path != "kernels.cu").function("_Z8shuffledPii")
    (shuffle,) = [i for i in function.instructions if i.opcode == "SHFL"]
    assert shuffle.line == SourceLine("kernels.cu", 58)
    assert shuffle.lines[0].path == "sm_30_intrinsics.hpp"


def test_a_path_in_octal_is_the_path_of_the_file() -> None:
    text = TEXT.replace('"kernels.cu"', r'"\345\255\246/k\303\274.cu"')
    function = Disassembly(text).function("_Z10table_jumpPii")
    assert {line.path for i in function.instructions for line in i.lines} == {"学/kü.cu"}


def test_guards_tables_and_annotations() -> None:
    function = Disassembly(TEXT).function("_Z10table_jumpPii")
    guarded = [i for i in function.instructions if i.guard is not None]
    assert guarded
    assert all(i.guard and i.guard.name.lstrip("U")[0] == "P" for i in guarded)
    tables = [i for i in function.instructions if i.opcode == "BRX"]
    assert tables
    assert all(len(i.targets) > 1 and set(i.targets) <= set(function.labels) for i in tables)
    reload = '        /*0010*/   @!P0 LDL.LU R11, [R1+0xc]   (*"4-byte Folded Reload"*) ;\n'
    text = ".text.k:\n" + reload
    (instruction,) = Disassembly(text).function("k").instructions
    assert instruction.mnemonic == "LDL.LU"
    assert instruction.guard == Predicate("P0", is_negated=True)
    assert instruction.operands == (Register("R11"), Address((("R1", 1),), 12, "R1"))


@pytest.mark.parametrize("end", range(0, len(TEXT), 997))
def test_cut_text_gives_what_is_whole(end: int) -> None:
    code = Disassembly(TEXT[:end])
    for name in code.kernels:
        code.function(name)
