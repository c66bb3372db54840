"""Loads whose values a function is given, and that sink into a branch of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from smemlint.analysis.simt.codegen.loaded_values import is_sum, is_volatile, loads_of
from smemlint.analysis.simt.codegen.sinking import is_near
from smemlint.analysis.simt.codegen.sunk_loads import Sunk
from smemlint.analysis.simt.state import State
from smemlint.frontend import ir


def passed_loads(
    state: State, call: ir.Node, params: Sequence[ir.Decl], body: ir.Node
) -> dict[ir.Node, list[Sunk]]:
    """Returns where loads sink whose values a function takes, by the branch.

    A parameter is to them what a variable in front of the body is: of `f(s[8 * lane])` and
    `void f(float v) { if (lane < 4) out[lane] = v; }` four threads load (nvcc 13.0.88, sm_90, -O3).
    """
    found: dict[ir.Node, list[Sunk]] = {}
    if not isinstance(call, ir.FuncCall) or not state.trace.items:
        return found
    caller = state.frames[-2].sunk if len(state.frames) > 1 else {}
    handed = [*state.node_facts.sunk.get(call, ()), *caller.get(call, ())]
    by_value = frozenset(p.name for p in params if not isinstance(p.type, ir.PtrDecl))
    for param, argument in zip(params, call.args, strict=False):
        if isinstance(param.type, ir.PtrDecl) or is_volatile(param):
            continue
        for load, is_open in _values_of(argument, handed):
            if not is_near(state.trace, load):
                continue
            into = state.node_facts.sunk_operand(body, param.name, by_value, is_open=is_open)
            for branch, sunk in into.items():
                found.setdefault(branch, []).extend(
                    replace(each, load=load.load, loop=load.loop) for each in sunk
                )
    return found


def _values_of(argument: ir.Node, handed: Sequence[Sunk]) -> Iterator[tuple[Sunk, bool]]:
    """Yields the loads that an argument is made of, and whether it is of more than one value."""
    is_open = is_sum(argument)
    for load in loads_of(argument):
        yield Sunk(load, None), is_open
    for sunk in handed:
        if sunk.way is argument:
            yield sunk, is_open or sunk.is_open
