"""Edits of Python sources: in one token each, everything else byte for byte."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemlint.facts import Span
from smemlint.finding import Edit
from smemlint.fix.python_edits import (
    CannotEdit,
    edit_python,
    insert_comment_lines,
    lines_in_strings,
)

MODULE = '''# head
import cupy as cp

@decorated
# between
def f(a,
      b):  # tail
    source = r"""
__shared__ float tile[32][32];
"""  # behind
    if a:
        pass
    # before else
    else:
        x = (1 +
             2)
        y = 1 + \\
            2
    return f"""
{a}"""

# end
'''


def edit(line: int, column: int, end_line: int, end_column: int, text: str) -> Edit:
    return Edit(Span("k.py", line, column, end_line, end_column), text)


def textual(text: str, e: Edit) -> str:
    rows = text.splitlines(keepends=True)
    starts = [sum(map(len, rows[:k])) for k in range(len(rows) + 1)]
    start = starts[e.span.line - 1] + e.span.column - 1
    end = starts[e.span.end_line - 1] + e.span.end_column - 1
    return text[:start] + e.text + text[end:]


@pytest.mark.parametrize(
    "e",
    [
        pytest.param(edit(9, 27, 9, 29, "33"), id="in a string"),
        pytest.param(edit(1, 3, 1, 7, "top"), id="in a comment"),
        pytest.param(edit(5, 1, 6, 1, ""), id="a line of its own"),
        pytest.param(edit(13, 1, 14, 1, ""), id="before else"),
        pytest.param(edit(7, 10, 7, 18, ""), id="a comment behind code"),
        pytest.param(edit(10, 4, 10, 12, "  # other"), id="another comment"),
        pytest.param(edit(22, 1, 23, 1, ""), id="the last line"),
        pytest.param(edit(11, 8, 11, 9, "b"), id="a name"),
        pytest.param(edit(16, 14, 16, 15, "3"), id="a number"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_one_token_changes(e: Edit, newline: str) -> None:
    text = MODULE.replace("\n", newline)
    assert edit_python(text, [e]) == textual(text, e)


def test_edits_of_one_token_are_made_once_and_together() -> None:
    first, second = edit(9, 23, 9, 25, "64"), edit(9, 27, 9, 29, "65")
    expected = MODULE.replace("[32][32]", "[64][65]")
    assert edit_python(MODULE, [second, first, first]) == expected


@pytest.mark.parametrize(
    "edits",
    [
        [edit(6, 1, 7, 9, "def g(c)")],  # over several tokens
        [edit(9, 27, 9, 29, '"""')],  # ends the literal
        [edit(11, 8, 11, 9, "b c")],  # no name
        [edit(1, 1, 1, 2, "x")],  # no comment
        [edit(9, 23, 9, 27, "1"), edit(9, 25, 9, 29, "2")],  # overlapping
    ],
)
def test_what_fits_in_no_token_is_refused(edits: list[Edit]) -> None:
    with pytest.raises(CannotEdit):
        edit_python(MODULE, edits)


@pytest.mark.parametrize(
    "text",
    ["def f(:\n", "x = 1\ry = 2\n", "x = '\U000f0080'\n", "(" * 5000, "a if b else " * 2500 + "1"],
)
def test_what_libcst_does_not_keep_is_refused(text: str) -> None:
    with pytest.raises(CannotEdit):
        edit_python(text, [])


def test_bytes_that_are_no_utf8_stay() -> None:
    text = b"# caf\xe9\nx = '\xff'\n".decode("utf-8", "surrogateescape")
    changed = edit_python(text, [edit(2, 1, 2, 2, "y")])
    assert changed.encode("utf-8", "surrogateescape") == b"# caf\xe9\ny = '\xff'\n"


def test_comment_lines_stand_wherever_python_takes_one() -> None:
    refused = {9, 10, 18, 20}  # in strings, behind a backslash
    for line in range(1, 21):
        row = MODULE.splitlines()[line - 1]
        changed, left = insert_comment_lines(MODULE, {line: "# smemlint: ignore"})
        if not row or row.lstrip().startswith("#"):
            continue
        assert left == (frozenset({line}) if line in refused else frozenset()), line
        rows = MODULE.splitlines(keepends=True)
        if not left:
            indent = row[: len(row) - len(row.lstrip())]
            rows.insert(line - 1, f"{indent}# smemlint: ignore\n")
        assert changed == "".join(rows)
        assert ast.dump(ast.parse(changed)) == ast.dump(ast.parse(MODULE))


def test_lines_that_begin_in_strings() -> None:
    assert lines_in_strings(MODULE) == {9, 10, 20}


@settings(max_examples=60)
@given(st.data())
def test_a_comment_line_changes_no_statement(data: st.DataObject) -> None:
    blocks = st.recursive(
        st.sampled_from(["x = 1\n", "f(1,\n  2)\n", "'''a\nb'''\n", "y = [\n 1,\n]  # c\n"]),
        lambda inner: st.lists(inner, min_size=1, max_size=3).map(
            lambda parts: "if x:\n" + "".join(f"    {row}\n" for row in "".join(parts).splitlines())
        ),
        max_leaves=6,
    )
    text = "".join(data.draw(st.lists(blocks, min_size=1, max_size=4)))
    line = data.draw(st.integers(1, text.count("\n")))
    changed, left = insert_comment_lines(text, {line: "# c"})
    assert ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text))
    assert (changed == text) == bool(left)
    assert left <= {line}
