"""Statements of PTX text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemlint.frontend.ptx.locations import debug_strings, file_table
from smemlint.frontend.ptx.module import parse_module
from smemlint.frontend.ptx.parser import parse_body
from smemlint.frontend.ptx.syntax import (
    Address,
    Frame,
    Immediate,
    Label,
    Name,
    Negated,
    Operation,
    Pair,
    Registers,
    Scope,
    Statement,
    Sum,
    Targets,
    Variable,
    Vector,
)

FIXTURES = Path(__file__).resolve().parents[2] / "analysis" / "compiled" / "ptx"


def statements(text: str) -> tuple[Statement, ...]:
    body = parse_body(text, 1, {})
    assert body.unreadable is None, body.unreadable
    return body.statements


def operation(text: str) -> Operation:
    (found,) = statements(text)
    assert isinstance(found, Operation)
    return found


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("add.s32 %r1, %r2, -4;", (Name("%r1"), Name("%r2"), Immediate(-4))),
        ("mov.f32 %f1, 0f3F800000;", (Name("%f1"), Immediate(0x3F800000))),
        ("mov.u32 %r1, 0x1F;", (Name("%r1"), Immediate(31))),
        ("mov.u32 %r1, tile+16;", (Name("%r1"), Sum(Name("tile"), 16))),
        ("ld.shared.u32 %r1, [%r2+-8];", (Name("%r1"), Address(Name("%r2"), -8))),
        ("ld.shared.u32 %r1, [64];", (Name("%r1"), Address(Immediate(64)))),
        (
            "st.shared.v2.f32 [%r1], {%f1, _};",
            (Address(Name("%r1")), Vector((Name("%f1"), Name("_")))),
        ),
        (
            "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;",
            (Pair(Name("%p1"), Name("%p2")), Name("%r1"), Name("%r2"), Negated(Name("%p3"))),
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global [%r1], [%rd1, {%r2, %r3}], [%r4];",
            (
                Address(Name("%r1")),
                Address(Name("%rd1"), 0, (Vector((Name("%r2"), Name("%r3"))),)),
                Address(Name("%r4")),
            ),
        ),
        (
            "call.uni (retval0),\n vprintf, (param0, param1);",
            (Vector((Name("retval0"),)), Name("vprintf"), Vector((Name("param0"), Name("param1")))),
        ),
    ],
)
def test_operands(text: str, operands: tuple[object, ...]) -> None:
    assert operation(text).operands == operands


def test_an_opcode_keeps_its_scopes() -> None:
    found = operation("ld.volatile.shared::cta.v4.u32 {%r1, %r2, %r3, %r4}, [%r5];")
    assert found.opcode == ("ld", "volatile", "shared::cta", "v4", "u32")


def test_guards() -> None:
    found = operation("@!%p1 bra $L__BB0_2;")
    assert (found.guard, found.is_negated, found.operands) == ("%p1", True, (Name("$L__BB0_2"),))


def test_several_statements_on_a_line_and_one_over_several() -> None:
    found = statements("{ .reg .pred p; setp.ne.b32 p, %r1, 0;\n @p bra\n DONE; }\nDONE: ret;")
    assert [type(s) for s in found] == [
        Scope, Registers, Operation, Operation, Scope, Label, Operation,
    ]  # fmt: skip
    assert [s.line for s in found if isinstance(s, Operation)] == [1, 2, 4]


def test_declarations() -> None:
    registers, shared, targets = statements(
        ".reg .b64 %rd<7>, %x;\n.shared .align 16 .b8 tile[2][512];\nT: .branchtargets A, B;"
    )
    assert registers == Registers("b64", ("%x",), (("%rd", 7),))
    assert shared == Variable("tile", "shared", "b8", (2, 512), 16, line=2)
    assert targets == Targets("T", ("A", "B"))


def test_inlined_places_are_resolved_where_they_are_read() -> None:
    found = statements(
        ".loc 1 10 3\n"
        ".loc 2 5 1, function_name $L0, inlined_at 1 10 3\n"
        ".loc 3 7 1, function_name $L1, inlined_at 2 5 1\n"
        "mov.u32 %r1, 0;\n"
        ".loc 1 20 3\n"
        ".loc 2 5 1, function_name $L0, inlined_at 1 20 3\n"
        ".loc 3 7 1, function_name $L1, inlined_at 2 5 1\n"
        "mov.u32 %r1, 0;\n"
        ".loc 1 0 3\n"
        "mov.u32 %r1, 0;\n"
    )
    first, second, third = (s for s in found if isinstance(s, Operation))
    assert [f.line for f in first.location] == [7, 5, 10]
    assert [f.line for f in second.location] == [7, 5, 20]
    assert first.call == (Frame(1, 10, 3),)
    assert third.location == second.location  # line 0 is no line: ptxas keeps the one before
    assert third.call == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [("add.s32 %r1,\n%r2", 2), ("mov.u32 %r1, , 4;", 1), ("ret;\n%r1 = 4;", 2), ("ld.u32 [;", 1)],
)
def test_what_is_no_ptx_has_a_line(text: str, line: int) -> None:
    body = parse_body(text, 1, {})
    assert body.unreadable is not None
    assert body.unreadable.line == line


def test_functions_variables_and_launch_bounds() -> None:
    module = parse_module(
        ".version 8.5\n.target sm_90a, debug\n.address_size 64\n"
        ".extern .shared .align 16 .b8 smem[];\n"
        ".func (.param .b32 out) helper(.param .b32 x)\n{ ret; }\n"
        ".visible .entry k(.param .u64 .ptr .align 16 k_param_0, .param .align 8 .b8 s[24])\n"
        ".maxntid 256, 1, 1\n.reqntid 128\n{\n/* { */ ret; // }\n}\n"
        '.file 1 "a/b.cu"\n'
    )
    assert module.target == "sm_90a"
    assert module.files == {1: "a/b.cu"}
    assert [(f.name, f.is_kernel, f.line) for f in module.functions] == [
        ("helper", False, 5), ("k", True, 7),
    ]  # fmt: skip
    kernel = module.functions[1]
    assert (kernel.required_block, kernel.largest_block) == ((128, 1, 1), (256, 1, 1))
    assert [(p.name, p.type, p.bytes) for p in kernel.parameters] == [
        ("k_param_0", "u64", 8), ("s", "b8", 24),
    ]  # fmt: skip
    assert module.variables["smem"].is_extern
    assert [type(s) for s in module.body(kernel).statements] == [Operation]


def test_a_cut_file_is_known_to_be_cut() -> None:
    text = (FIXTURES / "transpose.ptx").read_text(encoding="utf-8")
    module = parse_module(text[: len(text) // 2])
    assert [f.is_closed for f in module.functions][-1] is False


def test_a_path_in_octal_is_the_path_of_the_file() -> None:
    text = '.file 1 "\\345\\255\\246/k.cu"\n.file 2 "C:\\\\200\\\\k.cu"\n'
    assert file_table(text) == {1: "学/k.cu", 2: r"C:\\200\\k.cu"}


def test_bytes_of_strings_may_begin_with_zero() -> None:
    text = ".section .debug_str\n{\n$L0:\n.b8 0101\n.b8 0x62\n.b8 09\n.b8 0\n}\n"
    assert debug_strings(text) == {"$L0": "Ab"}


@settings(max_examples=60)
@given(
    start=st.integers(0, 6000),
    length=st.integers(0, 40),
    noise=st.text(alphabet='{}[]();:.,"/*@%!|+-$<>\n ab01', max_size=30),
)
def test_no_text_breaks_the_parser(start: int, length: int, noise: str) -> None:
    text = (FIXTURES / "inline_ptx.ptx").read_text(encoding="utf-8")
    module = parse_module(text[:start] + noise + text[start + length :])
    for function in module.functions:
        module.body(function)
        assert len(function.parameters) < 20
