"""Standard input of the server, whose messages have a size limit."""

from __future__ import annotations

import logging
from io import BufferedIOBase
from typing import BinaryIO

from smemlint.limits.budgets import MAX_LSP_HEADER, MAX_LSP_MESSAGE

_log = logging.getLogger(__name__)


class BoundedInput(BufferedIOBase):
    """Reads headers and bodies as pygls asks for them; one that is too long ends the input.

    Nothing behind it can be read: where the next message begins is known only at its end, for which
    a client that announces 3 GB may let the server wait for ever.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self, size: int | None = -1, /) -> bytes:
        """Returns a header line; empty at the end of the input."""
        line = self._stream.readline(MAX_LSP_HEADER)
        if len(line) == MAX_LSP_HEADER:
            _log.error("a header of more than %d bytes", MAX_LSP_HEADER)
            return b""
        return line

    def read(self, size: int | None = -1, /) -> bytes:
        """Returns a body of `size` bytes; empty at the end of the input."""
        if size is None or not 0 <= size <= MAX_LSP_MESSAGE:
            _log.error("a message of %s bytes: the limit is %d", size, MAX_LSP_MESSAGE)
            return b""
        return self._stream.read(size)
