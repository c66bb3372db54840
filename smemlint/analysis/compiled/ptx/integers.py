"""Integer, bit and predicate instructions."""

from __future__ import annotations

from collections.abc import Callable
from inspect import CO_VARARGS
from typing import TypeAlias

from smemlint.analysis.compiled import arithmetic as a
from smemlint.analysis.compiled import bits as b
from smemlint.analysis.compiled.predicates import COMPARISONS, compare, select
from smemlint.analysis.compiled.ptx.operands import LOCAL_WINDOW, SHARED_WINDOW, bits_of
from smemlint.analysis.compiled.ptx.registry import Call, Lowered, executes
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import ONE, ZERO, Value, weak, wrap
from smemlint.frontend.ptx.opcode import Opcode, is_integer
from smemlint.frontend.ptx.syntax import Immediate, Pair, Vector

Function: TypeAlias = Callable[..., Value]


def assign(call: Call, function: Function) -> Lowered:
    """Writes a function of the operands behind the destination to it.

    Raises:
        ValueError: the function takes another number of operands.
    """
    reads = [call.read(i) for i in range(1, len(call.operands))]
    if not _takes(function, len(reads)):
        raise ValueError(f"{len(reads)} operands")
    target = call.written()
    if not target:
        return Lowered(lambda state: None)
    register = target[0]

    def run(state: State) -> None:
        state.set(register, function(*(read(state) for read in reads)))

    return Lowered(run, target)


def _takes(function: Function, count: int) -> bool:
    """Returns whether a function can be called with so many arguments."""
    code = function.__code__
    least = code.co_argcount - len(function.__defaults__ or ())
    return least <= count and (count <= code.co_argcount or bool(code.co_flags & CO_VARARGS))


def _simple(function: Callable[[Opcode], Function]) -> Callable[[Call], Lowered]:
    def lower(call: Call) -> Lowered:
        return assign(call, function(call.opcode) if call.opcode.is_integer else weak)

    return lower


_SIMPLE: dict[str, Callable[[Opcode], Function]] = {
    "add": lambda o: lambda x, y: a.add(x, y, o.width),
    "sub": lambda o: lambda x, y: a.subtract(x, y, o.width),
    "neg": lambda o: lambda x: a.negate(x, o.width),
    "abs": lambda o: lambda x: a.absolute(x, o.width),
    "min": lambda o: lambda x, y, *_: a.minimum(x, y, o.width, is_signed=o.is_signed),
    "max": lambda o: lambda x, y, *_: a.maximum(x, y, o.width, is_signed=o.is_signed),
    "div": lambda o: lambda x, y: a.divide(x, y, o.width, is_signed=o.is_signed),
    "rem": lambda o: lambda x, y: a.remainder(x, y, o.width, is_signed=o.is_signed),
    "and": lambda o: lambda x, y: b.bitwise("and", x, y, o.width),
    "or": lambda o: lambda x, y: b.bitwise("or", x, y, o.width),
    "xor": lambda o: lambda x, y: b.bitwise("xor", x, y, o.width),
    "not": lambda o: lambda x: b.invert(x, o.width),
    "shl": lambda o: lambda x, y: a.shift_left(x, y, o.width),
    "shr": lambda o: lambda x, y: a.shift_right(x, y, o.width, o.is_signed),
    "bfe": lambda o: lambda x, y, z: b.bit_field(x, y, z, o.width, is_signed=o.is_signed),
    "bfi": lambda o: lambda x, y, s, n: b.insert_bits(x, y, s, n, o.width),
    "popc": lambda o: lambda x: b.count_ones(x, o.width),
    "clz": lambda o: lambda x: b.leading_zeros(x, o.width),
    "brev": lambda o: lambda x: b.reverse_bits(x, o.width),
    "cnot": lambda o: lambda x: compare("eq", x, ZERO, o.width, is_signed=False),
}
for _name, _function in _SIMPLE.items():
    executes(_name)(_simple(_function))


@executes("bfind")
def bfind(call: Call) -> Lowered:
    """Executes `bfind.u32 d, a`: the position of the highest set bit."""
    opcode = call.opcode
    if opcode.is_signed:
        return assign(call, weak)
    if opcode.has("shiftamt"):
        last = Value(opcode.width - 1)
        return assign(
            call,
            lambda x: select(
                compare("eq", x, ZERO, opcode.width, is_signed=False),
                Value(0xFFFFFFFF),
                a.subtract(last, b.highest_bit(x, opcode.width)),
            ),
        )
    return assign(call, lambda x: b.highest_bit(x, opcode.width))


@executes("mul", "mad", "mul24", "mad24")
def multiply(call: Call) -> Lowered:
    """Executes products: the low or high half, or `wide`."""
    opcode = call.opcode
    if not opcode.is_integer:
        return assign(call, weak)
    width, is_signed = opcode.width, opcode.is_signed

    def product(x: Value, y: Value, *addend: Value) -> Value:
        if opcode.has("wide"):
            result, bits = a.multiply_wide(x, y, width, is_signed=is_signed), 2 * width
        elif opcode.has("hi"):
            result, bits = a.multiply_high(x, y, width, is_signed=is_signed), width
        else:
            result, bits = a.multiply(x, y, width), width
        return a.add(result, addend[0], bits) if addend else result

    return assign(call, product)


@executes("mov")
def move(call: Call) -> Lowered:
    """Copies, packs `{a, b}` into one register or takes one apart."""
    target, source = call.operands[0], call.operands[-1]
    if isinstance(target, Vector):
        return _unpack(call, len(target.items))
    if isinstance(source, Vector):
        return _pack(call, source)
    return assign(call, lambda x: x)


def _unpack(call: Call, count: int) -> Lowered:
    read = call.read(1)
    width = call.opcode.width // count
    names = call.lowering.names
    assert isinstance(call.operands[0], Vector)
    targets = [names.registers(item) for item in call.operands[0].items]
    is_modelled = call.opcode.width <= 64 and width < 64

    def run(state: State) -> None:
        whole = read(state)
        for i, target in enumerate(targets):
            if target:
                part = a.shift_right(whole, Value(i * width), count * width)
                mask = Value((1 << width) - 1)
                state.set(target[0], b.bitwise("and", part, mask) if is_modelled else weak(whole))

    return Lowered(run, tuple(r for target in targets for r in target))


def _pack(call: Call, source: Vector) -> Lowered:
    reads = [call.lowering.names.reader(item) for item in source.items]
    total = call.opcode.width
    width = total // len(reads)
    (target,) = call.written() or ("_",)

    def run(state: State) -> None:
        result = ZERO
        for i, read in enumerate(reads):
            part = read(state)
            if total > 64:
                result = weak(part, result)
                continue
            part = b.bitwise("and", part, Value(int(wrap((1 << width) - 1, 64))), total)
            result = b.bitwise("or", result, a.shift_left(part, Value(i * width), total), total)
        state.set(target, result)

    return Lowered(run, (target,))


@executes("cvt")
def convert(call: Call) -> Lowered:
    """Executes conversions; those of floating-point numbers are not followed."""
    types = call.opcode.types
    if len(types) < 2 or not all(map(is_integer, types[-2:])) or call.opcode.has("sat", "pack"):
        return assign(call, weak)
    target, source = types[-2], types[-1]
    return assign(
        call,
        lambda x: a.convert(x, bits_of(source), bits_of(target), is_signed=source.startswith("s")),
    )


@executes("cvta")
def convert_address(call: Call) -> Lowered:
    """Converts between generic addresses and those of one state space, whose window they keep."""
    windows = {"shared": SHARED_WINDOW, "cluster": SHARED_WINDOW, "local": LOCAL_WINDOW}
    window = Value(windows.get(call.opcode.space, 0))
    if call.opcode.has("to"):
        return assign(call, lambda x: a.subtract(x, window, 64))
    return assign(call, lambda x: a.add(x, window, 64))


@executes("setp", "set")
def set_predicate(call: Call) -> Lowered:
    """Executes comparisons, combined with a further predicate where there is one."""
    opcode = call.opcode
    comparison = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
    name = comparison.get(opcode.parts[0], opcode.parts[0])
    kind = opcode.types[-1] if opcode.types else "b32"
    combine = next((p for p in opcode.parts[1:] if p in ("and", "or", "xor")), None)
    reads = [call.read(i) for i in range(1, len(call.operands))]
    target = call.operands[0]
    names = call.lowering.names
    pair = (target.first, target.second) if isinstance(target, Pair) else (target,)
    targets = [names.registers(item) for item in pair]
    is_followed = is_integer(kind) and name in COMPARISONS and opcode.name == "setp"
    width, is_signed = bits_of(kind), kind.startswith("s")

    def run(state: State) -> None:
        x, y, *further = (read(state) for read in reads)
        result = compare(name, x, y, width, is_signed=is_signed) if is_followed else _truth(x, y)
        other = b.bitwise("xor", result, ONE, 1)
        for value, register in zip((result, other), targets, strict=False):
            if combine is not None and further:
                value = b.bitwise(combine, value, further[0], 1)  # type: ignore[arg-type]
            if register:
                state.set(register[0], value)

    return Lowered(run, tuple(r for register in targets for r in register))


def _truth(*values: Value) -> Value:
    """Returns a predicate of which only is known whether a warp agrees on it."""
    result = weak(*values)
    return result if result.is_top else b.bitwise("and", result, ONE)


@executes("selp", "slct")
def choose(call: Call) -> Lowered:
    """Executes `selp d, a, b, p`."""
    if call.opcode.name == "slct":
        return assign(call, weak)
    return assign(call, lambda x, y, p: select(p, x, y))


@executes("testp", "isspacep")
def test(call: Call) -> Lowered:
    """Tests whose outcome only is known to agree or not within a warp."""
    return assign(call, _truth)


@executes("lop3")
def logic(call: Call) -> Lowered:
    """Executes `lop3.b32 d, a, b, c, table`."""
    table = call.operands[-1]
    if not isinstance(table, Immediate) or call.opcode.has("and", "or"):
        return assign(call, weak)
    return assign(call, lambda x, y, z, _: b.logic3(x, y, z, table.value & 0xFF))


@executes("prmt")
def permute(call: Call) -> Lowered:
    """Executes `prmt.b32 d, a, b, selector` in its default mode."""
    if call.opcode.parts != ("b32",):
        return assign(call, weak)
    return assign(call, b.permute_bytes)


@executes("shf")
def funnel(call: Call) -> Lowered:
    """Executes `shf.l` and `shf.r`."""
    is_right, clamps = call.opcode.has("r"), call.opcode.has("clamp")
    return assign(
        call, lambda low, high, n: b.funnel_shift(low, high, n, is_right=is_right, clamps=clamps)
    )


@executes("bmsk", "fns", "dp4a", "dp2a", "sad", "szext", "addc", "subc", "madc")
def opaque_integer(call: Call) -> Lowered:
    """Executes instructions that no address was seen to depend on."""
    return assign(call, weak)


@executes("fma", "sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh", "copysign", "rand")
def opaque_float(call: Call) -> Lowered:
    """Executes floating-point arithmetic."""
    return assign(call, weak)
