"""Lowering of expressions; see `parse` for the contract."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from smemlint.frontend.cuda.lexer.keywords import (
    BUILTIN_TYPES,
    OPERATORS,
    QUALIFIERS,
    STATEMENT_WORDS,
)
from smemlint.frontend.cuda.parser.desugar_cuda import Special, string_literal
from smemlint.frontend.cuda.parser.desugar_types import (
    CannotLower,
    closing,
    split_at_commas,
    text_at,
)
from smemlint.frontend.cuda.parser.qualified_names import Word

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBERS = (
    (re.compile(r"0[xX][0-9a-fA-F]+[uUlL]*"), "INT_CONST_HEX"),
    (re.compile(r"0[bB][01]+[uUlL]*"), "INT_CONST_BIN"),
    (re.compile(r"0[0-7]*[uUlL]*"), "INT_CONST_OCT"),
    (re.compile(r"[0-9]+[uUlL]*"), "INT_CONST_DEC"),
)
# What follows a parenthesised name when it was an operand and no cast.
_AFTER_OPERAND = frozenset(
    (
        ")", ",", ";", "]", "?", ":", "=", "==", "/", "%", "<", ">", ".", "->", "|", "||",
        "&&", "}", "^", "+=", "-=", "*=", "/=", "!=", "<<", "<=", ">=", "[", "...",
    )
)  # fmt: skip
_CAST_OR_BINARY = frozenset(("*", "&", "-", "+"))
_MOST_NESTED = 256
"""Brackets in brackets; clang's -fbracket-depth is the same."""


class Expressions(Special):
    """Lowers expressions."""

    # ---- lists

    def arguments(self, words: Sequence[Word]) -> None:
        """Comma-separated arguments, where `T` is `__type((T)0)` and `pack...` `__expand(pack)`."""
        for k, part in enumerate(split_at_commas(words)):
            at = part[0]
            if k:
                self.op(",", at)
            is_type = self.is_type_word(at) and at.text not in self.variables
            if part[-1].text == "..." and len(part) > 1:
                self.call("__expand", part[:-1], at)
            elif (
                is_type and self.reads_as_type(part) and (len(part) > 1 or at.text in BUILTIN_TYPES)
            ):
                self.name("__type", at)
                for bracket in ("(", "("):
                    self.op(bracket, at)
                self.type_id(part)
                self.op(")", at)
                self.emit("INT_CONST_DEC", "0", at)
                self.op(")", at)
            else:
                self.expression(part)

    def _fold(self, inner: Sequence[Word], at: Word) -> None:
        """`(init + ... + pack)` as `(__fold(init, pack))`."""
        dots = next(k for k, word in enumerate(inner) if word.text == "...")
        left, right = inner[:dots], inner[dots + 1 :]
        if left and left[-1].kind == "operator" and left[-1].text not in (")", "]", "}"):
            left = left[:-1]  # the operator is not kept: what it folds is not evaluated
        if right and right[0].kind == "operator" and right[0].text in (*OPERATORS, ","):
            right = right[1:]
        self.name("__fold", at)
        self.op("(", at)
        self.expression(left)
        if left and right:
            self.op(",", at)
        self.expression(right)
        self.op(")", at)

    # ---- expressions

    def expression(self, words: Sequence[Word]) -> None:
        """Lowers an expression; an empty one lowers to nothing."""
        i = 0
        after_operand = False
        while i < len(words):
            i, after_operand = self._part(words, i, after_operand)

    def _part(self, words: Sequence[Word], i: int, after_operand: bool) -> tuple[int, bool]:
        """One operand or operator: the index after it, and whether an operand ends there."""
        word = words[i]
        match word.kind:
            case "cast":
                return self._cast(words, i), True
            case "number":
                self._number(word)
                return i + 1, True
            case "string":
                self.emit("STRING_LITERAL", string_literal(word.text), word)
                return i + 1, True
            case "character":
                self.emit("CHAR_CONST", word.text[word.text.index("'") :], word)
                return i + 1, True
            case "pragma":
                return i + 1, after_operand
            case "identifier" if _is_text(words, i):
                self.emit("STRING_LITERAL", '""', word)
                return i + 1, True
            case "identifier":
                return self._identifier(words, i, after_operand)
            case _:
                return self._operator(words, i, after_operand)

    def _cast(self, words: Sequence[Word], i: int) -> int:
        word = words[i]
        if text_at(words, i + 1) != "(":
            raise CannotLower(f"`{word.text}` without an operand")
        end = closing(words, i + 1)
        kind = list(word.operand)
        is_reference = bool(kind) and kind[-1].text in ("&", "&&")
        self.op("(", word)
        if is_reference:  # reinterpret_cast<T&>(e) is *(T*)&(e)
            star = Word("operator", "*", kind[-1].first, kind[-1].last)
            self.op("*", word)
            self.op("(", word)
            self.type_id([*kind[:-1], star])
            self.op(")", word)
            self.op("&", word)
        else:
            self.op("(", word)
            self.type_id(kind)
            self.op(")", word)
        self.op("(", words[i + 1])
        self.expression(words[i + 2 : end])
        self.op(")", words[end])
        self.op(")", words[end])
        return end + 1

    def _number(self, word: Word) -> None:
        text = word.text.replace("'", "")
        for pattern, role in _NUMBERS:
            if pattern.fullmatch(text):
                self.emit(role, text, word)
                return
        if re.fullmatch(r"[0-9]+[uU]?[zZ][uU]?", text):
            self.emit("INT_CONST_DEC", re.sub("[a-zA-Z]", "", text), word)
        else:
            self.emit("FLOAT_CONST", text, word)

    def _identifier(self, words: Sequence[Word], i: int, after_operand: bool) -> tuple[int, bool]:
        word, following = words[i], text_at(words, i + 1)
        match word.text:
            case "sizeof" | "alignof" | "_Alignof" | "__alignof__":
                return self.size(words, i)
            case "new":
                return self.new(words, i), True
            case "delete" | "throw" | "co_await":
                j = closing(words, i + 1) + 1 if following == "[" else i + 1
                if j >= len(words):
                    self.emit("INT_CONST_DEC", "0", word)
                return j, False
            case "asm" | "__asm__" | "__asm":
                return self.asm(words, i), True
            case "constexpr" | "mutable" | "noexcept" | "typename" | "template":
                return i + 1, after_operand
        if (word.text in BUILTIN_TYPES or word.text in QUALIFIERS) and i + 1 < len(words):
            return self._functional_cast(words, i), True
        if following == "{" and not after_operand:
            end = closing(words, i + 1)
            self.call(f"mk {word.text}", words[i + 2 : end], word)
            return end + 1, True
        launch = _launch_after(words, i)
        if launch:
            return self.launch(words, i, launch), True
        if following == "(" and self.is_type_word(word) and word.text not in self.variables:
            self.name(f"mk {word.text}", word)
        else:
            self.name(word.text, word)
        return i + 2 if following == "..." else i + 1, True

    def _functional_cast(self, words: Sequence[Word], i: int) -> int:
        """`int(x)`, `unsigned{}`: a cast."""
        after, _ = self.specifiers(words, i, emit=False)
        if text_at(words, after) not in ("(", "{"):
            raise CannotLower(f"the type `{words[i].text}` stands in an expression")
        end = closing(words, after)
        self.op("(", words[i])
        self.op("(", words[i])
        self.specifiers(words[:after], i)
        self.op(")", words[i])
        if end == after + 1:
            self.emit("INT_CONST_DEC", "0", words[i])
        else:
            self.op("(", words[after])
            self.expression(words[after + 1 : end])
            self.op(")", words[end])
        self.op(")", words[i])
        return end + 1

    # ---- operators

    def _operator(self, words: Sequence[Word], i: int, after_operand: bool) -> tuple[int, bool]:
        word = words[i]
        if word.height > _MOST_NESTED:  # each level takes its words along
            raise CannotLower(f"brackets are nested more than {_MOST_NESTED} deep")
        match word.text:
            case "(":
                return self._parenthesis(words, i, after_operand)
            case "[" if not after_operand:
                return self.lambda_(words, i), True
            case "[":
                end = closing(words, i)
                self.op("[", word)
                self.expression(words[i + 1 : end])
                self.op("]", words[end])
                return end + 1, True
            case "{":
                end = closing(words, i)
                if after_operand:
                    self.op("(", word)
                    self.arguments(words[i + 1 : end])
                    self.op(")", words[end])
                else:
                    self.call("__brace", words[i + 1 : end], word)
                return end + 1, True
            case ">":
                return self._greater(words, i), False
            case "." | "->":
                return self._member(words, i), True
            case "++" | "--":
                self.op(word.text, word)
                return i + 1, after_operand
            case "...":
                return i + 1, after_operand
        if word.text not in OPERATORS or word.text == ";":
            raise CannotLower(f"`{word.text}` in an expression")
        self.op(word.text, word)
        return i + 1, False

    def _greater(self, words: Sequence[Word], i: int) -> int:
        """`>`, `>>`, `>>=`, `>=` from single `>` that stand together."""
        word = words[i]
        if not word.glued or text_at(words, i + 1) not in (">", ">="):
            self.op(">", word)
            return i + 1
        if words[i + 1].text == ">=":
            self.op(">>=", word)
            return i + 2
        if words[i + 1].glued and text_at(words, i + 2) == "=":
            self.op(">>=", word)
            return i + 3
        self.op(">>", word)
        return i + 2

    def _member(self, words: Sequence[Word], i: int) -> int:
        word = words[i]
        following = words[i + 1] if i + 1 < len(words) else None
        if following is None or following.text == "*":
            raise CannotLower("a pointer to a member")
        self.op(word.text, word)
        if following.text == "~":
            self.name("__destructor", following)
            return i + 3
        if following.kind != "identifier":
            raise CannotLower(f"`{word.text}` is followed by `{following.text}`")
        self.name(following.text, following)
        return i + 2

    def _parenthesis(self, words: Sequence[Word], i: int, after_operand: bool) -> tuple[int, bool]:
        """A cast, a call's arguments, or a parenthesised expression."""
        end = closing(words, i)
        inner = words[i + 1 : end]
        if not after_operand and inner and self._is_cast(words, inner, end):
            self.op("(", words[i])
            self.type_id(inner)
            self.op(")", words[end])
            if text_at(words, end + 1) == "{":  # a compound literal
                stop = closing(words, end + 1)
                self.op("{", words[end + 1])
                self.arguments(words[end + 2 : stop])
                self.op("}", words[stop])
                return stop + 1, True
            return end + 1, False
        self.op("(", words[i])
        if after_operand:
            self.arguments(inner)
        elif _has_fold(inner):
            self._fold(inner, words[i])
        else:
            self.expression(inner)
        self.op(")", words[end])
        return end + 1, True

    def _is_cast(self, words: Sequence[Word], inner: Sequence[Word], end: int) -> bool:
        if end + 1 >= len(words):
            return False
        after = words[end + 1]
        is_operator = after.kind == "operator"
        if self.reads_as_type(inner):
            if is_operator and after.text in _AFTER_OPERAND:
                return False
            return not (is_operator and after.text in _CAST_OR_BINARY) or self.is_surely_type(inner)
        if len(inner) == 1 and inner[0].kind == "identifier" and after.text == "(":
            return inner[0].text not in self.variables
        starts_operand = after.kind in ("identifier", "number", "cast")
        return starts_operand and self._may_be_type(inner)

    def _may_be_type(self, words: Sequence[Word]) -> bool:
        """Whether an unknown name followed by an operand can only be a type."""
        after, saw_type = self.specifiers(words, 0, emit=False)
        return saw_type and self.pointers(words, after, emit=False) == len(words)


def _has_fold(words: Sequence[Word]) -> bool:
    i = 0
    while i < len(words):
        if words[i].text == "...":
            return True
        i += words[i].reach + 1
    return False


def _is_text(words: Sequence[Word], i: int) -> bool:
    """Whether the name beside a string is a part of it: `__FILE__ ":"`, `"%" PRIu64`."""
    if i + 1 < len(words) and words[i + 1].kind == "string":
        return words[i].text not in STATEMENT_WORDS
    return i > 0 and words[i - 1].kind == "string"


def _launch_after(words: Sequence[Word], i: int) -> int:
    """Where `<<<` stands behind `kernel`, `table[i][j]` or `entry->kernel`; 0 if it does not."""
    j = i + 1
    while j < len(words) and words[j].text in ("[", ".", "->"):
        j = closing(words, j) + 1 if words[j].text == "[" else j + 2
    return j if text_at(words, j) == "<<<" else 0
