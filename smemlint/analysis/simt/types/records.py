"""Records: class templates chosen by their arguments, and their members laid out."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pycparser import c_ast

from smemlint.analysis.simt.domain.ctypes import (
    CType,
    OpaqueType,
    RecordType,
    lay_out,
)
from smemlint.analysis.simt.domain.values import (
    Int,
)
from smemlint.analysis.simt.state import Frame, Lazy, Scope
from smemlint.analysis.simt.types.resolve import Types
from smemlint.analysis.simt.types.specializations import (
    Argument,
    Specialization,
    specialization_for,
)
from smemlint.analysis.simt.types.template_arguments import bindings_text

if TYPE_CHECKING:
    from smemlint.frontend.program import Record


class Records(Types):
    """Lays records out."""

    def record_named(self, name: str, arguments: tuple[str, ...]) -> CType | None:
        """The record that a class name with its template arguments means."""
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
        key = f"{record.span.path}:{record.span.line}:{record.name}<{bindings_text(scope)}>"
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


def scope_of(record: RecordType) -> Scope:
    """The names that a record's methods and constants see."""
    return dict(record.statics)  # type: ignore[arg-type]


def _base_name(spelling: str) -> str:
    for word in ("public", "private", "protected", "virtual"):
        spelling = spelling.removeprefix(word).strip()
    return spelling


def _struct_alignment(tree: c_ast.Node | None) -> int:
    return int(getattr(tree, "alignment", 0) or 0)
