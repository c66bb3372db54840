"""One file to one unit: preprocess, scan, and parse what is asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from smemlint.frontend.cuda.definitions import CudaDeclaration, CudaFunction, CudaRecord
from smemlint.frontend.cuda.lexer.tokens import Token, lex
from smemlint.frontend.cuda.preprocessor.cutlass_headers import is_cutlass_header
from smemlint.frontend.cuda.preprocessor.options import LoadOptions
from smemlint.frontend.cuda.preprocessor.preprocess import Preprocessed, preprocess
from smemlint.frontend.cuda.scanner.declarators import prototype
from smemlint.frontend.cuda.scanner.definition_tokens import KnownNames
from smemlint.frontend.cuda.scanner.definitions import FoundDeclaration, FoundRecord, Scanned
from smemlint.frontend.cuda.scanner.name_lookup import Scopes, block_directives, scopes_in_sight
from smemlint.frontend.cuda.scanner.scan import scan
from smemlint.frontend.cuda.scanner.template_ids import (
    TemplateId,
    angle_positions,
    deduced_positions,
    template_ids,
)
from smemlint.frontend.cuda.scanner.written_names import assigned_names
from smemlint.frontend.program import Scoped
from smemlint.limits.budgets import MAX_DECLARED_DEFAULTS
from smemlint.limits.steps import TOKENS_A_STEP, spend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from smemlint.facts import Span
    from smemlint.frontend import ir
    from smemlint.frontend.cuda.parser.spans import SpanTable
    from smemlint.frontend.program import Dropped, Prototype, TemplateParameter

__all__ = ["LoadOptions", "load_unit"]

_Scoped = TypeVar("_Scoped", bound=Scoped)
_DEVICE_WORDS = frozenset(("threadIdx", "blockIdx", "__shared__"))
_LIBRARIES = frozenset((("cute",),))
"""Namespaces whose names may be meant though no file that was read opens them."""


def load_unit(path: str, text: str, options: LoadOptions) -> CudaUnit:
    """Reads a CUDA C++ file with the quoted includes it can follow.

    Never raises for any text; what could not be read is in the unit's `notices`.
    """
    source = preprocess(path, text, options)
    return CudaUnit(path, source)


def _values(declarations: Sequence[FoundDeclaration]) -> frozenset[str]:
    """Returns the names of variables and enumerators."""
    names = {d.name for d in declarations if d.kind == "variable" and not d.template}
    return frozenset(names.union(*(d.enumerators for d in declarations)))


class CudaUnit:
    """A translation unit; see `program.Unit`. It is scanned when its definitions are asked for."""

    def __init__(self, path: str, source: Preprocessed) -> None:
        self.path = path
        self.memory: dict[object, object] = {}
        self._source = source
        spend(len(source.tokens) // TOKENS_A_STEP)  # of the scan, whichever task asks for it
        self.files = tuple(dict.fromkeys(file.path for file in source.files.values()))
        self.not_found = source.not_found
        self.unread: tuple[Dropped, ...] = tuple(source.unread)
        self._expressions: dict[str, ir.Expression | None] = {}
        self._types: dict[str, ir.Typename | None] = {}
        self._are_types: dict[str, bool] = {}
        self._texts: dict[Span, str] = {}
        self._template_ids: dict[str, tuple[TemplateId, ...]] = {}
        self._instantiations: dict[tuple[str, tuple[str, ...]], ir.ID | None] = {}
        self._prototypes: dict[str, list[Prototype]] = {}
        self._meant: dict[tuple[tuple[str, ...], tuple[str, ...]], frozenset[tuple[str, ...]]] = {}
        self._in_sight: dict[tuple[object, ...], frozenset[tuple[str, ...]]] = {}

    @cached_property
    def _found(self) -> Scanned:
        return scan(self._source.tokens, self._source.files)

    @cached_property
    def notices(self) -> tuple[Dropped, ...]:
        """What could not be read."""
        return (*self._source.notices, *self._found.notices)

    @cached_property
    def names(self) -> KnownNames:
        """What the names of the unit stand for."""
        types, templates = frozenset(self._found.types), frozenset(self._found.templates)
        values = _values(self._found.declarations) - types - templates
        scopes = {(function.name, function.scope) for function in self.functions}
        scopes |= {(path[-1], path[:-1]) for path in self._found.scopes.known}
        often = Counter(name for name, _ in scopes)
        hidden = {name for name, count in often.items() if count > 1}
        hidden.update(self._scattered, self.local_records)
        hidden.update(p.name for function in self.functions for p in function.template)
        hidden.update(p.name for record in self._found.records for p in record.template)
        return KnownNames(types, templates, values, frozenset(hidden))

    @cached_property
    def functions(self) -> Sequence[CudaFunction]:
        """All function definitions."""
        return [CudaFunction(self, f) for f in self._found.functions]

    @cached_property
    def records(self) -> Mapping[str, Sequence[CudaRecord]]:
        """Record definitions by name."""
        return self._by_record_name(self._found.records)

    @cached_property
    def local_records(self) -> Mapping[str, Sequence[CudaRecord]]:
        """Record definitions inside of functions by name."""
        return self._by_record_name(self._found.local_records)

    @cached_property
    def declarations(self) -> Mapping[str, Sequence[CudaDeclaration]]:
        """Declarations by name; an enumerator leads to its enum."""
        found: dict[str, list[CudaDeclaration]] = {}
        for d in self._found.declarations:
            declaration = CudaDeclaration(self, d)
            for name in (d.name, *d.enumerators):
                if name:
                    found.setdefault(name, []).append(declaration)
        return found

    @cached_property
    def _scattered(self) -> dict[str, frozenset[tuple[str, ...]]]:
        """The scopes of names that several of them define; specializations do not count."""
        scopes: dict[str, set[tuple[str, ...]]] = {}
        for declaration in self._found.declarations:
            for name in (declaration.name, *declaration.enumerators):
                scopes.setdefault(name, set()).add(declaration.scope)
        for record in self._found.records:
            if record.specialization is None:
                scopes.setdefault(record.name, set()).add(record.scope)
        return {name: frozenset(found) for name, found in scopes.items() if len(found) > 1}

    @cached_property
    def _in_classes(self) -> frozenset[str]:
        """Names of variables, aliases, enumerators and classes that are members of a class."""
        classes = self._found.scopes.classes
        members = (d for d in self._found.declarations if d.scope in classes)
        names = {name for d in members for name in (d.name, *d.enumerators)}
        return frozenset(names | {r.name for r in self._found.records if r.scope in classes})

    def _is_in_class(self, place: tuple[str, ...]) -> bool:
        classes = self._found.scopes.classes
        return any(place[:n] in classes for n in range(1, len(place) + 1))

    @cached_property
    def _scopes(self) -> Scopes:
        in_blocks = tuple(dict.fromkeys(block_directives(self._source.tokens)))
        found = self._found.scopes
        return replace(found, in_blocks=in_blocks, known=found.known | _LIBRARIES)

    def is_scattered(self, name: str) -> bool:
        """Returns whether it hangs on the place what variable, alias or class a name means."""
        return name in self._scattered or name in self._in_classes

    def visible(
        self, found: Sequence[_Scoped], name: tuple[str, ...], here: tuple[str, ...]
    ) -> Sequence[_Scoped]:
        """Returns those definitions that a qualified name means in a scope.

        Outside of all classes a name without a qualifier means no member of one.
        """
        classes = self._found.scopes.classes
        if len(name) == 1 and name[0] in self._in_classes and not self._is_in_class(here):
            found = [d for d in found if d.scope not in classes]
        scopes = self._scattered.get(name[-1])
        if scopes is None:
            return found
        key = name, here
        if key not in self._meant:
            self._meant[key] = self.scopes_meant(scopes, name, here)
        meant = self._meant[key]
        return [d for d in found if d.scope in meant or d.scope not in scopes]

    def scopes_meant(
        self, scopes: frozenset[tuple[str, ...]], name: tuple[str, ...], here: tuple[str, ...]
    ) -> frozenset[tuple[str, ...]]:
        """Returns the scopes whose definition a qualified name means; all where it is not clear."""
        return self.scopes_in_sight(scopes, name, here) or scopes

    def scopes_in_sight(
        self, scopes: frozenset[tuple[str, ...]], name: tuple[str, ...], here: tuple[str, ...]
    ) -> frozenset[tuple[str, ...]]:
        """Returns the scopes whose definition a qualified name means; none where none is seen."""
        key = scopes, name, here
        if key not in self._in_sight:
            self._in_sight[key] = scopes_in_sight(scopes, name, here, self._scopes)
        return self._in_sight[key]

    @cached_property
    def table(self) -> SpanTable:
        """Maps nodes to source ranges."""
        from smemlint.frontend.cuda.parser.spans import SpanTable

        return SpanTable(self._source.files)

    @cached_property
    def _by_name(self) -> dict[str, list[CudaFunction]]:
        found: dict[str, list[CudaFunction]] = {}
        for function in self.functions:
            found.setdefault(function.name, []).append(function)
        return found

    def _by_record_name(self, found: Iterable[FoundRecord]) -> dict[str, list[CudaRecord]]:
        records: dict[str, list[CudaRecord]] = {}
        for record in found:
            records.setdefault(record.name, []).append(CudaRecord(self, record))
        return records

    def functions_named(self, name: str) -> Sequence[CudaFunction]:
        """Returns the definitions with this last component."""
        return self._by_name.get(name, [])

    def prototypes(self, name: str) -> Sequence[Prototype]:
        """Returns the declarations without a body of functions with this last component."""
        if name not in self._prototypes:
            read = (prototype(h, scope) for scope, h in self._found.prototypes.get(name, ()))
            self._prototypes[name] = [p for p in read if p is not None]
        return self._prototypes[name]

    def declarations_of(self, name: str, scope: tuple[str, ...]) -> Sequence[Sequence[Token]]:
        """Returns the declarations without a body of a function of this scope with defaults."""
        return self._with_defaults.get((name, scope), ())

    def heads_of(
        self, name: str, scope: tuple[str, ...]
    ) -> Sequence[tuple[TemplateParameter, ...]]:
        """Returns the parameters of declarations of a template of this scope with defaults."""
        return self._heads_with_defaults.get((name, scope), ())

    @cached_property
    def _with_defaults(self) -> dict[tuple[str, tuple[str, ...]], list[list[Token]]]:
        found: dict[tuple[str, tuple[str, ...]], list[list[Token]]] = {}
        for name, declared in self._found.prototypes.items():
            for scope, tokens in declared:
                own = found.setdefault((name, scope), [])
                if len(own) < MAX_DECLARED_DEFAULTS and any(token.text == "=" for token in tokens):
                    own.append(tokens)
        return found

    @cached_property
    def _heads_with_defaults(
        self,
    ) -> dict[tuple[str, tuple[str, ...]], list[tuple[TemplateParameter, ...]]]:
        found: dict[tuple[str, tuple[str, ...]], list[tuple[TemplateParameter, ...]]] = {}
        for name, declared in self._found.heads.items():
            for scope, head in declared:
                own = found.setdefault((name, scope), [])
                if len(own) < MAX_DECLARED_DEFAULTS and any(p.default is not None for p in head):
                    own.append(head)
        return found

    def token_span(self, token: Token) -> Span:
        """Returns the source range of a token."""
        return self._source.files[token.file].span(token.start, token.end)

    def template_ids(self, name: str) -> Iterator[TemplateId]:
        """Returns the template-ids of a name, in order; they are read once."""
        if name not in self._template_ids:
            tokens, places = self._source.tokens, self._angle_positions.get(name, ())
            deduced = self._deduced_positions.get(name, ())
            self._template_ids[name] = tuple(template_ids(tokens, places, deduced))
        return iter(self._template_ids[name])

    def instantiation(self, name: str, arguments: tuple[str, ...]) -> ir.ID | None:
        """Returns where a file of the user instantiates a class template; None for nowhere."""
        key = name, arguments
        if key not in self._instantiations:
            files = self._source.files
            found = [
                each
                for each in self.template_ids(name)
                if not is_cutlass_header(files[each.first.file].path)
            ]
            same = [each for each in found if each.arguments == arguments] or found
            self._instantiations[key] = self.table.name(same[0].first) if same else None
        return self._instantiations[key]

    @cached_property
    def _deduced_positions(self) -> Mapping[str, Sequence[int]]:
        return deduced_positions(self._source.tokens)

    @cached_property
    def _angle_positions(self) -> Mapping[str, Sequence[int]]:
        return angle_positions(self._source.tokens)

    @property
    def assigned_once(self) -> frozenset[str]:
        """Names that are given one value in the whole unit."""
        return self._assigned[0]

    @property
    def assigned(self) -> frozenset[str]:
        """Names that are given any value in the unit."""
        return self._assigned[1]

    @cached_property
    def _assigned(self) -> tuple[frozenset[str], frozenset[str]]:
        return assigned_names(self._source.tokens)

    def mentions(self, word: str) -> bool:
        """Returns whether the text of some file has the word."""
        return any(word in file.text for file in self._source.files.values())

    def span(self, node: ir.Node) -> Span:
        """Returns the source range of a node; the call site of a macro for what a macro made."""
        return self.table.span(node)

    def line(self, node: ir.Node) -> int:
        """Returns the line of the node's last operand, which nvcc's line table gives an access."""
        return self.table.last_line(node)

    def text(self, span: Span) -> str:
        """Returns the source text of a range."""
        if span not in self._texts:
            self._texts[span] = self._text(span)
        return self._texts[span]

    def _text(self, span: Span) -> str:
        for file in self._source.files.values():
            if file.path == span.path:
                start = file.lines.offset(span.line, span.column)
                return file.text[start : file.lines.offset(span.end_line, span.end_column)]
        return ""

    def conditions(self, node: ir.Node) -> tuple[str, ...]:
        """Returns the assumed `#if` conditions around a node and around the macro that made it."""
        token = self.table.token(node)
        return () if token is None else self.conditions_at(token)

    def conditions_at(self, token: Token) -> tuple[str, ...]:
        """Returns the same of a token."""
        around = self._source.regions.at(token.file, token.start)
        return tuple(dict.fromkeys((*around, *token.assumed)))

    def _tokens(self, text: str) -> list[Token]:
        return self._source.expand(lex(text, next(iter(self._source.files))))

    def parse_expression(self, text: str) -> ir.Expression | None:
        """Returns an expression; macros are expanded as at the end of the unit."""
        from smemlint.frontend.cuda.parser.parse import parse_expression_tokens

        if text not in self._expressions:
            self._expressions[text] = parse_expression_tokens(
                self._tokens(text), self.names, self.table
            )
        return self._expressions[text]

    def parse_type(self, text: str) -> ir.Typename | None:
        """Returns a type-id."""
        from smemlint.frontend.cuda.parser.parse import parse_type_tokens

        if text not in self._types:
            self._types[text] = parse_type_tokens(self._tokens(text), self.names, self.table)
        return self._types[text]

    @cached_property
    def template_arguments(self) -> Callable[[str], tuple[str, tuple[str, ...]]]:
        """Splits `a::f<int, 3>` into `("a::f", ("int", "3"))`."""
        from smemlint.frontend.cuda.parser.parse import template_arguments

        return template_arguments

    def is_type(self, text: str) -> bool:
        """Returns whether a template argument's spelling reads as a type rather than a value."""
        from smemlint.frontend.cuda.parser.parse import reads_as_type

        if text not in self._are_types:
            self._are_types[text] = reads_as_type(self._tokens(text), self.names)
        return self._are_types[text]
