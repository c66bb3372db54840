"""Types: what type names and declarators stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from smemlint.analysis.simt.domain import ctypes
from smemlint.analysis.simt.domain.ctypes import (
    I32,
    ArrayType,
    CType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    StaticType,
    VoidType,
    is_opaque,
    lay_out,
)
from smemlint.analysis.simt.domain.values import (
    Aggregate,
    Cute,
    FloatValue,
    Int,
    Pointer,
    Value,
)
from smemlint.analysis.simt.state import Frame
from smemlint.analysis.simt.types.cache import lexicon_of
from smemlint.analysis.simt.types.cache_keys import rests_on
from smemlint.analysis.simt.types.template_arguments import (
    TemplateArguments,
    bindings_text,
    split_qualified,
)

if TYPE_CHECKING:
    from smemlint.frontend.program import Unit

CTYPES = (IntType, FloatType, VoidType, PointerType, ArrayType, RecordType, OpaqueType)
_WRAPPERS = (c_ast.TypeDecl, c_ast.Typename, c_ast.Decl, c_ast.Typedef)
_REFERENCES = frozenset(("&", "&&"))
_MAX_DEPTH = 64


class Types(TemplateArguments):
    """Resolves types and the names that declarations outside the kernel give."""

    _depth = 0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._resolving: set[int] = set()
        self._laying_out: dict[str, RecordType] = {}
        self.enter(self.unit)
        self._unfinished: set[object] = set()
        """Definitions under way that the work of the moment met: what it gives is not final."""

    def enter(self, unit: Unit) -> None:
        """What follows is read in this unit."""
        self.unit = unit
        self._lexicon = lexicon_of(unit, (type(self), self.geometry.block))

    def resolve(self, node: c_ast.Node) -> CType:
        """The type that a declarator, type-id or specifier node names."""
        while isinstance(node, _WRAPPERS):
            node = node.type
        if isinstance(node, c_ast.IdentifierType):
            return self.named_type(tuple(node.names))
        if isinstance(node, c_ast.PtrDecl):
            reference = bool(node.quals) and not _REFERENCES.isdisjoint(node.quals)
            target = self.resolve(node.type)
            if reference and isinstance(target, PointerType) and target.is_reference:
                return target
            return PointerType(target, reference)
        if isinstance(node, c_ast.ArrayDecl):
            count = None
            if node.dim is not None:
                value = self.evaluate(node.dim)
                count = value.constant if isinstance(value, Int) else None
            return ArrayType(self.resolve(node.type), count)
        if isinstance(node, c_ast.Struct | c_ast.Union):
            return self.local_record(node) if node.decls else self.named_type((node.name or "",))
        if isinstance(node, c_ast.Enum):
            self.bind_enumerators(node)
            return I32
        return OpaqueType(type(node).__name__)

    def named_type(self, words: tuple[str, ...]) -> CType:
        """The type of words like `unsigned int`, `T`, `float4` or `Traits<3>::Element`."""
        if len(words) == 1 and words[0] in ctypes.KEYWORDS:
            return ctypes.KEYWORDS[words[0]]
        words = tuple(w for w in words if w not in ("const", "volatile"))
        if len(words) == 1:
            found = self.spelled_type(words[0])
            if found is not None:
                return found
        return ctypes.builtin(words) or OpaqueType(" ".join(words))

    def spelled_type(self, spelling: str) -> CType | None:
        """The type that one (qualified, templated) word names; None when it names none."""
        spelling = spelling.removeprefix("typename ").removeprefix("struct ").removeprefix("::")
        bound = self.lookup(spelling) if self.frames else None
        if isinstance(bound, CTYPES):
            return bound
        ground = rests_on(spelling, self.frames[-1] if self.frames else None, self.lookup)
        key = (spelling, ground)
        if ground is not None and key in self._lexicon.spelled:
            return self._lexicon.spelled[key]
        met, self._unfinished = self._unfinished, set()
        found = self._worked_out(spelling)
        if ground is not None and not self._unfinished:
            self._lexicon.spelled[key] = found
        self._unfinished |= met
        return found

    def _worked_out(self, spelling: str) -> CType | None:
        if spelling.startswith("decltype"):
            return self._decltype(spelling)
        prefix, last = split_qualified(spelling)
        name, arguments = self.unit.template_arguments(last)
        if prefix:
            owner = self.spelled_type(prefix)
            if isinstance(owner, RecordType):
                inner = _inherited(owner, name)
                return inner if isinstance(inner, CTYPES) else None
        found = self.cute_type(name, arguments) or self._standard(name, arguments)
        if found is not None:
            return found
        if self._depth > _MAX_DEPTH:
            self._unfinished.add("depth")
            return None
        self._depth += 1
        try:
            return (
                self._declared_type(name, arguments)
                or ctypes.builtin((name,))
                or self.record_named(name, arguments)
            )
        finally:
            self._depth -= 1
            if not self._depth:
                self._unfinished.clear()

    def cute_type(self, name: str, arguments: tuple[str, ...]) -> CType | None:
        """The type that CuTe gives the name; None when it gives none."""
        raise NotImplementedError

    def _standard(self, name: str, arguments: tuple[str, ...]) -> CType | None:
        """Standard and CUTLASS templates that every kernel author uses."""
        last = name.rsplit("::", 1)[-1]
        if not arguments:
            return None
        if last in (
            "remove_reference_t",
            "remove_cv_t",
            "remove_cvref_t",
            "decay_t",
            "add_const_t",
        ):
            return self.type_argument(arguments[0])
        if last in ("array", "Array", "AlignedArray", "ArrayEngine", "array_aligned"):
            element = self.type_argument(arguments[0])
            count = self.value_argument(arguments[1]) if len(arguments) > 1 else None
            n = count.constant if isinstance(count, Int) else None
            if element is None or n is None or not element.size:
                return None
            if last not in ("array",) and self.unit.records.get(last):
                return None
            return lay_out(name, [("", ArrayType(element, n), 0)])
        if last == "complex" and len(arguments) == 1:  # of thrust and cuda::std, aligned whole
            part = self.type_argument(arguments[0])
            if isinstance(part, FloatType):
                return lay_out(name, [("", ArrayType(part, 2), 0)], align=2 * part.size)
        if last in ("conditional_t",) and len(arguments) == 3:
            chosen = self.value_argument(arguments[0])
            if isinstance(chosen, Int) and chosen.constant is not None:
                return self.type_argument(arguments[1 if chosen.constant else 2])
        return None

    def _decltype(self, spelling: str) -> CType | None:
        node = self.unit.parse_expression(spelling[len("decltype") :].strip())
        if node is None:
            return None
        return type_of(self.evaluate(node))

    def _declared_type(self, name: str, arguments: tuple[str, ...]) -> CType | None:
        last = name.rsplit("::", 1)[-1]
        for declaration in self.unit.declarations.get(last, ()):
            if declaration.kind == "enum":
                return I32
            if declaration.kind != "alias":
                continue
            node = declaration.parse()
            if node is None:
                continue
            if id(declaration) in self._resolving:
                self._unfinished.add(id(declaration))
                continue  # an alias that names itself means another of that name
            scope = self.template_scope(declaration.template, arguments)
            key = (declaration, bindings_text(scope))
            aliases = self._lexicon.aliases
            if key not in aliases:
                self._lexicon.scopes.append(scope)
                self._resolving.add(id(declaration))
                self.frames.append(Frame(f"alias {name}", [scope]))
                try:
                    aliases[key] = self.resolve(node)
                finally:
                    self.frames.pop()
                    self._resolving.discard(id(declaration))
                    self._unfinished.discard(id(declaration))
            found = aliases[key]
            if not is_opaque(found):
                return found
        return None


def _inherited(owner: RecordType, name: str) -> object:
    """What a class or one of its bases calls so; None where none does."""
    if name in owner.statics:
        return owner.statics[name]
    bases = (m.type for m in owner.members if not m.name and isinstance(m.type, RecordType))
    return next((found for b in bases if (found := _inherited(b, name)) is not None), None)


def type_of(value: Value) -> CType:
    """The type that `auto` or a deduced template parameter takes from a value."""
    match value:
        case Int() | FloatValue() | Aggregate():
            return value.type
        case Pointer():
            return PointerType(value.target)
        case Cute():
            return StaticType(str(value), value=value)
        case _:
            return OpaqueType("auto")
