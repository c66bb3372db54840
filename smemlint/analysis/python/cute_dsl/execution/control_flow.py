"""Branches and loops of executed programs: by thread, and once for any iteration."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.conditions import learn, learn_behind
from smemlint.analysis.python.cute_dsl.execution.merging import merge_branches, widen
from smemlint.analysis.python.cute_dsl.execution.outside.guessed_types import RefutedGuess
from smemlint.analysis.python.cute_dsl.execution.recording.selects import (
    is_compiled_in,
    is_preprocessed,
    parts_blocks,
)
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import LoopRange, Number, Opaque
from smemlint.analysis.python.interpreter import Interpreter
from smemlint.analysis.python.interpreter.assignments import assign
from smemlint.analysis.python.interpreter.changes import Changes
from smemlint.analysis.python.interpreter.interpreter import replace_scope
from smemlint.analysis.python.interpreter.statements import execute_with
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Scope,
    Scopes,
    Unknown,
    Value,
    is_known,
)
from smemlint.analysis.simt.codegen.next_iterations import mark_open_fusions
from smemlint.analysis.simt.codegen.unrolled_sums import iteration_number
from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.domain.values import Unknown as UnknownNumber
from smemlint.frontend.python.syntax_walk import walk
from smemlint.limits.budgets import MAX_DSL_UNROLLED, MAX_DSL_UNROLLED_ON_REQUEST
from smemlint.reasons import Reason, ReasonCode, outcome

_ANOTHER_PATH = UnknownNumber(Reason(ReasonCode.UNKNOWN_CONDITION, ""), is_uniform=True)


class ControlFlow:
    """Handlers of statements that share the state of an execution."""

    def __init__(self, run: Execution) -> None:
        self.run = run

    def condition(
        self, interpreter: Interpreter, node: ast.expr, scopes: Scopes
    ) -> bool | NDArray[np.bool_] | UnknownNumber:
        """Returns a condition: one outcome, one a thread, or that it is not known."""
        value = interpreter.evaluate(node, scopes)
        if is_known(value):
            return bool(value)
        test = numbers.truth_of(value) if isinstance(value, Number | Opaque) else None
        if node in self.run.outcomes and (test is None or isinstance(test, UnknownNumber)):
            holds = self.run.outcomes[node]
            learn(self.run, interpreter, node, scopes, holds=holds)
            return holds
        if test is not None:
            return test
        decided = interpreter.policy.decide(node, value)
        if decided is not None:
            return decided
        if isinstance(value, Unknown):
            reason = value.reason or numbers.OPEN_CONDITION
            return UnknownNumber(reason, is_uniform=value.is_uniform)
        return True  # an object

    # ---- branches

    def execute_if(self, interpreter: Interpreter, node: ast.If, scopes: Scopes) -> bool:
        """Executes a branch: both where threads differ or the condition is not known."""
        test = self.condition(interpreter, node.test, scopes)
        if isinstance(test, UnknownNumber) and self._assumes(interpreter, node.test):
            test = self._assumed(interpreter, node, scopes)
        if isinstance(test, UnknownNumber) and is_compiled_in(node.test):
            test = replace(test, is_uniform=True)
            if interpreter.frames:
                text, function = self.run.texts.text_of(node), interpreter.frames[-1].function.node
                self.run.settling.branches[node] = text, function
        if isinstance(test, bool):
            if test and isinstance(node.body[-1], ast.Raise) and not interpreter.open_paths:
                self.run.refused.append(node.test)
                self._learn_types(interpreter, node.test, scopes, holds=False)
            return interpreter.run(node.body if test else node.orelse, scopes)
        kernel, scope = self.run.kernel, scopes[-1]
        before = dict(scope)
        outer = kernel.mask if kernel is not None else None
        is_open = isinstance(test, UnknownNumber)
        parts = kernel is not None and parts_blocks(interpreter, node, scopes, is_open=is_open)
        interpreter.open_paths += is_open
        with self.run.changes.path() as changes:
            reaches_end = self._branch(
                interpreter, node.body, scopes, test, outer, holds=True, parts=parts
            )
            changed = changes.undo()
        first = dict(scope)
        replace_scope(scope, before)
        with self.run.changes.path() as changes:
            other_reaches_end = self._branch(
                interpreter, node.orelse, scopes, test, outer, holds=False, parts=parts
            )
            other_changed = changes.undo()
        interpreter.open_paths -= is_open
        sides = (
            (node.body, changed, reaches_end),
            (node.orelse, other_changed, other_reaches_end),
        )
        self._settle(sides, test)
        if reaches_end and other_reaches_end:
            replace_scope(scope, merge_branches(self.run, first, scope, test))
        elif reaches_end:
            replace_scope(scope, first)
        if is_open and reaches_end != other_reaches_end:
            learn_behind(self.run, interpreter, node, scopes, holds=reaches_end)
        if kernel is not None and outer is not None and not is_open:
            left = np.zeros_like(outer)
            left |= outer & np.asarray(test) if reaches_end else left
            left |= outer & ~np.asarray(test) if other_reaches_end else left
            kernel.mask = left
        return reaches_end or other_reaches_end

    def execute_with(self, interpreter: Interpreter, node: ast.With, scopes: Scopes) -> bool:
        """Executes the body of a `with`: that of `elect_one()` as a branch."""
        context = node.items[0].context_expr
        if isinstance(context, ast.Call) and ast.unparse(context.func).endswith("elect_one"):
            return self.execute_if(interpreter, ast.If(context, node.body, []), scopes)
        return execute_with(interpreter, node, scopes)

    def _settle(
        self,
        sides: Sequence[tuple[Sequence[ast.stmt], Changes, bool]],
        test: NDArray[np.bool_] | UnknownNumber,
    ) -> None:
        """Leaves what covers the changes of both sides of a branch.

        One that ends in `raise` changes nothing; what one changes that returns may stay so.
        """
        kept = []
        for body, changes, reaches_end in sides:
            if not reaches_end and not (body and isinstance(body[-1], ast.Raise)):
                self.run.changes.leave(changes)
            if reaches_end or not (body and isinstance(body[-1], ast.Raise)):
                kept.append(changes)
        if kept:
            merge = partial(merge_branches, self.run, condition=test)
            self.run.changes.settle(kept[0], kept[-1], merge)

    def _assumes(self, interpreter: Interpreter, test: ast.expr) -> bool:
        """Returns whether an open condition is guessed: one of the host, or `const_expr(..)`."""
        is_compiled = self.run.kernel is None or is_compiled_in(test)
        if not is_compiled or not interpreter.frames:
            return False
        self.run.has_open_conditions = True
        return self.run.assumes

    def _assumed(self, interpreter: Interpreter, node: ast.If, scopes: Scopes) -> bool:
        """Returns an outcome of a condition of the host: no refusal, else the one to be guessed."""
        holds = bool(self.run.choice)
        for block, side in ((node.body, True), (node.orelse, False)):
            if block and isinstance(block[-1], ast.Raise):
                holds = not side
        self.run.assumed.setdefault(outcome(ast.unparse(node.test), holds))
        learn(self.run, interpreter, node.test, scopes, holds=holds)
        return holds

    def _branch(
        self,
        interpreter: Interpreter,
        body: Sequence[ast.stmt],
        scopes: Scopes,
        test: NDArray[np.bool_] | UnknownNumber,
        outer: NDArray[np.bool_] | None,
        *,
        holds: bool,
        parts: bool,
    ) -> bool:
        """Executes one side of a branch by the threads that take it; it may part basic blocks."""
        kernel = self.run.kernel
        if kernel is None or outer is None:
            return interpreter.run(body, scopes)
        kernel.loops.is_large |= parts
        begin = len(kernel.trace.items)
        if parts:
            kernel.trace.fence("block")
        by_data = isinstance(test, UnknownNumber) and test.is_data
        kernel.data_branches += by_data
        if not isinstance(test, UnknownNumber):
            kernel.mask = outer & (test if holds else ~test)
            if not kernel.mask.any():
                kernel.mask = outer
                return False
        with kernel.trace.conditional():
            reaches_end = interpreter.run(body, scopes)
        kernel.data_branches -= by_data
        kernel.mask = outer
        if parts:
            kernel.trace.fence("block")
        else:
            kernel.trace.part_from(begin)
        return reaches_end

    def execute_assert(self, interpreter: Interpreter, node: ast.Assert, scopes: Scopes) -> bool:
        """Takes what the condition says of its variables as known from here on."""
        test = self.condition(interpreter, node.test, scopes)
        if isinstance(test, UnknownNumber):
            learn(self.run, interpreter, node.test, scopes, holds=True)
        elif test is False and not interpreter.open_paths:
            self.run.refusals.add(self.run.span_of(node))
            self.run.failed.append(node)
            self._learn_types(interpreter, node.test, scopes, holds=True)
        return True

    def _learn_types(
        self, interpreter: Interpreter, test: ast.expr, scopes: Scopes, *, holds: bool
    ) -> None:
        """Takes note of guessed element types that keep a condition from its only outcome.

        Raises:
            RefutedGuess: there is one, and the execution is to end there.
        """
        types, evaluate = self.run.types, partial(interpreter.evaluate, scopes=scopes)
        types.learn(test, evaluate, holds=holds)
        if types.refuted and types.stops and self.run.kernel is None:
            raise RefutedGuess

    # ---- loops

    def execute_for(self, interpreter: Interpreter, node: ast.For, scopes: Scopes) -> bool:
        """Executes the iterations of a short loop one by one, any others as one."""
        items = interpreter.evaluate(node.iter, scopes)
        reaches_end = True
        with interpreter.inside_loop() as jumps:
            if (
                isinstance(items, range | list | tuple | str)
                and len(items) <= MAX_DSL_UNROLLED_ON_REQUEST
            ):
                reaches_end = self._each(interpreter, node, items, scopes)
            else:
                self._any_number(interpreter, node, items, scopes)
        return self._join(scopes[-1], jumps.breaks, is_reached=reaches_end)

    def _each(
        self, interpreter: Interpreter, node: ast.For, items: Sequence[Value], scopes: Scopes
    ) -> bool:
        """Executes the iterations of a loop one by one; returns whether the last one ends."""
        kernel = self.run.kernel
        asked = self._unrolled_by(interpreter, node.iter, scopes) if len(items) > 1 else None
        if kernel is None or asked is None:
            return self._one_by_one(interpreter, node, items, scopes)
        kernel.loops.count += 1
        if asked:
            return self._one_by_one(interpreter, node, items, scopes, asked)
        assigned = sorted({n.id for n in walk(node) if _is_assigned(n)} & scopes[-1].keys())
        with kernel.loops.unrolled(kernel.trace):
            for at, item in enumerate(items):
                for name in assigned:  # what one iteration leaves to the next
                    scopes[-1][name] = self._numbered(scopes[-1][name], at)
                number = Number(AffineInt(item, I32)) if isinstance(item, int) else item
                assign(interpreter, node.target, self._numbered(number, at), scopes)
                if not self._iterate(interpreter, node.body, scopes):
                    return False
        return True

    def _numbered(self, value: Value, iteration: int) -> Value:
        """Returns a value, which remembers its iteration if it is a number of run time."""
        kernel = self.run.kernel
        number = value.value if isinstance(value, Number) else None
        if kernel is None or not isinstance(number, AffineInt) or number.constant is None:
            return value
        return Number(iteration_number(number.constant, kernel.loops.depth, iteration))

    def _one_by_one(
        self,
        interpreter: Interpreter,
        node: ast.For,
        items: Sequence[Value],
        scopes: Scopes,
        group: int = 0,
    ) -> bool:
        """Executes iterations, of which a group is one basic block, or all are."""
        for at, item in enumerate(items):
            if group and at % group == 0 and self.run.kernel is not None:
                self.run.kernel.trace.fence("iteration")
            assign(interpreter, node.target, item, scopes)
            if not self._iterate(interpreter, node.body, scopes):
                return False
        return True

    def _unrolled_by(self, interpreter: Interpreter, items: ast.expr, scopes: Scopes) -> int | None:
        """Returns how many iterations of a loop of the compiled code are asked to be one block.

        `range` is one in functions that the DSL compiles.

        Returns:
            0 where the compiler decides that; None for a loop that Python unrolls.
        """
        is_range = isinstance(items, ast.Call) and ast.unparse(items.func).rpartition(".")[2] in (
            "range",
            "range_dynamic",
        )
        if not is_range or not isinstance(items, ast.Call) or not interpreter.frames:
            return None
        if not is_preprocessed(interpreter):
            return None
        asked = next((k.value for k in items.keywords if k.arg == "unroll"), None)
        count = interpreter.evaluate(asked, scopes) if asked is not None else 0
        return count if isinstance(count, int) and count > 0 else 0

    def execute_while(self, interpreter: Interpreter, node: ast.While, scopes: Scopes) -> bool:
        """Executes the iterations that the host is known to make, any others as one."""
        with interpreter.inside_loop(is_for=False) as jumps:
            ends = self._ends(interpreter, node, scopes)
            if ends is None:
                self._any_number(interpreter, node, UNKNOWN, scopes)
        if self.run.kernel is not None:
            return True
        return self._join(scopes[-1], jumps.breaks, is_reached=ends is not False)

    def _ends(self, interpreter: Interpreter, node: ast.While, scopes: Scopes) -> bool | None:
        """Executes iterations as long as they are known.

        Returns:
            Whether its condition ends the loop, not a jump; None where that is not known.
        """
        for _ in range(MAX_DSL_UNROLLED):
            test = self.condition(interpreter, node.test, scopes)
            if test is False:
                return True
            if self.run.kernel is not None or test is not True:
                return True if self._skips(interpreter, node, test) else None
            if not self._iterate(interpreter, node.body, scopes):
                return False
        return None

    def _skips(self, interpreter: Interpreter, node: ast.While, test: object) -> bool:
        """Returns whether an open condition of a loop is taken not to hold."""
        if not isinstance(test, UnknownNumber) or not self._assumes(interpreter, node.test):
            return False
        self.run.assumed.setdefault(outcome(ast.unparse(node.test), False))
        return True

    def _item_of(self, items: Value) -> Value:
        """Returns what any iteration of a long loop takes."""
        if isinstance(items, range):
            items = LoopRange(items.start, items.step)
        if not isinstance(items, LoopRange):
            return replace(items) if isinstance(items, Unknown) else UNKNOWN
        number = Number(self.run.fresh("iteration"))
        steps = numbers.calculate(self.run, ast.Mult(), number, items.step)
        return numbers.calculate(self.run, ast.Add(), items.start, steps)

    def _iterate(self, interpreter: Interpreter, body: Sequence[ast.stmt], scopes: Scopes) -> bool:
        """Executes a loop's body once; returns whether a path leads to the next iteration."""
        jumps = interpreter.jumps[-1]
        jumps.continues.clear()
        reaches_end = interpreter.run(body, scopes)
        return self._join(scopes[-1], jumps.continues, is_reached=reaches_end)

    def _join(self, scope: Scope, jumps: Sequence[Scope], *, is_reached: bool) -> bool:
        """Joins the scopes of jumps to a place that `is_reached` without one, too, or not.

        Returns:
            Whether a path reaches the place.
        """
        for other in jumps:
            merged = merge_branches(self.run, scope, other, _ANOTHER_PATH) if is_reached else other
            replace_scope(scope, merged)
            is_reached = True
        return is_reached

    def _any_number(
        self, interpreter: Interpreter, node: ast.For | ast.While, items: Value, scopes: Scopes
    ) -> None:
        """Executes a body once to learn what it changes, and once for any iteration."""
        scope = scopes[-1]
        before = dict(scope)
        trace = self.run.kernel.trace if self.run.kernel is not None else None
        if self.run.kernel is not None:
            self.run.kernel.loops.count += 1
        item = self._item_of(items)
        interpreter.open_paths += 1
        with self.run.changes.path() as changes:
            for is_dry in (True, False):
                begin = len(trace.items) if trace is not None else 0
                if trace is not None and is_dry:
                    trace.mute()
                if isinstance(node, ast.For):
                    assign(interpreter, node.target, item, scopes)
                self._iterate(interpreter, node.body, scopes)
                if trace is not None and is_dry:
                    trace.unmute()
                else:
                    self._mark_neighbours(interpreter, node, begin, scopes)
                replace_scope(scope, widen(self.run, before, scope))
                self.run.changes.widen(changes, partial(widen, self.run))
                if trace is not None:
                    trace.fence("block")
        interpreter.open_paths -= 1

    def _mark_neighbours(
        self,
        interpreter: Interpreter,
        node: ast.For | ast.While,
        begin: int,
        scopes: Scopes,
    ) -> None:
        """Marks accesses of an iteration that LLVM may merge with those of the next."""
        kernel = self.run.kernel
        if kernel is None or begin == len(kernel.trace.items):
            return
        if isinstance(node, ast.For) and self._unrolled_by(interpreter, node.iter, scopes) in (
            None,
            1,
        ):
            return
        iteration = kernel.trace.items[begin:]
        events = [item for item in iteration if isinstance(item, Event)]
        offsets = (event.offset for event in events if isinstance(event.offset, AffineInt))
        moved = {s: None for offset in offsets for s, _ in offset.terms if s.name == "iteration"}
        for symbol in moved:
            trip = AffineInt(0, I32, ((symbol, 1),))
            mark_open_fusions(iteration, trip, len(events), "", kernel.trace.scope)


def _is_assigned(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
