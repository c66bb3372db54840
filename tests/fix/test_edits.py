"""Edits on texts: order, overlap, identity."""

from __future__ import annotations

import pytest

from smemlint.facts import Span
from smemlint.finding import Edit, Finding, Fix, Severity
from smemlint.fix.apply import edited
from smemlint.fix.edits import applied, compatible


def edit(line: int, column: int, end_column: int, text: str, path: str = "k.cu") -> Edit:
    return Edit(Span(path, line, column, line, end_column), text)


def finding(*edits: Edit, is_safe: bool = False) -> Finding:
    fix = Fix("do", edits, is_safe, "" if is_safe else "because")
    return Finding("SML101", "bank-conflict", Severity.WARNING, "m", edits[0].span, fix=fix)


def test_edits_are_applied_from_the_back_and_once():
    edits = [edit(1, 2, 3, "BB"), edit(2, 1, 1, "+"), edit(1, 4, 4, "!"), edit(1, 2, 3, "BB")]
    assert applied("abcd\r\nef", edits) == "aBBc!d\r\n+ef"
    with pytest.raises(ValueError, match="overlap"):
        applied("abcd", [edit(1, 1, 3, "x"), edit(1, 2, 4, "y")])


def test_fixes_that_touch_wait():
    first, same = finding(edit(1, 1, 3, "x")), finding(edit(1, 1, 3, "x"))
    touching, apart = finding(edit(1, 3, 5, "y")), finding(edit(1, 6, 6, "z"))
    both = finding(edit(1, 9, 9, "v"), edit(1, 2, 3, "w"))
    elsewhere = finding(edit(1, 1, 3, "x", "other.cu"))
    chosen = compatible([first, same, touching, both, apart, elsewhere], with_unsafe=True)
    assert chosen == [first.fix, apart.fix, elsewhere.fix]
    assert compatible([first, apart], with_unsafe=False) == []
    safe = finding(edit(1, 1, 3, "x"), is_safe=True)
    assert compatible([first, safe], with_unsafe=False) == [safe.fix]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"ab\r\ncd\r\n", b"ab\r\nc+d\r\n"),
        (b"\xef\xbb\xbfab\ncd", b"\xef\xbb\xbfab\nc+d"),
        (b"\xe9\xe2\x82\xff\nc\xfcd \xe2\x82\xac", None),
        ("\u20ac\U0001f600\nc\u00fcd".encode(), None),
        (b"ab\rcd", b"ab\rc+d"),
    ],
)
def test_bytes_that_are_not_edited_stay(before, after):
    column = 2 if after is not None else 3
    expected = after if after is not None else before.replace(b"d", b"+d", 1)
    assert edited(before, [edit(2, column, column, "+")]) == expected
