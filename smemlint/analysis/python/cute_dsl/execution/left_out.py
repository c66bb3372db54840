"""What executing a file left out: for its number, calls that may access shared memory, copies."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from dataclasses import field
from functools import lru_cache

from smemlint.analysis.python.cute_dsl.execution.copies import BARRIERS
from smemlint.analysis.python.cute_dsl.execution.outside.switches import argument
from smemlint.analysis.python.cute_dsl.execution.outside.ways import Access, Step, ways_of
from smemlint.analysis.python.cute_dsl.execution.sides import (
    ELSEWHERE,
    functions_around,
    is_elsewhere,
    values_of,
)
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.storage import StorageField
from smemlint.analysis.python.cute_dsl.execution.values import (
    Pointer,
    UnknownTensor,
    array_of,
    payload_of,
)
from smemlint.analysis.python.interpreter.values import Value
from smemlint.analysis.simt.domain.values import Object
from smemlint.facts import NotAnalysed, Span
from smemlint.frontend.heuristics import has_no_lanes, names_shared_tensor
from smemlint.frontend.python.imports import is_none, last_name
from smemlint.frontend.python.parameters import parameters_of
from smemlint.frontend.python.python_source import PythonText
from smemlint.layout import cute
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_WAYS_TO_A_CALL
from smemlint.reasons import Reason, ReasonCode

_COPIES = frozenset(("copy", "autovec_copy", "basic_copy", "basic_copy_if", "copy_atom_call"))
_ALLOCATIONS = frozenset(("allocate_tensor", "allocate_array", "alloc_smem", "get_dyn_smem"))
_WITHOUT_LANES = Reason(
    ReasonCode.NO_LANES, "a copy by TMA, a bulk copy or one of tensor memory: no lane addresses"
)
_Variable = tuple[ast.FunctionDef, str]
_NO_CALL = "no call of its function could be followed"
_LANELESS_MAKERS = ("make_tmem_copy", "make_s2t_copy", "tma_atom", "tcgen05.", "cpasync.CopyBulk")


@dataclass(slots=True)
class LeftOut:
    """How much of each kind was left out, at its place; of several executions the most."""

    path: str
    _counts: dict[tuple[Span, str, str], int] = field(default_factory=dict)

    def add_run(self, run: Execution) -> None:
        """Adds launches that an execution left out, and files that it did not read."""
        for function, count in run.left_out.items():
            self._add(run.span_of_name(function), function.name, "launches are not executed", count)

    def add(self, what: str, count: int) -> None:
        """Adds a note on the file."""
        self._add(Span(self.path, 1, 1, 1, 1), "", what, count)

    def _add(self, where: Span, kernel: str, what: str, count: int) -> None:
        key = where, kernel, what
        self._counts[key] = max(count, self._counts.get(key, 0))

    def notes(self) -> list[NotAnalysed]:
        """Returns a note for each kind of which anything was left out."""
        return [
            NotAnalysed(where, kernel, Reason(ReasonCode.LEFT_OUT, f"{count} further {what}"))
            for (where, kernel, what), count in self._counts.items()
            if count
        ]


def note_unfollowed(run: Execution, name: str, given: Iterable[Value], node: ast.Call) -> None:
    """Notes a call that is not followed if it is given shared memory, which it may access."""
    if has_no_lanes(name) or has_no_lanes(ast.unparse(node.func)):
        return
    arrays = list(dict.fromkeys(_arrays(given)))
    if arrays:
        first = arrays[0]
        given_array = f"`{first.name}`" if first is not None and first.name else "shared memory"
        text = f"`{name}` is not followed, and is given {given_array}"
        run.note(node, text, first if len(arrays) == 1 else None)


def _arrays(values: Iterable[Value]) -> Iterator[Object | None]:
    """Yields the shared arrays among values; None for one that is not known."""
    for value in values:
        payload = payload_of(value)
        if isinstance(value, tuple | list):
            yield from _arrays(value)
        elif isinstance(payload, cute.Tensor | UnknownTensor):
            if payload.space is cute.Space.SHARED:
                yield array_of(payload)
        elif isinstance(payload, Pointer | StorageField):
            pointer = payload if isinstance(payload, Pointer) else payload.pointer
            if pointer.space is cute.Space.SHARED:
                yield pointer.origin.object


# ---- what no execution reached


def holds_shared_memory(value: Value) -> bool:
    """Returns whether a value is a tensor of shared memory, or a pointer to it."""
    return not isinstance(value, tuple | list) and any(True for _ in _arrays((value,)))


def unreached_accesses(
    text: PythonText, reached: Set[Span], shared_names: Set[_Variable]
) -> Iterator[tuple[ast.FunctionDef, Access]]:
    """Yields what may access shared memory and no execution reached, with the function around it.

    Args:
        text: the file.
        reached: places that were executed: of calls, and of what is in the brackets of subscripts.
        shared_names: variables that hold shared memory.
    """
    shared_names = _passed_on(text, shared_names)
    for function, access, name in _accesses_of(text):
        is_shared = name is None or (function, name) in shared_names
        if is_shared and _place(text, access) not in reached:
            yield function, access


@lru_cache(maxsize=1)
def _accesses_of(text: PythonText) -> tuple[tuple[ast.FunctionDef, Access, str | None], ...]:
    """Returns the copies of a file that has shared memory, and the elements of its variables."""
    if not names_shared_tensor(text.text):
        return ()  # its copies move global memory
    return tuple(
        (function, access, name)
        for function in ast.walk(text.tree)
        if isinstance(function, ast.FunctionDef)
        for access in _own_accesses(function)
        if (name := _accessed_by(access)) or _is_copy(access)
    )


def _accessed_by(access: Access) -> str | None:
    """Returns the variable of which elements are accessed, if any are."""
    match access:
        case ast.Subscript(value=owner) if not _is_slice(access):
            pass
        case ast.Call(func=ast.Attribute(value=owner, attr="load" | "store" | "fill")):
            pass
        case _:
            return None
    return _variable_of(owner)


def _variable_of(tensor: ast.expr | None) -> str | None:
    """Returns the variable that a tensor is, or a part of."""
    while isinstance(tensor, ast.Subscript):
        tensor = tensor.value
    return tensor.id if isinstance(tensor, ast.Name) else None


def _passed_on(text: PythonText, shared_names: Set[_Variable]) -> Set[_Variable]:
    """Returns variables that hold shared memory with the parameters that calls give it to."""
    found = dict.fromkeys(shared_names)
    worklist = list(found)
    for variable in worklist:
        further = [p for p in _parameters_given(text).get(variable, ()) if p not in found]
        found.update(dict.fromkeys(further))
        worklist += further
    return found.keys()


@lru_cache(maxsize=1)
def _parameters_given(text: PythonText) -> dict[_Variable, list[_Variable]]:
    """Returns variables of functions with the parameters that calls in a file give them to."""
    ways = ways_of(text.tree)
    given: dict[_Variable, list[_Variable]] = {}
    for inside in ways.steps:
        function = inside.function
        if function is None or inside.node is not function:
            continue
        for call in ways.calls_named(function.name):
            if call.function is None or not _is_called(inside, call):
                continue
            for name in (p.name for p in parameters_of(function.args)):
                variable = _variable_of(argument((inside, call), name))
                if variable is not None:
                    given.setdefault((call.function, variable), []).append((function, name))
    return given


def _is_called(inside: Step, call: Step) -> bool:
    """Returns whether a call is one of a function of the file, or of the own class, by its name."""
    match call.node:
        case ast.Call(func=ast.Name()):
            return inside.owner is None
        case ast.Call(func=ast.Attribute(value=ast.Name("self"))):
            return inside.owner is not None and inside.owner is call.owner
    return False


def _is_slice(subscript: ast.Subscript) -> bool:
    return any(isinstance(n, ast.Slice) or is_none(n) for n in ast.walk(subscript.slice))


def _place(text: PythonText, access: Access) -> Span:
    return text.span(access.slice if isinstance(access, ast.Subscript) else access)


def notes_of(
    text: PythonText,
    unreached: Iterable[tuple[ast.FunctionDef, Access]],
    entered: Set[ast.FunctionDef],
    failure: str,
) -> list[NotAnalysed]:
    """Returns a note for each access that no execution reached.

    Args:
        text: the file.
        unreached: these accesses.
        entered: functions that were executed.
        failure: why the program's own execution ended early; empty where it did not.
    """
    notes: list[NotAnalysed] = []
    for function, access in unreached:
        why = "not executed with these arguments" if function in entered else _NO_CALL
        what = "a copy of CuTe" if _is_copy(access) else "an element of shared memory"
        reason = Reason(ReasonCode.NOT_REACHED, f"{what}: {failure or why}")
        if _has_barrier(access) or _is_laneless(text, function, _atom_of(access)):
            reason = _WITHOUT_LANES
        elif isinstance(access, ast.Call) and is_elsewhere(access, text, function):
            reason = ELSEWHERE
        notes.append(NotAnalysed(_place(text, access), function.name, reason))
    return notes


def unreached_allocations(text: PythonText, entered: Set[ast.FunctionDef]) -> Iterator[NotAnalysed]:
    """Yields a note for each function that allocates shared memory and was not entered."""
    for function in (n for n in ast.walk(text.tree) if isinstance(n, ast.FunctionDef)):
        allocation = next((c for c in _own_accesses(function) if _calls(c, _ALLOCATIONS)), None)
        if allocation is not None and function not in entered:
            reason = Reason(ReasonCode.NOT_REACHED, f"shared memory of CuTe: {_NO_CALL}")
            yield NotAnalysed(text.span(allocation), function.name, reason)


def _calls(access: Access, names: Set[str]) -> bool:
    return isinstance(access, ast.Call) and last_name(access.func) in names


def _is_copy(access: Access) -> bool:
    return _calls(access, _COPIES) and ast.unparse(access).startswith(("cute.", "cutlass."))


def _has_barrier(access: Access) -> bool:
    """Returns whether a copy is given a barrier of shared memory at which it ends."""
    keywords = access.keywords if isinstance(access, ast.Call) else ()
    return any(k.arg in BARRIERS and not is_none(k.value) for k in keywords)


def _atom_of(access: Access) -> ast.expr | None:
    """Returns what a call is given first: of a copy the atom."""
    return access.args[0] if isinstance(access, ast.Call) and access.args else None


def _is_laneless(text: PythonText, function: ast.FunctionDef, atom: ast.expr | None) -> bool:
    """Returns whether all that an expression may be are atoms without lane addresses.

    Those are made by functions of TMA and of tensor memory, or of an operation of these.
    """
    worklist: list[tuple[ast.FunctionDef | None, ast.expr | None]] = [(function, atom)]
    for inside, value in worklist:
        if isinstance(value, ast.Call) and last_name(value.func) == "make_copy_atom":
            value = _atom_of(value)
        if isinstance(value, ast.Name) and inside is not None:
            if _is_given_to_tma(text, inside, value.id):
                continue
            found = list(values_of(text, inside, value.id))
            worklist += [v for v in found if v not in worklist]
            if not found or len(worklist) > MAX_WAYS_TO_A_CALL:
                return False
        elif not (
            isinstance(value, ast.Call)
            and any(part in ast.unparse(value.func) for part in _LANELESS_MAKERS)
        ):
            return False
    return True


def _is_given_to_tma(text: PythonText, function: ast.FunctionDef, atom: str) -> bool:
    """Returns whether a function, or one around it, divides tensors for TMA by an atom."""
    return any(
        isinstance(node, ast.Call)
        and last_name(node.func) == "tma_partition"
        and getattr(_atom_of(node), "id", "") == atom
        for around in functions_around(text, function)
        for node in ast.walk(around)
    )


def _own_accesses(function: ast.FunctionDef) -> Iterator[Access]:
    """Yields a function's subscripts and calls of methods, without functions inside it."""
    worklist: list[ast.AST] = list(ast.iter_child_nodes(function))
    while worklist:
        node = worklist.pop(0)
        if isinstance(node, ast.FunctionDef):
            continue
        if isinstance(node, ast.Subscript) or (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        ):
            yield node
        worklist += ast.iter_child_nodes(node)
