"""Statements of executed programs that mean more than in Python: structs, imports, stores."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from smemlint.analysis.python.cute_dsl.execution.functions.tensors import item_of
from smemlint.analysis.python.cute_dsl.execution.host_classes import tell_bases
from smemlint.analysis.python.cute_dsl.execution.left_out import holds_shared_memory
from smemlint.analysis.python.cute_dsl.execution.recording.elements import (
    access_element,
    elements_of,
)
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import Opaque, UnknownTensor, payload_of
from smemlint.analysis.python.cute_dsl.memory import annotations_of, struct_of
from smemlint.analysis.python.interpreter import Interpreter, Policy
from smemlint.analysis.python.interpreter.assignments import assign
from smemlint.analysis.python.interpreter.calls import call
from smemlint.analysis.python.interpreter.dispatch import STATEMENTS
from smemlint.analysis.python.interpreter.expressions import operate
from smemlint.analysis.python.interpreter.statements import execute_class
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Class,
    Function,
    Scope,
    Scopes,
    Symbol,
    Unknown,
    Value,
)
from smemlint.facts import AccessKind
from smemlint.frontend.python.python_source import belong
from smemlint.layout import cute


class ByThread(Policy):
    """Leaves a function with the threads that entered it."""

    def __init__(self, run: Execution) -> None:
        self._run = run

    def enters(
        self, interpreter: Interpreter, function: Function, arguments: Sequence[Value], named: Scope
    ) -> bool:
        """Takes note of a function that is executed."""
        self._run.entered.add(function.node)
        return True

    def leaves(self, function: Function, scopes: Scopes) -> None:
        """Takes note of the variables that hold shared memory, not those of the module."""
        if self._run.kernel is not None:
            self._run.shared_names.update(
                (function.node, name)
                for scope in scopes[1:]
                for name, value in scope.items()
                if holds_shared_memory(value)
            )

    @contextmanager
    def inside_call(self, *, is_outermost: bool) -> Iterator[None]:
        """Opens the execution of a function's body."""
        kernel = self._run.kernel
        mask = kernel.mask if kernel is not None else None
        try:
            yield
        finally:
            if kernel is not None and mask is not None:
                kernel.mask = mask


class Statements:
    """Handlers of statements that share the state of an execution."""

    def __init__(self, run: Execution) -> None:
        self.run = run

    def execute_import_from(
        self, interpreter: Interpreter, node: ast.ImportFrom, scopes: Scopes
    ) -> bool:
        """Binds members of a module: what a file of the tree defines, else their names."""
        module = "." * node.level + (f"{node.module}." if node.module else "")
        for alias in node.names:
            path = module + alias.name
            name = ast.copy_location(ast.Name(alias.name), node)
            belong(self.run.texts.text_of(node), name)  # relative to the file that imports
            symbol = interpreter.model.symbol(Symbol(path), name)
            scopes[-1][alias.asname or alias.name] = symbol
        return True

    def execute_raise(self, interpreter: Interpreter, node: ast.Raise, scopes: Scopes) -> bool:
        """Ends the path, and notes where the program refuses its arguments."""
        if not interpreter.open_paths:
            self.run.refusals.add(self.run.span_of(node))
        return False

    def execute_class(self, interpreter: Interpreter, node: ast.ClassDef, scopes: Scopes) -> bool:
        """Binds a class, or the layout of a `cute.struct`."""
        execute_class(interpreter, node, scopes)
        made = scopes[-1][node.name]
        if isinstance(made, Class):
            tell_bases(interpreter, made)
        for decorator in reversed(node.decorator_list):
            function = interpreter.evaluate(decorator, scopes)
            result: Value = UNKNOWN
            if isinstance(function, Function) and isinstance(made, Class):
                made.members["__annotations__"] = annotations_of(interpreter, node, scopes)
                result = call(interpreter, function, (made,), {})
            if isinstance(result, Unknown) and ast.unparse(decorator).endswith("struct"):
                result = struct_of(interpreter, node, scopes)
            made = made if isinstance(result, Unknown) else result
        scopes[-1][node.name] = made
        return True

    def execute_assignment(
        self, interpreter: Interpreter, node: ast.Assign, scopes: Scopes
    ) -> bool:
        """Assigns a value to each target; an element of a tensor is stored."""
        stores = [
            t
            for t in node.targets
            if isinstance(t, ast.Subscript) and self._is_tensor(interpreter, t, scopes)
        ]
        if not stores:
            value = interpreter.evaluate(node.value, scopes)
            for target in node.targets:
                assign(interpreter, target, _spread(value, target), scopes)
            return True
        interpreter.evaluate(node.value, scopes)
        for target in stores:
            self._store(interpreter, target, scopes)
        return True

    def execute_augmented(
        self, interpreter: Interpreter, node: ast.AugAssign, scopes: Scopes
    ) -> bool:
        """Assigns the result of an operator; an element of a tensor is loaded and stored."""
        before = interpreter.evaluate(node.target, scopes)
        operand = interpreter.evaluate(node.value, scopes)
        if isinstance(node.target, ast.Subscript) and self._is_tensor(
            interpreter, node.target, scopes
        ):
            self._store(interpreter, node.target, scopes)
        else:
            assign(interpreter, node.target, operate(interpreter, node.op, before, operand), scopes)
        return True

    def _is_tensor(self, interpreter: Interpreter, target: ast.Subscript, scopes: Scopes) -> bool:
        owner = elements_of(payload_of(interpreter.evaluate(target.value, scopes)))
        return isinstance(owner, cute.Tensor | UnknownTensor)

    def _store(self, interpreter: Interpreter, target: ast.Subscript, scopes: Scopes) -> None:
        tensor = elements_of(payload_of(interpreter.evaluate(target.value, scopes)))
        key = interpreter.evaluate(target.slice, scopes)
        if not isinstance(tensor, cute.Tensor | UnknownTensor):
            return
        self.run.reach(target.slice, tensor)
        if item_of(self.run, tensor, key) is None:
            access_element(self.run, tensor, key, AccessKind.STORE, target)
        elif isinstance(tensor, cute.Tensor) and tensor.is_shared:
            self.run.note(target, "an assignment to a part of a tensor of shared memory")


def _spread(value: Value, target: ast.expr) -> Value:
    """Returns what each name of a tuple is assigned where an object of a library is unpacked."""
    if isinstance(value, Opaque) and isinstance(target, ast.Tuple):
        return tuple(Opaque(f"{value.name}[{i}]") for i in range(len(target.elts)))
    return value


def handlers(run: Execution) -> dict[type[ast.stmt], object]:
    """Returns the handlers of statements of an executed program."""
    from smemlint.analysis.python.cute_dsl.execution.control_flow import ControlFlow

    flow, own = ControlFlow(run), Statements(run)
    return {
        **STATEMENTS,
        ast.If: flow.execute_if,
        ast.Assert: flow.execute_assert,
        ast.For: flow.execute_for,
        ast.While: flow.execute_while,
        ast.With: flow.execute_with,
        ast.ImportFrom: own.execute_import_from,
        ast.Raise: own.execute_raise,
        ast.ClassDef: own.execute_class,
        ast.Assign: own.execute_assignment,
        ast.AugAssign: own.execute_augmented,
    }
