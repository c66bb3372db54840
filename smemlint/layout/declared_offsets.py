"""Offsets that a comment declares to go to shared memory: `shared(offs, dtype=fp16, vec=8)`.

Classic Triton has no shared memory that a source can name, so index arithmetic that is computed by
hand is checked where a pragma says what it is meant for.
"""

from __future__ import annotations

import ast
import re
from dataclasses import field

from smemlint.layout.declared import DeclaredSwizzle, read_declared
from smemlint.lazy_dataclasses import dataclass

_HOW = "write shared(offs, dtype=fp16, block=(8, 64))"
_DTYPE = re.compile(r"(?:bf|bfloat|fp|float|f|int|i|uint|u)(?P<bits>8|16|32|64)(?:e\d\w*)?")
_MOST_BYTES = 16
_FORM = re.compile(
    r"(?:swizzle\s*\((?P<numbers>[^()]*)\)\s*(?P<units>\w*)\s*(?=shared\())?(?P<call>shared\(.*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class DeclaredOffsets:
    """Element offsets into shared memory, and how lanes take them.

    Attributes:
        expression: as spelled, of names that are known where the pragma stands.
        block: shape of the tile of offsets; empty where the expression has it.
        vec: successive elements that one lane moves at once.
        order: dimensions, the one along which lanes run first; empty for the last one first.
        values: numbers of names that the source leaves open.
        declared: the swizzle that the offsets go through; None without one.
    """

    expression: str
    element: str
    element_bytes: int
    block: tuple[int, ...] = ()
    vec: int = 1
    order: tuple[int, ...] = ()
    values: dict[str, int] = field(default_factory=dict)
    declared: DeclaredSwizzle | None = None

    @property
    def width(self) -> int:
        """Bytes that a lane moves at once."""
        return self.vec * self.element_bytes


def offsets_in(text: str) -> DeclaredOffsets:
    """Returns what `shared(..)` or `swizzle(3, 3, 3) shared(..)` says, with any text behind it.

    The swizzle counts in elements unless `bytes` stands behind it.

    Raises:
        ValueError: what is wrong and what to write.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"`{text}` is not understood: write swizzle(3, 3, 3) shared(..)")
    declared = None
    if form["numbers"] is not None:
        declared = read_declared(form["numbers"].split(","), form["units"] or "elements")
    return _read(form["call"], declared)


def _read(text: str, declared: DeclaredSwizzle | None) -> DeclaredOffsets:
    call = _call(text)
    named = {k.arg: k.value for k in call.keywords if k.arg is not None}
    is_one = len(call.args) == 1 and not isinstance(call.args[0], ast.Starred)
    if not is_one or len(named) < len(call.keywords):
        raise ValueError(f"`shared` takes one expression of offsets: {_HOW}")
    element, element_bytes = _element(named.pop("dtype", None))
    block = _integers("block", named.pop("block", None))
    vec = _integers("vec", named.pop("vec", None)) or (1,)
    order = _integers("order", named.pop("order", None))
    if len(vec) != 1 or vec[0] < 1 or vec[0] & (vec[0] - 1) or vec[0] * element_bytes > _MOST_BYTES:
        raise ValueError(
            f"`vec` is the number of elements that a lane moves at once: a power of two of at most "
            f"{_MOST_BYTES} bytes"
        )
    if any(n < 1 for n in block) or sorted(order) != list(range(len(order))):
        raise ValueError("`block` is a shape and `order` an order of its dimensions, as (1, 0)")
    values = {name: _integers(name, value) for name, value in named.items()}
    if any(len(v) != 1 for v in values.values()):
        raise ValueError("a name that `shared` gives a value gets one number: stride=64")
    return DeclaredOffsets(
        ast.unparse(call.args[0]),
        element,
        element_bytes,
        block,
        vec[0],
        order,
        {name: numbers[0] for name, numbers in values.items()},
        declared,
    )


def _call(text: str) -> ast.Call:
    """Returns the call that the text begins with; parentheses in strings are not looked for."""
    depth = end = 0
    for at, c in enumerate(text, 1):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 and c == ")":
            end = at
            break
    if not end:
        raise ValueError(f"`shared(` is not closed: {_HOW}")
    try:
        found = ast.parse(text[:end], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"`{text[:end]}` is not an expression: {_HOW}") from None
    if not isinstance(found, ast.Call) or ast.unparse(found.func) != "shared":
        raise ValueError(f"`{text[:end]}` is not a call of `shared`: {_HOW}")
    return found


def _element(node: ast.expr | None) -> tuple[str, int]:
    spelling = ast.unparse(node) if node is not None else ""
    name = spelling.strip("'\"").rpartition(".")[2]
    match = _DTYPE.fullmatch(name)
    if match is None:
        raise ValueError(
            f"`{spelling}` is not an element type: {_HOW}" if spelling else f"of which type? {_HOW}"
        )
    return name, int(match["bits"]) // 8


def _integers(name: str, node: ast.expr | None) -> tuple[int, ...]:
    """Returns the numbers of an argument, none where it is not given."""
    if node is None:
        return ()
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        value = None
    numbers = value if isinstance(value, tuple | list) else (value,)
    if not numbers or not all(type(n) is int and abs(n) < 1 << 31 for n in numbers):
        raise ValueError(f"`{name}={ast.unparse(node)}` is not a number or shape: {_HOW}")
    return tuple(numbers)
