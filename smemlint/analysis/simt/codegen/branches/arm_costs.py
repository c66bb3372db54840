"""What the arms of a branch cost: LLVM computes cheap ones for all threads, and selects.

Of `s[4 * t + i] = t + i < n ? ARM : 0` in a loop that is unrolled by four, stores of nvcc 13.0.88,
-O3, sm_90; `p` is a pointer, `v.p` one in a struct, `r` an array in registers:

| arm | stores |
| --- | --- |
| `x`, `r[i]`, up to five of `x * y`, `x + y`, `j ^ k`, `j >> k`, `x > y ? x : y` | one STS.128 |
| `(float)j`, `min(j, k)`, `abs(j)`, `__popc`, `__clz`, `__byte_perm`, `__dp4a` | one STS.128 |
| `j / 8u`, `j % 8u` of unsigned integers | one STS.128 |
| an inlined function of such arithmetic alone, `x < lo ? lo : x` in it included | one STS.128 |
| six operations and more, those that reassociation saves not counted | four STS |
| `p[l]`, `v.p[l]`, `*p`, `__ldg(p)`, an element of constant or shared memory | four STS |
| `fabsf`, `fmaxf`, `fmaf`, `rsqrtf`, `expf`, `__expf`, `min` of floats, `__half2float` | four STS |
| `(int)x`, `__float2int_rn`, `__umulhi`, `__funnelshift_l`, `__shfl_xor_sync` | four STS |
| `x / y`, `j / k`, `j / 7`, `j / 8` of signed integers | four STS |
| an inlined function that does one of these | four STS |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from smemlint.analysis.simt.codegen.branches.branch_shapes import is_part
from smemlint.analysis.simt.codegen.loaded_values import MATH_FUNCTIONS
from smemlint.analysis.simt.domain.ctypes import (
    FLOAT,
    I32,
    VOID,
    ArrayType,
    CType,
    FloatType,
    IntType,
    PointerType,
    RecordType,
    unreferenced,
)
from smemlint.analysis.simt.types.builtin_types import builtin_type
from smemlint.analysis.simt.types.keyword_types import keyword_type
from smemlint.analysis.simt.types.overloads import parameters_of
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Unit
from smemlint.lazy_dataclasses import dataclass

MAX_COST = 5
"""Instructions that are computed for all threads."""
_MAX_DEPTH = 4
"""Calls in calls that are looked into."""
_CHEAP = frozenset(["+", "-", "*", "&", "|", "^", "<<", ">>", "<", ">", "<=", ">=", "==", "!="])
_LOGICAL = frozenset(("&&", "||"))
_SIGNS = frozenset(("-", "+", "~", "!"))
_ARITHMETIC = _CHEAP - frozenset(("<", ">", "<=", ">=", "==", "!=")) | frozenset(("/", "%"))
_OF_INTEGERS = frozenset(("min", "max", "abs", "umin", "umax"))
_CHEAP_CALLS = frozenset((
    "__popc", "__popcll", "__clz", "__clzll", "__ffs", "__ffsll", "__brev", "__byte_perm",
    "__mul24", "__umul24", "__dp4a",
    "__float_as_int", "__int_as_float", "__float_as_uint", "__uint_as_float",
))  # fmt: skip
_ELEMENTARY = ("exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "pow")
_COSTLY_CALLS = (
    MATH_FUNCTIONS
    | frozenset(name for each in _ELEMENTARY for name in (each, f"{each}f", f"__{each}f"))
    | frozenset((
        "fabs", "fmax", "fmin", "fma", "fmaf", "erf", "erff", "rsqrtf", "__fdividef",
        "__ldg", "__ldcs", "__ldca", "__ldcg", "__half2float", "__float2half", "__float2half_rn",
        "__float2int_rn", "__float2int_rz", "__float2uint_rn", "__umulhi", "__mulhi",
        "__funnelshift_l", "__funnelshift_r", "__ballot_sync",
        "__shfl_sync", "__shfl_xor_sync", "__shfl_up_sync", "__shfl_down_sync",
    ))
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cost:
    """What an expression or statement takes to compute.

    Attributes:
        instructions: of plain arithmetic.
        is_block: it does what is not computed unless it is needed.
        is_open: it may do that, for all that is known.
    """

    instructions: int = 0
    loads: int = 0
    is_block: bool = False
    is_open: bool = False

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.instructions + other.instructions,
            self.loads + other.loads,
            self.is_block or other.is_block,
            self.is_open or other.is_open,
        )


_FREE, _ONE = Cost(), Cost(1)
_LOAD, _BLOCK, _OPEN = Cost(1, 1, is_block=True), Cost(1, is_block=True), Cost(1, is_open=True)


@dataclass(frozen=True, slots=True)
class Name:
    """What a variable or another place is.

    Attributes:
        type: None where it was not read.
        is_memory: whether it lies outside of registers; None where that is not known.
        points_to_memory: whether what it points to does.
    """

    type: CType | None
    is_memory: bool | None = False
    points_to_memory: bool = True


Names: TypeAlias = Callable[[str], Name | None]
"""Returns what a name means; None for what is no variable."""


def stays(*arms: Cost) -> bool | None:
    """Returns whether arms of a branch stay blocks of their own; None where that is not known."""
    together = total(arms)
    if together.is_block or together.instructions > 2 * MAX_COST:
        return True
    return None if together.is_open or together.instructions > MAX_COST else False


def total(costs: Iterable[Cost]) -> Cost:
    """Returns what several things cost together."""
    return sum(costs, start=_FREE)


@dataclass(frozen=True, slots=True)
class ArmCosts:
    """Counts what expressions and statements cost.

    Attributes:
        unit: in which functions are looked up.
        names: what names mean where the arms stand.
        depth: calls around.
        is_loaded: whether a place is in a register already, or may be loaded in any case.
    """

    unit: Unit
    names: Names
    depth: int = 0
    is_loaded: Callable[[ir.Node], bool] = lambda _: False

    # ---- statements

    def of_statement(self, node: ir.Node | None) -> Cost | None:
        """Returns the cost of a statement that only changes variables; None of all others."""
        match node:
            case None | ir.EmptyStatement() | ir.Using():
                return _FREE
            case ir.Compound():
                return self._of_block(node.block_items or ())
            case ir.Assignment(lvalue=ir.ID(name=name)) if self._is_register(name):
                cost = _FREE if node.op == "=" else _operator(node.op[:-1])
                return self.of(node.rvalue) + cost + self._converted(name, node.rvalue)
            case ir.UnaryOp(expr=ir.ID(name=name)) if node.op in ir.STEPS and self._is_register(
                name
            ):
                return _ONE
        return None

    def _converted(self, name: str, value: ir.Node) -> Cost:
        """Returns what giving a variable a value takes: a float may be truncated."""
        found = self.names(name)
        is_integer = found is not None and isinstance(found.type, IntType)
        return _BLOCK if is_integer and isinstance(self._type(value), FloatType) else _FREE

    def _of_block(self, items: Iterable[ir.Node]) -> Cost | None:
        together = _FREE
        for item in items:
            cost = self.of_statement(item)
            if cost is None:
                return None
            together += cost
        return together

    def of_body(self, node: ir.Node | None) -> Cost:
        """Returns the cost of statements of a function that is inlined, and returns a value."""
        match node:
            case ir.Compound():
                return total(map(self.of_body, node.block_items or ()))
            case ir.Decl(init=init):
                return self.of(init)
            case ir.Return(expr=expr):
                return self.of(expr)
            case ir.If(cond=cond, iftrue=one, iffalse=other):
                return self.of(cond) + self.of_body(one) + self.of_body(other)
        return self.of_statement(node) or _OPEN

    def of_condition(self, node: ir.Node) -> Cost:
        """Returns what the right sides of `&&` and `||` cost, which only some threads evaluate."""
        match node:
            case ir.BinaryOp(op="&&" | "||", left=left, right=right):
                return self.of_condition(left) + self.of_condition(right) + self.of(right)
            case ir.UnaryOp(op="!", expr=expr):
                return self.of_condition(expr)
        return _FREE

    def _is_register(self, name: str) -> bool:
        found = self.names(name)
        is_plain = found is not None and not isinstance(found.type, ArrayType | PointerType)
        return is_plain and found is not None and not found.is_memory

    # ---- expressions

    def of(self, node: ir.Node | None) -> Cost:
        """Returns the cost of an expression."""
        match node:
            case None | ir.Constant() | ir.Typename():
                return _FREE
            case ir.StructRef(name=ir.ID(name="threadIdx" | "blockIdx" | "blockDim" | "gridDim")):
                return _FREE
            case ir.ID() | ir.StructRef() | ir.ArrayRef() | ir.UnaryOp(op="*"):
                return self._read(node)
            case ir.BinaryOp():
                return self.of(node.left) + self.of(node.right) + self._binary(node)
            case ir.UnaryOp(op=op):
                return self.of(node.expr) + (_ONE if op in _SIGNS else _OPEN)
            case ir.Cast():
                return self.of(node.expr) + self._cast(keyword_type(node.to_type), node.expr)
            case ir.TernaryOp():
                return total(map(self.of, (node.cond, node.iftrue, node.iffalse))) + _ONE
            case ir.FuncCall():
                return total(map(self.of, node.args)) + self._call(node)
        return _OPEN

    def _binary(self, node: ir.BinaryOp) -> Cost:
        if node.op not in ("/", "%"):
            return _operator(node.op)
        ctype, by = self._type(node.left), node.right
        text = by.value.rstrip("uUlL") if isinstance(by, ir.Constant) else ""
        divisor = int(text) if text.isdigit() else 0
        if divisor == 0 or divisor & (divisor - 1) or isinstance(ctype, FloatType):
            return _BLOCK
        if not isinstance(ctype, IntType):
            return _OPEN
        return _BLOCK if ctype.signed else _ONE

    def _cast(self, to: CType | None, operand: ir.Node) -> Cost:
        ctype = self._type(operand)
        if isinstance(to, FloatType) or isinstance(ctype, IntType):
            return _ONE
        return _BLOCK if isinstance(ctype, FloatType) and isinstance(to, IntType) else _OPEN

    def _type(self, node: ir.Node) -> CType | None:
        """Returns the type of an expression where its names tell it; None elsewhere."""
        match node:
            case ir.Constant(type=text):
                return FLOAT if text in ("double", "float") else I32
            case ir.Cast():
                return keyword_type(node.to_type)
            case ir.BinaryOp(op=op, left=left, right=right):
                if op not in _ARITHMETIC:
                    return I32
                types = self._type(left), self._type(right)
                return next((t for t in types if isinstance(t, FloatType)), types[0] and types[1])
            case ir.UnaryOp(op=op) if op in _SIGNS:
                return self._type(node.expr)
            case ir.TernaryOp():
                return self._type(node.iftrue)
        place = self._place(node)
        return unreferenced(place.type) if place is not None and place.type is not None else None

    # ---- places

    def _read(self, node: ir.Node) -> Cost:
        if is_part(node) and self.is_loaded(node):
            return _FREE
        place = self._place(node)
        if place is None:
            if isinstance(node, ir.ID):
                return _FREE  # a constant
            return (
                self._element(node)
                if isinstance(node, ir.ArrayRef)
                else self._address(node) + _OPEN
            )
        if isinstance(place.type, ArrayType) or place.is_memory is False:
            return self._address(node)
        return self._address(node) + (_LOAD if place.is_memory else _OPEN)

    def _address(self, node: ir.Node | ir.Expression) -> Cost:
        """Returns what computing an address takes, with the pointers that are loaded for it."""
        match node:
            case ir.StructRef(type="."):
                return self._address(node.name)
            case ir.StructRef():
                return self.of(node.name)
            case ir.ArrayRef():
                base = self._place(node.name)
                is_array = base is not None and isinstance(base.type, ArrayType)
                return self.of(node.subscript) + (self._address if is_array else self.of)(node.name)
            case ir.UnaryOp(op="*"):
                return self.of(node.expr)
        return _FREE

    def _place(self, node: ir.Node) -> Name | None:
        """Returns what an lvalue is; None where its names do not tell it."""
        match node:
            case ir.ID(name=name):
                return self.names(name)
            case ir.StructRef(name=base, type=op, field=field):
                owner = self._place(base) if op == "." else self._target(base)
                ctype = owner and owner.type and unreferenced(owner.type)
                member = ctype.member(field.name) if isinstance(ctype, RecordType) else None
                return Name(member.type, owner.is_memory) if member and owner else None
            case ir.ArrayRef(name=base):
                return self._target(base)
            case ir.UnaryOp(op="*", expr=pointer):
                return self._target(pointer)
        return None

    def _target(self, pointer: ir.Node) -> Name | None:
        """Returns what a pointer points to, or an element of an array."""
        match pointer:
            case ir.BinaryOp(op="+" | "-", left=left):
                return self._target(left)
            case ir.Cast(to_type=to, expr=inner):
                ctype, found = keyword_type(to), self._target(inner)
                is_memory = found.is_memory if found else None
                return Name(ctype.target, is_memory) if isinstance(ctype, PointerType) else None
            case ir.UnaryOp(op="&", expr=place):
                return self._place(place)
        found = self._place(pointer)
        match found and found.type:
            case ArrayType(element=element):
                return found and Name(element, found.is_memory)
            case PointerType(target=target):
                return found and Name(target, found.points_to_memory)
        return None

    # ---- calls

    def _call(self, node: ir.FuncCall) -> Cost:
        match node.name:
            case ir.StructRef(name=base, type=".", field=ir.ID(name=name)):
                return self._method(base, name)
            case ir.ID(name=name):
                if self.names(name) is not None:
                    return self._method(node.name, "operator()")
                if name in _OF_INTEGERS:
                    return self._of_integers(node.args)
                if name in _CHEAP_CALLS:
                    return _ONE
                if name in _COSTLY_CALLS:
                    return _BLOCK
                if (to := builtin_type((name,))) is not None and len(node.args) == 1:
                    return self._cast(to, node.args[0])
                return self._of_functions(name)
        return _OPEN

    def _of_integers(self, args: Iterable[ir.Node]) -> Cost:
        types = [self._type(arg) for arg in args]
        if any(isinstance(ctype, FloatType) for ctype in types):
            return _BLOCK
        return _ONE if all(isinstance(ctype, IntType) for ctype in types) else _OPEN

    def _element(self, node: ir.ArrayRef) -> Cost:
        return self.of(node.subscript) + self._method(node.name, "operator[]")

    def _method(self, base: ir.Node, name: str) -> Cost:
        ctype = self._type(base)
        place = self._place(base)
        in_memory = place is not None and place.is_memory is True
        if not isinstance(ctype, RecordType) or ctype.record is None:
            return _LOAD if in_memory else _OPEN  # of the object, whatever it does
        return self._of_functions(name, ctype, in_memory=in_memory)

    def _of_functions(
        self, name: str, record: CType | None = None, *, in_memory: bool = False
    ) -> Cost:
        """Returns what a call costs of a function of a name; open where they differ in that."""
        if self.depth >= _MAX_DEPTH:
            return _OPEN
        owner = record if isinstance(record, RecordType) else None
        functions = self.unit.functions_named(name)
        meant = [f for f in functions if f.record == (owner.name if owner else None)]
        depth = self.depth + 1
        found = [body_cost(self.unit, f, owner, depth, in_memory=in_memory) for f in meant]
        if not found or any(cost.is_block is not found[0].is_block for cost in found):
            return _OPEN
        return max(found, key=lambda cost: (cost.is_open, cost.instructions))


def body_cost(
    unit: Unit,
    function: Function,
    record: RecordType | None,
    depth: int = 0,
    *,
    in_memory: bool = False,
) -> Cost:
    """Returns what the body of a function costs that is inlined.

    Args:
        unit: in which the functions that it calls are looked up.
        function: a function or method.
        record: the class of the object that a method works on.
        depth: calls around.
        in_memory: that object lies outside of registers.
    """
    tree = function.parse().tree
    if tree is None or function.parse().dropped:
        return _OPEN
    return ArmCosts(unit, names_of(function, record, in_memory=in_memory), depth).of_body(tree.body)


def names_of(
    function: Function, record: RecordType | None = None, *, in_memory: bool = False
) -> Names:
    """Returns what names mean in a function, by its declarations and the members of a class."""
    tree = function.parse().tree
    nodes = () if tree is None else (*parameters_of(tree), *tree.body.walk())
    declared = {node.name: node for node in nodes if isinstance(node, ir.Decl) and node.name}

    def names(name: str) -> Name | None:
        if name in declared:
            return _declared(declared[name])
        member = record.member(name) if record is not None else None
        return Name(member.type, in_memory) if member is not None else None

    return names


def _declared(declaration: ir.Decl) -> Name:
    """Returns what a parameter or local variable is, as far as keywords tell it."""
    match declaration.type:
        case ir.PtrDecl(quals=quals) as pointer if "&" in quals or "&&" in quals:
            return Name(keyword_type(pointer.type), None)
        case ir.PtrDecl() as pointer:
            return Name(keyword_type(pointer) or PointerType(VOID))
        case ir.ArrayDecl(type=element):
            return Name(ArrayType(keyword_type(element) or VOID, None))
    return Name(keyword_type(declaration.type))


def _operator(op: str) -> Cost:
    """Returns what an operator costs that is no division."""
    return _ONE if op in _CHEAP or op in _LOGICAL else _BLOCK if op in ("/", "%") else _OPEN
