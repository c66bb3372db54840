"""What handlers see of the interpreter: its state, its types, its policy, and dispatch by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from smemlint.reasons import Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from smemlint.analysis.simt.domain.ctypes import CType, IntType
    from smemlint.analysis.simt.domain.environment import Binding, LValue, Operand
    from smemlint.analysis.simt.domain.values import CallableValue, Pointer, Unknown, Value
    from smemlint.analysis.simt.frames import Frame
    from smemlint.analysis.simt.state import State
    from smemlint.frontend import ir
    from smemlint.frontend.program import Declaration, Function, Unit
    from smemlint.reasons import Assumption


class TypeResolver(Protocol):
    """Resolves names and declarators to types, in the scopes of the innermost frame."""

    def enter(self, unit: Unit) -> None:
        """Makes names mean what they mean in this unit."""

    def resolve(self, node: ir.Node) -> CType:
        """Returns the type that a declarator, type-id or specifier node names."""

    def named(self, words: tuple[str, ...]) -> CType:
        """Returns the type of words like `unsigned int`, `T` or `Traits<3>::Element`."""

    def record(self, name: str, arguments: tuple[str, ...]) -> CType | None:
        """Returns the class of the unit that a name with template arguments means."""

    def spelled(self, spelling: str) -> CType | None:
        """Returns the type that one (qualified, templated) word names; None where it names none."""


class Policy:
    """What host code does otherwise: hooks, which do here what evaluating a kernel takes.

    Attributes:
        tracks_scev: integers keep how the compiler computes them, which fusion needs.
        follows_lists: the elements of a `std::vector` of a list, and of a range that a loop is
            over, are followed one by one.
        is_given_null: a pointer that a function is given may be null. A kernel is taken to be given
            none: where an optional argument is there, it does the most.
    """

    tracks_scev = True
    follows_lists = False
    is_given_null = False

    def functions(self, ev: Evaluator, name: str) -> Iterator[Function]:
        """Yields the definitions whose last component is that of `name`, most local first."""
        yield from ev.state.unit.functions_named(name.rsplit("::", 1)[-1])

    def units(self, ev: Evaluator) -> Sequence[Unit]:
        """Returns the units whose variables are visible, most local first."""
        return (ev.state.unit,)

    def keeps_initial_value(self, ev: Evaluator, name: str, type: CType) -> bool:
        """Returns whether a variable that is not declared constant is never written.

        For a kernel none is: host code may set any variable before the launch.
        """
        return False

    def bind_global(self, ev: Evaluator, declaration: Declaration, found: Binding) -> Binding:
        """Returns what a variable of a file is bound to."""
        return found

    def convert_unknown(self, ev: Evaluator, value: Unknown, type: IntType) -> Value:
        """Returns an integer that is not known."""
        return value

    def max_trips(self, ev: Evaluator, loop: ir.Node) -> int:
        """Returns how many iterations of a loop, and of loops in it, are executed at the most."""
        return ev.state.budget.max_trips

    def run_inlined(
        self,
        ev: Evaluator,
        function: Function,
        operands: Sequence[Operand],
        this: Pointer | None,
        run: Callable[[], Value],
    ) -> Value:
        """Returns the value of a called function, which `run` executes.

        Args:
            ev: the evaluator.
            function: what is called.
            operands: its operands, evaluated.
            this: the object of a method or constructor.
            run: executes it.
        """
        return run()

    def is_repeated(self, ev: Evaluator, function: Function, frame: Frame) -> bool:
        """Returns whether a call whose parameters are bound tells nothing that is not known.

        What it returns is in the frame then. In a kernel each call makes its own accesses.
        """
        return False

    def may_write(self, name: str, type: CType, *, is_used: bool) -> bool:
        """Returns whether a function of which nothing was read may write a variable given to it.

        Helpers of kernels take numbers by value. Host code asks for shapes by reference.
        """
        return False

    def on_unread(self, ev: Evaluator, name: str, operands: Sequence[Operand]) -> None:
        """Follows what a function of which nothing was read is given, and may call."""

    def on_lambda(self, ev: Evaluator, node: ir.Lambda, made: CallableValue | None) -> None:
        """Sees a lambda that was made; None: that is about to be called."""

    def leaves(self, ev: Evaluator, node: ir.Lambda, operands: Sequence[Operand]) -> bool:
        """Returns whether a call of a lambda is not run: it changes nothing that is followed."""
        return False

    def intercept_call(self, ev: Evaluator, node: ir.FuncCall) -> Value | None:
        """Returns the value of a call that the policy itself evaluates; None for all others."""
        return None

    def intercept_launch(self, ev: Evaluator, node: ir.Launch) -> bool:
        """Returns whether the policy itself evaluates a launch."""
        return False

    def may_end(self, ev: Evaluator) -> bool:
        """Returns whether a call that ends the program surely ends what is run.

        What is behind one in a kernel that may come to it is run by all that does not.
        """
        return not any(a.topic is Topic.CONDITION for a in ev.state.assumptions)

    def on_step(self, ev: Evaluator) -> None:
        """Sees that a statement is about to be executed."""

    def on_jump(self, ev: Evaluator, node: ir.Goto | ir.Label) -> None:
        """Sees a label, or a jump to one that is not followed."""

    def holds(self, ev: Evaluator, steps: int) -> bool:
        """Returns whether a call of so many statements is run to its end."""
        return True

    def marks(self) -> tuple[object, ...]:
        """Returns what changes where the policy takes note of something."""
        return ()

    def on_assignment(self, node: ir.Assignment, value: Value) -> None:
        """Sees the value that was assigned."""

    def prefer(self, ev: Evaluator, a: Value, b: Value, node: ir.Node) -> Value | None:
        """Returns the one of two values that wins where control flow joins; None for a join."""
        return None

    def path_through(
        self, ev: Evaluator, node: ir.Node, alternatives: Sequence[Assumption]
    ) -> int | None:
        """Returns which alternative of an open choice is executed; None for all of them."""
        return None

    def refine(self, value: Value, known: Value | None) -> None:
        """Takes the switched value as known inside of a case; None ends that."""


class Evaluator(Protocol):
    """Executes statements and evaluates expressions for all threads of a block at once."""

    state: State
    policy: Policy

    @property
    def types(self) -> TypeResolver:
        """What resolves types."""

    def evaluate(self, node: ir.Node) -> Value:
        """Returns the value of an expression; side effects happen for the active threads."""

    def lvalue(self, node: ir.Node) -> LValue | Unknown:
        """Returns what an expression names in memory; `Unknown` where that is not followed."""

    def execute(self, node: ir.Node | None) -> None:
        """Executes a statement for the active threads."""
