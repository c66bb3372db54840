"""How a compiled kernel is launched: its block shape and the arguments that are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smemlint.config.assumptions import read_assumption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.analysis.compiled.triton_cache import TritonLaunch
    from smemlint.config.options import Block
    from smemlint.config.settings import Settings

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
class LaunchInfo:
    """Where block shapes and arguments of one file's kernels come from.

    Attributes:
        settings: of the file.
        triton: what Triton wrote beside it.
    """

    settings: Settings
    triton: TritonLaunch | None = None

    def block(self, kernel: str, bounds: Bounds) -> tuple[Block | None, str]:
        """Returns the block shape and what is assumed for it, or None and why there is none."""
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
        if bounds.largest is not None:
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
