"""`match` as the `if` statements that it stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeVar

from smemlint.frontend.python.syntax_walk import walk

_Node = TypeVar("_Node", bound=ast.AST)


def branches_of(node: ast.Match) -> list[ast.stmt]:
    """Returns the statements that a `match` stands for; a pattern that is not followed is open."""
    rest: list[ast.stmt] = []
    for case in reversed(node.cases):
        test = _test(node.subject, case)
        body = [*_captures(node.subject, case.pattern), *case.body]
        if isinstance(test, ast.Constant) and test.value is True:
            rest = body
        else:
            rest = [ast.copy_location(ast.If(test, body, rest), case.body[0])]
    for statement in rest:
        ast.fix_missing_locations(statement)
    return rest


def _test(subject: ast.expr, case: ast.match_case) -> ast.expr:
    """Returns the condition under which a case is the one that is taken."""
    test = _of_pattern(subject, case.pattern)
    if case.guard is None:
        return test
    if isinstance(test, ast.Constant) and test.value is True:
        is_bound = isinstance(case.pattern, ast.MatchAs) and case.pattern.name is not None
        return _open(subject) if is_bound else case.guard
    return _at(ast.BoolOp(ast.And(), [test, case.guard]), subject)


def _of_pattern(subject: ast.expr, pattern: ast.pattern) -> ast.expr:
    match pattern:
        case ast.MatchValue(value=value):
            return _at(ast.Compare(subject, [ast.Eq()], [value]), subject)
        case ast.MatchSingleton(value=value):
            return _at(ast.Compare(subject, [ast.Is()], [ast.Constant(value)]), subject)
        case ast.MatchOr(patterns=patterns):
            tests = [_of_pattern(subject, p) for p in patterns]
            return _at(ast.BoolOp(ast.Or(), tests), subject)
        case ast.MatchAs(pattern=None):
            return _at(ast.Constant(True), subject)
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _of_pattern(subject, inner)
    return _open(subject)


def _captures(subject: ast.expr, pattern: ast.pattern) -> Iterator[ast.stmt]:
    """Yields assignments to the names that a pattern binds."""
    for part in walk(pattern):
        name = getattr(part, "name", None) or getattr(part, "rest", None)
        if isinstance(name, str):
            value = subject if part is pattern else _open(subject)
            yield _at(ast.Assign([ast.Name(name, ast.Store())], value), subject)


def _open(subject: ast.expr) -> ast.expr:
    """Returns an expression whose value is not known."""
    return _at(ast.Await(subject), subject)


def _at(node: _Node, place: ast.expr) -> _Node:
    return ast.copy_location(node, place)
