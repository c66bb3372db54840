"""`--verify-gpu`: every flagged access is replayed, and the findings say what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from smemlint.config.settings import Settings
from smemlint.facts import Access, WarpPattern
from smemlint.finding import Finding, Measurement, Severity, Verdict
from smemlint.hardware.arch import architecture
from smemlint.lazy_dataclasses import dataclass
from smemlint.lint.result import Result
from smemlint.sources.source import Source
from smemlint.verify.copies import copy_verdicts
from smemlint.verify.device import (
    Engine,
    GpuError,
    Measured,
    engine_process,
    measure,
    script_process,
)
from smemlint.verify.fixes import healed_accesses
from smemlint.verify.plan import Pattern, pattern_of
from smemlint.verify.verdict import judged

REFUTED = ("SML904", "model-refuted")
"""The notice on an access that no rule flagged and whose figure the GPU refutes."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a verification did: accesses by verdict, distinct patterns, where and how long."""

    device: str
    patterns: int
    accesses: int
    confirmed: int
    refuted: int
    not_replayable: int
    seconds: float
    startup: float

    def __str__(self) -> str:
        accesses = f"{self.accesses} access{'es' * (self.accesses != 1)}"
        return (
            f"verified on {self.device}: {self.patterns} patterns of {accesses}: "
            f"{self.confirmed} confirmed, {self.refuted} refuted, "
            f"{self.not_replayable} not replayable "
            f"({self.seconds:.1f} s, {self.startup:.1f} s of it start-up)"
        )


def verify(
    result: Result,
    settings: Settings,
    sources: Sequence[Source],
    engine: Engine | None = None,
    counters: Engine | None = None,
) -> tuple[Result, Summary]:
    """Returns the result with measurements on its findings, those that are refuted first.

    Args:
        result: of the run.
        settings: of the run.
        sources: of the run.
        engine: replays patterns and takes their time; that of the GPU by default.
        counters: counts asynchronous copies; Nsight Compute by default.

    Raises:
        GpuError: nothing can be measured, or the GPU is not what the figures were predicted for.
    """
    healed = healed_accesses(result, sources, settings)
    accesses = wanted_accesses(result, settings)
    replays = {
        key: _replays(access, settings.arch)
        for key, access in (*accesses.items(), *((id(a), a) for a in healed.values()))
    }
    patterns = [p for found in replays.values() for _, p in found if isinstance(p, Pattern)]
    measured = measure(patterns, settings.device, engine or engine_process(settings.verify_timeout))
    require_arch(settings.arch, measured.about["arch"])
    verdicts = {key: _worst(found, measured) for key, found in replays.items()}
    counters = counters or script_process("counters.py", settings.verify_timeout * 4)
    verdicts |= copy_verdicts(accesses.values(), settings, counters)

    def with_measurement(finding: Finding) -> Finding:
        if finding.access is None:
            return finding
        measurement = verdicts[id(finding.access)]
        after = healed.get(id(finding))
        if after is not None:
            measurement = replace(measurement, after=verdicts[id(after)])
        return replace(finding, measurement=measurement)

    findings = [with_measurement(f) for f in result.findings]
    findings = with_notices(findings, {key: (a, verdicts[key]) for key, a in accesses.items()})
    summary = _summary([verdicts[key] for key in accesses], len(set(patterns)), measured)
    return replace(result, findings=tuple(findings)), summary


def _replays(access: Access, arch: str) -> list[tuple[WarpPattern, Pattern | str]]:
    """Returns the patterns of an access, the one that findings speak of first."""
    found = sorted(access.patterns, key=lambda p: p is not access.worst)
    return [(p, pattern_of(access, p, arch)) for p in found]


def _worst(replays: Sequence[tuple[WarpPattern, Pattern | str]], measured: Measured) -> Measurement:
    """Returns an access's verdict: a refuted pattern if there is one, else the first."""
    found = [judged(p.wavefronts, pattern, measured) for p, pattern in replays]
    if not found:
        return judged(0, "its addresses are not known", measured)
    chosen = next((m for m in found if m.verdict is Verdict.REFUTED), found[0])
    index = found.index(chosen)
    pattern = replays[index][1]
    command = report_command(pattern, chosen.predicted) if isinstance(pattern, Pattern) else ""
    counted = sum(m.measured is not None for m in found)
    return replace(chosen, patterns=counted, command=command)


def report_command(pattern: Pattern, predicted: float) -> str:
    """Returns the command that replays this one pattern, without the linted code."""
    offsets = ",".join(map(str, pattern.offsets))
    mask = f" --mask {pattern.mask:08x}" if pattern.mask != 2**32 - 1 else ""
    name = pattern.form.name
    return f"python -m smemlint.verify replay {name}{mask} --predicted {predicted} {offsets}"


def wanted_accesses(result: Result, settings: Settings) -> dict[int, Access]:
    """Returns accesses by identity: of the findings and, with `--verify-all`, all decided ones."""
    found = {id(f.access): f.access for f in result.findings if f.access is not None}
    if settings.verify_all:
        decided = (a for k in result.facts.kernels for a in k.accesses if a.certainty.is_decided)
        found.update((id(a), a) for a in decided)
    return found


def with_notices(
    findings: Sequence[Finding], verdicts: Mapping[int, tuple[Access, Measurement]]
) -> list[Finding]:
    """Returns the findings and a notice on what is refuted without one, refuted ones first."""
    flagged = {id(f.access) for f in findings}
    notices = [
        _notice(access, measurement)
        for key, (access, measurement) in verdicts.items()
        if key not in flagged and measurement.verdict is Verdict.REFUTED
    ]
    return sorted([*findings, *notices], key=lambda f: not f.is_refuted)


def _notice(access: Access, measurement: Measurement) -> Finding:
    code, name = REFUTED
    array = f" of {access.array.shown}" if access.array is not None else ""
    message = f"the GPU refutes the figure of this {access.kind}{array}"
    return Finding(
        code, name, Severity.NOTE, message, access.span, access.certainty,
        tuple(map(str, access.assumptions)),
        access=access, measurement=measurement,
    )  # fmt: skip


def require_arch(arch: str, there: str) -> None:
    """Raises a GpuError unless the GPU is what figures are predicted for."""
    expected = architecture(arch).name
    if expected != there:
        raise GpuError(
            f"the figures are for {expected}, the GPU is {there}",
            hint=f"check with --arch {there}, or choose another GPU with --device",
        )


def _summary(verdicts: Iterable[Measurement], patterns: int, measured: Measured) -> Summary:
    found = [m.verdict for m in verdicts]
    total = sum(measured.seconds.values())
    return Summary(
        measured.device,
        patterns,
        len(found),
        found.count(Verdict.CONFIRMED),
        found.count(Verdict.REFUTED),
        found.count(Verdict.NOT_REPLAYABLE),
        total,
        total - measured.seconds.get("replay", 0.0),
    )
