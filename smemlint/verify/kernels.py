"""`--verify-gpu=kernel`: kernels are compiled, run and profiled, and lines compared with counters.

A line's figure is its wavefronts over the profiler's ideal, which does not depend on how often the
line ran. A program with a `main` makes its own launches; of any other kernel one block is called,
with memory of its own behind every pointer. What cannot be called says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from smemlint.analysis.compiled.source_places import is_library
from smemlint.config.settings import Settings
from smemlint.facts import Access, AccessKind
from smemlint.finding import Measurement, Verdict
from smemlint.lazy_dataclasses import dataclass
from smemlint.lint.result import Result
from smemlint.sources.source import Source
from smemlint.verify.calls import GUESS
from smemlint.verify.device import INSTALL, Engine, GpuError, script_process
from smemlint.verify.findings import require_arch, wanted_accesses, with_notices
from smemlint.verify.gpu_process import meaning_of
from smemlint.verify.programs import Program, Programs
from smemlint.verify.verdict import unmeasured

TOLERANCE = 0.02
"""How far, in parts of it, a line's counted figure may be from the predicted one."""
_STEMS = {
    AccessKind.LOAD: "LDS",
    AccessKind.STORE: "STS",
    AccessKind.LDMATRIX: "LDSM",
    AccessKind.STMATRIX: "STSM",
    AccessKind.ATOMIC: "ATOMS",
    AccessKind.ASYNC_COPY: "LDGSTS",
}


@dataclass(frozen=True, slots=True)
class Counted:
    """What the profiler counted of one program; rows are at home in the sources."""

    program: Program
    device: str
    rows: Sequence[Mapping[str, Any]]

    @property
    def is_call(self) -> bool:
        """Whether one kernel instance was called, and not a program run."""
        return self.program.instance is not None


def verify_kernels(
    result: Result, settings: Settings, sources: Sequence[Source], engine: Engine | None = None
) -> tuple[Result, str]:
    """Returns the result with counted figures, refuted findings first, and a summary.

    Raises:
        GpuError: a tool is missing, or the GPU cannot be used.
    """
    count = engine or script_process("counters.py", settings.verify_timeout * 4)
    programs = Programs(sources, settings)
    answers: dict[int, Counted | str] = {}

    def counted(program: Program | str) -> Counted | str:
        if isinstance(program, str):
            return program
        if id(program) not in answers:
            answers[id(program)] = _counted(program, settings, count)
        return answers[id(program)]

    verdicts = {
        key: (access, _measured(access, result, programs, counted))
        for key, access in wanted_accesses(result, settings).items()
    }
    findings = with_notices(
        [
            f if f.access is None else replace(f, measurement=verdicts[id(f.access)][1])
            for f in result.findings
        ],
        verdicts,
    )
    summary = _summary(
        [measurement.verdict for _, measurement in verdicts.values()],
        [answer for answer in answers.values() if isinstance(answer, Counted)],
    )
    return replace(result, findings=tuple(findings)), summary


def _counted(program: Program, settings: Settings, count: Engine) -> Counted | str:
    """Returns the counters of a program, or why there are none."""
    answer = count(
        {
            "files": program.files,
            "build": program.build,
            "run": program.run,
            "device": settings.device,
            "timeout": settings.verify_timeout,
        }
    )
    if "failed" in answer:
        _require_gpu(answer["failed"], settings.device)
        return str(answer["failed"])
    about = answer["about"]
    require_arch(settings.arch, about["arch"])
    rows = []
    for row in answer["rows"]:
        file, line = program.place(*_own_line(row))
        rows.append({**row, "file": file, "line": line})
    return Counted(program, f"{about['device']}, {about['arch']}", rows)


def _own_line(row: Mapping[str, Any]) -> tuple[str, int]:
    """Returns where an instruction stands for the user: behind what libraries inline."""
    lines = [(row["file"], row["line"]), *row.get("callers", ())]
    file, line = next((at for at in lines if not is_library(at[0])), lines[0])
    return file, line


def _require_gpu(failed: str, device: int) -> None:
    """Raises where it is not the program that fails but the GPU or what drives it."""
    if device and "cudaErrorNoDevice" in failed:
        raise GpuError(f"there is no device {device}", hint="see `nvidia-smi -L`")
    if "No module named 'cupy'" in failed:
        raise GpuError("CuPy is not installed", hint=INSTALL)
    meaning = meaning_of(failed) if "Compile" not in failed else None
    if meaning is not None:
        message, hint = meaning
        raise GpuError(f"{message} ({failed})", hint=hint)


def _measured(
    access: Access,
    result: Result,
    programs: Programs,
    counted: Callable[[Program | str], Counted | str],
) -> Measurement:
    """Returns what the first program that runs the access's line says; without one, all reasons."""
    same = [a for k in result.facts.kernels for a in k.accesses if _place(a) == _place(access)]
    have_figures = all(a.wavefronts is not None and a.ideal is not None for a in same)
    if not have_figures or not sum(a.instructions for a in same):
        return unmeasured(access, "not all accesses of its line have a figure")
    reasons = []
    for program in programs.of(access.instance):
        answer = counted(program)
        if isinstance(answer, str):
            reasons.append(answer)
            continue
        measurement = _compared(access, same, answer)
        if measurement is not None:
            return measurement
        reasons.append("this line is not reached" if answer.is_call else _NO_SUCH_LAUNCH)
    return unmeasured(access, "; called by itself: ".join(reasons))


_NO_SUCH_LAUNCH = "the program runs this line in no such launch"


def _compared(access: Access, same: Sequence[Access], counted: Counted) -> Measurement | None:
    """Returns the line's counters beside the prediction for its accesses of this kind."""
    rows = [r for r in counted.rows if _is_of(r, access)]
    seen, best = (sum(r[name] for r in rows) for name in ("wavefronts", "ideal"))
    if not best:
        return None
    if counted.is_call:
        same = [a for a in same if a.instance == access.instance]
    total = sum(a.instructions for a in same)
    spent = sum(a.wavefronts.mean * a.instructions for a in same if a.wavefronts) / total
    ideal = sum(a.ideal.mean * a.instructions for a in same if a.ideal) / total
    measured = seen / best * ideal
    is_equal = _is_within_bounds(same, seen / best) or abs(measured - spent) <= TOLERANCE * spent
    if counted.program.guessed and not is_equal:
        return unmeasured(access, _guessed_call(counted.program.guessed, measured))
    verdict = Verdict.CONFIRMED if is_equal else Verdict.REFUTED
    return Measurement(verdict, round(spent, 3), measured, 0.0, counted.device)


def _is_within_bounds(accesses: Sequence[Access], ways: float) -> bool:
    """Returns whether the accesses of a line have a range of ways, and the ways are within it."""
    bounds = [a.bounds for a in accesses if a.bounds is not None]
    if len(bounds) < len(accesses):
        return False
    least, most = min(b.least for b in bounds), max(b.most for b in bounds)
    return (1 - TOLERANCE) * least <= ways <= (1 + TOLERANCE) * most


def _guessed_call(names: Sequence[str], measured: float) -> str:
    """Returns why a count tells nothing, and how to make it tell."""
    arguments = ", ".join(f"{name}=.." for name in names)
    return (
        f"{measured:.3g} wavefronts were counted with {GUESS} for {', '.join(names)}, which no "
        f"launch tells: write `// smemlint: launch({arguments})` in front of the kernel"
    )


def _place(access: Access) -> tuple[object, ...]:
    instance = access.instance
    return access.span.path, access.line, instance.kernel, instance.block, access.kind


def _is_of(row: Mapping[str, Any], access: Access) -> bool:
    """Returns whether a row of counters is of the access's line, kernel, block shape and kind."""
    called = _UNNAMED.sub("", row["kernel"])
    name = re.split(r"[<(]", called, maxsplit=1)[0].rpartition("::")[2].rpartition(" ")[2]
    return (
        row["file"] == Path(access.span.path).name
        and row["line"] == access.line
        and name == access.instance.kernel
        and tuple(row["block"]) == access.instance.block
        and row["op"] == _STEMS.get(access.kind)
    )


_UNNAMED = re.compile(r"(\(anonymous namespace\)|<unnamed>)::")
"""How demanglers call a namespace without a name."""


def _summary(found: Sequence[Verdict], counted: Sequence[Counted]) -> str:
    called = sum(c.is_call for c in counted)
    own = len(counted) - called
    return (
        f"counted in {own} program{'s' * (own != 1)} and {called} call{'s' * (called != 1)}: "
        f"{found.count(Verdict.CONFIRMED)} confirmed, {found.count(Verdict.REFUTED)} refuted, "
        f"{found.count(Verdict.NOT_REPLAYABLE)} not replayable"
    )
