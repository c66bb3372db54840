"""Guesses at the arguments of functions that nothing in the file calls.

An element type is one of those that the file says it takes. A number that a kernel is compiled for
is one of two, and what they disagree on is a sample only. Of a tensor the rank is tried out.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from smemlint.analysis.python.cute_dsl.execution.libraries.dlpack import ALIGNMENT
from smemlint.analysis.python.cute_dsl.execution.libraries.runtime import symbolic_tensor
from smemlint.analysis.python.cute_dsl.execution.outside.declared_types import alternatives
from smemlint.analysis.python.cute_dsl.execution.outside.guessed_objects import object_for
from smemlint.analysis.python.cute_dsl.execution.outside.settling import Settled
from smemlint.analysis.python.cute_dsl.execution.outside.switches import GIVEN
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import (
    DTYPES,
    FLOAT32,
    Cute,
    Number,
    Opaque,
    UnknownTensor,
)
from smemlint.analysis.python.interpreter import Interpreter, calls
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import (
    Class,
    DType,
    Function,
    Instance,
    Scope,
    Unknown,
    Value,
)
from smemlint.facts import Span
from smemlint.frontend.heuristics import (
    guessed_extents,
    guessed_majors,
    guessed_shapes,
    names_accumulator,
    names_capability,
    names_flag,
    names_sm_version,
)
from smemlint.frontend.python.parameters import Parameter, parameters_of
from smemlint.frontend.python.syntax_walk import walk
from smemlint.hardware.arch import ARCHITECTURES
from smemlint.layout import cute
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption, Topic

_BLOCKS = ((128, 1, 1), (256, 1, 1))
HALF = DType("Float16", 16)
RANKS = (2, 3, 4)
"""Modes of a tensor that are tried."""
_GENERATIONS = (8, 9, 10, 12)
"""Major numbers of compute capabilities that programs tell apart."""
_INTEGERS = ("Int32", "Int64", "Uint32", "Uint64")
_BY_TYPE = Assumption(
    Topic.NUMBER, "tensors that are passed have 16-bit elements, as nothing says their type"
)
_ALIGNED = Assumption(
    Topic.ALIGNMENT, f"rows of tensors that are passed begin at multiples of {ALIGNMENT} bytes"
)
_BY_TENSOR = Assumption(Topic.ARGUMENT, "tensors that are passed may have any layout")


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """One guess.

    Attributes:
        block: of a kernel without a launch.
        number: which of the two guesses at a number is taken, 0 or 1.
        dtype: an element type that is not known.
        is_declared: the file says that it takes elements of this type.
        flags: what flags are, of which nothing is known.
        rank: modes of a tensor that is not known, of which the last is contiguous; 0 where not
            even these are guessed.
        assumes: open conditions of the host are guessed, too.
        are_columns: places that ask which mode of a tensor is contiguous, of which the program
            refuses one; whether it is the first one.
        types: parameters for which the program refuses `dtype`, with the types that it takes.
        shapes: those of tiles are guessed by their names.
        switched: parameters that do not have their default, by name.
        settled: unknown numbers that have a value, by key.
        arch: the device; that of the run where it is empty.
        defaults: gives the defaults of extents in other files, by name.
    """

    block: tuple[int, int, int] = _BLOCKS[0]
    number: int = 0
    dtype: DType = HALF
    is_declared: bool = False
    flags: bool = False
    rank: int = 0
    assumes: bool = False
    are_columns: frozenset[tuple[Span, bool]] = frozenset()
    types: tuple[tuple[ast.arg, DType], ...] = ()
    shapes: bool = False
    switched: tuple[tuple[str, object], ...] = ()
    settled: tuple[Settled, ...] = ()
    arch: str = ""
    defaults: Callable[[], Mapping[str, Value]] = dict

    def is_like(self, other: Guess) -> bool:
        """Returns whether two guesses are the same in what a program may refuse."""
        return (self.are_columns, dict(self.types), dict(self.switched)) == (
            other.are_columns,
            dict(other.types),
            dict(other.switched),
        )

    def arguments(
        self,
        run: Execution,
        function: ast.FunctionDef,
        *,
        is_method: bool,
        only: Collection[str] | None = None,
        truths: Collection[str] = (),
    ) -> Scope:
        """Returns guesses at some parameters by name, and notes them.

        Args:
            run: the execution.
            function: that is called.
            is_method: its first parameter is given.
            only: names of the parameters; None for all without a default.
            truths: names of flags that are not guessed.
        """
        parameters = parameters_of(function.args)[is_method:]
        taken = _asserted(function)
        asked = only
        if asked is None:
            asked = {p.name for p in parameters if p.default is None or _is_refused(p, taken)}
        values = {
            p.name: self._one_of(run, p.name, taken[p.name])
            if p.name in taken
            else self._of(run, p.arg, function)
            for p in parameters
            if p.name in asked and p.name not in dict(self.switched)
        }
        found: Scope = {name: value for name, value in values.items() if value is not None}
        found |= self._switched(run, function, parameters)
        for name in (p.name for p in parameters if p.name in values and _may_be_left_out(p.arg)):
            if name not in found:
                found[name] = None
                _note_condition(run, name, "is None")
        declared = {p.name for p in parameters if _is_declared_flag(p)}
        flags = {n for n in values if names_flag(n) or n in declared | _tested(function)}
        for name in sorted(flags - found.keys() - set(truths)):
            found[name] = self.flags
            _note_condition(run, name, f"is {self.flags}")
        return found

    def _switched(
        self, run: Execution, function: ast.FunctionDef, parameters: Sequence[Parameter]
    ) -> Scope:
        """Returns the parameters that do not have their default, and notes them."""
        found: Scope = {}
        for parameter in parameters:
            if parameter.name not in dict(self.switched):
                continue
            name, value = parameter.name, dict(self.switched)[parameter.name]
            if value is GIVEN:
                value = self._of(run, parameter.arg, function) or Opaque(name)
            found[name] = value  # type: ignore[assignment]
            _note_condition(run, name, f"is {dict(self.switched)[name]}")
        return found

    def _of(
        self, run: Execution, parameter: ast.arg, function: ast.FunctionDef | None = None
    ) -> Value:
        kind = ast.unparse(parameter.annotation) if parameter.annotation is not None else ""
        name = parameter.arg
        if "Tensor" in kind or "Pointer" in kind:
            return self._tensor(run, parameter, has_modes="Tensor" in kind)
        if "dtype" in name and (kind == "str" or name.endswith("_str")):
            return self._type(run, parameter).name.lower()
        if "Numeric" in kind or name.endswith("dtype"):
            return self._type(run, parameter)
        if kind.rpartition(".")[2] in _INTEGERS:
            return Number(run.fresh(name))
        if names_capability(name):
            found = run.capability
            return self._one_of(run, name, (found if not kind.startswith("int") else found[0],))
        if names_sm_version(name) and kind in ("", *_INTEGER_CONSTANTS):
            major, minor = run.capability
            return self._one_of(run, name, (10 * major + minor,))
        if name.endswith("_major") and kind in ("", "str"):
            return self._one_of(run, name, guessed_majors(name))
        if name in self.defaults():
            return self._one_of(run, name, (self.defaults()[name],))
        rank = kind.lower().partition("tuple[")[2].partition("]")[0].count("int")
        if rank or kind in ("", *_CONSTANTS):
            shapes = guessed_shapes(name, rank)
            run.asks_for_shapes |= bool(shapes)
            extents = shapes if shapes or rank else guessed_extents(name)
            if extents and (self.shapes or not shapes):
                return self._one_of(run, name, extents)
        if kind in _INTEGER_CONSTANTS:
            return Number(run.fresh(name))
        if function is None:
            return None
        return object_for(run, function, parameter, partial(self._of, run), flags=self.flags)

    def _one_of(self, run: Execution, name: str, values: Sequence[Value]) -> Value:
        """Returns one of the first two values that a parameter may have, and notes them."""
        text = f"`{name}` is {' or '.join(map(repr, values[:2]))}"
        run.guessed.setdefault(Assumption(Topic.ARGUMENT, text, name))
        return values[min(self.number, len(values) - 1)]

    def _type(self, run: Execution, parameter: ast.arg) -> DType:
        """Returns an element type for a parameter, and notes it."""
        settled = dict(self.types).get(parameter)
        if settled is not None:
            text = f"`{parameter.arg}` has the type {settled.name}, the only one that fits"
            run.guessed.setdefault(Assumption(Topic.NUMBER, text, parameter.arg))
            return settled
        default = self.defaults().get(parameter.arg)
        if default is None and names_accumulator(parameter.arg):
            default = FLOAT32
        if isinstance(default, DType):
            text = f"`{parameter.arg}` has the type {default.name}, as in callers or by its name"
            run.guessed.setdefault(Assumption(Topic.NUMBER, text, parameter.arg))
            return run.types.give(parameter, default)
        text = f"elements are {self.dtype.name}, one of the types that the file takes"
        declared = Assumption(Topic.NUMBER, text)
        run.guessed.setdefault(declared if self.is_declared else _BY_TYPE)
        return run.types.give(parameter, self.dtype)

    def _tensor(self, run: Execution, parameter: ast.arg, *, has_modes: bool) -> Value:
        dtype = self._type(run, parameter)
        if self.rank and has_modes:
            text = f"tensors have {self.rank} modes, of which the last one is contiguous"
            run.guessed.setdefault(Assumption(Topic.ARGUMENT, text))
            run.guessed.setdefault(_ALIGNED)
            return symbolic_tensor(run, dtype, self.rank)
        run.guessed.setdefault(_BY_TENSOR)
        reason = f"the argument `{parameter.arg}` is not known"
        return Cute(UnknownTensor(cute.Space.GLOBAL, reason, dtype))


def _note_condition(run: Execution, name: str, text: str) -> None:
    run.guessed.setdefault(Assumption(Topic.CONDITION, f"`{name}` {text}", name))


def _may_be_left_out(parameter: ast.arg) -> bool:
    """Returns whether a parameter is annotated to be None or an object of a class of the host."""
    match parameter.annotation:
        case ast.Subscript(ast.Name("Optional"), ast.Name(name)):
            return name not in DTYPES and not hasattr(builtins, name)
    return False


def _is_declared_flag(parameter: Parameter) -> bool:
    """Returns whether a parameter is annotated to be a truth, or has one as its default."""
    default, annotation = parameter.default, parameter.arg.annotation
    is_truth = isinstance(default, ast.Constant) and isinstance(default.value, bool)
    return is_truth or (annotation is not None and ast.unparse(annotation) in _TRUTHS)


def _tested(function: ast.FunctionDef) -> set[str]:
    """Returns the names that a function asks for their truth alone."""
    tests: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.IfExp):
            tests.append(node.test)
        elif isinstance(node, ast.BoolOp):
            tests += node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            tests.append(node.operand)
    return {test.id for test in tests if isinstance(test, ast.Name)}


def _asserted(function: ast.FunctionDef) -> dict[str, list[Value]]:
    """Returns the constants that a function asserts its parameters to be one of."""
    found: dict[str, list[Value]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            compared = [_compared(part) for part in alternatives(node.test)]
            names = {name for name, _ in compared}
            if len(names) == 1 and "" not in names:
                found.setdefault(names.pop(), [v for _, values in compared for v in values])
    return found


def _compared(test: ast.expr) -> tuple[str, list[Value]]:
    """Returns the name that `x == 1` or `x in (1, 2)` compares, and with which constants."""
    match test:
        case ast.Compare(ast.Name(name), [ast.Eq()], [ast.Constant(int() | str() as value)]):
            return name, [value]
        case ast.Compare(ast.Name(name), [ast.In()], [ast.Tuple(parts) | ast.List(parts)]):
            values = [p.value for p in parts if isinstance(p, ast.Constant)]
            if len(values) == len(parts) > 0 and all(isinstance(v, int | str) for v in values):
                return name, values  # type: ignore[return-value]
    return "", []


def _is_refused(parameter: Parameter, taken: Mapping[str, list[Value]]) -> bool:
    """Returns whether a function asserts that a parameter is something else than its default."""
    default = parameter.default
    is_constant = isinstance(default, ast.Constant) and default.value is not None
    known = taken.get(parameter.name)
    return known is not None and is_constant and default.value not in known  # type: ignore[union-attr]


_INTEGER_CONSTANTS = ("int", "cutlass.Constexpr[int]", "Constexpr[int]", "cute.Constexpr[int]")
"""Annotations of numbers that are known while compiling: any number, but one for all threads."""
_TRUTHS = tuple(kind.replace("int", "bool") for kind in _INTEGER_CONSTANTS)
_CONSTANTS = (*_INTEGER_CONSTANTS, "cutlass.Constexpr", "Constexpr")


def corrected(guess: Guess, run: Execution) -> Guess:
    """Returns a guess without what an execution with it showed that the program refuses."""
    are_columns = dict(guess.are_columns)
    for place in _refused_modes(run):
        are_columns.setdefault(place, not run.choice)
    types = run.types.refuted | dict(guess.types)
    return replace(guess, are_columns=frozenset(are_columns.items()), types=tuple(types.items()))


def _refused_modes(run: Execution) -> frozenset[Span]:
    """Returns where the program asked for the contiguous mode of tensors that it then refuses.

    `self.major = LayoutEnum.from_tensor(v)..` in front of `if self.major != K: raise ..` is one.
    """
    found: set[Span] = set()
    for test in run.refused:
        assigned = _assigned_in(run.texts.text_of(test).tree)
        compared = [node for node in walk(test) if isinstance(node, ast.Compare)]
        names = [ast.unparse(part) for c in compared for part in (c.left, *c.comparators)]
        for name in names:
            for value in assigned.get(name, ()):
                parts = list(walk(value))
                found |= {run.span_of(part) for part in parts if _asks_for_mode(part)}
                read = map(ast.unparse, (p for p in parts if isinstance(p, ast.Attribute)))
                names += (name for name in read if name not in names)
    return frozenset(found)


def _assigned_in(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """Returns what a file assigns to each name and attribute."""
    found: dict[str, list[ast.expr]] = {}
    for node in walk(tree):
        if isinstance(node, ast.Assign):
            found.setdefault(ast.unparse(node.targets[0]), []).append(node.value)
    return found


def _asks_for_mode(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("LayoutEnum.from_tensor")


def asks_for_type(run: Execution) -> bool:
    """Returns whether an execution was given a guess at an element type."""
    return any(a.topic is Topic.NUMBER for a in run.guessed)


def asks_for_flags(run: Execution) -> bool:
    """Returns whether an execution was given a guess at a flag."""
    return any(a.topic is Topic.CONDITION for a in run.guessed)


def asks_for_tensors(run: Execution) -> bool:
    """Returns whether an execution was given tensors of which nothing is known."""
    return _BY_TENSOR in run.guessed


def others(guess: Guess, run: Execution, *, is_kernel: bool) -> tuple[Guess, ...]:
    """Returns the guesses that differ from one in what was asked for, but for types and ranks."""
    found = []
    if run.assumed or any(a.topic is Topic.ARGUMENT and a.subject for a in run.guessed):
        found.append(replace(guess, number=1))
    if is_kernel:
        found += [replace(guess, block=block) for block in _BLOCKS[1:]]
    return tuple(found)


def other_devices(run: Execution) -> Iterator[str]:
    """Yields devices of other generations than that which a program asked for, one of each."""
    if run.asks_for_capability:
        first = {a.capability[0]: a.name for a in reversed(ARCHITECTURES.values())}
        yield from (first[major] for major in _GENERATIONS if major != run.capability[0])


def construct(interpreter: Interpreter, owner: Class, guess: Guess, run: Execution) -> Instance:
    """Returns an object of a class with guesses at the arguments of its `__init__`.

    What one takes as `*args` and `**kwargs` are those of the class that it derives from.
    """
    named: Scope = {}
    for constructor in constructors(owner):
        named = guess.arguments(run, constructor, is_method=True) | named
    return calls.construct(interpreter, owner, (), named)


def completed(guess: Guess, run: Execution, owner: Class, given: BoundArguments) -> BoundArguments:
    """Returns the arguments of a call of a class, with guesses at what is not known."""
    chain = list(constructors(owner))
    if not chain:
        return given
    names = [p.name for p in parameters_of(chain[-1].args)[1:] if not p.is_keyword]
    named = calls.arguments_by_name(names, given.positional) | given.named
    unknown = {name for name, value in named.items() if isinstance(value, Unknown)}
    for constructor in chain:
        named |= guess.arguments(run, constructor, is_method=True, only=unknown)
    positional = [named.pop(name) for name in names[: len(given.positional)]]
    return BoundArguments([*positional, *given.positional[len(names) :]], named)


def constructors(owner: Class) -> Iterator[ast.FunctionDef]:
    """Yields the constructor of a class, and where it takes `*args`, those that it hands them to.

    The last one names the positional arguments.
    """
    for base in owner.linearization:
        init = base.members.get("__init__")
        if isinstance(init, Function):
            yield init.node
            if init.node.args.vararg is None:
                return
