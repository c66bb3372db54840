"""SML502: the buffers of a software pipeline exceed shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import DotOperand, DotUse
from smemlint.finding import Finding, Severity
from smemlint.hardware.arch import architecture
from smemlint.lint.rule import Rule

_ALL_STAGES = frozenset(("sm_90", "sm_100"))
_ONE_LESS = frozenset(("sm_80", "sm_86", "sm_87", "sm_89"))


class StageRingBudget(Rule):
    """Adds up the buffers that Triton's pipeline keeps of both operands."""

    code = "SML502"
    name = "stage-ring-budget"
    summary = "the buffers of a software pipeline exceed shared memory"
    severity = Severity.ERROR

    def check_dot(self, dot: DotUse, settings: Settings) -> Iterator[Finding]:
        """Yields one finding for a product whose operands do not fit."""
        if dot.stages is None or settings.arch not in _ALL_STAGES | _ONE_LESS:
            return
        sizes = [_pipelined_bytes(o, settings.arch) for o in dot.operands]
        if None in sizes:
            return
        buffers = dot.stages if settings.arch in _ALL_STAGES else max(dot.stages - 1, 1)
        needed = buffers * sum(s for s in sizes if s is not None)
        limit = architecture(settings.arch).shared_per_block
        if needed <= limit:
            return
        yield self.finding(
            f"{buffers} stages of {sum(s for s in sizes if s is not None):,} bytes take "
            f"{needed:,} bytes of shared memory, {settings.arch} has {limit:,}",
            dot.span,
            notes=("Triton fails at the launch: out of resource: shared memory", *dot.assumptions),
            help=_help(limit // (needed // buffers), settings.arch),
        )


def _help(buffers: int, arch: str) -> str:
    """Returns how many stages fit; a pipeline of one stage is none."""
    stages = buffers if arch in _ALL_STAGES else buffers + 1
    if buffers < 1 or stages < 2:
        return "smaller tiles: not even two stages fit"
    return f"num_stages={stages} fits"


def _pipelined_bytes(operand: DotOperand, arch: str) -> int | None:
    """Returns the bytes of one buffer; None where it is not known that there is one."""
    leaves = arch == "sm_90" and operand.element_bits == 8 and operand.contiguous != "k"
    if not operand.is_loaded or leaves or not operand.element_bits or not operand.contiguous:
        return None
    count = operand.element_bits // 8
    for extent in operand.shape:
        if extent is None:
            return None
        count *= extent
    return count


RULE = StageRingBudget()
