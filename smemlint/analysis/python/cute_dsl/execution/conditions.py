"""What is known of variables behind a condition that held, such as one that ends in `raise`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise

from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import Number
from smemlint.analysis.python.interpreter import Interpreter
from smemlint.analysis.python.interpreter.assignments import assign
from smemlint.analysis.python.interpreter.values import Instance, Scopes, Unknown, Value, is_known
from smemlint.analysis.simt.domain.intervals import with_least
from smemlint.reasons import Assumption, Topic


def learn_behind(
    run: Execution, interpreter: Interpreter, node: ast.If, scopes: Scopes, *, holds: bool
) -> None:
    """Gives variables what they hold behind a branch of which only one side goes on.

    Where the other one returns, its callers go on with the attributes that it leaves.

    Args:
        run: the execution.
        interpreter: its interpreter.
        node: the branch.
        scopes: where it stands.
        holds: the outcome of the side that goes on.
    """
    parts = (n for n in ast.walk(node.test) if isinstance(n, ast.Attribute))
    if _refuses(node.orelse if holds else node.body) or not any(
        _is_open(run, interpreter, part, scopes) for part in parts
    ):
        learn(run, interpreter, node.test, scopes, holds=holds)


def _refuses(block: Sequence[ast.stmt]) -> bool:
    """Returns whether a block that does not come to its end ends in `raise`."""
    match block[-1:]:
        case [ast.Raise()]:
            return True
        case [ast.If(body=body, orelse=orelse)]:
            return _refuses(body) and _refuses(orelse)
    return False


def learn(
    run: Execution, interpreter: Interpreter, test: ast.expr, scopes: Scopes, *, holds: bool
) -> None:
    """Gives variables that are not known the only value with which a condition has an outcome.

    Where it lists several values and arguments are guessed, one of the list is the guess.

    Args:
        run: the execution.
        interpreter: its interpreter.
        test: the condition.
        scopes: where it stands.
        holds: its outcome.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            learn(run, interpreter, operand, scopes, holds=not holds)
        case ast.BoolOp(values=parts):
            if isinstance(test.op, ast.And) == holds:
                for part in parts:
                    learn(run, interpreter, part, scopes, holds=holds)
        case ast.Compare() if len(test.ops) == 1 or holds:
            operands = pairwise((test.left, *test.comparators))
            for (one, other), op in zip(operands, test.ops, strict=True):
                if isinstance(op, ast.Eq | ast.Is) if holds else isinstance(op, ast.NotEq):
                    _equate(run, interpreter, one, other, scopes)
                elif isinstance(op, ast.In) if holds else isinstance(op, ast.NotIn):
                    _choose(run, interpreter, one, other, scopes)
                else:
                    _bound(run, interpreter, (one, op, other), scopes, holds=holds)


def _bound(
    run: Execution,
    interpreter: Interpreter,
    compared: tuple[ast.expr, ast.cmpop, ast.expr],
    scopes: Scopes,
    *,
    holds: bool,
) -> None:
    """Gives a variable of the host a number that is not below a constant."""
    one, op, other = compared
    if isinstance(op, ast.GtE | ast.Gt) != holds:
        one, other = other, one
    if not isinstance(op, ast.GtE | ast.Gt | ast.LtE | ast.Lt) or run.kernel is not None:
        return
    is_strict = isinstance(op, ast.Gt | ast.Lt) == holds
    value = interpreter.evaluate(other, scopes) if _is_open(run, interpreter, one, scopes) else None
    if isinstance(value, int) and not isinstance(value, bool) and value + is_strict > 0:
        number = run.fresh(ast.unparse(one))
        assign(interpreter, one, Number(with_least(number, value + is_strict)), scopes)


def _equate(
    run: Execution, interpreter: Interpreter, one: ast.expr, other: ast.expr, scopes: Scopes
) -> None:
    """Gives one side of an equation the value of the other."""
    for target, source in ((one, other), (other, one)):
        if _is_open(run, interpreter, target, scopes):
            value = interpreter.evaluate(source, scopes)
            if is_known(value):
                assign(interpreter, target, value, scopes)


def _choose(
    run: Execution, interpreter: Interpreter, target: ast.expr, listed: ast.expr, scopes: Scopes
) -> None:
    """Gives a variable one of the values that it may have."""
    if not _is_open(run, interpreter, target, scopes):
        return
    values = interpreter.evaluate(listed, scopes)
    if not isinstance(values, tuple | list | range) or not values or not is_known(values):
        return
    if len(values) > 1:
        if run.choice is None:
            return
        name = ast.unparse(target)
        text = f"`{name}` is {_spelled(values[0])} or {_spelled(values[-1])}"
        run.guessed.setdefault(Assumption(Topic.ARGUMENT, text, name))
    assign(interpreter, target, values[-1 if run.choice else 0], scopes)


def _spelled(value: Value) -> str:
    return getattr(value, "name", repr(value))


def _is_open(run: Execution, interpreter: Interpreter, target: ast.expr, scopes: Scopes) -> bool:
    """Returns whether an expression is a variable or attribute of which nothing is known.

    A number that the host does not know stands for a constant that the kernel is compiled for.
    """
    match target:
        case ast.Name():
            value = scopes[-1].get(target.id)
        case ast.Attribute(value=ast.Name() as owner):
            if not isinstance(interpreter.evaluate(owner, scopes), Instance):
                return False
            value = interpreter.evaluate(target, scopes)
        case _:
            return False
    return isinstance(value, Unknown) or (run.kernel is None and isinstance(value, Number))
