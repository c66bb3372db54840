"""What a fix needs of the declaration of an array, in whichever language it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from smemlint.fix.array_uses import mentions
from smemlint.fix.declarator import Declarator, declarator
from smemlint.sources.languages import is_python_path

if TYPE_CHECKING:
    from smemlint.facts import SharedArray
    from smemlint.finding import Edit
    from smemlint.fix.array_uses import Mentions
    from smemlint.sources.source import Source


class Declaration(Protocol):
    """A declaration whose extents can be made larger."""

    def grown(self, axis: int, extra: int, path: str) -> Edit:
        """Returns the edit that makes one extent larger by `extra`."""

    def spelled(self, axis: int, extra: int) -> str:
        """Returns the declaration with that edit, on one line."""


def declaration_of(source: Source, array: SharedArray) -> Declaration | None:
    """Returns an array's declaration; None where the text at its span is no plain one."""
    found = declarator(source.text, array)
    if found is not None or not is_python_path(source.path):
        return found
    from smemlint.fix.python_declarator import python_declarator

    return python_declarator(source, array)


def mentions_of(found: Declaration, path: str) -> Mentions | None:
    """Returns how the array is named after its declaration; None for a use in any other way."""
    if isinstance(found, Declarator):
        return mentions(found, path)
    from smemlint.fix.python_declarator import PythonDeclarator

    return found.mentions() if isinstance(found, PythonDeclarator) else None
