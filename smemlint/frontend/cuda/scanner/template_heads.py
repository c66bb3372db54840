"""Template heads: `template <typename T, int N = 4> requires C<T>` to parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smemlint.frontend.cuda.lexer.tokens import (
    Token,
    angle_end,
    matching,
    spelling_of,
    split_commas,
)
from smemlint.frontend.program import TemplateParameter

_STANDARD_CONCEPTS = frozenset(
    ("integral", "floating_point", "same_as", "convertible_to", "derived_from", "invocable")
)


def template_heads(
    tokens: Sequence[Token], concepts: frozenset[str]
) -> tuple[list[tuple[TemplateParameter, ...]], int]:
    """Returns the template heads in front of a declaration and the index behind them."""
    heads: list[tuple[TemplateParameter, ...]] = []
    i = 0
    while i + 1 < len(tokens) and tokens[i].text == "template" and tokens[i + 1].text == "<":
        end = angle_end(tokens, i + 1)
        if end < 0:
            break
        parameters = template_parameters(tokens[i + 2 : end], concepts)
        i = _after_requires(tokens, end + 1)
        heads.append(_constrained(parameters, tokens[end + 2 : i]))
    return heads, i


def _constrained(
    parameters: tuple[TemplateParameter, ...], clause: Sequence[Token]
) -> tuple[TemplateParameter, ...]:
    """Notes the requires-clause of a head at its last parameter."""
    if not clause or not parameters:
        return parameters
    *first, last = parameters
    texts = [f"({text})" for text in (last.constraint, spelling_of(clause)) if text]
    return (*first, replace(last, constraint="&&".join(texts)))


def template_parameters(
    tokens: Sequence[Token], concepts: frozenset[str] = frozenset()
) -> tuple[TemplateParameter, ...]:
    """Returns the parameters between `<` and `>`."""
    return tuple(_parameter(part, concepts) for part in split_commas(tokens) if part)


def _parameter(tokens: list[Token], concepts: frozenset[str]) -> TemplateParameter:
    equals = _default_at(tokens)
    default = _default(tokens[equals + 1 :]) if equals < len(tokens) else None
    tokens = tokens[:equals]
    is_pack = any(token.text == "..." for token in tokens)
    words = [token for token in tokens if token.text != "..."]
    if not words:
        return TemplateParameter("", "type", default=default, is_pack=is_pack)
    last = words[-1]
    if words[0].text == "template":
        name = last.text if last.text not in ("class", "typename", ">") else ""
        return TemplateParameter(name, "template", default=default, is_pack=is_pack)
    is_named = last.kind == "identifier"
    if words[0].text in ("typename", "class") and len(words) <= 2:
        name = last.text if len(words) == 2 else ""
        return TemplateParameter(name, "type", default=default, is_pack=is_pack)
    for i, token in enumerate(words[:-1]):  # `int (*F)(int)`
        if token.text == "(" and words[i + 1].text in ("*", "&") and i + 2 < len(words):
            kind = spelling_of(words)
            return TemplateParameter(words[i + 2].text, "value", kind, default, is_pack)
    if is_named and _is_constraint(words[:-1], concepts):
        asked = _constraint(words[:-1], last.text)
        return TemplateParameter(last.text, "type", "", default, is_pack, asked)
    if is_named and len(words) == 1 and last.text in concepts:
        return TemplateParameter("", "type", default=default, is_pack=is_pack)
    if is_named and len(words) > 1 and not _ends_a_type(words):
        return TemplateParameter(last.text, "value", spelling_of(words[:-1]), default, is_pack)
    return TemplateParameter("", "value", spelling_of(words), default, is_pack)


def _default(tokens: Sequence[Token]) -> str:
    """Returns the spelling of a default argument; `class T::U` names a type as `typename` does."""
    if tokens and tokens[0].text in ("class", "struct", "union", "enum"):
        return f"typename {spelling_of(tokens[1:])}"
    return spelling_of(tokens)


def _is_constraint(tokens: list[Token], concepts: frozenset[str]) -> bool:
    """Returns whether `tokens` before a parameter's name are a concept, e.g. `ns::integral`."""
    end = len(tokens)
    for i, token in enumerate(tokens):
        if token.text == "<":
            end = i
            break
    if not end or tokens[end - 1].kind != "identifier":
        return False
    name = tokens[end - 1].text
    return name in concepts or (name in _STANDARD_CONCEPTS and tokens[0].text == "std")


def _constraint(concept: Sequence[Token], name: str) -> str:
    """Returns what `C<int> T` asks: `C<T, int>`."""
    text = spelling_of(concept)
    head, angle, rest = text.partition("<")
    return f"{head}<{name}, {rest}" if angle else f"{text}<{name}>"


_TYPE_WORDS = frozenset(
    ("int", "unsigned", "signed", "long", "short", "char", "bool", "float", "double", "auto")
)


def _ends_a_type(words: list[Token]) -> bool:
    """Returns whether the last word still is of the type: the parameter has no name."""
    return words[-1].text in _TYPE_WORDS or words[-2].text in ("::", "typename")


def _default_at(tokens: Sequence[Token]) -> int:
    i = 0
    while i < len(tokens):
        text = tokens[i].text
        if text == "=":
            return i
        if text in ("(", "[", "{"):
            i = matching(tokens, i)
        elif text == "<":
            i = max(i, angle_end(tokens, i))
        i += 1
    return len(tokens)


def _after_requires(tokens: Sequence[Token], i: int) -> int:
    """Returns the index behind a requires-clause at `i`, if there is one."""
    if i >= len(tokens) or tokens[i].text != "requires":
        return i
    i += 1
    while i < len(tokens):
        while i < len(tokens) and tokens[i].text == "!":
            i += 1
        if i < len(tokens) and tokens[i].text == "requires":  # a requires-expression
            i += 1
            if i < len(tokens) and tokens[i].text == "(":
                i = matching(tokens, i) + 1
            if i < len(tokens) and tokens[i].text == "{":
                i = matching(tokens, i) + 1
        elif i < len(tokens) and tokens[i].text == "(":
            i = matching(tokens, i) + 1
        else:
            i = _after_name(tokens, i)
        if i < len(tokens) and tokens[i].text in ("&&", "||"):
            i += 1
            continue
        break
    return i


def _after_name(tokens: Sequence[Token], i: int) -> int:
    """Returns the index behind a qualified name with template arguments."""
    while i < len(tokens) and (tokens[i].kind == "identifier" or tokens[i].text == "::"):
        i += 1
        if i < len(tokens) and tokens[i].text == "<":
            end = angle_end(tokens, i)
            if end < 0:
                return i
            i = end + 1
        if i < len(tokens) and tokens[i].text != "::" and tokens[i - 1].text != "::":
            return i
    return i
