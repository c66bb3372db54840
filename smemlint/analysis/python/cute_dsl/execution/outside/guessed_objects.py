"""Guesses at objects of dataclasses and named tuples that functions are given: their defaults."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Iterator
from functools import lru_cache

from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.interpreter.objects import fields_of, initialize_fields
from smemlint.analysis.python.interpreter.values import UNKNOWN, Class, Instance, Symbol, Value
from smemlint.frontend.python.imports import is_none
from smemlint.reasons import Assumption, Topic


def object_for(
    run: Execution,
    function: ast.FunctionDef,
    parameter: ast.arg,
    guess: Callable[[ast.arg], Value],
    *,
    flags: bool,
) -> Instance | None:
    """Returns an object for a parameter that is annotated to be one of a class with fields.

    Args:
        run: the execution.
        function: whose parameter it is.
        parameter: it.
        guess: returns a guess at a field without a default; None for none.
        flags: whether flags are not at their defaults.
    """
    owner = _class_of(run, function, parameter)
    if owner is None or not fields_of(owner) or owner.member("__post_init__") is not UNKNOWN:
        return None
    guesses = {field.arg: guess(field) for field in _open_fields(owner)}
    made = Instance(owner)
    initialize_fields(made, {name: v for name, v in guesses.items() if v is not None})
    options = {name: v for name, v in made.attributes.items() if isinstance(v, bool)}
    if flags:
        made.attributes.update({name: not value for name, value in options.items()})
    run.asks_for_options |= bool(options)
    given = f"{'other flags' if flags else 'defaults'} of `{owner.node.name}`"
    topic = Topic.CONDITION if options else Topic.ARGUMENT
    run.guessed.setdefault(Assumption(topic, f"`{parameter.arg}` has the {given}"))
    return made


def _class_of(run: Execution, function: ast.FunctionDef, parameter: ast.arg) -> Class | None:
    """Returns the class of the program that annotates a parameter; None for others."""
    match parameter.annotation:
        case ast.Name(name):
            scope = run.texts.scope(posixpath.normpath(run.texts.text_of(function).path))
            found = scope.get(name)
            if isinstance(found, Symbol):
                found = run.texts.member(found.path, function)
            return found if isinstance(found, Class) else None
    return None


def _open_fields(owner: Class) -> Iterator[ast.arg]:
    """Yields the fields without a default, or with None for what is annotated to be something."""
    for one in owner.linearization:
        for statement in one.node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                may_be_none = "None" in (kind := ast.unparse(statement.annotation))
                is_wanted = is_none(statement.value) and not (may_be_none or "Optional" in kind)
                if statement.value is None or is_wanted:
                    yield _parameter(statement)


@lru_cache(maxsize=256)
def _parameter(field: ast.AnnAssign) -> ast.arg:
    """Returns a field as a parameter of the constructor, the same in all executions."""
    assert isinstance(field.target, ast.Name)
    return ast.copy_location(ast.arg(field.target.id, field.annotation), field)
