"""What pygls leaves open in the protocol: every request is answered, lines end as it says."""

from __future__ import annotations

from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest
from pygls.protocol import LanguageServerProtocol
from pygls.workspace import TextDocument, Workspace

from smemlint.frontend.cuda.lexer.tokens import LineMap
from smemlint.lsp.positions import code_points


class Protocol(LanguageServerProtocol):
    """Every request is answered, also one whose parameters cannot be read."""

    def use_documents(self, root_uri: str | None) -> None:
        """Keeps open documents as `OpenDocuments` does; to be called when the session begins."""
        encoding = self.workspace.position_encoding
        kind = types.TextDocumentSyncKind.Incremental
        self._workspace = OpenDocuments(root_uri, kind, position_encoding=encoding)

    def structure_message(self, data: Any) -> Any:
        """Returns a message as an object.

        Raises:
            JsonRpcException: it has not the shape that its method asks for.
        """
        try:
            return super().structure_message(data)
        except JsonRpcException:
            if isinstance(data.get("id"), (int, str)) and "method" in data:
                self._send_response(data["id"], error=JsonRpcInvalidParams().to_response_error())
            raise

    def handle_message(self, message: Any) -> None:
        """Answers or notes a message; after `shutdown`, every request is an error."""
        is_request = hasattr(message, "method") and hasattr(message, "id")
        if self._shutdown and is_request:
            error = JsonRpcInvalidRequest("the server was shut down")
            self._send_response(message.id, error=error.to_response_error())
            return
        super().handle_message(message)


class OpenDocument(TextDocument):
    """The text of a document as the client has it, which takes edits piece by piece.

    Lines end as the protocol says and nowhere else: `str.splitlines`, which pygls counts lines by,
    also ends them at form feeds, so that pieces of such a text would end up in the wrong place.
    """

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
