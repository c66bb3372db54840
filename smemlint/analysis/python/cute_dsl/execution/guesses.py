"""Guesses at the arguments of functions that nothing in the file calls."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from smemlint.analysis.python.cute_dsl.execution.values import Cute, UnknownTensor
from smemlint.analysis.python.interpreter import calls
from smemlint.analysis.python.interpreter.values import Class, DType, Function, Instance, Value
from smemlint.frontend.python.parameters import parameters_of
from smemlint.layout import cute
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption, Topic

if TYPE_CHECKING:
    from smemlint.analysis.python.cute_dsl.execution.state import Execution
    from smemlint.analysis.python.interpreter import Interpreter
    from smemlint.analysis.python.interpreter.values import Scope

_BLOCKS = ((128, 1, 1), (256, 1, 1))
_HALF = DType("Float16", 16)
_HEADS = (64, 128)
"""Extents of attention heads."""
_HEAD_NAMES = frozenset(("head_dim", "hdim", "headdim", "head_dim_v"))
_BY_TYPE = Assumption(Topic.NUMBER, "elements of a type that is not known have 16 bits")
BY_HEAD = Assumption(Topic.ARGUMENT, "the extent of a head is 64 or 128")


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """One guess.

    Attributes:
        block: of a kernel without a launch.
        head: what a parameter named like the extent of a head is.
    """

    block: tuple[int, int, int]
    head: int

    def arguments(self, run: Execution, function: ast.FunctionDef, *, is_method: bool) -> Scope:
        """Returns guesses at parameters without a default, by name, and notes them."""
        parameters = parameters_of(function.args)[is_method:]
        values = {p.name: self._of(run, p.arg) for p in parameters if p.default is None}
        return {name: value for name, value in values.items() if value is not None}

    def _of(self, run: Execution, parameter: ast.arg) -> Value:
        kind = ast.unparse(parameter.annotation) if parameter.annotation is not None else ""
        name = parameter.arg
        if "Tensor" in kind:
            reason = f"the argument `{name}` is not known"
            run.guessed.setdefault(_BY_TYPE)
            return Cute(UnknownTensor(cute.Space.GLOBAL, reason, _HALF))
        if "Numeric" in kind or name.endswith("dtype"):
            run.guessed.setdefault(_BY_TYPE)
            return _HALF
        if name in _HEAD_NAMES:
            run.guessed.setdefault(BY_HEAD)
            return self.head
        return None


FIRST = Guess(_BLOCKS[0], _HEADS[0])


def others(run: Execution, *, is_kernel: bool) -> tuple[Guess, ...]:
    """Returns the guesses that differ from the first one where that was asked for something."""
    found = [Guess(_BLOCKS[0], head) for head in _HEADS[1:] if BY_HEAD in run.guessed]
    if is_kernel:
        found += [Guess(block, _HEADS[0]) for block in _BLOCKS[1:]]
    return tuple(found)


def construct(interpreter: Interpreter, owner: Class, guess: Guess, run: Execution) -> Instance:
    """Returns an object of a class with guesses at the arguments of its `__init__`."""
    init = owner.member("__init__")
    named: Scope = {}
    if isinstance(init, Function):
        named = guess.arguments(run, init.node, is_method=True)
    return calls.construct(interpreter, owner, (), named)
