"""How a compiled kernel is launched: its block shape and the arguments that are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from smemlint.config.assumptions import read_assumption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from smemlint.analysis.compiled.triton_cache import TritonLaunch
    from smemlint.config.options import Block
    from smemlint.config.settings import Settings
    from smemlint.facts import KernelFacts

MAX_THREADS = 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """What compiled code itself says of a kernel's block shape.

    Attributes:
        required: by `.reqntid` or `__block_size__`.
        largest: by `.maxntid` or `__launch_bounds__`.
        written: by a pragma of the text, and the assumption in words.
    """

    required: Block | None = None
    largest: Block | None = None
    written: tuple[Block, str] | None = None


@dataclass(frozen=True, slots=True)
class SourceLaunch:
    """A launch of a kernel that the sources of the run show.

    Attributes:
        block: its block shape.
        template: the values of its template arguments.
        origin: where both come from, in words; empty where they are a guess.
    """

    block: Block
    template: tuple[str, ...] = ()
    origin: str = ""

    @property
    def assumed(self) -> str:
        """What is taken for granted, in words."""
        return f"block {self.block} ({self.origin})" if self.origin else f"block {self.block}"


SourceLaunches: TypeAlias = "Mapping[str, tuple[SourceLaunch, ...]]"
"""By the name of the kernel."""


def source_launches(kernels: Iterable[KernelFacts]) -> dict[str, tuple[SourceLaunch, ...]]:
    """Returns how the kernels of the run's sources are launched, each way once."""
    found: dict[str, dict[SourceLaunch, None]] = {}
    for instance in (kernel.instance for kernel in kernels):
        if instance.block is not None:
            values = tuple(value for _, value in instance.template)
            launch = SourceLaunch(instance.block, values, instance.origin)
            found.setdefault(instance.kernel.rpartition("::")[2], {})[launch] = None
    return {kernel: tuple(launches) for kernel, launches in found.items()}


@dataclass(frozen=True, slots=True)
class LaunchInfo:
    """Where block shapes and arguments of one file's kernels come from.

    Attributes:
        settings: of the file.
        triton: what Triton wrote beside it.
        launches: in the sources of the run.
    """

    settings: Settings
    triton: TritonLaunch | None = None
    launches: SourceLaunches = field(default_factory=dict)

    def blocks(
        self, kernel: str, template: tuple[str, ...], bounds: Bounds
    ) -> tuple[dict[Block, str], str]:
        """Returns the block shapes with what is assumed for each; if there are none, why.

        Args:
            kernel: its name without arguments.
            template: the values of its template arguments.
            bounds: what the code itself says.
        """
        launches = self.launches.get(kernel, ())
        launches = tuple(la for la in launches if la.template == template) or launches
        block, assumed = self._block(kernel, bounds, is_launched=bool(launches))
        if block is not None:
            return {block: assumed}, ""
        found = {la.block: la.assumed for la in reversed(launches) if _sized(la.block, "")[0]}
        return found, "" if found else assumed

    def _block(self, kernel: str, bounds: Bounds, *, is_launched: bool) -> tuple[Block | None, str]:
        """The block shape and what is assumed for it, or None and why there is none."""
        if bounds.required is not None:
            return _sized(bounds.required, "")
        if self.triton is not None:
            return _sized(self.triton.block, "")
        if bounds.written is not None:
            return _sized(*bounds.written)
        configured = self.settings.kernels.get(kernel)
        if configured is not None and configured.block is not None:
            shape = configured.block
            return _sized(shape, f"a block is {shape} as the configuration says")
        if self.settings.block_dim is not None:
            shape = self.settings.block_dim
            return _sized(shape, f"a block is {shape} as `--block-dim` says")
        if bounds.largest is not None and not is_launched:
            shape = bounds.largest
            return _sized(shape, f"a block is {shape}, the largest that its launch bounds allow")
        return None, "the block shape is not known: compiled code does not say; give `--block-dim`"

    def arguments(self, kernel: str) -> Iterator[tuple[str, int]]:
        """Yields the arguments that the configuration gives a number: by name, or as `param_2`."""
        configured = self.settings.kernels.get(kernel)
        for text in configured.assume if configured is not None else ():
            assumption = read_assumption(text)
            if assumption.least is not None and assumption.least == assumption.most:
                yield assumption.name, assumption.least


def _sized(shape: Block, assumed: str) -> tuple[Block | None, str]:
    x, y, z = shape
    if min(shape) < 1 or x * y * z > MAX_THREADS:
        return None, f"no block has {x} x {y} x {z} threads"
    return shape, assumed
