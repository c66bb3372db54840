"""Loads, stores, atomics and matrix instructions."""

from __future__ import annotations

from smemlint.analysis.compiled.arithmetic import subtract
from smemlint.analysis.compiled.ptx.operands import LOCAL_WINDOW, SHARED_WINDOW
from smemlint.analysis.compiled.ptx.registry import Call, Lowered, executes
from smemlint.analysis.compiled.recorder import Site
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import DATA, WORD_BITS, Cause, Symbol, Value, is_uniform, top
from smemlint.facts import AccessKind
from smemlint.frontend.ptx.syntax import Address, Immediate, Name, Operand, Vector
from smemlint.hardware.atomics import ONE, executed
from smemlint.reasons import Reason, ReasonCode

_SHARED_WINDOW = Value(SHARED_WINDOW)
_LOCAL_WINDOW = Value(LOCAL_WINDOW)
_REMOTE = Cause(
    Reason(
        ReasonCode.UNKNOWN_ADDRESS,
        "the address may lie in the shared memory of another block of the cluster",
    )
)
_FROM_CALLEE = Cause(Reason(ReasonCode.NOT_MODELLED, "a function that is not inlined computes it"))
_MAY_BE_SHARED = Reason(
    ReasonCode.UNKNOWN_ADDRESS, "a generic address that is not known may be shared"
)
_BULK = Reason(ReasonCode.NOT_MODELLED, "a bulk copy has no addresses by lane")
_DESCRIPTOR = Reason(
    ReasonCode.NOT_MODELLED, "operands that a descriptor names have no addresses by lane"
)
_ATOMICS = ("add", "inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas")


@executes("ld", "ldu")
def load(call: Call) -> Lowered:
    """Executes loads of every state space."""
    opcode = call.opcode
    targets = call.written()
    if opcode.space == "param":
        return _load_parameter(call, targets)
    read = call.read(1)
    if opcode.space == "local":
        return Lowered(lambda state: _load_local(state, call, targets, read(state)), targets)
    sites = _sites(call, AccessKind.LOAD, opcode.bytes * opcode.elements, 1)
    bits = 0 if opcode.is_signed else 8 * opcode.bytes

    def run(state: State) -> None:
        address = read(state)
        if _window_of(address) == "local" and not opcode.space:
            _load_local(state, call, targets, subtract(address, _LOCAL_WINDOW, 64))
            return
        _record(state, call, sites, address)
        for target in targets:
            state.set(target, state.load(address, bits) if bits else _signed_load(address))

    return Lowered(run, targets, is_kept=bool(sites))


def _signed_load(address: Value) -> Value:
    return Value(0, ((Symbol(), 1),)) if is_uniform(address) else top(DATA)


def _load_parameter(call: Call, targets: tuple[str, ...]) -> Lowered:
    """Returns a load of the kernel's parameters, by name or by an address in them.

    What another function returns is read in the same way, from a parameter that is not the
    kernel's: nothing is known of it.
    """
    source, lowering, opcode = call.operands[1], call.lowering, call.opcode
    base = source.base.text if isinstance(source, Address) and isinstance(source.base, Name) else ""
    if base and not base.startswith("%") and base not in lowering.parameters:
        return Lowered(lambda state: state.forget(targets, _FROM_CALLEE), targets)
    read = call.read(1)

    def run(state: State) -> None:
        address = read(state)
        at = address.constant
        for i, target in enumerate(targets):
            place = lowering.parameter_at(at + i * opcode.bytes) if at is not None else None
            if place is None:
                state.set(target, state.load(address))
                continue
            launch = state.geometry.launch
            known = launch.get(place, launch.get((place[0], None)))
            state.set(target, lowering.parameter(*place, opcode) if known is None else known)

    return Lowered(run, targets)


@executes("st")
def store(call: Call) -> Lowered | None:
    """Stores of every state space; of thread-local memory what is stored is kept."""
    opcode = call.opcode
    if opcode.space in ("param", "global", "const"):
        return None
    read = call.read(0)
    source = call.operands[1]
    items = source.items if isinstance(source, Vector) else (source,)
    values = [call.lowering.names.reader(item) for item in items]
    sites = _sites(call, AccessKind.STORE, opcode.bytes * opcode.elements, 0)
    size = opcode.bytes

    def run(state: State) -> None:
        address = read(state)
        is_local = opcode.space == "local"
        if is_local or (not opcode.space and _window_of(address) == "local"):
            offset = address if is_local else subtract(address, _LOCAL_WINDOW, 64)
            _store_local(state, offset, size, [read_value(state) for read_value in values])
            return
        _record(state, call, sites, address)

    return Lowered(run, is_kept=True)


def _window_of(address: Value) -> str:
    """Returns the state space of a generic address; empty for global memory."""
    if address.is_top:
        return ""
    base = address.base if isinstance(address.base, int) else int(address.base.flat[0])
    if address.terms and address.bits < WORD_BITS and base < SHARED_WINDOW:
        return ""
    return {1: "shared", 2: "local", 3: "local"}.get(base >> 40, "")


def _record(
    state: State, call: Call, sites: tuple[Site, ...], address: Value, source: Value | None = None
) -> None:
    """Records an access of shared memory; a generic one only where it is known to be one."""
    space = call.opcode.space
    if space == "shared":
        state.access(sites, address, source)
    elif space == "cluster":
        state.access(sites, top(_REMOTE))
    elif _window_of(address) == "shared":
        state.access(sites, subtract(address, _SHARED_WINDOW, 64))
    elif address.is_top and call.lowering.makes_generic:
        call.lowering.note(call.operation, _MAY_BE_SHARED)


def _sites(call: Call, kind: AccessKind, width: int, address: int) -> tuple[Site, ...]:
    """Returns the site of an access that can be one of shared memory."""
    if call.opcode.space not in ("shared", "cluster", ""):
        return ()
    return call.lowering.sites(call.operation, kind, width, call.operands[address])


# ---- thread-local memory: its words are registers, keyed by ("local", address, bytes)


def _load_local(state: State, call: Call, targets: tuple[str, ...], address: Value) -> None:
    at = address.constant
    size = call.opcode.bytes
    for i, target in enumerate(targets):
        key = ("local", at + i * size, size) if at is not None else None
        value = state.fragment.registers.get(key) if key is not None else None
        state.set(target, value if value is not None else top(DATA))


def _store_local(state: State, address: Value, size: int, values: list[Value]) -> None:
    at = address.constant
    registers = state.fragment.registers
    if at is None:
        for key in [k for k in registers if isinstance(k, tuple)]:
            del registers[key]
        return
    end = at + size * len(values)
    for key in [k for k in registers if isinstance(k, tuple)]:
        if key[1] < end and at < key[1] + key[2]:
            del registers[key]
    if (state.mask == state.fragment.mask).all() and state.doubt is None:
        for i, value in enumerate(values):
            registers["local", at + i * size, size] = value


# ---- atomics


@executes("atom", "red")
def atomic(call: Call) -> Lowered:
    """Executes atomics; `red` gives no result."""
    opcode = call.opcode
    has_result = opcode.name == "atom"
    targets = call.written() if has_result else ()
    at = 1 if has_result else 0
    read = call.read(at)
    operand = call.operands[at + 1] if len(call.operands) > at + 1 else None
    is_used = any(target in call.lowering.read for target in targets)
    name = executed(_atomic_operation(call, operand, is_used=is_used), call.lowering.arch)
    sites: tuple[Site, ...] = ()
    if opcode.space in ("shared", "cluster", ""):
        sites = call.lowering.sites(
            call.operation,
            AccessKind.ATOMIC,
            opcode.bytes * opcode.elements,
            call.operands[at],
            atomic=name,
        )
    issuing = call.lowering.issuing(call.operands[at], operand, name, is_used=is_used)

    def run(state: State) -> None:
        mask = state.mask
        state.mask = issuing(mask)
        _record(state, call, sites, read(state))
        state.mask = mask
        state.forget(targets)

    return Lowered(run, targets, is_kept=bool(sites))


def _atomic_operation(call: Call, operand: Operand | None, *, is_used: bool) -> str:
    opcode = call.opcode
    name = next((p for p in opcode.parts if p in _ATOMICS), "")
    type_ = opcode.type
    if type_ == "b32" and name not in ("and", "or", "xor", "exch", "cas"):
        type_ = "u32"
    is_one = isinstance(operand, Immediate) and operand.value == 1
    if name == "inc" and isinstance(operand, Immediate) and operand.value in (-1, 0xFFFFFFFF):
        name, is_one = "add", True
    suffix = ONE if name == "add" and is_one and not is_used and type_[1:] == "32" else ""
    return f"{name}.{type_}{suffix}"


# ---- matrices and asynchronous copies


@executes("ldmatrix")
def load_matrix(call: Call) -> Lowered:
    """Executes `ldmatrix.xN`: lanes 8i to 8i + 7 give the rows of matrix i."""
    targets = call.written()
    read = call.read(1)
    sites = _matrix_sites(call, AccessKind.LDMATRIX, 1)

    def run(state: State) -> None:
        _record(state, call, sites, read(state))
        state.forget(targets)

    return Lowered(run, targets, is_kept=True)


@executes("stmatrix")
def store_matrix(call: Call) -> Lowered:
    """Executes `stmatrix.xN`."""
    read = call.read(0)
    sites = _matrix_sites(call, AccessKind.STMATRIX, 0)
    return Lowered(lambda state: _record(state, call, sites, read(state)), is_kept=True)


def _matrix_sites(call: Call, kind: AccessKind, address: int) -> tuple[Site, ...]:
    return call.lowering.sites(
        call.operation, kind, 16, call.operands[address], matrices=call.opcode.matrices or 1
    )


@executes("cp")
def copy(call: Call) -> Lowered | None:
    """Executes `cp.async`; bulk copies have no addresses by lane."""
    opcode = call.opcode
    if opcode.has("bulk"):
        call.lowering.note(call.operation, _BULK)
        return None
    size = call.operands[2] if len(call.operands) > 2 else None
    if not opcode.has("ca", "cg") or not isinstance(size, Immediate):
        return None
    to, source = call.read(0), call.read(1)
    part = call.operands[3] if len(call.operands) > 3 else size
    sites = call.lowering.sites(
        call.operation,
        AccessKind.ASYNC_COPY,
        size.value,
        call.operands[0],
        atomic=f"cp.async.{'cg' if opcode.has('cg') else 'ca'}",
        is_partial=not isinstance(part, Immediate) or part.value != size.value,
    )

    def run(state: State) -> None:
        _record(state, call, sites, to(state), source(state))

    return Lowered(run, is_kept=True)


@executes("wgmma", "tcgen05")
def descriptor_matrix(call: Call) -> Lowered | None:
    """Records matrix products that read shared memory through descriptors."""
    if call.opcode.has("mma_async", "mma", "cp", "sp"):
        call.lowering.note(call.operation, _DESCRIPTOR)
    targets = tuple(
        r
        for operand in call.operands[:1]
        if isinstance(operand, Vector)
        for r in call.lowering.names.registers(operand)
    )
    return Lowered(lambda state: state.forget(targets), targets)
