"""Open documents that take edits piece by piece; lines end as the protocol says, nowhere else.

`str.splitlines`, which pygls counts lines by, also ends them at form feeds and other characters, so
that pieces of a text that holds some would end up in the wrong place.
"""

from __future__ import annotations

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from smemlint.frontend.cuda.lexer.tokens import LineMap
from smemlint.lsp.positions import code_points


class OpenDocument(TextDocument):
    """The text of a document as the client has it."""

    def _apply_incremental_change(self, change: types.TextDocumentContentChangePartial) -> None:
        text = self.source
        starts = LineMap(text).starts
        encoding = types.PositionEncodingKind(self.position_codec.encoding).value

        def offset(position: types.Position) -> int:
            if position.line >= len(starts):
                return len(text)
            start, *behind = starts[position.line : position.line + 2]
            row = text[start : behind[0] if behind else None].rstrip("\r\n")
            return start + code_points(row, position.character, encoding)

        start, stop = offset(change.range.start), offset(change.range.end)
        self._source = text[:start] + change.text + text[max(start, stop) :]


class OpenDocuments(Workspace):
    """The open documents of a client."""

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> TextDocument:
        return OpenDocument(
            doc_uri,
            source=source,
            version=version,
            language_id=language_id,
            sync_kind=self._sync_kind,
            position_codec=self.position_codec,
        )
