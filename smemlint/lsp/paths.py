"""Documents by the paths that `check` would show them under."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from pygls import uris

from smemlint.sources.discovery import SUFFIXES

_WEB = frozenset(("http", "https", "ftp", "ws", "wss", "data", "javascript", "mailto", "about"))


def is_served(uri: str) -> bool:
    """Returns whether a document is analysed: any scheme of an editor is, the web is not."""
    return uri.partition(":")[0].strip().lower() not in _WEB


def path_of(uri: str, language: str) -> str:
    """Returns the path of a document: from the working directory where its file lies below it.

    A document without a file (new, of another machine, a cell of a notebook) has a path that no
    file has, with a suffix that tells its language.
    """
    parts = urlsplit(uri)
    name = parts.path.rpartition("/")[2]
    given = uris.to_fs_path(uri) if parts.scheme == "file" and name else None
    if given is None:
        name = name or "untitled"  # Neovim calls a buffer without a name `file://`
        if parts.fragment:
            name += f"#{parts.fragment}"  # a cell
        if parts.fragment or not name.endswith(tuple(SUFFIXES)):
            name += ".py" if language == "python" else ".cu"
        return name
    path = Path(given)
    here = Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()
