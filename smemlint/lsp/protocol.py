"""What pygls leaves open in the protocol."""

from __future__ import annotations

from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest
from pygls.protocol import LanguageServerProtocol

from smemlint.lsp.text_sync import OpenDocuments


class Protocol(LanguageServerProtocol):
    """Every request is answered, also one whose parameters cannot be read."""

    def use_documents(self, root_uri: str | None) -> None:
        """Keeps open documents as `text_sync` does; to be called when the session begins."""
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
