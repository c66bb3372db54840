"""Desugars what is no C expression: launches, lambdas, inline PTX, new, sizeof; see `parse`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from smemlint.frontend.cuda.lexer.keywords import FUNCTION_SPECIFIERS
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.desugar_types import (
    closing,
    emit_call,
    find_top_level,
    is_type_id,
    split_at_commas,
    take_parameter,
    take_type_id,
    text_at,
)
from smemlint.frontend.cuda.parser.grammar import CannotDesugar, Grammar
from smemlint.frontend.cuda.parser.qualified_names import Word


def desugar_sizeof(g: Grammar, words: Sequence[Word], i: int) -> tuple[int, bool]:
    """Desugars `sizeof` or `alignof`: the index after it, and whether an operand ends there."""
    word = words[i]
    if text_at(words, i + 1) == "...":
        end = closing(words, i + 2)
        g.name(markers.SIZEOF_PACK, word)
        g.op("(", word)
        g.emit("STRING_LITERAL", f'"{text_at(words, i + 3)}"', word)
        g.op(")", words[end])
        return end + 1, True
    if text_at(words, i + 1) != "(":
        g.emit("SIZEOF", "sizeof", word)
        return i + 1, False
    end = closing(words, i + 1)
    inner = words[i + 2 : end]
    is_type = is_type_id(g, inner)
    if word.text != "sizeof" and not is_type:
        emit_call(g, markers.ALIGNOF, inner, word)
        return end + 1, True
    role, text = ("SIZEOF", "sizeof") if word.text == "sizeof" else ("_ALIGNOF", "alignof")
    g.emit(role, text, word)
    g.op("(", words[i + 1])
    if is_type:
        take_type_id(g, inner)
    else:
        g.expression(inner)
    g.op(")", words[end])
    return end + 1, True


def desugar_requires(g: Grammar, words: Sequence[Word], i: int) -> int:
    """Desugars `requires (T x) { a; {b}; typename T::c; }` as `<requires>(a, b, T::c)`.

    `x.a` is `T::a`, and what asks for more is 0.
    """
    word, at = words[i], i + 1
    types: dict[str, str] = {}
    if text_at(words, at) == "(":
        end = closing(words, at)
        types = _types_of_parameters(words[at + 1 : end])
        at = end + 1
    if text_at(words, at) != "{":
        raise CannotDesugar("`requires` without braces")
    end = closing(words, at)
    inner = words[at + 1 : end]
    g.name(markers.REQUIRES, word)
    g.op("(", word)
    while inner:
        k = find_top_level(inner, ";")
        _requirement(g, inner[:k], types, word)
        inner = inner[k + 1 :]
        if inner:
            g.op(",", word)
    g.op(")", word)
    return end + 1


def _types_of_parameters(words: Sequence[Word]) -> dict[str, str]:
    """Returns the types of parameters like `T x`, `const T &x` by their names."""
    found: dict[str, str] = {}
    while words:
        k = find_top_level(words, ",")
        part = [w for w in words[:k] if w.text not in ("const", "&", "&&", "typename")]
        if len(part) == 2:
            found[part[1].text] = part[0].text
        words = words[k + 1 :]
    return found


def _requirement(g: Grammar, part: Sequence[Word], types: Mapping[str, str], at: Word) -> None:
    """Emits what a requirement asks for: a name, an expression, or 0 for more than that."""
    if text_at(part, 0) == "{":
        end = closing(part, 0)
        if end == len(part) - 1 or text_at(part, end + 2).startswith("std::convertible_to<"):
            part = part[1:end]
    is_member = len(part) > 2 and part[0].text in types and part[1].text == "."
    is_call = is_member and text_at(part, 3) == "(" and closing(part, 3) == len(part) - 1
    if text_at(part, 0) == "typename" and len(part) == 2:
        g.name(part[1].text, part[1])
    elif is_call or (is_member and len(part) == 3):
        g.name(f"{types[part[0].text]}::{part[2].text}", part[2])
        if is_call:
            g.op("(", part[3])
            g.op(")", part[-1])
    elif (
        not part
        or part[0].text in ("typename", "{", "requires")
        or not types.keys().isdisjoint(word.text for word in part)
    ):
        g.emit("INT_CONST_DEC", "0", at)
    else:
        g.expression(part)


def desugar_new(g: Grammar, words: Sequence[Word], i: int) -> int:
    """Desugars `new (p) T(x)` as `<new>(p, T(x))`, `new T(x)` as `<new>(0, T(x))`.

    `new (p) T` is `<new>(p)`, `new T[n]` is `<new>()`: memory that no rule asks about.
    """
    word = words[i]
    g.name(markers.NEW, word)
    g.op("(", word)
    i += 1
    begin = behind = closing(words, i) + 1 if text_at(words, i) == "(" else i
    if behind > i:
        g.expression(words[i + 1 : behind - 1])
    while behind < len(words) and (words[behind].kind == "identifier" or words[behind].text == "*"):
        behind += 1
    is_given = text_at(words, behind) in ("(", "{")
    is_object = behind == begin + 1 and text_at(words, begin) != "*"
    is_made = is_object and (is_given or (begin == i and text_at(words, behind) != "["))
    while text_at(words, behind) in ("(", "[", "{"):
        behind = closing(words, behind) + 1
    if is_made:
        if begin == i:
            g.emit("INT_CONST_DEC", "0", word)
        g.op(",", word)
        g.expression(words[begin:behind])
        if not is_given:
            g.op("(", word)
            g.op(")", word)
    g.op(")", word)
    return behind


def desugar_launch(g: Grammar, words: Sequence[Word], i: int, at: int) -> int:
    """Desugars `k<<<g, b>>>` as `<launch>(k, g, b)`; the arguments follow as a call of it."""
    end = at + 1
    while end < len(words) and not _ends_launch(words, end):
        end += words[end].reach + 1
    if end >= len(words):
        raise CannotDesugar("a launch without `>>>`")
    word = words[i]
    g.name(markers.LAUNCH, word)
    g.op("(", word)
    g.expression(words[i:at])
    g.op(",", words[at])
    g.arguments(words[at + 1 : end])
    g.op(")", words[end])
    return end + 3


def desugar_lambda(g: Grammar, words: Sequence[Word], i: int) -> int:
    """Desugars `[..]<int N>(P p) -> R {..}` as `<lambda>(1, 0, ({ P p; .. }), "int N")`.

    What stands in front of the body is the number of parameters, and 1 where `R` is written: it is
    declared behind them then.
    """
    j = closing(words, i) + 1
    captures = [_spelled(part) for part in split_at_commas(words[i + 1 : j - 1]) if part]
    head = ""
    if text_at(words, j) == "<":
        head, j = _template_head(g, words, j)
    while text_at(words, j) in FUNCTION_SPECIFIERS:
        j += 1
    params: list[Sequence[Word]] = []
    if text_at(words, j) == "(":
        end = closing(words, j)
        params = split_at_commas(words[j + 1 : end])
        j = end + 1
    behind, j = j, _body_of_lambda(words, j)
    if j >= len(words):
        raise CannotDesugar("a lambda without a body")
    end = closing(words, j)
    at = words[i]
    params = [p for p in params if [w.text for w in p] != ["void"]]
    g.name(markers.LAMBDA, at)
    g.op("(", at)
    g.emit("INT_CONST_DEC", str(len(params)), at)
    g.op(",", at)
    result = words[behind + 1 : j] if text_at(words, behind) == "->" else ()
    result = () if [word.text for word in result] == ["void"] else result
    g.emit("INT_CONST_DEC", str(int(bool(result))), at)
    for bracket in (",", "(", "{"):
        g.op(bracket, at)
    for k, param in enumerate(params):
        _declare(g, param, f"__unnamed{k}")
    if result:
        _declare(g, result, "__result")
    g.statements(words, j + 1, end)
    for bracket in ("}", ")", ","):
        g.op(bracket, words[end])
    captures += ["mutable"] * any(word.text == "mutable" for word in words[behind:j])
    g.emit("STRING_LITERAL", f'"{head}"', at)
    for text in captures:
        g.op(",", words[end])
        g.emit("STRING_LITERAL", f'"{text}"', at)
    g.op(")", words[end])
    return end + 1


def _spelled(words: Sequence[Word]) -> str:
    """Returns the text of a capture; only its name where it cannot be read again."""
    if any(word.kind not in ("identifier", "number", "operator") for word in words):
        words = words[:1]
    return " ".join(word.text for word in words)


_LEAVING = frozenset(("return", "break", "continue", "goto"))
_STAY_IN = {
    **dict.fromkeys(("for", "while", "do"), frozenset(("break", "continue"))),
    "switch": frozenset(("break",)),
}
"""The jumps that end no more than a statement, by the word that it begins with."""
_NO_VALUE = frozenset(("if", "for", "while", "do", "switch", "{", ";"))


def desugar_statement_expression(g: Grammar, words: Sequence[Word], i: int) -> None:
    """Desugars GCC's `({ int a = x; a * a; })` as a lambda `[&] {..}` that is called."""
    end = closing(words, i)
    last = j = i + 1
    while j < end:
        is_end = words[j].text in (";", "{")
        j += words[j].reach + 1
        if is_end and j < end:
            last = j
    inner = words[i + 1 : end]
    if not inner or inner[-1].text != ";" or words[last].text in _NO_VALUE:
        raise CannotDesugar("GCC's statement expressions, `({ .. })`, without a value")
    if _leaves(words, i + 1, end):
        raise CannotDesugar("GCC's statement expressions, `({ .. })`, that are left by a jump")
    at = words[last]
    result = Word("identifier", "return", at.first, at.first)
    body = [*words[i:last], result, *words[last : end + 1]]
    g.name(markers.LAMBDA, words[i])
    g.op("(", words[i])
    for _ in range(2):  # neither parameters nor a reference
        g.emit("INT_CONST_DEC", "0", words[i])
        g.op(",", words[i])
    g.op("(", words[i])
    g.op("{", words[i])
    g.statements(body, 1, len(body) - 1)
    for bracket in ("}", ")", ")", "(", ")"):
        g.op(bracket, words[end])


def _leaves(
    words: Sequence[Word], begin: int, end: int, staying: frozenset[str] = frozenset()
) -> bool:
    """Returns whether a jump among some words leaves them, other than those that stay in them."""
    k = begin
    while k < end:
        text = words[k].text
        if text in _LEAVING - staying:
            return True
        body = k + 1 if text == "do" else closing(words, min(k + 1, end)) + 1
        if text in _STAY_IN and text_at(words, body) == "{":
            k = closing(words, body)
            if _leaves(words, body + 1, k, staying | _STAY_IN[text]):
                return True
        k += 1
    return False


def _template_head(g: Grammar, words: Sequence[Word], j: int) -> tuple[str, int]:
    """Returns `typename T, int N` of a lambda, whose types are types from here, and its end."""
    end = closing(words, j)
    for k in range(j, end):
        if words[k].is_type or words[k - 1].text == "class":
            g.types.add(words[k].text)
    head = (f"typename {w.text}" if w.is_type else w.text for w in words[j + 1 : end])
    return " ".join(head).replace('"', ""), end + 1


def desugar_asm(g: Grammar, words: Sequence[Word], i: int) -> int:
    """Desugars `asm("..." : "=r"(x) : "r"(p))`.

    It becomes `<asm>("...", <output>("=r", x), <input>("r", p))`.
    """
    at = words[i]
    i += 1
    while text_at(words, i) in ("volatile", "__volatile__", "goto", "inline"):
        i += 1
    if text_at(words, i) != "(":
        raise CannotDesugar("asm without operands")
    end = closing(words, i)
    sections = _asm_sections(words[i + 1 : end])
    g.name(markers.ASSEMBLY, at)
    g.op("(", at)
    template = "".join(_body(w.text) for w in sections[0] if w.kind == "string")
    operands = [o for section in sections[1:3] for o in split_at_commas(section)]
    for k, operand in enumerate(operands):  # `%[name]` is operand number k
        if text_at(operand, 0) == "[" and text_at(operand, 2) == "]":
            template = template.replace(f"%[{operand[1].text}]", f"%{k}")
    g.emit("STRING_LITERAL", f'"{template}"', at)
    for name, section in zip((markers.OUTPUT, markers.INPUT), sections[1:3], strict=False):
        for operand in split_at_commas(section):
            _asm_operand(g, name, operand)
    g.op(")", words[end])
    return end + 1


def _asm_operand(g: Grammar, name: str, words: Sequence[Word]) -> None:
    k = 0
    while text_at(words, k) == "[":
        k = closing(words, k) + 1
    if k >= len(words) or words[k].kind != "string":
        raise CannotDesugar("an operand of asm")
    constraint = words[k]
    opening = k + 1
    while opening < len(words) and words[opening].kind == "string":
        opening += 1
    if text_at(words, opening) != "(":
        raise CannotDesugar("an operand of asm")
    g.op(",", constraint)
    g.name(name, constraint)
    g.op("(", constraint)
    g.emit("STRING_LITERAL", string_literal(constraint.text), constraint)
    g.op(",", constraint)
    g.expression(words[opening + 1 : closing(words, opening)])
    g.op(")", constraint)


def _asm_sections(words: Sequence[Word]) -> list[list[Word]]:
    """Returns the parts between top-level colons: template, outputs, inputs, clobbers."""
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


def _declare(g: Grammar, words: Sequence[Word], name: str) -> None:
    if not take_parameter(g, words, name):
        raise CannotDesugar("a type in front of the body of a lambda")
    g.op(";", words[-1])


def _body_of_lambda(words: Sequence[Word], i: int) -> int:
    """Returns the index of the `{` behind `mutable`, `noexcept` and the result type."""
    while i < len(words) and words[i].text != "{":
        i += words[i].reach + 1
    return i


def _body(literal: str) -> str:
    """Returns the text between the quotes, escapes kept; raw strings are escaped."""
    raw = re.fullmatch(r'(?:u8|[uUL])?R"([^(]*)\((.*)\)\1"', literal, re.S)
    if raw is not None:
        return raw[2].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    inner = literal[literal.index('"') + 1 :]
    return re.sub(r"\\\r?\n", "", inner[:-1] if inner.endswith('"') else inner)


def string_literal(literal: str) -> str:
    """Returns the literal without prefix, raw strings escaped."""
    return f'"{_body(literal)}"'
