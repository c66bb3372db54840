"""How a compiled kernel is launched: its block shape and the arguments that are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from math import prod
from typing import TypeAlias

from smemlint.config.options import Block
from smemlint.config.preconditions import read_precondition
from smemlint.config.settings import Settings
from smemlint.facts import Argument, Certainty, Instance, KernelFacts
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic

MAX_THREADS = 1024
_NOT_STATED = Reason(
    ReasonCode.UNKNOWN_BLOCK,
    "the block shape is not known: compiled code does not say; give `--block-dim`",
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What compiled code itself says of a kernel's block shape.

    Attributes:
        required: by `.reqntid` or `__block_size__`.
        largest: by `.maxntid` or `__launch_bounds__`.
        written: by a pragma of the text, with what that assumes.
    """

    required: Block | None = None
    largest: Block | None = None
    written: tuple[Block, Assumption] | None = None

    def admit(self, block: Block) -> bool:
        """Returns whether a launch with a block does not fail."""
        return self.largest is None or prod(block) <= prod(self.largest)


@dataclass(frozen=True, slots=True)
class SourceLaunch:
    """A launch of a kernel that the sources of the run show.

    Attributes:
        template: the values of its template arguments.
        origin: where both come from, in words.
        passed: the arguments that are known numbers.
    """

    block: Block
    template: tuple[str, ...]
    origin: str
    passed: tuple[Argument, ...] = ()

    @property
    def assumed(self) -> Assumption:
        """What is taken for granted."""
        return Assumption(Topic.BLOCK, f"block {self.block} ({self.origin})")


@dataclass(frozen=True, slots=True)
class Passed:
    """What a launch passes, and what is assumed with it."""

    arguments: tuple[Argument, ...]
    assumed: Assumption


def with_passed(
    evaluate: Callable[[Passed | None], KernelFacts], passed: Passed | None
) -> KernelFacts:
    """Returns the facts of a kernel for any arguments; where those leave accesses open, for these.

    The arguments are assumed only where they decide more.
    """
    facts = evaluate(None)
    is_open = any(a.certainty is Certainty.UNKNOWN for a in facts.accesses)
    if passed is None or not is_open:
        return facts
    under_arguments = evaluate(passed)
    return under_arguments if under_arguments.decided > facts.decided else facts


SourceLaunches: TypeAlias = "Mapping[str, tuple[SourceLaunch, ...]]"
"""By the name of the kernel."""


def source_launches(kernels: Iterable[KernelFacts]) -> dict[str, tuple[SourceLaunch, ...]]:
    """Returns how the kernels of the run's sources are launched, each way once.

    Blocks that were tried, as nobody says how a kernel is launched, are none.
    """
    found: dict[str, dict[SourceLaunch, None]] = {}
    for kernel in kernels:
        instance = kernel.instance
        if instance.block is not None and instance.origin:
            launch = SourceLaunch(instance.block, instance.values, instance.origin, kernel.passed)
            found.setdefault(instance.kernel.rpartition("::")[2], {})[launch] = None
    return {kernel: tuple(launches) for kernel, launches in found.items()}


@dataclass(frozen=True, slots=True)
class LaunchInfo:
    """Where block shapes and arguments of one file's kernels come from."""

    settings: Settings
    triton: Block | None = None
    launches: SourceLaunches = field(default_factory=dict)

    def launched(
        self, instance: Instance, bounds: Bounds
    ) -> list[tuple[Instance, tuple[Assumption, ...]]] | Reason:
        """Returns an instance under each block with what that assumes; if there are none, why.

        The largest block that its launch bounds allow is a guess, which no launch gives.
        """
        stated = self._block(instance.kernel, bounds)
        found: dict[Block, Assumption | None] = {}
        if not isinstance(stated, Reason):
            found = dict([stated])
        elif stated is _NOT_STATED:
            launches = self._launches_of(instance.kernel, instance.values, bounds)
            sized = [one for one in reversed(launches) if not isinstance(_sized(one.block), Reason)]
            found = {one.block: one.assumed for one in sized}
        if not found and stated is _NOT_STATED and bounds.largest is not None:
            text = f"a block is {bounds.largest}, the largest that its launch bounds allow"
            stated = _sized(bounds.largest, _stated(text))
            found = {} if isinstance(stated, Reason) else dict([stated])
            instance = replace(instance, given_by="")
        if not found:
            assert isinstance(stated, Reason)
            return stated
        return [
            (replace(instance, block=block), (assumed,) if assumed is not None else ())
            for block, assumed in found.items()
        ]

    def _launches_of(
        self, kernel: str, template: tuple[str, ...], bounds: Bounds
    ) -> Sequence[SourceLaunch]:
        """Returns the launches of an instance; of any that it may have where all have one block."""
        fit = [one for one in self.launches.get(kernel, ()) if bounds.admit(one.block)]
        own = [one for one in fit if _spelled(one.template) == _spelled(template)]
        return own or (fit if len({one.block for one in fit}) == 1 else [])

    def _block(self, kernel: str, bounds: Bounds) -> tuple[Block, Assumption | None] | Reason:
        """Returns the block shape that is stated and what is assumed for it, or why none is."""
        if bounds.required is not None:
            return _sized(bounds.required)
        if self.triton is not None:
            return _sized(self.triton)
        if bounds.written is not None:
            return _sized(*bounds.written)
        configured = self.settings.kernels.get(kernel)
        if configured is not None and configured.block is not None:
            shape = configured.block
            return _sized(shape, _stated(f"a block is {shape} as the configuration says"))
        if self.settings.block_dim is not None:
            shape = self.settings.block_dim
            return _sized(shape, _stated(f"a block is {shape} as `--block-dim` says"))
        return _NOT_STATED

    def passed(self, instance: Instance) -> Passed | None:
        """Returns the numbers that the sources pass to an instance; None where none are known."""
        for launch in self.launches.get(instance.kernel, ()):
            is_own = _spelled(launch.template) == _spelled(instance.values)
            if launch.passed and is_own and launch.block == instance.block:
                shown = ", ".join(f"`{a.name}` = {a.value}" for a in launch.passed)
                text = f"{shown} as passed at the {launch.origin}"
                return Passed(launch.passed, Assumption(Topic.ARGUMENT, text))
        return None

    def arguments(self, kernel: str) -> Iterator[tuple[str, int]]:
        """Yields the arguments that the configuration gives a number: by name, or as `param_2`."""
        configured = self.settings.kernels.get(kernel)
        for text in configured.assume if configured is not None else ():
            given = read_precondition(text)
            if given.least is not None and given.least == given.most:
                yield given.name, given.least


def _spelled(template: tuple[str, ...]) -> tuple[str, ...]:
    """Returns template arguments as sources have them; a mangled name tells `bool` from `int`."""
    return tuple({"true": "1", "false": "0"}.get(value, value) for value in template)


def _stated(text: str) -> Assumption:
    return Assumption(Topic.BLOCK, text)


def _sized(
    shape: Block, assumed: Assumption | None = None
) -> tuple[Block, Assumption | None] | Reason:
    x, y, z = shape
    if min(shape) < 1 or x * y * z > MAX_THREADS:
        return Reason(ReasonCode.UNKNOWN_BLOCK, f"no block has {x} x {y} x {z} threads")
    return shape, assumed
