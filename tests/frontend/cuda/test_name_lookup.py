"""Which scopes a name means, and the directives that widen it."""

import pytest

from smemlint.frontend.cuda.lexer.tokens import lex
from smemlint.frontend.cuda.scanner.name_lookup import Directives, directives, scopes_meant

A, B, AB, CLASS, GLOBAL = ("a",), ("b",), ("a", "b"), ("a", "K"), ()


@pytest.mark.parametrize(
    ("scopes", "name", "here", "expected"),
    [
        ([A, B], "x", A, [A]),
        ([A, B], "x", ("b", "c"), [B]),
        ([A, GLOBAL], "x", B, [GLOBAL]),
        ([A, GLOBAL], "x", CLASS, [A]),
        ([A, CLASS], "x", A, [A]),
        ([A, CLASS], "x", CLASS, [CLASS]),
        ([A, B, AB], "b::x", A, [AB]),
        ([A, B, AB], "b::x", GLOBAL, [B]),
        ([A, AB], "b::x", GLOBAL, [AB]),
        ([("a", "v1"), ("b", "v2")], "a::x", GLOBAL, [("a", "v1")]),
        ([A, B], "unknown::x", GLOBAL, [A, B]),
        ([A, B], "x", GLOBAL, [A, B]),
        ([A, ("n", "o")], "short::x", GLOBAL, [("n", "o")]),
        ([A, ("n", "open")], "x", GLOBAL, [("n", "open")]),
        ([A, B], "taken", GLOBAL, [B]),
    ],
)
def test_the_innermost_scope_is_meant(scopes, name, here, expected):
    known = Directives({("open",)}, {"taken": {B}}, {"short": ("n", "o")})
    found = scopes_meant(scopes, tuple(name.split("::")), here, lambda: known)
    assert sorted(found) == sorted(expected)


def test_directives_are_read():
    text = "using namespace a::b; using c::d::e; using F = int; namespace g = ::h::i; using j;"
    found = directives(lex(text, "k.cu"))
    assert found == Directives({("a", "b")}, {"e": {("c", "d")}}, {"g": ("h", "i")})
