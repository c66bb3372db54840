"""How kernels are evaluated; host code differs (see `launches`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from smemlint.analysis.simt.domain.ctypes import CType, IntType
from smemlint.analysis.simt.domain.environment import Binding, Operand
from smemlint.analysis.simt.domain.values import Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.state import Frame
from smemlint.frontend import ir
from smemlint.frontend.program import Declaration, Function, Unit
from smemlint.reasons import Assumption


class KernelPolicy:
    """The policy of kernels: one unit, nothing guessed, no call intercepted."""

    tracks_scev = True
    follows_lists = False

    def functions(self, ev: Evaluator, name: str) -> Iterator[Function]:
        """Yields the definitions of the unit."""
        yield from ev.state.unit.functions_named(name.rsplit("::", 1)[-1])

    def units(self, ev: Evaluator) -> Sequence[Unit]:
        """Returns the kernel's unit."""
        return (ev.state.unit,)

    def keeps_initial_value(self, ev: Evaluator, name: str, type: CType) -> bool:
        """Returns False: host code may set any variable before the launch."""
        return False

    def bind_global(self, ev: Evaluator, declaration: Declaration, found: Binding) -> Binding:
        """Returns what was found."""
        return found

    def convert_unknown(self, ev: Evaluator, value: Unknown, type: IntType) -> Value:
        """Returns the value as it is."""
        return value

    def max_trips(self, ev: Evaluator, loop: ir.Node) -> int:
        """Returns the limit of the budget."""
        return ev.state.budget.max_trips

    def run_inlined(
        self,
        ev: Evaluator,
        function: Function,
        operands: Sequence[Operand],
        run: Callable[[], Value],
    ) -> Value:
        """Executes every function that is called."""
        return run()

    def is_repeated(self, ev: Evaluator, function: Function, frame: Frame) -> bool:
        """Returns False: each call makes its own accesses."""
        return False

    def intercept_call(self, ev: Evaluator, node: ir.FuncCall) -> Value | None:
        """Intercepts none."""
        return None

    def intercept_launch(self, ev: Evaluator, node: ir.Launch) -> bool:
        """Intercepts none."""
        return False

    def on_step(self, ev: Evaluator) -> None:
        """Does nothing."""

    def on_assignment(self, node: ir.Assignment, value: Value) -> None:
        """Does nothing."""

    def prefer(self, ev: Evaluator, a: Value, b: Value, node: ir.Node) -> Value | None:
        """Prefers none."""
        return None

    def path_through(
        self, ev: Evaluator, node: ir.Node, alternatives: Sequence[Assumption]
    ) -> int | None:
        """Returns None: all alternatives of an open choice are executed."""
        return None

    def refine(self, value: Value, known: Value | None) -> None:
        """Does nothing."""
