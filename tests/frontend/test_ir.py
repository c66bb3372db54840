"""The nodes that a small source becomes: type, fields, children and the source that each covers."""

from __future__ import annotations

import time
from dataclasses import FrozenInstanceError

import pytest

from smemlint.frontend import ir
from smemlint.frontend.cuda.unit import CudaUnit, LoadOptions, load_unit
from tests.frontend.ir_text import printed


def load(body: str) -> tuple[CudaUnit, ir.FuncDef]:
    text = f"template <typename T> __device__ void k(float* p, int n) {{\n{body}\n}}\n"
    unit = load_unit("k.cu", text, LoadOptions(read=lambda _: None))
    tree = unit.functions[-1].parse().tree
    assert tree is not None
    return unit, tree


def only(body: str, kind: type[ir.Node]) -> tuple[ir.Node, str]:
    """The first node of a type in a function's body, and its source text."""
    unit, tree = load(body)
    found = next(node for node in tree.body.walk() if isinstance(node, kind))
    return found, unit.text(unit.span(found))


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("n;", ir.ID, "n"),
        ("n = 3;", ir.Constant, "3"),
        ("p[n + 1] = 0;", ir.ArrayRef, "p[n + 1]"),
        ("a->b = 0;", ir.StructRef, "a->b"),
        ("n = f(n, 1);", ir.FuncCall, "f(n, 1)"),
        ("n = g();", ir.FuncCall, "g()"),
        ("n = -p[0];", ir.UnaryOp, "-p[0]"),
        ("n = p[0] + (n - 1);", ir.BinaryOp, "p[0] + (n - 1)"),
        ("n = n ? 1 : p[2];", ir.TernaryOp, "n ? 1 : p[2]"),
        ("n <<= 2;", ir.Assignment, "n <<= 2"),
        ("n = (int)p[0];", ir.Cast, "(int)p[0]"),
        ("n = T(p[0]);", ir.Construct, "T(p[0])"),
        ("n = T{n};", ir.Construct, "T{n}"),
        ("n = (float4){n, n};", ir.Construct, "(float4){n, n}"),
        ("n = new int[3];", ir.New, "new"),
        ("n = new (p) T(n);", ir.New, "new (p) T(n)"),
        ("n = new (p + 1) T;", ir.New, "new (p + 1)"),
        ("f(p...);", ir.PackExpansion, "p"),
        ("n = sizeof...(p);", ir.SizeofPack, "sizeof"),
        ("n = requires { p->x; n; };", ir.Requires, "requires { p->x; n; }"),
        ("n = requires(int x) { x + p; };", ir.Requires, "requires"),
        ("int a = 1;", ir.Decl, "a"),
        ("if (n) n = 1; else n = 2;", ir.If, "if (n) n = 1; else n = 2"),
        ("while (n) n = 0;", ir.While, "while (n) n = 0"),
        ("return n;", ir.Return, "return n"),
    ],
)
def test_a_node_covers_its_source(body: str, kind: type[ir.Node], text: str) -> None:
    node, found = only(body, kind)
    assert type(node) is kind
    assert node.at > 0
    assert found == text


def test_statements_of_every_type() -> None:
    _, tree = load("""
        int a; typedef int V; ; { n = 1; } if (n) n = 1; for (;;) n = 1; for (int x : p) n = x;
        while (n) n = 0; do n = 0; while (n); switch (n) { case 1: break; default: n = 1; }
        again: n = 1; goto again; static_assert(1); return; continue; struct S { int a; };""")
    assert [type(item) for item in tree.body.block_items] == [
        ir.Decl, ir.Typedef, ir.EmptyStatement, ir.Compound, ir.If, ir.For, ir.RangeFor,
        ir.While, ir.DoWhile, ir.Switch, ir.Label, ir.Goto, ir.StaticAssert, ir.Return,
        ir.Continue, ir.Decl,
    ]  # fmt: skip


def test_the_head_of_a_function() -> None:
    _, tree = load("")
    assert tree.name == "k"
    assert [(p.name, type(p.type)) for p in tree.type.params] == [
        ("p", ir.PtrDecl), ("n", ir.TypeDecl),
    ]  # fmt: skip
    assert isinstance(tree.type.type, ir.TypeDecl)
    assert printed(tree.type.type) == "void"
    assert tree.body.block_items == ()


def test_declarators_wrap_the_type_that_they_change() -> None:
    _, tree = load("const float (&a)[4] = p; volatile unsigned int b : 3;")
    array, bits = tree.body.block_items
    assert isinstance(array, ir.Decl)
    assert isinstance(array.type, ir.PtrDecl)
    assert array.type.quals == ("&",)
    assert isinstance(array.type.type, ir.ArrayDecl)
    assert printed(array.type.type.dim) == "4"
    assert printed(array.type.type.type) == "const float"
    assert isinstance(bits, ir.EmptyStatement)  # a bit-field outside of a record is no C++


def test_shared_memory_keeps_its_specifiers() -> None:
    node, _ = only("extern __shared__ volatile __align__(16) char s[];", ir.Decl)
    assert isinstance(node, ir.Decl)
    assert (set(node.storage), node.quals) == ({"extern", "__shared__"}, ("volatile",))
    assert [printed(operand) for operand in node.align] == ["16"]
    assert isinstance(node.type, ir.ArrayDecl)
    assert node.type.dim is None


def test_records_unions_and_enums() -> None:
    _, tree = load("struct S { int a; float b[2]; }; union { int i; } u; enum E { A = 3, B };")
    kinds = [item.type for item in tree.body.block_items if isinstance(item, ir.Decl)]
    record, union, enum = (k.type if isinstance(k, ir.TypeDecl) else k for k in kinds)
    assert isinstance(record, ir.Struct)
    assert record.name == "S"
    assert [m.name for m in record.decls or () if isinstance(m, ir.Decl)] == ["a", "b"]
    assert isinstance(union, ir.Union)
    assert isinstance(enum, ir.Enum)
    values = [(e.name, e.value is not None) for e in enum.enumerators or ()]
    assert values == [("A", True), ("B", False)]


def test_a_launch() -> None:
    node, _ = only("child<<<n, dim3(1, 2), 4>>>(p, n);", ir.Launch)
    assert isinstance(node, ir.Launch)
    assert printed(node.kernel) == "child"
    assert [printed(part) for part in node.configuration] == ["n", "dim3{1, 2}", "4"]
    assert [printed(operand) for operand in node.args] == ["p", "n"]


def test_a_lambda_and_its_parameters() -> None:
    node, _ = only("auto f = [&](int i, float* o) { o[i] = 1; };", ir.Lambda)
    assert isinstance(node, ir.Lambda)
    assert [param.name for param in node.params] == ["i", "o"]
    assert printed(node.body) == "{ o[i] = 1; }"


def test_inline_assembly() -> None:
    node, _ = only('asm("ld.shared %0, [%1];" : "=r"(n) : "r"(p), "n"(4));', ir.Assembly)
    assert isinstance(node, ir.Assembly)
    assert node.template == "ld.shared %0, [%1];"
    assert [(o.constraint, printed(o.expr)) for o in node.outputs] == [("=r", "n")]
    assert [(o.constraint, printed(o.expr)) for o in node.inputs] == [("r", "p"), ("n", "4")]


def test_if_constexpr_is_an_if_that_says_so() -> None:
    node, _ = only("if constexpr (n > 3) n = 1;", ir.If)
    assert isinstance(node, ir.If)
    assert (node.is_constexpr, printed(node.cond), node.iffalse) == (True, "n > 3", None)
    node, _ = only("if (n > 3) n = 1;", ir.If)
    assert isinstance(node, ir.If)
    assert not node.is_constexpr


def test_folds_braces_bindings_and_types_as_arguments() -> None:
    fold, _ = only("n = (p + ...);", ir.Fold)
    assert isinstance(fold, ir.Fold)
    assert [printed(operand) for operand in fold.args] == ["p"]
    braces, _ = only("f({1, n});", ir.BraceList)
    assert isinstance(braces, ir.BraceList)
    assert [printed(operand) for operand in braces.args] == ["1", "n"]
    binding, _ = only("auto [a, b] = f(n);", ir.BindingElement)
    assert isinstance(binding, ir.BindingElement)
    assert (binding.index, printed(binding.value)) == (0, "f(n)")
    argument, _ = only("f(unsigned int, n);", ir.TypeArgument)
    assert isinstance(argument, ir.TypeArgument)
    assert printed(argument.type) == "unsigned int"
    direct, _ = only("float4 a(n, 1);", ir.DirectInit)
    assert isinstance(direct, ir.DirectInit)
    assert [printed(operand) for operand in direct.args] == ["n", "1"]


def test_what_cannot_be_parsed_is_a_node_of_its_own() -> None:
    node, _ = only("if (n = = 3) n = 1;", ir.If)
    assert isinstance(node, ir.If)
    assert isinstance(node.cond, ir.Unparsed)


def test_names_of_a_source_never_are_constructs() -> None:
    unit, tree = load("__launch(n); __init(n); __lambda(1, n); __unparsed;")
    assert [type(item) for item in tree.body.block_items] == [ir.FuncCall] * 3 + [ir.ID]
    assert unit.functions[-1].parse().dropped == ()


def test_children_are_in_the_order_of_the_source() -> None:
    node, _ = only("for (int i = 0; i < n; ++i) p[i] = 1;", ir.For)
    assert [type(child) for child in node.children()] == [
        ir.DeclList, ir.BinaryOp, ir.UnaryOp, ir.Assignment,
    ]  # fmt: skip
    decl, _ = only("alignas(16) int a[3] = {n};", ir.Decl)
    assert [type(child) for child in decl.children()] == [ir.ArrayDecl, ir.InitList]


def test_nodes_are_frozen_and_equal_to_themselves_only() -> None:
    one, other = ir.ID("a", at=1), ir.ID("a", at=1)
    assert one != other
    assert len({one, other, one}) == 2
    with pytest.raises(FrozenInstanceError):
        one.name = "b"  # type: ignore[misc]


def test_every_node_type_is_public() -> None:
    work: list[type[ir.Node]] = [ir.Node]
    names = set()
    while work:
        kind = work.pop()
        names.add(kind.__name__)
        work += kind.__subclasses__()
    assert names <= set(ir.__all__)
    assert len(names) > 60


@pytest.mark.parametrize(
    "body",
    [
        "n = " + "(" * 5_000 + "n" + ")" * 5_000 + ";",
        "n = " + "n + " * 20_000 + "n;",
        "n = a" + ".b" * 20_000 + ";",
        "n = a" + "[0]" * 20_000 + ";",
        "n = a" + "()" * 20_000 + ";",
        "n = " + "-" * 5_000 + "n;",
        "if (n) ; else " * 2_000 + ";",
        "n = " + "n ? n : " * 5_000 + "n;",
    ],
)
def test_deep_nesting_is_bounded(body: str) -> None:
    text = f"__global__ void k(float* p, int n) {{ {body} }}"
    begin = time.process_time()
    unit = load_unit("k.cu", text, LoadOptions(read=lambda _: None))
    parsed = unit.functions[-1].parse()
    assert time.process_time() - begin < 20
    assert parsed.tree is not None or parsed.dropped


def test_a_long_sum_is_converted_without_recursion() -> None:
    _, tree = load("n = " + "n + " * 5_000 + "n;")
    (assignment,) = tree.body.block_items
    assert isinstance(assignment, ir.Assignment)
    assert sum(isinstance(node, ir.BinaryOp) for node in assignment.walk()) == 5_000
