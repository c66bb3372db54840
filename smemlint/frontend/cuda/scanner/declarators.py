"""The names that one declaration introduces, with the tokens that declare each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from smemlint.frontend.cuda.lexer.keywords import FUNCTION_SPECIFIERS, STORAGE
from smemlint.frontend.cuda.lexer.tokens import Token, angle_end, matching, split_commas, words
from smemlint.frontend.cuda.scanner.definition_heads import (
    ATTRIBUTE_WORDS,
    NOT_NAMES,
    RECORD_WORDS,
    function_head,
)
from smemlint.frontend.program import Prototype
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_COMPARISONS

_IGNORED = words(
    """friend static_assert _Static_assert concept template namespace return if for while switch
    do else case break continue goto delete throw asm __asm__ export import public private
    protected default"""
)


_NO_TYPE = FUNCTION_SPECIFIERS | STORAGE.keys()


@dataclass(frozen=True, slots=True)
class Declared:
    """A name.

    Attributes:
        kind: `variable`, `alias` or `enum` to be kept; `type` and `function` for forward
            declarations, whose names are only known.
        tokens: the declaration of this name alone: `int a = 1, b = 2` gives `int b = 2` for b.
        qualifiers: `A` of `const int A::x = 3`.
        enumerators: of an unscoped enum.
    """

    kind: str
    token: Token
    tokens: list[Token]
    qualifiers: tuple[str, ...] = ()
    enumerators: tuple[str, ...] = ()


def declared_names(h: list[Token], in_record: bool) -> Iterator[Declared]:
    """Yields names declared by tokens that end before the `;` and have no template head."""
    if len(h) > 3 and h[0].text == "concept" and h[2].text == "=":
        yield Declared("variable", h[1], [replace(h[0], text="bool"), *h[1:]])
        return
    if not h or h[0].text in _IGNORED:
        return
    head = list(takewhile(lambda token: token.text != "{", h[:12]))
    first_words = {token.text for token in head if token.kind == "identifier"}
    if h[0].text == "using":
        if len(h) > 3 and h[2].text == "=":
            yield Declared("alias", h[1], h)
        return
    if "enum" in first_words and "(" not in [token.text for token in h[:2]]:
        yield from _enum(h)
        return
    if h[0].text in RECORD_WORDS and len(h) == 2:
        yield Declared("type", h[1], h)
        return
    is_alias = h[0].text == "typedef"
    is_kept = is_alias or not in_record or "static" in first_words
    for begin, first, last in _declarators(h, _record_end(h)):
        name = _name(h, first, last)
        if name is None:
            continue
        at, is_function = name
        kind = "alias" if is_alias else "function" if is_function else "variable"
        if kind == "function" and _constructs(h, at):
            kind = "variable"
        if kind == "variable" and not is_kept:
            continue
        is_maker = in_record and kind == "function" and at == 0
        if not is_alias and at == 0 and not is_maker:
            continue  # a macro call or an expression: nothing stands before the name
        tokens = h[:begin] + h[first:last]
        yield Declared(kind, h[at], tokens, _qualifiers(h, at))


def prototype(h: Sequence[Token], scope: tuple[str, ...]) -> Prototype | None:
    """Reads the tokens of a function's declaration without a body; None where they are none."""
    head = function_head(h, frozenset())
    if head is None:
        return None
    spelled = [[token.text for token in part] for part in split_commas(head.params)]
    written = (("&" in part or "&&" in part) and "const" not in part for part in spelled)
    keeps_object = any(token.text == "const" for token in head.tail)
    words = [t.text for t in head.result if t.kind != "string" and t.text not in _NO_TYPE]
    keeps_object |= any(t.text == "static" for t in head.result)
    is_kernel = any(t.text == "__global__" for t in head.result)
    is_of_c = any(t.kind == "string" for t in head.result)
    params = (" ".join(p[: p.index("=")] if "=" in p else p) for p in spelled if p != ["void"])
    given = None if is_of_c else tuple(params)
    result, is_virtual = " ".join(words), any(t.text == "virtual" for t in head.result)
    return Prototype(scope, tuple(written), keeps_object, result, is_kernel, given, is_virtual)


def _enum(h: list[Token]) -> Iterator[Declared]:
    i = next(k for k, token in enumerate(h) if token.text == "enum")
    is_scoped = i + 1 < len(h) and h[i + 1].text in ("class", "struct")
    j = i + 1 + is_scoped
    while j < len(h) and h[j].text in ("__attribute__", "alignas"):
        j = matching(h, j + 1) + 1
    has_name = j < len(h) and h[j].kind == "identifier"
    opening = next((k for k, token in enumerate(h) if token.text == "{"), -1)
    if opening < 0:
        if has_name and (j + 1 == len(h) or h[j + 1].text == ":"):
            yield Declared("type", h[j], h)
        return
    close = matching(h, opening)
    names: list[str] = []
    k = opening + 1
    while k < close:
        if h[k].kind == "identifier" and h[k - 1].text in ("{", ","):
            names.append(h[k].text)
        k = matching(h, k) + 1 if h[k].text in ("(", "[", "{") else k + 1
    token = h[j] if has_name else h[i]
    if not has_name and h[0].text == "typedef" and close + 1 < len(h):
        token = h[close + 1]
    enumerators = () if is_scoped else tuple(names)
    yield Declared("enum", token, h[i : close + 1], (), enumerators)


def _record_end(h: Sequence[Token]) -> int:
    """Returns the index behind the body of a record that the declaration defines; 0 for none."""
    is_record = False
    for i, token in enumerate(h):
        if token.text == "=":
            break
        is_record |= token.text in RECORD_WORDS
        if token.text == "{":
            return matching(h, i) + 1 if is_record else 0
    return 0


def _declarators(h: Sequence[Token], start: int) -> Iterator[tuple[int, int, int]]:
    """Yields declarators as `(end of the type, begin, end)`, with `*` and initializer."""
    commas = [start - 1]
    tries = MAX_COMPARISONS
    i = start
    while i < len(h):
        text = h[i].text
        if text in ("(", "[", "{"):
            i = matching(h, i)
        elif text == "<" and i and h[i - 1].kind == "identifier" and tries > 0:
            end = angle_end(h, i)
            tries -= end < 0
            i = max(i, end)
        elif text == ",":
            commas.append(i)
        i += 1
    commas.append(len(h))
    if len(commas) == 2:
        yield start, start, len(h)
        return
    first = _name(h, start, commas[1])
    if first is None:
        return
    begin = first[0]
    while begin > start and h[begin - 1].text in ("*", "&", "&&", "(", "const", "__restrict__"):
        if h[begin - 1].text == "const" and h[begin - 2].text not in ("*", "&"):
            break
        begin -= 1
    for left, right in pairwise(commas):
        yield begin, max(left + 1, begin), right


def _name(h: Sequence[Token], first: int, last: int) -> tuple[int, bool] | None:
    """Returns where the declared name of a declarator is, and whether it declares a function."""
    found = -1
    i = first
    while i < last:
        token = h[i]
        text = token.text
        if text in ("=", ":", "{", "["):
            break
        if text == "(":
            previous = h[i - 1].text if i else ""
            if previous in ATTRIBUTE_WORDS:
                i = matching(h, i) + 1
                continue
            inner = i + 1
            while inner < last and h[inner].text in ("*", "&", "&&", "const", "("):
                inner += 1
            is_pointer = inner > i + 1 and inner < last and h[inner].kind == "identifier"
            if is_pointer and (
                found < 0 or h[i - 1].text in NOT_NAMES or _is_type_only(h, i, last)
            ):
                return inner, False
            return (found, True) if found >= 0 else None
        if text == "operator":
            return (i, True)
        if text == "<" and i > first and h[i - 1].kind == "identifier":
            end = angle_end(h, i, last)
            if end < 0:
                return None
            i = end
        elif token.kind == "identifier" and text not in NOT_NAMES and text not in ATTRIBUTE_WORDS:
            found = i
        i += 1
    return (found, False) if found >= 0 else None


def _is_type_only(h: Sequence[Token], opening: int, last: int) -> bool:
    """Returns whether `( *x )` is a declarator: parameters or dimensions follow."""
    close = matching(h, opening)
    return close + 1 < last and h[close + 1].text in ("(", "[")


def _constructs(h: Sequence[Token], at: int) -> bool:
    """Returns whether `dim3 block(16, 16)` constructs a variable and declares no function."""
    opening = at + 1
    if opening >= len(h) or h[opening].text != "(":
        return False
    inside = h[opening + 1 : matching(h, opening)]
    if not inside or at == 0 or h[at].text == "operator":
        return False
    if inside[0].kind in ("number", "string", "character"):
        return True
    is_dim3 = any(token.text == "dim3" for token in h[:at])
    return is_dim3 and all(t.kind in ("identifier", "number") or t.text in ",*/+-" for t in inside)


def _qualifiers(h: Sequence[Token], at: int) -> tuple[str, ...]:
    names: list[str] = []
    while at >= 2 and h[at - 1].text == "::":
        at -= 2
        if h[at].text == ">":
            while at > 0 and h[at].text != "<":
                at -= 1
            at -= 1
        if at < 0 or h[at].kind != "identifier":
            break
        names.append(h[at].text)
    return tuple(reversed(names))
