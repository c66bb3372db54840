"""What some tokens tell of where definitions begin and end, and of what packs their members."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.frontend.cuda.lexer.brackets import opening_of
from smemlint.frontend.cuda.lexer.tokens import Token, spelling_of, words
from smemlint.frontend.cuda.scanner.definition_heads import is_macro_name

_OPERATORS = words(
    "+ - * / % = < > ! & | ^ ~ , == != <= >= <=> && || ++ -- += -= *= /= %= <<= << ->"
)


def ends_macro_call(tokens: Sequence[Token], head: int, i: int) -> bool:
    """Returns whether a macro of a header that was not found stands before the definition at `i`.

    `INSTANTIATE(float)` or `LIBRARY_NAMESPACE_BEGIN` on a line of its own needs no `;`: what
    follows is a declaration of its own, whose template head or namespace would else be lost.
    """
    following = tokens[i + 1] if i + 1 < len(tokens) else tokens[i]
    starts = {
        "template": following.text == "<",
        "inline": following.text == "namespace",
        "extern": following.kind == "string",
    }.get(tokens[i].text, True)
    if not (
        starts and tokens[i].first_on_line and tokens[head].text not in ("template", "typedef")
    ):
        return False
    name = i - 1
    if tokens[name].text == ")":
        name = opening_of(tokens, name, head - 1) - 1
    return (
        name >= head
        and tokens[name].kind == "identifier"
        and is_macro_name(tokens[name].text)
        and (name == head or tokens[name].first_on_line)
    )


def after_operator(tokens: Sequence[Token], i: int) -> int:
    """Returns the index behind the symbol of `operator` at `i`, which may be a bracket or a `=`."""
    following = tokens[i + 1 : i + 4]
    if spelling_of(following[:2]) in ("()", "[]"):
        return i + 3
    symbols = 0
    while symbols < len(following) and following[symbols].text in _OPERATORS:
        symbols += 1
    return i + 1 + symbols


def declares_no_function(h: Sequence[Token]) -> bool:
    """Returns whether the `=` of a declaration is no function's `default`, `delete` or `0`."""
    if len(h) > 2 and h[-2].text == "=" and h[-1].text in ("default", "delete", "0"):
        return h[-3].text not in (")", "const", "noexcept", "override", "final")
    return True


def ends_with_requires_parameters(h: Sequence[Token]) -> bool:
    """Returns whether `requires (T t)` ends the tokens, so that an expression follows."""
    i = opening_of(h, len(h) - 1) if h[-1].text == ")" else -1
    return i > 1 and h[i - 1].text == "requires" and h[i - 2].text in ("requires", "=", "&&")


def initializes_member(tail: Sequence[Token]) -> bool:
    """Returns whether the `{` initializes a member: `A() : x{1}, y(2) {}`."""
    has_colon = any(token.text == ":" for token in tail)
    return has_colon and (tail[-1].kind == "identifier" or tail[-1].text == ">")


def packs(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Returns where `#pragma pack` stands, and the bytes that it sets; 0 for none."""
    found: list[tuple[int, int]] = []
    saved: list[int] = []
    current = 0
    for i, token in enumerate(tokens):
        if token.kind != "pragma" or not token.text.startswith("pack"):
            continue
        words = token.text.removeprefix("pack").strip(" ()").replace(",", " ").split()
        stated = next((int(word) for word in words if word.isdecimal()), None)
        if "push" in words:
            saved.append(current)
        elif "pop" in words:
            current = saved.pop() if saved else 0
        elif stated is None:
            current = 0
        current = current if stated is None else stated
        found.append((i, current))
    return found
