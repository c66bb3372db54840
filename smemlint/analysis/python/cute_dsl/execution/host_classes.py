"""Classes of the host: those made while a program runs, and what those of libraries do."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from smemlint.analysis.python.cute_dsl.execution.call import FUNCTIONS
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import Opaque
from smemlint.analysis.python.interpreter import Interpreter
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.calls import call, construct
from smemlint.analysis.python.interpreter.objects import fields_of
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Class,
    Function,
    Instance,
    Scope,
    Super,
    Symbol,
    Value,
)
from smemlint.frontend.python.python_source import belong

FIELD_MAKERS = ("dataclasses.make_dataclass", "typing.NamedTuple", "collections.namedtuple")


def tell_bases(interpreter: Interpreter, made: Class) -> None:
    """Calls `__init_subclass__` of the nearest base of a new class that defines it."""
    found = Super(made, made).attribute("__init_subclass__")
    if isinstance(found, Function):
        call(interpreter, found, [made], {})


def class_of_members(
    run: Execution, interpreter: Interpreter, arguments: Sequence[Value], node: ast.AST
) -> Value:
    """Evaluates `type(name, bases, members)`."""
    match arguments:
        case [str(name), tuple(bases), dict(members)]:
            own = {key: value for key, value in members.items() if isinstance(key, str)}
            made = _made(run, name, bases, own, (), node)
            tell_bases(interpreter, made)
            return made
    return UNKNOWN


def class_of_fields(run: Execution, given: BoundArguments, node: ast.AST) -> Value:
    """Evaluates `make_dataclass(name, fields, bases=)` and `NamedTuple(name, fields)`."""
    name, fields = given.get(0, "cls_name", UNKNOWN), given.get(1, "fields", UNKNOWN)
    bases = given.named.get("bases", ())
    if not isinstance(name, str) or not isinstance(fields, list | tuple):
        return UNKNOWN
    specs = [f if isinstance(f, tuple) else (f,) for f in fields]
    names = [str(spec[0]) for spec in specs if spec and isinstance(spec[0], str)]
    if len(names) < len(specs) or not isinstance(bases, tuple):
        return UNKNOWN
    defaults = {str(spec[0]): spec[2] for spec in specs if len(spec) > 2}
    return _made(run, name, bases, defaults, names, node)


def is_constructed_by_a_library(owner: Class) -> bool:
    """Returns whether a class has no constructor but that of a class of the DSL that is known."""
    is_known = not owner.bases and [b.name in FUNCTIONS for b in owner.libraries] == [True]
    return is_known and owner.member("__init__") is UNKNOWN


def is_autograd_function(owner: Class) -> bool:
    """Returns whether a class is a `torch.autograd.Function`, whose `apply` calls its `forward`."""
    bases = [ast.unparse(b) for c in owner.linearization for b in c.node.bases]
    return any(b.rpartition(".")[2] == "Function" for b in bases)


def context_of_forward(owner: Class) -> list[Value]:
    """Returns what `forward` gets in front of the arguments of `apply`."""
    return [Opaque("context")] if owner.member("setup_context") is UNKNOWN else []


def replaced(interpreter: Interpreter, instance: Instance, named: Scope) -> Instance:
    """Returns another object of a dataclass, which differs in some fields."""
    kept = {name: instance.attribute(name) for name in fields_of(instance.type)}
    return construct(interpreter, instance.type, (), kept | named)


def _made(
    run: Execution,
    name: str,
    bases: Sequence[Value],
    members: Mapping[str, Value],
    fields: Sequence[str],
    node: ast.AST,
) -> Class:
    """Returns a class as if the program had a definition of it where it makes it."""
    none, mark = ast.Constant(None), ast.Name("dataclass")
    body: list[ast.stmt] = [ast.AnnAssign(ast.Name(f), none, None, 1) for f in fields]
    definition = ast.ClassDef(name, [], [], body, [mark] if fields else [])
    ast.copy_location(definition, node)
    belong(run.texts.text_of(node), definition)
    known = tuple(base for base in bases if isinstance(base, Class))
    libraries = tuple(base for base in bases if isinstance(base, Symbol))
    return Class(definition, dict(members), known, libraries)
