"""Variables of files that hold what launches are made of: other host code sets them before."""

from __future__ import annotations

from collections.abc import Sequence, Set

from smemlint.frontend import ir
from smemlint.frontend.program import Declaration, Unit

_NOT_OF_HOSTS = frozenset(
    ("const", "constexpr", "__constant__", "__device__", "__shared__", "__managed__")
)


def shapes_of(unit: Unit) -> frozenset[str]:
    """Returns the variables of a unit's files that hold shapes, looked for once."""
    found = unit.memory.get("shapes")
    if not isinstance(found, frozenset):
        found = unit.memory["shapes"] = frozenset(
            name
            for name, declared in unit.declarations.items()
            if any(d.kind == "variable" and "dim3" in d.specifiers for d in declared)
        )
    return found


def keeps_value(unit: Unit, name: str) -> bool:
    """Returns whether a unit gives a variable its only value, or sees that of another unit."""
    declared = unit.declarations.get(name, ())
    if declared and all("extern" in d.specifiers for d in declared):
        return name not in unit.assigned
    return name in unit.assigned_once


def written_variables(unit: Unit) -> frozenset[str]:
    """Returns the numbers and objects of a unit's files that host code may set."""
    known = unit.memory.get("written variables")
    if not isinstance(known, frozenset):
        names = unit.assigned & unit.declarations.keys()
        once = unit.assigned_once
        known = frozenset(
            n for n in names if any(_is_written(d, n in once) for d in unit.declarations[n])
        )
        unit.memory["written variables"] = known
    return known


def _is_written(declaration: Declaration, is_set_once: bool) -> bool:
    if declaration.kind != "variable" or not _NOT_OF_HOSTS.isdisjoint(declaration.specifiers):
        return False
    node = declaration.parse()
    if not isinstance(node, ir.Decl) or not isinstance(node.type, ir.TypeDecl):
        return False
    return node.init is None or not is_set_once


def setters_of(units: Sequence[Unit], variables: Set[str]) -> frozenset[str]:
    """Returns the names of the host functions that name some variables, or call one that does."""
    functions = [f for unit in units for f in unit.functions if f.is_host]
    found: set[str] = set()
    wanted = set(variables)
    while wanted:
        new = {f.name for f in functions if not wanted.isdisjoint(f.words)} - found
        found |= new
        wanted = new
    return frozenset(found)


def runs_before_main(units: Sequence[Unit], functions: Set[str]) -> bool:
    """Returns whether a variable of a file is made by one of some functions or constructors."""
    declared = (d for unit in units for found in unit.declarations.values() for d in found)
    return any(
        d.kind == "variable" and not functions.isdisjoint(d.specifiers - {d.name}) for d in declared
    )
