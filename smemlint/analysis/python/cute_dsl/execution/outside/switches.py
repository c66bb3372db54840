"""Arguments that lead to accesses which a program does not execute with its defaults."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from smemlint.analysis.python.cute_dsl.execution.outside.ways import Access, Step, ways_of
from smemlint.frontend.python.parameters import argument_of, parameters_of
from smemlint.limits.budgets import MAX_DEFINITIONS_BACK

GIVEN = "given"
"""Stands for an argument that is not None."""

Switch = dict[str, object]
"""Parameters by name -> a constant, or `GIVEN`."""

_NEGATED = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
            ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Lt: ast.GtE, ast.GtE: ast.Lt,
            ast.In: ast.NotIn, ast.NotIn: ast.In}  # fmt: skip
_ORDERS = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)
_COUNTS = 16
"""Numbers below are counts; those from here on are extents, beyond which twice or half is tried."""
_ANY = object()
"""Stands for a value of which nothing is asked."""

_Way = Sequence[Step]
_Definition = tuple[Step, ast.expr | None]
"""An assignment, and what it assigns; None where that is a part of a value."""


_Definitions = dict[tuple[ast.FunctionDef | None, str], list[_Definition]]


class _Impossible(Exception):
    """A condition never has this outcome."""


def switches_to(
    tree: ast.Module, accesses: Collection[Access], functions: Sequence[ast.FunctionDef]
) -> Iterator[Switch]:
    """Yields arguments of functions with which the conditions on a way to an access may hold.

    Args:
        tree: the file.
        accesses: those that are not executed.
        functions: whose parameters are chosen.
    """
    solver = _Solver(tree, functions)
    for access in sorted(accesses, key=lambda a: (a.lineno, a.col_offset)):
        for way in ways_of(tree).ways_to(access):
            try:
                switch = solver.solved(way)
            except _Impossible:
                continue
            if switch:
                yield switch


def switch_for(
    tree: ast.Module, assertions: Collection[ast.Assert], functions: Sequence[ast.FunctionDef]
) -> Switch:
    """Returns arguments of functions with which assertions may hold; none where they never do."""
    if not assertions:
        return {}
    solver, found = _Solver(tree, functions), Switch()
    for assertion in assertions:
        for step, *callers in ways_of(tree).ways_to(assertion):
            guarded = replace(step, guards=((assertion.test, True),))
            try:
                _merge(found, solver.solved((guarded, *callers)))
            except _Impossible:
                return {}
    return found


class _Solver:
    """Looks for arguments with which conditions of a file hold.

    Args:
        tree: the file.
        functions: whose parameters are chosen.
    """

    def __init__(self, tree: ast.Module, functions: Sequence[ast.FunctionDef]) -> None:
        self._tree = tree
        self._functions = functions
        self._defaults = {p.name: p.default for f in functions for p in parameters_of(f.args)}
        self._definitions = definitions_of(tree)

    def solved(self, way: _Way) -> Switch:
        """Returns arguments with which all conditions of a way may have their outcomes.

        Raises:
            _Impossible: one never has.
        """
        found: Switch = {}
        for at, step in enumerate(way):
            for test, holds in step.guards:
                _merge(found, self._truth(test, way[at:], MAX_DEFINITIONS_BACK, holds=holds))
        return {n: v for n, v in found.items() if not _is_constant(self._defaults.get(n), v)}

    def _truth(self, test: ast.expr, way: _Way, left: int, *, holds: bool) -> Switch:
        """Returns arguments with which an expression is true, or is not."""
        match test:
            case ast.Call(args=[inner]) if ast.unparse(test.func).endswith(("const_expr", "bool")):
                return self._truth(inner, way, left, holds=holds)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._truth(operand, way, left, holds=not holds)
            case ast.BoolOp(values=parts) if isinstance(test.op, ast.And) == holds:
                found: Switch = {}
                for part in parts:
                    _merge(found, self._truth(part, way, left, holds=holds))
                return found
            case ast.BoolOp(values=parts):
                return self._any_truth(parts, way, left, holds=holds)
            case ast.Compare(left=one, ops=[op], comparators=[other]):
                return self._value(one, _value_for(type(op), other, holds=holds), way, left)
            case ast.Constant() | ast.Name() | ast.Attribute():
                return self._value(test, holds, way, left)
        return {}

    def _any_truth(self, parts: Sequence[ast.expr], way: _Way, left: int, *, holds: bool) -> Switch:
        """Returns arguments with which the first part has an outcome that they lead to."""
        is_possible = False
        for part in parts:
            try:
                found = self._truth(part, way, left, holds=holds)
            except _Impossible:
                continue
            if found:
                return found
            is_possible = True
        return _only_if(is_possible)

    def _value(self, node: ast.expr, value: object, way: _Way, left: int) -> Switch:
        """Returns arguments with which an expression has a value; a `bool` stands for a truth."""
        if value is _ANY or not left:
            return {}
        match node:
            case ast.Constant():
                return _only_if(_is_constant(node, value))
            case ast.Name(name):
                return self._variable(name, value, way, left - 1)
            case ast.Attribute():
                return self._attribute(node, value, way, left - 1)
            case ast.IfExp(test=test):
                for side, holds in ((node.body, True), (node.orelse, False)):
                    if _is_constant(side, value):
                        return self._truth(test, way, left - 1, holds=holds)
            case ast.BinOp(one, ast.FloorDiv(), ast.Constant(int(divisor))) if _is_number(value):
                return self._value(one, value * divisor, way, left - 1)  # type: ignore[operator]
        return self._truth(node, way, left - 1, holds=value) if isinstance(value, bool) else {}

    def _attribute(self, node: ast.Attribute, value: object, way: _Way, left: int) -> Switch:
        """Returns arguments with which an attribute has a value."""
        known = self._definitions.get((None, ast.unparse(node)), [])
        own = [found for found in known if found[0].owner is way[0].owner] or known
        maker = self._construction_of(own[0][0].owner) if own else ()
        return self._defined(own, value, maker, left) if own else {}

    def _construction_of(self, owner: ast.ClassDef | None) -> _Way:
        """Returns the call that constructs a class for functions whose parameters are chosen."""
        named = ways_of(self._tree).calls_named(owner.name) if owner is not None else ()
        return [step for step in named if step.function in self._functions][:1]

    def _variable(self, name: str, value: object, way: _Way, left: int) -> Switch:
        """Returns arguments with which a variable of the first function of a way has a value."""
        function = way[0].function
        definitions = self._definitions.get((function, name), [])
        if definitions:
            return self._defined(definitions, value, way[1:], left)
        if function is None or all(p.name != name for p in parameters_of(function.args)):
            return {}
        if function in self._functions:
            return {name: value}
        given = argument(way, name)
        return self._value(given, value, way[1:], left) if given is not None else {}

    def _defined(
        self, definitions: Sequence[_Definition], value: object, callers: _Way, left: int
    ) -> Switch:
        """Returns arguments with which the only assignment that may give a value gives it."""
        found: list[tuple[Step, Switch]] = []
        for step, definition in definitions:
            try:
                asked = self._value(definition, value, (step, *callers), left) if definition else {}
            except _Impossible:
                continue
            found.append((step, asked))
        if len(found) != 1:
            return _only_if(bool(found))
        (step, asked), way = found[0], (found[0][0], *callers)
        for test, holds in step.guards if len(definitions) > 1 else ():
            _merge(asked, self._truth(test, way, left, holds=holds))
        return asked


@lru_cache(maxsize=1)
def definitions_of(tree: ast.Module) -> _Definitions:
    """Returns the assignments of a file to names, by function, and to attributes."""
    found: _Definitions = {}
    for step in ways_of(tree).steps:
        for target, value in _assigned_by(step.node):
            place = step.function if isinstance(target, ast.Name) else None
            found.setdefault((place, ast.unparse(target)), []).append((step, value))
    return found


def _assigned_by(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yields the names and attributes that a node assigns, and what, if that is whole."""
    targets: list[ast.expr] = []
    value: ast.expr | None = None
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        targets, value = [node.target], node.value
    elif isinstance(node, ast.AugAssign | ast.For):
        targets = [node.target]
    for whole in targets:
        pairs: list[tuple[ast.expr, ast.expr | None]] = [(whole, value)]
        match whole, value:
            case ast.Tuple(parts), ast.Tuple(values) if len(parts) == len(values):
                pairs = list(zip(parts, values, strict=True))
        for target, given in pairs:
            for part in ast.walk(target):
                if isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Store):
                    yield part, given if part is target else None


def _value_for(op: type[ast.cmpop], other: ast.expr, *, holds: bool) -> object:
    """Returns what gives a comparison an outcome: a constant, `GIVEN` or `_ANY`."""
    kind = op if holds else _NEGATED[op]
    match other:
        case ast.Tuple(elts=[ast.Constant(value=value), *_]) if kind is ast.In:
            return value
        case ast.List(elts=[ast.Constant(value=value), *_]) if kind is ast.In:
            return value
        case ast.Constant(value=value):
            pass
        case _:
            return _ANY
    if kind in (ast.Eq, ast.Is):
        return value
    is_other = kind in (ast.NotEq, ast.IsNot)
    if is_other and (value is None or isinstance(value, bool)):
        return GIVEN if value is None else not value
    if not isinstance(value, int) or not (is_other or kind in _ORDERS):
        return _ANY
    if kind is ast.Lt:
        return value // 2 if value >= _COUNTS else value - 1
    if is_other or kind is ast.Gt:
        return 2 * value if value >= _COUNTS else value + 1
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _only_if(is_possible: bool) -> Switch:
    """Returns that nothing is asked of arguments.

    Raises:
        _Impossible: it is not possible.
    """
    if not is_possible:
        raise _Impossible
    return {}


def _merge(found: Switch, further: Switch) -> None:
    """Adds arguments to others.

    Raises:
        _Impossible: one of them needs two values.
    """
    for name, value in further.items():
        if found.setdefault(name, value) != value:
            raise _Impossible


def _is_constant(node: ast.expr | None, value: object) -> bool:
    """Returns whether an expression is a constant that is a value, has a truth, or is given."""
    if not isinstance(node, ast.Constant):
        return False
    if isinstance(value, bool):
        return bool(node.value) == value
    return node.value is not None if value is GIVEN else node.value == value


def argument(way: _Way, name: str) -> ast.expr | None:
    """Returns what the second call of a way gives a parameter of the function that it calls."""
    function = way[0].function
    if function is None or len(way) == 1:
        return None
    call, parameters = way[1].node, parameters_of(function.args)
    assert isinstance(call, ast.Call)
    names = [p.name for p in parameters if not p.is_keyword]
    is_made = function.name == "__init__"
    if names[:1] == ["self"] and (is_made or isinstance(call.func, ast.Attribute)):
        names = names[1:]
    given = argument_of(call, name, names.index(name) if name in names else None)
    if given is not None or any(isinstance(argument, ast.Starred) for argument in call.args):
        return given
    return next((p.default for p in parameters if p.name == name), None)
