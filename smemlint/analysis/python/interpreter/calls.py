"""Calls of functions and classes of the file, launches of its kernels, and members of objects."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from smemlint.analysis.python.interpreter.interpreter import Frame, Interpreter
from smemlint.analysis.python.interpreter.objects import (
    Binding,
    binding_of,
    fields_of,
    initialize_fields,
    instance_of_unknown_history,
)
from smemlint.analysis.python.interpreter.values import (
    REST,
    REST_OF_NAMES,
    UNKNOWN,
    BoundMethod,
    Class,
    Function,
    Instance,
    Key,
    Scope,
    Scopes,
    Super,
    Value,
)
from smemlint.frontend.python.parameters import parameters_of
from smemlint.limits.budgets import MAX_PYTHON_CALLS

# ---- arguments


def arguments_by_name(names: Sequence[str], arguments: Sequence[Value]) -> Scope:
    """Returns positional arguments by the names of parameters; those behind `REST` are unknown."""
    found = dict(zip(names, arguments, strict=False))
    if arguments and arguments[-1] is REST:
        found.update(dict.fromkeys(names[len(arguments) - 1 :], UNKNOWN))
    return found


def bind_parameters(
    interpreter: Interpreter, function: Function, arguments: Sequence[Value], named: Scope
) -> Scope:
    """Returns the parameters of a call: given, else their defaults, else not known.

    Where the names of arguments are not known, nobody knows which default is taken.
    """
    spec = function.node.args
    parameters = parameters_of(spec)
    names = [p.name for p in parameters if not p.is_keyword]
    is_open = REST_OF_NAMES in named
    scope: Scope = {
        p.name: UNKNOWN
        if p.default is None or is_open
        else interpreter.evaluate(p.default, function.scopes)
        for p in parameters
    }
    others: dict[Key, Value] = {n: value for n, value in named.items() if n not in scope}
    scope.update(arguments_by_name(names, arguments))
    scope.update((k, v) for k, v in named.items() if k in scope)
    if spec.vararg is not None:
        is_known = REST not in arguments
        scope[spec.vararg.arg] = tuple(arguments[len(names) :]) if is_known else UNKNOWN
    if spec.kwarg is not None:
        scope[spec.kwarg.arg] = UNKNOWN if is_open else others
    return scope


def option_parameters(node: ast.FunctionDef) -> Scope:
    """Returns, as unknown, the parameters whose defaults are one of a few options.

    Callers give others, too: the function is worth a second execution with these.
    """
    return {
        p.name: UNKNOWN
        for p in parameters_of(node.args)
        if isinstance(p.default, ast.Constant) and isinstance(p.default.value, bool | str | None)
    }


# ---- calls


def call(
    interpreter: Interpreter, function: Function, arguments: Sequence[Value], named: Scope
) -> Value:
    """Returns what a function of the file returns; a recursive call is not followed."""
    frames, policy = interpreter.frames, interpreter.policy
    if not policy.enters(interpreter, function, arguments, named):
        return UNKNOWN
    with policy.inside_call(is_outermost=not frames):
        is_recursive = any(outer.function.node is function.node for outer in frames)
        if is_recursive or len(frames) >= MAX_PYTHON_CALLS:
            return UNKNOWN
        scope = bind_parameters(interpreter, function, arguments, named)
        frame = Frame(function)
        frames.append(frame)
        scopes = (*function.scopes, scope)
        try:
            falls_through = interpreter.run(function.node.body, scopes)
        finally:
            frames.pop()
            policy.leaves(function, scopes)
    if falls_through or not frame.returned:  # or it always raises
        frame.returned.append(None)
    return interpreter.model.join_returned(frame.returned)


def call_from_outside(interpreter: Interpreter, function: Function, named: Scope) -> Value:
    """Calls a function as unknown code does: a method on some object of its class."""
    return call(interpreter, function, _receiver(interpreter, function), named)


def _receiver(interpreter: Interpreter, function: Function) -> tuple[Value, ...]:
    owner = function.owner
    binding = binding_of(function)
    if owner is None or binding is Binding.NOTHING:
        return ()
    if binding is Binding.CLASS:
        return (owner,)
    if owner not in interpreter.instances:
        interpreter.instances[owner] = instance_from_outside(interpreter, owner)
    instance = interpreter.instances[owner]
    return (replace(instance, attributes=dict(instance.attributes)),)


def instance_from_outside(interpreter: Interpreter, owner: Class) -> Instance:
    """Returns an object that unknown code builds; see `objects.instance_of_unknown_history`."""
    init = owner.member("__init__")
    named = option_parameters(init.node) if isinstance(init, Function) else {}
    return _initialize(interpreter, instance_of_unknown_history(owner), (), named)


def construct(
    interpreter: Interpreter, owner: Class, arguments: Sequence[Value], named: Scope
) -> Instance:
    """Returns a new object of a class of the file, behind its `__init__`."""
    instance = Instance(owner, open_paths=interpreter.open_paths)
    return _initialize(interpreter, instance, arguments, named)


def _initialize(
    interpreter: Interpreter, instance: Instance, arguments: Sequence[Value], named: Scope
) -> Instance:
    init = instance.type.member("__init__")
    if isinstance(init, Function):
        call(interpreter, init, (instance, *arguments), named)
    else:
        fields = fields_of(instance.type)
        initialize_fields(instance, arguments_by_name(fields, arguments) | named)
        finishing = instance.type.member("__post_init__")
        if fields and isinstance(finishing, Function):
            call(interpreter, finishing, (instance,), {})
    return instance


_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.BitOr: "or", ast.BitAnd: "and", ast.BitXor: "xor", ast.LShift: "lshift",
    ast.RShift: "rshift",
}  # fmt: skip


def overloaded(
    interpreter: Interpreter, operation: type[ast.AST], one: Value, other: Value
) -> Value | None:
    """Returns what an operator gives that the class of an operand defines; None for others."""
    name = _OPERATORS.get(operation)
    for owner, operand, method in ((one, other, f"__{name}__"), (other, one, f"__r{name}__")):
        found = owner.type.member(method) if name and isinstance(owner, Instance) else None
        if isinstance(found, Function):
            return call(interpreter, found, (owner, operand), {})
    return None


# ---- members


def member(interpreter: Interpreter, owner: Instance | Class | Super, name: str) -> Value:
    """Returns what a name means on an object, on a class or behind `super()`."""
    found = owner.member(name) if isinstance(owner, Class) else owner.attribute(name)
    if not isinstance(found, Function) or found.owner is None:
        return found
    receiver = owner.owner if isinstance(owner, Super) else owner
    match binding_of(found):
        case Binding.NOTHING:
            return found
        case Binding.CLASS:
            return BoundMethod(found, receiver.type if isinstance(receiver, Instance) else receiver)
        case Binding.CALLED_AT_ONCE if isinstance(receiver, Instance):
            return call(interpreter, found, (receiver,), {})
    return BoundMethod(found, receiver) if isinstance(receiver, Instance) else found


def super_of(interpreter: Interpreter, arguments: Sequence[Value], scopes: Scopes) -> Value:
    """Returns the value of `super()`, or of `super(Class, self)`."""
    if len(arguments) == 2:
        behind, owner = arguments
    else:
        function = interpreter.frames[-1].function if interpreter.frames else None
        behind = function.owner if function is not None else None
        parameters = function.node.args.args if function is not None else []
        owner = scopes[-1].get(parameters[0].arg) if parameters else None
    if isinstance(behind, Class) and isinstance(owner, Instance | Class):
        return Super(owner, behind)
    return UNKNOWN


def functions_of(scope: Scope) -> Iterator[Function]:
    """Yields the functions that a module binds, and those of its classes but `__init__`."""
    for value in list(scope.values()):
        if isinstance(value, Function):
            yield value
        elif isinstance(value, Class):
            for found in value.members.values():
                is_own = isinstance(found, Function) and found.owner is value
                if isinstance(found, Function) and is_own and found.node.name != "__init__":
                    yield found
