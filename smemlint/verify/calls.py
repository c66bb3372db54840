"""How to call one kernel instance: what launch, pragma and configuration say of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from smemlint.analysis.simt.analyze import Project
from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    FloatType,
    IntType,
    PointerType,
    RecordType,
)
from smemlint.analysis.simt.domain.environment import Geometry
from smemlint.analysis.simt.domain.trace import Trace
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.interpreter import Interpreter
from smemlint.analysis.simt.kernel.task import KernelTask
from smemlint.analysis.simt.types.overloads import parameters_of
from smemlint.facts import Instance
from smemlint.frontend.cuda.lexer.integers import read_integer
from smemlint.frontend.program import Function, Unit
from smemlint.lazy_dataclasses import dataclass

FLOATING = 1.0
"""What a floating-point argument is that nobody knows: no address hangs on it."""
GUESS = 1024
"""What a number is that no launch tells: sizes and pitches that suit every tile, and that one block
stays within its memory with."""
_MOST_OF_BYTE = 64


class NotCallable(Exception):
    """Why a kernel cannot be called, in words."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call.

    Attributes:
        dtype: of a number, as NumPy spells it (`i4`, `f8`); `*` of a pointer, `*f` of a pointer to
            floating-point numbers; empty for a type that is not known.
        value: of a number; None where it is not known or no number.
    """

    name: str
    dtype: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One block of one kernel instance.

    Attributes:
        kernel: as C++ spells it, with namespaces and template arguments.
        shared: dynamic shared memory in bytes; None for all that there is.
        guessed: the names of those whose value is a guess.
    """

    kernel: str
    block: tuple[int, int, int]
    shared: int | None
    arguments: tuple[Argument, ...]
    guessed: tuple[str, ...] = ()


def call_of(project: Project, unit: Unit, task: KernelTask, instance: Instance) -> Call:
    """Returns the call of one instance.

    Raises:
        NotCallable: something is not known that a call needs.
    """
    assert task.instance.block is not None
    stated = _stated_arguments(project, task.function)
    passed = {**task.numbers_passed(), **dict(instance.passed)}
    known = _arguments(unit, task, {**passed, **stated})
    guessed = tuple(a.name for a in known if _is_open(a))
    arguments = tuple(replace(a, value=_guess(a)) if _is_open(a) else a for a in known)
    return Call(_spelled(task), task.instance.block, task.shared, arguments, guessed)


def _is_open(argument: Argument) -> bool:
    """Returns whether the argument is, or may be, a number that nobody knows."""
    return argument.value is None and not argument.dtype.startswith("*")


def _guess(argument: Argument) -> float:
    if argument.dtype == "?":
        return 1
    return _MOST_OF_BYTE if argument.dtype.endswith("1") else GUESS


def _stated_arguments(project: Project, function: Function) -> dict[str, float]:
    """Numbers that the configuration and the `launch` pragma give."""
    own = project.index.settings.kernels.get(function.name)
    pragma = project.user.launch_pragma(function)
    texts = pragma.values if pragma is not None else {}
    read = {name: _number(text) for name, text in texts.items()}
    return {
        **(own.arguments if own is not None else {}),
        **{name: number for name, number in read.items() if number is not None},
    }


def _number(text: str) -> float | None:
    """Returns a number as C spells it; None for what is none."""
    plain = text.strip().lower()
    sign, digits = (-1, plain[1:]) if plain.startswith("-") else (1, plain)
    literal = read_integer(digits)
    if literal is not None:
        return sign * literal.value
    with suppress(ValueError):
        return float(plain.removesuffix("f"))
    return {"true": 1, "false": 0}.get(plain)


def _spelled(task: KernelTask) -> str:
    """Returns the instance as C++ names it."""
    function = task.function
    known = dict(task.instance.template)
    missing = [p.name or "its pack" for p in function.template if p.is_pack or p.name not in known]
    if missing:
        raise NotCallable(f"template argument `{missing[0]}` is not known")
    listed = ", ".join(known[p.name] for p in function.template)
    name = "::".join((*filter(str.isidentifier, function.scope), function.name))
    return f"{name}<{listed}>" if function.template else name


def _arguments(unit: Unit, task: KernelTask, known: Mapping[str, float | None]) -> list[Argument]:
    tree = task.function.parse().tree
    ev = Interpreter(unit, Geometry.of((1, 1, 1)), Trace(1))
    function = task.function
    ev.state.frames.append(Frame(function.name, [dict(task.scope), {}], place=function.scope))
    found = []
    for param in parameters_of(tree) if tree is not None else ():
        name = param.name
        ctype = ev.types.resolve(param.type)
        if isinstance(ctype, RecordType):
            raise NotCallable(f"argument `{name}` is a structure")
        dtype, value = _dtype(ctype), known.get(name)
        if dtype.startswith("f") and value is None:
            value = FLOATING
        found.append(Argument(name, dtype, value))
    return found


def _dtype(ctype: CType) -> str:
    match ctype:
        case IntType(is_bool=True):
            return "?"
        case IntType(bits=bits, signed=is_signed) if bits <= 64:
            return f"{'i' if is_signed else 'u'}{bits // 8}"
        case FloatType(name="half" | "float" | "double", size=size):
            return f"f{size}"
        case ArrayType(element=target) | PointerType(target=target):
            return "*f" if _is_floating(target) else "*"
    return ""


def _is_floating(ctype: CType) -> bool:
    """Returns whether data of the type is made of floating-point numbers alone."""
    if isinstance(ctype, RecordType):
        return bool(ctype.members) and all(_is_floating(m.type) for m in ctype.members)
    return isinstance(ctype, FloatType)
