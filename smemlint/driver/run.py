"""A run over many files: in shares, over processes, and only where something changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from smemlint.analysis.compiled.files import is_compiled, may_share_memory
from smemlint.analysis.python.dialects import is_python, may_hold_kernels
from smemlint.driver.failures import Lost, attempt
from smemlint.driver.tasks import Share, fixed_files, together
from smemlint.facts import Facts, NotAnalysed, Span, sites_of
from smemlint.finding import BANK_CONFLICT
from smemlint.limits.guard import NOTHING, Allowance
from smemlint.lint.check import Result, concluded, is_for_others, judged, may_use_shared, problems
from smemlint.visible import print_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from smemlint.config.settings import Configuration, Settings
    from smemlint.driver.cache import Cache
    from smemlint.driver.invalidation import Rounds
    from smemlint.finding import Finding
    from smemlint.sources.source import Source

Task = TypeVar("Task")
Answer = TypeVar("Answer")

_FEW = 3
"""So many tasks are evaluated in this process; more are worth processes of their own."""
_PATIENCE = 4
"""Of the time that a task allows itself: what takes longer does not notice and is ended."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What was found before selection and suppression.

    Attributes:
        whole: all shares as one.
        problems: what the rules say of files that could not be read as they are.
        marked: files that hold pragmas.
    """

    whole: Share
    problems: tuple[Finding, ...]
    marked: tuple[str, ...]


def check_run(
    sources: Sequence[Source],
    configuration: Configuration,
    settings: Settings,
    *,
    name: str = "",
    rounds: Rounds | None = None,
) -> Result:
    """Runs the rules on the sources, over processes and with the cache that the settings name.

    Args:
        sources: the files of the run.
        configuration: the settings of each file.
        settings: those of the run.
        name: what the cache knows the run by, e.g. the paths that were asked for.
        rounds: of fixes, which are evaluated however long that takes; the result holds the facts
            of what was evaluated anew.
    """
    kept: Cache | Rounds | None = rounds
    if rounds is not None:
        rounds.begin(sources)
    else:
        kept = cache_of(sources, configuration, settings, name)
    is_fixing = rounds is not None
    outcome = _outcome(
        sources, configuration, settings, kept, keep_facts=is_fixing, is_fixing=is_fixing
    )
    whole = outcome.whole
    found = (*outcome.problems, *whole.findings)
    shown, hidden = concluded(found, outcome.marked, sources, configuration.for_file, whole.sites)
    return Result(shown, hidden, whole.facts, len(sources), whole.crashed, whole.sites)


def cache_of(
    sources: Sequence[Source], configuration: Configuration, settings: Settings, name: str
) -> Cache | None:
    """The cache of a run; None where the settings name none, or sources are no files."""
    is_kept = all(s.given is None and not is_compiled(s) for s in sources)
    if settings.no_cache or not is_kept:
        return None
    from smemlint.driver.cache import Cache

    cache = Cache(name, sources, configuration, settings)
    if cache.refused:
        said = f"{settings.cache_dir}: no results are kept: {cache.refused}"
        print_lines(f"smemlint: warning: {said}")
        return None
    return cache


def analyze_run(
    sources: Sequence[Source], configuration: Configuration, settings: Settings
) -> tuple[Facts, bool]:
    """The facts of the sources, and whether an internal error cost some of them."""
    outcome = _outcome(sources, configuration, settings, None, keep_facts=True)
    facts = outcome.whole.facts
    notes = (*problems(sources), *facts.not_analysed)
    return replace(facts, not_analysed=notes), outcome.whole.crashed


def _outcome(
    sources: Sequence[Source],
    configuration: Configuration,
    settings: Settings,
    kept: Cache | Rounds | None,
    keep_facts: bool,
    is_fixing: bool = False,
) -> Outcome:
    known = kept.unchanged() if kept is not None else None
    if known is not None:
        return known
    marked = tuple(s.path for s in sources if "smemlint:" in s.text)
    said = tuple(judged(Facts(not_analysed=tuple(problems(sources))), configuration.for_file))
    if not any(map(_is_worth_a_look, sources)):
        return Outcome(Share(), said, marked)
    has_compiled = any(map(is_compiled, sources))
    shares, idle = _shares(sources, configuration, settings, kept, keep_facts or has_compiled)
    said += idle
    whole = together(_without_bare(shares, sources))
    if has_compiled:
        whole = _with_compiled(whole, configuration)
    fixes = _Fixes.of(whole, sources, configuration, settings, is_fixing, _spent(shares))
    said += tuple(judged(Facts(not_analysed=fixes.notes), configuration.for_file))
    crashed = whole.crashed or fixes.crashed
    outcome = Outcome(replace(whole, findings=fixes.findings, crashed=crashed), said, marked)
    fixed = dict(zip(map(id, whole.findings), fixes.findings, strict=True))
    lost = {id(whole.findings[index]) for index in fixes.lost}
    shares = {
        root: replace(
            share,
            findings=tuple(fixed.get(id(f), f) for f in share.findings),
            is_lost=share.is_lost or any(id(f) in lost for f in share.findings),
        )
        for root, share in shares.items()
    }
    if kept is not None and shares:
        kept.store(shares, outcome)
    return outcome


def _is_worth_a_look(source: Source) -> bool:
    if is_compiled(source):
        return may_share_memory(source)
    return may_hold_kernels(source) if is_python(source) else may_use_shared([source])


def _with_compiled(whole: Share, configuration: Configuration) -> Share:
    """What sources and compiled code say together, judged anew."""
    from smemlint.analysis.compiled.agreement import joined_with_compiled

    facts = joined_with_compiled(whole.facts)
    if facts is whole.facts:
        return whole
    findings = tuple(judged(facts, configuration.for_file))
    return replace(whole, findings=findings, facts=facts, sites=sites_of(facts.kernels))


def _shares(
    sources: Sequence[Source],
    configuration: Configuration,
    settings: Settings,
    kept: Cache | Rounds | None,
    keep_facts: bool,
) -> tuple[dict[str, Share], tuple[Finding, ...]]:
    """The share of every task, in order, and what only all of them together tell."""
    from smemlint.driver.tasks import Evaluator

    work = Evaluator(sources, configuration, keep_facts=keep_facts)
    cuda = [s for s in sources if not is_python(s) and not is_compiled(s)]
    project = work.project(sources[0].path) if may_use_shared(cuda) else None
    roots = project.tasks() if project is not None else []
    roots += [s.path for s in sources if is_python(s) and may_hold_kernels(s)]
    roots += [s.path for s in sources if is_compiled(s) and may_share_memory(s)]
    known: dict[str, Share] = {}
    if kept is not None and (project is not None or len(roots) > 1):
        known = kept.still_true(roots, project or work.project(sources[0].path))
    shares = {root: known[root] for root in roots if root in known}
    fresh = [root for root in roots if root not in known]
    limit = max((configuration.for_file(root).time_limit for root in fresh), default=1.0)
    for root, answer in watched(fresh, work, settings.jobs, limit):
        shares[root] = answer if isinstance(answer, Share) else _lost(root, answer, configuration)
    used = {place for share in shares.values() for place in share.journal.swizzles}
    idle = tuple(project.user.unused_swizzle_pragmas(used)) if project is not None else ()
    said = judged(Facts(not_analysed=idle), configuration.for_file)
    return {root: shares[root] for root in roots}, tuple(said)


def _without_bare(shares: Mapping[str, Share], sources: Sequence[Source]) -> list[Share]:
    """The shares without those of files that Python programs of the run compile in their way."""
    compiled = {path for share in shares.values() for path in share.journal.compiled}
    texts = {s.path: s.text for s in sources if s.path in compiled}
    return [
        share
        for root, share in shares.items()
        if not (root in texts and is_for_others(texts[root]))
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Fixes:
    """What looking for fixes gave.

    Attributes:
        findings: all of the run, with what repairs them.
        notes: files whose search was ended by what is not the same in every run.
        lost: the indices of their findings.
        crashed: an internal error ended one.
    """

    findings: tuple[Finding, ...]
    notes: tuple[NotAnalysed, ...] = ()
    lost: frozenset[int] = frozenset()
    crashed: bool = False

    @staticmethod
    def of(
        whole: Share,
        sources: Sequence[Source],
        configuration: Configuration,
        settings: Settings,
        is_fixing: bool,
        spent: Mapping[str, Allowance],
    ) -> _Fixes:
        """Looks for the fixes of the findings, file by file."""
        instances = {id(access) for k in whole.facts.kernels for access in k.accesses}
        files: dict[str, list[int]] = {}
        for index, finding in enumerate(whole.findings):
            access = finding.access
            if finding.code != BANK_CONFLICT or access is None or access.array is None:
                continue
            if access.origin:
                continue  # its text is a compiler's
            if id(access) in instances:  # else the cache brought it, fix and all
                files.setdefault(access.array.span.path, []).append(index)
        if not files:
            return _Fixes(whole.findings)
        from smemlint.driver.tasks import Fixer

        findings = list(whole.findings)
        notes: list[NotAnalysed] = []
        lost: set[int] = set()
        limit = max(configuration.for_file(path).time_limit for path in files)
        is_crash = False
        fixer = Fixer(whole, sources, configuration, is_fixing=is_fixing, spent=spent)
        for indices, answer in watched(list(files.values()), fixer, settings.jobs, limit):
            if isinstance(answer, Lost):
                is_crash |= answer.is_crash
                lost.update(indices)
                where = Span(findings[indices[0]].span.path, 1, 1, 1, 1)
                notes.append(NotAnalysed(where, "", f"fixes are not known: {answer.reason}"))
                for index in indices:
                    findings[index] = replace(findings[index], help=f"no fix: {answer.reason}")
                continue
            for index, fixed in zip(indices, answer, strict=True):
                access = findings[index].access
                findings[index] = replace(fixed, access=access)
        notes.sort(key=lambda n: n.span)
        return _Fixes(tuple(findings), tuple(notes), frozenset(lost), is_crash)


def _spent(shares: Mapping[str, Share]) -> dict[str, Allowance]:
    """What evaluating the kernels of each file took; of one in several units, the most."""
    spent: dict[str, Allowance] = {}
    for share in shares.values():
        for path in fixed_files(share.findings):
            spent[path] = share.spent.most(spent.get(path, NOTHING))
    return spent


def watched(
    tasks: Sequence[Task], work: Callable[[Task], Answer], jobs: int, limit: float
) -> Iterator[tuple[Task, Answer | Lost]]:
    """Tasks with their answers as they come: a few in this process, many in others.

    Args:
        tasks: what `work` is called with.
        work: bounds its own processor time.
        jobs: processes at a time; 0 for one a processor.
        limit: seconds of processor time that `work` allows itself.
    """
    from smemlint.driver.progress import Progress

    progress = Progress(len(tasks))
    seconds = _PATIENCE * limit + 1
    try:
        if len(tasks) <= _FEW:
            answers: Iterator[tuple[int, Answer | Lost]] = (
                (index, attempt(work, task)) for index, task in enumerate(tasks)
            )
        else:
            from smemlint.driver.workers import processors, spread

            answers = spread(tasks, work, jobs=jobs or processors(), seconds=seconds)
        for index, answer in answers:
            progress.step(str(tasks[index]))
            yield tasks[index], answer
    finally:
        progress.close()


def _lost(root: str, lost: Lost, configuration: Configuration) -> Share:
    facts = Facts(not_analysed=(NotAnalysed(Span(root, 1, 1, 1, 1), "", lost.reason),))
    found = tuple(judged(facts, configuration.for_file))
    return Share(found, crashed=lost.is_crash, is_lost=True, facts=facts)
