"""Definitions of a translation unit, found by the scanner and parsed when they are asked for."""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar, cast

from smemlint.frontend.cuda.lexer.keywords import STATEMENT_WORDS
from smemlint.frontend.cuda.lexer.tokens import CLOSING, OPENING, Token, angle_end
from smemlint.frontend.cuda.scanner.default_arguments import with_defaults, with_template_defaults
from smemlint.frontend.cuda.scanner.definition_tokens import FunctionTokens, KnownNames
from smemlint.frontend.cuda.scanner.definitions import FoundDeclaration, FoundFunction, FoundRecord
from smemlint.frontend.cuda.scanner.template_ids import angle_positions, template_ids
from smemlint.frontend.heuristics import names_device, names_host, names_kernel
from smemlint.frontend.program import Enclosing
from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from smemlint.facts import Span
    from smemlint.frontend import ir
    from smemlint.frontend.cuda.parser.spans import SpanTable
    from smemlint.frontend.cuda.scanner.template_ids import TemplateId
    from smemlint.frontend.program import ParsedFunction, TemplateParameter

_Found = TypeVar("_Found", FoundRecord, FoundDeclaration)
_DEVICE_WORDS = frozenset(("threadIdx", "blockIdx", "__shared__"))


class DefiningUnit(Protocol):
    """What a definition asks of the unit that it stands in."""

    @property
    def names(self) -> KnownNames:
        """What the names of the unit stand for."""

    @property
    def table(self) -> SpanTable:
        """Maps nodes to source ranges."""

    @property
    def records(self) -> Mapping[str, Sequence[CudaRecord]]:
        """Record definitions by name."""

    def declarations_of(self, name: str, scope: tuple[str, ...]) -> Sequence[Sequence[Token]]:
        """Returns the declarations without a body of a function of this scope with defaults."""

    def heads_of(
        self, name: str, scope: tuple[str, ...]
    ) -> Sequence[tuple[TemplateParameter, ...]]:
        """Returns the parameters of declarations of a template of this scope with defaults."""

    def token_span(self, token: Token) -> Span:
        """Returns the source range of a token."""

    def conditions_at(self, token: Token) -> tuple[str, ...]:
        """Returns the assumed `#if` conditions around a token."""


@dataclass(eq=False)
class CudaFunction:
    """A function definition; see `program.Function`."""

    _unit: DefiningUnit = field(repr=False)
    _found: FoundFunction = field(repr=False)

    @property
    def name(self) -> str:
        """The last component of the name."""
        return self._found.pieces.name

    @property
    def scope(self) -> tuple[str, ...]:
        """Names of the enclosing namespaces and records, outermost first."""
        return self._found.scope

    @property
    def record(self) -> str | None:
        """The enclosing record's name."""
        return self.pieces.record

    @cached_property
    def owner(self) -> Span | None:
        """Of the name of the record in whose body the definition stands."""
        record = self._found.owner
        return self._unit.token_span(record.name_token) if record is not None else None

    @property
    def template(self) -> tuple[TemplateParameter, ...]:
        """The function's own template parameters."""
        return self.pieces.template

    @property
    def specialization(self) -> str | None:
        """The arguments of an explicit specialization."""
        return self._found.specialization

    @property
    def specifiers(self) -> frozenset[str]:
        """The words before the name, and qualifiers behind the parameters: `const` of a method."""
        return self._found.specifiers

    @property
    def launch_bounds(self) -> tuple[str, ...]:
        """The arguments of `__launch_bounds__`."""
        return self._found.launch_bounds

    @cached_property
    def words(self) -> frozenset[str]:
        """Identifiers and strings of the code, `<<<` if it launches, `/` if it divides."""
        kinds, marks = ("identifier", "string"), ("<<<", "/", "/=")
        return frozenset(t.text for t in self._code if t.kind in kinds or t.text in marks)

    @cached_property
    def _code(self) -> Sequence[Token]:
        """The member initializers and the body."""
        first, body = self.pieces.initializers, self.pieces.body
        return [*first, *body] if first else body

    @cached_property
    def member_words(self) -> frozenset[str]:
        """Those identifiers of the code that stand behind `.` or `->` only."""
        found: set[str] = set()
        others: set[str] = set()
        before = ""
        for token in self._code:
            if token.kind == "identifier":
                (found if before in (".", "->") else others).add(token.text)
            before = token.text
        return frozenset(found - others)

    @cached_property
    def parameter_words(self) -> frozenset[str]:
        """Identifiers of the parameters' declarations."""
        return frozenset(t.text for t in self.pieces.params if t.kind == "identifier")

    @cached_property
    def called_objects(self) -> frozenset[str]:
        """Names that the body calls and that may be of objects: parameters, variables, members."""
        body = self.pieces.body
        objects = {*self.parameter_words, *(p.name for p in self.template)}
        called: set[str] = set()
        for before, token, after in zip(body, body[1:], body[2:], strict=False):
            if token.kind == "identifier":
                if before.kind == "identifier" or before.text in (">", ".", "->"):
                    objects.add(token.text)
                if after.text in ("(", "{"):
                    called.add(token.text)
        return frozenset(called & objects) | self._called_temporaries

    @cached_property
    def _called_temporaries(self) -> frozenset[str]:
        """Classes an object of which is made and called: `Op()(x)`, `Op{n}(x)`."""
        body = self.pieces.body
        found: set[str] = set()
        opened: list[int] = []
        for i, token in enumerate(body[:-1]):
            if token.kind != "operator":
                continue
            if token.text in OPENING:
                opened.append(i)
            elif token.text in CLOSING and opened:
                maker = body[opened.pop() - 1]
                if body[i + 1].text == "(" and token.text != "]" and _may_make(maker):
                    found.add(maker.text)
        return frozenset(found)

    def template_ids(self, name: str) -> Iterator[TemplateId]:
        """Returns the template-ids of a name in the code, in order."""
        code = self._code
        return template_ids(code, angle_positions(code).get(name, ()))

    def qualifiers(self, name: str) -> frozenset[str]:
        """Returns what a name in the code stands behind: see `program.Function`."""
        code = self._code
        places = (k for k, token in enumerate(code) if token.text == name)
        return frozenset(_qualifier(code, k) for k in places if not _is_qualifier(code, k))

    @cached_property
    def pieces(self) -> FunctionTokens:
        """The tokens, with the default arguments that declarations of the unit give."""
        pieces, unit = self._found.pieces, self._unit
        params = with_defaults(pieces.params, unit.declarations_of(self.name, self.scope))
        template = pieces.template
        if self.specialization is None:
            template = with_template_defaults(template, unit.heads_of(self.name, self.scope))
        if params is None and template is pieces.template:
            return pieces
        return replace(pieces, params=params or pieces.params, template=template)

    @cached_property
    def span(self) -> Span:
        """Of the name."""
        return self._unit.token_span(self.pieces.name_token)

    @property
    def is_kernel(self) -> bool:
        """Whether it can be launched, as its specifiers or a macro of that sense say."""
        if "__global__" in self.specifiers:
            return True
        is_named_so = any(map(names_kernel, self.specifiers))
        return is_named_so and not self.words.isdisjoint(_DEVICE_WORDS)

    @property
    def is_device(self) -> bool:
        """Whether device code can call it, as its specifiers or macros of that sense say."""
        return "__device__" in self.specifiers or any(map(names_device, self.specifiers))

    @property
    def is_host(self) -> bool:
        """Whether host code, a constant expression of it or a `decltype` can call it."""
        if self.is_kernel:
            return False
        is_said = not self.specifiers.isdisjoint(("__host__", "constexpr"))
        return is_said or not self.is_device or any(map(names_host, self.specifiers))

    @cached_property
    def _parsed(self) -> ParsedFunction:
        from smemlint.frontend.cuda.parser.parse import parse_function

        return parse_function(self.pieces, self._unit.names, self._unit.table)

    def parse(self) -> ParsedFunction:
        """Returns the tree, parsed at the first call."""
        return self._parsed

    @cached_property
    def _parsed_head(self) -> ParsedFunction:
        from smemlint.frontend.cuda.parser.parse import parse_function

        if not self.pieces.body or "_parsed" in self.__dict__:
            return self._parsed
        frame = [self.pieces.body[0], self.pieces.body[-1]]
        pieces = replace(self.pieces, body=frame, initializers=[])
        return parse_function(pieces, self._unit.names, self._unit.table)

    def parse_head(self) -> ParsedFunction:
        """Returns the tree without its body: many overloads are read to choose one."""
        return self._parsed_head


def _may_make(token: Token) -> bool:
    """Returns whether a word in front of a bracket may name a class."""
    return token.kind == "identifier" and token.text not in STATEMENT_WORDS


@dataclass(eq=False)
class _Definition(Generic[_Found]):
    """What records and declarations have in common."""

    _unit: DefiningUnit = field(repr=False)
    _found: _Found = field(repr=False)

    @property
    def name(self) -> str:
        """Its name: of a record perhaps its typedef's, of an enum perhaps none."""
        return self._found.name

    @property
    def scope(self) -> tuple[str, ...]:
        """Names of the enclosing namespaces and records, outermost first."""
        return self._found.scope

    @property
    def template(self) -> tuple[TemplateParameter, ...]:
        """Its template parameters."""
        return self._found.template

    @cached_property
    def span(self) -> Span:
        """Of the name."""
        return self._unit.token_span(self._found.name_token)


@dataclass(eq=False)
class CudaRecord(_Definition[FoundRecord]):
    """A record definition; see `program.Record`."""

    @property
    def kind(self) -> Literal["struct", "class", "union"]:
        """The keyword."""
        return cast("Literal['struct', 'class', 'union']", self._found.kind)

    @cached_property
    def template(self) -> tuple[TemplateParameter, ...]:
        """Its template parameters, with the defaults that declarations of the unit give."""
        template = self._found.template
        if self.specialization is not None:
            return template
        return with_template_defaults(template, self._unit.heads_of(self.name, self.scope))

    @property
    def specialization(self) -> str | None:
        """The arguments of a specialization."""
        return self._found.specialization

    @cached_property
    def around(self) -> tuple[Enclosing, ...]:
        """The classes and functions that it stands in; namespaces where another has the name."""
        found = self._found.around
        outermost = found[0].name if found else self.name
        alike = self._unit.records.get(outermost, ())
        scopes = {r.scope for r in alike if r.specialization is None and not r._found.around}
        if len(scopes) < 2:
            return found
        namespaces = self.scope[: len(self.scope) - len(found)]
        return (*map(Enclosing, namespaces), *found)

    @cached_property
    def owner(self) -> Span | None:
        """Of the name of the record in whose body it stands."""
        record = self._found.owner
        return self._unit.token_span(record.name_token) if record is not None else None

    @property
    def bases(self) -> tuple[str, ...]:
        """Spelling of the base classes."""
        return self._found.bases

    @property
    def members(self) -> list[Token]:
        """Tokens of the data members, constants, aliases and nested records."""
        return self._found.members()

    @cached_property
    def _parsed(self) -> ir.Struct | ir.Union | None:
        from smemlint.frontend.cuda.parser.parse import parse_members

        found = self._found
        outer = (p for enclosing in found.around for p in enclosing.template)
        names = self._unit.names.within((*outer, *self.template))
        table = self._unit.table
        around = found.attributes
        return parse_members(self.members, names, table, self.kind, self.name, around, found.pack)

    def parse(self) -> ir.Struct | ir.Union | None:
        """Returns the data members in order, parsed at the first call."""
        return self._parsed


@dataclass(eq=False)
class CudaDeclaration(_Definition[FoundDeclaration]):
    """A declaration outside of functions; see `program.Declaration`."""

    @property
    def kind(self) -> Literal["variable", "alias", "enum"]:
        """What it declares."""
        return cast("Literal['variable', 'alias', 'enum']", self._found.kind)

    @property
    def outer(self) -> tuple[TemplateParameter, ...]:
        """Those of the classes around it."""
        return self._found.outer

    @cached_property
    def specifiers(self) -> frozenset[str]:
        """The words of the declaration: `__shared__`, `const`, ..., `<<<` if it launches."""
        return frozenset(t.text for t in self.tokens if t.kind == "identifier" or t.text == "<<<")

    @property
    def tokens(self) -> list[Token]:
        """The tokens before the `;`."""
        return self._found.tokens

    @property
    def conditions(self) -> tuple[str, ...]:
        """The assumed `#if` conditions around it."""
        return self._unit.conditions_at(self._found.name_token)

    @cached_property
    def _parsed(self) -> ir.Declaration | ir.Enum | None:
        from smemlint.frontend.cuda.parser.parse import parse_declaration

        names = self._unit.names.within((*self._found.outer, *self.template))
        return parse_declaration(self.tokens, names, self._unit.table)

    def parse(self) -> ir.Declaration | ir.Enum | None:
        """Returns `Decl`, `Typedef` or `Enum`, parsed at the first call."""
        return self._parsed


def _qualifier(body: Sequence[Token], k: int) -> str:
    """Returns what the name at a place stands behind; `.` for a member of an object."""
    k -= body[k - 1].text == "template"
    before = body[k - 1].text
    return "." if before == "->" else body[k - 2].text if before == "::" else "." * (before == ".")


def _is_qualifier(body: Sequence[Token], k: int) -> bool:
    """Returns whether the name at a place, with its template arguments, stands before `::`."""
    if k + 1 < len(body) and body[k + 1].text == "<":
        k = max(k, angle_end(body, k + 1))
    return k + 1 < len(body) and body[k + 1].text == "::"
