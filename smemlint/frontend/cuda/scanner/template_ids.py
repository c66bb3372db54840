"""Where a template's name stands with arguments, e.g. every `Swizzle<3, 4, 3>` of a unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from smemlint.frontend.cuda.lexer.keywords import BUILTIN_TYPES, QUALIFIERS
from smemlint.frontend.cuda.lexer.tokens import Token, angle_end, spelling_of, split_commas
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_ANGLES, MAX_RESULT_TYPE

_DECLARING = frozenset(("struct", "class", "union", "enum"))
_ENDS = frozenset((";", "{", "}", "("))
_NO_INSTANTIATION = frozenset((".", "->", "::", "extern", "<", ","))
"""What stands before a `template` that begins no explicit instantiation here."""


@dataclass(frozen=True, slots=True)
class TemplateId:
    """A template-id.

    Attributes:
        first, last: its tokens, qualification left out.
        qualifier: the name in front of `::`; empty without one.
        arguments: spelled.
        is_instantiated: it stands in an explicit instantiation, `template void f<3>(int *);`.
        parameters: types of the function that is instantiated, from which further arguments follow.
    """

    first: Token
    last: Token
    qualifier: str
    arguments: tuple[str, ...]
    is_instantiated: bool = False
    parameters: tuple[str, ...] = ()

    @property
    def spelled(self) -> str:
        """`Swizzle<3,4,3>`."""
        return f"{self.first.text}<{','.join(self.arguments)}>"


def angle_positions(tokens: Sequence[Token]) -> dict[str, list[int]]:
    """Returns the indices of the tokens in front of a `<`, by their text."""
    found: dict[str, list[int]] = {}
    for i, token in enumerate(tokens):
        if token.text == "<" and i:
            found.setdefault(tokens[i - 1].text, []).append(i - 1)
    return found


def deduced_positions(tokens: Sequence[Token]) -> dict[str, list[int]]:
    """Returns where explicit instantiations name functions without arguments, by the name.

    `template void f(int *);` instantiates `f<int>`.
    """
    found: dict[str, list[int]] = {}
    for i, token in enumerate(tokens):
        if token.text == "template" and not (i and tokens[i - 1].text in _NO_INSTANTIATION):
            at = _called(tokens, i + 1)
            if at:
                found.setdefault(tokens[at].text, []).append(at)
    return found


def _called(tokens: Sequence[Token], begin: int) -> int:
    """Returns the index of the name in front of the first `(` of a declaration, 0 for none."""
    i = begin
    end = min(len(tokens), begin + MAX_RESULT_TYPE)
    while i < end and tokens[i].text not in _ENDS:
        i = angle_end(tokens, i) + 1 if tokens[i].text == "<" and i > begin else i + 1
        if not i:
            return 0
    is_name = i < end and tokens[i].text == "(" and tokens[i - 1].kind == "identifier"
    return i - 1 if is_name and i - 1 > begin and tokens[begin].text != "<" else 0


def template_ids(
    tokens: Sequence[Token], positions: Iterable[int], deduced: Iterable[int] = ()
) -> Iterator[TemplateId]:
    """Yields the template-ids of a name, those that a record's head defines left out."""
    for i in deduced:
        yield TemplateId(tokens[i], tokens[i], "", (), True, _parameter_types(tokens, i + 1))
    for i in positions:
        token = tokens[i]
        before = tokens[i - 1].text if i else ""
        is_instantiated = _is_instantiated(tokens, i)
        if before in _DECLARING and not is_instantiated:
            continue
        end = angle_end(tokens, i + 1)
        if end < 0:
            continue
        qualifier = tokens[i - 2].text if before == "::" and i > 1 else ""
        parts = split_commas(tokens[i + 2 : end])
        spelled = tuple(spelling_of(p) for p in parts if p)
        types = _parameter_types(tokens, end + 1) if is_instantiated else ()
        yield TemplateId(token, tokens[end], qualifier, spelled, is_instantiated, types)


def _is_instantiated(tokens: Sequence[Token], at: int) -> bool:
    """Returns whether the declaration around a token begins with `template`, and no parameters."""
    start = at
    while start and at - start < MAX_RESULT_TYPE and tokens[start - 1].text not in _ENDS:
        start -= 1
    return tokens[start].text == "template" and tokens[start + 1].text != "<"


def _parameter_types(tokens: Sequence[Token], at: int) -> tuple[str, ...]:
    """Returns the types that a declaration's parentheses hold; none where there are none."""
    if at >= len(tokens) or tokens[at].text != "(":
        return ()
    depth = 0
    for end in range(at, min(len(tokens), at + MAX_ANGLES)):
        depth += (tokens[end].text == "(") - (tokens[end].text == ")")
        if not depth:
            return tuple(_type_of(p) for p in split_commas(tokens[at + 1 : end]) if p)
    return ()


def _type_of(parameter: Sequence[Token]) -> str:
    """Returns a parameter's type: what stands in front of its name, if it has one."""
    *before, last = parameter
    has_type = any(t.kind == "identifier" and t.text not in QUALIFIERS for t in before)
    is_name = last.kind == "identifier" and last.text not in (*BUILTIN_TYPES, *QUALIFIERS)
    is_qualified = bool(before) and before[-1].text in ("::", "typename", *_DECLARING)
    return spelling_of(before if has_type and is_name and not is_qualified else parameter)
