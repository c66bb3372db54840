"""Branches that part no basic blocks: Python's own, and those that become selects.

Of 40 halves that are loaded one by one in front of such an `if`, nvidia-cutlass-dsl 4.8.1 (sm_90a)
makes five LDS.128, whatever the branch computes, and keeps 40 LDS.U16 where it reads or writes
memory, has a fence, or a function whose code has branches, such as sin and log.
"""

from __future__ import annotations

import ast

from smemlint.analysis.python.cute_dsl.execution.values import payload_of
from smemlint.analysis.python.interpreter import Interpreter
from smemlint.analysis.python.interpreter.values import DType, Scopes, Symbol
from smemlint.frontend.python.syntax_walk import called_names
from smemlint.layout import cute

_COMPUTED = frozenset(("exp", "exp2", "fmax", "fmin", "max", "min"))
"""Functions whose code has no branches."""
_PURE = (
    ast.Assign, ast.AugAssign, ast.If, ast.Pass, ast.Name, ast.Constant, ast.Attribute, ast.BinOp,
    ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Tuple, ast.operator, ast.unaryop,
    ast.cmpop, ast.boolop, ast.expr_context,
)  # fmt: skip


def is_preprocessed(interpreter: Interpreter) -> bool:
    """Returns whether the DSL compiles the branches and loops of the function that is executed.

    Those of a function without `jit` or `kernel` are Python's own.
    """
    marks = called_names(interpreter.frames[-1].function.node.decorator_list)
    return any(name.rpartition(".")[2] in ("jit", "kernel") for name in marks)


def is_compiled_in(test: ast.expr) -> bool:
    """Returns whether a condition is one of the compilation, `const_expr(..)`."""
    return isinstance(test, ast.Call) and ast.unparse(test.func).endswith("const_expr")


def parts_blocks(interpreter: Interpreter, node: ast.If, scopes: Scopes, *, is_open: bool) -> bool:
    """Returns whether basic blocks end at a branch of a kernel, whose condition may be open."""
    is_of_python = is_open and (is_compiled_in(node.test) or not is_preprocessed(interpreter))
    return not is_of_python and not _is_select(interpreter, node, scopes)


def _is_select(interpreter: Interpreter, node: ast.If, scopes: Scopes) -> bool:
    """Returns whether the sides of a branch only compute and set variables and registers."""
    sides = (n for statement in (*node.body, *node.orelse) for n in ast.walk(statement))
    return all(_is_pure(interpreter, part, scopes) for part in sides)


def _is_pure(interpreter: Interpreter, node: ast.AST, scopes: Scopes) -> bool:
    match node:
        case ast.Call(func=ast.Name() | ast.Attribute(value=ast.Name() | ast.Attribute())):
            function = interpreter.evaluate(node.func, scopes)
            is_known = isinstance(function, Symbol) and function.name in _COMPUTED
            return not node.keywords and (is_known or isinstance(function, DType))
        case ast.Subscript(value=ast.Name() as name):
            tensor = payload_of(interpreter.evaluate(name, scopes))
            return isinstance(tensor, cute.Tensor) and tensor.space is cute.Space.REGISTER
    return isinstance(node, _PURE)
