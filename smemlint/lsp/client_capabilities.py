"""What the client can do, of what it says when the session begins."""

from __future__ import annotations

from lsprotocol import types

from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Client:
    """The capabilities of a client as answers to questions."""

    capabilities: types.ClientCapabilities

    @property
    def asks_for_diagnostics(self) -> bool:
        """Whether it asks for diagnostics, and again on request.

        One that asks only after edits of its own would miss what fixes and other files change; it
        gets its diagnostics unasked.
        """
        text_document, workspace = self.capabilities.text_document, self._workspace
        return (
            text_document is not None
            and text_document.diagnostic is not None
            and workspace.diagnostics is not None
            and bool(workspace.diagnostics.refresh_support)
        )

    @property
    def asks_again_for_hints(self) -> bool:
        """Whether it accepts that inlay hints are out of date."""
        hints = self._workspace.inlay_hint
        return hints is not None and bool(hints.refresh_support)

    @property
    def asks_again_for_lenses(self) -> bool:
        """Whether it accepts that code lenses are out of date."""
        lens = self._workspace.code_lens
        return lens is not None and bool(lens.refresh_support)

    @property
    def shows_progress(self) -> bool:
        """Whether it shows work that the server begins by itself."""
        window = self.capabilities.window
        return window is not None and bool(window.work_done_progress)

    @property
    def knows_settings(self) -> bool:
        """Whether it can be asked for settings."""
        return bool(self._workspace.configuration)

    @property
    def watches_files(self) -> bool:
        """Whether it says on request when a file changes."""
        watching = self._workspace.did_change_watched_files
        return watching is not None and bool(watching.dynamic_registration)

    @property
    def applies_edits(self) -> bool:
        """Whether it applies what the server edits."""
        return bool(self._workspace.apply_edit)

    @property
    def takes_versions(self) -> bool:
        """Whether edits may name the version of a document that they are made for."""
        edit = self._workspace.workspace_edit
        return edit is not None and bool(edit.document_changes)

    @property
    def shows_previews(self) -> bool:
        """Whether its user confirms edits that say why they are made."""
        edit = self._workspace.workspace_edit
        return (
            self.takes_versions and edit is not None and edit.change_annotation_support is not None
        )

    @property
    def reads_markdown(self) -> bool:
        """Whether a hover may be Markdown."""
        text_document = self.capabilities.text_document
        hover = text_document.hover if text_document is not None else None
        return types.MarkupKind.Markdown in ((hover and hover.content_format) or ())

    @property
    def _workspace(self) -> types.WorkspaceClientCapabilities:
        return self.capabilities.workspace or types.WorkspaceClientCapabilities()
