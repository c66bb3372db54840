"""What a run is asked for: the one way in for the command line, the editor and verification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from smemlint.analysis.program.memo import Memo
    from smemlint.config.settings import Configuration
    from smemlint.driver.results import UnitResult
    from smemlint.sources.source import Source


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What a run is asked for.

    Attributes:
        jobs: processes at a time; see `smemlint.driver.schedule.run_tasks`.
        document: the only file of interest; empty for all.
        keep_facts: the result brings all facts along, those without findings, too.
        is_fixing: fixes are looked for however long that takes.
        keeps_interrupted: a run that is interrupted gives what it found.
        memo_of: remembered steps of earlier analyses, for these sources or edited ones.
        on_unit: called whenever a unit was analysed, with the results so far by main file, and how
            many units are left; where two have the same kernel, the first result decides.
    """

    sources: Sequence[Source]
    configuration: Configuration
    jobs: int = 0
    document: str = ""
    keep_facts: bool = False
    is_fixing: bool = False
    keeps_interrupted: bool = False
    memo_of: Callable[[Sequence[Source]], Memo] | None = None
    on_unit: Callable[[Mapping[str, UnitResult], int], None] | None = None
