"""What a declaration is, by the tokens before its `{` or `;`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from smemlint.frontend.cuda.lexer.tokens import (
    Token,
    angle_end,
    matching,
    spelling_of,
    split_commas,
    words,
)
from smemlint.frontend.cuda.scanner.template_heads import template_heads
from smemlint.frontend.program import TemplateParameter
from smemlint.lazy_dataclasses import dataclass

RECORD_WORDS = ("struct", "class", "union")
ATTRIBUTE_WORDS = words(
    """__launch_bounds__ __align__ alignas __attribute__ __cluster_dims__ __declspec __maxnreg__
    __block_size__ explicit decltype noexcept requires __typeof__ typeof throw asm __asm__
    static_assert"""
)
_TYPE_ATTRIBUTES = frozenset(("decltype", "__typeof__", "typeof"))
_AFTER_PARAMETERS = words(
    """const volatile noexcept override final requires try throw mutable __attribute__
    __launch_bounds__ __cluster_dims__ asm -> : & && ["""
)
_QUALIFIERS = words("const override & &&")
NOT_NAMES = words(
    """if for while switch catch return sizeof do else case goto new delete throw
    void int float double char bool long short unsigned signed auto const
    template typename using typedef"""
)
_MACRO_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


def is_macro_name(word: str) -> bool:
    """Returns whether a word is spelled as macros are."""
    return _MACRO_NAME.fullmatch(word) is not None


@dataclass(slots=True)
class FunctionHead:
    """The parts of a function's head; see `pieces.FunctionTokens` for their meaning."""

    name: str
    name_token: Token
    heads: list[tuple[TemplateParameter, ...]]
    result: list[Token]
    params: list[Token]
    tail: list[Token]
    specialization: str | None
    qualifiers: tuple[str, ...]
    qualifier_arguments: int
    launch_bounds: tuple[str, ...]
    class_specialization: str | None = None  # `int, 3` of `void A<int, 3>::f()` without a head


@dataclass(slots=True)
class RecordHead:
    """The parts of a record's head."""

    kind: str
    name: str
    name_token: Token
    heads: list[tuple[TemplateParameter, ...]]
    specialization: str | None
    bases: tuple[str, ...]
    before: list[Token] = field(default_factory=list)  # `typedef`, `static __shared__`, ...
    attributes: list[Token] = field(default_factory=list)  # with the name: `alignas(16) S`
    qualifiers: tuple[str, ...] = ()  # names of `a::B<int>::` in front of the name


def namespace_of(tokens: Sequence[Token]) -> tuple[str, ...] | None:
    """Returns names that `namespace a::b {` or `extern "C" {` opens; None for other heads."""
    texts = [token.text for token in tokens]
    if texts[:1] == ["inline"]:
        texts = texts[1:]
    if texts[:1] == ["namespace"]:
        depth = 0
        names: list[str] = []
        is_new = True
        for token in tokens[tokens[0].text == "inline" :][1:]:
            depth += (token.text in "([") - (token.text in ")]")
            is_name = token.kind == "identifier" and token.text != "inline"
            if depth == 0 and is_name and not token.text.startswith("__attribute"):
                if not is_new:
                    names.pop()  # a macro in front of the name
                names.append(token.text)
                is_new = False
            elif token.text == "::":
                is_new = True
        return tuple(names)
    if len(texts) == 2 and texts[0] == "extern" and tokens[1].kind == "string":
        return ()
    return None


def record_head(tokens: Sequence[Token], concepts: frozenset[str]) -> RecordHead | None:
    """Reads `template <..> struct alignas(16) X<int> final : A, B<C>`; None for other heads."""
    heads, start = template_heads(tokens, concepts)
    word = _record_word(tokens, start)
    named = _record_name(tokens, word + 1) if word is not None else None
    if word is None or named is None:
        return None
    name_token, specialization, end, qualifiers = named
    bases = tuple(
        spelling_of([t for t in part if t.text not in ("public", "private", "protected")])
        for part in split_commas(tokens[end + 1 :])
    )  # `virtual B` is none that is known by its name: where it lies, the class derived last says
    name = name_token.text if name_token else ""
    place = name_token or tokens[word]
    before, attributes = list(tokens[start:word]), list(tokens[word + 1 : end])
    kind = tokens[word].text
    return RecordHead(
        kind, name, place, heads, specialization, bases, before, attributes, qualifiers
    )


def _record_word(tokens: Sequence[Token], start: int) -> int | None:
    """Returns where `struct`, `class` or `union` stands in a head."""
    i = start
    while i < len(tokens) and tokens[i].text not in RECORD_WORDS:
        if tokens[i].text in ("=", "enum", "operator"):
            return None
        if tokens[i].text == "(":
            if not (i > start and tokens[i - 1].text in ATTRIBUTE_WORDS):
                return None
            i = matching(tokens, i)
        elif tokens[i].text == "<":
            i = max(i, angle_end(tokens, i))
        i += 1
    return i if i < len(tokens) else None


def _record_name(
    tokens: Sequence[Token], i: int
) -> tuple[Token | None, str | None, int, tuple[str, ...]] | None:
    """Returns a record's name, specialization, where the bases or body begin, and qualifiers."""
    name_token: Token | None = None
    qualifiers: list[str] = []
    specialization = None
    while i < len(tokens) and tokens[i].text != ":":
        token = tokens[i]
        text = token.text
        if text == "(":
            previous = tokens[i - 1]
            is_attribute = previous.text in ATTRIBUTE_WORDS or _MACRO_NAME.fullmatch(previous.text)
            if not is_attribute:
                return None  # a function that returns an elaborated type
            if name_token is previous:
                name_token = None
            i = matching(tokens, i)
        elif text == "[":
            i = matching(tokens, i)
        elif text == "<":
            end = angle_end(tokens, i)
            if end < 0:
                return None
            specialization = spelling_of(tokens[i + 1 : end])
            i = end
        elif token.kind == "identifier" and text not in ATTRIBUTE_WORDS and text != "final":
            name_token, specialization = token, None
        elif text == "::":
            qualifiers += [name_token.text] if name_token is not None else []
        elif text in ("*", "&", "=", "&&"):
            return None
        i += 1
    return name_token, specialization, i, tuple(qualifiers)


def function_head(tokens: Sequence[Token], concepts: frozenset[str]) -> FunctionHead | None:
    """Reads a function's head up to its `{` or `;`; None when the tokens are none."""
    heads, start = template_heads(tokens, concepts)
    found = _parameter_list(tokens, start)
    if found is None:
        return None
    name_at, opening, name = found
    close = matching(tokens, opening)
    if tokens[close].text != ")":
        return None
    specialization = None
    if (
        name_at < opening - 1
        and tokens[opening - 1].text == ">"
        and not name.startswith("operator")
    ):
        specialization = spelling_of(tokens[name_at + 2 : opening - 1])
    begin, qualifiers, arguments = _qualification(tokens, name_at, start)
    result, bounds = _without_attributes(tokens[start:begin])
    tail = list(tokens[close + 1 :])
    bounds = bounds or _without_attributes(tail)[1]
    return FunctionHead(
        name,
        tokens[name_at],
        heads,
        _with_trailing_type(result, tail),
        list(tokens[opening + 1 : close]),
        tail,
        specialization,
        qualifiers,
        arguments,
        bounds,
        _class_arguments(tokens, name_at, start) if arguments and not any(heads) else None,
    )


def _parameter_list(tokens: Sequence[Token], start: int) -> tuple[int, int, str] | None:
    """Returns where the name and the `(` of the parameter list are, and the name."""
    candidate: tuple[int, int, str] | None = None
    i = start
    while i < len(tokens):
        text = tokens[i].text
        if text == "operator" and tokens[i].kind == "identifier":
            return _operator_name(tokens, i)
        if text == "=" and candidate is None:
            return None
        if text == "(":
            name_at = _name_before(tokens, i, start)
            close = matching(tokens, i)
            if name_at >= 0 and tokens[name_at].text not in ATTRIBUTE_WORDS | NOT_NAMES:
                name = tokens[name_at].text
                if name_at > start and tokens[name_at - 1].text == "~":
                    name = "~" + name
                candidate = (name_at, i, name)
                if not _is_followed_by_a_declarator(tokens, close + 1):
                    return candidate
            i = close
        elif text == "[":
            i = matching(tokens, i)
        elif text == "<" and i > start and tokens[i - 1].kind == "identifier":
            i = max(i, angle_end(tokens, i))
        elif text == "," and candidate is None:
            return None
        i += 1
    return candidate


def _is_followed_by_a_declarator(tokens: Sequence[Token], i: int) -> bool:
    """Returns whether parameters still follow, as in `M(x) int f()` of a macro."""
    if i >= len(tokens) or tokens[i].text in _AFTER_PARAMETERS:
        return False
    if tokens[i].kind != "identifier":
        return False
    previous_is_name = False
    while i < len(tokens):
        token = tokens[i]
        if token.text in ("->", ":", "="):
            return False
        if token.text == "(" and previous_is_name:
            return True
        previous_is_name = (
            token.text == "operator"
            or (
                token.kind == "identifier"
                and token.text not in _AFTER_PARAMETERS | ATTRIBUTE_WORDS
                and not _MACRO_NAME.fullmatch(token.text)
            )
            or token.text == ">"
        )
        if token.text in ("(", "["):
            i = matching(tokens, i)
        i += 1
    return False


def _operator_name(tokens: Sequence[Token], i: int) -> tuple[int, int, str] | None:
    """Reads `operator()`, `operator+=`, `operator float*` and its parameter list."""
    j = i + 1
    if spelling_of(tokens[j : j + 2]) in ("()", "[]"):
        j += 2
    while j < len(tokens) and tokens[j].text != "(":
        if tokens[j].text == "<" and tokens[j - 1].kind == "identifier" and j - 1 > i:
            j = max(j, angle_end(tokens, j))
        j += 1
    if j >= len(tokens):
        return None
    symbols = tokens[i + 1 : j]
    name = spelling_of(symbols)
    return i, j, f"operator {name}" if name[:1].isalpha() or name[:1] == "_" else f"operator{name}"


def _name_before(tokens: Sequence[Token], opening: int, start: int) -> int:
    """Returns the index of the name before a `(` and template arguments; -1 for none."""
    i = opening - 1
    if i >= start and tokens[i].text == ">":
        i = _angle_start(tokens, i, start) - 1
    return i if i >= start and tokens[i].kind == "identifier" else -1


def _angle_start(tokens: Sequence[Token], close: int, start: int) -> int:
    """Returns the index of the `<` that the `>` at `close` ends; `start` when there is none."""
    depth = 0
    for i in range(close, start - 1, -1):
        text = tokens[i].text
        if text == ">":
            depth += 1
        elif text == "<":
            depth -= 1
            if depth == 0:
                return i
    return start


def _qualification(
    tokens: Sequence[Token], name_at: int, start: int
) -> tuple[int, tuple[str, ...], int]:
    """Returns where `A<T>::B::` begins, its names, and how many have arguments."""
    begin = name_at
    if begin > start and tokens[begin - 1].text == "~":
        begin -= 1
    names: list[str] = []
    arguments = 0
    while begin - 2 >= start and tokens[begin - 1].text == "::":
        i = begin - 2
        if tokens[i].text == ">":
            i = _angle_start(tokens, i, start) - 1
            arguments += 1
        if i < start or tokens[i].kind != "identifier":
            break
        names.append(tokens[i].text)
        begin = i
    return begin, tuple(reversed(names)), arguments


def _class_arguments(tokens: Sequence[Token], name_at: int, start: int) -> str | None:
    """Returns the template arguments of the class in `A<int, 3>::` before a name."""
    end = name_at - 2 - (tokens[name_at - 1].text == "~")
    if end <= start or tokens[end].text != ">":
        return None
    return spelling_of(tokens[_angle_start(tokens, end, start) + 1 : end])


def _without_attributes(tokens: Sequence[Token]) -> tuple[list[Token], tuple[str, ...]]:
    """Returns tokens without attributes, and the arguments of `__launch_bounds__`."""
    out: list[Token] = []
    bounds: tuple[str, ...] = ()
    i = 0
    while i < len(tokens):
        token = tokens[i]
        has_arguments = i + 1 < len(tokens) and tokens[i + 1].text == "("
        if token.kind == "identifier" and has_arguments and token.text not in _TYPE_ATTRIBUTES:
            close = matching(tokens, i + 1)
            if token.text == "__launch_bounds__":
                bounds = tuple(spelling_of(p) for p in split_commas(tokens[i + 2 : close]))
            i = close
        elif token.kind == "pragma":
            pass
        else:
            out.append(token)
            if token.text in _TYPE_ATTRIBUTES and has_arguments:
                close = matching(tokens, i + 1)
                out += tokens[i + 1 : close + 1]
                i = close
        i += 1
    return out, bounds


def _with_trailing_type(result: list[Token], tail: list[Token]) -> list[Token]:
    """Returns the return type with `-> T` in place of `auto`."""
    for i, token in enumerate(tail):
        if token.text == "->":
            end = i + 1
            while end < len(tail) and tail[end].text not in ("requires", "{", "override", "final"):
                end += 1
            return [t for t in result if t.text != "auto"] + tail[i + 1 : end]
        if token.text == ":":
            break
    return result


def qualifiers_of(tail: Sequence[Token]) -> set[str]:
    """Returns what qualifies a method behind its parameter list: `const`, `&&`, `override`."""
    found: set[str] = set()
    end = 0
    while end < len(tail) and tail[end].text not in (":", "->"):
        found.add(tail[end].text)
        end = matching(tail, end) + 1 if tail[end].text == "(" else end + 1
    return found & _QUALIFIERS


def initializers_of(tail: Sequence[Token]) -> list[Token]:
    """Returns the member initializers of a constructor from what follows its parameter list."""
    for i, token in enumerate(tail):
        if token.text == ":":
            return list(tail[i + 1 :])
        if token.text == "->":
            break
    return []
