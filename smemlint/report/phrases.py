"""What formats say in the same words: of fixes, measurements, and the run as a whole."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from smemlint.finding import Severity
from smemlint.hardware.arch import LANES
from smemlint.lint.cost import OPEN_LOOP_TRIPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from smemlint.facts import Instance
    from smemlint.finding import Finding, Fix, Measurement
    from smemlint.lint.result import Result

_LONGEST_TITLE = 60
"""Characters of a kernel with its template values; of a longer one the name alone is shown."""
_MOST_LETTERS = 120
"""Of the instances that are named beside a finding."""
_MOST_TITLES = 8
"""Kernel instances with one message that are named; JSON has them all."""


def measurement_text(measurement: Measurement) -> str:
    """Returns one line on what the hardware measured.

    E.g. `predicted 32, measured 32.0 (NVIDIA H200, sm_90): confirmed`.
    """
    if measurement.measured is None:
        where = f" on {measurement.device}" if measurement.device else ""
        return f"not replayable{where}: {measurement.reason}"
    spread = f" +/- {measurement.spread:.2g}" if measurement.spread >= 0.05 else ""
    after = measurement.after
    fixed = ""
    if after is not None and after.measured is not None:
        fixed = f"; after the fix predicted {after.predicted:g}, measured {after.measured:.1f}"
    return (
        f"predicted {measurement.predicted:g}, measured {measurement.measured:.1f}{spread} "
        f"({measurement.device}): {measurement.verdict}{fixed}"
    )


def fix_text(fix: Fix) -> str:
    """Returns one line on a fix and on what it takes to apply it."""
    if fix.is_safe:
        return f"{fix.title} (--fix applies it)"
    why = f": {fix.why_unsafe}" if fix.why_unsafe else ""
    return f"{fix.title} (--fix --unsafe-fixes applies it{why})"


def safety_text(fix: Fix) -> str:
    """Returns one line on a fix, and on why it is not safe where it is not."""
    if fix.is_safe:
        return fix.title
    return f"{fix.title} (unsafe: {fix.why_unsafe})" if fix.why_unsafe else f"{fix.title} (unsafe)"


def headline(finding: Finding) -> str:
    """Returns the message with the kernels that it is about."""
    instances = finding.instances
    if not instances:
        return finding.message
    name = instances[0].title
    if len(name) > _LONGEST_TITLE:
        name = instances[0].kernel
    kernels = len({instance.kernel for instance in instances})
    more, noun = (kernels - 1, "kernel") if kernels > 1 else (len(instances) - 1, "instance")
    others = f" and {plural(more, f'other {noun}')}" if more else ""
    return f"{finding.message} in `{name}`{others}"


def cost_text(finding: Finding) -> str:
    """Returns what a finding costs a block; empty where that is not known."""
    cost = finding.cost
    if cost is None or cost.wasted <= 0:
        return ""
    each = OPEN_LOOP_TRIPS if cost.repeats else 1
    wasted, spent = cost.wasted / each, cost.wavefronts / each
    when = "in each iteration of a loop of unknown length" if cost.repeats else "in a block"
    who = ""
    if cost.of_warps:
        who = f", by {cost.warps} of {plural(cost.of_warps, 'warp')}"
        who += f" with {plural(cost.lanes, 'lane')}" if cost.lanes < LANES else ""
    share = f"{cost.share:.0%}" if cost.share >= 0.005 else "less than 1%"
    if finding.access is not None and finding.access.instance.is_guessed:
        unit = gcd(round(wasted), round(spent)) or 1  # how many warps there are is not known
        wasted, spent = wasted / unit, spent / unit
        when = when if cost.repeats else "in any block"
    return f"{wasted:.6g} of {spent:.6g} wavefronts wasted {when}{who}: {share} of the kernel's"


def by_cost(findings: Sequence[Finding]) -> list[Finding]:
    """Returns the findings, the severest first, and of one severity those that waste most."""

    def order(finding: Finding) -> tuple[int, float]:
        wasted = finding.cost.wasted if finding.cost is not None else 0.0
        return -finding.severity, -wasted

    return sorted(findings, key=order)


def labelled_notes(finding: Finding) -> list[tuple[str, str]]:
    """Returns the notes with what each is.

    `proof` is what the rule saw of an access, `also` what other kernel instances have at the same
    place, `note` what was assumed.
    """
    proof: list[tuple[str, str]] = []
    notes = list(finding.notes)
    if finding.has_proof:
        proof = [("proof", notes.pop(0))]
    cost = cost_text(finding)
    return [
        *proof,
        *([("cost", cost)] if cost else []),
        *(("also", text) for text in _also(finding)),
        *(("note", text) for text in notes),
    ]


def _also(finding: Finding) -> Iterator[str]:
    """Yields what other instances and kinds of access have, those of one message in one line."""
    if finding.access is None:
        return
    own = finding.access.instance
    instances: dict[str, dict[str, None]] = {}
    for other in finding.others:
        if other.access is not None:
            named_so_far = instances.setdefault(other.message, {})
            if other.access.instance.key != own.key:
                named_so_far[_named(other.access.instance, own)] = None
    for message, found in instances.items():
        named = list(found)
        if not named:
            if message != finding.message:
                yield message
            continue
        shown = _fitting(named)
        more = f" and {len(named) - len(shown)} more" if len(named) > len(shown) else ""
        what = "the same" if message == finding.message else message
        yield f"{what} in {', '.join(shown)}{more}"


def _fitting(names: Sequence[str]) -> list[str]:
    """Returns the first names, as many as a reader takes in at once; one at the least."""
    shown = list(names[:1])
    for name in names[1:_MOST_TITLES]:
        if sum(map(len, shown)) + len(name) > _MOST_LETTERS:
            break
        shown.append(name)
    return shown


def advice(finding: Finding) -> str:
    """Returns what to write instead, in one line; empty when nothing was verified."""
    return fix_text(finding.fix) if finding.fix is not None else finding.help


def _named(instance: Instance, beside: Instance) -> str:
    """Returns an instance by its title, else by its block, else by what its launch passes.

    Of a title that takes more than a line only the template arguments that differ are named.
    """
    if instance.title != beside.title or instance.block is None:
        pairs = zip(instance.template, beside.template, strict=False)
        differing = [f"`{own[0]}` = `{own[1]}`" for own, other in pairs if own != other]
        if len(instance.title) <= _MOST_LETTERS or not differing:
            return f"`{instance.title}`"
        shown = _fitting(differing)
        more = ", .." if len(differing) > len(shown) else ""
        return f"an instance with {', '.join(shown)}{more}"
    if instance.passed and instance.block == beside.block:
        return f"a launch with {passed_text(instance)}"
    return f"a block of ({', '.join(map(str, instance.block))})"


def passed_text(instance: Instance) -> str:
    """Returns `` `n` = 4 ``: what tells the launch of an instance from others."""
    return ", ".join(f"`{name}` = {value}" for name, value in instance.passed)


def plural(count: int, word: str) -> str:
    """Returns `1 file`, `2 files`."""
    return f"{count} {word}" + ("" if count == 1 else "s")


def accesses_text(decided: int, undecided: int) -> str:
    """Returns `1 shared access decided, 0 not`."""
    return f"{decided} shared access{'' if decided == 1 else 'es'} decided, {undecided} not"


def run_text(result: Result) -> str:
    """Returns the closing line."""
    counts = [(result.count(s), str(s)) for s in reversed(Severity)]
    found = ", ".join(plural(n, word) for n, word in counts if n) or "no findings"
    return (
        f"checked {plural(result.files, 'file')}: "
        f"{accesses_text(result.decided, result.undecided)}; "
        f"{found} ({result.suppressed} suppressed)"
    )


def fixes_text(result: Result, *, is_fixing: bool) -> str:
    """Returns how many findings have fixes that were not applied; empty when none has."""
    fixes = [f.fix for f in result.findings if f.fix is not None]
    safe = sum(f.is_safe for f in fixes)
    unsafe = len(fixes) - safe
    parts = [f"{safe} fixable with --fix"] if safe else []
    if unsafe:
        more = " more" if safe or is_fixing else " fixable"
        parts.append(f"{unsafe}{more} with " + ("" if is_fixing else "--fix ") + "--unsafe-fixes")
    return ", ".join(parts)
