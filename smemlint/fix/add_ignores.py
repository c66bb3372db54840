"""`--add-ignore`: a pragma in front of every finding, for code that is to be mended later."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

from smemlint.errors import SmemlintError
from smemlint.facts import Span
from smemlint.files.replace import replace_file
from smemlint.files.sandbox import Sandbox
from smemlint.finding import Edit, Finding
from smemlint.fix.edits import CannotEdit
from smemlint.sources.languages import CommentStyle

_FORMATTED = re.compile(r"[{}%$]")
"""What an f-string, `%`, `.format` or a `Template` would read as its own."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


def add_ignores(findings: Sequence[Finding], reason: str) -> tuple[int, list[Finding]]:
    """Writes `ignore` pragmas into the files; returns how many, and the findings without one.

    A pragma stands on a line of its own before the finding, indented like it. Lines inside macros
    that go over several lines cannot have one, nor can notebooks and Python that does not parse,
    nor strings of Python where the reason holds what formatting reads.

    Raises:
        SmemlintError: a file cannot be read or written.
    """
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(finding.span.path, []).append(finding)
    added, left = 0, []
    for path, found in by_file.items():
        if path.endswith(".ipynb"):
            left += found
            continue
        try:
            data = Sandbox.around(path).read(path)
            text = data.decode("utf-8", "surrogateescape")
            after, done, without = with_ignores(text, found, reason, CommentStyle.of(path))
            if done:
                replace_file(path, after.encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise SmemlintError(f"cannot be changed: {error.strerror}", where=path) from error
        added += done
        left += without
    return added, left


def with_ignores(
    text: str, findings: Sequence[Finding], reason: str, style: CommentStyle
) -> tuple[str, int, list[Finding]]:
    """Returns a text with pragmas for findings, their number, and the findings without one."""
    lines = _LINE.findall(text)
    in_strings: Container[int] = ()
    if style is CommentStyle.PYTHON:
        from smemlint.fix.python_edits import lines_in_strings

        try:
            in_strings = lines_in_strings(text)
        except CannotEdit:
            return text, 0, list(findings)
    names: dict[int, dict[str, None]] = {}
    left: list[Finding] = []
    for finding in findings:
        line = finding.span.line
        above = lines[line - 2] if line > 1 else ""
        is_formatted = line in in_strings and _FORMATTED.search(reason) is not None
        if line > len(lines) or above.rstrip("\r\n").endswith("\\") or is_formatted:
            left.append(finding)
        else:
            names.setdefault(line, {})[finding.name] = None
    ignores = {line: f"smemlint: ignore[{', '.join(names[line])}] {reason}" for line in names}
    if style is CommentStyle.PYTHON:
        text, refused = _with_python_comments(text, lines, ignores, in_strings)
        left += [f for f in findings if f.span.line in refused]
        return text, len(ignores.keys() - refused), left
    for line in sorted(ignores, reverse=True):
        lines.insert(line - 1, _comment_line(lines[line - 1], f"// {ignores[line]}"))
    return "".join(lines), len(names), left


def _comment_line(row: str, comment: str) -> str:
    """Returns a comment on a line of its own, indented like a row and with its line end."""
    indent = row[: len(row) - len(row.lstrip())].rstrip("\r\n")
    end = row[len(row.rstrip("\r\n")) :] or "\n"
    return indent + comment.rstrip() + end


def _with_python_comments(
    text: str, lines: Sequence[str], ignores: Mapping[int, str], in_strings: Container[int]
) -> tuple[str, set[int]]:
    """Inserts comments of CUDA C++ into string literals, of Python elsewhere.

    Returns the text and the lines before which no comment can stand.
    """
    from smemlint.fix.python_edits import edit_python, insert_comment_lines

    refused: set[int] = set()
    placed: list[int] = []
    for line in sorted((n for n in ignores if n in in_strings), reverse=True):
        row = _comment_line(lines[line - 1], f"// {ignores[line]}")
        try:
            text = edit_python(text, [Edit(Span("", line, 1, line, 1), row)])
            placed.append(line)
        except CannotEdit:
            refused.add(line)
    shifted = {n + sum(p < n for p in placed): n for n in ignores if n not in in_strings}
    comments = {new: f"# {ignores[old]}".rstrip() for new, old in shifted.items()}
    text, left = insert_comment_lines(text, comments)
    return text, refused | {shifted[n] for n in left}
