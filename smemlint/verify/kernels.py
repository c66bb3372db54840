"""`--verify-gpu=kernel`: programs are compiled, run and profiled, and lines compared with counters.

A line's figure is its wavefronts over the profiler's ideal, which does not depend on how often the
line ran. Only CUDA programs with a `main` of their own can be run; for the rest it is said why not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smemlint.errors import SmemlintError
from smemlint.facts import AccessKind
from smemlint.finding import Finding, Measurement, Verdict
from smemlint.verify.device import Engine, script_process

if TYPE_CHECKING:
    from smemlint.config import Settings
    from smemlint.engine import Result
    from smemlint.facts import Access
    from smemlint.source import Source

TOLERANCE = 0.02
"""How far, in parts of it, a line's counted figure may be from the predicted one."""
_STEMS = {
    AccessKind.LOAD: "LDS",
    AccessKind.STORE: "STS",
    AccessKind.LDMATRIX: "LDSM",
    AccessKind.STMATRIX: "STSM",
    AccessKind.ATOMIC: "ATOMS",
}
_HAS_MAIN = re.compile(r"\bint\s+main\s*\(")


def verify_kernels(
    result: Result, settings: Settings, sources: Sequence[Source], engine: Engine | None = None
) -> tuple[Result, str]:
    """The result with counted figures on its findings, those that are refuted first; a summary.

    Raises:
        SmemlintError: a program cannot be compiled, run or profiled.
    """
    count = engine or script_process("counters.py", settings.verify_timeout * 3)
    accesses = {id(f.access): f.access for f in result.findings if f.access is not None}
    texts = {s.path: s for s in sources}
    paths = sorted({a.instance.span.path for a in accesses.values()})
    runnable = [p for p in paths if p.endswith(".cu") and _HAS_MAIN.search(texts[p].text)]
    counted = {path: count(_request(path, settings)) for path in runnable}
    findings = []
    for finding in result.findings:
        if finding.access is not None:
            measurement = _compared(finding.access, result, counted)
            finding = replace(finding, measurement=measurement)
        findings.append(finding)
    findings.sort(key=lambda f: not f.is_refuted)
    return replace(result, findings=tuple(findings)), _summary(findings, len(runnable))


def _request(path: str, settings: Settings) -> dict[str, Any]:
    flags = [f"-D{name}={text}" for name, text in settings.define.items()]
    flags += [f"-U{name}" for name in settings.undefine]
    flags += [f"-I{Path(folder).resolve()}" for folder in settings.include_dir]
    return {
        "source": str(Path(path).resolve()),
        "arch": settings.arch,
        "flags": flags,
        "device": settings.device,
        "timeout": settings.verify_timeout,
    }


def _compared(
    access: Access, result: Result, counted: Mapping[str, Mapping[str, Any]]
) -> Measurement:
    """The line's counters beside what is predicted of all its accesses of this kind together."""
    answer = counted.get(access.instance.span.path)
    if answer is None:
        return _untold(access, "only a .cu file with its own `main` can be run", "")
    device = f"{answer['about']['device']}, {answer['about']['arch']}"
    same = [a for k in result.facts.kernels for a in k.accesses if _place(a) == _place(access)]
    total = sum(a.instructions for a in same)
    if any(a.wavefronts is None or a.ideal is None for a in same) or not total:
        return _untold(access, "not all accesses of its line have a figure", device)
    spent = sum(a.wavefronts.mean * a.instructions for a in same if a.wavefronts) / total
    ideal = sum(a.ideal.mean * a.instructions for a in same if a.ideal) / total
    rows = [r for r in answer["rows"] if _is_of(r, access)]
    seen, best = (sum(r[name] for r in rows) for name in ("wavefronts", "ideal"))
    if not best:
        return _untold(access, "the program runs this line in no such launch", device)
    measured = seen / best * ideal
    is_equal = abs(measured - spent) <= TOLERANCE * spent
    verdict = Verdict.CONFIRMED if is_equal else Verdict.REFUTED
    return Measurement(verdict, round(spent, 3), measured, 0.0, device)


def _place(access: Access) -> tuple[object, ...]:
    instance = access.instance
    return access.span.path, access.line, instance.kernel, instance.block, access.kind


def _is_of(row: Mapping[str, Any], access: Access) -> bool:
    """Whether a row of counters is of the access's line, kernel, block shape and kind."""
    name = re.split(r"[<(]", row["kernel"], maxsplit=1)[0].split()[-1].split("::")[-1]
    return (
        Path(row["file"]).name == Path(access.span.path).name
        and row["line"] == access.line
        and name == access.instance.kernel
        and tuple(row["block"]) == access.instance.block
        and row["op"] == _STEMS.get(access.kind)
    )


def _untold(access: Access, reason: str, device: str) -> Measurement:
    worst = access.worst
    predicted = worst.wavefronts if worst is not None else 0
    return Measurement(Verdict.NOT_REPLAYABLE, predicted, None, 0.0, device or "the GPU", reason)


def _summary(findings: Sequence[Finding], programs: int) -> str:
    found = [f.measurement.verdict for f in findings if f.measurement is not None]
    if not programs and found:
        raise SmemlintError(
            "no file with findings is a program that can be run",
            hint="--verify-gpu=kernel takes .cu files with their own `main`; "
            "--verify-gpu replays addresses of any kernel",
        )
    return (
        f"counted in {programs} program{'s' * (programs != 1)}: "
        f"{found.count(Verdict.CONFIRMED)} confirmed, {found.count(Verdict.REFUTED)} refuted, "
        f"{found.count(Verdict.NOT_REPLAYABLE)} not countable"
    )
