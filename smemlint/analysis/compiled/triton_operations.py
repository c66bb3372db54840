"""Which operation of a Triton kernel a shared access belongs to, by the TTGIR beside its PTX.

Nobody writes Triton's shared accesses: its compiler lays out tiles and moves them through shared
memory. The GPU dialect that it lowers to PTX, `NAME.ttgir` of the cache, names each such move, its
tile, and the place in the Python source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from smemlint.analysis.compiled.source_places import base_name
from smemlint.analysis.compiled.triton_cache import triton_files
from smemlint.facts import Access, AccessKind
from smemlint.files.sandbox import Sandbox
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_TTGIR_BYTES, MAX_TTGIR_DEPTH

_LOCATION = re.compile(r"^#(loc\d*) = loc\((.*)\)\s*$", re.M)
_FILE = re.compile(r'"((?:[^"\\]|\\.){0,4096})":(\d+):(\d+)')
_REFERENCE = re.compile(r"#(loc\d*)\b")
_AT = re.compile(r"loc\(#(loc\d*)\)\s*$")
_OPERATION = re.compile(
    r"^\s*(?:%(?P<name>[A-Za-z]\w*?)(?:_\d+)?(?::\d+)? = |%\w+(?::\d+)? = )?"
    r"\"?(?P<head>tt[ng]*\.\w+)(?![\w.])"
)
_SOURCE = re.compile(r"%([A-Za-z]\w*?)(?:_\d+)?\b")

_WRITES = (AccessKind.STORE, AccessKind.STMATRIX)
_READS = (AccessKind.LOAD, AccessKind.LDMATRIX)
_BOTH = (*_WRITES, *_READS)
_SHAPES = "the block sizes, num_warps and the element type decide this layout"
_ORDER = (
    "the copy's rows follow the order of the tile in memory: let the contiguous dimension span 128"
    " bytes or more (block size, element type), and load the operand in the order it is stored in"
)
_REDUCED = "fewer warps along the reduced axis (num_warps, block sizes) exchange less"


class _Form(NamedTuple):
    """An operation that moves a tile through shared memory.

    Attributes:
        kinds: of access that it becomes.
        text: what it is, with the name of the tile.
        advice: what changes how it is laid out.
    """

    kinds: tuple[AccessKind, ...]
    text: str
    advice: str


_FORMS = {
    "ttg.async_copy_global_to_local": _Form(
        (AccessKind.ASYNC_COPY,), "copy of {} to shared memory in the loop's pipeline", _ORDER
    ),
    "ttg.local_load": _Form(_READS, "load of {} from shared memory", _SHAPES),
    "ttg.local_store": _Form(_WRITES, "store of {} to shared memory", _SHAPES),
    "ttg.local_alloc": _Form(_WRITES, "copy of {} to shared memory", _SHAPES),
    "ttg.convert_layout": _Form(_BOTH, "change of the layout of {}", _SHAPES),
    "tt.reduce": _Form(_BOTH, "reduction of {}", _REDUCED),
    "tt.scan": _Form(_BOTH, "scan of {}", _REDUCED),
    "tt.trans": _Form(_BOTH, "transpose of {}", _SHAPES),
    "tt.reshape": _Form(_BOTH, "reshape of {}", _SHAPES),
    "tt.gather": _Form(_BOTH, "gather from {}", _SHAPES),
    "tt.histogram": _Form((*_BOTH, AccessKind.ATOMIC), "histogram of {}", _SHAPES),
    "tt.atomic_rmw": _Form(_BOTH, "result of an atomic on {}", _SHAPES),
    "tt.atomic_cas": _Form(_BOTH, "result of an atomic on {}", _SHAPES),
    "ttng.tmem_load": _Form(_BOTH, "load of {} from tensor memory", _SHAPES),
}
_DOT = "dot operand {}"
_TO_STORE = "change of the layout of {} for a store"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the Python source that moves a tile through shared memory.

    Attributes:
        shown: what it is, in words.
        kinds: of access that it becomes.
        advice: what changes how it is laid out, in words.
    """

    shown: str
    kinds: tuple[AccessKind, ...]
    advice: str


class Place(NamedTuple):
    """A line and column of a Python source, which its name stands for."""

    file: str
    line: int
    column: int


def triton_operations(compiled: str, sandbox: Sandbox) -> dict[Place, tuple[Operation, ...]]:
    """Returns what the file beside compiled code says of its operations, by their places."""
    text = sandbox.text(triton_files(compiled)[1], MAX_TTGIR_BYTES)
    return operations_in(text) if text is not None else {}


def operations_in(text: str) -> dict[Place, tuple[Operation, ...]]:
    """Returns the operations of TTGIR that use shared memory, by their places in Python."""
    locations = dict(_LOCATION.findall(text))
    found: dict[Place, dict[Operation, None]] = {}
    places: dict[str, tuple[Place, ...]] = {}
    for operation, location in _operations(text.split("\n")):
        if location not in places:
            places[location] = tuple(_places(location, locations))
        for place in places[location]:
            found.setdefault(place, {})[operation] = None
    return {place: tuple(operations) for place, operations in found.items()}


def operation_of(
    access: Access, operations: Mapping[Place, tuple[Operation, ...]]
) -> Operation | None:
    """Returns the operation that an access belongs to: the first of its kind at its place."""
    span = access.span
    place = Place(base_name(span.path), span.line, span.column)
    return next((o for o in operations.get(place, ()) if access.kind in o.kinds), None)


def _operations(lines: list[str]) -> Iterator[tuple[Operation, str]]:
    """Yields operations with the names of their locations, one with a body at its end."""
    bodies: list[Operation | None] = []
    stored = {name for line in lines if "tt.store" in line for name in re.findall(r"%\w+", line)}
    for line in lines:
        match = _OPERATION.match(line)
        operation = _operation(match, line, stored) if match is not None else None
        if line.rstrip().endswith("({"):
            bodies.append(operation)
            del bodies[:-MAX_TTGIR_DEPTH]
            continue
        if line.lstrip().startswith("})") and bodies:
            operation = bodies.pop()
        at = _AT.search(line)
        if operation is not None and at is not None:
            yield operation, at[1]


def _operation(match: re.Match[str], line: str, stored: set[str]) -> Operation | None:
    form = _FORMS.get(match["head"])
    if form is None or (match["head"] == "ttg.local_alloc" and "alloc :" in line):
        return None
    text = form.text
    if "#ttg.dot_op" in line.rpartition("->")[2]:
        text = _DOT
    elif match["head"] == "ttg.convert_layout" and line.split(" = ")[0].strip() in stored:
        text = _TO_STORE
    name = match["name"]
    if name is None or not match["head"].startswith("ttg.") or text == _TO_STORE:
        source = _SOURCE.search(line, match.end())
        name = source[1] if source is not None else name
    return Operation(text.format(f"`{name}`" if name else "a tile"), form.kinds, form.advice)


def _places(name: str, locations: Mapping[str, str]) -> Iterator[Place]:
    """Yields the places of a location, those of all callers included."""
    worklist, seen = [name], {name}
    while worklist and len(seen) < MAX_TTGIR_DEPTH:
        body = locations.get(worklist.pop(), "")
        for file, line, column in _FILE.findall(body):
            yield Place(base_name(file), int(line[:9]), int(column[:9]))
        for other in _REFERENCE.findall(body):
            if other not in seen:
                seen.add(other)
                worklist.append(other)
