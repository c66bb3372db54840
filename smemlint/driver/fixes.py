"""The second stage of a run: fixes for the bank conflicts that the first stage found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from smemlint.driver.failures import Failure
from smemlint.driver.request import Request
from smemlint.driver.results import UnitResult, array_files
from smemlint.driver.schedule import run_tasks
from smemlint.facts import NotAnalysed, Span
from smemlint.finding import REPAIRED, Finding
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.guard import NOTHING, Allowance
from smemlint.reasons import Reason, ReasonCode

_INTERRUPTED = Reason(ReasonCode.TIME_LIMIT, "no fix: interrupted before one was looked for")


@dataclass(frozen=True, slots=True, eq=False)
class Fixes:
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


class FixesInterrupted(KeyboardInterrupt):
    """Somebody pressed Ctrl-C while fixes were looked for.

    Attributes:
        fixes: what was found; findings that nobody looked at are lost.
    """

    def __init__(self, fixes: Fixes, stop: KeyboardInterrupt) -> None:
        super().__init__(*stop.args)
        self.fixes = fixes


def awaits_fixes(result: UnitResult) -> bool:
    """Returns whether a unit was evaluated and has findings that a fix may repair."""
    return bool(_by_file(result, ""))


def find_fixes(merged: UnitResult, request: Request, spent: Mapping[str, Allowance]) -> Fixes:
    """Looks for the fixes of findings, file by file.

    Raises:
        FixesInterrupted: somebody pressed Ctrl-C.
    """
    files = _by_file(merged, request.document)
    if not files:
        return Fixes(merged.findings)
    from smemlint.driver.tasks import FixTask

    configuration = request.configuration
    findings = list(merged.findings)
    notes: list[NotAnalysed] = []
    lost: set[int] = set()
    limit = max(configuration.for_file(path).time_limit for path in files)
    is_crash = False
    task = FixTask(
        merged,
        request.sources,
        configuration,
        is_fixing=request.is_fixing,
        memo_of=request.memo_of,
        spent=spent,
    )

    def name_of(indices: Sequence[int]) -> str:
        return findings[indices[0]].span.path

    answers = run_tasks(
        list(files.values()), task, request.jobs, limit, name_of=name_of, what="fixes of"
    )
    waiting = {index for indices in files.values() for index in indices}
    try:
        for indices, answer in answers:
            waiting.difference_update(indices)
            if isinstance(answer, Failure):
                is_crash |= answer.is_crash
                lost.update(indices)
                where = Span(findings[indices[0]].span.path, 1, 1, 1, 1)
                reason = Reason(answer.reason.code, f"fixes are not known: {answer.reason}")
                notes.append(NotAnalysed(where, "", reason))
                no_fix = Reason(answer.reason.code, f"no fix: {answer.reason}")
                for index in indices:
                    findings[index] = _without_fix(findings[index], no_fix)
                continue
            for index, fixed in zip(indices, answer, strict=True):
                findings[index] = replace(fixed, access=findings[index].access)
    except KeyboardInterrupt as stop:
        for index in waiting:
            findings[index] = _without_fix(findings[index], _INTERRUPTED)
        found = Fixes(tuple(findings), lost=frozenset(lost | waiting))
        raise FixesInterrupted(found, stop) from None
    notes.sort(key=lambda n: n.span)
    return Fixes(tuple(findings), tuple(notes), frozenset(lost), is_crash)


def _without_fix(finding: Finding, reason: Reason) -> Finding:
    return replace(finding, help=reason.text, no_fix=reason)


def _by_file(merged: UnitResult, document: str) -> dict[str, list[int]]:
    """Returns the indices of findings that a fix may repair, by the file of their array."""
    evaluated = {id(access) for k in merged.facts.kernels for access in k.accesses}
    files: dict[str, list[int]] = {}
    for index, finding in enumerate(merged.findings):
        access = finding.access
        if finding.code not in REPAIRED or access is None or access.array is None:
            continue
        if access.origin:
            continue  # its text is a compiler's
        if id(access) in evaluated and document in ("", finding.span.path):
            files.setdefault(access.array.span.path, []).append(index)
    return files


def spent_on_files(results: Iterable[UnitResult]) -> dict[str, Allowance]:
    """Returns what evaluating the kernels of each file took; of one in several units, the most."""
    spent: dict[str, Allowance] = {}
    for result in results:
        for path in array_files(result.findings):
            spent[path] = result.spent.most(spent.get(path, NOTHING))
    return spent


def with_fixes(
    results: Mapping[str, UnitResult], merged: UnitResult, fixes: Fixes
) -> dict[str, UnitResult]:
    """Returns the results of units with the fixes that were found in all of them together."""
    fixed = dict(zip(map(id, merged.findings), fixes.findings, strict=True))
    lost = {id(merged.findings[index]) for index in fixes.lost}
    return {
        path: replace(
            result,
            findings=tuple(fixed.get(id(f), f) for f in result.findings),
            is_lost=result.is_lost or any(id(f) in lost for f in result.findings),
        )
        for path, result in results.items()
    }
