"""What a statement may change and what it names, read from its text."""

from __future__ import annotations

import pytest

from smemlint.analysis.simt.loops.mod_ref import ModRef, mod_ref_of
from smemlint.frontend.cuda.unit import LoadOptions, load_unit


def effects(statement: str) -> ModRef | None:
    text = f"__global__ void k() {{ {statement} }}"
    (function,) = load_unit("k.cu", text, LoadOptions(read=lambda _: None)).functions
    tree = function.parse().tree
    assert tree is not None
    (node,) = tree.body.block_items
    return mod_ref_of(node)


@pytest.mark.parametrize(
    ("statement", "modified", "rebound", "referenced"),
    [
        ("a = b + c;", {"a"}, {"a"}, {"a", "b", "c"}),
        ("a[i].x += b;", {"a"}, set(), {"a", "i", "b"}),
        ("*p = b;", {"p"}, set(), {"p", "b"}),
        ("++n;", {"n"}, {"n"}, {"n"}),
        ("-n;", set(), set(), {"n"}),
        ("for (int i = 0; i < n; i++) a[i] = i;", {"a"}, set(), {"a", "n"}),
        ("if (n) { float x = b; x = c; }", set(), set(), {"n", "b", "c"}),
        ("a = s.length;", {"a"}, {"a"}, {"a", "s"}),
        ("{ int& r = a[i]; r *= 2; }", {"a"}, set(), {"a", "i"}),
        ("{ auto* p = &a[i]; auto& r = *p; r = 2; }", {"a"}, set(), {"a", "i"}),
        ("{ int* p; p = a; p[1] = 2; }", {"a"}, set(), {"a"}),
        ("{ const int& r = a[i]; b = r; }", {"b"}, {"b"}, {"a", "b", "i"}),
    ],
)
def test_names(statement, modified, rebound, referenced):
    found = effects(statement)
    assert (found.modified, found.rebound, found.referenced) == (modified, rebound, referenced)
    assert (found.is_arithmetic, found.escapes) == (True, ())


@pytest.mark.parametrize(
    "statement",
    ["while (n) a = 1;", "s.push(1);", 'asm("" : "=r"(a));',
     "switch (n) { default: a = 1; }", "a = sizeof(b);"],
)  # fmt: skip
def test_what_is_more_than_arithmetic(statement):
    assert not effects(statement).is_arithmetic


def test_calls_name_their_functions_and_what_they_are_given():
    found = effects("a = fmaf(b, &c, d[i]);")
    assert (found.callees, found.is_arithmetic) == ({"fmaf"}, True)
    assert [(e.callee, e.index, e.name, e.is_lvalue, e.is_address) for e in found.escapes] == [
        ("fmaf", 0, "b", True, False),
        ("fmaf", 1, "c", True, True),
        ("fmaf", 2, "d", True, False),
    ]


def test_what_is_written_behind_a_sum_may_be_any_of_it():
    found = effects("{ int* p = a + i; *p = 2; }")
    assert [e.name for e in found.escapes] == ["a", "i"]
    assert not found.is_arithmetic


def test_outputs_of_inline_ptx_are_said_to_be_outputs():
    (escape,) = effects('asm("" : "=r"(a) : "r"(b));').escapes
    assert (escape.name, escape.is_output) == ("a", True)


@pytest.mark.parametrize(
    "statement", ["return;", "break;", "p->x = 1;", "static int a = 1;", "goto end;"]
)
def test_what_a_text_does_not_tell(statement):
    assert effects(statement) is None
