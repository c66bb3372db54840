"""One translation unit as the evaluator sees it: its definitions, parsed on demand.

A unit is a root file with the quoted local includes it could follow. Tokens keep the file they
come from, so a kernel of an included file is reported there, under the macros of the includer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from smemlint.facts import Span
    from smemlint.frontend import ir
    from smemlint.frontend.cuda.lexer.tokens import Token
    from smemlint.frontend.cuda.scanner.template_ids import TemplateId
    from smemlint.reasons import Reason


@dataclass(frozen=True, slots=True)
class TemplateParameter:
    """One template parameter.

    Attributes:
        name: empty when unnamed.
        kind: `type` (typename T), `value` (int N) or `template`.
        type: spelling of a value parameter's type.
        default: source spelling of the default argument; None without one.
        is_pack: declared with `...`.
        constraint: what C++20 asks of it, or of the whole head where it is the last one: `C<T>`.
    """

    name: str
    kind: Literal["type", "value", "template"]
    type: str = ""
    default: str | None = None
    is_pack: bool = False
    constraint: str = ""


@dataclass(frozen=True, slots=True)
class Enclosing:
    """A class or function that a class is defined in, or a namespace that tells two of them apart.

    Attributes:
        specialization: arguments of an explicit specialization; None without.
    """

    name: str
    template: tuple[TemplateParameter, ...] = ()
    specialization: str | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """A statement that could not be parsed and stands as an empty one in the tree."""

    span: Span
    reason: Reason


@dataclass(frozen=True, slots=True)
class ParsedFunction:
    """A function's tree (None when even its frame does not parse) and what it lost."""

    tree: ir.FuncDef | None
    dropped: tuple[Dropped, ...] = ()


DIRECTIVE = "using "
"""How a component of a place begins that is no scope but a directive of a block."""


class Scoped(Protocol):
    """A definition that stands in namespaces and classes."""

    @property
    def scope(self) -> tuple[str, ...]:
        """Names of the enclosing namespaces and records, outermost first."""


ScopedT = TypeVar("ScopedT", bound=Scoped)


class Function(Protocol):
    """A function definition of the unit."""

    @property
    def name(self) -> str:
        """The last component: `reduce0`, `operator()`, `Smem` for a constructor."""

    @property
    def scope(self) -> tuple[str, ...]:
        """Names of the enclosing namespaces and records, outermost first."""

    @property
    def record(self) -> str | None:
        """The enclosing record's name (or the class of `void A<T>::f()`)."""

    @property
    def owner(self) -> Span | None:
        """`Record.span` of the record whose body it stands in, or that is specialized for it."""

    @property
    def template(self) -> tuple[TemplateParameter, ...]:
        """All template parameters of the innermost template head of the function itself."""

    @property
    def specialization(self) -> str | None:
        """`int, 3` for `template <> f<int, 3>(..)`; None for all other functions."""

    @property
    def specifiers(self) -> frozenset[str]:
        """`__global__`, `__device__`, `static`, `constexpr`, ...; `const`, `&&` of methods."""

    @property
    def launch_bounds(self) -> tuple[str, ...]:
        """Source spelling of the `__launch_bounds__` arguments."""

    @property
    def span(self) -> Span:
        """Of the name in the definition."""

    @property
    def words(self) -> frozenset[str]:
        """Identifiers and strings of the body after preprocessing, `<<<` if it launches, `/`."""

    @property
    def member_words(self) -> frozenset[str]:
        """Those words that name members of objects and nothing else: no free function."""

    @property
    def parameter_words(self) -> frozenset[str]:
        """Identifiers of the parameters' declarations."""

    @property
    def called_objects(self) -> frozenset[str]:
        """Names that the body calls and that may be of objects: parameters, variables, members."""

    def template_ids(self, name: str) -> Iterator[TemplateId]:
        """Returns the template-ids of a name in the body, in order."""

    def qualifiers(self, name: str) -> frozenset[str]:
        """Returns what stands before `::` in front of a name in the body.

        Where nothing does it is empty, of a member of an object `.`. A name that itself stands
        before `::` is no function's.
        """

    @property
    def is_kernel(self) -> bool:
        """Whether it can be launched."""

    @property
    def is_device(self) -> bool:
        """Whether device code can call it."""

    @property
    def is_host(self) -> bool:
        """Whether host code, a constant expression of it or a `decltype` can call it."""

    def parse(self) -> ParsedFunction:
        """Returns the tree, parsed at the first call; parameters are `tree.decl.type.args`."""

    def parse_head(self) -> ParsedFunction:
        """Returns the tree without its body, parsed at the first call."""


class Record(Protocol):
    """A struct, class or union definition at file, namespace or record scope."""

    @property
    def name(self) -> str:
        """As defined, last component."""

    @property
    def kind(self) -> Literal["struct", "class", "union"]:
        """What it is."""

    @property
    def scope(self) -> tuple[str, ...]:
        """Enclosing namespaces and records, outermost first."""

    @property
    def template(self) -> tuple[TemplateParameter, ...]:
        """Its template parameters."""

    @property
    def specialization(self) -> str | None:
        """Arguments of an explicit specialization; None without."""

    @property
    def around(self) -> tuple[Enclosing, ...]:
        """What its name stands in, outermost first; namespaces where another has the name."""

    @property
    def owner(self) -> Span | None:
        """`Record.span` of the record whose body it stands in."""

    @property
    def bases(self) -> tuple[str, ...]:
        """Source spelling of the base classes."""

    @property
    def span(self) -> Span:
        """Of the name."""

    def parse(self) -> ir.Struct | ir.Union | None:
        """Returns its members.

        Data members are `Decl`s, in order; `static constexpr` ones `Decl` with `storage`
        `['static']` and init, `using X = T` as `Typedef`, nested records as `Decl` of a `Struct`.
        """


class Declaration(Protocol):
    """A file- or namespace-scope (or class static) declaration that functions may name.

    kind: `variable` (constants, `__shared__`, `__constant__`), `alias` (using, typedef), `enum`.

    """

    @property
    def name(self) -> str:
        """As defined, last component."""

    @property
    def kind(self) -> Literal["variable", "alias", "enum"]:
        """What it is."""

    @property
    def scope(self) -> tuple[str, ...]:
        """Enclosing namespaces and records, outermost first."""

    @property
    def template(self) -> tuple[TemplateParameter, ...]:
        """Its template parameters."""

    @property
    def outer(self) -> tuple[TemplateParameter, ...]:
        """Those of the classes and functions around it."""

    @property
    def specifiers(self) -> frozenset[str]:
        """`__shared__`, `__constant__`, `const`, `constexpr`, `extern`, ..."""

    @property
    def span(self) -> Span:
        """Of the name."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """The `#if` conditions that were assumed true around it; see `Unit.conditions`."""

    def parse(self) -> ir.Declaration | ir.Enum | None:
        """Returns `Decl` (with init), `Typedef` or `Enum`."""


@dataclass(frozen=True, slots=True)
class Prototype:
    """What a declaration without a body tells of calls.

    Attributes:
        scope: names of the enclosing namespaces and records, outermost first.
        writes: of each parameter, whether it is a reference to what the function may write.
        keeps_object: a method that is `const` or `static`.
        result: the text of the type that it gives.
        parameters: their texts without default arguments; None of one with C linkage.
        is_virtual: a class that is derived may have another method in its place.
    """

    scope: tuple[str, ...]
    writes: tuple[bool, ...]
    keeps_object: bool
    result: str = ""
    is_kernel: bool = False
    parameters: tuple[str, ...] | None = None
    is_virtual: bool = False


class Unit(Protocol):
    """A translation unit."""

    @property
    def path(self) -> str:
        """The root file, as given."""

    @property
    def files(self) -> tuple[str, ...]:
        """The root and every followed include, as paths relative like the root's."""

    @property
    def memory(self) -> dict[object, object]:
        """What evaluations of the unit keep for one another."""

    @property
    def functions(self) -> Sequence[Function]:
        """All function definitions."""

    @property
    def records(self) -> Mapping[str, Sequence[Record]]:
        """Record definitions by name."""

    @property
    def local_records(self) -> Mapping[str, Sequence[Record]]:
        """Record definitions inside of functions by name."""

    @property
    def declarations(self) -> Mapping[str, Sequence[Declaration]]:
        """Declarations by name; an enumerator leads to its enum."""

    @property
    def not_found(self) -> tuple[str, ...]:
        """Includes that were not found and may define kernels."""

    @property
    def notices(self) -> tuple[Dropped, ...]:
        """What the lexer, the preprocessor and the scanner could not read."""

    @property
    def unread(self) -> tuple[Dropped, ...]:
        """Kernels and shared memory in branches of `#if` that another build may read."""

    def functions_named(self, name: str) -> Sequence[Function]:
        """Returns the definitions with this last component."""

    def prototypes(self, name: str) -> Sequence[Prototype]:
        """Returns the declarations without a body of functions with this last component."""

    def is_scattered(self, name: str) -> bool:
        """Returns whether several scopes define variables, aliases or classes of a name."""

    def visible(
        self, found: Sequence[ScopedT], name: tuple[str, ...], here: tuple[str, ...]
    ) -> Sequence[ScopedT]:
        """Returns those definitions that a qualified name means in a scope."""

    def scopes_meant(
        self, scopes: frozenset[tuple[str, ...]], name: tuple[str, ...], here: tuple[str, ...]
    ) -> frozenset[tuple[str, ...]]:
        """Returns the scopes whose definition a qualified name means; all where it is not clear."""

    def scopes_in_sight(
        self, scopes: frozenset[tuple[str, ...]], name: tuple[str, ...], here: tuple[str, ...]
    ) -> frozenset[tuple[str, ...]]:
        """Returns the scopes whose definition a qualified name means; none where none is seen."""

    @property
    def assigned_once(self) -> frozenset[str]:
        """Names that are given one value in the whole unit."""

    @property
    def assigned(self) -> frozenset[str]:
        """Names that the unit gives any value."""

    def template_ids(self, name: str) -> Iterator[TemplateId]:
        """Returns the template-ids of a name, in order."""

    def instantiation(self, name: str, arguments: tuple[str, ...]) -> ir.ID | None:
        """Returns where a file of the user instantiates a class template; None for nowhere."""

    def mentions(self, word: str) -> bool:
        """Returns whether the text of some file has the word."""

    def token_span(self, token: Token) -> Span:
        """Returns the source range of a token."""

    def span(self, node: ir.Node) -> Span:
        """Returns the exact source range; the call site of a macro for what a macro made."""

    def line(self, node: ir.Node) -> int:
        """Returns the line of the node's last operand, which nvcc's line table gives an access."""

    def text(self, span: Span) -> str:
        """Returns the source text of a range."""

    def conditions(self, node: ir.Node) -> tuple[str, ...]:
        """Returns the `#if` conditions around a node that were assumed, for unknown macros."""

    def parse_expression(self, text: str) -> ir.Expression | None:
        """Parses an expression, e.g. a template argument or launch bound, with macros expanded."""

    def parse_type(self, text: str) -> ir.Typename | None:
        """Returns a type-id, e.g. `float4*` or `typename Traits::T`."""

    def template_arguments(self, spelling: str) -> tuple[str, tuple[str, ...]]:
        """Splits `a::f<int, 3>` into `("a::f", ("int", "3"))`; no arguments: `(spelling, ())`."""

    def is_type(self, text: str) -> bool:
        """Returns whether a template argument's spelling reads as a type rather than a value."""
