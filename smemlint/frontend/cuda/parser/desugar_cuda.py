"""Lowering of what is no C expression: launches, lambdas, inline PTX, new, sizeof; see `parse`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from smemlint.frontend.cuda.lexer.keywords import FUNCTION_SPECIFIERS
from smemlint.frontend.cuda.parser.desugar_types import (
    CannotLower,
    Types,
    closing,
    split_at_commas,
    text_at,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.frontend.cuda.parser.qualified_names import Word


class Special(Types):
    """Lowers launches, lambdas, inline PTX, `new` and `sizeof`."""

    def size(self, words: Sequence[Word], i: int) -> tuple[int, bool]:
        """`sizeof` or `alignof`: the index after it, and whether an operand ends there."""
        word = words[i]
        if text_at(words, i + 1) == "...":
            self.name("__sizeof_pack", word)
            return closing(words, i + 2) + 1, True
        if text_at(words, i + 1) != "(":
            self.emit("SIZEOF", "sizeof", word)
            return i + 1, False
        end = closing(words, i + 1)
        inner = words[i + 2 : end]
        is_type = self.reads_as_type(inner)
        if word.text != "sizeof" and not is_type:
            self.call("__alignof", inner, word)
            return end + 1, True
        role, text = ("SIZEOF", "sizeof") if word.text == "sizeof" else ("_ALIGNOF", "alignof")
        self.emit(role, text, word)
        self.op("(", words[i + 1])
        if is_type:
            self.type_id(inner)
        else:
            self.expression(inner)
        self.op(")", words[end])
        return end + 1, True

    def new(self, words: Sequence[Word], i: int) -> int:
        """`new T[n]` as `__new()`: memory that no rule asks about."""
        word = words[i]
        self.name("__new", word)
        self.op("(", word)
        self.op(")", word)
        i += 1
        if text_at(words, i) == "(":
            i = closing(words, i) + 1
        while i < len(words) and (words[i].kind == "identifier" or words[i].text == "*"):
            i += 1
        while text_at(words, i) in ("(", "[", "{"):
            i = closing(words, i) + 1
        return i

    def launch(self, words: Sequence[Word], i: int, at: int) -> int:
        """`k<<<g, b>>>` as `__launch(k, g, b)`; the arguments follow as a call of it.

        Args:
            words: of the expression.
            i: where what is launched begins, a name or an element of a table.
            at: where its `<<<` stands.
        """
        end = at + 1
        while end < len(words) and not _ends_launch(words, end):
            end += words[end].reach + 1
        if end >= len(words):
            raise CannotLower("a launch without `>>>`")
        word = words[i]
        self.name("__launch", word)
        self.op("(", word)
        self.expression(words[i:at])
        self.op(",", words[at])
        self.arguments(words[at + 1 : end])
        self.op(")", words[end])
        return end + 3

    def lambda_(self, words: Sequence[Word], i: int) -> int:
        """`[..](P p) {..}` as `__lambda(1, ({ P p; .. }))`: the number of parameters, the body."""
        j = closing(words, i) + 1
        if text_at(words, j) == "<":
            j = self._template_head(words, j)
        while text_at(words, j) in FUNCTION_SPECIFIERS:
            j += 1
        params: list[Sequence[Word]] = []
        if text_at(words, j) == "(":
            end = closing(words, j)
            params = split_at_commas(words[j + 1 : end])
            j = end + 1
        j = _body_of_lambda(words, j)
        if j >= len(words):
            raise CannotLower("a lambda without a body")
        end = closing(words, j)
        at = words[i]
        params = [p for p in params if [w.text for w in p] != ["void"]]
        self.name("__lambda", at)
        self.op("(", at)
        self.emit("INT_CONST_DEC", str(len(params)), at)
        for bracket in (",", "(", "{"):
            self.op(bracket, at)
        for k, param in enumerate(params):
            if not self.parameter(param, f"__unnamed{k}"):
                raise CannotLower("a parameter of a lambda")
            self.op(";", param[-1])
        self.statements(words, j + 1, end)
        for bracket in ("}", ")", ")"):
            self.op(bracket, words[end])
        return end + 1

    def _template_head(self, words: Sequence[Word], j: int) -> int:
        """`<typename T, int N>` of a lambda: the index after it. Its types are types from here."""
        end = closing(words, j)
        for k in range(j, end):
            if words[k].is_type or words[k - 1].text == "class":
                self.types.add(words[k].text)
        return end + 1

    def asm(self, words: Sequence[Word], i: int) -> int:
        """`asm("..." : "=r"(x) : "r"(p))` as `asm("...", __out("=r", x), __in("r", p))`."""
        at = words[i]
        i += 1
        while text_at(words, i) in ("volatile", "__volatile__", "goto", "inline"):
            i += 1
        if text_at(words, i) != "(":
            raise CannotLower("asm without operands")
        end = closing(words, i)
        sections = _asm_sections(words[i + 1 : end])
        self.name("asm", at)
        self.op("(", at)
        template = "".join(_body(w.text) for w in sections[0] if w.kind == "string")
        operands = [o for section in sections[1:3] for o in split_at_commas(section)]
        for k, operand in enumerate(operands):  # `%[name]` is operand number k
            if text_at(operand, 0) == "[" and text_at(operand, 2) == "]":
                template = template.replace(f"%[{operand[1].text}]", f"%{k}")
        self.emit("STRING_LITERAL", f'"{template}"', at)
        for name, section in zip(("__out", "__in"), sections[1:3], strict=False):
            for operand in split_at_commas(section):
                self._asm_operand(name, operand)
        self.op(")", words[end])
        return end + 1

    def _asm_operand(self, name: str, words: Sequence[Word]) -> None:
        k = 0
        while text_at(words, k) == "[":
            k = closing(words, k) + 1
        if k >= len(words) or words[k].kind != "string":
            raise CannotLower("an operand of asm")
        constraint = words[k]
        opening = k + 1
        while opening < len(words) and words[opening].kind == "string":
            opening += 1
        if text_at(words, opening) != "(":
            raise CannotLower("an operand of asm")
        self.op(",", constraint)
        self.name(name, constraint)
        self.op("(", constraint)
        self.emit("STRING_LITERAL", string_literal(constraint.text), constraint)
        self.op(",", constraint)
        self.expression(words[opening + 1 : closing(words, opening)])
        self.op(")", constraint)


def _asm_sections(words: Sequence[Word]) -> list[list[Word]]:
    """The parts between top-level colons: template, outputs, inputs, clobbers."""
    sections: list[list[Word]] = [[]]
    i = 0
    while i < len(words):
        word = words[i]
        if word.kind == "operator" and word.text in (":", "::"):
            sections += [[] for _ in word.text]
            i += 1
        else:
            sections[-1] += words[i : i + word.reach + 1]
            i += word.reach + 1
    return sections


def _ends_launch(words: Sequence[Word], i: int) -> bool:
    return [w.text for w in words[i : i + 3]] == [">", ">", ">"]


def _body_of_lambda(words: Sequence[Word], i: int) -> int:
    """Index of the `{` behind `mutable`, `noexcept` and the result type."""
    while i < len(words) and words[i].text != "{":
        i += words[i].reach + 1
    return i


def _body(literal: str) -> str:
    """The text between the quotes, escapes kept; raw strings are escaped."""
    raw = re.fullmatch(r'(?:u8|[uUL])?R"([^(]*)\((.*)\)\1"', literal, re.S)
    if raw is not None:
        return raw[2].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    inner = literal[literal.index('"') + 1 :]
    return re.sub(r"\\\r?\n", "", inner[:-1] if inner.endswith('"') else inner)


def string_literal(literal: str) -> str:
    """The literal without prefix, raw strings escaped."""
    return f'"{_body(literal)}"'
