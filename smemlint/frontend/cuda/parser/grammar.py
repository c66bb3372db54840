"""The output of desugaring: grammar tokens, what was lost, and the names that are known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from smemlint.frontend.cuda.lexer.keywords import OPERATORS
from smemlint.frontend.cuda.parser.qualified_names import Word
from smemlint.frontend.cuda.parser.token_stream import GrammarToken
from smemlint.lazy_dataclasses import dataclass


class CannotDesugar(Exception):
    """A construct that desugaring does not know; its statement is dropped and noted."""


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A range of grammar tokens that recovery may replace: a statement, or a header's expression.

    Attributes:
        begin, end: positions in the token list.
        word: where it stands, for the message.
    """

    begin: int
    end: int
    word: Word
    is_expression: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """A statement or member that could not be desugared."""

    word: Word
    reason: str


@dataclass(frozen=True, slots=True)
class Aside:
    """A member that C's grammar does not take, parsed on its own and put back into the tree."""

    tokens: list[GrammarToken]
    word: Word
    is_field: bool


class Grammar(ABC):
    """Collects grammar tokens; desugars what the rules below statements nest.

    Args:
        types: names known to be types; local ones are added.
        variables: names known to be variables.

    Attributes:
        regions: what recovery may drop of them.
        lost: statements and members that could not be desugared.
        asides: members that are parsed on their own, by the name that holds their place.
        pack: bytes that `#pragma pack` aligns members to at most; 0 without one.
    """

    def __init__(self, types: frozenset[str], variables: frozenset[str]) -> None:
        self.types = set(types)
        self.variables = set(variables)
        self.out: list[GrammarToken] = []
        self.regions: list[Region] = []
        self.lost: list[Lost] = []
        self.asides: dict[str, Aside] = {}
        self.pack = 0

    def emit(self, role: str, value: str, word: Word) -> None:
        """Adds a token of a grammar role at a word's place."""
        self.out.append(GrammarToken(role, value, word.first + 1))

    def op(self, text: str, word: Word) -> None:
        """Adds an operator."""
        self.emit(OPERATORS[text], text, word)

    def name(self, text: str, word: Word) -> None:
        """Adds an identifier."""
        self.emit("ID", text, word)

    @abstractmethod
    def expression(self, words: Sequence[Word]) -> None:
        """Desugars an expression; an empty one gives nothing."""

    @abstractmethod
    def arguments(self, words: Sequence[Word]) -> None:
        """Desugars comma-separated arguments."""

    @abstractmethod
    def statements(self, words: Sequence[Word], i: int, stop: int) -> None:
        """Desugars the statements from `i` to `stop`."""
