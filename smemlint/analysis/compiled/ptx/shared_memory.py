"""Where the shared variables of a PTX kernel lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smemlint.analysis.compiled.demangle import variable_name
from smemlint.facts import SharedArray, Span
from smemlint.frontend.ptx.module import sizeof
from smemlint.frontend.ptx.syntax import Variable
from smemlint.lazy_dataclasses import dataclass

_DYNAMIC_ALIGNMENT = 16


@dataclass(frozen=True, slots=True, eq=False)
class SharedMemory:
    """The shared variables of one kernel.

    Attributes:
        addresses: of each in bytes from the start of the block's shared memory.
        arrays: the facts about each.
    """

    addresses: dict[str, int]
    arrays: dict[str, SharedArray]


def shared_memory(
    variables: Sequence[Variable], span_of: Callable[[Variable], Span]
) -> SharedMemory:
    """Lays variables out: static ones in order, then the dynamic ones, which share their start.

    What lies in front of them, 1 KiB from sm_90 on, is a multiple of all banks.
    """
    static = [v for v in variables if not _is_dynamic(v)]
    end = 0
    addresses: dict[str, int] = {}
    for variable in static:
        alignment = max(variable.alignment, sizeof(variable.type), 1)
        end = -(-end // alignment) * alignment
        addresses[variable.name] = end
        end += _bytes(variable) or 0
    for variable in variables:
        if variable.name not in addresses:
            alignment = max(variable.alignment, _DYNAMIC_ALIGNMENT)
            addresses[variable.name] = -(-end // alignment) * alignment
    arrays = {v.name: _array(v, addresses[v.name], span_of(v)) for v in variables}
    return SharedMemory(addresses, arrays)


def _is_dynamic(variable: Variable) -> bool:
    return variable.is_extern or None in variable.extents or _bytes(variable) == 0


def _bytes(variable: Variable) -> int | None:
    size = sizeof(variable.type)
    for extent in variable.extents:
        if extent is None:
            return None
        size *= extent
    return size


def _array(variable: Variable, base: int, span: Span) -> SharedArray:
    is_dynamic = _is_dynamic(variable)
    return SharedArray(
        variable_name(variable.name),
        span,
        variable.type,
        sizeof(variable.type),
        (None,) if is_dynamic else variable.extents or (1,),
        base,
        None if is_dynamic else _bytes(variable),
        max(variable.alignment, _DYNAMIC_ALIGNMENT if is_dynamic else 1),
        is_dynamic,
    )
