"""Lowering of types and declarators; see `lower` for the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.frontend.cuda.lexer.keywords import (
    ALIGNMENTS,
    ATTRIBUTES,
    BUILTIN_TYPES,
    FUNCTION_SPECIFIERS,
    OPERATORS,
    QUALIFIERS,
    RECORD_WORDS,
    STATEMENT_WORDS,
    STORAGE,
    is_known_type,
)
from smemlint.frontend.cuda.parser.token_stream import GrammarToken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.frontend.cuda.parser.qualified_names import Word

_NOT_IN_TYPES = frozenset(
    ("static", "extern", "register", "typedef", "__shared__", "__constant__", "mutable")
)


class CannotLower(Exception):
    """A construct that the lowering does not know; its statement is dropped and said."""


class Emitter:
    """Collects grammar tokens.

    Args:
        types: names known to be types; the lowering adds local ones.
        variables: names known to be variables.
    """

    def __init__(self, types: frozenset[str], variables: frozenset[str]) -> None:
        self.types = set(types)
        self.variables = set(variables)
        self.out: list[GrammarToken] = []

    def emit(self, role: str, value: str, word: Word) -> None:
        """Adds a token of a grammar role at a word's place."""
        self.out.append(GrammarToken(role, value, word.first + 1))

    def op(self, text: str, word: Word) -> None:
        """Adds an operator."""
        self.emit(OPERATORS[text], text, word)

    def name(self, text: str, word: Word) -> None:
        """Adds an identifier."""
        self.emit("ID", text, word)


def closing(words: Sequence[Word], i: int) -> int:
    """Index of the bracket that closes `words[i]`; the last index when nothing does."""
    return min(i + words[i].reach, len(words) - 1)


def text_at(words: Sequence[Word], i: int) -> str:
    """The spelling at an index; empty outside."""
    return words[i].text if 0 <= i < len(words) else ""


def split_at_commas(words: Sequence[Word]) -> list[Sequence[Word]]:
    """The parts between top-level commas, empty ones left out."""
    parts: list[Sequence[Word]] = []
    begin = i = 0
    while i < len(words):
        word = words[i]
        if word.text == "," and word.kind == "operator":
            parts.append(words[begin:i])
            begin = i + 1
        i += word.reach + 1
    parts.append(words[begin:])
    return [part for part in parts if part]


def find_top_level(words: Sequence[Word], text: str, i: int = 0) -> int:
    """Index of the first operator of that spelling outside of brackets; the length if none."""
    while i < len(words):
        if words[i].text == text and words[i].kind == "operator":
            return i
        i += words[i].reach + 1
    return len(words)


def _is_macro_specifier(words: Sequence[Word], i: int) -> bool:
    """Whether an unknown macro stands before a specifier: `API_EXPORT __device__ int x`."""
    text, following = words[i].text, text_at(words, i + 1)
    if len(text) <= 3 or not text.isupper():
        return False
    return following in STORAGE or following in FUNCTION_SPECIFIERS


class Types(Emitter):
    """Lowers specifiers, pointers, declarators and type-ids."""

    def expression(self, words: Sequence[Word]) -> None:
        """Lowers an expression; an empty one lowers to nothing."""
        raise NotImplementedError

    def arguments(self, words: Sequence[Word]) -> None:
        """Lowers comma-separated arguments."""
        raise NotImplementedError

    def statements(self, words: Sequence[Word], i: int, stop: int) -> None:
        """Lowers the statements of a block."""
        raise NotImplementedError

    def call(self, name: str, words: Sequence[Word], at: Word) -> None:
        """`name(words)`."""
        self.name(name, at)
        self.op("(", at)
        self.arguments(words)
        self.op(")", at)

    # ---- recognition

    def is_type_word(self, word: Word) -> bool:
        """Whether a word is a type (or begins one) wherever it stands."""
        if word.kind != "identifier":
            return False
        text = word.text
        return (
            text in BUILTIN_TYPES
            or text in RECORD_WORDS
            or text in QUALIFIERS
            or text == "auto"
            or word.is_type
            or text in self.types
            or text.split("<", 1)[0].rsplit("::", 1)[-1] in self.types
            or is_known_type(text)
        )

    def reads_as_type(self, words: Sequence[Word]) -> bool:
        """Whether the whole list is a type-id."""
        if not words:
            return False
        after, saw_type = self.specifiers(words, 0, emit=False)
        if not saw_type or any(w.text in _NOT_IN_TYPES for w in words[:after]):
            return False
        end = self.pointers(words, after, emit=False)
        if end == len(words):
            if end > after:
                return True
            named = [w for w in words[:after] if w.text not in QUALIFIERS]
            return len(named) > 1 or self.is_type_word(named[-1])
        if words[end].text == "(" and text_at(words, end + 1) in ("&", "*"):
            inside = self.pointers(words, end + 1, emit=False)
            return text_at(words, inside) == ")"
        if words[end].text == "(" and text_at(words, end + 1) == ")":  # `void()`
            return end + 2 == len(words) and self.is_type_word(words[0])
        return words[end].text == "[" and self.is_type_word(words[0])

    def is_surely_type(self, words: Sequence[Word]) -> bool:
        """Whether no reading as an expression is left."""
        first, last = words[0], words[-1]
        return (
            last.text in ("*", "&")
            or first.text in BUILTIN_TYPES
            or first.text in QUALIFIERS
            or (len(words) == 1 and self.is_type_word(first) and first.text not in self.variables)
        )

    # ---- lowering

    def specifiers(self, words: Sequence[Word], i: int, *, emit: bool = True) -> tuple[int, bool]:
        """A declaration's specifiers from `i`: the index after them, and whether a type was one."""
        saw_type = False
        while i < len(words):
            word = words[i]
            text = word.text
            if word.kind != "identifier":
                if text == "[" and text_at(words, i + 1) == "[":
                    i = closing(words, i) + 1
                    continue
                break
            if text in STORAGE:
                if emit:
                    self.emit(STORAGE[text], text, word)
            elif text in FUNCTION_SPECIFIERS:
                if emit:
                    self.emit("INLINE", text, word)
            elif text in QUALIFIERS:
                if emit:
                    self.emit("CONST", text, word)
            elif text in ATTRIBUTES and text_at(words, i + 1) == "(":
                i = self.attribute(words, i, emit=emit)
                continue
            elif text in RECORD_WORDS and not saw_type:
                end = self._elaborated(words, i, emit=emit)
                if end == i:
                    break
                i, saw_type = end, True
                continue
            elif text in BUILTIN_TYPES:
                if emit:
                    self.emit(BUILTIN_TYPES[text], text, word)
                saw_type = True
            elif not saw_type and _is_macro_specifier(words, i):
                pass
            elif not saw_type and text not in STATEMENT_WORDS:
                if emit:
                    self.emit("INT", text, word)
                saw_type = True
            else:
                break
            i += 1
        return i, saw_type

    def _elaborated(self, words: Sequence[Word], i: int, *, emit: bool) -> int:
        """`struct X` as a type; `i` itself when a definition or nothing follows."""
        j = i + 1
        if text_at(words, j) in ("class", "struct"):
            j += 1
        while text_at(words, j) in ATTRIBUTES:
            j = closing(words, j + 1) + 1
        if j >= len(words) or words[j].kind != "identifier":
            return i
        if emit:
            self.emit("INT", words[j].text, words[i])
        return j + 1

    def attribute(self, words: Sequence[Word], i: int, *, emit: bool) -> int:
        """`__align__(16)` and its like: the index after it."""
        end = closing(words, i + 1)
        if emit and words[i].text in ALIGNMENTS:
            inner = words[i + 2 : end]
            self.emit("_ALIGNAS", "_Alignas", words[i])
            self.op("(", words[i + 1])
            if inner and self.reads_as_type(inner):
                self.type_id(inner)
            else:
                self.expression(inner)
            self.op(")", words[end])
        return end + 1

    def pointers(self, words: Sequence[Word], i: int, *, emit: bool = True) -> int:
        """`*`, `&`, qualifiers after the specifiers: the index after them."""
        while i < len(words):
            word = words[i]
            if word.text == "*" and word.kind == "operator":
                if emit:
                    self.op("*", word)
            elif word.text in ("&", "&&"):
                if emit:
                    self.op("*", word)
                    self.emit("CONST", word.text, word)
            elif word.text in QUALIFIERS:
                if emit:
                    self.emit("CONST", word.text, word)
            elif word.text in ATTRIBUTES and text_at(words, i + 1) == "(":
                i = closing(words, i + 1)
            elif word.text != "...":
                break
            i += 1
        return i

    def type_id(self, words: Sequence[Word]) -> None:
        """A type without a name, e.g. `float (*)[33]`."""
        i, _ = self.specifiers(words, 0)
        i = self.pointers(words, i)
        if text_at(words, i) == "(" and text_at(words, i + 1) in ("*", "&", "&&"):
            end = closing(words, i)
            self.op("(", words[i])
            self.pointers(words[:end], i + 1)
            self.op(")", words[end])
            i = end + 1
        i = self.extents(words, i)
        if text_at(words, i) == "(":
            end = closing(words, i)
            self.op("(", words[i])
            self.op(")", words[end])
            i = end + 1
        if i < len(words):
            raise CannotLower(f"a type is followed by `{words[i].text}`")

    def extents(self, words: Sequence[Word], i: int) -> int:
        """`[N][M]` from `i`: the index after them."""
        while text_at(words, i) == "[":
            end = closing(words, i)
            if text_at(words, i + 1) != "[":
                self.op("[", words[i])
                self.expression(words[i + 1 : end])
                self.op("]", words[end])
            i = end + 1
        return i

    def declarator(self, words: Sequence[Word], i: int) -> int:
        """`x`, `x[N]`, `(&x)[N]`, `(*f)(int)` from `i`: the index after it; `i` when none."""
        if text_at(words, i) == "(":
            end = closing(words, i)
            self.op("(", words[i])
            inner = self.pointers(words, i + 1)
            if self.declarator(words, inner) != end:
                raise CannotLower("a declarator that is none")
            self.op(")", words[end])
            return self._behind_declarator(words, end + 1)
        if i < len(words) and words[i].kind == "identifier":
            self.variables.add(words[i].text)
            self.name(words[i].text, words[i])
            i += 1
            return self.extents(words, i)
        return i

    def _behind_declarator(self, words: Sequence[Word], i: int) -> int:
        """Extents, or the parameters of a pointer to a function, which are of no interest."""
        if text_at(words, i) == "(":
            end = closing(words, i)
            self.op("(", words[i])
            self.op(")", words[end])
            i = end + 1
        return self.extents(words, i)

    def parameter(self, words: Sequence[Word], unnamed: str) -> bool:
        """A function's parameter without its default value. False when there is none."""
        words = words[: find_top_level(words, "=")]
        if not words or words[0].text == "..." or [w.text for w in words] == ["void"]:
            return False
        i, saw_type = self.specifiers(words, 0)
        if not saw_type and not any(w.text in QUALIFIERS for w in words[:i]):
            raise CannotLower("a parameter without a type")
        i = self.pointers(words, i)
        if text_at(words, i) == "auto":  # `Concept auto x`
            i = self.pointers(words, i + 1)
        if text_at(words, i) == "(" and text_at(words, i + 1) in ("*", "&", "&&"):
            inside = self.pointers(words, i + 1, emit=False)
            if text_at(words, inside) == ")":  # `float (*)[33]` without a name
                self.op("(", words[i])
                self.pointers(words, i + 1)
                self.name(unnamed, words[inside])
                self.op(")", words[inside])
                return self._whole(words, self._behind_declarator(words, inside + 1))
        end = self.declarator(words, i)
        if end == i:
            self.name(unnamed, words[-1])
            end = self.extents(words, i)
        return self._whole(words, end)

    @staticmethod
    def _whole(words: Sequence[Word], end: int) -> bool:
        if end < len(words) and words[end].text not in ATTRIBUTES:
            raise CannotLower(f"a parameter goes on with `{words[end].text}`")
        return True
