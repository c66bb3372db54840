"""Records: class templates chosen by their arguments, and their members laid out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    BitField,
    CType,
    IntType,
    OpaqueType,
    RecordType,
    is_opaque,
)
from smemlint.analysis.simt.domain.environment import Binding, Lazy, Scope, Variable
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import type_words
from smemlint.analysis.simt.types.patterns import Argument, template_value
from smemlint.analysis.simt.types.record_layout import as_base, is_dynamic, lay_out, with_table
from smemlint.analysis.simt.types.specializations import Specialization, specialization_for
from smemlint.analysis.simt.types.statics import scope_of
from smemlint.analysis.simt.types.template_arguments import (
    bindings_text,
    open_scope,
    template_argument,
    template_scope,
    value_argument,
)
from smemlint.analysis.simt.types.template_packs import expanded_arguments
from smemlint.frontend import ir
from smemlint.frontend.program import Record

_WORD = re.compile(r"[A-Za-z_]\w*")
_MEMBERS = {"pair": ("first", "second"), "KeyValuePair": ("key", "value")}
"""Classes of the standard library and of CUB, and what their members are called."""
_UNKNOWN_ALIGNMENT = OpaqueType("an alignment that is not known")


def record_named(
    ev: Evaluator, name: str, arguments: tuple[str, ...], qualifier: tuple[str, ...] = ()
) -> CType | None:
    """Returns the record that a class name with its template arguments means."""
    last = name.rsplit("::", 1)[-1]
    arguments = expanded_arguments(ev, arguments)
    named: Sequence[Record] = ev.state.unit.records.get(last, ())
    if qualifier[:1] == ("std",):  # whose headers are not read
        named = [r for r in named if r.scope[:1] == ("std",)]
    place = ev.state.place
    records = ev.state.unit.visible(named, (*qualifier, last), place)
    around: Scope = {}
    if any(r.owner is not None and place[: len(r.scope)] == r.scope for r in records):
        around = {k: v for k, v in _visible(ev).items() if not isinstance(v, Variable)}
    return _instance_of(ev, name, records, arguments, around)


def member_template(
    ev: Evaluator, owner: RecordType, name: str, arguments: tuple[str, ...]
) -> CType | None:
    """Returns the class that a template in a class, or in a base of it, gives for arguments."""
    for ctype in owner.with_bases():
        record = cast("Record | None", ctype.record)
        named = ev.state.unit.records.get(name, ()) if record is not None else ()
        records = [r for r in named if record is not None and r.owner == record.span]
        found = _instance_of(ev, name, records, arguments, scope_of(ctype))
        if found is not None:
            return found
    return None


def _instance_of(
    ev: Evaluator, name: str, records: Sequence[Record], arguments: tuple[str, ...], around: Scope
) -> CType | None:
    """Returns the class that the definitions of one template give for arguments."""
    primary = next((r for r in records if r.specialization is None), None)
    if any(r.specialization is not None for r in records):
        given = _class_arguments(ev, primary, arguments)
        chosen = specialization_for(records, given, arguments, ev)
        if chosen is True:
            return OpaqueType(f"{name}<{', '.join(arguments)}>")
        if isinstance(chosen, Specialization):
            known: Scope = {k: v for k, v in chosen.bound.items() if v is not None}
            return record_type(ev, chosen.record, around | known, arguments)
    if primary is None:
        return None
    scope = template_scope(ev, primary.template, arguments, primary.scope)
    return record_type(ev, primary, around | scope, arguments)


def tuple_type(name: str, elements: Sequence[CType], namespace: str) -> RecordType | None:
    """Returns a standard class that holds one object of each type; None of unknown sizes.

    `std::tuple` begins with its last element in libstdc++; all others hold them in order.
    """
    names = _MEMBERS.get(name, tuple(f"<{k}>" for k in range(len(elements))))
    if len(names) != len(elements) or any(is_opaque(c) or not c.size for c in elements):
        return None
    way = -1 if name == "tuple" and not {"thrust", "cuda"} & set(namespace.split("::")) else 1
    fields = [(n, ctype, 0) for n, ctype in zip(names, elements, strict=True)]
    result = lay_out(name, fields[::way])
    return replace(result, members=result.members[::way])


def is_specialization_open(ev: Evaluator, record: RecordType) -> bool:
    """Returns whether a specialization of a class may be meant, for all that is known."""
    records = ev.state.unit.records.get(record.name, ())
    primary = next((r for r in records if r.specialization is None), None)
    if record.record is not primary or len(records) < 2:
        return False
    given = _class_arguments(ev, primary, record.arguments)
    return specialization_for(records, given, record.arguments, ev) is True


def _class_arguments(
    ev: Evaluator, primary: Record | None, arguments: tuple[str, ...]
) -> list[Argument]:
    """Returns the arguments of a class template, and the defaults behind them."""
    if primary is None or any(p.is_pack for p in primary.template):
        return [template_value(ev, a) for a in arguments]
    scope = template_scope(ev, primary.template, arguments, primary.scope)
    found: list[Argument] = []
    for i, parameter in enumerate(primary.template):
        spelling = arguments[i] if i < len(arguments) else parameter.default
        if parameter.name in scope:
            found.append(cast("Argument", scope[parameter.name]))
        elif spelling is not None:
            found.append(cast("Argument", template_argument(ev, spelling, parameter)))
    return found


def record_type(ev: Evaluator, record: Record, scope: Scope, arguments: tuple[str, ...]) -> CType:
    """Returns the record with its template parameters bound by `scope`."""
    state = ev.state
    key = record, bindings_text(scope)
    records = state.resolution.cache.records
    if key in records:
        return records[key]
    if key in state.resolution.records:
        state.resolution.unfinished.add(key)
        return state.resolution.records[key]
    begun = state.resolution.records[key] = RecordType(record.name, (), 1, 1)  # ends recursion
    state.resolution.cache.scopes.append(scope)
    tree = record.parse()
    try:
        bound = {**open_scope(record.template), **scope}
        with state.within(f"struct {record.name}", bound, (*record.scope, record.name)):
            bases: list[tuple[str, CType, int]] = [
                ("", as_base(ev.types.spelled(b) or OpaqueType(b)), 0) for b in record.bases
            ]
            inherited = _inherited(record, [ctype for _, ctype, _ in bases])
            if tree is None:  # no layout is better than that of an empty class
                bases.append(("", OpaqueType(f"a member of {record.name}"), 0))
            state.frame.enter_scope(inherited)
            result = _lay_out_members(ev, record.name, tree, bases, record, arguments)
            result.inherited.update(inherited)
    finally:
        del state.resolution.records[key]
        state.resolution.unfinished.discard(key)
    result.statics.update({k: v for k, v in scope.items() if k not in result.statics})
    for base in result.with_bases():  # a base that takes the class itself as an argument
        base.statics.update({k: result for k, v in base.statics.items() if v is begun})
    records[key] = result
    return result


def _inherited(record: Record, bases: Sequence[CType]) -> Scope:
    """Returns the names of bases that a class sees: of those that hang on no template parameter."""
    parameters = [*record.template, *(p for e in record.around for p in e.template)]
    open_words = {p.name for p in parameters} | ({record.name} if parameters else set())
    found: Scope = {}
    for spelling, base in zip(record.bases, bases, strict=True):
        if isinstance(base, RecordType) and open_words.isdisjoint(_WORD.findall(spelling)):
            for ctype in base.with_bases():
                for name in ctype.own:
                    found.setdefault(name, cast("Binding", ctype.statics[name]))
    return found


def local_record(ev: Evaluator, node: ir.Struct | ir.Union) -> CType:
    """Returns a struct or union defined inside a function or as a member's type."""
    found = _record_in_function(ev, node) or _record_of_alias(ev, node)
    if found is not None:
        return found
    result = _lay_out_members(ev, node.name or "", node, [], None, ())
    if node.name:
        ev.state.bind(node.name, result)
    return result


def _record_in_function(ev: Evaluator, node: ir.Struct | ir.Union) -> CType | None:
    """Returns a class that a function defines, with its methods; None of all others.

    It sees the template arguments and the constants of the function.
    """
    named = ev.state.unit.local_records.get(node.name or "", ())
    at = ev.state.unit.span(node)
    here = [
        r for r in named if r.span.path == at.path and at.line <= r.span.line <= at.end_line + 1
    ]
    if not here or here[0].template:
        return None
    result = record_type(ev, here[0], _visible(ev), ())
    ev.state.bind(here[0].name, result)
    return result


def _record_of_alias(ev: Evaluator, node: ir.Struct | ir.Union) -> CType | None:
    """Returns the class that a `typedef` of a file defines, with its methods; None of others."""
    named = ev.state.unit.records.get(node.name or "", ())
    at = ev.state.unit.span(node)
    here = [
        r
        for r in named
        if r.owner is None
        and r.scope == ev.state.place
        and r.span.path == at.path
        and at.line <= r.span.line <= at.end_line + 1
    ]
    return record_type(ev, here[0], {}, ()) if here and not here[0].template else None


def _visible(ev: Evaluator) -> Scope:
    found: Scope = {}
    for scope in ev.state.frame.scopes:
        found.update(scope)
    return found


def _lay_out_members(
    ev: Evaluator,
    name: str,
    tree: ir.Node | None,
    fields: list[tuple[str, CType, int]],
    record: Record | None,
    arguments: tuple[str, ...],
) -> RecordType:
    scope, initial = _declare_members(ev, tree, fields, record)
    bases = len(record.bases) if record is not None else 0
    fields = with_table(fields, bases, is_virtual=getattr(tree, "is_virtual", False))
    is_packed = getattr(tree, "is_packed", False)
    are_plain = all(_is_plain(ctype) for _, ctype, _ in fields)
    if is_packed and (bases or not are_plain):  # what stays unpacked hangs on the compiler
        fields.insert(0, ("", OpaqueType("a packed class"), 0))
    aligned = [_alignment(ev, operand) for operand in getattr(tree, "align", ())]
    if 0 in aligned:
        fields.insert(0, ("", _UNKNOWN_ALIGNMENT, 0))
    union = isinstance(tree, ir.Union) or (record is not None and record.kind == "union")
    result = lay_out(
        name,
        fields,
        union=union,
        align=max(aligned, default=1) or 1,
        record=record,
        arguments=arguments,
        pack=None if is_packed else getattr(tree, "pack", 0),
    )
    is_plain = are_plain and (record is None or _keeps_padding(ev, record, result))
    result = replace(result, is_plain=is_plain)
    result.statics.update(scope)
    for constant in scope.values():
        if isinstance(constant, Lazy):
            constant.owner = result
    result.own.update(scope)
    result.initial.update(initial)
    return result


def _declare_members(
    ev: Evaluator,
    tree: ir.Node | None,
    fields: list[tuple[str, CType, int]],
    record: Record | None,
) -> tuple[Scope, dict[str, object]]:
    """Adds the members to `fields`; returns what is no member, and what members begin with.

    A `typedef` does not complete the class that it names: `Base<D>` that names `Op<D>`, derived
    from `Base<Op<D>>`, would have no end.
    """
    scope: Scope = {}
    initial: dict[str, object] = {}
    is_within_itself = sum(r is record for r, _ in ev.state.resolution.records) > 1
    frame = ev.state.frame
    frame.enter_scope(scope)
    try:
        for decl in getattr(tree, "decls", None) or ():
            if isinstance(decl, ir.Typedef):
                is_lazy = is_within_itself and _is_template_id(decl.type)
                named = Lazy(decl, scope) if is_lazy else ev.types.resolve(decl.type)
                frame.bind(decl.name, named)
            elif not isinstance(decl, ir.Decl):
                continue
            elif {"static", "constexpr"} & set(decl.storage):
                if decl.init is not None:
                    frame.bind(decl.name, Lazy(decl.init, scope))
            else:
                ctype = _nested_record(ev, decl, record) or ev.types.resolve(decl.type)
                if decl.bitsize is not None:
                    fields.append((decl.name, _bit_field(ev, decl), declared_alignment(ev, decl)))
                    continue
                if not decl.name and not isinstance(decl.type, ir.Struct | ir.Union):
                    continue
                if not decl.name and getattr(decl.type, "name", None):
                    continue  # a nested definition, not an anonymous member
                aligned_to = declared_alignment(ev, decl)
                if decl.align and not aligned_to:
                    fields.append(("", _UNKNOWN_ALIGNMENT, 0))
                fields.append((decl.name, ctype, aligned_to))
                if decl.init is not None:
                    initial[decl.name] = decl.init
    finally:
        frame.leave_scope()
    return scope, initial


def has_constructor(ev: Evaluator, ctype: CType) -> bool:
    """Returns whether a class has one: what its objects are made of is not modelled then."""
    return (
        isinstance(ctype, RecordType)
        and ctype.record is not None
        and any(ev.policy.functions(ev, ctype.name))
    )


def _is_template_id(node: ir.Node) -> bool:
    """Returns whether a type is spelled as a template with its arguments."""
    while isinstance(node, ir.TypeDecl | ir.Typename):
        node = node.type
    return isinstance(node, ir.IdentifierType) and node.names[-1].endswith(">")


def _keeps_padding(ev: Evaluator, record: Record, ctype: RecordType) -> bool | None:
    """Returns whether a class has only public members and no more; None where that is not known."""
    if record.bases or is_dynamic(ctype):
        return False
    if any(f.record == record.name for f in ev.policy.functions(ev, record.name)):
        return False
    return None if record.kind == "class" else True


def _is_plain(ctype: CType) -> bool:
    while isinstance(ctype, ArrayType):
        ctype = ctype.element
    return not isinstance(ctype, RecordType) or ctype.is_plain is not False


def _nested_record(ev: Evaluator, decl: ir.Decl, outer: Record | None) -> CType | None:
    """Returns a class that is defined inside another, with its methods; None of all others.

    It sees the template arguments and the constants of the one around it.
    """
    node = decl.type
    if outer is None or not isinstance(node, ir.Struct | ir.Union) or not node.name:
        return None
    named = ev.state.unit.records.get(node.name, ())
    inner = next((r for r in named if r.owner == outer.span), None)
    if inner is None or inner.template:
        return None
    result = record_type(ev, inner, _visible(ev), ())
    ev.state.frame.bind(node.name, result)
    return result


def declared_alignment(ev: Evaluator, decl: ir.Decl) -> int:
    """Returns the bytes that `alignas` or `__align__` demand; 0 without one."""
    return max((_alignment(ev, operand) for operand in decl.align), default=0)


def _alignment(ev: Evaluator, operand: ir.Expression | ir.Typename) -> int:
    """Returns the bytes that one `alignas` demands; 0 where that is not known."""
    ctype = ev.types.resolve(operand) if isinstance(operand, ir.Typename) else None
    if ctype is not None and not is_opaque(ctype):
        return ctype.align
    value = ev.evaluate(operand) if ctype is None else _number_named(ev, operand)
    return value.constant or 0 if isinstance(value, AffineInt) else 0


def _number_named(ev: Evaluator, name: ir.Node) -> Binding | None:
    """Returns the number that a name is which looks like a type: `Traits<T>::alignment`."""
    words = type_words(name)
    return value_argument(ev, words[0]) if len(words) == 1 else None


def _bit_field(ev: Evaluator, decl: ir.Decl) -> CType:
    """Returns the type of a bit-field: where it lies and what moves it, the ABI packs."""
    ctype = ev.types.resolve(decl.type)
    width = ev.evaluate(decl.bitsize) if decl.bitsize is not None else None
    bits = width.constant if isinstance(width, AffineInt) else None
    text = f"the bit-field `{decl.name}`"
    if bits is None or not isinstance(ctype, IntType):
        return OpaqueType(text, ctype.size, ctype.align)
    return BitField(text, ctype.size, ctype.align, bits, ctype)
