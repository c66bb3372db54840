"""Which scopes a name means, and the directives that widen it."""

import pytest

from smemlint.frontend.cuda.lexer.tokens import lex
from smemlint.frontend.cuda.scanner.name_lookup import Scopes, block_directives, scopes_in_sight

A, B, AB, CLASS, GLOBAL = ("a",), ("b",), ("a", "b"), ("a", "K"), ()
IN, OTHER, FAR = ("v", "in"), ("v", "other"), ("n", "o")
DIRECTIVES = {
    GLOBAL: ["namespace n::o", "b::taken", "namespace short=n::o"],
    ("w",): ["namespace a"],
    ("u",): ["namespace u::self", "namespace w"],
}
KNOWN = {A, B, AB, CLASS, ("n",), FAR, ("v",), IN, OTHER, ("w",), ("u",), ("u", "self")}


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
        ([A, B, AB], "::b::x", A, [B]),
        ([A, GLOBAL], "::x", A, [GLOBAL]),
        ([A, AB], "b::x", GLOBAL, [AB]),
        ([A, ("c", "d")], "d::x", GLOBAL, [("c", "d")]),
        ([IN, OTHER], "v::x", GLOBAL, [IN]),
        ([IN, OTHER], "v::other::x", GLOBAL, [OTHER]),
        ([IN, OTHER], "x", ("v", "K"), [IN]),
        ([A, B], "unknown::x", GLOBAL, []),
        ([A, B], "x", GLOBAL, []),
        ([A, FAR], "short::x", GLOBAL, [FAR]),
        ([A, FAR], "x", GLOBAL, [FAR]),
        ([A, FAR], "w::x", GLOBAL, [A]),
        ([A, FAR], "u::x", GLOBAL, [A]),
        ([A, GLOBAL], "x", ("w",), [GLOBAL]),
        ([A, B], "taken", GLOBAL, [B]),
        ([A, GLOBAL], "taken", ("using a::taken",), [A]),
        ([A, FAR], "x", ("using namespace n::o",), [FAR]),
        ([A, B], "x", ("b", "using namespace a"), [B]),
        ([A, B], "z::x", ("using namespace z=a",), [A]),
        ([A, B, AB], "z::x", ("using namespace z=a", "using namespace z=z::b"), [AB]),
    ],
)
def test_the_innermost_scope_is_meant(scopes, name, here, expected):
    unit = Scopes(set(KNOWN), {("v",): {IN}})
    for scope, texts in DIRECTIVES.items():
        unit.directives[scope] = {f"using {text}": None for text in texts}
    if name in ("b::x", "unknown::x", "v::x") or (name == "x" and scopes == [A, B]):
        unit.directives.clear()
    found = scopes_in_sight(scopes, tuple(name.split("::")), here, unit)
    assert sorted(found) == sorted(expected)


def test_directives_are_read():
    text = "using namespace a::b; using c::d::e; using F = int; namespace g = ::h::i; using j;"
    found = list(block_directives(lex(text + "namespace k { int x; }", "k.cu")))
    expected = ["namespace a::b", "c::d::e", "namespace g=::h::i", "j"]
    assert found == [f"using {text}" for text in expected]


def test_directives_of_what_was_not_read_are_resolved_once_each():
    unread = [f"using namespace far{n}" for n in range(40)]
    unit = Scopes({A, B}, directives={GLOBAL: dict.fromkeys(unread)}, in_blocks=tuple(unread))
    assert scopes_in_sight([A, B], ("lib", "x"), A, unit) == frozenset()
    assert len(unit.resolved) <= 3 * len(unread)
