"""SML901: code that was seen and not decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from smemlint.config.settings import Settings
from smemlint.facts import Facts, KernelFacts, Span, sites_of, verdicts
from smemlint.facts import NotAnalysed as Gap
from smemlint.finding import NOT_ANALYSED, Finding, Severity
from smemlint.lint.rule import Rule
from smemlint.reasons import Reason, ReasonCode
from smemlint.sources.languages import is_python_path

_MOST_LINES = 8
"""Lines that are named for one reason; JSON has all."""

_ASSUME = "say what holds, e.g. `// smemlint: assume(n % 32 == 0, n > 0)` before the kernel"
_HELP = {
    ReasonCode.UNKNOWN_BLOCK: "give the block: `--block-dim 32,8`, or "
    "`// smemlint: launch(block=(32, 8))` before the kernel",
    ReasonCode.UNKNOWN_TYPE: "give the template arguments: `// smemlint: launch(T=float, N=32)` "
    "before the kernel",
    ReasonCode.UNKNOWN_VALUE: _ASSUME,
    ReasonCode.UNKNOWN_CONDITION: _ASSUME,
    ReasonCode.RESIDUES: _ASSUME,
    ReasonCode.MISSING: "name the folder that holds it: `-I DIR`, or `-p DIR` for the folder of "
    "`compile_commands.json`",
    ReasonCode.NOT_DECLARED: "name the folder that holds the definition on the command line, or "
    "`-I DIR` for the headers",
    ReasonCode.TIME_LIMIT: "`--time-limit SECONDS` gives it longer",
}
"""What to do, by the reason; of the others nothing is known to help."""
_OF_CPP = (ReasonCode.UNKNOWN_TYPE, ReasonCode.MISSING, ReasonCode.NOT_DECLARED)
"""Reasons that headers and template arguments help against, which Python has not."""


class NotAnalysed(Rule):
    """Says what was not analysed: one note for a kernel, with its reasons."""

    code = NOT_ANALYSED
    name = "not-analysed"
    summary = "code that was seen and not decided"
    severity = Severity.NOTE

    def check(self, facts: Facts, settings: Settings) -> Iterator[Finding]:
        """Yields one note for each kernel and file with something undecided."""
        alike: dict[tuple[str, str, Reason], list[Gap]] = {}
        for note in facts.not_analysed:
            key = note.kernel and note.span.path, note.kernel or str(note.span), note.reason
            alike.setdefault(key, []).append(note)
        for (*_, reason), notes in alike.items():
            found = self.finding(f"not analysed: {reason}", notes[0].span, help=_help(notes))
            yield replace(found, gaps=tuple(notes))
        grouped: dict[tuple[Span, str], list[KernelFacts]] = {}
        for kernel in facts.kernels:
            grouped.setdefault((kernel.instance.span, kernel.instance.kernel), []).append(kernel)
        for (span, name), kernels in grouped.items():
            undecided = sum(not decided for decided in verdicts(sites_of(kernels)).values())
            open_accesses = dict.fromkeys(gap for kernel in kernels for gap in _accesses(kernel))
            lost = dict.fromkeys(
                replace(note, kernel=name) for kernel in kernels for note in kernel.not_analysed
            )
            if undecided or lost:
                counts = [f"{undecided} undecided"] if undecided else []
                counts += [f"{len(lost)} not followed"] if lost else []
                message = f"not fully analysed: `{name}`, {', '.join(counts)}"
                gaps = (*open_accesses, *lost)
                found = self.finding(message, span, notes=_by_reason(gaps), help=_help(gaps))
                yield replace(found, gaps=gaps)


def _accesses(kernel: KernelFacts) -> Iterator[Gap]:
    """Returns where accesses have no verdict, and why."""
    for access in kernel.accesses:
        if not access.certainty.is_decided:
            yield Gap(access.span, kernel.instance.kernel, access.reason)


def _by_reason(gaps: Sequence[Gap]) -> tuple[str, ...]:
    """Returns a line a reason, with the lines it holds for; one for all unknown types."""
    lines: dict[Reason, dict[int, None]] = {}
    types: dict[Reason, None] = {}
    for gap in gaps:
        reason = gap.reason
        if reason.code is ReasonCode.UNKNOWN_TYPE:  # mostly members of one template argument
            types.setdefault(reason)
            reason = next(iter(types))
        lines.setdefault(reason, {})[gap.span.line] = None
    notes = [f"{_lines_text(sorted(found))}: {reason}" for reason, found in lines.items()]
    if len(types) > 1:
        notes[[*lines].index(next(iter(types)))] += f", and {len(types) - 1} more of the kind"
    return tuple(notes)


def _help(gaps: Sequence[Gap]) -> str:
    """Returns what to tell smemlint, for the commonest reason that anything can be done about."""
    is_python = is_python_path(gaps[0].span.path)
    found = Counter(gap.reason.code for gap in gaps if gap.reason.code in _HELP)
    codes = [c for c, _ in found.most_common() if not is_python or c not in _OF_CPP]
    text = _HELP[codes[0]] if codes else ""
    return text.replace("`// smemlint", "`# smemlint") if is_python else text


def _lines_text(lines: Sequence[int]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]}"
    more = f" and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
    return f"lines {', '.join(map(str, lines[:_MOST_LINES]))}{more}"


RULE = NotAnalysed()
