"""What a fix needs of the declaration of an array, in whichever language it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.fix.array_uses import mentions
from smemlint.fix.declarator import Declarator, declarator
from smemlint.sources.languages import is_python_path

if TYPE_CHECKING:
    from typing import TypeAlias

    from smemlint.facts import SharedArray
    from smemlint.fix.array_uses import Mentions
    from smemlint.fix.python_declarator import PythonDeclarator
    from smemlint.sources.source import Source

    Declaration: TypeAlias = Declarator | PythonDeclarator


def declaration_of(source: Source, array: SharedArray) -> Declaration | None:
    """Returns an array's declaration; None where the text at its span is no plain one."""
    found = declarator(source.text, array)
    if found is not None or not is_python_path(source.path):
        return found
    from smemlint.fix.python_declarator import python_declarator

    return python_declarator(source, array)


def mentions_of(found: Declaration, path: str) -> Mentions | None:
    """Returns how the array is named after its declaration; None for a use in any other way."""
    return mentions(found, path) if isinstance(found, Declarator) else found.mentions()
