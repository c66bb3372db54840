"""Variables of files that hold what launches are made of: other host code sets them before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from functools import cached_property

from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    IntType,
    RecordType,
    is_function_pointer,
)
from smemlint.analysis.simt.domain.environment import Binding, Variable
from smemlint.analysis.simt.domain.values import Space, Unknown
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.initializers import initialize
from smemlint.frontend import ir
from smemlint.frontend.program import Declaration, Unit
from smemlint.reasons import Assumption, ReasonCode, Topic

_NOT_OF_HOSTS = frozenset(
    ("const", "constexpr", "__constant__", "__device__", "__shared__", "__managed__")
)


def _shapes_of(unit: Unit) -> frozenset[str]:
    """Returns the variables of a unit's files that hold shapes, looked for once."""
    found = unit.memory.get("shapes")
    if not isinstance(found, frozenset):
        found = unit.memory["shapes"] = frozenset(
            name
            for name, declared in unit.declarations.items()
            if any(d.kind == "variable" and "dim3" in d.specifiers for d in declared)
        )
    return found


def _keeps_value(unit: Unit, name: str) -> bool:
    """Returns whether a unit gives a variable its only value, or sees that of another unit."""
    declared = unit.declarations.get(name, ())
    if declared and all("extern" in d.specifiers for d in declared):
        return name not in unit.assigned
    return name in unit.assigned_once


def written_variables(units: Iterable[Unit]) -> frozenset[str]:
    """Returns the numbers and objects of units' files that host code may set."""
    return frozenset().union(*map(_written_in, units))


def _written_in(unit: Unit) -> frozenset[str]:
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


def _setters_of(units: Sequence[Unit], variables: Set[str]) -> frozenset[str]:
    """Returns the names of the host functions that name some variables, or call one that does."""
    functions = [f for unit in units for f in unit.functions if f.is_host]
    found: set[str] = set()
    wanted = set(variables)
    while wanted:
        new = {f.name for f in functions if not wanted.isdisjoint(f.words)} - found
        found |= new
        wanted = new
    return frozenset(found)


def _runs_before_main(units: Sequence[Unit], functions: Set[str]) -> bool:
    """Returns whether a variable of a file is made by one of some functions or constructors."""
    declared = (d for unit in units for found in unit.declarations.values() for d in found)
    return any(
        d.kind == "variable" and not functions.isdisjoint(d.specifiers - {d.name}) for d in declared
    )


class FileVariables:
    """Variables of files, as host code finds them; those that shapes rest on are followed.

    Args:
        units: that are linked, and may write to them.
        followed: those that shapes of launches may rest on, beside those of `dim3`.
        defaults: what is assumed of them is noted there.

    Attributes:
        kept: variables that other files may write and that none of the units does.
    """

    def __init__(
        self, units: Sequence[Unit], followed: frozenset[str], defaults: dict[Assumption, None]
    ) -> None:
        self._units = units
        self._followed = followed
        self._defaults = defaults
        self.kept: set[str] = set()

    @cached_property
    def shapes(self) -> frozenset[str]:
        """Variables of files that hold shapes: a function without a result may set them."""
        return self._followed.union(*map(_shapes_of, self._units))

    @cached_property
    def setters(self) -> frozenset[str]:
        """Functions that may set shapes, themselves or through others."""
        return _setters_of(self._units, self.shapes) if self.shapes else frozenset()

    def bind(self, ev: Evaluator, declaration: Declaration, found: Binding) -> Binding:
        """Follows shapes of launches from function to function."""
        name = declaration.name
        if not isinstance(found, Variable) or found.object.cells:
            return found
        is_whole = isinstance(found.type, IntType | RecordType)
        if name in self.shapes and (is_whole or name not in self._followed):
            found.object.space, found.object.born = Space.LOCAL, ev.state.geometry.exists
            ev.state.globals[declaration] = found
            self._note_kept(name)
            is_begin = ev.state.frames[0].name == "main"
            if is_whole and is_begin and not _runs_before_main(self._units, self.setters):
                self._begin(ev, found, declaration.parse())
                return found
            found.object.default = Unknown.because(
                ReasonCode.NOT_DECLARED, f"`{name}` is set nowhere that was seen"
            )
            text = f"`{name}` is what the code before the launch makes it"
            self._defaults.setdefault(Assumption(Topic.HOST, text, name))
        return found

    def forget(self, ev: Evaluator, by: str) -> None:
        """Forgets the variables of files that shapes rest on: a call may have set them."""
        for binding in list(ev.state.globals.values()):
            if isinstance(binding, Variable) and binding.object.name in self.shapes:
                ev.state.memory.forget(binding.object, f"was left to `{by}`")

    def keeps_initial_value(self, ev: Evaluator, name: str, type: CType) -> bool:
        """Returns whether no unit writes to a number, an object or a table that it has."""
        element = type
        while isinstance(element, ArrayType):
            element = element.element
        if not (isinstance(element, IntType | RecordType) or is_function_pointer(element)):
            return False
        for unit in self._units:
            declared = unit is ev.state.unit or name in unit.declarations
            if unit.mentions(name) and not (declared and _keeps_value(unit, name)):
                return False
        self._note_kept(name)
        text = f"`{name}` keeps the value that it begins with"
        self._defaults.setdefault(Assumption(Topic.HOST, text, name))
        return True

    def _note_kept(self, name: str) -> None:
        """Notes a variable of a file that other files may write."""
        if not any(
            "static" in d.specifiers for u in self._units for d in u.declarations.get(name, ())
        ):
            self.kept.add(name)

    def _begin(self, ev: Evaluator, variable: Variable, node: ir.Node | None) -> None:
        """Gives a variable of a file the value that it begins with."""
        init = getattr(node, "init", None) or ir.BraceList((), at=getattr(node, "at", 0))
        with ev.state.memory.without_undo():
            initialize(ev, variable, init)
