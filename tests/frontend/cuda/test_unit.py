"""The loader: units as the evaluator sees them."""

from __future__ import annotations

import time

import pytest

from smemlint.frontend.cuda.unit import CudaUnit, LoadOptions, load_unit

KERNEL = "\n__global__ void after(float* p) {\n  __shared__ float s[32];\n  s[1] = 1;\n}\n"


def load(text: str, files: dict[str, str] | None = None, **options: object) -> CudaUnit:
    found = files or {}
    return load_unit("k/a.cu", text, LoadOptions(read=found.get, **options))  # type: ignore[arg-type]


def test_a_kernel_of_an_include_is_reported_there() -> None:
    unit = load(
        '#define N 8\n#include "b.cuh"\n#include "missing.h"\n', {"k/b.cuh": "// x\n" + KERNEL}
    )
    (kernel,) = unit.functions_named("after")
    assert unit.files == ("k/a.cu", "k/b.cuh")
    assert unit.not_found == ("missing.h",)
    assert (kernel.span.path, kernel.span.line, kernel.span.column) == ("k/b.cuh", 3, 17)
    assert kernel.is_kernel and not kernel.is_device
    assert unit.text(kernel.span) == "after"


def test_trees_conditions_and_spans() -> None:
    unit = load(
        "__global__ void f() {\n#ifdef FAST\n  g(1, 2);\n#endif\n  h(3);\n}\nconst int N = 3;\n"
    )
    tree = unit.functions_named("f")[0].parse().tree
    assert tree is not None
    first, second = tree.body.block_items
    assert unit.conditions(first) == ("defined(FAST)",)
    assert unit.conditions(second) == ()
    assert unit.text(unit.span(first)) == "g(1, 2)"
    (constant,) = unit.declarations["N"]
    declaration = constant.parse()
    assert declaration is not None and declaration.name == "N"


def test_a_macro_defined_under_an_assumption_passes_it_on() -> None:
    unit = load("#ifdef WIDE\n#define W 4\n#endif\nvoid f() { g(W); h(5); }\n")
    tree = unit.functions_named("f")[0].parse().tree
    assert tree is not None
    call = tree.body.block_items[0]
    assert unit.conditions(call.args[0]) == ("defined(WIDE)",)
    assert unit.conditions(tree.body.block_items[1]) == ()


def test_enumerators_name_their_enum() -> None:
    unit = load("enum Mode { A, B = 3 }; enum class C { X };")
    assert unit.declarations["B"] == unit.declarations["Mode"]
    assert "X" not in unit.declarations and "C" in unit.declarations


def test_expressions_see_the_macros() -> None:
    unit = load("#define TILE 16\n")
    expression = unit.parse_expression("TILE * 2")
    assert expression is not None and expression.left.value == "16"


N = 20_000
HOSTILE = {
    "empty": "",
    "binary": bytes(range(256)).decode("latin1") * 100,
    "round": "(" * N + KERNEL,
    "square": "[" * N + KERNEL,
    "stray": ")" * N + KERNEL,
    "curly": "{" * N + KERNEL,
    "mixed": "([{" * N + KERNEL,
    "deep body": "void f()" + "{" * N + "}" * N + KERNEL,
    "namespaces": "namespace a {" * N + "}" * N + KERNEL,
    "records": "struct a {" * N + KERNEL,
    "ifs": "#ifdef A\n" * N + "#endif\n" * N + KERNEL,
    "open ifs": "".join(f"#ifdef A{i}\n" for i in range(N)) + KERNEL,
    "elifs": "#if 0\n" + "#elif 0\n" * N + "#endif\n" + KERNEL,
    "comment": "/*" * N + KERNEL,
    "string": '"\\"' * N + KERNEL,
    "raw": 'R"x(' * N + KERNEL,
    "line": "x+" * N + KERNEL,
    "chain": "".join(f"#define A{i} A{i + 1}\n" for i in range(N)) + "A0\n" + KERNEL,
    "bomb": "".join(f"#define A{i + 1} A{i} A{i} A{i} A{i}\n" for i in range(30))
    + "A30\n"
    + KERNEL,
    "calls": "#define F(x) x\n" + "F(" * N + KERNEL,
    "recursive": "#define A B\n#define B A\nA B\n#define F(x) F(x)\nF(F(1))" + KERNEL,
    "comparisons": "int x = " + "a < b, " * N + "1;" + KERNEL,
    "angles": "template <class T " * N + KERNEL,
    "if brackets": "#if " + "(" * N + "\n#endif" + KERNEL,
    "if nots": "#if " + "!" * N + "1\n#endif" + KERNEL,
    "if number": "#if " + "1" * N + "\n#endif" + KERNEL,
    "hashes": "#\n# # #\n#define\n#define 1\n#undef\n#include\n#if\n#elif\n#pragma\n#define F(\nF",
    "cr": KERNEL.replace("\n", "\r"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_ends_soon_and_raises_nothing(name: str) -> None:
    begin = time.process_time()
    load(HOSTILE[name])
    assert time.process_time() - begin < 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["round", "square", "stray", "mixed", "chain", "bomb", "ifs"])
def test_a_kernel_behind_hostile_text_is_found(name: str) -> None:
    assert len(load(HOSTILE[name]).functions_named("after")) == 1


def test_what_was_not_read_is_said() -> None:
    bomb, comment = load(HOSTILE["bomb"]), load(HOSTILE["comment"])
    assert [n.reason.code for n in bomb.notices] == ["too-large"]
    assert [n.reason.code for n in comment.notices] == ["syntax"]
    assert load("int x;\nvoid f() { g(1; }").notices[0].reason.code == "syntax"
