"""`MMA_Traits` and `Copy_Traits` that a user specializes for operations of his own."""

from __future__ import annotations

from typing import cast

from smemlint.analysis.simt.cute.values import Converter, payload_of
from smemlint.analysis.simt.domain.ctypes import ArrayType, CType, RecordType, StaticType
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import members_of, parameters_of
from smemlint.analysis.simt.types.statics import static_value
from smemlint.analysis.simt.types.template_arguments import type_argument
from smemlint.frontend import ir
from smemlint.frontend.program import Record
from smemlint.frontend.ptx.opcode import Opcode
from smemlint.frontend.ptx.syntax import Operation
from smemlint.frontend.ptx.templates import instructions
from smemlint.layout import cute
from smemlint.layout.cute import Mechanism


def user_mma_op(ev: Evaluator, spelling: str) -> cute.MmaOp | None:
    """Returns the operation whose shape and layouts a specialization of `MMA_Traits` states.

    None where there is no specialization for the type, or a layout in it is not known.
    """
    traits = _specialization(ev, "MMA_Traits", spelling)
    shape = _payload(traits.statics.get("Shape_MNK")) if traits is not None else None
    layouts = _layouts(traits, ("ThrID", "ALayout", "BLayout", "CLayout"))
    if layouts is None or not isinstance(shape, tuple) or len(shape) != 3:
        return None
    convert = Converter(ev.state.domain)
    sizes = [size for size in map(convert.integer, shape) if isinstance(size, int)]
    if len(sizes) != 3:
        return None
    (m, n, k), (threads, a, b, c) = sizes, layouts
    return cute.MmaOp(spelling, (m, n, k), threads, a, b, c)


def user_copy_op(ev: Evaluator, spelling: str) -> cute.CopyOp | None:
    """Returns the operation whose traits a specialization of `Copy_Traits` inherits or states.

    None where a layout in it is not known, or which instruction the `copy` of the operation is.
    """
    traits = _specialization(ev, "Copy_Traits", spelling)
    for base in getattr(traits.record if traits is not None else None, "bases", ()):
        op = _payload(ev.types.spelled(base))
        if isinstance(op, cute.CopyOp):
            return op
    layouts = _layouts(traits, ("ThrID", "SrcLayout", "DstLayout", "RefLayout"))
    operation = type_argument(ev, spelling)
    if layouts is None or not isinstance(operation, RecordType):
        return None
    instruction = _instruction(ev, operation)
    registers = [_bits_of_registers(operation, f"{side}Registers") for side in "SD"]
    if instruction is None or not all(registers):
        return None
    return _stated(operation.name, instruction, layouts, registers)


def _stated(
    name: str, opcode: Opcode, layouts: list[cute.Layout], registers: list[int]
) -> cute.CopyOp | None:
    """Returns the operation of one instruction; None where the registers are not what it takes."""
    threads, source, destination, reference = layouts
    mechanism = _mechanism(opcode)
    is_load = opcode.name in ("ld", "ldmatrix")
    width = registers[0] if is_load else registers[1]
    matrices = 0
    if mechanism in (Mechanism.LDMATRIX, Mechanism.STMATRIX):
        matrices = opcode.matrices if opcode.has("m8n8") else 0
        if not matrices or width != 128:
            return None
    elif mechanism is Mechanism.UNIVERSAL:
        if width != 8 * opcode.bytes * opcode.elements:
            return None
    elif mechanism is None or (mechanism is Mechanism.CP_ASYNC and width not in (32, 64, 128)):
        return None
    return cute.CopyOp(
        name,
        mechanism,
        width,
        threads,
        source,
        destination,
        reference,
        matrices,
        opcode.has("trans"),
        is_global=opcode.has("cg"),
        is_assembly=True,
        source_bits=registers[0],
        destination_bits=registers[1],
    )


def _mechanism(opcode: Opcode) -> Mechanism | None:
    """Returns how an instruction moves data; None of those that are not known."""
    if opcode.name == "cp":
        if opcode.has("bulk"):
            return Mechanism.TMA if opcode.has("tensor") else Mechanism.BULK
        return Mechanism.CP_ASYNC if opcode.has("async") and opcode.has("ca", "cg") else None
    if opcode.name in ("ld", "st"):
        is_plain = opcode.space in ("shared", "global") and not opcode.has("volatile")
        return Mechanism.UNIVERSAL if is_plain else None
    return {"ldmatrix": Mechanism.LDMATRIX, "stmatrix": Mechanism.STMATRIX}.get(opcode.name)


_MEMORY = ("ld", "st", "ldmatrix", "stmatrix", "cp", "atom", "red")


def _instruction(ev: Evaluator, operation: RecordType) -> Opcode | None:
    """Returns the one instruction on memory in the inline PTX of an operation's `copy`."""
    found: list[Opcode] = []
    for function in members_of(cast("Record", operation.record), ev.policy.functions(ev, "copy")):
        tree = function.parse().tree
        if tree is None or len(parameters_of(tree)) < 2:
            return None
        for node in tree.body.walk():
            if not isinstance(node, ir.Assembly):
                continue
            body = instructions(node.template, {})
            if body.unreadable is not None:
                return None
            opcodes = (
                Opcode(s.opcode[0], s.opcode[1:])
                for s in body.statements
                if isinstance(s, Operation)
            )
            found += [o for o in opcodes if o.name in _MEMORY]
    return found[0] if len(found) == 1 else None


def _bits_of_registers(operation: RecordType, name: str) -> int:
    """Returns the width of one of `uint32_t[4]`; 0 where it is not known."""
    registers = operation.statics.get(name)
    element = registers.element if isinstance(registers, ArrayType) else None
    return 8 * element.size if isinstance(element, CType) else 0


def _layouts(traits: RecordType | None, names: tuple[str, ...]) -> list[cute.Layout] | None:
    """Returns member types that are layouts; None where one is not known."""
    if traits is None:
        return None
    layouts = [_payload(traits.statics.get(name)) for name in names]
    known = [layout for layout in layouts if isinstance(layout, cute.Layout)]
    return known if len(known) == len(names) else None


def _specialization(ev: Evaluator, name: str, spelling: str) -> RecordType | None:
    if not ev.state.unit.records.get(name):
        return None
    operation = type_argument(ev, spelling)
    if isinstance(operation, RecordType):  # not the name that a template parameter has for it
        spelling = operation.name
    found = ev.types.record(name, (spelling,))
    return found if isinstance(found, RecordType) else None


def _payload(type_: object) -> object:
    """Returns what all objects of a type of CuTe's are; None for all others."""
    return payload_of(static_value(type_)) if isinstance(type_, StaticType) else None
