"""Classes of the file and objects of them: what their names mean, and what makes an object.

An object's attributes are what assignments that were followed left in them. What a base class that
is not at hand may define is not known.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from smemlint.analysis.python.interpreter.values import UNKNOWN, Function, Individual, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIELDS = ("dataclass", "aggregate", "NamedTuple")
"""What makes a class whose `__init__` takes its annotated names."""
_MOST_BASES = 16


@dataclass(frozen=True, slots=True, eq=False)
class Class(Individual):
    """A class of the file.

    Attributes:
        node: its statement.
        members: what its body binds.
        bases: those of its bases that are known.
    """

    node: ast.ClassDef
    members: dict[str, Value]
    bases: tuple[Class, ...] = ()

    def family(self) -> Iterator[Class]:
        """The class and its bases, in the order in which names are looked up."""
        waiting, count = [self], 0
        while waiting and count < _MOST_BASES:
            found = waiting.pop(0)
            yield found
            waiting = [*found.bases, *waiting]
            count += 1

    def member(self, name: str) -> Value:
        """What the class or the nearest base binds to a name."""
        return next((c.members[name] for c in self.family() if name in c.members), UNKNOWN)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names that a generated `__init__` takes, in order; none for other classes."""
        marks = [*self.node.decorator_list, *self.node.bases]
        said = [ast.unparse(m.func if isinstance(m, ast.Call) else m) for m in marks]
        if not any(text.rpartition(".")[2].lstrip("_") in _FIELDS for text in said):
            return ()
        found: dict[str, None] = {}
        for one in reversed(list(self.family())):
            for statement in one.node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    found[statement.target.id] = None
        return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class Instance(Individual):
    """An object of a class of the file.

    Attributes:
        type: its class.
        attributes: what those that were assigned hold.
        open: attributes that hold one of several values, as the methods may be called in any order.
        born: how many branches that may not be taken were around its making.
    """

    type: Class
    attributes: dict[str, Value] = field(default_factory=dict)
    open: frozenset[str] = frozenset()
    born: int = 0

    def assign(self, name: str, value: Value) -> None:
        """Gives an attribute its value, where that stays."""
        if name not in self.open:
            self.attributes[name] = value

    def attribute(self, name: str) -> Value:
        """What the object or its class binds to a name."""
        if name in self.open:
            return UNKNOWN
        return self.attributes[name] if name in self.attributes else self.type.member(name)


@dataclass(frozen=True, slots=True, eq=False)
class Bound(Individual):
    """A method with the object or class that it is called on."""

    function: Function
    owner: Instance | Class


@dataclass(frozen=True, slots=True, eq=False)
class Super(Individual):
    """`super()` inside a method: names are looked up behind the method's class."""

    owner: Instance | Class
    behind: Class

    def attribute(self, name: str) -> Value:
        """What the nearest base binds to a name."""
        held = (base.member(name) for base in self.behind.bases)
        return next((value for value in held if value is not UNKNOWN), UNKNOWN)


def kind_of(function: Function) -> str:
    """How a function of a class is called: `method`, `static`, `class` or `property`."""
    for decorator in function.node.decorator_list:
        name = ast.unparse(decorator).rpartition(".")[2]
        match name:
            case "staticmethod":
                return "static"
            case "classmethod":
                return "class"
            case "property" | "cached_property":
                return "property"
    return "method"


def any_of(owner: Class) -> Instance:
    """An object of a class whose methods are called in an order that nobody knows.

    It keeps the attributes that `__init__` alone assigns, or one statement of all methods.
    """
    places: dict[str, list[str]] = {}
    for one in owner.family():
        for function in one.node.body:
            if isinstance(function, ast.FunctionDef):
                for name in _assigned(function):
                    places.setdefault(name, []).append(function.name)
    several = (n for n, found in places.items() if len(found) > 1 and set(found) != {"__init__"})
    return Instance(owner, open=frozenset(several))


def _assigned(function: ast.FunctionDef) -> Iterator[str]:
    arguments = function.args.args
    owner = arguments[0].arg if arguments else "self"
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                if name == owner:
                    yield node.attr


def filled(made: Instance, given: dict[str, Value]) -> None:
    """What a generated `__init__` does: each field gets its argument, else its default."""
    for name in made.type.fields:
        made.attributes[name] = given[name] if name in given else made.type.member(name)
