"""What an editor offers on a finding: its fix, and pragmas that suppress it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types

from smemlint.add_ignores import with_ignores
from smemlint.facts import Span
from smemlint.finding import Edit
from smemlint.lsp.convert import diagnostic
from smemlint.pragmas import CommentStyle
from smemlint.source import lines_of

if TYPE_CHECKING:
    from smemlint.finding import Finding
    from smemlint.lsp.analysis import Analysis
    from smemlint.lsp.positions import Places


@dataclass(frozen=True, slots=True)
class Offer:
    """What the edits of one analysis are made for.

    Attributes:
        analysis: that the findings are of.
        places: of its files.
        versions: of open documents by URI; None where the client takes plain changes only.
    """

    analysis: Analysis
    places: Places
    versions: dict[str, int | None] | None

    def actions(self, wanted: types.Range) -> list[types.CodeAction]:
        """Quick fixes for the findings that a range touches."""
        found: list[types.CodeAction] = []
        for finding in self.analysis.findings:
            if _touch(self.places.range(finding.span), wanted):
                found += self._of(finding)
        return found

    def _of(self, finding: Finding) -> Iterator[types.CodeAction]:
        fix = finding.fix
        if fix is not None:
            why = f" ({fix.why_unsafe})" if fix.why_unsafe else ""
            yield self._action(finding, fix.title + why, fix.edits, is_preferred=True)
        if finding.code.startswith("SML9"):
            return
        here = ignore_here(finding, self.places.text_of(finding.span.path))
        if here is not None:
            yield self._action(finding, f"suppress {finding.name} here", [here])
        in_file = ignore_in_file(finding, self.places.text_of(finding.span.path))
        yield self._action(finding, f"suppress {finding.name} in this file", [in_file])

    def _action(
        self, finding: Finding, title: str, edits: Sequence[Edit], *, is_preferred: bool = False
    ) -> types.CodeAction:
        return types.CodeAction(
            title=title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic(finding, self.places)],
            is_preferred=is_preferred or None,
            edit=self._workspace_edit(edits),
        )

    def _workspace_edit(self, edits: Sequence[Edit]) -> types.WorkspaceEdit:
        files: dict[str, list[types.TextEdit]] = {}
        for edit in edits:
            uri = self.places.uri_of(edit.span.path)
            files.setdefault(uri, []).append(
                types.TextEdit(self.places.range(edit.span), edit.text)
            )
        if self.versions is None:
            return types.WorkspaceEdit(changes=files)
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(uri, self.versions.get(uri)),
                    changes,
                )
                for uri, changes in files.items()
            ]
        )


def ignore_here(finding: Finding, text: str) -> Edit | None:
    """A pragma on a line of its own before the finding; None where no comment can stand."""
    path, line = finding.span.path, finding.span.line
    after, added, _ = with_ignores(text, [finding], "", CommentStyle.of(path))
    if not added:
        return None
    return Edit(Span(path, line, 1, line, 1), lines_of(after)[line - 1] + _line_end(text))


def ignore_in_file(finding: Finding, text: str) -> Edit:
    """A pragma for the file at its top, behind what Python reads in the first two lines."""
    path, line = finding.span.path, 1
    mark = "//"
    if CommentStyle.of(path) is CommentStyle.PYTHON:
        mark = "#"
        for row in lines_of(text)[:2]:
            if row.startswith("#!") or (row.startswith("#") and "coding" in row):
                line += 1
    pragma = f"{mark} smemlint: ignore-file[{finding.name}]"
    return Edit(Span(path, line, 1, line, 1), pragma + _line_end(text))


def _line_end(text: str) -> str:
    """The end that the lines of a text have."""
    return "\r\n" if "\r\n" in text else "\n"


def _touch(a: types.Range, b: types.Range) -> bool:
    return (a.start.line, a.start.character) <= (b.end.line, b.end.character) and (
        b.start.line,
        b.start.character,
    ) <= (a.end.line, a.end.character)
