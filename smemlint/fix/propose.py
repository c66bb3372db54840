"""Bank conflicts get the fix, or the advice, that facts suggest and evaluation confirms."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from smemlint.finding import REPAIRED, Fix
from smemlint.fix.constants import padding_constant
from smemlint.fix.declaration import declaration_of, mentions_of
from smemlint.fix.declarator import Declarator
from smemlint.fix.edits import applied
from smemlint.fix.launch_sized import sized
from smemlint.fix.messages import (
    constant_advice,
    padding_fix,
    pitch_advice,
    shape_advice,
    spacing_advice,
    swizzle_advice,
    trade_off,
    why_none,
)
from smemlint.fix.padding import Usage, aligning_padding, best_padding, best_pitches, best_swizzle
from smemlint.fix.spacing import best_spacing
from smemlint.fix.spelled_swizzles import of_all_banks, only_one_between, only_one_of
from smemlint.fix.verify_by_analysis import (
    Padded,
    Run,
    compare,
    compare_constant,
    compare_swizzle,
    concerned,
    unfollowed_lines,
)
from smemlint.layout.swizzle import Swizzle
from smemlint.limits.budgets import MAX_CONSTANT_TRIALS, MAX_FIX_STEPS, MAX_TRIAL_STEPS
from smemlint.limits.errors import OutOfSteps, crash_reason
from smemlint.reasons import Reason, ReasonCode
from smemlint.sources.languages import is_python_path

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from smemlint.facts import Facts, KernelFacts, SharedArray
    from smemlint.finding import Edit, Finding
    from smemlint.fix.declaration import Declaration
    from smemlint.fix.padding import Padding
    from smemlint.fix.verify_by_analysis import Comparison
    from smemlint.layout.solver import Score
    from smemlint.sources.source import Source

_TAKES_LONG = Reason(
    ReasonCode.DEFERRED, "evaluating a padding takes long: --diff --unsafe-fixes does it"
)
"""The text where that is not enough."""
THOROUGH = 1_000_000
"""The same where fixes are asked for: the time limit of a file decides."""


def with_fixes(
    findings: Sequence[Finding], facts: Facts, run: Run, *, steps_of_a_file: int = MAX_FIX_STEPS
) -> list[Finding]:
    """Returns the findings, bank conflicts with what repairs their array where that was shown.

    Args:
        findings: of a run.
        facts: that they were found on.
        run: its sources and settings.
        steps_of_a_file: statements that evaluating the fixes of one file may take; an array whose
            kernels take more than what is left of them gets no fix.
    """
    repairs: dict[Hashable, _Repair | _Respelling] = {}
    left: dict[str, int] = {}
    advised = []
    for finding in findings:
        repair = _repair_of(finding)
        if repair is None:
            advised.append(finding)
            continue
        path, key, evaluate = repair
        if key not in repairs:
            budget = left.setdefault(path, steps_of_a_file)
            repairs[key] = evaluate(facts, run, budget)
            left[path] -= repairs[key].steps
        advised.append(repairs[key].advised(finding))
    return advised


def _repair_of(
    finding: Finding,
) -> tuple[str, Hashable, Callable[[Facts, Run, int], _Repair | _Respelling]] | None:
    """Returns the file that a repair edits, what tells it from others, and what evaluates it."""
    access = finding.access
    if finding.code not in REPAIRED or access is None or access.origin:
        return None
    array, use = access.array, access.layout
    if access.advised is not None and use is not None and use.swizzle is not None:
        change = access.instance.span.path, use.swizzle, access.advised
        return change[0], change, partial(_Respelling, *change)
    if array is None or not array.dims or access.advised is not None:
        return None  # placed by a layout, as Gluon's are
    return array.span.path, (array.span, array.name), partial(_Repair, array)


def _failure(evaluate: Callable[[], None]) -> Reason | None:
    """Returns why an evaluation ended early: a finding is worth more than its fix."""
    try:
        evaluate()
    except OutOfSteps as spent:
        return Reason(ReasonCode.STEP_LIMIT, f"no fix: {spent}")
    except MemoryError:
        raise
    except Exception as error:
        crash = crash_reason(error)
        return Reason(crash.code, f"no fix: {crash}")
    return None


class _Respelling:
    """The swizzle that a file spells, with the parameters that advice gives it.

    Attributes:
        steps: statements that finding out took.
    """

    def __init__(
        self,
        path: str,
        old: tuple[int, int, int],
        new: tuple[int, int, int],
        facts: Facts,
        run: Run,
        most_steps: int,
    ) -> None:
        self.steps = 0
        self._edits: tuple[Edit, ...] = ()
        self._comparison: Comparison | None = None

        def evaluate() -> None:
            source = next((s for s in run.sources if s.path == path), None)
            spelled = only_one_of(source, old) if source is not None else None
            kernels = [k for k in facts.kernels if k.instance.span.path == path]
            if source is None or spelled is None or _steps(kernels) > most_steps:
                return
            self.steps = _steps(kernels)
            self._edits = spelled.changed(Swizzle(*new))
            text = applied(source.text, self._edits)
            self._comparison = compare_swizzle(facts, kernels, path, text, run)

        self._no_fix = _failure(evaluate)

    def advised(self, finding: Finding) -> Finding:
        """Returns the finding with a fix where the swizzle heals it."""
        after = self._comparison.healed(finding) if self._comparison is not None else None
        if after is None:
            return replace(finding, no_fix=self._no_fix)
        moves = "what other files store through this layout must move with it"
        fix = Fix(finding.help, self._edits, why_unsafe=moves, after=after)
        return replace(finding, fix=fix)


class _Repair:
    """What can be done about the conflicts of one array.

    Attributes:
        steps: statements that finding out took.
    """

    def __init__(self, array: SharedArray, facts: Facts, run: Run, most_steps: int) -> None:
        self._array = array
        self._usage = Usage.of(facts, array)
        self._unfollowed = unfollowed_lines(facts, array.span)
        self._source = next((s for s in run.sources if s.path == array.span.path), None)
        self._declaration: Declaration | None = None
        self._is_too_long = False
        self.steps = 0
        self._padded: Padded | None = None
        self._trial: tuple[str, int, Comparison] | None = None
        self._failure = _failure(lambda: self._evaluate(facts, run, most_steps))

    def advised(self, finding: Finding) -> Finding:
        """Returns the finding with its fix, or with words where no edit heals it."""
        padded = self._padded
        after = padded.comparison.healed(finding) if padded is not None else None
        if padded is not None and after is not None:
            fix = padding_fix(self._array, self._usage, padded, after)
            return replace(finding, help=fix.title, fix=fix)
        if self._trial is not None:
            change, line, comparison = self._trial
            if comparison.healed(finding) is not None:
                words = constant_advice(self._array, change, comparison, line=line)
                return replace(finding, help=words)
        message = self._shape or self._index
        if not message and padded is not None:
            message = trade_off(self._array, self._usage, padded)
        if message:
            return replace(finding, help=message)
        no_fix = _TAKES_LONG if self._is_too_long else self._failure
        if no_fix is None and finding.fix is None and finding.help:
            return finding  # the rule's own help
        help_ = no_fix.text if no_fix else why_none(self._array, self._usage, self._unfollowed)
        return replace(finding, help=help_, no_fix=no_fix)

    @cached_property
    def _shape(self) -> str:
        """The shape to declare where Python declares it: no edit is made, but all is priced."""
        if not is_python_path(self._array.span.path) or self._declaration is not None:
            return ""
        if not (self._usage.is_decided and self._usage.is_complete) or self._unfollowed:
            return ""
        best = best_padding(self._usage)
        if best is None or not best[1].is_free:
            return ""
        return shape_advice(self._array, self._usage, best[0])

    @cached_property
    def _index(self) -> str:
        """Another index for each element."""
        array, usage = self._array, self._usage
        if not usage.is_decided or self._unfollowed:
            return ""
        by_launch = sized(usage)
        if by_launch is not None and not usage.may_be_fused:
            spacing = best_spacing(by_launch)
            pitch = pitch_advice(array, by_launch, spacing) if spacing is not None else ""
            if pitch:
                return pitch
        swizzle = best_swizzle(by_launch or usage)
        if swizzle is not None:
            return swizzle_advice(array, usage, swizzle)
        spacing = best_spacing(usage) if usage.may_be_fused else None
        return spacing_advice(array, usage, spacing) if spacing is not None else ""

    def _evaluate(self, facts: Facts, run: Run, most_steps: int) -> None:
        """Looks for a padding, and without one for another constant where all uses are followed."""
        if self._source is None:
            return
        found = self._declaration = declaration_of(self._source, self._array)
        if found is None:
            return
        self._padded = self._best_padded(self._source, found, facts, run, most_steps)
        is_hopeless = self._padded is not None or self._is_too_long or self._unfollowed
        if not is_hopeless and isinstance(found, Declarator):
            most_steps = max(most_steps, MAX_TRIAL_STEPS)
            self._trial = self._other_constant(
                self._source, found, facts, run, most_steps
            ) or self._other_swizzle(self._source, facts, run, most_steps)

    def _best_padded(
        self, source: Source, found: Declaration, facts: Facts, run: Run, most_steps: int
    ) -> Padded | None:
        """Returns the best padding; None where evaluation does not show that it is better."""
        array, usage = self._array, self._usage
        best = _best(usage)
        named = mentions_of(found, source.path) if best is not None else None
        if best is None or named is None or not usage.reaches(named.pointers):
            return None
        padding, _ = best
        kernels = self._kernels(facts, most_steps)
        self.steps = _steps(kernels)
        arrays = {a.array for a in usage.accesses if a.array is not None}
        added = max(padding.added_bytes(a) for a in arrays)
        for edit, spelled in _edits(found, padding, source, kernels, run) if kernels else ():
            text = applied(source.text, [edit])
            comparison = compare(kernels, array.span, padding, text, run, is_typed=named.is_typed)
            if comparison is not None:
                return Padded(edit, spelled, added, comparison)
        return None

    def _other_constant(
        self, source: Source, found: Declarator, facts: Facts, run: Run, most_steps: int
    ) -> tuple[str, int, Comparison] | None:
        """Returns a value of the constant that pads the rows which frees the costliest access."""
        array, usage = self._array, self._usage
        if not usage.is_decided or len(array.dims) < 2 or not all(array.dims[1:]):
            return None
        axis = len(array.dims) - 1
        instances = [a.instance for a in usage.accesses]
        constant = padding_constant(source, found, axis, instances, run.sources)
        if constant is None or constant.number is None:
            return None
        kernels = self._kernels(facts, most_steps)
        pitches = best_pitches(usage, axis, -constant.value) if kernels else ()
        for extra in pitches[:MAX_CONSTANT_TRIALS]:
            edit = constant.changed(extra)
            assert edit is not None
            text = applied(source.text, [edit])
            comparison = compare_constant(kernels, source.path, text, run)
            if comparison is not None:
                return constant.phrase(extra), constant.number.line, comparison
        return None

    def _other_swizzle(
        self, source: Source, facts: Facts, run: Run, most_steps: int
    ) -> tuple[str, int, Comparison] | None:
        """Returns parameters of the swizzle that a kernel spells with which its figures improve."""
        array, usage = self._array, self._usage
        if not usage.is_decided:
            return None
        first = min((k.instance.span.line for k in concerned(facts, array.span)), default=0)
        spelled = only_one_between(source, first, max(a.line for a in usage.accesses))
        if spelled is None:
            return None
        kernels = self._kernels(facts, most_steps)
        for swizzle in of_all_banks(usage) if kernels else ():
            text = applied(source.text, spelled.changed(swizzle))
            comparison = compare_swizzle(facts, kernels, source.path, text, run)
            before, after = comparison.wavefronts(array.span) if comparison else (0, 0)
            if comparison is not None and after < before:
                return spelled.phrase(swizzle), spelled.line, comparison
        return None

    def _kernels(self, facts: Facts, most_steps: int) -> Sequence[KernelFacts]:
        """Returns the kernels to evaluate with an edit; none where that takes too many steps."""
        kernels = concerned(facts, self._array.span)
        self._is_too_long = _steps(kernels) > most_steps
        return () if self._is_too_long else kernels


def _steps(kernels: Sequence[KernelFacts]) -> int:
    """Returns how many statements evaluating the kernels once takes."""
    return sum(kernel.steps for kernel in kernels)


def _edits(
    found: Declaration, padding: Padding, source: Source, kernels: Sequence[KernelFacts], run: Run
) -> Iterator[tuple[Edit, str]]:
    """Returns the edits that pad an extent, and their text: those of a constant first.

    A constant that has other uses is named only if no figure is worse where it is changed.
    """
    axis, extra = padding.axis, padding.extra
    constant = None
    if isinstance(found, Declarator):
        instances = [k.instance for k in kernels]
        constant = padding_constant(source, found, axis, instances, run.sources)
    edit = constant.changed(extra) if constant is not None else None
    if constant is not None and edit is not None and constant.is_alone:
        yield edit, f"{constant.phrase(extra)} in `{found.spelled(axis, 0)}`"
    spelled = f"`{found.spelled(axis, extra)}`"
    if constant is not None and (edit is None or _is_no_worse(kernels, source, edit, run)):
        spelled += f" ({constant.phrase(extra)})"
    yield found.grown(axis, extra, source.path), spelled


def _is_no_worse(kernels: Sequence[KernelFacts], source: Source, edit: Edit, run: Run) -> bool:
    text = applied(source.text, [edit])
    return compare_constant(kernels, source.path, text, run) is not None


def _best(usage: Usage) -> tuple[Padding, Score] | None:
    """Returns the padding to evaluate: one without conflicts, or with aligned vectors."""
    if usage.is_misaligned:
        return aligning_padding(usage)
    return best_padding(usage) if usage.is_decided else None
