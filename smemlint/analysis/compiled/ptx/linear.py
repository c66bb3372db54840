"""How ptxas sees an address: a constant and multiples of values that it does not take apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from smemlint.analysis.simt.domain.scev import (
    CONSTANT,
    Scev,
    atom,
    difference,
    power_of_two,
    scaled,
    sum_of,
)
from smemlint.frontend.ptx.syntax import Address, Immediate, Name, Operand, Operation, Sum
from smemlint.lazy_dataclasses import dataclass

_LANE = ("%tid", "%laneid", "%lanemask")
_TRANSPARENT = ("mov", "cvta", "cvt")
_MOST_ALIGNMENT = 1024


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant + form`.

    Attributes:
        constant: bytes.
        form: the part that is no compile-time constant.
        variable: the variable whose address went into it; empty for none.
    """

    constant: int = 0
    form: Scev = CONSTANT
    variable: str = ""


class LinearForms:
    """The linear forms of registers; one that several instructions write is a value of its own.

    Args:
        operations: of the kernel, in order.
        variables: in shared memory; offsets count from the start of each.
    """

    def __init__(self, operations: Sequence[Operation], variables: Collection[str]) -> None:
        self._variables = variables
        self._writers: dict[str, list[Operation]] = {}
        for operation in operations:
            target = operation.operands[0] if operation.operands else None
            if isinstance(target, Name):
                self._writers.setdefault(target.text, []).append(operation)
        self._forms: dict[str, Linear] = {}
        self._alignments = {
            name: _MOST_ALIGNMENT
            for name, writers in self._writers.items()
            if len(writers) > 1 or writers[0].guard
        }
        while self._compute():
            pass

    def _compute(self) -> bool:
        """Computes all forms; says whether a register turned out to be aligned to less.

        What several instructions write is taken to be aligned as well as can be at first: an
        iteration's step and the value on entry bring it down to what both prove.
        """
        self._forms = {}
        for name, writers in self._writers.items():
            alignment = self._alignments.get(name)
            if alignment is None:
                self._forms[name] = self._computed(name, writers[0])
            else:
                variable = self._variable_of(name, writers)
                self._forms[name] = Linear(0, atom(name, alignment, is_divergent=True), variable)
        found = {
            name: min(_divisor(self._computed(name, writer)) for writer in self._writers[name])
            for name in self._alignments
        }
        is_less = any(found[name] < known for name, known in self._alignments.items())
        self._alignments = {n: min(found[n], known) for n, known in self._alignments.items()}
        return is_less

    def _variable_of(self, name: str, writers: Sequence[Operation]) -> str:
        for writer in writers:
            variable = self._computed(name, writer).variable
            if variable:
                return variable
        return ""

    def of(self, operand: Operand) -> Linear:
        """Returns the linear form of an operand."""
        match operand:
            case Immediate(number):
                return Linear(number)
            case Name(text) if text in self._variables:
                return Linear(0, CONSTANT, text)
            case Name(text):
                return self._forms.get(text) or self._atom(text)
            case Sum(base, offset) | Address(base, offset, _):
                found = self.of(base)
                return Linear(found.constant + offset, found.form, found.variable)
            case _:
                return Linear(0, atom(repr(operand), is_divergent=True))

    def _atom(self, name: str) -> Linear:
        return Linear(0, atom(name, is_divergent=name.startswith(_LANE)))

    def _computed(self, name: str, operation: Operation) -> Linear:
        opcode = operation.opcode
        operands = [self.of(operand) for operand in operation.operands[1:]]
        last = opcode[-1]
        if last[:1] in "bus" and operands:
            match opcode[0], operands:
                case head, [x] if head in _TRANSPARENT:
                    return x
                case "add" | "sub", [x, y]:
                    return _sum(x, y, -1 if opcode[0] == "sub" else 1)
                case "shl", [x, Linear(count, form)] if not form.terms and 0 <= count < 64:
                    return _scaled(x, 1 << count)
                case "mul", [x, y] if "hi" not in opcode and not (x.form.terms and y.form.terms):
                    return _product(x, y)
                case "mad", [x, y, z] if "hi" not in opcode and not (x.form.terms and y.form.terms):
                    return _sum(_product(x, y), z)
                case "or" | "xor", [x, y] if not y.form.terms and _fits_below(y, x):
                    return _sum(x, y)
                case _:
                    return self._opaque(name, opcode[0], operands)
        return self._opaque(name, opcode[0], operands)

    def _opaque(self, name: str, head: str, operands: Sequence[Linear]) -> Linear:
        """Returns a value of its own, with the alignment that its operands prove."""
        by_lane = any(x.form.is_divergent for x in operands) or head in ("atom", "shfl")
        alignment = 1
        if len(operands) == 2 and head in ("and", "or", "xor"):
            divisors = [min(x.form.alignment, power_of_two(x.constant)) for x in operands]
            alignment = max(divisors) if head == "and" else min(divisors)
        variable = next((x.variable for x in operands if x.variable), "")
        return Linear(0, atom(name, alignment, is_divergent=by_lane), variable)


def _divisor(x: Linear) -> int:
    """Returns the power of two that provably divides a value."""
    return min(x.form.alignment, power_of_two(x.constant))


def _fits_below(constant: Linear, x: Linear) -> bool:
    """Returns whether a constant only meets bits that are zero: adding it is the same."""
    return 0 <= constant.constant < x.form.alignment and not x.constant % x.form.alignment


def _sum(x: Linear, y: Linear, sign: int = 1) -> Linear:
    form = sum_of(x.form, y.form) if sign > 0 else difference(x.form, y.form, x.constant)
    return Linear(x.constant + sign * y.constant, form, x.variable or y.variable)


def _scaled(x: Linear, factor: int) -> Linear:
    return Linear(x.constant * factor, scaled(x.form, factor), x.variable)


def _product(x: Linear, y: Linear) -> Linear:
    return _scaled(x, y.constant) if x.form.terms else _scaled(y, x.constant)
