"""Types and names: from the words of a declaration to sizes, through templates and aliases."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from pycparser import c_ast

from smemlint.evaluate import ctypes
from smemlint.evaluate.ctypes import (
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
from smemlint.evaluate.lexicon import lexicon_of
from smemlint.evaluate.machine import Binding, Frame, Lazy, Machine, Scope, Variable
from smemlint.evaluate.memory import Object, Space
from smemlint.evaluate.specializations import Argument, Specialization, specialization_for
from smemlint.evaluate.spellings import rests_on
from smemlint.evaluate.values import (
    Aggregate,
    Callable,
    Cute,
    FloatValue,
    Int,
    Pointer,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.frontend.cuda.unit import Declaration, Record, TemplateParameter, Unit

CTYPES = (IntType, FloatType, VoidType, PointerType, ArrayType, RecordType, OpaqueType)
_WRAPPERS = (c_ast.TypeDecl, c_ast.Typename, c_ast.Decl, c_ast.Typedef)
_REFERENCES = frozenset(("&", "&&"))
_MAX_DEPTH = 64


class Types(Machine):
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

    # ---- types

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
        ground = rests_on(spelling, self.frames[-1] if self.frames else None)
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
        prefix, last = _split_qualified(spelling)
        name, arguments = self.unit.template_arguments(last)
        if prefix:
            owner = self.spelled_type(prefix)
            if isinstance(owner, RecordType):
                inner = owner.statics.get(name)
                if isinstance(inner, CTYPES):
                    return inner
                if name == "type" and not owner.statics:
                    return None
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
                or self._record_type(name, arguments)
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
            key = (declaration, _scope_text(scope))
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

    def _record_type(self, name: str, arguments: tuple[str, ...]) -> CType | None:
        last = name.rsplit("::", 1)[-1]
        records = self.unit.records.get(last, ())
        primary = next((r for r in records if r.specialization is None), None)
        if len(records) > 1 and any(r.specialization is not None for r in records):
            chosen = specialization_for(records, self._bindings(primary, arguments), self)
            if chosen is True and primary is None:
                return OpaqueType(f"{name}<{', '.join(arguments)}>")
            if isinstance(chosen, Specialization):
                known: Scope = {k: v for k, v in chosen.bound.items() if v is not None}
                return self.record_type(chosen.record, known, arguments)
        if primary is None:
            return None
        scope = self.template_scope(primary.template, arguments)
        return self.record_type(primary, scope, arguments)

    def _bindings(self, primary: Record | None, arguments: tuple[str, ...]) -> list[Argument]:
        """The arguments of a class template, and the defaults behind them."""
        if primary is None or any(p.is_pack for p in primary.template):
            kinds = [self.unit.is_type(a) for a in arguments]
            return [
                self.type_argument(a) if k else self.value_argument(a)
                for a, k in zip(arguments, kinds, strict=True)
            ]
        scope = self.template_scope(primary.template, arguments)
        found: list[Argument] = []
        for i, parameter in enumerate(primary.template):
            spelling = arguments[i] if i < len(arguments) else parameter.default
            if parameter.name in scope:
                found.append(cast("Argument", scope[parameter.name]))
            elif spelling is not None:
                found.append(cast("Argument", self.argument(spelling, parameter)))
        return found

    def record_type(self, record: Record, scope: Scope, arguments: tuple[str, ...]) -> CType:
        """The record with its template parameters bound by `scope`."""
        key = f"{record.span.path}:{record.span.line}:{record.name}<{_scope_text(scope)}>"
        records = self._lexicon.records
        if key in records:
            return records[key]
        if key in self._laying_out:
            self._unfinished.add(key)
            return self._laying_out[key]
        self._laying_out[key] = RecordType(record.name, (), 1, 1)  # ends recursion
        self._lexicon.scopes.append(scope)
        tree = record.parse()
        self.frames.append(Frame(f"struct {record.name}", [scope]))
        try:
            bases = [self.spelled_type(_base_name(b)) for b in record.bases]
            known: list[tuple[str, CType, int]] = [
                ("", b, 0) for b in bases if isinstance(b, RecordType)
            ]
            made = self._members(record.name, tree, known, record, arguments)
        finally:
            self.frames.pop()
            del self._laying_out[key]
            self._unfinished.discard(key)
        made.statics.update({k: v for k, v in scope.items() if k not in made.statics})
        records[key] = made
        return made

    def local_record(self, node: c_ast.Struct | c_ast.Union) -> CType:
        """A struct or union defined inside a function or as a member's type."""
        made = self._members(node.name or "", node, [], None, ())
        if node.name:
            self.bind(node.name, made)
        return made

    def _members(
        self,
        name: str,
        tree: c_ast.Node | None,
        fields: list[tuple[str, CType, int]],
        record: Record | None,
        arguments: tuple[str, ...],
    ) -> RecordType:
        scope: Scope = {}
        self.frame.scopes.append(scope)
        align = 1
        try:
            for decl in getattr(tree, "decls", None) or ():
                if isinstance(decl, c_ast.Typedef):
                    scope[decl.name] = self.resolve(decl.type)
                elif not isinstance(decl, c_ast.Decl):
                    continue
                elif {"static", "constexpr"} & set(decl.storage or ()):
                    if decl.init is not None:
                        scope[decl.name] = Lazy(decl.init, scope)
                else:
                    kind = self.resolve(decl.type)
                    if not decl.name and not isinstance(decl.type, c_ast.Struct | c_ast.Union):
                        continue
                    if not decl.name and getattr(decl.type, "name", None):
                        continue  # a nested definition, not an anonymous member
                    fields.append((decl.name or "", kind, self.alignment(decl)))
        finally:
            self.frame.scopes.pop()
        if record is not None and record.kind == "union":
            union = True
        else:
            union = isinstance(tree, c_ast.Union)
        align = max(align, getattr(record, "alignment", 0) or 0, _struct_alignment(tree))
        made = lay_out(name, fields, union=union, align=align, record=record, arguments=arguments)
        made.statics.update(scope)
        return made

    def alignment(self, decl: c_ast.Decl) -> int:
        """Bytes that `alignas` or `__align__` demand; 0 without one."""
        best = 0
        for spec in decl.align or ():
            operand = getattr(spec, "alignment", spec)
            if isinstance(operand, c_ast.Typename):
                best = max(best, self.resolve(operand).align)
                continue
            value = self.evaluate(operand)
            if isinstance(value, Int) and value.constant:
                best = max(best, value.constant)
        return best

    # ---- template arguments

    def template_scope(
        self, parameters: tuple[TemplateParameter, ...], arguments: tuple[str, ...]
    ) -> Scope:
        """Binds parameters to argument spellings, then defaults; what is missing stays out."""
        scope: Scope = {}
        for i, parameter in enumerate(parameters):
            if parameter.is_pack:
                break
            if i < len(arguments):
                bound = self.argument(arguments[i], parameter)
            elif parameter.default is not None:
                self.frames.append(Frame("default", [scope]))
                try:
                    bound = self.argument(parameter.default, parameter)
                finally:
                    self.frames.pop()
            else:
                continue
            if bound is not None and parameter.name:
                scope[parameter.name] = bound
        return scope

    def argument(self, spelling: str, parameter: TemplateParameter) -> Binding | None:
        """What one template argument's spelling stands for."""
        if parameter.kind == "type":
            return self.type_argument(spelling) or OpaqueType(spelling)
        if parameter.kind == "template":
            return Callable(spelling)
        return self.value_argument(spelling)

    def type_argument(self, spelling: str) -> CType | None:
        """The type a template argument names."""
        found = self.spelled_type(spelling)
        if found is not None:
            return found
        node = self.unit.parse_type(spelling)
        return None if node is None else self.resolve(node)

    def value_argument(self, spelling: str) -> Value | None:
        """The value of a template argument."""
        node = self.unit.parse_expression(spelling)
        return None if node is None else self.evaluate(node)

    # ---- names outside the function

    def global_binding(self, name: str) -> Binding | None:
        """A constant, enumerator, shared array or function of the unit."""
        if name in self.globals:
            return self.globals[name]
        prefix, last = _split_qualified(name)
        found: Binding | None = None
        if prefix:
            owner = self.spelled_type(prefix)
            if isinstance(owner, RecordType):
                found = self.static_member(owner, last)
        if found is None:
            found = self.declared_value(last)
        if found is None:
            found = self.enumerators().get(last)
        if found is None and any(True for _ in self.functions(last.split("<", 1)[0])):
            found = Callable(name)
        if found is not None and not prefix:
            self.globals[name] = found
        return found

    def static_member(self, owner: RecordType, name: str) -> Binding | None:
        """A static constant, nested type or enumerator of a record."""
        inner = owner.statics.get(name)
        if isinstance(inner, Lazy):
            self.frames.append(Frame(f"static {owner.name}", [scope_of(owner)]))
            owner.statics[name] = Unknown(f"`{owner.name}::{name}` is defined by itself")
            try:
                inner = owner.statics[name] = self.evaluate(inner.node)
            finally:
                self.frames.pop()
        return inner  # type: ignore[return-value]

    def declared_value(self, name: str) -> Binding | None:
        """A variable of the unit; of several declarations the one with a value."""
        found: Binding | None = None
        for declaration in self.unit.declarations.get(name, ()):
            if declaration.kind != "variable":
                continue
            if id(declaration) in self._resolving:
                self._unfinished.add(id(declaration))
                continue  # `A::n` in what defines `n` is another one
            node = declaration.parse()
            if isinstance(node, c_ast.Decl) and (found is None or node.init is not None):
                self._resolving.add(id(declaration))
                try:
                    found = self._global_variable(declaration, node)
                finally:
                    self._resolving.discard(id(declaration))
                    self._unfinished.discard(id(declaration))
                if node.init is not None:
                    break
        return found

    def _global_variable(self, declaration: Declaration, node: c_ast.Decl) -> Binding:
        storage = set(node.storage or ())
        scope = self.template_scope(declaration.template, ())
        frames, self.frames = self.frames, [Frame("file", [scope])]
        mask, self.mask = self.mask, self.geometry.exists
        try:
            if "__shared__" in storage:
                self.declare(node)
                bound = self.frame.scopes[-1].get(declaration.name)
                if bound is not None:
                    return bound
            kind = self.resolve(node.type)
            space = Space.GLOBAL
            obj = Object(declaration.name, kind, space, f"file:{declaration.name}")
            if node.init is not None and (
                _is_constant(node) or self.keeps_its_value(declaration.name, kind)
            ):
                obj.space = Space.LOCAL
                self.globals[declaration.name] = Variable(obj, kind)
                with self.store.unjournaled():  # it stays, whatever branch names it first
                    self.initialize(Variable(obj, kind), node.init)
            return Variable(obj, kind)
        finally:
            self.frames = frames
            self.mask = mask

    def keeps_its_value(self, name: str, kind: CType) -> bool:
        """Whether a variable that is not declared constant is never written."""
        return False

    def initialize(self, variable: Variable, init: c_ast.Node) -> None:
        """Runs an initializer."""
        raise NotImplementedError

    def enumerators(self) -> dict[str, Value]:
        """Enumerators of every enum of the unit."""
        lexicon = self._lexicon
        if lexicon.enumerators is None:
            lexicon.enumerators = {}
            try:
                for node in self._enums():
                    lexicon.enumerators.update(self.enumerator_values(node))
            except BaseException:
                lexicon.enumerators = None  # a budget ended it half way
                raise
        return lexicon.enumerators

    def _enums(self) -> Iterator[c_ast.Enum]:
        """Every enum of the unit, to be read outside of functions."""
        for group in list(self.unit.declarations.values()):
            for declaration in group:
                node = declaration.parse() if declaration.kind == "enum" else None
                enum = getattr(node, "type", node)
                if isinstance(enum, c_ast.Enum):
                    frames, self.frames = self.frames, [Frame("file", [{}])]
                    try:
                        yield enum
                    finally:
                        self.frames = frames

    def enumerator_values(self, node: c_ast.Enum) -> dict[str, Value]:
        """Name -> value of one enum."""
        values: dict[str, Value] = {}
        scope: Scope = {}
        self.frame.scopes.append(scope)
        following: Value = Int(0)
        try:
            for item in node.values.enumerators if node.values is not None else ():
                value = self.evaluate(item.value) if item.value is not None else following
                values[item.name] = scope[item.name] = value
                if isinstance(value, Int):
                    following = self.algebra.add(value, Int(1))
        finally:
            self.frame.scopes.pop()
        return values

    def bind_enumerators(self, node: c_ast.Enum) -> None:
        """Declares a local enum's names."""
        for name, value in self.enumerator_values(node).items():
            self.bind(name, value)


def scope_of(record: RecordType) -> Scope:
    """The names that a record's methods and constants see."""
    return dict(record.statics)  # type: ignore[arg-type]


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


def _is_constant(node: c_ast.Decl) -> bool:
    words = {*(node.storage or ()), *(node.quals or ())}
    return bool({"const", "constexpr"} & words) and not {"__constant__", "__device__"} & words


@lru_cache(4096)
def _split_qualified(spelling: str) -> tuple[str, str]:
    """`A<x::y>::B` as `("A<x::y>", "B")`: the last `::` outside brackets."""
    depth = 0
    for i in range(len(spelling) - 1, 0, -1):
        c = spelling[i]
        if c in ">)]":
            depth += 1
        elif c in "<([":
            depth -= 1
        elif depth == 0 and spelling.startswith("::", i - 1):
            return spelling[: i - 1], spelling[i + 1 :]
    return "", spelling


def _base_name(spelling: str) -> str:
    for word in ("public", "private", "protected", "virtual"):
        spelling = spelling.removeprefix(word).strip()
    return spelling


def _scope_text(scope: Scope) -> str:
    return ",".join(f"{k}={_binding_text(v)}" for k, v in scope.items())


def _binding_text(binding: Binding) -> str:
    """A text that tells bindings apart; a record goes by its identity: each is made once."""
    match binding:
        case RecordType():
            return f"{binding.name}#{id(binding):x}"
        case PointerType():
            return f"{_binding_text(binding.target)}{'&' if binding.is_reference else '*'}"
        case ArrayType():
            return f"{_binding_text(binding.element)}[{binding.count}]"
        case Aggregate() | Pointer() | Lazy() | Callable() | Variable():
            return f"{type(binding).__name__}#{id(binding):x}"
    return binding.identity() if isinstance(binding, Int) else repr(binding)


def _struct_alignment(tree: c_ast.Node | None) -> int:
    return int(getattr(tree, "alignment", 0) or 0)
