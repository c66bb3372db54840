"""Names outside of functions: constants, static members, enumerators, functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from smemlint.analysis.simt.domain.ctypes import (
    CType,
    RecordType,
)
from smemlint.analysis.simt.domain.memory import Object, Space
from smemlint.analysis.simt.domain.values import (
    Callable,
    Int,
    Unknown,
    Value,
)
from smemlint.analysis.simt.state import Binding, Frame, Lazy, Scope, Variable
from smemlint.analysis.simt.types.records import Records, scope_of
from smemlint.analysis.simt.types.template_arguments import split_qualified

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.frontend.program import Declaration


class FileNames(Records):
    """Finds what declarations of the unit give."""

    def global_binding(self, name: str) -> Binding | None:
        """A constant, enumerator, shared array or function of the unit."""
        if name in self.globals:
            return self.globals[name]
        prefix, last = split_qualified(name)
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


def _is_constant(node: c_ast.Decl) -> bool:
    words = {*(node.storage or ()), *(node.quals or ())}
    return bool({"const", "constexpr"} & words) and not {"__constant__", "__device__"} & words
