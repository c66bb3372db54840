"""What of a run is evaluated, and how its expensive steps are remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from smemlint.analysis.simt.kernel.task import KernelTask
    from smemlint.analysis.simt.launches.host_runs import Host, HostRun
    from smemlint.facts import KernelFacts
    from smemlint.frontend.cuda.preprocessor.options import LoadOptions
    from smemlint.frontend.program import Unit


@dataclass(frozen=True, slots=True)
class AnalysisScope:
    """What to evaluate of a run.

    Attributes:
        path: a file; only units that hold it are read.
    """

    path: str
    kernels: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Memo:
    """The expensive steps of an analysis; an editor puts remembered results in their place.

    Attributes:
        evaluate: gives the facts of one kernel instance.
        launches: gives what one host function launches.
        load: reads a unit.
        found: called with the kernels of a unit so far, after the first instance of each.
    """

    evaluate: Callable[[Unit, KernelTask, str], KernelFacts]
    launches: Callable[[Host], HostRun]
    load: Callable[[str, str, LoadOptions], Unit]
    found: Callable[[Sequence[KernelFacts]], None] = lambda kernels: None
