"""Name lookup: which of several definitions of a name is meant where the name stands.

Source: C++20, [basic.lookup.unqual], [basic.lookup.qual]; where directives of one block hold is
widened to the unit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field
from typing import TypeAlias

from smemlint.frontend.cuda.lexer.tokens import Token
from smemlint.lazy_dataclasses import dataclass

Path: TypeAlias = tuple[str, ...]
"""Names of enclosing namespaces and classes, outermost first."""


@dataclass(frozen=True, slots=True)
class Directives:
    """What `using` and `namespace` make visible elsewhere.

    Attributes:
        opened: the namespaces of `using namespace a::b;`.
        imported: by name, the scopes of `using a::b::name;`.
        aliases: by name, the scope of `namespace name = a::b;`.
    """

    opened: set[Path] = field(default_factory=set)
    imported: dict[str, set[Path]] = field(default_factory=dict)
    aliases: dict[str, Path] = field(default_factory=dict)


def directives(tokens: Sequence[Token]) -> Directives:
    """Returns the directives of a unit."""
    found = Directives()
    for i, token in enumerate(tokens[:-3]):
        if token.text == "using" and token.kind == "identifier":
            is_namespace = tokens[i + 1].text == "namespace"
            path, end = _path(tokens, i + 1 + is_namespace)
            if not path or tokens[end].text != ";":
                continue
            if is_namespace:
                found.opened.add(path)
            elif len(path) > 1:
                found.imported.setdefault(path[-1], set()).add(path[:-1])
        elif token.text == "namespace" and tokens[i + 2].text == "=":
            path, end = _path(tokens, i + 3)
            if path and tokens[end].text == ";":
                found.aliases[tokens[i + 1].text] = path
    return found


def _path(tokens: Sequence[Token], i: int) -> tuple[Path, int]:
    """Returns the names of `a::b`, and the index behind it."""
    names: list[str] = []
    i += tokens[i].text == "::"
    while i + 1 < len(tokens) and tokens[i].kind == "identifier":
        names.append(tokens[i].text)
        i += 1
        if tokens[i].text != "::":
            break
        i += 1
    return tuple(names), min(i, len(tokens) - 1)


def scopes_meant(
    scopes: Collection[Path], name: Path, here: Path, known: Callable[[], Directives]
) -> frozenset[Path]:
    """Returns the scopes whose definition a name means; all of them where that is not clear.

    Args:
        scopes: in which the name is defined.
        name: with the namespaces and classes that qualify it.
        here: the scope in which it stands.
        known: gives the directives of the unit.
    """
    *qualifier, last = name
    found = _around(scopes, tuple(qualifier), here)
    if found or len(scopes) < 2:
        return found or frozenset(scopes)
    directives = known()
    if qualifier:
        namespace = directives.aliases.get(qualifier[0])
        if namespace is not None:
            found = _around(scopes, (*namespace, *qualifier[1:]), here)
    else:
        imported = directives.imported.get(last, ())
        found = _of_any(scopes, imported, here) or _of_any(scopes, directives.opened, here)
    return found or frozenset(scopes)


def _around(scopes: Collection[Path], qualifier: Path, here: Path) -> frozenset[Path]:
    """Returns the scope that the innermost enclosing one has for a qualifier.

    Inline namespaces may stand anywhere in it. A qualifier that no enclosing scope has may go on
    from one that is opened.
    """
    for n in range(len(here), -1, -1):
        if (*here[:n], *qualifier) in scopes:
            return frozenset(((*here[:n], *qualifier),))
    if not qualifier:
        return frozenset()
    return frozenset(s for s in scopes if s[-len(qualifier) :] == qualifier) or frozenset(
        s for s in scopes if _is_within(qualifier, s)
    )


def _is_within(qualifier: Path, scope: Path) -> bool:
    """Returns whether the names of a qualifier stand in a scope in their order."""
    names = iter(scope)
    return all(name in names for name in qualifier)


def _of_any(scopes: Collection[Path], paths: Iterable[Path], here: Path) -> frozenset[Path]:
    return frozenset().union(*(_around(scopes, path, here) for path in paths))
