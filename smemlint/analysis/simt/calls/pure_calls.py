"""Calls that change nothing that is followed, and give nothing that is: their bodies are not run.

Most arithmetic of a kernel stands in helpers that are given numbers and registers and compute
floating-point numbers: they decode weights, multiply fragments, apply activations. No address, mask
or branch depends on what they do. Whether one is of this sort is read off its text and that of all
functions that it may call; whether a call of it is, off what its parameters are bound to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smemlint.analysis.simt.builtins import intrinsics, math_functions, warp_functions
from smemlint.analysis.simt.builtins.table import BUILTINS, KEEPING_STORES
from smemlint.analysis.simt.codegen.branches.inlined_branches import keeps_branch
from smemlint.analysis.simt.codegen.slow_paths import NAMES, SlowPath
from smemlint.analysis.simt.domain.ctypes import (
    FLOAT,
    ArrayType,
    CType,
    FloatType,
    IntType,
    PointerType,
    RecordType,
    VoidType,
)
from smemlint.analysis.simt.domain.environment import Variable, content_of
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    FloatValue,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.loops.modified import is_floating
from smemlint.analysis.simt.shared_functions import new_words, shared_names
from smemlint.analysis.simt.state import State
from smemlint.analysis.simt.types.overloads import target_qualifiers
from smemlint.frontend import ir
from smemlint.frontend.heuristics import names_shared
from smemlint.frontend.program import Function, Unit
from smemlint.lazy_patterns import pattern
from smemlint.limits.budgets import MAX_RESULT_CELLS

_EFFECTS = pattern(
    r"\b(?:ld|st|ldmatrix|stmatrix|atom|red|cp|bar|barrier|mbarrier|fence|membar|shared|wgmma"
    r"|tcgen05|laneid|warpid)\b"
)
"""In the text of inline PTX: it may reach memory or synchronize, or its result is followed."""
_HALF = pattern(r"half|bf16|bfloat|\b__h[a-z]")
_OF_VALUES = frozenset(m.__name__ for m in (intrinsics, math_functions, warp_functions))
"""Modules of built-in functions that give values."""


def value_without_running(
    ev: Evaluator, function: Function, params: Sequence[ir.Decl], frame: Frame, ctype: CType
) -> Value | None:
    """Returns what a call gives whose body has no effect; None where it has to be run.

    Args:
        ev: the evaluator.
        function: what is called.
        params: its parameters, which are bound in the frame.
        frame: of the call.
        ctype: the type of the result.
    """
    if not ev.policy.tracks_scev or frame.returns_reference or frame.record is not None:
        return None
    if any(parameter.is_pack for parameter in function.template):
        return None
    value = _floating_value(ctype)
    if value is None or not is_pure(ev.state.unit, function):
        return None
    bound = [(frame.scopes[-1].get(param.name), param) for param in params if param.name]
    if not all(_is_harmless(ev.state, binding, param) for binding, param in bound):
        return None
    for binding, _ in bound:
        _note_written(binding)
    for path in _slow_paths(ev.state.unit, function):
        ev.state.trace.part(path)
    keeps = keeps_branch(ev.state.unit, function)
    if keeps is not False:
        varies = any(_varies(binding) for binding, _ in bound)
        ev.state.trace.part(SlowPath.CHOICE if keeps and varies else SlowPath.EXPANSION)
    if _keeps_stores(ev.state.unit, function):
        ev.state.trace.meet_effect()
    return value


def _varies(binding: object) -> bool:
    """Returns whether a parameter is a number that threads have of their own."""
    value = content_of(binding)
    if isinstance(value, AffineInt | Unknown):
        return not value.is_uniform
    return isinstance(value, FloatValue)


def _floating_value(ctype: CType) -> Value | None:
    """Returns a value of a floating-point or empty type; None for all others."""
    if isinstance(ctype, VoidType | FloatType):
        return FloatValue(ctype)
    if isinstance(ctype, RecordType) and ctype.members and is_floating(ctype):
        cells = dict(_cells(ctype, 0))
        return Aggregate(ctype, cells) if len(cells) <= MAX_RESULT_CELLS else None
    return None


def _cells(ctype: CType, at: int) -> Iterator[tuple[int, Value]]:
    if isinstance(ctype, RecordType):
        for member in ctype.members:
            yield from _cells(member.type, at + member.offset)
    else:
        yield at, FloatValue(ctype)


# ---- what a call is given


def _is_harmless(state: State, binding: object, param: ir.Decl) -> bool:
    """Returns whether nothing that is followed can be reached or changed through a parameter."""
    if not isinstance(binding, Variable):
        return False
    value = binding.object.cells.get(0)
    if isinstance(binding.type, PointerType):
        return isinstance(value, Pointer) and _is_harmless_pointer(state, value, param)
    return _is_plain(binding.type) and not _holds_address(state, binding.object)


def _is_harmless_pointer(state: State, pointer: Pointer, param: ir.Decl) -> bool:
    obj, target = pointer.object, pointer.target
    if obj.space is not Space.LOCAL:
        return obj.space is not Space.SHARED
    if not _is_plain(target) or not _is_plain(obj.type) or _holds_address(state, obj):
        return False
    if is_floating(obj.type) or "const" in target_qualifiers(param.type):
        return True
    cells = list(obj.cells.values())  # numbers that nobody follows stay so
    return bool(cells) and all(isinstance(v, Unknown | FloatValue) for v in cells)


def _note_written(binding: object) -> None:
    """Lets what a call may write have a value: one that nobody follows."""
    value = content_of(binding)
    if not isinstance(value, Pointer) or value.object.space is not Space.LOCAL:
        return
    obj = value.object
    if obj.default is None:
        if is_floating(obj.type):
            obj.default = FloatValue(FLOAT)
        else:
            obj.default = next((v for v in obj.cells.values() if isinstance(v, Unknown)), None)


def _is_plain(ctype: CType) -> bool:
    """Returns whether a type is of numbers only."""
    while isinstance(ctype, ArrayType):
        ctype = ctype.element
    if isinstance(ctype, RecordType):
        return all(_is_plain(member.type) for member in ctype.members)
    return isinstance(ctype, IntType | FloatType)


def _holds_address(state: State, obj: Object) -> bool:
    """Returns whether one of its numbers was made of a pointer."""
    return any(
        isinstance(value, AffineInt) and any(s.key in state.bases for s, _ in value.terms)
        for value in obj.cells.values()
    )


# ---- what a function's text says


def is_pure(unit: Unit, function: Function) -> bool:
    """Returns whether a function, and all that it may call, computes and does nothing else."""
    known: dict[Function, bool] = unit.memory.setdefault("pure functions", {})  # type: ignore[assignment]
    if function not in known:
        known[function] = not function.parse().dropped and _only_computes(unit, function)
    return known[function]


def _slow_paths(unit: Unit, function: Function) -> frozenset[SlowPath]:
    """Returns what the arithmetic of a function, and of all that it may call, may part."""
    known: dict[Function, frozenset[SlowPath]] = unit.memory.setdefault("slow paths", {})  # type: ignore[assignment]
    if function not in known:
        words = frozenset(w for words in new_words(function, unit) for w in words)
        found = {NAMES[w] for w in words & NAMES.keys()}
        if "/" in words or "/=" in words:
            found.add(SlowPath.EXPANSION)
        if any(_HALF.search(word) for word in words):
            found.add(SlowPath.ASSEMBLY)
        known[function] = frozenset(found)
    return known[function]


def _keeps_stores(unit: Unit, function: Function) -> bool:
    """Returns whether a function, or what it may call, is one that no store is moved across."""
    known: dict[Function, bool] = unit.memory.setdefault("keep stores", {})  # type: ignore[assignment]
    if function not in known:
        known[function] = not all(map(KEEPING_STORES.isdisjoint, new_words(function, unit)))
    return known[function]


def _only_computes(unit: Unit, function: Function) -> bool:
    shared = shared_names(unit)
    return all(
        words.isdisjoint(shared) and not any(map(_has_effect, words))
        for words in new_words(function, unit)
    )


def _has_effect(word: str) -> bool:
    if '"' in word:
        return _EFFECTS.search(word) is not None
    if word in BUILTINS:
        is_value = BUILTINS[word].evaluate.__module__ in _OF_VALUES
        return not is_value or word in intrinsics.WITH_EFFECT
    return word == "<<<" or word.startswith("atomic") or names_shared(word)
