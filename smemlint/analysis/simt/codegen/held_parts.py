"""What becomes of the parts of a variable, as the text of its block tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TypeAlias

from smemlint.analysis.simt.codegen.places import Counter, Place
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

Way: TypeAlias = "tuple[tuple[ir.Node | Counter, ir.Node], ...]"
"""The ways that a statement stands on, outermost first: what has several ways, and which it is."""
_NUMBERS = frozenset(
    ("bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "half")
)


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """A place that another one is made of.

    Attributes:
        held: of what it is.
        is_same: it has the same bytes; others are computed, of which each may hang on all.
        way: on which it is made.
        operators: that it is an operand of, and the how many-eth, outermost first; those of classes
            may compute members of the same members.
    """

    source: Place
    place: Place
    held: Held
    is_same: bool
    way: Way = ()
    operators: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True, eq=False)
class Held:
    """What is done with a variable until all of it is assigned, or with what is loaded.

    Attributes:
        ctype: as it is declared; None where that is not known.
        reads: places, and the ways on which they are read.
        copies: what is made of it.
    """

    ctype: ir.Node | None = None
    reads: dict[Place, set[Way]] = field(default_factory=dict)
    writes: list[Place] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)

    def with_copies(self) -> list[Held]:
        """Returns this and what is made of it."""
        found, worklist = {self: None}, [self]
        while worklist:
            new = {c.held: None for c in worklist.pop().copies if c.held not in found}
            found |= new
            worklist += new
        return list(found)

    def constants(self) -> tuple[str, ...]:
        """Returns the names of constants that the bytes which are read hang on."""
        every = self.with_copies()
        places = [place for held in every for place in held.reads]
        places += (place for held in every for c in held.copies for place in (c.source, c.place))
        return tuple({name: None for place in places for name in sorted(place.constants())})

    @property
    def is_dead(self) -> bool:
        """Whether it is nothing but numbers, and nothing hangs on them."""
        return not any(held.reads or not is_number(held.ctype) for held in self.with_copies())


@dataclass(frozen=True, slots=True, eq=False)
class PartsRead:
    """What becomes of what is loaded into a place.

    Attributes:
        way: that the load stands on.
        is_declared: the variable is declared with it, and the load sinks to where it is read.
    """

    written: Place
    held: Held
    way: Way = ()
    is_declared: bool = False

    def is_conditional(self, is_run: Callable[[Counter], bool]) -> bool:
        """Returns whether there may be other loads, on the ways on which it is read.

        Args:
            is_run: tells whether a loop surely is.
        """

        def kept(way: Way) -> Way:
            if self.is_declared:
                return tuple(step for step in way if isinstance(step[0], ir.If))
            return tuple(s for s in way if not (isinstance(s[0], Counter) and is_run(s[0])))

        read: list[set[Way]] = []
        found, worklist = {self.held}, [self.held]
        while worklist:
            held = worklist.pop()
            read += ({kept(way) for way in ways} for ways in held.reads.values())
            for copy in held.copies:
                if way := kept(copy.way):
                    read.append({way})
                elif copy.held not in found:
                    found.add(copy.held)
                    worklist.append(copy.held)
        every: set[Way] = set().union(*read)
        if self.is_declared:
            return () not in every and any(ways != every for ways in read)
        own = kept(self.way)
        return not any(way == own[: len(way)] for way in every)


def is_number(ctype: ir.Node | None) -> bool:
    """Returns whether a type is spelled as one of numbers, or arrays of them; None is."""
    while isinstance(ctype, ir.ArrayDecl):
        ctype = ctype.type
    match ctype:
        case ir.TypeDecl(type=ir.IdentifierType(names=names)):
            return _NUMBERS.issuperset(names)
    return ctype is None
