"""One translation unit as the evaluator sees it: functions, records and declarations, parsed on demand.

A unit is a root file with the quoted local includes it could follow. Tokens keep the file they
come from, so a kernel of an included file is reported there, under the macros of the includer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pycparser import c_ast

    from smemlint.facts import Span


@dataclass(frozen=True, slots=True)
class TemplateParameter:
    """One template parameter.

    Attributes:
        name: empty when unnamed.
        kind: `type` (typename T), `value` (int N) or `template`.
        type: spelling of a value parameter's type.
        default: source spelling of the default argument; None without one.
        is_pack: declared with `...`.
    """

    name: str
    kind: Literal["type", "value", "template"]
    type: str = ""
    default: str | None = None
    is_pack: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """A statement that could not be parsed and stands as an empty one in the tree."""

    span: Span
    reason: str


@dataclass(frozen=True, slots=True)
class ParsedFunction:
    """A function's tree (None when even its frame does not parse) and what it lost."""

    tree: c_ast.FuncDef | None
    dropped: tuple[Dropped, ...] = ()


class Function(Protocol):
    """A function definition of the unit."""

    name: str
    """The last component: `reduce0`, `operator()`, `Smem` for a constructor."""
    scope: tuple[str, ...]
    """Names of the enclosing namespaces and records, outermost first."""
    record: str | None
    """The enclosing record's name (or the class of `void A<T>::f()`)."""
    template: tuple[TemplateParameter, ...]
    """All template parameters of the innermost template head of the function itself."""
    specialization: str | None
    """`int, 3` for `template <> f<int, 3>(..)`; None for a primary template or plain function."""
    specifiers: frozenset[str]
    """`__global__`, `__device__`, `static`, `constexpr`, ..."""
    launch_bounds: tuple[str, ...]
    """Source spelling of the `__launch_bounds__` arguments."""
    span: Span
    """Of the name in the definition."""
    words: frozenset[str]
    """Identifiers and strings of the body after preprocessing, and `<<<` if it launches."""

    @property
    def is_kernel(self) -> bool: ...

    @property
    def is_device(self) -> bool: ...

    def parse(self) -> ParsedFunction:
        """The tree, parsed at the first call; `tree.decl.type.args` holds the parameters."""
        ...


class Record(Protocol):
    """A struct, class or union definition at file, namespace or record scope."""

    name: str
    kind: Literal["struct", "class", "union"]
    scope: tuple[str, ...]
    template: tuple[TemplateParameter, ...]
    specialization: str | None
    bases: tuple[str, ...]
    """Source spelling of the base classes."""
    span: Span

    def parse(self) -> c_ast.Struct | c_ast.Union | None:
        """Data members as `Decl`s, in order; `static constexpr` ones as `Decl` with `storage`
        `['static']` and init, `using X = T` as `Typedef`, nested records as `Decl` of a `Struct`.
        """
        ...


class Declaration(Protocol):
    """A file- or namespace-scope (or class static) declaration that functions may name.

    kind: `variable` (constants, `__shared__`, `__constant__`), `alias` (using, typedef), `enum`.
    """

    name: str
    kind: Literal["variable", "alias", "enum"]
    scope: tuple[str, ...]
    template: tuple[TemplateParameter, ...]
    specifiers: frozenset[str]
    """`__shared__`, `__constant__`, `const`, `constexpr`, `extern`, ..."""
    span: Span

    def parse(self) -> c_ast.Node | None:
        """`Decl` (with init), `Typedef` or `Enum`."""
        ...


class Unit(Protocol):
    """A translation unit."""

    path: str
    """The root file, as given."""
    files: tuple[str, ...]
    """The root and every followed include, as paths relative like the root's."""
    functions: Sequence[Function]
    records: Mapping[str, Sequence[Record]]
    declarations: Mapping[str, Sequence[Declaration]]
    not_found: tuple[str, ...]
    """Quoted includes that were not found."""
    notices: tuple[Dropped, ...]
    """What the lexer, the preprocessor and the scanner could not read."""

    def functions_named(self, name: str) -> Sequence[Function]:
        """Definitions with this last component."""
        ...

    def span(self, node: c_ast.Node) -> Span:
        """Exact source range of an expression, statement or declaration; the call site of a macro
        for what a macro made."""
        ...

    def line(self, node: c_ast.Node) -> int:
        """The line of the node's last operand, which nvcc's line table gives an access."""
        ...

    def text(self, span: Span) -> str:
        """Source text of a range."""
        ...

    def conditions(self, node: c_ast.Node) -> tuple[str, ...]:
        """The `#if` conditions that were assumed true (they name unknown macros) around a node."""
        ...

    def parse_expression(self, text: str) -> c_ast.Node | None:
        """An expression, e.g. a template argument or a launch bound; macros are expanded."""
        ...

    def parse_type(self, text: str) -> c_ast.Typename | None:
        """A type-id, e.g. `float4*` or `typename Traits::T`."""
        ...

    def template_arguments(self, spelling: str) -> tuple[str, tuple[str, ...]]:
        """Splits `a::f<int, 3>` into `("a::f", ("int", "3"))`; no arguments: `(spelling, ())`."""
        ...

    def is_type(self, text: str) -> bool:
        """Whether a template argument's spelling reads as a type rather than a value."""
        ...
