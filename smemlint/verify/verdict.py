"""Readings beside predictions: what is confirmed, what is refuted, what stays open."""

from __future__ import annotations

from smemlint.facts import Access
from smemlint.finding import Measurement, Verdict
from smemlint.hardware.arch import LANES
from smemlint.hardware.banks import wavefronts
from smemlint.verify.device import Measured
from smemlint.verify.plan import Pattern


def predicted(pattern: Pattern) -> int:
    """Returns what the bank model says of a pattern."""
    form = pattern.form
    cost = wavefronts(
        list(pattern.offsets),
        kind=form.kind,
        width=form.width,
        active=[bool(pattern.mask >> lane & 1) for lane in range(LANES)],
        matrices=form.matrices or 4,
        operation=form.operation.removesuffix(".one.red").removesuffix(".red")
        + ".one.red" * form.operation.endswith(".one.red")
        or "add.u32",
    )
    return int(cost.wavefronts)


def judged(predicted: int, pattern: Pattern | str, measured: Measured | None) -> Measurement:
    """Returns the verdict on one prediction."""
    if isinstance(pattern, str) or measured is None:
        return _unmeasured_figure(predicted, str(pattern), measured)
    if pattern.form in measured.doubts:
        return _unmeasured_figure(predicted, measured.doubts[pattern.form], measured)
    reading = measured.readings[pattern]
    cycles = reading.cycles_agreed
    if cycles is None:
        text = f"its repetitions lie between {reading.least:.2f} and {reading.most:.2f} cycles"
        return _unmeasured_figure(predicted, text, measured)
    if cycles != predicted and pattern.pairs_in_doubt:
        text = (
            f"{cycles} cycles: its lanes pair up only thanks to lanes that are off, where time "
            "and the profiler's counter differ"
        )
        return _unmeasured_figure(predicted, text, measured)
    verdict = Verdict.CONFIRMED if cycles == predicted else Verdict.REFUTED
    return Measurement(verdict, predicted, reading.cycles, reading.spread, measured.device)


def _unmeasured_figure(predicted: int, reason: str, measured: Measured | None) -> Measurement:
    device = measured.device if measured is not None else ""
    return Measurement(Verdict.NOT_REPLAYABLE, predicted, None, 0.0, device, reason)


def unmeasured(access: Access, reason: str) -> Measurement:
    """Returns the verdict on an access whose figure cannot be measured."""
    worst = access.worst
    return _unmeasured_figure(worst.wavefronts if worst is not None else 0, reason, None)
