"""Python's own functions in executed programs, of values that are known at run time only, too."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from smemlint.analysis.python.cute_dsl.execution.call import FUNCTIONS, Call, executed
from smemlint.analysis.python.cute_dsl.execution.host_classes import class_of_members
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import (
    DATA,
    Cute,
    LoopRange,
    Namespace,
    Number,
    Opaque,
    OpValue,
    Pointer,
    UnknownTensor,
    payload_of,
)
from smemlint.analysis.python.interpreter import Interpreter, expressions
from smemlint.analysis.python.interpreter.arguments import BoundArguments, CallSite, integers
from smemlint.analysis.python.interpreter.calls import member
from smemlint.analysis.python.interpreter.objects import as_tuple
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    BoundMethod,
    Class,
    DType,
    Function,
    Instance,
    Method,
    Scope,
    Symbol,
    Unknown,
    Value,
    is_known,
)
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.layout import cute
from smemlint.limits.budgets import MAX_DSL_UNROLLED, MAX_DSL_UNROLLED_ON_REQUEST
from smemlint.limits.sizes import require_tree
from smemlint.reasons import Assumption, Topic

_ELEMENT_TYPE = re.compile(r"b?float\d\w*|u?int\d+|complex\d+")
"""Names of element types of libraries, those that are not modelled among them."""
_OF_ITEMS = ("len", "zip", "enumerate", "tuple", "list", "any", "all")
_CLASSES: dict[str, type | tuple[type, ...]] = {
    "Layout": cute.Layout, "ComposedLayout": cute.ComposedLayout, "Pointer": Pointer,
    "Tensor": (cute.Tensor, UnknownTensor), "TiledCopy": cute.TiledCopy,
    "TiledMma": cute.TiledMma, "CopyAtom": cute.CopyAtom,
}  # fmt: skip


def call_builtin(
    run: Execution,
    interpreter: Interpreter,
    callee: Symbol,
    given: BoundArguments,
    site: CallSite,
) -> Value:
    """Returns the result of one of Python's own functions.

    Args:
        run: the execution.
        interpreter: executes the functions that are passed.
        callee: its name.
        given: its arguments.
        site: the call.
    """
    name = callee.name
    given = _with_items(given) if name in _OF_ITEMS else given
    match name, given.positional:
        case "range", arguments:
            return range_of(arguments, is_unrolled=False)
        case "min" | "max", values if any(isinstance(v, Number | Opaque) for v in values):
            call = Call(run, name, None, given, site.node)
            return executed(FUNCTIONS[name], call) if not given.named else UNKNOWN
        case "type", [Instance() as first]:
            return first.type
        case "type", [_, _, _]:
            return class_of_members(run, interpreter, given.positional, site.node)
        case "staticmethod" | "vars", [first, *_]:
            return first if name == "staticmethod" else _table_of(first)
        case "sorted", [list() | tuple() as items, *_] if "key" in given.named:
            return sorted_by(interpreter, items, given.named, site)
        case "isinstance", [value, kinds]:
            return _isinstance(value, kinds)
        case "hasattr" | "getattr", [_, str(), *_]:
            return _getattr(run, interpreter, name, given.positional, site.node)
        case "zip", arguments if all(isinstance(a, tuple | list | range) for a in arguments):
            pairs = list(zip(*arguments, strict=False))
            require_tree(pairs)
            return pairs
        case "len", [tuple() | list() as items]:
            return len(items)
        case "any" | "all", [tuple() | list() as items]:
            return _quantified(items, is_any=name == "any")
        case "enumerate", [tuple() | list() as items, *_]:
            first = given.get(1, "start", 0)
            return list(enumerate(items, first)) if isinstance(first, int) else UNKNOWN
        case "int" | "bool" | "abs", [Number() as number, *_]:
            return number if name != "abs" else DATA
        case "print" | "assert", _:
            return None
    return expressions.apply_callee(interpreter, callee, given, site)


def _table_of(value: Value) -> Value:
    """Returns the attributes of what `parse_args` gave by name."""
    return dict(value.attributes.items()) if isinstance(value, Namespace) else UNKNOWN


def _with_items(given: BoundArguments) -> BoundArguments:
    """Returns arguments with the items of those that are named tuples and tables."""
    return BoundArguments([as_tuple(value) for value in given.positional], given.named)


def sorted_by(
    interpreter: Interpreter, items: Sequence[Value], named: Scope, site: CallSite
) -> Value:
    """Returns items in the order of a `key`'s values; unknown where one of these is."""
    key, is_reversed = named["key"], named.get("reverse", False)
    keys = [
        expressions.apply_callee(interpreter, key, BoundArguments([item], {}), site)
        for item in items
    ]
    are_numbers = all(isinstance(k, int) for k in keys)
    if not isinstance(is_reversed, bool) or not (are_numbers or all(type(k) is str for k in keys)):
        return UNKNOWN
    order = sorted(range(len(keys)), key=keys.__getitem__, reverse=is_reversed)  # type: ignore[arg-type]
    return [items[at] for at in order]


def _quantified(items: Sequence[Value], *, is_any: bool) -> Value:
    """Returns whether any of some values is true, or all are; one known value may decide."""
    if any(is_known(v) and bool(v) == is_any for v in items):
        return is_any
    return not is_any if all(map(is_known, items)) else UNKNOWN


def range_of(arguments: list[Value], *, is_unrolled: bool) -> Value:
    """Returns a range whose iterations are executed one by one, or one of which any stands for all.

    Args:
        arguments: start, stop and step.
        is_unrolled: whether the program asks for its iterations one by one.
    """
    numbers_given = [_plain(a) for a in arguments]
    known = integers(numbers_given)
    if known is not None and 1 <= len(known) <= 3 and (len(known) < 3 or known[2]):
        found = range(*known)
        if len(found) <= (MAX_DSL_UNROLLED_ON_REQUEST if is_unrolled else MAX_DSL_UNROLLED):
            return found
        return LoopRange(found.start, found.step)
    start = arguments[0] if len(arguments) > 1 else 0
    return LoopRange(start, arguments[2] if len(arguments) > 2 else 1)


def _plain(value: Value) -> Value:
    """Returns a number that is known, although it is one at run time."""
    if isinstance(value, Number) and isinstance(value.value, AffineInt):
        constant = value.value.constant
        return constant if constant is not None else value
    return value


_ENUMERATIONS = ("Enum", "IntEnum", "StrEnum")


def is_enumeration(owner: Class) -> bool:
    """Returns whether a class is an `Enum`, whose members stand for their values here."""
    bases = (ast.unparse(b) for c in owner.linearization for b in c.node.bases)
    return any(base.removeprefix("enum.") in _ENUMERATIONS for base in bases)


def _isinstance(value: Value, kinds: Value) -> Value:
    if isinstance(value, Unknown):
        return UNKNOWN
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if isinstance(kind, Class):
            if isinstance(value, Instance) and kind in value.type.linearization:
                return True
            if is_enumeration(kind):
                return UNKNOWN
            continue
        if not isinstance(kind, Symbol):
            return UNKNOWN
        python: dict[str, type | tuple[type, ...]] = {
            "int": int, "tuple": tuple, "list": list, "str": str, "float": float, "bool": bool,
            "dict": dict, "Integer": (int, Number), "Numeric": (Number,), "Int32": Number,
        }  # fmt: skip
        if kind.name in _CLASSES:
            if isinstance(payload_of(value), _CLASSES[kind.name]):
                return True
        elif isinstance(operation := payload_of(value), OpValue):
            if operation.name == kind.name:
                return True
        elif kind.name in python:
            if isinstance(value, python[kind.name]):
                return True
            if isinstance(value, Number) and kind.name == "int":
                return UNKNOWN  # of Python, or of run time
        else:
            return UNKNOWN
    return False


def _getattr(
    run: Execution, interpreter: Interpreter, name: str, arguments: list[Value], node: ast.Call
) -> Value:
    owner, attribute = arguments[0], arguments[1]
    assert isinstance(attribute, str)
    if isinstance(owner, Instance):
        found = member(interpreter, owner, attribute)
        known = attribute in owner.attributes or found is not UNKNOWN
        if name == "hasattr":
            return known
        return found if known else arguments[2] if len(arguments) > 2 else UNKNOWN
    if isinstance(owner, Cute):
        found = interpreter.model.attribute(owner, attribute, node)
        if not isinstance(found, Method | Unknown):
            return True if name == "hasattr" else found
    if isinstance(owner, Namespace):
        if name == "hasattr":
            return attribute in owner.attributes
        return owner.attributes.get(attribute, arguments[2] if len(arguments) > 2 else UNKNOWN)
    if isinstance(owner, Symbol) and owner.path.partition(".")[0] in ("cutlass", "torch"):
        found = interpreter.model.symbol(Symbol(f"{owner.path}.{attribute}"), node)
        if isinstance(found, DType) or _ELEMENT_TYPE.fullmatch(attribute):
            return True if name == "hasattr" else found
        if owner.path.startswith("cutlass."):
            text = f"`{owner.path}` has `{attribute}`, as newer versions do"
            run.guessed.setdefault(Assumption(Topic.BUILD, text))
            return True if name == "hasattr" else found
    if owner is None:
        return False if name == "hasattr" else arguments[2] if len(arguments) > 2 else UNKNOWN
    if isinstance(owner, Function | BoundMethod) and len(arguments) > 2:
        return arguments[2]
    return UNKNOWN
