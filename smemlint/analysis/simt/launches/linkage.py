"""Which definition of a kernel a linker takes for the declaration that a launch sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smemlint.analysis.simt.calls.candidates import functions_meant
from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    PointerType,
    RecordType,
    is_opaque,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import signature_of, type_words
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Prototype, Scoped, Unit

_POINTERS = (ir.PtrDecl, ir.ArrayDecl)


def linked_kernels(
    ev: Evaluator, name: str, found: Sequence[Function], owner: Callable[[Function], Unit]
) -> list[Function]:
    """Returns the kernels of a name that a launch may mean in the unit that is read.

    They are those that the unit defines, and those that its declarations are linked to, of the
    namespace that the name means there; all where it does neither: the header that declares them
    was not read.
    """
    unit, last = ev.state.unit, name.rsplit("::", 1)[-1]
    kernels = [f for f in unit.functions_named(last) if f.is_kernel]
    declared = unit.prototypes(last)
    if not kernels and not declared:
        return list(found)
    in_sight: list[Scoped] = [*kernels, *declared]
    meant = {s.scope for s in functions_meant(ev, in_sight, name)}
    own = {f.span for f in kernels if f.scope in meant}
    links = [p for p in declared if p.scope in meant]
    return [f for f in found if f.span in own or any(_links(ev, p, f, owner) for p in links)]


def _links(
    ev: Evaluator, declared: Prototype, kernel: Function, owner: Callable[[Function], Unit]
) -> bool:
    """Returns whether a declaration may be that of a kernel of another unit.

    C++ links by the namespace, of which a definition may leave out the beginning, and by the types
    of the parameters; what cannot be read may be any, and a template's are known only with its
    arguments.
    """
    parameters = signature_of(kernel).parameters
    if declared.parameters is None:
        return True
    inner = min(len(declared.scope), len(kernel.scope))
    if declared.scope[-inner:] != kernel.scope[-inner:]:  # of an empty one: all of the other
        return False
    if kernel.template:
        return True
    if len(declared.parameters) != len(parameters):
        return False
    here, there = ev.state.unit, owner(kernel)
    nodes = (_parsed(here, text) for text in declared.parameters)
    return all(
        node is None
        or (
            _may_be_one_type(_type_in(ev, here, node), _type_in(ev, there, parameter.type))
            and _may_point_alike((node, here), (parameter.type, there))
        )
        for node, parameter in zip(nodes, parameters, strict=True)
    )


def _parsed(unit: Unit, text: str) -> ir.Type | None:
    """Returns the type of a parameter, with or without a name; None where it cannot be read."""
    found = unit.parse_type(text) or unit.parse_type(text.rpartition(" ")[0])
    return None if found is None else found.type


def _type_in(ev: Evaluator, unit: Unit, node: ir.Node) -> CType:
    """Returns the type that a declarator means in a unit."""
    before = ev.state.unit
    ev.types.enter(unit)
    try:
        return ev.types.resolve(node)
    finally:
        ev.types.enter(before)


def _may_be_one_type(a: CType, b: CType) -> bool:
    """Returns whether two parameters, each of its unit, may have one type."""
    if is_opaque(a) or is_opaque(b):
        return True
    if isinstance(a, RecordType) and isinstance(b, RecordType):
        return a.name == b.name
    a, b = _decayed(a), _decayed(b)
    if isinstance(a, PointerType) and isinstance(b, PointerType):
        return a.is_reference == b.is_reference and _may_be_one_type(a.target, b.target)
    return a == b


def _decayed(ctype: CType) -> CType:
    return PointerType(ctype.element) if isinstance(ctype, ArrayType) else ctype


def _may_point_alike(a: tuple[ir.Type, Unit], b: tuple[ir.Type, Unit]) -> bool:
    """Returns whether declarators of two units may point to constants alike.

    `float *` and `const float *` do not.
    """
    (left, here), (right, there) = a, b
    while isinstance(left, _POINTERS) and isinstance(right, _POINTERS):
        left, right = left.type, right.type
        both = _is_constant(left, here), _is_constant(right, there)
        if None not in both and both[0] != both[1]:
            return False
    return True


def _is_constant(node: ir.Type, unit: Unit) -> bool | None:
    """Returns whether a declarator's object is; None where the type's name may say so."""
    if "const" in getattr(node, "quals", ()):
        return True
    aliases = (d for word in type_words(node) for d in unit.declarations.get(word, ()))
    is_named = isinstance(node, ir.TypeDecl) and any("const" in d.specifiers for d in aliases)
    return None if is_named else False
