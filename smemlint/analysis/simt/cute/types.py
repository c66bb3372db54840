"""CuTe's types: a table from names of class templates to the values that they stand for."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any

from smemlint.analysis.simt.cute.names import NARROW_BITS, STATIC_INTEGERS
from smemlint.analysis.simt.cute.run_time import STATIC
from smemlint.analysis.simt.cute.user_traits import user_copy_op, user_mma_op
from smemlint.analysis.simt.cute.values import (
    Converter,
    Origin,
    payload_of,
    plain_layout_of,
    value_of,
)
from smemlint.analysis.simt.domain.ctypes import CType, IntType, StaticType, TupleType
from smemlint.analysis.simt.domain.values import AffineInt, Cute, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.template_arguments import type_argument, value_argument
from smemlint.facts import LayoutUse, Span
from smemlint.layout import cute
from smemlint.layout.swizzle import Swizzle
from smemlint.limits.budgets import MAX_COPY_INSTRUCTIONS
from smemlint.reasons import Assumption, Topic

Maker = Callable[[Evaluator, tuple[str, ...]], Value | None]


_NUMBER = re.compile(r"_(\d{1,18})")
_BITS = NARROW_BITS | {
    "uint128_t": 128, "tfloat32_t": 32, "bfloat16_t": 16, "half_t": 16,
    "float_e4m3_t": 8, "float_e5m2_t": 8, "float_ue8m0_t": 8, "float_ue4m3_t": 8,
}  # fmt: skip
_WORDS = {
    "LayoutLeft": "LayoutLeft",
    "GenColMajor": "LayoutLeft",
    "LayoutRight": "LayoutRight",
    "GenRowMajor": "LayoutRight",
    "Underscore": "_",
    "X": "X",
}


def static_number(value: int) -> AffineInt:
    """Returns CuTe's static integer of that value."""
    return AffineInt(value, STATIC)


def tuple_type(ev: Evaluator, name: str, arguments: tuple[str, ...]) -> TupleType | None:
    """Returns the type of a tuple that has modes of run time; None of all others."""
    if _TEMPLATES.get(name) is not _tuple:
        return None
    modes = [type_argument(ev, argument) for argument in arguments]
    known = tuple(m for m in modes if isinstance(m, IntType | StaticType | TupleType))
    if not known or len(known) != len(modes):
        return None
    return TupleType(f"{name}<{', '.join(arguments)}>", modes=known)


def type_bits(ev: Evaluator, spelling: str) -> int:
    """Returns the width of a type in bits; 0 for an unknown one."""
    last = spelling.strip().rsplit("::", 1)[-1].split("<", 1)[0]
    type_ = type_argument(ev, spelling)
    if type_ is not None and not isinstance(type_, StaticType) and type_.size:
        return 8 * type_.size
    spelled = getattr(type_, "spelling", last)
    return _BITS.get(spelled.rsplit("::", 1)[-1].split("<", 1)[0], _BITS.get(last, 0))


def _smem_atom(ev: Evaluator, name: str, arguments: tuple[str, ...]) -> Value | None:
    """Returns `Layout_K_SW128_Atom<T>`, which `Layout_SW128_Atom<T, Major::K>` is, too."""
    if len(arguments) == 2:
        major = value_argument(ev, arguments[1])
        if not isinstance(major, AffineInt) or major.constant is None:
            return None
        name = f"Layout_{'MN' if major.constant else 'K'}_{name.removeprefix('Layout_')}"
    atom = cute.smem_atom(name, type_bits(ev, arguments[0]))
    return Cute(atom) if atom is not None else None


_OPERATIONS = ("SM", "MMA_64x")
"""Beginnings of the names of operations; `GMMA::MMA_64x64x16_..` is `SM90_64x64x16_..`."""


def unsigned_type(ev: Evaluator, name: str, arguments: tuple[str, ...]) -> IntType | None:
    """Returns what `uint_bit_t<N>` and `uint_byte_t<N>` stand for; None of all others."""
    unit = {"uint_bit_t": 1, "uint_byte_t": 8}.get(name)
    value = value_argument(ev, arguments[0]) if unit and arguments else None
    count = value.constant if isinstance(value, AffineInt) else None
    return IntType(unit * count, signed=False) if unit and count else None


def typed_value(ev: Evaluator, name: str, arguments: tuple[str, ...]) -> Value | None:
    """Returns the value that all objects of a type have; None for no type of CuTe's."""
    if not arguments:
        return _plain_name(name)
    maker = _TEMPLATES.get(name)
    try:
        if maker is not None:
            return maker(ev, arguments)
        if name.endswith("_Atom") and name.startswith("Layout_"):
            return _smem_atom(ev, name, arguments)
        return _operation(ev, name, arguments) if name.startswith(_OPERATIONS) else None
    except cute.CuteError:
        return None


def _plain_name(name: str) -> Value | None:
    found = _NUMBER.fullmatch(name)
    if found is not None:
        return static_number(int(found[1]))
    if name in _WORDS:
        return Cute(_WORDS[name])
    if name.startswith("SM") or name in ("AutoVectorizingCopy", "DefaultCopy"):
        op = cute.copy_op(name) or cute.mma_op(name) or cute.TRAIT_LAYOUTS.get(name)
        return Cute(op) if op is not None else None
    return None


def _operation(ev: Evaluator, name: str, arguments: tuple[str, ...]) -> Value | None:
    bits = type_bits(ev, arguments[0])
    op = cute.copy_op(name, bits) or cute.mma_op(name)
    if op is None and len(arguments) > 2:
        op = cute.typed_warp_mma(name, type_bits(ev, arguments[2]))
    extents = [value_argument(ev, argument) for argument in arguments[3:5]]
    m, n = ([v.constant for v in extents if isinstance(v, AffineInt)] + [None, None])[:2]
    if op is None and m and n:
        op = cute.named_tensor_memory_mma(name, bits, m, n)
    return Cute(op) if op is not None else None


def static_argument(ev: Evaluator, spelling: str) -> Value | None:
    """Returns the value of a type that is a template argument."""
    type_ = type_argument(ev, spelling)
    value = type_.value if isinstance(type_, StaticType) else None
    return value if isinstance(value, Cute | AffineInt) else None


def _items(ev: Evaluator, arguments: tuple[str, ...]) -> list[Value] | None:
    values = [static_argument(ev, argument) for argument in arguments]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def _integer(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    value = value_argument(ev, arguments[-1])
    constant = value.constant if isinstance(value, AffineInt) else None
    return static_number(constant) if constant is not None else None


def _tuple(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    values = _items(ev, arguments)
    return Cute(tuple(values)) if values is not None else None


def _cosize(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    """Returns `cosize_t<Layout>`."""
    layout = plain_layout_of(static_argument(ev, arguments[0]) or AffineInt(0))
    cosize = layout.cosize if layout is not None else None
    return static_number(cosize) if isinstance(cosize, int) else None


def _sequence(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    """Returns `make_seq<N>` and `make_range<B, E>`: a tuple of static numbers."""
    values = [AffineInt(0), *(_integer(ev, (argument,)) for argument in arguments)]
    first, end = (v.constant if isinstance(v, AffineInt) else None for v in values[-2:])
    if first is None or end is None or end - first > MAX_COPY_INSTRUCTIONS:
        return None
    return Cute(tuple(map(static_number, range(first, end))))


def _swizzle(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    values = [_integer(ev, (argument,)) for argument in arguments]
    numbers = [v.constant for v in values if isinstance(v, AffineInt) and v.constant is not None]
    if len(numbers) != len(values) or len(numbers) not in (2, 3):
        return None
    b, m, s = (*numbers, numbers[0])[:3]
    if Swizzle.why_invalid(b, m, s) is None:
        return Cute(Swizzle(b, m, s))
    _reject(ev, arguments, (b, m, s))
    return None


def _reject(ev: Evaluator, arguments: tuple[str, ...], swizzle: tuple[int, int, int]) -> None:
    """Notes parameters that CuTe rejects, where their text stands."""
    unit = ev.state.unit
    spelled = f"Swizzle<{','.join(arguments)}>".replace(" ", "")
    for found in unit.template_ids("Swizzle"):
        if found.spelled.replace(" ", "") == spelled:
            first, last = unit.token_span(found.first), unit.token_span(found.last)
            span = Span(first.path, first.line, first.column, last.end_line, last.end_column)
            named = ", ".join(f"`{a}`" for a in arguments if not a.strip().isdigit())
            assumptions = (
                (Assumption(Topic.TEMPLATE, f"as this instance has {named}"),) if named else ()
            )
            kernel = ev.state.frames[0].name
            use = LayoutUse(span, "cute", found.spelled, kernel, swizzle, assumptions=assumptions)
            ev.state.layouts.setdefault(f"rejected {spelled} {swizzle}", use)
            return


def _layout(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    values = _items(ev, arguments)
    if values is None:
        return None
    convert = Converter(ev.state.domain)
    shape = convert.int_tuple(values[0])
    if len(values) == 1:
        return Cute(cute.Layout(shape))
    return Cute(cute.Layout(shape, _without_surplus(convert.int_tuple(values[1]), shape)))


def _without_surplus(strides: cute.IntTuple, shape: cute.IntTuple) -> cute.IntTuple:
    """Returns strides without those behind the last extent's: `Layout<Shape<_2>, Stride<_8, _0>>`.

    CuTe flattens both and counts extents (CUTLASS 4.7; it has no `cosize` then).
    """
    if not isinstance(shape, tuple) or not isinstance(strides, tuple) or len(strides) < len(shape):
        return strides
    first, last = strides[: len(shape)][:-1], shape[-1:]
    return (*first, *(_without_surplus(strides[len(first)], mode) for mode in last))


def _composed(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    if len(arguments) != 3:
        return None
    swizzle = payload_of(static_argument(ev, arguments[0]) or AffineInt(0))
    layout = payload_of(static_argument(ev, arguments[2]) or AffineInt(0))
    if not isinstance(swizzle, Swizzle) or not isinstance(layout, cute.Layout):
        return None
    offset = static_argument(ev, arguments[1])
    if isinstance(payload_of(offset or AffineInt(0)), cute.PointerFlag):
        return Cute(cute.SmemAtom(swizzle, layout))
    if not isinstance(offset, AffineInt) or offset.constant is None:
        return None
    return Cute(cute.compose_swizzle(swizzle, layout, offset.constant))


# ---- atoms


def _universal_copy(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    op = cute.copy_op("UniversalCopy", type_bits(ev, arguments[0]))
    return Cute(op) if op is not None else None


def _assumed_alignment(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    value = value_argument(ev, arguments[0])
    bits = value.constant if isinstance(value, AffineInt) else None
    return Cute(cute.auto_vectorizing_copy(bits)) if bits else None


def _mma_operation(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    """Returns the operation that `MMA_Traits<Op>` and `MMA_Atom<Op>` stand for."""
    known = static_argument(ev, arguments[0])
    op = user_mma_op(ev, arguments[0]) if known is None else None
    return Cute(op) if op is not None else known


def _copy_operation(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    """Returns the operation that `Copy_Traits<Op>` stands for."""
    known = static_argument(ev, arguments[0])
    op = user_copy_op(ev, arguments[0]) if known is None else None
    return Cute(op) if op is not None else known


def _copy_atom(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    op = payload_of(_copy_operation(ev, arguments) or AffineInt(0))
    bits = type_bits(ev, arguments[1]) if len(arguments) > 1 else 0
    if not isinstance(op, cute.CopyOp) or not (bits or not op.has_lane_addresses):
        return None
    return Cute(cute.CopyAtom(op, bits or 8))


def _tiled_copy(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    values = _items(ev, arguments)
    if values is None or len(values) != 3:
        return None
    atom, layout = map(payload_of, values[:2])
    if not isinstance(atom, cute.CopyAtom) or not isinstance(layout, cute.Layout):
        return None
    return Cute(cute.TiledCopy(atom, layout, Converter(ev.state.domain).tiler(values[2])))


def _tiled_mma(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    values = _items(ev, arguments)
    if not values or not isinstance(payload_of(values[0]), cute.MmaOp):
        return None
    return tiled_mma(values, Converter(ev.state.domain))


def tiled_mma(values: list[Value], convert: Converter) -> Value:
    """Returns `make_tiled_mma(op, atoms, permutation)`.

    Raises:
        CuteError: an argument is of another sort.
    """
    op = payload_of(values[0])
    if not isinstance(op, cute.MmaOp):
        raise cute.CuteError("an MMA operation that is not known")
    atoms = convert.layout(values[1]) if len(values) > 1 else cute.Layout((1, 1, 1))
    modes: Any = (cute.UNDERSCORE,) * 3
    if len(values) > 2:
        given = convert.tiler(values[2])
        if isinstance(given, cute.Layout):
            given = _extents_of_values(op, atoms, given)
        modes = given if isinstance(given, tuple) else (given,)
    return Cute(cute.TiledMma(op, cute.append(atoms, 3), modes))


def _extents_of_values(op: cute.MmaOp, atoms: cute.Layout, values: cute.Layout) -> cute.Tiler:
    """Returns the tile that an atom repeated over threads and values covers.

    Up to CUTLASS 3.3 the third argument was `ValLayoutMNK`; since then extents say the same.
    """
    repeats = (cute.append(layout, 3).modes() for layout in (atoms, values))
    extents = ((mode.size for mode in modes) for modes in zip(*repeats, strict=True))
    return tuple(n * prod(map(cute.static, e)) for n, e in zip(op.shape, extents, strict=True))


_MMA_MEMBERS: dict[str, Callable[[cute.MmaOp], Value]] = {
    "Shape_MNK": lambda op: value_of(op.shape),
    "ThrID": lambda op: Cute(op.threads),
    "LayoutA_TV": lambda op: Cute(op.a),
    "LayoutB_TV": lambda op: Cute(op.b),
    "LayoutC_TV": lambda op: Cute(op.c),
    "ALayout": lambda op: Cute(op.a),
    "BLayout": lambda op: Cute(op.b),
    "CLayout": lambda op: Cute(op.c),
    "AtomShape_MNK": lambda op: value_of(op.shape),
    "AtomThrID": lambda op: Cute(op.threads),
}
_TILED_MMA_MEMBERS: dict[str, Callable[[cute.TiledMma], Value]] = {
    "TiledShape_MNK": lambda mma: value_of(tuple(map(mma.tile_size, range(3)))),  # up to 3.3
    "ThrLayoutVMNK": lambda mma: Cute(mma.thread_layout),
}
_COPY_MEMBERS: dict[str, Callable[[cute.CopyAtom], Value]] = {
    "NumValSrc": lambda atom: value_of(atom.source.mode(1).size),
    "NumValDst": lambda atom: value_of(atom.destination.mode(1).size),
}


def member_value(owner: object, name: str) -> Value | None:
    """Returns what a member type or constant of one of CuTe's types stands for."""
    if isinstance(owner, AffineInt):
        return owner if name in ("value", "type") else None
    payload = payload_of(owner) if isinstance(owner, Cute) else None
    if isinstance(payload, cute.TiledMma):
        if name in _TILED_MMA_MEMBERS:
            return _TILED_MMA_MEMBERS[name](payload)
        payload = payload.op
    if isinstance(payload, cute.MmaOp) and name in _MMA_MEMBERS:
        return _MMA_MEMBERS[name](payload)
    if isinstance(payload, cute.TiledCopy):
        if name in ("Tiler_MN", "TiledShape_MN"):  # the latter up to CUTLASS 3.3
            return value_of(payload.tiler)
        if name == "TiledNumThr":
            return value_of(payload.threads)
        if name == "TiledLayout_TV":
            return Cute(payload.thread_value)
        payload = payload.atom
    if isinstance(payload, cute.CopyAtom) and name in _COPY_MEMBERS:
        return _COPY_MEMBERS[name](payload)
    if name == "rank" and isinstance(payload, cute.Layout | cute.ComposedLayout | cute.Tensor):
        return value_of(payload.rank)
    if isinstance(payload, cute.Tensor) and name in ("layout_type", "engine_type"):
        return Cute(payload.layout if name == "layout_type" else payload)
    return None


def arguments_of(owner: object, template: str) -> tuple[Value, ...]:
    """Returns the template arguments of a value of CuTe's; none where it is of another template."""
    match template, payload_of(owner) if isinstance(owner, Cute) else None:
        case "Tensor", cute.Tensor() as tensor:
            return Cute(tensor), Cute(tensor.layout)
        case "Layout", cute.Layout() as layout:
            return value_of(layout.shape), value_of(layout.stride)
        case "TiledCopy", cute.TiledCopy() as copy:
            return Cute(copy.atom), Cute(copy.thread_value), value_of(copy.tiler)
        case "TiledMMA", cute.TiledMma() as mma:
            return Cute(mma.op), Cute(mma.atoms), value_of(mma.permutation)
    return ()


def element_type(ev: Evaluator, owner: object, name: str) -> CType | None:
    """Returns `value_type` of a tensor or of its engine, `ValTypeA` of an MMA; else None."""
    payload = payload_of(owner) if isinstance(owner, Cute) else None
    if isinstance(payload, cute.TiledMma):
        payload = payload.op
    if isinstance(payload, cute.MmaOp):
        spelling = _ELEMENTS.get(payload.element(name.removeprefix("ValType")))
        return type_argument(ev, spelling) if name.startswith("ValType") and spelling else None
    if name not in ("value_type", "element_type") or not isinstance(payload, cute.Tensor):
        return None
    return payload.origin.pointer.target if isinstance(payload.origin, Origin) else None


_ELEMENTS = {
    "F64": "double", "F32": "float", "TF32": "cutlass::tfloat32_t", "F16": "cutlass::half_t",
    "BF16": "cutlass::bfloat16_t", "E4M3": "cutlass::float_e4m3_t", "E5M2": "cutlass::float_e5m2_t",
    "S32": "int", "S8": "signed char", "U8": "unsigned char",
}  # fmt: skip
"""Element types in the names of operations."""


def _tuple_element(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    """Returns what `tuple_element_t<I, Tuple>` stands for."""
    index = value_argument(ev, arguments[0])
    items = payload_of(static_argument(ev, arguments[-1]) or AffineInt(0))
    at = index.constant if isinstance(index, AffineInt) else None
    if at is None or not isinstance(items, tuple) or not 0 <= at < len(items):
        return None
    found = items[at]
    return found if isinstance(found, Cute | AffineInt) else None


_TEMPLATES: dict[str, Maker] = {
    **dict.fromkeys(STATIC_INTEGERS, _integer),
    **dict.fromkeys(("Shape", "Stride", "Step", "Coord", "Tile", "IntTuple", "tuple"), _tuple),
    **dict.fromkeys(("make_seq", "make_int_sequence", "make_range"), _sequence),
    "cosize_t": _cosize,
    "tuple_element_t": _tuple_element,
    "Swizzle": _swizzle,
    "Layout": _layout,
    "ComposedLayout": _composed,
    "smem_ptr_flag_bits": lambda ev, arguments: Cute(cute.PointerFlag.SHARED),
    "UniversalCopy": _universal_copy,
    "AutoVectorizingCopyWithAssumedAlignment": _assumed_alignment,
    "UniversalFMA": lambda *_: Cute(cute.mma_op("UniversalFMA")),
    "Copy_Traits": _copy_operation,
    "MMA_Traits": _mma_operation,
    "MMA_Atom": _mma_operation,
    "Copy_Atom": _copy_atom,
    "TiledCopy": _tiled_copy,
    "TiledMMA": _tiled_mma,
}
