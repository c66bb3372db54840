"""What the scanner hands to the lowering: the tokens of a definition, cut where C++ cuts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property

from smemlint.facts import Span
from smemlint.frontend.cuda.lexer.tokens import LineMap, Token
from smemlint.frontend.program import TemplateParameter
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True)
class SourceFile:
    """A file of a unit.

    Attributes:
        text: its text; token offsets count its code points.
    """

    path: str
    text: str = field(repr=False)

    @cached_property
    def lines(self) -> LineMap:
        """Offsets to lines and columns."""
        return LineMap(self.text)

    def span(self, start: int, end: int) -> Span:
        """Returns the range of two offsets."""
        return Span(self.path, *self.lines(start), *self.lines(end))


FileTable = Mapping[int, SourceFile]
"""`Token.file` to the file. Keys are not consecutive: lexed includes are shared between units."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Names whose role the whole unit tells.

    Attributes:
        types: records, aliases and enums, last components (`float4`-like built-ins are not here).
        templates: function, class and alias templates, last components.
        values: variables, constants and enumerators: a `<` behind one is a comparison.
        hidden: names that scopes of the unit define besides each other: `::name` is not `name`.
    """

    types: frozenset[str]
    templates: frozenset[str]
    values: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()

    def within(self, template: Sequence[TemplateParameter]) -> KnownNames:
        """Returns the names that are known inside a template, where its parameters hide others."""
        if not template:
            return self
        types = frozenset(p.name for p in template if p.kind != "value")
        values = frozenset(p.name for p in template if p.kind == "value")
        return KnownNames(
            self.types - values | types,
            self.templates - values | {p.name for p in template if p.kind == "template"},
            self.values - types | values,
            self.hidden | types | values,
        )


@dataclass(slots=True)
class FunctionTokens:
    """A function definition, cut into its parts.

    Attributes:
        name: `reduce0`, `operator()`, `operator float*`, `Smem` for a constructor, `~Smem`.
        template: parameters of the function's own (innermost) template head.
        params: between the parentheses of the parameter list.
        head: specifiers and return type, without the template head, without launch bounds,
            attributes, name and qualification (`A<T>::`); a trailing return type `-> T` takes the
            place of `auto`.
        initializers: of a constructor, after the `:`; empty for other functions.
        body: from `{` to `}`.
        name_token: the (first) token of the name.
        record: the enclosing record's name, or the class of `void A<T>::f()`.
        outer: template parameters of the enclosing records (or of the class of `A<T>::f`).
    """

    name: str
    template: tuple[TemplateParameter, ...]
    params: list[Token]
    head: list[Token]
    initializers: list[Token]
    body: list[Token]
    name_token: Token
    record: str | None = None
    outer: tuple[TemplateParameter, ...] = ()
