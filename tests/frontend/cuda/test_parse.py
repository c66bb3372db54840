"""Recovery, bounds, and the pieces that are parsed apart from functions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from smemlint.frontend import ir
from smemlint.frontend.cuda.parser.parse import template_arguments
from smemlint.frontend.cuda.unit import CudaUnit, LoadOptions, load_unit
from smemlint.limits.budgets import MAX_DROPS
from tests.frontend.ir_text import printed

if TYPE_CHECKING:
    from smemlint.frontend.program import ParsedFunction


def load(text: str) -> CudaUnit:
    return load_unit("k.cu", text, LoadOptions(read=lambda _: None))


def parse(body: str) -> ParsedFunction:
    return load(f"__global__ void k(float* p, int n) {{\n{body}\n}}").functions[0].parse()


def test_a_lost_statement_is_one_empty_statement_and_is_said() -> None:
    found = parse("__shared__ float s[32];\nx y z w;\ns[n] = 1;")
    assert [type(i).__name__ for i in found.tree.body.block_items] == [
        "Decl", "EmptyStatement", "Assignment",
    ]  # fmt: skip
    (lost,) = found.dropped
    assert (lost.span.line, lost.span.column) == (3, 1)
    assert lost.reason.code == "syntax"


def test_what_only_the_parser_refuses_is_lost_alone_too() -> None:
    found = parse("s[0] = 1;\nif (n) { s[1] = ; s[2] = 2; }\ns[3] = 3;")
    first, choice, last = found.tree.body.block_items
    assert isinstance(choice.iftrue.block_items[0], ir.EmptyStatement)
    assert printed(choice.iftrue.block_items[1]) == "s[2] = 2"
    assert [lost.span.line for lost in found.dropped] == [3]
    assert (printed(first), printed(last)) == ("s[0] = 1", "s[3] = 3")


@pytest.mark.parametrize(
    "source",
    [
        "if (n # 3) { s[0] = 1; }",
        "if (n = = 3) { s[0] = 1; }",
        "if (a b c) { s[0] = 1; }",
        "while (n = = 3) { s[0] = 1; }",
        "for (int i = ; i < 3; ++i) { s[0] = 1; }",
        "for (int i = 0; i = = 3; ++i) { s[0] = 1; }",
        "for (int i = 0; i < 3; i +* / 2) { s[0] = 1; }",
        "switch (n = = 3) { s[0] = 1; }",
    ],
)
def test_a_lost_header_keeps_its_body(source: str) -> None:
    found = parse(source)
    assert len(found.dropped) == 1
    text = printed(found.tree.body)
    assert "?" in text
    assert "s[0] = 1;" in text


def test_a_lost_block_takes_nothing_behind_it_along() -> None:
    found = parse("do { s[0] = 1; }\ns[1] = 1;\ns[2] = 2;")
    assert printed(found.tree.body) == "{ ; s[1] = 1; s[2] = 2; }"


def test_a_return_of_something_lost_still_returns() -> None:
    found = parse("return n = = 3;")
    assert printed(found.tree.body.block_items[0]) == "return ?"
    assert len(found.dropped) == 1


def test_a_missing_semicolon_costs_one_statement() -> None:
    found = parse("float a = 1.f float b = 2.f;\ns[1] = 1;")
    assert len(found.dropped) == 1
    assert printed(found.tree.body.block_items[-1]) == "s[1] = 1"


def test_too_many_errors_give_the_function_up() -> None:
    found = parse("x = = 1;\n" * (2 * MAX_DROPS))
    assert found.tree is None
    assert 0 < len(found.dropped) <= MAX_DROPS + 1


@pytest.mark.parametrize(
    "body",
    [
        "x = " + "(" * 5000 + "1" + ")" * 5000 + ";",
        "{" * 5000 + "}" * 5000,
        "if (n) " * 5000 + ";",
        "x = " + "!" * 5000 + "1;",
        "auto f = " + "[&] { return " * 300 + "1" + "; }" * 300 + ";",
        "x = = 1; " * 5000,
        "if (a b c) { s = 1; } " * 3000,
        "x = #; " * 5000,
        "x = (" * 5000,
        "a<" * 3000 + ">" * 3000 + " x;",
        "x = " + "a < " * 3000 + "b;",
        "struct A { " * 300 + "};" * 300,
        "k<<<" * 3000,
        "case 1: " * 5000,
        "(a]; [b); {c); " * 1000,
        '#pragma\nasm(); asm(:); asm("x" : "y"); operator; ::; a.; a->; case; goto; typedef; using',
    ],
)
def test_hostile_bodies_end_soon_and_raise_nothing(body: str) -> None:
    begin = time.process_time()
    found = parse(body)
    assert time.process_time() - begin < 10
    assert found.tree is None or isinstance(found.tree, ir.FuncDef)
    assert found.tree is not None or found.dropped


def test_every_cut_of_a_kernel_is_survived() -> None:
    body = """__shared__ float s[32][33]; auto f = [&](int i) { return i; };
        for (int i = 0; i < n; ++i) { s[i][f(i)] = static_cast<float>(p[i]) * 2; }
        asm volatile("ld %0;" : "=r"(n) : "r"(n)); k<3><<<1, 2>>>(p); if (n) return; else n = 1;"""
    tokens = body.split()
    for k in range(len(tokens)):
        parse(" ".join(tokens[:k] + tokens[k + 1 :]))
        parse(" ".join(tokens[:k]))


def test_expressions_types_and_arguments_by_text() -> None:
    unit = load("#define N 4\nstruct T {}; template <int I> struct F {};")
    assert printed(unit.parse_expression("N * 2 + (T::n > 3)")) == "(4 * 2) + (T::n > 3)"
    assert unit.parse_expression("N N") is None
    assert unit.parse_expression("") is None
    assert printed(unit.parse_type("const float4*")) == "const float4 *"
    assert printed(unit.parse_type("float[N]")) == "float [4]"
    assert unit.parse_type("3") is None
    assert unit.is_type("T")
    assert unit.is_type("unsigned int")
    assert unit.is_type("const X*")
    assert not unit.is_type("N")
    assert not unit.is_type("3 + 4")


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("f", ("f", ())),
        ("a::f<int, 3>", ("a::f", ("int", "3"))),
        ("f<g<1, 2>, (3 > 2), h<int>>", ("f", ("g<1, 2>", "(3>2)", "h<int>"))),
        ("a<1>::b<2>", ("a<1>::b", ("2",))),
        ("a<1>::b", ("a<1>::b", ())),
        ("f<>", ("f", ())),
    ],
)
def test_template_arguments(spelling: str, expected: tuple[str, tuple[str, ...]]) -> None:
    assert template_arguments(spelling) == expected


def test_declarations_of_a_file() -> None:
    unit = load(
        "constexpr int N = 4; typedef unsigned int u; using V = float4; enum E { A, B = 3 };"
        "__constant__ float c[N]; __shared__ int s;"
    )
    kinds = {
        name: type(unit.declarations[name][0].parse()).__name__ for name in ("N", "u", "V", "A")
    }
    assert kinds == {"N": "Decl", "u": "Typedef", "V": "Typedef", "A": "Enum"}
    assert unit.declarations["c"][0].parse().storage == ("__constant__",)
    assert unit.declarations["s"][0].parse().storage == ("__shared__",)


def test_a_record_with_a_member_that_does_not_parse_has_no_layout() -> None:
    unit = load("struct S { int a; int b c d; int e; };")
    assert unit.records["S"][0].parse() is None


def test_a_record_without_what_takes_no_room_keeps_its_layout() -> None:
    unit = load("struct S { int a; using V = x y z; static constexpr int N = = 3; int b; };")
    record = unit.records["S"][0].parse()
    assert record is not None
    assert [member.name for member in record.decls] == ["a", "b"]


def test_a_local_record_with_a_lost_field_is_lost_whole() -> None:
    found = parse("struct S { int a; int b c d; } s;\ns.a = 1;")
    assert isinstance(found.tree.body.block_items[0], ir.EmptyStatement)
    assert [lost.span.line for lost in found.dropped] == [2]


def test_member_templates_take_no_room() -> None:
    unit = load(
        "struct S { int a; template <int N> using V = W<N % 2 == 0 && N < 3>;"
        "template <class T> struct In { T x; }; template <class T> void f() { a = 1; } int b; };"
    )
    record = unit.records["S"][0].parse()
    assert record is not None
    assert [member.name for member in record.decls] == ["a", "b"]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("do { if (n) s[0] = 1; } while (0);", ir.Compound),
        ("do { for (;;) s[0] = 1; } while (false);", ir.Compound),
        ("do { if (n) break; s[0] = 1; } while (0);", ir.DoWhile),
        ("do { if (n) continue; s[0] = 1; } while (0);", ir.DoWhile),
        ("do { s[0] = 1; } while (1);", ir.DoWhile),
        ("do { s[0] = 1; } while (n);", ir.DoWhile),
    ],
)
def test_what_runs_once_and_is_not_left_is_a_block(source: str, kind: type[ir.Node]) -> None:
    found = parse(source)
    assert type(found.tree.body.block_items[0]) is kind
