"""A run over many files: in parts, over processes, and only where something changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smemlint.engine import Result, concluded, judged, may_use_shared, problems
from smemlint.facts import Facts, NotAnalysed, Span
from smemlint.parts import Part, together

if TYPE_CHECKING:
    from smemlint.cache import Cache
    from smemlint.config import Configuration, Settings
    from smemlint.finding import Finding
    from smemlint.pool import Lost
    from smemlint.source import Source

_FEW = 3
"""So many units are evaluated in this process; more are worth processes of their own."""
_PATIENCE = 4
"""Seconds on the clock for one second of processor time, before a process counts as hanging."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What was found before selection and suppression.

    Attributes:
        whole: all parts as one.
        problems: what the rules say of files that could not be read as they are.
        marked: files that hold pragmas.
    """

    whole: Part
    problems: tuple[Finding, ...]
    marked: tuple[str, ...]


def check_run(
    sources: Sequence[Source],
    configuration: Configuration,
    settings: Settings,
    *,
    name: str = "",
    keep_facts: bool = False,
) -> Result:
    """Runs the rules on the sources, over processes and with the cache that the settings name.

    Args:
        sources: the files of the run.
        configuration: the settings of each file.
        settings: those of the run.
        name: what the cache knows the run by, e.g. the paths that were asked for.
        keep_facts: the result holds all facts; nothing is taken from the cache.
    """
    cache: Cache | None = None
    if not (settings.no_cache or keep_facts or any(s.given is not None for s in sources)):
        from smemlint.cache import Cache

        cache = Cache(name, sources, configuration, settings)
    outcome = _outcome(sources, configuration, settings, cache, keep_facts)
    texts = {s.path: s for s in sources}
    found = (*outcome.problems, *outcome.whole.findings)
    shown, hidden = concluded(
        found, outcome.marked, lambda path: texts[path].text, configuration.for_file
    )
    whole = outcome.whole
    return Result(shown, hidden, whole.facts, len(sources), whole.crashed, whole.sites)


def analyze_run(
    sources: Sequence[Source], configuration: Configuration, settings: Settings
) -> tuple[Facts, bool]:
    """The facts of the sources, and whether an internal error cost some of them."""
    outcome = _outcome(sources, configuration, settings, None, keep_facts=True)
    facts = outcome.whole.facts
    notes = (*problems(sources), *facts.not_analysed)
    return Facts(facts.kernels, notes, facts.layouts), outcome.whole.crashed


def _outcome(
    sources: Sequence[Source],
    configuration: Configuration,
    settings: Settings,
    cache: Cache | None,
    keep_facts: bool,
) -> Outcome:
    known = cache.unchanged() if cache is not None else None
    if known is not None:
        return known
    marked = tuple(s.path for s in sources if "smemlint:" in s.text)
    said = tuple(judged(Facts(not_analysed=tuple(problems(sources))), configuration.for_file))
    if not may_use_shared(sources):
        return Outcome(Part(), said, marked)
    parts = _parts(sources, configuration, settings, cache, keep_facts)
    outcome = Outcome(together(list(parts.values())), said, marked)
    if cache is not None and parts:
        cache.store(parts, outcome)
    return outcome


def _parts(
    sources: Sequence[Source],
    configuration: Configuration,
    settings: Settings,
    cache: Cache | None,
    keep_facts: bool,
) -> dict[str, Part]:
    """The part of every root, in order."""
    import os

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads take a second to start, and memory
    from smemlint.evaluate.project import Project
    from smemlint.parts import Evaluator
    from smemlint.progress import Progress

    project = Project(sources, settings)
    roots = project.roots()
    known = cache.still_true(project) if cache is not None else {}
    parts: dict[str, Part] = {root: known[root] for root in roots if root in known}
    open_roots = [root for root in roots if root not in known]
    work = Evaluator(sources, configuration, keep_facts=keep_facts)
    progress = Progress(len(open_roots))
    try:
        for root, part in _evaluated(open_roots, work, configuration, settings.jobs):
            parts[root] = part
            progress.step(root)
    finally:
        progress.close()
    return {root: parts[root] for root in roots}


def _evaluated(
    roots: Sequence[str], work: Callable[[str], Part], configuration: Configuration, jobs: int
) -> Iterator[tuple[str, Part]]:
    """The parts in the order of completion; a unit that is lost gives a note."""
    if len(roots) <= _FEW:
        for root in roots:
            yield root, work(root)
        return
    from smemlint.pool import Lost, processors, spread

    limit = max(configuration.for_file(root).time_limit for root in roots)
    seconds = _PATIENCE * limit + 10
    for index, answer in spread(roots, work, jobs=jobs or processors(), seconds=seconds):
        root = roots[index]
        yield root, _lost(root, answer, configuration) if isinstance(answer, Lost) else answer


def _lost(root: str, lost: Lost, configuration: Configuration) -> Part:
    facts = Facts(not_analysed=(NotAnalysed(Span(root, 1, 1, 1, 1), "", lost.reason),))
    found = tuple(judged(facts, configuration.for_file))
    return Part(found, crashed=lost.is_crash, is_lost=True, facts=facts)
