"""Execution of statements, by node type."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from smemlint.analysis.python.interpreter.assignments import assign
from smemlint.analysis.python.interpreter.constant_folding import forget
from smemlint.analysis.python.interpreter.dispatch import executes
from smemlint.analysis.python.interpreter.expressions import operate
from smemlint.analysis.python.interpreter.interpreter import Interpreter, join_scopes, replace_scope
from smemlint.analysis.python.interpreter.matching import branches_of
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Class,
    Function,
    Scope,
    Scopes,
    Symbol,
)
from smemlint.frontend.python.syntax_walk import called_names
from smemlint.limits.budgets import MAX_UNROLLED

# ---- assignments and expressions


@executes(ast.Assign)
def execute_assignment(interpreter: Interpreter, node: ast.Assign, scopes: Scopes) -> bool:
    """Assigns a value to each target."""
    value = interpreter.evaluate(node.value, scopes)
    for target in node.targets:
        assign(interpreter, target, value, scopes)
    return True


@executes(ast.AnnAssign)
def execute_annotated(interpreter: Interpreter, node: ast.AnnAssign, scopes: Scopes) -> bool:
    """Assigns a value to an annotated target, if there is one."""
    if node.value is not None:
        assign(interpreter, node.target, interpreter.evaluate(node.value, scopes), scopes)
    return True


@executes(ast.AugAssign)
def execute_augmented(interpreter: Interpreter, node: ast.AugAssign, scopes: Scopes) -> bool:
    """Assigns the result of an operator to its first operand."""
    before = interpreter.evaluate(node.target, scopes)
    operand = interpreter.evaluate(node.value, scopes)
    assign(interpreter, node.target, operate(interpreter, node.op, before, operand), scopes)
    return True


@executes(ast.Expr)
def execute_expression(interpreter: Interpreter, node: ast.Expr, scopes: Scopes) -> bool:
    """Evaluates an expression for its effects."""
    interpreter.evaluate(node.value, scopes)
    return True


@executes(ast.Delete)
def execute_delete(interpreter: Interpreter, node: ast.Delete, scopes: Scopes) -> bool:
    """Makes unknown what is deleted, and all items of a container that loses one."""
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            owner = interpreter.evaluate(target.value, scopes)
            if isinstance(owner, list | dict):
                interpreter.model.changes(owner, may_be_skipped=interpreter.open_paths > 0)
                forget(owner)
        else:
            assign(interpreter, target, UNKNOWN, scopes)
    return True


# ---- definitions


@executes(ast.FunctionDef)
def execute_function(interpreter: Interpreter, node: ast.FunctionDef, scopes: Scopes) -> bool:
    """Binds a function, which is a kernel if a decorator compiles it for the GPU."""
    is_kernel = any(n in interpreter.kernel_marks for n in called_names(node.decorator_list))
    scopes[-1][node.name] = Function(node, scopes, is_kernel)
    return True


@executes(ast.ClassDef)
def execute_class(interpreter: Interpreter, node: ast.ClassDef, scopes: Scopes) -> bool:
    """Binds a class, whose functions know it."""
    bases = [interpreter.evaluate(base, scopes) for base in node.bases]
    known = tuple(b for b in bases if isinstance(b, Class))
    found = Class(node, {}, known, tuple(b for b in bases if isinstance(b, Symbol)))
    interpreter.run(node.body, (*scopes, found.members))
    for name, value in found.members.items():
        if isinstance(value, Function) and value.node in node.body:
            found.members[name] = replace(value, scopes=scopes, owner=found)
    scopes[-1][node.name] = found
    return True


@executes(ast.Import)
def execute_import(interpreter: Interpreter, node: ast.Import, scopes: Scopes) -> bool:
    """Binds modules."""
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        scopes[-1][name] = Symbol(alias.name if alias.asname else name)
    return True


@executes(ast.ImportFrom)
def execute_import_from(interpreter: Interpreter, node: ast.ImportFrom, scopes: Scopes) -> bool:
    """Binds members of a module."""
    for alias in node.names:
        path = f"{node.module or ''}.{alias.name}"
        scopes[-1][alias.asname or alias.name] = Symbol(path)
    return True


# ---- jumps


@executes(ast.Return)
def execute_return(interpreter: Interpreter, node: ast.Return, scopes: Scopes) -> bool:
    """Adds to the values that the call returns."""
    value = interpreter.evaluate(node.value, scopes) if node.value is not None else None
    if interpreter.frames:
        interpreter.frames[-1].returned.append(value)
    return False


@executes(ast.Raise)
def execute_raise(interpreter: Interpreter, node: ast.Raise, scopes: Scopes) -> bool:
    """Ends the path."""
    return False


@executes(ast.Break)
def execute_break(interpreter: Interpreter, node: ast.Break, scopes: Scopes) -> bool:
    """Leaves the loop."""
    if interpreter.jumps:
        interpreter.jumps[-1].breaks.append(dict(scopes[-1]))
    return False


@executes(ast.Continue)
def execute_continue(interpreter: Interpreter, node: ast.Continue, scopes: Scopes) -> bool:
    """Ends the iteration."""
    if interpreter.jumps:
        interpreter.jumps[-1].continues.append(dict(scopes[-1]))
    return False


# ---- branches


@executes(ast.If)
def execute_if(interpreter: Interpreter, node: ast.If, scopes: Scopes) -> bool:
    """Executes a branch; both, joined behind them, where the condition is not known."""
    test = interpreter.truth(node.test, scopes)
    if test is not None:
        return interpreter.run(node.body if test else node.orelse, scopes)
    before = dict(scopes[-1])
    with interpreter.on_open_path():
        reaches_end = interpreter.run(node.body, scopes)
        first = dict(scopes[-1])
        replace_scope(scopes[-1], before)
        otherwise_reaches_end = interpreter.run(node.orelse, scopes)
    if reaches_end and otherwise_reaches_end:
        join_scopes(scopes[-1], first)
    elif reaches_end:
        replace_scope(scopes[-1], first)
    return reaches_end or otherwise_reaches_end


@executes(ast.Match)
def execute_match(interpreter: Interpreter, node: ast.Match, scopes: Scopes) -> bool:
    """Executes the case that is taken; all that may be where that is not known."""
    if node not in interpreter.matches:
        interpreter.matches[node] = branches_of(node)
    return interpreter.run(interpreter.matches[node], scopes)


@executes(ast.With, ast.AsyncWith)
def execute_with(interpreter: Interpreter, node: ast.With | ast.AsyncWith, scopes: Scopes) -> bool:
    """Executes the body of a `with`; what its context gives is not known."""
    for item in node.items:
        interpreter.evaluate(item.context_expr, scopes)
        if item.optional_vars is not None:
            assign(interpreter, item.optional_vars, UNKNOWN, scopes)
    return interpreter.run(node.body, scopes)


@executes(ast.Try)
def execute_try(interpreter: Interpreter, node: ast.Try, scopes: Scopes) -> bool:
    """Executes what runs where nothing is raised, or the first handler of what is."""
    returned = len(interpreter.frames[-1].returned) if interpreter.frames else 0
    if interpreter.run(node.body, scopes):
        return interpreter.run([*node.orelse, *node.finalbody], scopes)
    is_raised = bool(interpreter.frames) and len(interpreter.frames[-1].returned) == returned
    if not is_raised or not node.handlers or not isinstance(node.body[-1], ast.Raise):
        return interpreter.run(node.finalbody, scopes) and False
    return interpreter.run([*node.handlers[0].body, *node.finalbody], scopes)


# ---- names of scopes around


@executes(ast.Global, ast.Nonlocal)
def execute_outer(
    interpreter: Interpreter, node: ast.Global | ast.Nonlocal, scopes: Scopes
) -> bool:
    """Takes note of names that assignments bind in a scope around the function."""
    outer = scopes[:1] if isinstance(node, ast.Global) else scopes[1:-1]
    for name in node.names:
        owner = next((s for s in reversed(outer) if name in s), scopes[0])
        if interpreter.frames:
            interpreter.frames[-1].outer[name] = owner
    return True


# ---- loops


@executes(ast.For)
def execute_for(interpreter: Interpreter, node: ast.For, scopes: Scopes) -> bool:
    """Executes the iterations of a short loop one by one, any others as one."""
    with interpreter.policy.inside_loop():
        items = interpreter.evaluate(node.iter, scopes)
        reaches_end = True
        with interpreter.inside_loop() as jumps:
            if isinstance(items, range | list | tuple | str) and len(items) <= MAX_UNROLLED:
                for item in items:
                    assign(interpreter, node.target, item, scopes)
                    reaches_end = _execute_iteration(interpreter, node.body, scopes)
                    if not reaches_end:
                        break
            else:
                assign(interpreter, node.target, UNKNOWN, scopes)
                _execute_any_number(interpreter, node.body, scopes)
        reaches_end = reaches_end and interpreter.run(node.orelse, scopes)
        return _join_at_target(scopes[-1], jumps.breaks, is_reached=reaches_end)


@executes(ast.While)
def execute_while(interpreter: Interpreter, node: ast.While, scopes: Scopes) -> bool:
    """Executes iterations one by one while it is known that there is another, the rest as one."""
    is_endless = isinstance(node.test, ast.Constant)
    with interpreter.policy.inside_loop(), interpreter.inside_loop(is_for=False) as jumps:
        for _ in range(0 if is_endless else MAX_UNROLLED):
            if not interpreter.truth(node.test, scopes):
                break
            if not _execute_iteration(interpreter, node.body, scopes):
                return _join_at_target(scopes[-1], jumps.breaks, is_reached=False)
        if interpreter.truth(node.test, scopes) is not False:
            _execute_any_number(interpreter, node.body, scopes)
        reaches_end = interpreter.run(node.orelse, scopes)
        return _join_at_target(scopes[-1], jumps.breaks, is_reached=reaches_end)


def _execute_any_number(interpreter: Interpreter, body: Sequence[ast.stmt], scopes: Scopes) -> None:
    """Executes any number of iterations: what the first changes is not known in the next."""
    with (
        interpreter.policy.inside_loop(),
        interpreter.on_open_path(),
        interpreter.inside_loop(is_for=False) as jumps,
    ):
        before = dict(scopes[-1])
        with interpreter.model.paused():
            _execute_iteration(interpreter, body, scopes)
        join_scopes(scopes[-1], before)
        before = dict(scopes[-1])
        _execute_iteration(interpreter, body, scopes)
        _join_at_target(scopes[-1], (before, *jumps.breaks), is_reached=True)


def _execute_iteration(interpreter: Interpreter, body: Sequence[ast.stmt], scopes: Scopes) -> bool:
    """Executes a loop's body once; returns whether a path leads to the next iteration."""
    jumps = interpreter.jumps[-1]
    jumps.continues.clear()
    reaches_end = interpreter.run(body, scopes)
    return _join_at_target(scopes[-1], jumps.continues, is_reached=reaches_end)


def _join_at_target(scope: Scope, jumps: Sequence[Scope], *, is_reached: bool) -> bool:
    """Joins the scopes of jumps to a place, and its own scope if that `is_reached` without one.

    Returns:
        Whether a path reaches the place.
    """
    for other in jumps:
        if is_reached:
            join_scopes(scope, other)
        else:
            replace_scope(scope, other)
        is_reached = True
    return is_reached
