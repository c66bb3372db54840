"""Source ranges of nodes: start, end, macros, lines."""

from __future__ import annotations

import pytest

from smemlint.frontend import ir
from smemlint.frontend.cuda.unit import CudaUnit, LoadOptions, load_unit


def load(body: str, before: str = "") -> tuple[CudaUnit, ir.FuncDef]:
    text = f"{before}__global__ void k(float* p, int n) {{\n{body}\n}}\n"
    unit = load_unit("k.cu", text, LoadOptions(read=lambda _: None))
    tree = unit.functions[-1].parse().tree
    assert tree is not None
    return unit, tree


def found(tree: ir.Node, kind: type[ir.Node]) -> list[ir.Node]:
    nodes, work = [], [tree]
    while work:
        node = work.pop()
        if isinstance(node, kind):
            nodes.append(node)
        work.extend(reversed(node.children()))
    return nodes


def texts(body: str, kind: type[ir.Node], before: str = "") -> list[str]:
    unit, tree = load(body, before)
    return [unit.text(unit.span(node)) for node in found(tree.body, kind)]


def test_a_chain_of_subscripts_ends_at_each_bracket() -> None:
    assert texts("s[n][p[1]] = 2;", ir.ArrayRef) == ["s[n][p[1]]", "s[n]", "p[1]"]


def test_lines_and_columns_count_from_one_and_the_end_is_exclusive() -> None:
    unit, tree = load("  s[n\n + 1] = 2;")
    (access,) = found(tree.body, ir.ArrayRef)
    span = unit.span(access)
    assert (span.path, span.line, span.column) == ("k.cu", 2, 3)
    assert (span.end_line, span.end_column) == (3, 6)
    assert unit.table.last_line(access) == 3


def test_columns_are_code_points() -> None:
    unit, tree = load('f("äß😀"); s[n] = 1;')
    assert unit.span(found(tree.body, ir.ArrayRef)[0]).column == 11


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = s[f()];", "s[f()]"),
        ("x = s[(n + 1) * 2];", "s[(n + 1) * 2]"),
        ("x = s[n >> 2];", "s[n >> 2]"),
        ("x = ((float4*)s)[n];", "((float4*)s)[n]"),
        ("x = reinterpret_cast<float4*>(s)[n];", "reinterpret_cast<float4*>(s)[n]"),
        ("x = a.s[n].y;", "a.s[n]"),
        ("x = a->f<3>(n)[2];", "a->f<3>(n)[2]"),
        ("x = s[g<int, 3>];", "s[g<int, 3>]"),
        ("x = s[n++];", "s[n++]"),
        ("x = s[n ? 1 : 2];", "s[n ? 1 : 2]"),
        ("x = s[static_cast<int>(n)];", "s[static_cast<int>(n)]"),
        ("x = (*v)[n];", "(*v)[n]"),
        ("x = s[T(n)];", "s[T(n)]"),
        ("x = s[ /* [ */ n ];", "s[ /* [ */ n ]"),
    ],
)
def test_the_range_of_an_access(body: str, expected: str) -> None:
    assert texts(body, ir.ArrayRef)[0] == expected


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        ("f(n, g());", ir.FuncCall, ["f(n, g())", "g()"]),
        ("a.f().g();", ir.FuncCall, ["a.f().g()", "a.f()"]),
        ("x = n + g();", ir.BinaryOp, ["n + g()"]),
        ("x = -g();", ir.UnaryOp, ["-g()"]),
        ("s[n]++;", ir.UnaryOp, ["s[n]++"]),
        ("x = *reinterpret_cast<float4*>(p + n);", ir.UnaryOp,
         ["*reinterpret_cast<float4*>(p + n)"]),
        ("x = (n + 1) * (n - 1);", ir.BinaryOp, ["(n + 1) * (n - 1)", "n + 1", "n - 1"]),
        ("s[n] = f(p[n]);", ir.Assignment, ["s[n] = f(p[n])"]),
        ("a.b->c = 1;", ir.StructRef, ["a.b->c", "a.b"]),
    ],
)  # fmt: skip
def test_the_range_of_an_expression(body: str, kind: type[ir.Node], expected: list[str]) -> None:
    assert texts(body, kind) == expected


def test_a_declaration_is_shown_by_its_name_and_extents() -> None:
    body = "__shared__ float s[32][33]; float* q = p; float (*v)[4] = 0; float& r = p[0];"
    unit, tree = load(body)
    shown = [unit.text(unit.span(d)) for d in tree.body.block_items]
    assert shown[0] == "s[32][33]"
    assert [shown[1], shown[3]] == ["q", "r"]
    assert shown[2].endswith("v)[4]")


def test_what_a_macro_made_is_its_call() -> None:
    before = "#define F4(v) (reinterpret_cast<float4*>(&(v))[0])\n#define AT(r, c) r * 33 + c\n"
    unit, tree = load("  F4(s[n]) = q;\n x = s[AT(n, 1)];", before)
    whole, inner, indexed = found(tree.body, ir.ArrayRef)
    assert unit.text(unit.span(whole)) == "F4(s[n])"
    assert unit.text(unit.span(inner)) == "s[n]"
    assert unit.text(unit.span(indexed)) == "s[AT(n, 1)]"
    assert unit.span(inner).line == 4
    (product,) = [n for n in found(tree.body, ir.BinaryOp) if n.op == "*"]
    assert unit.text(unit.span(product)) == "AT(n, 1)"


def test_conditions_that_were_assumed() -> None:
    unit, tree = load("s[0] = 1;\n#ifdef UNKNOWN\ns[1] = 2;\n#endif\n")
    first, second = found(tree.body, ir.ArrayRef)
    assert unit.conditions(first) == ()
    assert len(unit.conditions(second)) == 1
    assert "UNKNOWN" in unit.conditions(second)[0]
