"""Name lookup: which of several definitions of a name is meant where the name stands.

Source: C++20, [basic.lookup.unqual], [basic.lookup.qual], [namespace.udir]. A directive in a
namespace or class holds for all of it, since a name that it hides would be ambiguous; one in a
block is a component of the place from where it stands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from typing import TypeAlias

from smemlint.frontend.cuda.lexer.tokens import Token, spelling_of
from smemlint.frontend.program import DIRECTIVE
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_SCOPES

Path: TypeAlias = tuple[str, ...]
"""Names of enclosing namespaces and classes, outermost first; directives of blocks among them."""


@dataclass(slots=True)
class Scopes:
    """The namespaces and classes of a unit, and what makes names of others visible in them.

    Attributes:
        known: their paths.
        inline: of the inline namespaces, by the path around them.
        directives: by the path of the namespace or class that they stand in.
        in_blocks: directives of function bodies, for code that is evaluated out of them.
        resolved: what qualifiers name where they stand, as far as it was asked; None for nothing.
        classes: those among the known paths that are classes.
    """

    known: set[Path] = field(default_factory=set)
    inline: dict[Path, set[Path]] = field(default_factory=dict)
    directives: dict[Path, dict[str, None]] = field(default_factory=dict)
    in_blocks: tuple[str, ...] = ()
    resolved: dict[tuple[Path, Path], Path | None] = field(default_factory=dict)
    classes: set[Path] = field(default_factory=set)

    def open_namespace(self, around: Path, names: Path, is_inline: bool) -> None:
        """Takes in that `namespace a::b {` stands in a scope."""
        for n in range(len(names)):
            self.known.add((*around, *names[: n + 1]))
        if is_inline and names:
            path = (*around, *names)
            self.inline.setdefault(path[:-1], set()).add(path)


@dataclass(frozen=True, slots=True)
class Directive:
    """What makes the names of another scope visible.

    Attributes:
        name: that it declares: `z` of `namespace z = a::b`, `f` of `using a::f`; empty for
            `using namespace a`.
    """

    name: str
    target: Path
    is_alias: bool = False


def directive_text(tokens: Sequence[Token]) -> str:
    """Returns the text that stands for a directive in a path; empty for what is none."""
    texts = [token.text for token in tokens]
    is_alias = texts[:1] == ["namespace"] and texts[2:3] == ["="]
    if not is_alias and (texts[:1] != ["using"] or "=" in texts or len(texts) < 2):
        return ""
    return DIRECTIVE + spelling_of(tokens if is_alias else tokens[1:])


@lru_cache(4096)
def _directive(component: str) -> Directive | None:
    """Returns the directive that a component of a path stands for; None for a scope's name."""
    if not component.startswith(DIRECTIVE):
        return None
    text = component.removeprefix(DIRECTIVE)
    if text.startswith("namespace "):
        left, _, right = text.removeprefix("namespace ").partition("=")
        path = tuple(part.strip() for part in (right or left).split("::"))
        return Directive(left.strip() if right else "", path, bool(right))
    path = tuple(text.removeprefix("typename ").strip().split("::"))
    return Directive(path[-1], path)


def block_directives(tokens: Sequence[Token]) -> Iterator[str]:
    """Yields the directives among some tokens."""
    for i, token in enumerate(tokens[:-3]):
        if token.kind == "identifier" and token.text in ("using", "namespace"):
            last = min(len(tokens), i + 2 * MAX_SCOPES)
            end = next((k for k in range(i, last) if tokens[k].text in (";", "{")), i)
            text = directive_text(tokens[i:end]) if tokens[end].text == ";" else ""
            if text:
                yield text


def scopes_in_sight(
    scopes: Collection[Path], name: Path, here: Path, unit: Scopes
) -> frozenset[Path]:
    """Returns the scopes whose definition a name means; none where no scope in sight has it.

    Args:
        scopes: in which the name is defined.
        name: with the namespaces and classes that qualify it; the first is empty behind a `::`.
        here: the scope in which it stands.
        unit: the scopes of the unit.
    """
    lookup = _Lookup(frozenset(scopes), name[-1], unit)
    qualifier = name[:-1]
    if qualifier:
        found = lookup.qualified(qualifier, here) or _suffixed(scopes, qualifier)
    else:
        found = lookup.unqualified(here)
    if found:
        return found
    blocks = unit.in_blocks
    return lookup.qualified(qualifier, blocks) if qualifier else lookup.unqualified(blocks)


def _suffixed(scopes: Iterable[Path], qualifier: Path) -> frozenset[Path]:
    """Returns the scopes that a qualifier may name of which no namespace was read."""
    if not qualifier[0]:
        return frozenset()
    found = frozenset(s for s in scopes if s[-len(qualifier) :] == qualifier)
    return found or frozenset(s for s in scopes if _is_within(qualifier, s))


def _is_within(qualifier: Path, scope: Path) -> bool:
    """Returns whether the names of a qualifier stand in a scope in their order."""
    names = iter(scope)
    return all(name in names for name in qualifier)


class _Lookup:
    """Looks one name up."""

    def __init__(self, scopes: frozenset[Path], name: str, unit: Scopes) -> None:
        self.scopes = scopes
        self.name = name
        self.unit = unit
        self.seen: set[object] = set()
        self._under_way: set[tuple[Path, Path]] = set()
        self._failed: set[tuple[Path, Path]] = set()  # but for what is under way

    def qualified(self, qualifier: Path, here: Path) -> frozenset[Path]:
        """Returns the scopes that have it where a qualifier precedes it."""
        scope = self._resolved(qualifier, here)
        return frozenset() if scope is None else self._members(scope)

    def unqualified(self, here: Path) -> frozenset[Path]:
        """Returns the scopes that have it for the innermost scope around that sees one."""
        opened: list[Path] = []
        real = _without_directives(here)
        for n in range(len(here), -1, -1):
            directive = _directive(here[n - 1]) if n else None
            around = here[: n - 1] if directive else here[:n]
            if directive is not None:
                if directive.name == self.name and not directive.is_alias:
                    found = self.qualified(directive.target[:-1], around)
                    if found:
                        return found
                if not directive.name:
                    opened += self._opened(directive.target, around)
                continue
            scope = _without_directives(around)
            found = self._own(scope)
            if found:
                return found
            for one in self._inlined(scope):
                for text in self.unit.directives.get(one, ()):
                    namespace = _directive(text)
                    if namespace is not None and not namespace.name:
                        opened += self._opened(namespace.target, scope)
            level = [s for s in opened if _common(s, real) >= len(scope)]
            found = frozenset().union(*(self._members(s) for s in level))
            if found:
                return found
        return frozenset()

    def _opened(self, target: Path, here: Path) -> list[Path]:
        scope = self._resolved(target, here)
        return [] if scope is None else [scope]

    def _inlined(self, scope: Path) -> list[Path]:
        """Returns a scope and the inline namespaces in it."""
        found = [scope]
        for one in found:
            found += sorted(self.unit.inline.get(one, ()))
        return found

    def _own(self, scope: Path) -> frozenset[Path]:
        """Returns the scopes that a scope itself has the name of: its own, or of a `using`."""
        inlined = self._inlined(scope)
        found = self.scopes.intersection(inlined)
        for one in inlined if not found else ():
            for text in self.unit.directives.get(one, ()):
                directive = _directive(text)
                key = (one, text, self.name)
                if directive is None or directive.is_alias or directive.name != self.name:
                    continue
                if key not in self.seen:
                    self.seen.add(key)
                    found |= self.qualified(directive.target[:-1], one)
        return found

    def _members(self, scope: Path) -> frozenset[Path]:
        """Returns what qualified lookup finds in a scope."""
        found = self._own(scope)
        for one in self._inlined(scope) if not found else ():
            for text in self.unit.directives.get(one, ()):
                directive = _directive(text)
                if directive is not None and not directive.name and (scope, text) not in self.seen:
                    self.seen.add((scope, text))
                    for target in self._opened(directive.target, one):
                        found |= self._members(target)
        return found

    def _resolved(self, qualifier: Path, here: Path) -> Path | None:
        """Returns the namespace or class that `a::b` names; None where none was read.

        A directive names nothing while it is resolved itself. What is not found meanwhile is looked
        for again as soon as more is known.
        """
        key = qualifier, here
        if key in self.unit.resolved:
            return self.unit.resolved[key]
        if key in self._under_way or key in self._failed:
            return None
        self._under_way.add(key)
        is_global = not qualifier or not qualifier[0]
        found: Path | None = () if is_global else self._outermost(qualifier[0], here)
        for component in qualifier[1:]:
            found = None if found is None else self._inner(found, component)
        self._under_way.discard(key)
        if found is None and self._under_way:
            self._failed.add(key)
        else:
            self.unit.resolved[key] = found
            self._failed.clear()
        return found

    def _outermost(self, name: str, here: Path) -> Path | None:
        """Returns what the first component of a qualifier names."""
        for n in range(len(here), -1, -1):
            directive = _directive(here[n - 1]) if n else None
            if directive is None:
                found = self._inner(_without_directives(here[:n]), name)
            elif directive.name == name:
                found = self._resolved(directive.target, here[: n - 1])
            elif not directive.name:
                scope = self._resolved(directive.target, here[: n - 1])
                found = None if scope is None else self._inner(scope, name)
            else:
                found = None
            if found is not None:
                return found
        return None

    def _inner(self, scope: Path, name: str) -> Path | None:
        """Returns the namespace or class of a name that a scope has."""
        return self._reached(scope, name, set())

    def _reached(self, scope: Path, name: str, seen: set[Path]) -> Path | None:
        """Returns what a scope has of a name, itself or by directives; of one in `seen` nothing."""
        if scope in seen:
            return None
        seen.add(scope)
        inlined = self._inlined(scope)
        for one in inlined:
            if (*one, name) in self.unit.known:
                return (*one, name)
        for one in inlined:
            for text in self.unit.directives.get(one, ()):
                directive = _directive(text)
                if directive is None or directive.name not in ("", name):
                    continue
                found = self._resolved(directive.target, one)
                if found is not None and not directive.name:
                    found = self._reached(found, name, seen)
                if found is not None:
                    return found
        return None


def _without_directives(path: Path) -> Path:
    return tuple(component for component in path if not component.startswith(DIRECTIVE))


def _common(a: Path, b: Path) -> int:
    """Returns how many scopes two paths share."""
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n
