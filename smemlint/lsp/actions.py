"""What an editor offers on findings: their fixes, also all at once, and pragmas that suppress."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve
from lsprotocol import types

from smemlint.facts import Span
from smemlint.finding import Edit, Finding
from smemlint.fix.add_ignores import with_ignores
from smemlint.fix.edits import compatible
from smemlint.lazy_dataclasses import dataclass
from smemlint.lsp.analysis import Analysis
from smemlint.lsp.convert import diagnostic
from smemlint.lsp.fix_all import COMMAND
from smemlint.lsp.positions import Places
from smemlint.sources.languages import CommentStyle
from smemlint.sources.source import lines_of

FIX_ALL = "source.fixAll.smemlint"


@dataclass(frozen=True, slots=True)
class Offer:
    """What the edits of one analysis are made for.

    Attributes:
        versions: of open documents by URI; None where the client takes plain changes only.
        shows_previews: the client lets its user confirm edits that say why they are made.
        applies_edits: the client applies what the server edits.
    """

    analysis: Analysis
    places: Places
    versions: dict[str, int | None] | None
    shows_previews: bool = False
    applies_edits: bool = False

    def actions(
        self, requested: types.Range, kinds: Sequence[str] | None = None
    ) -> list[types.CodeAction]:
        """Returns quick fixes for the findings that a range touches, and for the whole file."""
        found: list[types.CodeAction] = []
        if _is_wanted(types.CodeActionKind.QuickFix, kinds):
            for finding in self.analysis.findings:
                if _touch(self.places.range(finding.span), requested):
                    found += self._of(finding)
        if _is_wanted(FIX_ALL, kinds):
            found += self._of_file(is_touched=bool(found) or kinds is not None)
        return found

    def _of_file(self, *, is_touched: bool) -> Iterator[types.CodeAction]:
        """Returns safe fixes as an edit that may be made on save; all of them as a command."""
        safe = compatible(self.analysis.findings, with_unsafe=False)
        if safe:
            edit = self.workspace_edit([e for fix in safe for e in fix.edits])
            yield types.CodeAction("apply all safe fixes of this file", FIX_ALL, edit=edit)
        every = {f.fix.edits for f in self.analysis.findings if f.fix is not None}
        if len(every) > 1 and is_touched and self.applies_edits:
            title = f"apply all {len(every)} fixes of this file, and check them together"
            uri = self.places.uri_of(self.analysis.path)
            command = types.Command(title, COMMAND, arguments=[uri])
            yield types.CodeAction(title, types.CodeActionKind.QuickFix, command=command)

    def _of(self, finding: Finding) -> Iterator[types.CodeAction]:
        fix = finding.fix
        if fix is not None:
            why = f" ({fix.why_unsafe})" if fix.why_unsafe else ""
            action = self._action(finding, fix.title + why, fix.edits, is_preferred=True)
            yield action
            if self.shows_previews:
                yield evolve(
                    action,
                    title=f"preview: {fix.title}",
                    is_preferred=None,
                    edit=self._to_confirm(fix.title, finding.message, fix.edits),
                )
        if finding.is_notice:
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
            edit=self.workspace_edit(edits),
        )

    def workspace_edit(self, edits: Sequence[Edit]) -> types.WorkspaceEdit:
        """Edits as the client takes them."""
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

    def _to_confirm(self, title: str, why: str, edits: Sequence[Edit]) -> types.WorkspaceEdit:
        """Edits that the client shows before it makes them."""
        plain = self.workspace_edit(edits)
        changes = [
            evolve(
                change,
                edits=[
                    types.AnnotatedTextEdit("fix", edit.range, edit.new_text)
                    for edit in change.edits
                    if isinstance(edit, types.TextEdit)
                ],
            )
            for change in plain.document_changes or ()
            if isinstance(change, types.TextDocumentEdit)
        ]
        annotation = types.ChangeAnnotation(title, needs_confirmation=True, description=why)
        return types.WorkspaceEdit(document_changes=changes, change_annotations={"fix": annotation})


def ignore_here(finding: Finding, text: str) -> Edit | None:
    """Returns a pragma on a line of its own before the finding; None where no comment can stand."""
    path, line = finding.span.path, finding.span.line
    after, added, _ = with_ignores(text, [finding], "", CommentStyle.of(path))
    if not added:
        return None
    return Edit(Span(path, line, 1, line, 1), lines_of(after)[line - 1] + _line_end(text))


def ignore_in_file(finding: Finding, text: str) -> Edit:
    """Returns a pragma for the file at its top, behind what Python reads in the first two lines."""
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
    """Returns the end that the lines of a text have."""
    return "\r\n" if "\r\n" in text else "\n"


def _is_wanted(kind: str, kinds: Sequence[str] | None) -> bool:
    """Returns whether a kind, or one above it, was asked for."""
    return kinds is None or any(kind == k or kind.startswith(f"{k}.") or not k for k in kinds)


def _touch(a: types.Range, b: types.Range) -> bool:
    return (a.start.line, a.start.character) <= (b.end.line, b.end.character) and (
        b.start.line,
        b.start.character,
    ) <= (a.end.line, a.end.character)
