"""The lexer."""

from __future__ import annotations

import pytest

from smemlint.frontend.cuda.lexer.tokens import (
    LineMap,
    angle_end,
    lex,
    lex_file,
    matching,
    spelling_of,
    split_commas,
)


def texts(text: str) -> list[str]:
    return [token.text for token in lex(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k<<<g, b>>>(x)", ["k", "<<<", "g", ",", "b", ">", ">", ">", "(", "x", ")"]),
        ("k << <g, b >> >(x)", ["k", "<<<", "g", ",", "b", ">", ">", ">", "(", "x", ")"]),
        ("operator<< <int>(s)", ["operator", "<<", "<", "int", ">", "(", "s", ")"]),
        ("a << <= b << << c", ["a", "<<", "<=", "b", "<<", "<<", "c"]),
        ("a<b<c>> d >>= 1", ["a", "<", "b", "<", "c", ">", ">", "d", ">", ">=", "1"]),
        ("1'000 .5f 1e-5f 0x1FULL a.b", ["1'000", ".5f", "1e-5f", "0x1FULL", "a", ".", "b"]),
        ('u8"a\\"b" L\'c\' R"x(a)"b)x"', ['u8"a\\"b"', "L'c'", 'R"x(a)"b)x"']),
        ('R"""(a)", (b)""" c', ['R"""(a)", (b)"""', "c"]),
        ("a /* b */ c // d \\\n e\nf", ["a", "c", "f"]),
        ("#define A \\\r\n 1", ["#", "define", "A", "1"]),
        ("größe \ufeff_x$1", ["größe", "_x$1"]),
        ('"open\nnext', ['"open', "next"]),
    ],
)
def test_spellings(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_kinds_offsets_and_line_starts() -> None:
    a, b, c, d = lex('x = "é" \n /* */ 7', file=4)
    assert [t.kind for t in (a, b, c, d)] == ["identifier", "operator", "string", "number"]
    assert [(t.start, t.end) for t in (a, b, c, d)] == [(0, 1), (2, 3), (4, 7), (16, 17)]
    assert [t.first_on_line for t in (a, b, c, d)] == [True, False, False, True]
    assert {t.file for t in (a, b, c, d)} == {4}


def test_what_is_passed_over_is_counted() -> None:
    lexed = lex_file("a \x00\x00 @ b \ufffd")
    assert [t.text for t in lexed.tokens] == ["a", "b"]
    assert (lexed.skipped, lexed.first_skipped) == (4, 2)
    assert lex_file("x /* y").unterminated == 2
    assert lex_file("x /**/").unterminated is None
    assert lex_file("/*/").unterminated == 0
    assert lex_file("a b c d", limit=2).truncated == 3


def test_brackets() -> None:
    tokens = lex("f(a[1], {2}) ) x<(1>2), y> z")
    assert matching(tokens, 1) == 10
    opening = next(i for i, t in enumerate(tokens) if t.text == "<")
    assert tokens[angle_end(tokens, opening) + 1].text == "z"
    assert angle_end(lex("a < b; c > d"), 1) == -1
    assert angle_end(lex("a < b) > d"), 1) == -1
    assert angle_end(lex("a<b<1>, c> d"), 1, 4) == -1
    assert angle_end(lex("a<n < 32 ? n : 32> b"), 1) == 9
    assert angle_end(lex("a<n < 32 && m> b"), 1) == 7
    assert angle_end(lex("a<b<32>::n ? 1 : 2> c"), 1) == 12


def test_split_commas() -> None:
    assert [spelling_of(p) for p in split_commas(lex("f<a, b>(1, 2), x < 3, {4, 5}"))] == [
        "f<a, b>(1, 2)",
        "x<3",
        "{4, 5}",
    ]
    assert split_commas([]) == []


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_map(end: str) -> None:
    text = f"ab{end}é{end}{end}x"
    lines = LineMap(text)
    assert lines(0) == (1, 1)
    assert lines(text.index("é")) == (2, 1)
    assert lines(text.index("x")) == (4, 1)
    assert lines.offset(4, 1) == text.index("x")
