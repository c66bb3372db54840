"""Finds what one spelling of a type means: CuTe, standard templates, aliases, classes."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.analysis.simt.builtins.cute_types import cute_type, is_cute_name
from smemlint.analysis.simt.calls.operands import operand_of
from smemlint.analysis.simt.cute.names import CLASS_TEMPLATES, NARROW_BITS
from smemlint.analysis.simt.domain.ctypes import (
    BOOL,
    I64,
    ArrayType,
    CType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    StaticType,
    TupleType,
    UnreadTemplate,
    is_opaque,
    unreferenced,
)
from smemlint.analysis.simt.domain.environment import CTYPES, Lazy, Variable
from smemlint.analysis.simt.domain.values import AffineInt, CallableValue
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.builtin_types import builtin_type
from smemlint.analysis.simt.types.enums import underlying_type
from smemlint.analysis.simt.types.glm import glm_type
from smemlint.analysis.simt.types.pytorch import pytorch_type
from smemlint.analysis.simt.types.record_layout import lay_out
from smemlint.analysis.simt.types.records import member_template, record_named, tuple_type
from smemlint.analysis.simt.types.statics import declaring, forced, place_of, scope_of
from smemlint.analysis.simt.types.template_arguments import (
    ROOT,
    bindings_text,
    names_of,
    open_scope,
    split_qualified,
    template_scope,
    type_argument,
    value_argument,
)
from smemlint.frontend import ir
from smemlint.limits.budgets import MAX_TYPE_DEPTH, MAX_TYPE_ENDS

_SAME_TYPE = frozenset((
    "remove_reference_t", "remove_cv_t", "remove_cvref_t", "decay_t", "add_const_t",
    "remove_const_t", "remove_volatile_t", "type_identity_t",
))  # fmt: skip
_WITHOUT_REFERENCE = frozenset(("remove_reference_t", "remove_cvref_t", "decay_t"))
_SIGNS = {"make_signed_t": True, "make_unsigned_t": False}
_CONSTANT_TYPES: dict[str, tuple[str, ...]] = {
    "integral_constant": (),
    "bool_constant": (),
    "true_type": ("1",),
    "false_type": ("0",),
}
"""Standard types that are constants, and their arguments where the name gives them."""
_ARRAYS = frozenset(("array", "Array", "AlignedArray", "ArrayEngine", "array_aligned"))


def resolve_spelling(ev: Evaluator, spelling: str) -> CType | None:
    """Returns the type that a spelling names where it stands; None where it names none."""
    prefix, last = split_qualified(spelling)
    if not prefix and last.startswith("decltype"):
        return _resolve_decltype(ev, last)
    name, arguments = ev.state.unit.template_arguments(last)
    if prefix not in ("", ROOT):
        owner = ev.types.spelled(prefix)
        if isinstance(owner, RecordType):
            inner = declaring(owner, name).statics.get(name)
            if isinstance(inner, Lazy) and inner.is_type:
                inner = forced(ev, name, inner)
            if isinstance(inner, CTYPES):
                return inner
            return _member_template(ev, owner, name, arguments) if arguments else None
        found = _member_of_cute(ev, owner, name) if isinstance(owner, StaticType) else None
        if found is not None:
            return found
        trait, operands = ev.state.unit.template_arguments(split_qualified(prefix)[1])
        if trait in ("iterator_traits", "iterator_value") and len(operands) == 1:
            return _of_iterator(ev, "value_type" if name == "type" else name, operands[0])
        if name == "type":  # of a trait: `std::conditional<c, A, B>::type`
            return _resolve_standard(ev, f"{trait}_t", operands)
        known = pytorch_type(ev, prefix, name, arguments) or glm_type(ev, prefix, name, arguments)
        if known is not None:
            return known
        if isinstance(owner, OpaqueType):
            return None  # a member of a class that was not read, whatever else has its name
    elif arguments and not prefix:
        name = _template_meant(ev, name)
    named = f"cute::{name}" if prefix.rpartition("::")[2] == "cute" else name
    found = cute_type(ev, named, arguments)
    found = found or _resolve_standard(ev, name, arguments, prefix)
    if found is not None:
        return found
    resolution = ev.state.resolution
    if resolution.depth > MAX_TYPE_DEPTH or resolution.ends > MAX_TYPE_ENDS:
        resolution.unfinished.add("depth")
        resolution.ends += 1
        return None
    resolution.depth += 1
    try:
        qualifier = names_of(prefix)
        return (
            _resolve_alias(ev, name, arguments, qualifier)
            or builtin_type((name,))
            or _record_meant(ev, name, named, arguments, qualifier)
        )
    finally:
        resolution.depth -= 1
        if not resolution.depth:
            resolution.unfinished.clear()
            resolution.ends = 0


def _record_meant(
    ev: Evaluator, name: str, named: str, arguments: tuple[str, ...], qualifier: tuple[str, ...]
) -> CType | None:
    """Returns the class of a name that CuTe's does not hide: not torch's for `Tensor t = ..`."""
    if name in CLASS_TEMPLATES and is_cute_name(ev, named):
        return None
    return record_named(ev, name, arguments, qualifier)


def _of_iterator(ev: Evaluator, name: str, spelling: str) -> CType | None:
    """Returns what `std::iterator_traits` calls a type of a pointer, or of a class of iterators."""
    iterator = type_argument(ev, spelling)
    if not isinstance(iterator, PointerType):
        return ev.types.spelled(f"{spelling}::{name}")
    reference = PointerType(iterator.target, is_reference=True)
    named = {"value_type": iterator.target, "difference_type": I64, "pointer": iterator}
    return named.get(name, reference if name == "reference" else None)


def _member_of_cute(ev: Evaluator, owner: StaticType, name: str) -> CType | None:
    """Returns the type that a member type or constant of one of CuTe's types is; else None."""
    from smemlint.analysis.simt.cute.types import element_type, member_value

    member = member_value(owner.value, name)
    if member is not None:
        return StaticType(f"{owner}::{name}", value=member)
    return element_type(ev, owner.value, name)


def _member_template(
    ev: Evaluator, owner: RecordType, name: str, arguments: tuple[str, ...]
) -> CType | None:
    """Returns what a class or alias template in a class gives for arguments."""
    for ctype in owner.with_bases():
        place = place_of(ctype)
        for declaration in ev.state.unit.declarations.get(name, ()):
            node = declaration.parse() if declaration.kind == "alias" else None
            if node is not None and declaration.template and declaration.scope == place:
                scope = template_scope(ev, declaration.template, arguments, place)
                with ev.state.within(f"alias {name}", scope_of(ctype) | scope, place):
                    return ev.types.resolve(node)
    return member_template(ev, owner, name, arguments)


def _template_meant(ev: Evaluator, name: str) -> str:
    """Returns the name of the class template that a template parameter stands for."""
    bound = ev.state.lookup(name)
    return bound.name if isinstance(bound, CallableValue) and bound.payload is None else name


def _resolve_standard(
    ev: Evaluator, name: str, arguments: tuple[str, ...], prefix: str = ""
) -> CType | None:
    """Returns the type of standard and CUTLASS templates that every kernel author uses."""
    last = name.rsplit("::", 1)[-1]
    if last in _CONSTANT_TYPES and not ev.state.unit.records.get(last):
        spellings = _CONSTANT_TYPES[last] or arguments
        if not spellings:
            return None
        from smemlint.analysis.simt.cute.types import typed_value

        value = typed_value(ev, "integral_constant", spellings)
        return None if value is None else StaticType(f"{last}<{spellings[-1]}>", value=value)
    if not arguments:
        return None
    if last in _SAME_TYPE:
        same = type_argument(ev, arguments[0])
        return unreferenced(same) if same and last in _WITHOUT_REFERENCE else same
    if last == "remove_pointer_t":
        own = type_argument(ev, arguments[0])
        return own.target if isinstance(own, PointerType) and not own.is_reference else own
    if last in _SIGNS:
        ctype = type_argument(ev, arguments[0])
        return IntType(ctype.bits, _SIGNS[last]) if isinstance(ctype, IntType) else None
    if last in _ARRAYS:
        return _resolve_array(ev, name, last, arguments)
    if last == "aligned_struct" and not ev.state.unit.records.get(last):
        align = _array_alignment(ev, last, arguments, 1)
        return None if align is None else lay_out(name, [], align=align)
    if last == "optional" and len(arguments) == 1 and not ev.state.unit.records.get(last):
        content = type_argument(ev, arguments[0])
        return None if content is None else lay_out(name, [("", content, 0), ("", BOOL, 0)])
    if last == "complex" and len(arguments) == 1:  # of thrust and cuda::std, aligned whole
        part = type_argument(ev, arguments[0])
        if isinstance(part, FloatType):
            return lay_out(name, [("", ArrayType(part, 2), 0)], align=2 * part.size)
    if last in ("pair", "tuple", "KeyValuePair") and not ev.state.unit.records.get(last):
        elements = [type_argument(ev, argument) for argument in arguments]
        known = [ctype for ctype in elements if ctype is not None]
        return tuple_type(last, known, prefix) if len(known) == len(elements) else None
    if last == "conditional_t" and len(arguments) == 3:
        condition = value_argument(ev, arguments[0])
        if isinstance(condition, AffineInt) and condition.constant is not None:
            return type_argument(ev, arguments[1 if condition.constant else 2])
    return None


def _resolve_array(ev: Evaluator, name: str, last: str, arguments: tuple[str, ...]) -> CType | None:
    element = type_argument(ev, arguments[0])
    count = value_argument(ev, arguments[1]) if len(arguments) > 1 else None
    n = count.constant if isinstance(count, AffineInt) else None
    if element is None or n is None or not element.size:
        return None
    align = _array_alignment(ev, last, arguments[2:], n * element.size)
    if align is None or (last != "array" and ev.state.unit.records.get(last)):
        return None
    # One of none is an empty class, and is asked for its elements all the same.
    return lay_out(name, [("", ArrayType(element, n), 0)], align=align, pack=0 if n else 1)


def _array_alignment(ev: Evaluator, name: str, stated: Sequence[str], size: int) -> int | None:
    """Returns the bytes that CuTe's and CUTLASS's arrays are aligned to, beyond their elements.

    Source: CUTLASS 4.7, `cute/container/array_aligned.hpp`, `alignment.hpp`, `cutlass/array.h`.
    """
    if name in ("array", "Array"):
        return 1
    if stated:
        value = value_argument(ev, stated[0])
        found = value.constant if isinstance(value, AffineInt) else None
    else:
        found = size if name == "AlignedArray" else 16
    return found if found and found & (found - 1) == 0 else None


def _resolve_decltype(ev: Evaluator, spelling: str) -> CType | None:
    """Returns the declared type of a name; of all else a reference where it names a place."""
    inner = spelling[len("decltype") :].strip()[1:-1].strip()
    node = ev.state.unit.parse_expression(inner)
    if node is None:
        return None
    is_name = not inner.startswith("(")
    named = ev.state.lookup(node.name) if isinstance(node, ir.ID) else None
    if is_name and isinstance(named, Variable) and _is_named(named.type):
        return named.type  # of an object that need not hold anything
    with ev.state.trace.muted():
        operand = operand_of(ev, node)
        declared = _declared_member(ev, node) if isinstance(node, ir.StructRef) else None
    found = operand.type
    if is_name and declared is not None:
        return declared
    if not _is_named(found):
        return OpaqueType(spelling)
    is_place = operand.place is not None and not (is_name and isinstance(node, ir.ID))
    return PointerType(found, is_reference=True) if is_place else found


def _is_named(ctype: CType) -> bool:
    return not is_opaque(ctype) or isinstance(ctype, UnreadTemplate)


def _declared_member(ev: Evaluator, node: ir.StructRef) -> CType | None:
    """Returns the type that the member `o.m` or `p->m` is declared with."""
    owner = operand_of(ev, node.name).type
    owner = owner.target if isinstance(owner, PointerType) else owner
    member = owner.member(node.field.name) if isinstance(owner, RecordType) else None
    return member.type if member is not None else None


def _resolve_alias(
    ev: Evaluator, name: str, arguments: tuple[str, ...], qualifier: tuple[str, ...]
) -> CType | None:
    """Returns what an enum or alias of the unit stands for."""
    state = ev.state
    last = name.rsplit("::", 1)[-1]
    resolution = state.resolution
    named = state.unit.declarations.get(last, ())
    for declaration in state.unit.visible(named, (*qualifier, last), state.place):
        if arguments and not declaration.template:
            continue  # a member alias may have the name of the template that it stands for
        if declaration.kind == "enum":
            if declaration.name != last:
                continue  # an enumerator of it is no type
            with state.within(f"enum {name}", {}, declaration.scope):
                return underlying_type(ev, declaration.parse())
        if declaration.kind != "alias":
            continue
        node = declaration.parse()
        if node is None:
            continue
        if id(declaration) in resolution.declarations:
            resolution.unfinished.add(id(declaration))
            continue  # an alias that names itself means another of that name
        scope = template_scope(ev, declaration.template, arguments, declaration.scope)
        is_of_class = bool(declaration.scope) and declaration.scope[-1] in state.unit.records
        if arguments and is_of_class and state.place == declaration.scope:
            own = (item for known in state.frame.scopes for item in known.items())
            scope = {**{k: v for k, v in own if not isinstance(v, Variable)}, **scope}
        scope = {**open_scope((*declaration.outer, *declaration.template)), **scope}
        key = (declaration, bindings_text(scope))
        aliases = resolution.cache.aliases
        if key not in aliases:
            resolution.cache.scopes.append(scope)
            place = declaration.scope
            with resolution.working_out(declaration), state.within(f"alias {name}", scope, place):
                aliases[key] = ev.types.resolve(node)
        found = aliases[key]
        is_unread = isinstance(found, UnreadTemplate) and last not in state.unit.records
        is_kept = isinstance(found, TupleType) or (
            isinstance(found, OpaqueType) and split_qualified(found.spelling)[1] in NARROW_BITS
        )
        if not is_opaque(found) or is_kept or is_unread:
            return found
    return None
