"""Guesses at the arguments of functions that nothing in the file calls."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from smemlint.analysis.python.cute_dsl.execution.values import Cute, UnknownTensor
from smemlint.analysis.python.interpreter import calls
from smemlint.analysis.python.interpreter.objects import fields_of
from smemlint.analysis.python.interpreter.values import Class, DType, Function, Instance, Value
from smemlint.layout import cute

if TYPE_CHECKING:
    from smemlint.analysis.python.cute_dsl.execution.state import Execution
    from smemlint.analysis.python.interpreter import Interpreter
    from smemlint.analysis.python.interpreter.values import Scope

_BLOCKS = ((128, 1, 1), (256, 1, 1))
_HALF = DType("Float16", 16)
_HEADS = (64, 128)
"""Extents of attention heads."""


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """One guess.

    Attributes:
        block: of a kernel without a launch.
        head: what a parameter named like the extent of a head is.
        assumptions: what is guessed, in words.
    """

    block: tuple[int, int, int]
    head: int
    assumptions: tuple[str, ...] = field(default=())

    def arguments(
        self, run: Execution, function: ast.FunctionDef, *, is_method: bool
    ) -> Scope:
        """Returns guesses at parameters without a default, by name."""
        spec = function.args
        plain = [*spec.posonlyargs, *spec.args][is_method:]
        required = plain[: len(plain) - len(spec.defaults)] if spec.defaults else plain
        keywords = [a for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is None]
        found: Scope = {}
        for parameter in (*required, *keywords):
            value = self._of(parameter)
            if value is not None:
                found[parameter.arg] = value
        return found

    def _of(self, parameter: ast.arg) -> Value:
        kind = ast.unparse(parameter.annotation) if parameter.annotation is not None else ""
        name = parameter.arg
        if "Tensor" in kind:
            reason = f"the argument `{name}` is not known"
            return Cute(UnknownTensor(cute.Space.GLOBAL, reason, _HALF))
        if "Numeric" in kind or name.endswith("dtype"):
            return _HALF
        if name in ("head_dim", "hdim", "head_dim_v", "headdim"):
            return self.head
        return None


def of(function: ast.FunctionDef, owner: ast.ClassDef | None) -> tuple[Guess, ...]:
    """Returns the guesses at a function: by type, by the extent of a head, by block."""
    names = [a.arg for f in _guessed(function, owner) for a in (*f.args.args, *f.args.kwonlyargs)]
    kinds = [
        ast.unparse(a.annotation)
        for f in _guessed(function, owner)
        for a in (*f.args.args, *f.args.kwonlyargs)
        if a.annotation is not None
    ]
    is_typed = any("Numeric" in k for k in kinds) or any(n.endswith("dtype") for n in names)
    by_type = ("elements of a type that is not known have 16 bits",) if is_typed else ()
    if any(n in ("head_dim", "hdim", "headdim") for n in names):
        return tuple(
            Guess(_BLOCKS[0], h, (*by_type, "`head_dim` is 64 or 128")) for h in _HEADS
        )
    if any(ast.unparse(d).endswith("kernel") for d in function.decorator_list):
        return tuple(Guess(b, _HEADS[0], by_type) for b in _BLOCKS)
    return (Guess(_BLOCKS[0], _HEADS[0], by_type),)


def _guessed(function: ast.FunctionDef, owner: ast.ClassDef | None) -> list[ast.FunctionDef]:
    """The function and the `__init__` of its class."""
    body = owner.body if owner is not None else []
    inits = [n for n in body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    return [function, *inits]


def construct(interpreter: Interpreter, owner: Class, guess: Guess) -> Instance:
    """Returns an object of a class with guesses at the arguments of its `__init__`."""
    init = owner.member("__init__")
    named: Scope = {}
    if isinstance(init, Function):
        model = interpreter.model
        named = guess.arguments(model.run, init.node, is_method=True)  # type: ignore[attr-defined]
    else:
        fields_of(owner)
    return calls.construct(interpreter, owner, (), named)
