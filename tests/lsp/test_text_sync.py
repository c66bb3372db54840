"""Documents after edits that come piece by piece, in every encoding of positions."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("pygls", reason="pygls is not installed: pip install 'smemlint[lsp]'")

from lsprotocol import types

from smemlint.lsp.protocol import OpenDocument, OpenDocuments

ALPHABET = ("a", "é", "\U0001f642", "\n", "\r\n", "\r", "\f", "\u2028", "\x1c", " ")
ENCODINGS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def document(text: str, encoding: str) -> OpenDocument:
    kind = types.TextDocumentSyncKind.Incremental
    documents = OpenDocuments(None, kind, position_encoding=types.PositionEncodingKind(encoding))
    documents.put_text_document(types.TextDocumentItem("file:///k.cu", "cuda-cpp", 1, text))
    opened = documents.get_text_document("file:///k.cu")
    assert isinstance(opened, OpenDocument)
    return opened


def position(text: str, offset: int, encoding: str) -> types.Position:
    """Of a character, by the protocol: lines end with LF, CR LF or CR."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    name, width = ENCODINGS[encoding]
    row = before.rpartition("\n")[2]
    return types.Position(before.count("\n"), len(row.encode(name)) // width)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_random_edits_give_the_text_that_the_client_has(encoding):
    chosen = random.Random(encoding)
    for _ in range(300):
        pieces = [chosen.choice(ALPHABET) for _ in range(chosen.randrange(20))]
        text = "".join(pieces)
        ends = [0]
        for piece in pieces:
            ends.append(ends[-1] + len(piece))
        places = [e for e in ends if text[e - 1 : e + 1] != "\r\n"]  # no place between the two
        start, stop = sorted(chosen.choices(places, k=2))
        new = "".join(chosen.choices(ALPHABET, k=chosen.randrange(4)))
        opened = document(text, encoding)
        where = types.Range(position(text, start, encoding), position(text, stop, encoding))
        opened.apply_change(types.TextDocumentContentChangePartial(where, new))
        assert opened.source == text[:start] + new + text[stop:]


def test_places_behind_the_end_are_the_end():
    opened = document("a\nb", "utf-16")
    far = types.Range(types.Position(0, 9), types.Position(7, 0))
    opened.apply_change(types.TextDocumentContentChangePartial(far, "c"))
    assert opened.source == "ac"


def test_a_whole_text_replaces_all():
    opened = document("a\nb", "utf-16")
    opened.apply_change(types.TextDocumentContentChangeWholeDocument("x"))
    assert opened.source == "x"
