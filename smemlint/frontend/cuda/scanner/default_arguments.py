"""Default arguments that only declarations give: `void f(int n = 1);` before `void f(int n) {}`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from smemlint.frontend.cuda.lexer.tokens import Token, split_commas
from smemlint.frontend.cuda.scanner.definition_heads import function_head
from smemlint.frontend.program import TemplateParameter


def with_defaults(
    params: Sequence[Token], declarations: Iterable[Sequence[Token]]
) -> list[Token] | None:
    """Returns a definition's parameters with the defaults of its declarations; None without one."""
    parts = split_commas(params)
    is_given = False
    for declaration in declarations:
        head = function_head(declaration, frozenset())
        if head is None or not any(token.text == "=" for token in head.params):
            continue
        declared = split_commas(head.params)
        if len(declared) != len(parts) or not all(map(_may_be_same, parts, declared)):
            continue
        for i, (part, with_default) in enumerate(zip(parts, declared, strict=True)):
            at = _default_at(with_default)
            if at < len(with_default) and _default_at(part) == len(part):
                parts[i] = [*part, *with_default[at:]]
                is_given = True
    if not is_given:
        return None
    comma = next(token for token in params if token.text == ",") if len(parts) > 1 else None
    whole = list(parts[0])
    for part in parts[1:]:
        assert comma is not None
        whole += [comma, *part]
    return whole


def with_template_defaults(
    template: tuple[TemplateParameter, ...], declared: Iterable[tuple[TemplateParameter, ...]]
) -> tuple[TemplateParameter, ...]:
    """Returns a definition's template parameters with the defaults of its declarations' heads."""
    for head in declared:
        pairs = list(zip(template, head, strict=False))
        is_given = any(a.default is None and b.default is not None for a, b in pairs)
        if is_given and len(head) == len(template) and all(_may_be_one(a, b) for a, b in pairs):
            template = tuple(
                a if a.default is not None else replace(a, default=b.default) for a, b in pairs
            )
    return template


def _may_be_one(a: TemplateParameter, b: TemplateParameter) -> bool:
    """Returns whether two heads may have one parameter: of one kind, and one name if any."""
    return (a.kind, a.is_pack) == (b.kind, b.is_pack) and (a.name in ("", b.name) or not b.name)


def _default_at(part: Sequence[Token]) -> int:
    return next((i for i, token in enumerate(part) if token.text == "="), len(part))


def _may_be_same(a: Sequence[Token], b: Sequence[Token]) -> bool:
    """Returns whether two parameters have one type as they are spelled; either may lack a name."""
    return not _types(a).isdisjoint(_types(b))


def _types(part: Sequence[Token]) -> set[tuple[str, ...]]:
    """Returns what a parameter's type may be: all its words, or those without the last name."""
    spelled = [token.text for token in part[: _default_at(part)] if token.text != "const"]
    kinds = [token.kind for token in part[: _default_at(part)] if token.text != "const"]
    found = {tuple(spelled)}
    names = [i for i, kind in enumerate(kinds) if kind == "identifier"]
    if len(names) > 1:
        found.add(tuple(spelled[: names[-1]] + spelled[names[-1] + 1 :]))
    return found
