"""Desugars expressions; see `parse` for the contract."""

from __future__ import annotations

import re
from collections.abc import Sequence

from smemlint.frontend.cuda.lexer.keywords import (
    BUILTIN_TYPES,
    OPERATORS,
    QUALIFIERS,
    STATEMENT_WORDS,
)
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.desugar_cuda import (
    desugar_asm,
    desugar_lambda,
    desugar_launch,
    desugar_new,
    desugar_requires,
    desugar_sizeof,
    desugar_statement_expression,
    string_literal,
)
from smemlint.frontend.cuda.parser.desugar_declarations import desugar_braces
from smemlint.frontend.cuda.parser.desugar_types import (
    closing,
    emit_call,
    find_top_level,
    is_surely_type,
    is_type_id,
    is_type_word,
    split_at_commas,
    take_pointers,
    take_specifiers,
    take_type_id,
    text_at,
)
from smemlint.frontend.cuda.parser.grammar import CannotDesugar, Grammar
from smemlint.frontend.cuda.parser.qualified_names import Word
from smemlint.limits.budgets import MAX_BRACKETS

_NUMBERS = (
    (re.compile(r"0[xX][0-9a-fA-F]+[uUlL]*"), "INT_CONST_HEX"),
    (re.compile(r"0[bB][01]+[uUlL]*"), "INT_CONST_BIN"),
    (re.compile(r"0[0-7]*[uUlL]*"), "INT_CONST_OCT"),
    (re.compile(r"[0-9]+[uUlL]*"), "INT_CONST_DEC"),
)
# What follows a parenthesised name when it was an operand and no cast.
_AFTER_OPERAND = frozenset((
    ")", ",", ";", "]", "?", ":", "=", "==", "/", "%", "<", ">", ".", "->", "|", "||",
    "&&", "}", "^", "+=", "-=", "*=", "/=", "!=", "<<", "<=", ">=", "[", "...",
))  # fmt: skip
_CAST_OR_BINARY = frozenset(("*", "&", "-", "+"))


# ---- lists


def desugar_arguments(g: Grammar, words: Sequence[Word]) -> None:
    """Desugars arguments: `T` as `<type>((T)0)` and `pack...` as `<pack>(pack)`."""
    for k, part in enumerate(split_at_commas(words)):
        at = part[0]
        if k:
            g.op(",", at)
        is_type = is_type_word(g, at) and at.text not in g.variables
        if part[-1].text == "..." and len(part) > 1:
            emit_call(g, markers.PACK, part[:-1], at)
        elif is_type and is_type_id(g, part) and (len(part) > 1 or at.text in BUILTIN_TYPES):
            g.name(markers.TYPE, at)
            for bracket in ("(", "("):
                g.op(bracket, at)
            take_type_id(g, part)
            g.op(")", at)
            g.emit("INT_CONST_DEC", "0", at)
            g.op(")", at)
        else:
            g.expression(part)


def _fold(g: Grammar, inner: Sequence[Word], at: Word) -> None:
    """Desugars `(init + ... + pack)` as `(<fold>("+", 0, init, pack))`; 1 of `(... + pack)`."""
    dots = _dots_of_fold(inner)
    left, right = inner[:dots], inner[dots + 1 :]
    op = ""
    if left and left[-1].kind == "operator" and left[-1].text not in (")", "]", "}"):
        op, left = left[-1].text, left[:-1]
    if right and right[0].kind == "operator" and right[0].text in (*OPERATORS, ","):
        op, right = right[0].text, right[1:]
    g.name(markers.FOLD, at)
    g.op("(", at)
    g.emit("STRING_LITERAL", f'"{op}"', at)
    g.op(",", at)
    g.emit("INT_CONST_DEC", str(int(not left)), at)
    for part in (left, right):
        if part:
            g.op(",", at)
            g.expression(part)
    g.op(")", at)


# ---- expressions


def desugar_expression(g: Grammar, words: Sequence[Word]) -> None:
    """Desugars an expression; an empty one gives nothing."""
    i = 0
    after_operand = False
    while i < len(words):
        i, after_operand = _part(g, words, i, after_operand)


def _part(g: Grammar, words: Sequence[Word], i: int, after_operand: bool) -> tuple[int, bool]:
    """Returns one operand or operator: the index after it, and whether an operand ends there."""
    word = words[i]
    match word.kind:
        case "cast":
            return _cast(g, words, i), True
        case "number":
            _number(g, word)
            return i + 1, True
        case "string":
            g.emit("STRING_LITERAL", string_literal(word.text), word)
            return i + 1, True
        case "character":
            g.emit("CHAR_CONST", word.text[word.text.index("'") :], word)
            return i + 1, True
        case "pragma":
            return i + 1, after_operand
        case "identifier" if _is_text(words, i):
            g.emit("STRING_LITERAL", '""', word)
            return i + 1, True
        case "identifier":
            return _identifier(g, words, i, after_operand)
        case _:
            return _operator(g, words, i, after_operand)


def _cast(g: Grammar, words: Sequence[Word], i: int) -> int:
    word = words[i]
    if text_at(words, i + 1) != "(":
        raise CannotDesugar(f"`{word.text}` without an operand")
    end = closing(words, i + 1)
    kind = list(word.operand)
    is_reference = bool(kind) and kind[-1].text in ("&", "&&")
    g.op("(", word)
    if is_reference:  # reinterpret_cast<T&>(e) is *(T*)&(e)
        star = Word("operator", "*", kind[-1].first, kind[-1].last)
        g.op("*", word)
        g.op("(", word)
        take_type_id(g, [*kind[:-1], star])
        g.op(")", word)
        g.op("&", word)
    else:
        g.op("(", word)
        take_type_id(g, kind)
        g.op(")", word)
    g.op("(", words[i + 1])
    g.expression(words[i + 2 : end])
    g.op(")", words[end])
    g.op(")", words[end])
    return end + 1


def _number(g: Grammar, word: Word) -> None:
    text = word.text.replace("'", "")
    for pattern, role in _NUMBERS:
        if pattern.fullmatch(text):
            g.emit(role, text, word)
            return
    if re.fullmatch(r"[0-9]+[uU]?[zZ][uU]?", text):
        g.emit("INT_CONST_DEC", re.sub("[a-zA-Z]", "", text), word)
    else:
        g.emit("FLOAT_CONST", text, word)


def _identifier(g: Grammar, words: Sequence[Word], i: int, after_operand: bool) -> tuple[int, bool]:
    word, following = words[i], text_at(words, i + 1)
    match word.text:
        case "sizeof" | "alignof" | "_Alignof" | "__alignof__":
            return desugar_sizeof(g, words, i)
        case "new":
            return desugar_new(g, words, i), True
        case "requires":
            return desugar_requires(g, words, i), True
        case "throw":  # what is thrown, a message mostly, tells nothing of what follows
            emit_call(g, markers.THROW, (), word)
            return min(find_top_level(words, each, i) for each in (",", ":")), True
        case "delete" | "co_await":
            j = closing(words, i + 1) + 1 if following == "[" else i + 1
            if j >= len(words):
                g.emit("INT_CONST_DEC", "0", word)
            return j, False
        case "asm" | "__asm__" | "__asm":
            return desugar_asm(g, words, i), True
        case "constexpr" | "mutable" | "noexcept" | "typename" | "template":
            return i + 1, after_operand
    if (word.text in BUILTIN_TYPES or word.text in QUALIFIERS) and i + 1 < len(words):
        return _functional_cast(g, words, i), True
    if following == "{" and not after_operand:
        end = closing(words, i + 1)
        if _names_members(words, i + 1):
            _compound_literal(g, [word], words, i + 1)
            return end + 1, True
        emit_call(g, markers.CONSTRUCT + word.text, words[i + 2 : end], word)
        return end + 1, True
    launch = _launch_after(words, i)
    if launch:
        return desugar_launch(g, words, i, launch), True
    is_member = ">::" in word.text  # of a class template: a static function, or a type
    if (
        following == "("
        and is_type_word(g, word)
        and not is_member
        and word.text not in g.variables
    ):
        g.name(markers.CONSTRUCT + word.text, word)
    else:
        g.name(word.text, word)
    return i + 2 if following == "..." else i + 1, True


def _names_members(words: Sequence[Word], brace: int) -> bool:
    """Returns whether braces begin with a designator: `{.a = 1}`, `{.a{1}}`."""
    return text_at(words, brace + 1) == "." and text_at(words, brace + 3) in ("=", "{")


def _compound_literal(g: Grammar, kind: Sequence[Word], words: Sequence[Word], i: int) -> None:
    """Desugars `(T){..}`, and `T{.a = 1}` and `{.a = 1}` as such ones: calls name no members."""
    g.op("(", words[i])
    if kind:
        take_type_id(g, kind)
    else:
        g.emit("INT", markers.BRACES, words[i])
    g.op(")", words[i])
    if _names_members(words, i):
        desugar_braces(g, words, i)
        return
    end = closing(words, i)
    g.op("{", words[i])
    g.arguments(words[i + 1 : end])
    g.op("}", words[end])


def _functional_cast(g: Grammar, words: Sequence[Word], i: int) -> int:
    """Desugars `int(x)`, `unsigned{}`: a cast."""
    after, _ = take_specifiers(g, words, i, emit=False)
    if text_at(words, after) not in ("(", "{"):
        raise CannotDesugar(f"the type `{words[i].text}` stands in an expression")
    end = closing(words, after)
    g.op("(", words[i])
    g.op("(", words[i])
    take_specifiers(g, words[:after], i)
    g.op(")", words[i])
    if end == after + 1:
        g.emit("INT_CONST_DEC", "0", words[i])
    else:
        g.op("(", words[after])
        g.expression(words[after + 1 : end])
        g.op(")", words[end])
    g.op(")", words[i])
    return end + 1


# ---- operators


def _operator(g: Grammar, words: Sequence[Word], i: int, after_operand: bool) -> tuple[int, bool]:
    word = words[i]
    if word.height > MAX_BRACKETS:  # each level takes its words along
        raise CannotDesugar(f"brackets are nested more than {MAX_BRACKETS} deep")
    match word.text:
        case "(":
            return _parenthesis(g, words, i, after_operand)
        case "[" if not after_operand:
            return desugar_lambda(g, words, i), True
        case "[":
            end = closing(words, i)
            g.op("[", word)
            g.expression(words[i + 1 : end])
            g.op("]", words[end])
            return end + 1, True
        case "{":
            end = closing(words, i)
            if after_operand:
                g.op("(", word)
                g.arguments(words[i + 1 : end])
                g.op(")", words[end])
            elif _names_members(words, i):
                _compound_literal(g, (), words, i)
            else:
                emit_call(g, markers.BRACES, words[i + 1 : end], word)
            return end + 1, True
        case ">":
            return _greater(g, words, i), False
        case "." | "->":
            return _member(g, words, i), True
        case "++" | "--":
            g.op(word.text, word)
            return i + 1, after_operand
        case "...":
            return i + 1, after_operand
    if word.text not in OPERATORS or word.text == ";":
        raise CannotDesugar(f"`{word.text}` in an expression")
    g.op(word.text, word)
    return i + 1, False


def _greater(g: Grammar, words: Sequence[Word], i: int) -> int:
    """Joins single `>` that stand together to `>>`, `>>=` or `>=`."""
    word = words[i]
    if not word.glued or text_at(words, i + 1) not in (">", ">="):
        g.op(">", word)
        return i + 1
    if words[i + 1].text == ">=":
        g.op(">>=", word)
        return i + 2
    if words[i + 1].glued and text_at(words, i + 2) == "=":
        g.op(">>=", word)
        return i + 3
    g.op(">>", word)
    return i + 2


def _member(g: Grammar, words: Sequence[Word], i: int) -> int:
    word = words[i]
    following = words[i + 1] if i + 1 < len(words) else None
    if following is None or following.text == "*":
        raise CannotDesugar("a pointer to a member")
    g.op(word.text, word)
    if following.text == "~":
        g.name("__destructor", following)
        return i + 3
    if following.kind != "identifier":
        raise CannotDesugar(f"`{word.text}` is followed by `{following.text}`")
    g.name(following.text, following)
    return i + 2


def _parenthesis(
    g: Grammar, words: Sequence[Word], i: int, after_operand: bool
) -> tuple[int, bool]:
    """Returns a cast, a call's arguments, a launch or a parenthesised expression."""
    end = closing(words, i)
    inner = words[i + 1 : end]
    if text_at(words, end + 1) == "<<<" and not after_operand:
        return desugar_launch(g, words, i, end + 1), True
    if not after_operand and inner and _is_cast(g, words, inner, end):
        if text_at(words, end + 1) == "{":
            _compound_literal(g, inner, words, end + 1)
            return closing(words, end + 1) + 1, True
        g.op("(", words[i])
        take_type_id(g, inner)
        g.op(")", words[end])
        return end + 1, False
    g.op("(", words[i])
    if after_operand:
        g.arguments(inner)
    elif text_at(inner, 0) == "{":
        desugar_statement_expression(g, words, i + 1)
    elif _dots_of_fold(inner) >= 0:
        _fold(g, inner, words[i])
    else:
        g.expression(inner)
    g.op(")", words[end])
    return end + 1, True


def _is_cast(g: Grammar, words: Sequence[Word], inner: Sequence[Word], end: int) -> bool:
    if end + 1 >= len(words):
        return False
    after = words[end + 1]
    is_operator = after.kind == "operator"
    if is_type_id(g, inner):
        if is_operator and after.text in _AFTER_OPERAND:
            return False
        return not (is_operator and after.text in _CAST_OR_BINARY) or is_surely_type(g, inner)
    if len(inner) == 1 and inner[0].kind == "identifier" and after.text == "(":
        return inner[0].text not in g.variables
    starts_operand = after.kind in ("identifier", "number", "cast")
    return starts_operand and _may_be_type(g, inner)


def _may_be_type(g: Grammar, words: Sequence[Word]) -> bool:
    """Returns whether an unknown name followed by an operand can only be a type."""
    after, saw_type = take_specifiers(g, words, 0, emit=False)
    return saw_type and take_pointers(g, words, after, emit=False) == len(words)


def _dots_of_fold(words: Sequence[Word]) -> int:
    """Returns where the `...` of `pack + ...` stands, none of `sizeof...(pack)`; -1 for none."""
    i = 0
    while i < len(words):
        if words[i].text == "..." and text_at(words, i - 1) != "sizeof":
            return i
        i += words[i].reach + 1
    return -1


def _is_text(words: Sequence[Word], i: int) -> bool:
    """Returns whether the name beside a string is a part of it: `__FILE__ ":"`, `"%" PRIu64`."""
    if i + 1 < len(words) and words[i + 1].kind == "string":
        return words[i].text not in STATEMENT_WORDS
    return i > 0 and words[i - 1].kind == "string"


def _launch_after(words: Sequence[Word], i: int) -> int:
    """Returns where `<<<` stands behind a kernel, `table[i]`, `get(i)` or `e->kernel`; else 0."""
    j = i + 1
    while j < len(words) and words[j].text in ("[", "(", ".", "->"):
        j = closing(words, j) + 1 if words[j].text in "[(" else j + 2
    return j if text_at(words, j) == "<<<" else 0
