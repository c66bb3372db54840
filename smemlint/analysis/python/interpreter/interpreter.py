"""The state of one interpretation, and the dispatch of nodes to their handlers.

Nothing of the source is ever executed. A branch on an unknown condition is taken both ways and
joined; a loop of unknown length is executed once for any iteration.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field

from smemlint.analysis.python.interpreter.dispatch import (
    EXPRESSIONS,
    STATEMENTS,
    ExpressionHandlers,
    StatementHandlers,
)
from smemlint.analysis.python.interpreter.model import LibraryModel
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Class,
    Function,
    Instance,
    Launch,
    Scope,
    Scopes,
    Value,
    is_known,
    join,
)
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_PYTHON_STEPS
from smemlint.limits.errors import TooLarge
from smemlint.limits.steps import spend


class OverBudget(Exception):
    """The interpretation took more steps than it may."""


class Policy:
    """Decides what the semantics of Python leave open: the base executes each statement once."""

    def run(self, interpreter: Interpreter, body: Sequence[ast.stmt], scopes: Scopes) -> bool:
        """Executes statements in order; returns whether one of their paths reaches the end."""
        return all(interpreter.execute(statement, scopes) for statement in body)

    def decide(self, condition: ast.expr, value: Value) -> bool | None:
        """Returns the outcome of a condition whose value is not known; None leaves it open."""
        return None

    def enters(
        self, interpreter: Interpreter, function: Function, arguments: Sequence[Value], named: Scope
    ) -> bool:
        """Returns whether a call of a function of the file is followed."""
        return True

    def inside_call(self, *, is_outermost: bool) -> AbstractContextManager[None]:
        """Opens the execution of a function's body."""
        return nullcontext()

    def leaves(self, function: Function, scopes: Scopes) -> None:
        """Takes note of what the variables of a function are where its execution ends."""

    def inside_loop(self) -> AbstractContextManager[None]:
        """Opens the execution of a loop."""
        return nullcontext()

    def assigned(self, target: ast.expr) -> None:
        """Takes note of an assignment, before it happens."""


@dataclass(slots=True)
class PendingJumps:
    """Scopes at the jumps of a loop that wait for their targets.

    Attributes:
        breaks: they meet behind the loop.
        continues: they meet in front of the next iteration.
    """

    breaks: list[Scope] = field(default_factory=list)
    continues: list[Scope] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Frame:
    """A call that is executed, and the values that it returned so far.

    Attributes:
        outer: the scopes around it that its `global` and `nonlocal` names are bound in.
    """

    function: Function
    returned: list[Value] = field(default_factory=list)
    outer: dict[str, Scope] = field(default_factory=dict)


class Interpreter:
    """Evaluates expressions and executes statements in scopes of abstract values.

    Attributes:
        model: of the library whose kernels the file has.
        kernel_marks: decorators that compile a function for the GPU, as the source spells them.
        steps: statements and expressions so far.
        loops: how many `for` loops are around the current statement.
        open_paths: how many branches and loops on unknown conditions are around it.
        frames: calls that are executed, the innermost last.
        jumps: of the loops around the current statement.
        matches: `match` statements as what they stand for.
        instances: for each class, the object on which its methods are called from outside.
    """

    def __init__(
        self,
        model: LibraryModel,
        kernel_marks: Sequence[str] = (),
        *,
        policy: Policy | None = None,
        expressions: ExpressionHandlers = EXPRESSIONS,
        statements: StatementHandlers = STATEMENTS,
        max_steps: int = MAX_PYTHON_STEPS,
    ) -> None:
        self.model = model
        self.kernel_marks = tuple(kernel_marks)
        self.policy = policy if policy is not None else Policy()
        self.launches: list[Launch] = []
        self.steps = 0
        self.loops = 0
        self.open_paths = 0
        self.frames: list[Frame] = []
        self.jumps: list[PendingJumps] = []
        self.instances: dict[Class, Instance] = {}
        self.matches: dict[ast.Match, list[ast.stmt]] = {}
        self._expressions = expressions
        self._statements = statements
        self._max_steps = max_steps

    def evaluate(self, node: ast.expr, scopes: Scopes) -> Value:
        """Returns the value of an expression; one that is too large is not known."""
        self._step()
        handler = self._expressions.get(type(node))
        if handler is None:
            return UNKNOWN
        try:
            return handler(self, node, scopes)
        except TooLarge:
            return UNKNOWN

    def truth(self, node: ast.expr, scopes: Scopes) -> bool | None:
        """Returns the outcome of a condition; None where it is not known."""
        value = self.evaluate(node, scopes)
        return bool(value) if is_known(value) else self.policy.decide(node, value)

    def execute(self, node: ast.stmt, scopes: Scopes) -> bool:
        """Executes a statement; returns whether one of its paths reaches the end."""
        self._step()
        handler = self._statements.get(type(node))
        return True if handler is None else handler(self, node, scopes)

    def run(self, body: Sequence[ast.stmt], scopes: Scopes) -> bool:
        """Executes statements in order; returns whether one of their paths reaches the end."""
        return self.policy.run(self, body, scopes)

    @contextmanager
    def on_open_path(self) -> Iterator[None]:
        """Opens the execution of statements that may be skipped."""
        self.open_paths += 1
        try:
            yield
        finally:
            self.open_paths -= 1

    @contextmanager
    def inside_loop(self, *, is_for: bool = True) -> Iterator[PendingJumps]:
        """Opens the execution of a loop, whose jumps wait for their targets."""
        jumps = PendingJumps()
        self.loops += is_for
        self.jumps.append(jumps)
        try:
            yield jumps
        finally:
            self.loops -= is_for
            self.jumps.pop()

    def _step(self) -> None:
        self.steps += 1
        spend()
        if self.steps > self._max_steps:
            raise OverBudget


def join_scopes(scope: Scope, other: Scope) -> None:
    """Leaves in a scope what covers it and another one."""
    for name in scope.keys() | other.keys():
        if name in scope and name in other:
            scope[name] = join(scope[name], other[name])
        else:
            scope.setdefault(name, other.get(name, UNKNOWN))


def replace_scope(scope: Scope, other: Scope) -> None:
    """Makes a scope equal to another one."""
    scope.clear()
    scope.update(other)
