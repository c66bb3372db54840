"""Our tokens, handed to an unmodified pycparser through its `lexer=` parameter.

Only the public surface is used, so pycparser 3.0 to the latest 3.x serve alike: the lexer class
takes whatever the parser constructs it with, and tokens are our own class.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from pycparser import CParser, c_ast

from smemlint.lazy_dataclasses import dataclass


@dataclass(slots=True)
class GrammarToken:
    """A token as pycparser wants it: `type` is its role, `value` its CUDA spelling.

    `lineno` is 1 + the token's number in the unit's span table.
    """

    type: str
    value: str
    lineno: int
    column: int = 1
    filename: str = ""


class TokenLexer:
    """The lexer object that serves a token list."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.filename = ""
        self.served = 0
        self._tokens: Sequence[GrammarToken] = ()

    def input(self, tokens: Sequence[GrammarToken], filename: str = "") -> None:
        """Starts over with other tokens."""
        self._tokens = tokens
        self.served = 0
        self.filename = filename

    @property
    def position(self) -> int:
        """Index of the token that the parser looks at: it reads one ahead."""
        return max(min(self.served, len(self._tokens)) - 2, 0)

    def token(self) -> GrammarToken | None:
        """Returns the next token; None at the end."""
        if self.served >= len(self._tokens):
            self.served += 1
            return None
        self.served += 1
        return self._tokens[self.served - 1]


_lexer = TokenLexer()


@cache
def _parser() -> CParser:
    return CParser(lexer=lambda *_, **__: _lexer)


def parse(tokens: Sequence[GrammarToken]) -> c_ast.FileAST:
    """Returns the tree of a whole external declaration.

    Raises:
        SyntaxFailure: with the position in `tokens` where the parser stopped.
    """
    try:
        tree: c_ast.FileAST = _parser().parse(tokens, "")
    except RecursionError as error:
        raise SyntaxFailure(_lexer.position, "it is nested too deeply") from error
    except Exception as error:  # ParseError, and AssertionError or the like on odd input
        raise SyntaxFailure(_lexer.position, _message(error)) from error
    return tree


class SyntaxFailure(Exception):
    """The parser stopped at `position` of the token list."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


def _message(error: Exception) -> str:
    text = str(error).rsplit(": ", 1)
    return text[-1].strip().lower() or type(error).__name__
