"""`wmma.load` and `wmma.store`, whose lanes PTX does not show, and the matrix products."""

from __future__ import annotations

from smemlint.analysis.compiled.arithmetic import add, multiply
from smemlint.analysis.compiled.ptx.registry import Call, Lowered, executes
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import Value
from smemlint.facts import AccessKind
from smemlint.layout.wmma import Fragment, parts_of
from smemlint.reasons import Reason, ReasonCode

_ELEMENTS = {"s32": "i32", "s8": "i8", "u8": "i8"}
"""Names of element types where they are others than PTX's."""
_USES = {"a": "matrix_a", "b": "matrix_b", "c": "accumulator", "d": "accumulator"}


@executes("mma")
def product(call: Call) -> Lowered:
    """Returns products of fragments in registers."""
    targets = call.written()
    return Lowered(lambda state: state.forget(targets), targets)


@executes("wmma")
def fragment(call: Call) -> Lowered:
    """Executes loads and stores of fragments, by all lanes of a warp together."""
    opcode = call.opcode
    is_load, is_store = opcode.has("load"), opcode.has("store")
    targets = call.written() if not is_store else ()
    if not (is_load or is_store) or opcode.space not in ("shared", ""):
        return Lowered(lambda state: state.forget(targets), targets)
    at = 1 if is_load else 0
    pitch_at = 2
    moved = _fragment(call)
    parts = parts_of(moved) if moved is not None else []
    if not parts or len(call.operands) <= pitch_at:
        if opcode.space == "shared":
            text = f"how `{opcode.name}` spreads this fragment is not modelled"
            call.lowering.note(call.operation, Reason(ReasonCode.NOT_MODELLED, text))
        return Lowered(lambda state: state.forget(targets), targets)
    kind = AccessKind.LOAD if is_load else AccessKind.STORE
    sites = [
        call.lowering.sites(
            call.operation,
            AccessKind.LDMATRIX if part.matrices else kind,
            part.width,
            call.operands[at],
            matrices=part.matrices,
        )
        for part in parts
    ]
    base, pitch = call.read(at), call.read(pitch_at)
    bytes_ = call.opcode.bytes
    size = Value(bytes_)

    def run(state: State) -> None:
        if opcode.space == "shared":
            row = multiply(pitch(state), size, 32)
            for one, part in zip(sites, parts, strict=True):
                lines = Value(part.lines.reshape(1, -1))
                places = Value(part.places.reshape(1, -1) * bytes_)
                along = add(multiply(row, lines, 32), places, 32)
                state.access(one, add(base(state), along, 32))
        state.forget(targets)

    return Lowered(run, targets, is_kept=True)


def _fragment(call: Call) -> Fragment | None:
    opcode = call.opcode
    shape = next((p for p in opcode.parts if p.startswith("m") and p[1:2].isdigit()), "")
    use = next((p for p in opcode.parts if p in _USES), "")
    sizes = shape.replace("m", " ").replace("n", " ").replace("k", " ").split()
    if len(sizes) != 3 or not use:
        return None
    m, n, k = (int(size) for size in sizes)
    layout = "row_major" if opcode.has("row") else "col_major"
    element = _ELEMENTS.get(opcode.type, opcode.type)
    return Fragment(_USES[use], (m, n, k), element, layout)
