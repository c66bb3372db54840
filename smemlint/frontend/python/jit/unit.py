"""A Python module as a translation unit: its kernels and host code as the C trees they lower to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Literal

from smemlint.facts import Span
from smemlint.frontend import ir
from smemlint.frontend.cuda.lexer.tokens import Token
from smemlint.frontend.cuda.scanner.template_ids import TemplateId
from smemlint.frontend.program import (
    Dropped,
    ParsedFunction,
    Prototype,
    Record,
    ScopedT,
    TemplateParameter,
)
from smemlint.frontend.python.imports import Imports
from smemlint.frontend.python.jit.definitions import Definition, Definitions
from smemlint.frontend.python.jit.imported_names import Constants, ImportedNames, Read
from smemlint.frontend.python.jit.ir_builder import Builder, type_of
from smemlint.frontend.python.jit.lower_statements import lower_constant, lower_function
from smemlint.frontend.python.python_source import NotPython, PythonText, text_of
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason, ReasonCode
from smemlint.sources.source import Source


def load_python_unit(
    path: str,
    text: str,
    read: Read = lambda _: None,
    constants: Constants = lambda _: {},
    *,
    is_caller: bool = False,
) -> PythonUnit:
    """Reads a Python module; what could not be read is in the unit's `notices`.

    Args:
        path: of the file.
        text: its text.
        read: returns the text of a file that it imports from, None where there is none.
        constants: returns the constants of such a file.
        is_caller: it may launch the kernels of files that it imports from.
    """
    try:
        source = PythonText.of(Source(path, text))
        return PythonUnit(source, read, constants, is_caller=is_caller)
    except NotPython as failed:
        empty = PythonText(path, "", ast.Module([], []))
        return PythonUnit(empty, read, constants, (Dropped(failed.span, failed.reason),))


@dataclass(eq=False)
class PythonFunction:
    """A function of the module; see `frontend.program.Function`."""

    _unit: PythonUnit = field(repr=False)
    definition: Definition

    scope: tuple[str, ...] = ()
    record: str | None = None
    owner: Span | None = None
    template: tuple[TemplateParameter, ...] = ()
    parameter_words: frozenset[str] = frozenset()
    called_objects: frozenset[str] = frozenset()
    specialization: str | None = None
    launch_bounds: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Returns the name in the source."""
        return self.definition.name

    @property
    def specifiers(self) -> frozenset[str]:
        """Returns the equivalent specifiers of CUDA."""
        if self.definition.is_kernel:
            return frozenset(("__global__",))
        return frozenset(("__device__",)) if self.definition.is_device else frozenset()

    @cached_property
    def span(self) -> Span:
        """Returns the place of the name."""
        node = self.definition.node
        text = text_of(node, self._unit.source)
        return text.name_span(node) if isinstance(node, ast.FunctionDef) else text.span(node)

    @cached_property
    def words(self) -> frozenset[str]:
        """Identifiers of the body, and `<<<` if it launches."""
        words: set[str] = set()
        for node in self.definition.own_nodes():
            if isinstance(node, ast.Name):
                found = self.definition.lookup(node.id)  # imported under another name
                words.update((node.id, found.name) if found is not None else (node.id,))
            elif isinstance(node, ast.Attribute):
                words.add(node.attr)
            elif isinstance(node, ast.Call) and _may_launch(node, self.definition):
                words.add("<<<")
        return frozenset(words)

    @property
    def member_words(self) -> frozenset[str]:
        """None: what stands behind a dot may be a function of a module."""
        return frozenset()

    def template_ids(self, name: str) -> Iterator[TemplateId]:
        """Yields none: Python has no templates."""
        yield from ()

    def qualifiers(self, name: str) -> frozenset[str]:
        """Returns no namespace: modules are none."""
        return frozenset(("",))

    @property
    def is_kernel(self) -> bool:
        """Returns whether it can be launched."""
        return self.definition.is_kernel

    @property
    def is_device(self) -> bool:
        """Returns whether kernels can call it."""
        return self.definition.is_device

    @property
    def is_host(self) -> bool:
        """Returns whether Python on the host calls it."""
        return not self.is_kernel and not self.is_device

    @cached_property
    def _parsed(self) -> ParsedFunction:
        unit, definition = self._unit, self.definition
        try:
            return lower_function(definition, definition.imports or unit.imports, unit.builder)
        except RecursionError:
            lost = Dropped(
                self.span, Reason(ReasonCode.TOO_LARGE, "expressions that are nested too deeply")
            )
            body = unit.builder.block([], definition.node)
            empty = unit.builder.function(definition.unique, "void", [], body, definition.node)
            return ParsedFunction(empty, (lost,))

    def parse(self) -> ParsedFunction:
        """Returns the tree, lowered at the first call."""
        return self._parsed

    def parse_head(self) -> ParsedFunction:
        """Returns the tree: its head and body are lowered together."""
        return self._parsed


@dataclass(eq=False)
class PythonConstant:
    """A name that the module assigns once; see `frontend.program.Declaration`."""

    _unit: PythonUnit = field(repr=False)
    name: str
    value: ast.expr

    kind: Literal["variable", "alias", "enum"] = "variable"
    scope: tuple[str, ...] = ()
    template: tuple[TemplateParameter, ...] = ()
    outer: tuple[TemplateParameter, ...] = ()
    conditions: tuple[str, ...] = ()

    @cached_property
    def specifiers(self) -> frozenset[str]:
        """Returns `const`, and the names that the value is made of: it may be a kernel."""
        names = (n.id for n in ast.walk(self.value) if isinstance(n, ast.Name))
        return frozenset(("const", *names))

    @property
    def span(self) -> Span:
        """Returns the place of the value."""
        return text_of(self.value, self._unit.source).span(self.value)

    @cached_property
    def _parsed(self) -> ir.Decl:
        unit = self._unit
        init = lower_constant(self.value, unit.definitions.host, unit.imports, unit.builder)
        type_ = type_of("auto")
        return unit.builder.declare(self.name, type_, self.value, init, quals=("const",))

    def parse(self) -> ir.Decl:
        """Returns a `Decl` with its value."""
        return self._parsed


class PythonUnit:
    """A Python module; see `frontend.program.Unit`."""

    records: Mapping[str, Sequence[Record]] = {}
    local_records: Mapping[str, Sequence[Record]] = {}
    not_found: tuple[str, ...] = ()
    unread: tuple[Dropped, ...] = ()
    assigned_once: frozenset[str] = frozenset()
    assigned: frozenset[str] = frozenset()

    def __init__(
        self,
        source: PythonText,
        read: Read,
        constants: Constants,
        notices: tuple[Dropped, ...] = (),
        *,
        is_caller: bool = False,
    ) -> None:
        self.source = source
        self.memory: dict[object, object] = {}
        self.notices = notices
        self.imports = Imports.of(source.tree)
        self.definitions = Definitions(source.tree, self.imports)
        self.imported = ImportedNames(read, constants, launches=is_caller)
        if is_caller or any(d.is_kernel for d in self.definitions.all):  # else none is asked for
            self.imported.attach(source.path, self.imports, self.definitions)
        self.builder = Builder(source)
        known = (*self.definitions.all, *self.imported.functions)
        self.functions = [PythonFunction(self, d) for d in known]
        self._by_name: dict[str, list[PythonFunction]] = {}
        for function in self.functions:
            if function.definition.is_stub:
                continue  # Numba calls what is registered for it
            for name in {function.name, function.definition.unique}:
                self._by_name.setdefault(name, []).append(function)

    @property
    def path(self) -> str:
        """Returns the file, as given."""
        return self.source.path

    @property
    def files(self) -> tuple[str, ...]:
        """Returns the file, and those that it takes constants and functions from."""
        return (self.source.path, *self.imported.texts)

    @cached_property
    def declarations(self) -> Mapping[str, Sequence[PythonConstant]]:
        """Returns names that the module gives one value, which is written out."""
        host = self.definitions.host
        found = {name: host.value_of(name) for name in host.assigned}
        return {
            name: [PythonConstant(self, name, value)]
            for name, value in found.items()
            if value is not None
        }

    def functions_named(self, name: str) -> Sequence[PythonFunction]:
        """Returns functions of this name, or the one of this unique name."""
        return self._by_name.get(name, ())

    def prototypes(self, name: str) -> Sequence[Prototype]:
        """Returns none: every function of Python has a body."""
        return ()

    def is_scattered(self, name: str) -> bool:
        """Returns False: a module has one scope."""
        return False

    def visible(
        self, found: Sequence[ScopedT], name: tuple[str, ...], here: tuple[str, ...]
    ) -> Sequence[ScopedT]:
        """Returns all definitions."""
        return found

    def scopes_meant(
        self, scopes: frozenset[tuple[str, ...]], name: tuple[str, ...], here: tuple[str, ...]
    ) -> frozenset[tuple[str, ...]]:
        """Returns all scopes."""
        return scopes

    scopes_in_sight = scopes_meant

    def template_ids(self, name: str) -> Iterator[TemplateId]:
        """Yields none: Python has no templates."""
        yield from ()

    def instantiation(self, name: str, arguments: tuple[str, ...]) -> ir.ID | None:
        """Returns nothing: Python has no class templates."""
        return None

    def mentions(self, word: str) -> bool:
        """Returns whether the text has the word."""
        return re.search(rf"\b{re.escape(word)}\b", self.source.text) is not None

    def token_span(self, token: Token) -> Span:
        """Returns the whole file: there are no tokens."""
        return Span(self.path, 1, 1, 1, 1)

    def span(self, node: ir.Node) -> Span:
        """Returns where the Python code of a node stands."""
        return self.builder.span(node)

    def line(self, node: ir.Node) -> int:
        """Returns the first line of the node's code."""
        return self.builder.span(node).line

    def text(self, span: Span) -> str:
        """Returns the source text of a range."""
        return self.imported.texts.get(span.path, self.source).within(span)

    def conditions(self, node: ir.Node) -> tuple[str, ...]:
        """Returns none: Python has no preprocessor."""
        return ()

    def parse_expression(self, text: str) -> ir.Expression | None:
        """Returns a number or a name, as pragmas and options write them."""
        text = text.strip()
        return ir.Constant("int", text) if text.isdigit() else ir.ID(text)

    def parse_type(self, text: str) -> ir.Typename | None:
        """Returns none: types have no spelling of their own."""
        return None

    def template_arguments(self, spelling: str) -> tuple[str, tuple[str, ...]]:
        """Returns the spelling itself: nothing has template arguments."""
        return spelling, ()

    def is_type(self, text: str) -> bool:
        """Returns no template argument is a type."""
        return False


def _may_launch(call: ast.Call, definition: Definition) -> bool:
    """Returns `k[grid, block](..)`, or a call of a kernel by its name."""
    if isinstance(call.func, ast.Subscript):
        return True
    if isinstance(call.func, ast.Name):
        found = definition.lookup(call.func.id)
        return found is not None and found.is_kernel
    return False
