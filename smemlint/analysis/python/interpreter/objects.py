"""Classes of the file: how their functions are called, and what makes their objects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum

from smemlint.analysis.python.interpreter.constant_folding import is_complete
from smemlint.analysis.python.interpreter.values import (
    REST_OF_NAMES,
    UNKNOWN,
    Class,
    Function,
    Instance,
    Scope,
    Value,
)
from smemlint.frontend.python.syntax_walk import called_names

_GENERATES_INIT = ("dataclass", "aggregate", "NamedTuple")
"""Decorators and bases of classes whose `__init__` takes their annotated names."""


class Binding(Enum):
    """What a function of a class is bound to when it is looked up."""

    INSTANCE = "method"
    NOTHING = "staticmethod"
    CLASS = "classmethod"
    CALLED_AT_ONCE = "property"


_BINDINGS = {
    "staticmethod": Binding.NOTHING,
    "classmethod": Binding.CLASS,
    "property": Binding.CALLED_AT_ONCE,
    "cached_property": Binding.CALLED_AT_ONCE,
}


def binding_of(function: Function) -> Binding:
    """Returns what the decorators of a function of a class say about its binding."""
    for decorator in function.node.decorator_list:
        name = ast.unparse(decorator).rpartition(".")[2]
        if name in _BINDINGS:
            return _BINDINGS[name]
    return Binding.INSTANCE


def fields_of(owner: Class) -> tuple[str, ...]:
    """Returns the names that a generated `__init__` takes, in order; none for other classes."""
    names = called_names([*owner.node.decorator_list, *owner.node.bases])
    if not any(name.rpartition(".")[2].lstrip("_") in _GENERATES_INIT for name in names):
        return ()
    found: dict[str, None] = {}
    for one in reversed(list(owner.linearization)):
        for statement in one.node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found[statement.target.id] = None
    return tuple(found)


def initialize_fields(instance: Instance, arguments: Scope) -> None:
    """Executes a generated `__init__`: each field gets its argument, else its default."""
    for name in fields_of(instance.type):
        default = UNKNOWN if REST_OF_NAMES in arguments else instance.type.member(name)
        instance.attributes[name] = arguments.get(name, default)


def as_tuple(value: Value) -> Value:
    """Returns the items of a named tuple, and the keys of a table; any other value as it is."""
    match value:
        case Instance() if fields := fields_of(value.type):
            return tuple(map(value.attribute, fields))
        case dict() if is_complete(value):
            return tuple(value)
    return value


def item_getter(owner: Value) -> Function | None:
    """Returns the function of its class that a subscript of an object, or of a class, calls."""
    found: Value = None
    if isinstance(owner, Instance):
        found = owner.type.member("__getitem__")
    elif isinstance(owner, Class):
        found = owner.member("__class_getitem__")
    return found if isinstance(found, Function) else None


def instance_of_unknown_history(owner: Class) -> Instance:
    """Returns an object of a class whose methods were called in an order that nobody knows.

    It keeps the attributes that `__init__` alone assigns, or one statement of all methods.
    """
    assigned_in: dict[str, list[str]] = {}
    for one in owner.linearization:
        for function in one.node.body:
            if isinstance(function, ast.FunctionDef):
                for name in _assigned_attributes(function):
                    assigned_in.setdefault(name, []).append(function.name)
    unordered = (
        n for n, where in assigned_in.items() if len(where) > 1 and set(where) != {"__init__"}
    )
    return Instance(owner, unordered=frozenset(unordered))


def _assigned_attributes(function: ast.FunctionDef) -> Iterator[str]:
    arguments = function.args.args
    owner = arguments[0].arg if arguments else "self"
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                if name == owner:
                    yield node.attr
