"""Lowering of declarations; see `parse` for the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.frontend.cuda.lexer.keywords import (
    ATTRIBUTES,
    QUALIFIERS,
    RECORD_WORDS,
    STATEMENT_WORDS,
    STORAGE,
)
from smemlint.frontend.cuda.parser.desugar_expressions import Expressions
from smemlint.frontend.cuda.parser.desugar_types import (
    CannotLower,
    closing,
    find_top_level,
    split_at_commas,
    text_at,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.frontend.cuda.parser.qualified_names import Word

DECLARATION_WORDS = frozenset((*STORAGE, *QUALIFIERS, "auto", *RECORD_WORDS))
_AFTER_NAME = frozenset(("=", ";", "[", ",", ")", "{", ":", ""))


class Declarations(Expressions):
    """Lowers declarations with their initializers."""

    def is_declaration(self, words: Sequence[Word], i: int, stop: int) -> bool:
        """Whether a statement declares: `T x = ..`, `T* x;`, `T (&x)[N]`."""
        word = words[i] if i < stop else None
        if word is None or word.kind != "identifier":
            return False
        if word.text in DECLARATION_WORDS or word.text in ATTRIBUTES:
            return True
        if word.text in STATEMENT_WORDS:
            return False
        after, saw_type = self.specifiers(words, i, emit=False)
        name = self.pointers(words, after, emit=False)
        if not saw_type or name >= stop:
            return False
        following = words[name]
        may_be_type = word.text not in self.variables or self.is_type_word(word)
        if following.kind == "identifier" and following.text not in STATEMENT_WORDS:
            if name == after:
                return True
            behind = text_at(words, name + 1) if name + 1 < stop else ""
            return may_be_type and (behind in _AFTER_NAME or behind == "(")
        if following.text == "(" and text_at(words, name + 1) in ("*", "&", "&&"):
            if word.is_type and text_at(words, closing(words, name) + 1) == "=":
                return True  # `typename T::S (&s) = ..`
            return may_be_type and self._is_declarator(words, name)
        return following.text == "[" and word.text == "auto"

    def _is_declarator(self, words: Sequence[Word], i: int) -> bool:
        """`(&x)[N]` or `(*f)(..)` at `i`."""
        end = closing(words, i)
        name = self.pointers(words, i + 1, emit=False)
        return (
            name < end
            and words[name].kind == "identifier"
            and text_at(words, end + 1) in ("[", "(")
            and (name + 1 == end or text_at(words, name + 1) == "[")
        )

    def declaration(
        self, words: Sequence[Word], i: int, stop: int, *, is_member: bool = False
    ) -> int:
        """`T a = 1, *b, c[3]{..};` from `i`: the index after its `;`.

        A member of a record may have a width `: 3`.
        """
        end = statement_end(words, i, stop)
        last = words[min(end, len(words) - 1)]
        part = words[i:end]
        k, _ = self.specifiers(part, 0)
        is_typedef = any(w.text == "typedef" for w in part[:k])
        binding = k + 1 if text_at(part, k) in ("&", "&&") else k
        if text_at(part, binding) == "[" and any(w.text == "auto" for w in part[:k]):
            self._structured(part, binding)
            self.op(";", last)
            return end + 1
        while True:
            name_at = len(self.out)
            after = self.declarator(part, k := self.pointers(part, k))
            if after == k:
                raise CannotLower("a declaration without a name")
            k = after
            if is_typedef:
                self._becomes_type(name_at)
            while text_at(part, k) in ATTRIBUTES:
                k = closing(part, k + 1) + 1
            stop_at = find_top_level(part, ",", k)
            if text_at(part, k) == ":" and is_member:
                self.op(":", part[k])
                self.expression(part[k + 1 : min(stop_at, find_top_level(part, "=", k))])
                k = stop_at
            elif text_at(part, k) in ("(", "{", "="):
                self._initializer(part, k, stop_at)
                k = stop_at
            if text_at(part, k) != ",":
                break
            self.op(",", part[k])
            k += 1
        if k < len(part):
            raise CannotLower(f"a declaration goes on with `{part[k].text}`")
        self.op(";", last)
        return end + 1

    def _becomes_type(self, begin: int) -> None:
        """The name that a typedef's declarator emitted from `begin` on is a type from here."""
        for token in self.out[begin:]:
            if token.type == "ID":
                self.variables.discard(token.value)
                self.types.add(token.value)
                return

    def _initializer(self, words: Sequence[Word], k: int, stop: int) -> None:
        """`(a)` as `= __ctor(a)`, `{a}` as `= {a}`, `= a`."""
        word = words[k]
        self.op("=", word)
        if word.text == "(":
            end = closing(words, k)
            if end + 1 != stop:
                raise CannotLower("an initializer that goes on")
            self.call("__ctor", words[k + 1 : end], word)
        elif word.text == "{":
            self._initial_value(words[k:stop])
        else:
            self._initial_value(words[k + 1 : stop])

    def _initial_value(self, words: Sequence[Word]) -> None:
        if words and words[0].text == "{" and closing(words, 0) == len(words) - 1:
            self.braces(words, 0)
        elif words:
            self.expression(words)
        else:
            raise CannotLower("an empty initializer")

    def braces(self, words: Sequence[Word], i: int) -> None:
        """An initializer list."""
        end = closing(words, i)
        self.op("{", words[i])
        for n, part in enumerate(split_at_commas(words[i + 1 : end])):
            if n:
                self.op(",", part[0])
            if part[0].text == "." and text_at(part, 2) in ("=", "{"):
                self.op(".", part[0])
                self.name(part[1].text, part[1])
                self.op("=", part[2])
                self._initial_value(part[3:] if part[2].text == "=" else part[2:])
            elif part[-1].text == "..." and len(part) > 1:
                self.call("__expand", part[:-1], part[0])
            else:
                self._initial_value(part)
        self.op("}", words[end])

    def _structured(self, words: Sequence[Word], i: int) -> None:
        """`auto [a, b] = e` as `auto a = __get(0, e), b = __get(1, e)`."""
        end = closing(words, i)
        names = [w for w in words[i + 1 : end] if w.kind == "identifier"]
        right = words[end + 1 :]
        right = right[1:] if text_at(right, 0) == "=" else right
        if not names or not right:
            raise CannotLower("a structured binding")
        for n, word in enumerate(names):
            if n:
                self.op(",", word)
            self.variables.add(word.text)
            self.name(word.text, word)
            self.op("=", word)
            self.name("__get", word)
            self.op("(", word)
            self.emit("INT_CONST_DEC", str(n), word)
            self.op(",", word)
            self.expression(right)
            self.op(")", word)


def statement_end(words: Sequence[Word], i: int, stop: int) -> int:
    """Index of the `;` that ends the statement at `i`; `stop` when there is none."""
    return min(find_top_level(words, ";", i), stop)
