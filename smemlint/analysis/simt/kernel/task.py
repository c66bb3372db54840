"""What is evaluated: an instance of a kernel, and what its launches pass it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from smemlint.analysis.simt.domain.environment import Scope
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.kernel.alike import Alike
from smemlint.analysis.simt.types.cache import TypeCache
from smemlint.analysis.simt.types.overloads import parameters_of
from smemlint.config.preconditions import Precondition
from smemlint.facts import Argument, Instance, SharedArray
from smemlint.frontend.program import Function
from smemlint.layout.declared import DeclaredSwizzle
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption, Line

if TYPE_CHECKING:
    from smemlint.analysis.simt.cute.layout_trials import LayoutTrial


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """What a launch passes to a kernel.

    Attributes:
        values: the numbers that are known, by parameter.
        always: the parameters that every launch of the same block and template passes a number to.
    """

    values: Mapping[str, AffineInt]
    place: Line
    always: frozenset[str] = frozenset()

    @property
    def numbers(self) -> dict[str, int]:
        """The values that are integers."""
        known = ((name, value.constant) for name, value in self.values.items())
        return {name: number for name, number in known if number is not None}


@dataclass(frozen=True, slots=True, eq=False)
class KernelTask:
    """A kernel instance to evaluate.

    Attributes:
        scope: template parameters -> types and values.
        assumptions: what the instance takes for granted, in words.
        arguments: what its launch passes, then what others of the same block and template do
            that pass other numbers; used only where an access is not decided without them.
        declared: the swizzle that the user declares for a shared array.
        shared: dynamic shared memory of the launch in bytes; None when not known.
        given: what the user assumes of the arguments.
        trial: another layout that CuTe tensors get; None for their own.
        needs_arguments: that an access is not decided without them is known.
        alike: instances that differ from it in names of types only; None where there are none.
        names: of these types, by the texts that stand for them.
        types: what was worked out for its types before; None for what the unit knows.
    """

    function: Function
    instance: Instance
    scope: Scope
    assumptions: tuple[Assumption, ...]
    arguments: Callable[[], Sequence[Passed]]
    declared: Callable[[SharedArray], DeclaredSwizzle | None] = lambda array: None
    shared: int | None = None
    given: tuple[Precondition, ...] = ()
    trial: LayoutTrial | None = None
    needs_arguments: bool = False
    alike: Alike | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    types: TypeCache | None = None

    def passed(self) -> tuple[Argument, ...]:
        """Returns the numbers that the launch passes."""
        tree = self.function.parse_head().tree
        known = self.numbers_passed()
        parameters = enumerate(parameters_of(tree)) if tree is not None else ()
        return tuple(
            Argument(position, parameter.name, value)
            for position, parameter in parameters
            if (value := known.get(parameter.name)) is not None
        )

    def numbers_passed(self) -> dict[str, int]:
        """Returns the integers that the launch passes, by parameter."""
        return next((passed.numbers for passed in self.arguments()), {})
