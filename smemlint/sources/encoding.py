"""Encodings: of a Python file (PEP 263), and of the paths that the CUDA tools print."""

from __future__ import annotations

import codecs
import re

_DECLARATION = re.compile(rb"[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)")
_NOTHING = re.compile(rb"[ \t\f]*(?:#[^\r\n]*)?(?:\r\n?|\n)")
_ESCAPED = re.compile(r"(?<!\\)(?:\\[23][0-7]{2})+")


def unescaped_path(path: str) -> str:
    r"""Returns a path that nvcc's `.file` or nvdisasm wrote with bytes above 127 in octal.

    Source: nvcc and nvdisasm 13.0.88 write `学习/k.cu` as `\345\255\246\344\271\240/k.cu`.
    """
    return _ESCAPED.sub(_decoded, path) if "\\" in path else path


def _decoded(run: re.Match[str]) -> str:
    return bytes(int(byte, 8) for byte in run[0][1:].split("\\")).decode("utf-8", "replace")


class CannotDecode(Exception):
    """Python does not read such a file; the message says why, in words."""


def declared(data: bytes) -> str:
    """Returns the declared encoding as Python names it; empty for UTF-8, declared or not.

    Raises:
        CannotDecode: it is none of text that Python knows, or a byte order mark contradicts it.
    """
    has_mark = data.startswith(codecs.BOM_UTF8)
    start = len(codecs.BOM_UTF8) if has_mark else 0
    found = _DECLARATION.match(data, start)
    if found is None:
        first = _NOTHING.match(data, start)
        found = _DECLARATION.match(data, first.end()) if first is not None else None
    if found is None:
        return ""
    name = found[1].decode("ascii", "replace")
    try:
        codec = codecs.lookup(name)
    except LookupError:
        raise CannotDecode(f"declares the encoding `{name}`, which Python does not know") from None
    if codec.name == "utf-8":
        return ""
    if not codec._is_text_encoding:
        raise CannotDecode(f"declares `{name}`, which is no encoding of text")
    if has_mark:
        raise CannotDecode(f"declares the encoding `{name}` behind the byte order mark of UTF-8")
    return codec.name
