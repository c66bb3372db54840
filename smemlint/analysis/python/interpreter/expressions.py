"""Evaluation of expressions, by node type.

What calls, attributes and subscripts of a library's values mean, its model knows.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise

from smemlint.analysis.python.interpreter.arguments import BoundArguments, CallSite
from smemlint.analysis.python.interpreter.assignments import assign
from smemlint.analysis.python.interpreter.calls import (
    arguments_by_name,
    call,
    construct,
    member,
    overloaded,
    super_of,
)
from smemlint.analysis.python.interpreter.constant_folding import (
    READING_METHODS,
    call_builtin,
    call_dict_method,
    concatenate,
    fold,
    fold_membership,
    fold_unary,
    forget,
    is_complete,
    repeat,
)
from smemlint.analysis.python.interpreter.containers import items_of, keywords_of
from smemlint.analysis.python.interpreter.dispatch import evaluates
from smemlint.analysis.python.interpreter.interpreter import Interpreter
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    BoundMethod,
    Class,
    Function,
    Instance,
    Key,
    Launch,
    Method,
    ModelValue,
    Scopes,
    Super,
    Symbol,
    Unknown,
    Value,
    is_known,
    join,
)
from smemlint.frontend.python.parameters import parameters_of
from smemlint.limits.sizes import require_tree

# ---- names and constants


@evaluates(ast.Constant)
def evaluate_constant(interpreter: Interpreter, node: ast.Constant, scopes: Scopes) -> Value:
    """Returns the value of a literal."""
    return node.value


@evaluates(ast.Name)
def evaluate_name(interpreter: Interpreter, node: ast.Name, scopes: Scopes) -> Value:
    """Returns what the innermost scope binds to a name."""
    for scope in reversed(scopes):
        if node.id in scope:
            return scope[node.id]
    return Symbol(f"builtins.{node.id}")


@evaluates(ast.Attribute)
def evaluate_attribute(interpreter: Interpreter, node: ast.Attribute, scopes: Scopes) -> Value:
    """Returns a member of a module, an attribute of an object, or what the model knows of it."""
    owner = interpreter.evaluate(node.value, scopes)
    if isinstance(owner, Symbol):
        return interpreter.model.symbol(Symbol(f"{owner.path}.{node.attr}"), node)
    if isinstance(owner, list | dict):
        return Method(owner, node.attr)
    if isinstance(owner, Instance | Class | Super):
        found = member(interpreter, owner, node.attr)
        if found is not UNKNOWN:
            return found
    return interpreter.model.attribute(owner, node.attr, node)


# ---- operators


@evaluates(ast.BinOp)
def evaluate_binary(interpreter: Interpreter, node: ast.BinOp, scopes: Scopes) -> Value:
    """Returns the result of an operator of two operands."""
    left = interpreter.evaluate(node.left, scopes)
    return operate(interpreter, node.op, left, interpreter.evaluate(node.right, scopes))


def operate(interpreter: Interpreter, operation: ast.AST, one: Value, other: Value) -> Value:
    """Returns the result of an operator or a comparison on two values."""
    if is_known(one) and is_known(other):
        return fold(operation, one, other)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return concatenate(one, other) if isinstance(operation, ast.Add) else UNKNOWN
    if isinstance(one, tuple | list) and isinstance(other, int) and isinstance(operation, ast.Mult):
        return repeat(one, other)
    found = overloaded(interpreter, type(operation), one, other)
    return found if found is not None else interpreter.model.binary(operation, one, other)


@evaluates(ast.UnaryOp)
def evaluate_unary(interpreter: Interpreter, node: ast.UnaryOp, scopes: Scopes) -> Value:
    """Returns the result of an operator of one operand."""
    operand = interpreter.evaluate(node.operand, scopes)
    if is_known(operand):
        return fold_unary(node.op, operand)
    return interpreter.model.unary(node.op, operand)


@evaluates(ast.BoolOp)
def evaluate_logical(interpreter: Interpreter, node: ast.BoolOp, scopes: Scopes) -> Value:
    """Returns the result of `and` or `or`; a known operand may decide for unknown ones."""
    deciding = isinstance(node.op, ast.Or)
    is_open = False
    value: Value = UNKNOWN
    for part in node.values:
        value = interpreter.evaluate(part, scopes)
        if not is_known(value):
            is_open = True
        elif bool(value) == deciding:
            return UNKNOWN if is_open and not isinstance(value, bool) else value
    return UNKNOWN if is_open else value


@evaluates(ast.Compare)
def evaluate_comparison(interpreter: Interpreter, node: ast.Compare, scopes: Scopes) -> Value:
    """Returns the result of a chain of comparisons."""
    values = [interpreter.evaluate(part, scopes) for part in (node.left, *node.comparators)]
    for (one, other), operation in zip(pairwise(values), node.ops, strict=True):
        result = _compare(interpreter, operation, one, other)
        if result is not True:
            return result
    return True


def _compare(interpreter: Interpreter, operation: ast.cmpop, one: Value, other: Value) -> Value:
    match operation:
        case ast.Is() | ast.IsNot():
            if other is not None or isinstance(one, Unknown | Symbol | ModelValue):
                return UNKNOWN
            return (one is None) == isinstance(operation, ast.Is)
        case ast.In() | ast.NotIn():
            is_inside = fold_membership(one, other)
            return is_inside == isinstance(operation, ast.In) if is_inside is not None else UNKNOWN
    return operate(interpreter, operation, one, other)


@evaluates(ast.IfExp)
def evaluate_conditional(interpreter: Interpreter, node: ast.IfExp, scopes: Scopes) -> Value:
    """Returns the chosen operand, or what covers both."""
    test = interpreter.truth(node.test, scopes)
    if test is not None:
        return interpreter.evaluate(node.body if test else node.orelse, scopes)
    body = interpreter.evaluate(node.body, scopes)
    return join(body, interpreter.evaluate(node.orelse, scopes))


@evaluates(ast.NamedExpr)
def evaluate_named(interpreter: Interpreter, node: ast.NamedExpr, scopes: Scopes) -> Value:
    """Assigns a value, and returns it."""
    value = interpreter.evaluate(node.value, scopes)
    assign(interpreter, node.target, value, scopes)
    return value


# ---- calls


@evaluates(ast.Call)
def evaluate_call(interpreter: Interpreter, node: ast.Call, scopes: Scopes) -> Value:
    """Returns the result of a call; `kernel[grid](..)` is a launch."""
    if isinstance(node.func, ast.Subscript):
        kernel = interpreter.evaluate(node.func.value, scopes)
        if isinstance(kernel, Function) and kernel.is_kernel:
            return _launch(interpreter, kernel, node, scopes)
    callee = interpreter.evaluate(node.func, scopes)
    given = arguments_of(interpreter, node, scopes)
    return apply_callee(interpreter, callee, given, CallSite(node, scopes))


def arguments_of(interpreter: Interpreter, node: ast.Call, scopes: Scopes) -> BoundArguments:
    """Returns the arguments of a call."""
    positional = list(items_of(interpreter, node.args, scopes))
    return BoundArguments(positional, keywords_of(interpreter, node.keywords, scopes))


def apply_callee(
    interpreter: Interpreter, callee: Value, given: BoundArguments, site: CallSite
) -> Value:
    """Returns the result of calling a value."""
    arguments, named = given.positional, given.named
    if isinstance(callee, Instance):
        callee = member(interpreter, callee, "__call__")
        if not isinstance(callee, BoundMethod):
            return UNKNOWN
    match callee:
        case Function():
            return call(interpreter, callee, arguments, named)
        case BoundMethod():
            return call(interpreter, callee.function, [callee.owner, *arguments], named)
        case Class():
            return construct(interpreter, callee, arguments, named)
        case Symbol(path="builtins.super"):
            return super_of(interpreter, arguments, site.scopes)
        case Symbol() if callee.path.startswith("builtins."):
            if callee.name == "setattr":
                return _set_attribute(interpreter, arguments)
            return call_builtin(callee.name, arguments, named)
        case Method(owner=list() | dict() as owner):
            return _call_container_method(interpreter, owner, callee.name, arguments)
        case Unknown():
            return callee
    return interpreter.model.call(callee, given, site.node)


def _set_attribute(interpreter: Interpreter, arguments: Sequence[Value]) -> Value:
    """Executes `setattr(owner, name, value)` where the name is known."""
    match arguments:
        case [Instance() as owner, str(name), value]:
            may_be_skipped = interpreter.open_paths > owner.open_paths
            interpreter.model.assign_attribute(owner, name, value, may_be_skipped=may_be_skipped)
            return None
    return UNKNOWN


def _call_container_method(
    interpreter: Interpreter,
    owner: list[Value] | dict[Key, Value],
    name: str,
    arguments: list[Value],
) -> Value:
    """Executes a method that is known; what others leave in the container is not known."""
    if isinstance(owner, dict) and name in READING_METHODS:
        return call_dict_method(owner, name, arguments)
    is_changed = interpreter.model.changes(owner, may_be_skipped=interpreter.open_paths > 0)
    if isinstance(owner, list) and is_changed:
        require_tree((owner, *arguments))
        match name, arguments:
            case "pop", [] if owner and UNKNOWN not in owner:
                return owner.pop()
            case "append", [item]:
                owner.append(item)
                return None
            case "insert", [int(at), item]:
                owner.insert(at, item)
                return None
            case "extend", [list() | tuple() as items]:
                require_tree((*owner, *items))
                owner.extend(items)
                return None
    if isinstance(owner, dict) and is_changed and name == "update" and len(arguments) == 1:
        others = arguments[0]
        if isinstance(others, dict) and is_complete(owner) and is_complete(others):
            require_tree((*owner.values(), *others.values()))
            owner.update(others)
            return None
    forget(owner)
    return UNKNOWN


def _launch(interpreter: Interpreter, kernel: Function, node: ast.Call, scopes: Scopes) -> Value:
    """Records the launch of a kernel."""
    arguments = arguments_of(interpreter, node, scopes)
    names = [p.name for p in parameters_of(kernel.node.args)]
    given = arguments_by_name(names, arguments.positional)
    given |= {k: v for k, v in arguments.named.items() if k in names}
    options = {k: v for k, v in arguments.named.items() if k not in names}
    interpreter.launches.append(Launch(kernel, given, options, node.lineno))
    return UNKNOWN
