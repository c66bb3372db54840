"""The functions of a Python module: kernels, device functions, and host code that may launch."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import TypeAlias

from smemlint.frontend.heuristics import numba_member
from smemlint.frontend.python.imports import Imports, dotted
from smemlint.frontend.python.jit.dialects import COORDINATES, DIALECTS, NUMBA, Dialect
from smemlint.frontend.python.parameters import Parameter, argument_of, parameters_of
from smemlint.frontend.python.syntax_walk import is_definition, suites, walk
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_ALIASES

_MODULE = "<module>"
Body = ast.FunctionDef | ast.Module
Call: TypeAlias = "tuple[Definition, ast.Call]"
"""A call, and the definition that it stands in."""


@dataclass(eq=False)
class Definition:
    """A function, or the module's own statements.

    Attributes:
        outer: the function around it; None for the module.
        dialect: how its kernel code is read; None for host code.
        is_device: called by kernels, not launched.
        makes_kernels: returns its parameter as a kernel, or as device code.
        unique: the name that trees use for it, which no other definition has.
        imports: of its file, where that is another one than the unit's.
        decorator: the call that makes it a kernel, if that has arguments.
    """

    node: Body
    outer: Definition | None
    dialect: Dialect | None = None
    is_device: bool = False
    makes_kernels: bool = False
    unique: str = ""
    imports: Imports | None = None
    decorator: ast.Call | None = None
    inner: dict[str, Definition] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Returns the name in the source."""
        return self.node.name if isinstance(self.node, ast.FunctionDef) else _MODULE

    @property
    def is_kernel(self) -> bool:
        """Returns whether it can be launched."""
        return self.dialect is not None and not self.is_device

    @cached_property
    def assigned(self) -> dict[str, list[ast.expr | None]]:
        """Returns the names that the body assigns, each with the values that are written out."""
        found: dict[str, list[ast.expr | None]] = {}
        for node in self.own_nodes():
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    for name, value in _bound(target, node.value):
                        found.setdefault(name, []).append(value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                for name, value in _bound(node.target, node.value):
                    found.setdefault(name, []).append(value)
            elif isinstance(node, ast.AugAssign | ast.For | ast.NamedExpr):
                for name, _ in _bound(node.target, None):
                    found.setdefault(name, []).append(None)
        return found

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Returns parameters that are passed by position or name."""
        return () if isinstance(self.node, ast.Module) else parameters_of(self.node.args)

    def own_nodes(self) -> Iterator[ast.AST]:
        """Yields nodes of the body, in order, those of inner functions and classes left out.

        Kernels run where their libraries are installed: what stands in for a library that is
        missing is left out, too.
        """
        for statement in self.node.body:
            if not is_definition(statement):
                yield from walk(statement, into=lambda n: not (is_definition(n) or _stands_in(n)))

    def resolved(self, node: ast.expr) -> ast.expr:
        """Returns the value of a name that has one alone, here or in an enclosing scope."""
        for _ in range(MAX_ALIASES):
            name = dotted(node)
            if name is None:
                break
            value = self.only_value(name)
            if value is None:
                break
            node = value
        return node

    def only_value(self, name: str) -> ast.expr | None:
        """Returns the one value of a name, here or in an enclosing scope; None for others."""
        scope: Definition | None = self
        while scope is not None:
            if any(p.name == name for p in scope.parameters):
                return scope.passed(name) if scope is not self else None
            if name in scope.assigned:
                return scope.value_of(name)
            scope = scope.outer
        return None

    @property
    def module(self) -> Definition:
        """Returns the module's own code."""
        return self if self.outer is None else self.outer.module

    def host_scopes(self) -> Iterator[Definition]:
        """Yields the module and the functions of host code in it."""
        pending = [self.module]
        while pending:
            scope = pending.pop()
            if scope.dialect is None:
                yield scope
                pending += scope.inner.values()

    @cached_property
    def _uses(self) -> tuple[Counter[Definition | str], dict[Definition, list[Call]]]:
        """Returns how often host code names a definition or a member, and its calls by name."""
        named, calls = Counter[Definition | str](), dict[Definition, list[Call]]()
        for scope in self.host_scopes():
            for node in scope.own_nodes():
                if isinstance(node, ast.Attribute):
                    named[node.attr] += 1
                name = node.func if isinstance(node, ast.Call) else node
                found = scope.lookup(name.id) if isinstance(name, ast.Name) else None
                if found is not None and isinstance(node, ast.Call):
                    calls.setdefault(found, []).append((scope, node))
                elif found is not None:
                    named[found] += 1
        return named, calls

    def passed(self, name: str) -> ast.Constant | None:
        """Returns the literal that all calls in the file give a parameter; None for all else."""
        named, calls = self.module._uses
        own = calls.get(self, [])
        if name in self.assigned or named[self.name] or named[self] > len(own):
            return None  # it is used in other ways, too
        at, default = next((i, p.default) for i, p in enumerate(self.parameters) if p.name == name)
        given = [(scope, argument_of(call, name, at) or default) for scope, call in own]
        values = [scope.resolved(value) if value is not None else None for scope, value in given]
        literals = {v.value: v for v in values if isinstance(v, ast.Constant)}
        is_known = len(literals) == 1 and all(isinstance(v, ast.Constant) for v in values)
        is_known &= not any(_hides_arguments(call) for _, call in own)
        return next(iter(literals.values())) if is_known else None

    def value_of(self, name: str) -> ast.expr | None:
        """Returns what the body gives a name, once or each time the same literal; else None."""
        first, *others = self.assigned.get(name, [None])
        if not others:
            return first
        same = isinstance(first, ast.Constant) and all(
            isinstance(value, ast.Constant)
            and (type(value.value), value.value) == (type(first.value), first.value)
            for value in others
        )
        return first if same else None

    def module_assigns(self, name: str) -> bool:
        """Returns whether the module around it gives the name a value."""
        return name in self.module.assigned

    @cached_property
    def is_stub(self) -> bool:
        """Returns whether calls of it mean another definition: its body only raises an error."""
        body = [s for s in self.node.body if not _is_remark(s)]
        return isinstance(self.node, ast.FunctionDef) and (
            not body or isinstance(body[0], ast.Raise)
        )

    def lookup(self, name: str) -> Definition | None:
        """Returns the definition that a name means here."""
        scope: Definition | None = self
        while scope is not None:
            if name in scope.inner:
                return scope.inner[name]
            scope = scope.outer
        return None


class Definitions:
    """All definitions of a module; `host` is the module's own code."""

    def __init__(self, module: ast.Module, imports: Imports) -> None:
        self._imports = imports
        self.host = Definition(module, None, unique=_MODULE)
        self.all: list[Definition] = []
        self._collect(module.body, self.host)
        self._find_wrapped(module)
        for found in self.all:
            if found.dialect is None and _is_given_its_library(found):
                found.dialect = NUMBA
        counts = Counter([*(d.name for d in self.all), *self.host.assigned])
        for number, found in enumerate(self.all):
            found.unique = found.name if counts[found.name] == 1 else f"{found.name}@{number}"
        self.all.append(self.host)

    def _collect(self, body: Sequence[ast.stmt], scope: Definition) -> None:
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                self._collect(statement.body, scope)  # a method's name is taken for a function's
            elif isinstance(statement, ast.FunctionDef):
                found = Definition(statement, scope)
                for decorator in statement.decorator_list:
                    self._mark(found, decorator)
                scope.inner[found.name] = found
                self.all.append(found)
                self._collect(statement.body, found)
            elif not is_definition(statement):
                for block in suites(statement):
                    self._collect(block, scope)

    def _mark(self, found: Definition, decorator: ast.expr) -> bool:
        """Reads `@cuda.jit`, `@cuda.jit(..)`, `@cuda.jit(..)(..)` or a function that does it."""
        call = decorator if isinstance(decorator, ast.Call) else None
        head = call.func if call is not None else decorator
        name = self._imports.resolve(head)
        for dialect in DIALECTS:
            if dialect.member(name) in dialect.decorators:
                found.dialect, found.decorator = dialect, call
                found.is_device = call is not None and _says_device(call)
                return True
        wrapper = self.host.inner.get(dotted(head) or "")
        made = _made_of_parameter(wrapper, decorator) if wrapper is not None else None
        if wrapper is None or made is None or not self._mark(found, made):
            return False
        wrapper.makes_kernels = True
        return True

    def _find_wrapped(self, module: ast.Module) -> None:
        """Returns functions that are made kernels by a call: `k = cuda.jit(f)`."""
        by_name = {d.name: d for d in self.all}
        for node in walk(module):
            if isinstance(node, ast.Call) and len(node.args) == 1:
                found = by_name.get(dotted(node.args[0]) or "")
                if found is None or found.dialect is not None:
                    continue
                self._mark(found, _decorator_in(node))


def _decorator_in(call: ast.Call) -> ast.Call:
    """Returns `jit(..)` of `jit(..)(f)`, and `jit(f)` as it is."""
    return call.func if isinstance(call.func, ast.Call) else call


def _made_of_parameter(wrapper: Definition, use: ast.expr) -> ast.Call | None:
    """Returns `jit(..)` of `def wrapper(f, ..): return jit(..)(f)` that ends before its use."""
    last = wrapper.node.body[-1]
    value = last.value if isinstance(last, ast.Return) else None
    if not isinstance(value, ast.Call) or len(value.args) != 1 or not wrapper.parameters:
        return None
    is_plain = all(_is_remark(s) for s in wrapper.node.body[:-1])
    is_own = dotted(value.args[0]) == wrapper.parameters[0].name
    is_before = (last.end_lineno or last.lineno) < use.lineno
    return _decorator_in(value) if is_plain and is_own and is_before else None


def _is_remark(statement: ast.stmt) -> bool:
    """Returns whether a statement is a text or `...`, which do nothing."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_given_its_library(found: Definition) -> bool:
    """Returns whether a function is a kernel that takes Numba from a parameter around it.

    `def maker(cuda): def kernel(a): s = cuda.shared.array(..)`, for an emulator as well as Numba.
    """
    scope, given = found.outer, set()
    while scope is not None:
        given |= {p.name for p in scope.parameters if numba_member(f"{p.name}.jit")}
        scope = scope.outer
    if not given:
        return False
    names = (dotted(n) or "" for n in found.own_nodes() if isinstance(n, ast.Attribute))
    used = (name.partition(".") for name in names)
    return any(head in given and rest in COORDINATES for head, _, rest in used)


def _stands_in(node: ast.AST) -> bool:
    """Returns whether a node is a handler of imports that failed."""
    caught = node.type if isinstance(node, ast.ExceptHandler) else None
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(dotted(n) in ("ImportError", "ModuleNotFoundError") for n in names)


def _hides_arguments(call: ast.Call) -> bool:
    """Returns whether a call has `*args` or `**kwargs`."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    )


def _says_device(call: ast.Call) -> bool:
    return any(
        k.arg == "device" and isinstance(k.value, ast.Constant) and k.value.value is True
        for k in call.keywords
    )


def _bound(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    """Yields names that an assignment binds, with the value where it is written out."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        parts: list[ast.expr | None] = [None] * len(target.elts)
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts):
            parts = list(value.elts)
        for element, part in zip(target.elts, parts, strict=True):
            yield from _bound(element, part)
