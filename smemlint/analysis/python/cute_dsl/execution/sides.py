"""The memory of a copy's sides where no execution tells it: by their names, and what makes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from smemlint.analysis.python.cute_dsl.execution.outside.switches import argument, definitions_of
from smemlint.analysis.python.cute_dsl.execution.outside.ways import Step, ways_of
from smemlint.frontend.heuristics import names_memory
from smemlint.frontend.python.imports import last_name
from smemlint.frontend.python.parameters import parameters_of
from smemlint.frontend.python.python_source import PythonText
from smemlint.limits.budgets import MAX_WAYS_TO_A_CALL
from smemlint.reasons import Reason, ReasonCode

ELSEWHERE = Reason(
    ReasonCode.NO_LANES,
    "a copy between global memory, tensor memory and registers, as the names of its tensors say",
)
_FIRST_SIDE = {
    "copy": 1,
    "copy_atom_call": 1,
    "autovec_copy": 0,
    "basic_copy": 0,
    "basic_copy_if": 1,
}
_MAKERS_OF_REGISTERS = ("make_rmem_tensor", "make_fragment")
_PARTS = ("partition_", "retile")
_Function = ast.FunctionDef | None


def is_elsewhere(copy: ast.Call, text: PythonText | None = None, inside: _Function = None) -> bool:
    """Returns whether neither side of a copy is shared memory, by CuTe's convention for names.

    Args:
        copy: the call.
        text: the file, whose assignments are followed; None for the names in the call alone.
        inside: the function around it.
    """
    first = _FIRST_SIDE.get(last_name(copy.func))
    sides = copy.args[first : first + 2] if first is not None else []
    return len(sides) == 2 and all(_is_elsewhere(side, text, inside) for side in sides)


def _is_elsewhere(tensor: ast.expr, text: PythonText | None, inside: _Function) -> bool:
    """Returns whether all that a tensor may be lies in memory without banks."""
    worklist: list[tuple[_Function, ast.expr | None]] = [(inside, tensor)]
    for where, value in worklist:
        match value:
            case ast.Call(func=func) if last_name(func).startswith(_MAKERS_OF_REGISTERS):
                pass
            case ast.Name(name) if names_memory(name):
                if names_memory(name) == "s":
                    return False
            case ast.Name(name) if text is not None and where is not None:
                found = list(values_of(text, where, name))
                worklist += [v for v in found if v not in worklist]
                if not found or len(worklist) > MAX_WAYS_TO_A_CALL:
                    return False
            case ast.Call(func=ast.Attribute(ast.Name("cute")), args=[of, *_]):
                worklist.append((where, of))
            case ast.Call(func=func, args=[of]) if last_name(func).startswith(_PARTS):
                worklist.append((where, of))
            case ast.Subscript(value=of) | ast.Attribute(of, "iterator") | ast.BinOp(left=of):
                worklist.append((where, of))
            case _:
                return False
    return True


def values_of(
    text: PythonText, function: ast.FunctionDef, name: str
) -> Iterator[tuple[_Function, ast.expr | None]]:
    """Yields what assignments give a variable, or calls a parameter; None for what is not read."""
    definitions = definitions_of(text.tree)
    for inside in functions_around(text, function):
        assigned = definitions.get((inside, name), [])
        yield from ((inside, value) for _, value in assigned)
        is_given = any(p.name == name for p in parameters_of(inside.args))
        if is_given and not assigned:
            place = Step(inside, inside, None)
            for call in ways_of(text.tree).calls_named(inside.name):
                yield call.function, argument((place, call), name)
        if assigned or is_given:
            return


def functions_around(text: PythonText, function: ast.FunctionDef) -> Iterator[ast.FunctionDef]:
    """Yields a function and those that it stands in, whose variables it reads, from inside out."""
    inside: _Function = function
    while inside is not None:
        yield inside
        inside = _outer_functions(text.tree).get(inside)


@lru_cache(maxsize=1)
def _outer_functions(tree: ast.Module) -> dict[ast.FunctionDef, ast.FunctionDef]:
    """Returns the functions that stand inside others, each with the innermost one around it."""
    return {
        inner: outer
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef)
        for inner in ast.walk(outer)
        if isinstance(inner, ast.FunctionDef) and inner is not outer
    }
