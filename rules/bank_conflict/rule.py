"""SML101: lanes of one warp reach different words of one bank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smemlint.config.settings import Settings
from smemlint.facts import Access, AccessKind, Certainty, KernelFacts, WarpPattern
from smemlint.finding import Finding, Severity
from smemlint.hardware.arch import WORD
from smemlint.lint.rule import Rule

from .explain import explanation, reduction_help

_VERBS = {
    AccessKind.LOAD: "reading",
    AccessKind.LDMATRIX: "reading",
    AccessKind.STORE: "writing",
    AccessKind.STMATRIX: "writing",
    AccessKind.ATOMIC: "updating",
}


class BankConflict(Rule):
    """Judges the wavefronts of an access against what it would take without conflicts."""

    code = "SML101"
    name = "bank-conflict"
    summary = "lanes of one warp reach different words of one bank"

    def certainty_of(self, access: Access) -> Certainty:
        """Returns that of the figures, or of their bounds where other instructions may be made."""
        return access.bounds.certainty if access.bounds is not None else access.certainty

    def check_access(
        self, access: Access, kernel: KernelFacts, settings: Settings
    ) -> Iterator[Finding]:
        """Yields one finding for an access that takes more wavefronts than its ideal."""
        if access.array is None or access.kind not in _VERBS or access.is_of_library:
            return  # nobody but the library can change its own accesses
        if access.certainty is Certainty.DATA_DEPENDENT:
            yield from self._of_data(access)
        found = _worst(access)
        if found is None:
            return
        ways, pattern, spent, ideal = found
        bounds = access.bounds
        least, most = (bounds.least, bounds.most) if bounds is not None else (ways, ways)
        if least <= settings.most_ways(self.code, self.name):
            return
        verb = _VERBS[access.kind]
        notes = (
            _proof(pattern, spent, ideal, access),
            explanation(access, pattern),
            _fusion(access, pattern),
            _layout(access),
            _either_way(access),
        )
        degree = f"{least:g}-way" if least == most else f"{least:g}- to {most:g}-way"
        message = f"{degree} bank conflict {verb} {access.array.shown}"
        yield self.finding(
            message,
            access.span,
            access=access,
            pattern=pattern,
            kernel=kernel,
            notes=tuple(filter(None, notes)),
            help=access.advice or reduction_help(access, kernel) or _without_advice(access),
            weight=ways,
        )

    def _of_data(self, access: Access) -> Iterator[Finding]:
        """Returns what is known of an access that hangs on data; only `--pedantic` asks."""
        from smemlint.analysis.data_bounds import data_bounds

        bounds = data_bounds(access)
        if bounds is None or access.array is None or bounds.worst == bounds.best:
            return
        message = f"data decides the bank conflicts of {access.array.shown}: {bounds}"
        found = self.finding(message, access.span, access=access, weight=bounds.expected)
        yield replace(found, severity=Severity.NOTE)


def _worst(access: Access) -> tuple[float, WarpPattern, int, int] | None:
    """Returns ways, pattern, wavefronts and ideal of the costliest pattern of an instruction.

    What the compiler fuses into the instruction of another place has none; atomics count by
    distinct words.
    """
    from smemlint.hardware.banks import wavefronts

    best: tuple[float, WarpPattern, int, int] | None = None
    for pattern in access.patterns:
        if not pattern.count:
            continue
        spent, ideal = pattern.wavefronts, max(pattern.ideal, pattern.profiler_ideal)
        if access.kind is AccessKind.ATOMIC:
            cost = wavefronts(
                pattern.addresses, kind="store", width=pattern.width, active=pattern.active
            )
            spent, ideal = int(cost.wavefronts), int(cost.ideal)
        if ideal and (best is None or spent / ideal > best[0]):
            best = spent / ideal, pattern, spent, ideal
    return best


def _proof(pattern: WarpPattern, spent: int, ideal: int, access: Access) -> str:
    from smemlint.hardware.banks import bank_words

    lanes = int(pattern.active.sum())
    counts = bank_words(pattern.addresses, pattern.width, pattern.active)
    words, banks = int(counts.sum()), int((counts > 0).sum())
    plural = "s" if banks != 1 else ""
    mean = ""
    ideals = sum(max(p.ideal, p.profiler_ideal) * p.count for p in access.patterns)
    if ideals and access.kind is not AccessKind.ATOMIC:
        if access.omitted:
            average = access.wavefronts.mean / access.ideal.mean
        else:
            average = sum(p.wavefronts * p.count for p in access.patterns) / ideals
        if abs(average - spent / ideal) > 0.005:
            mean = f"; {average:.3g} times ideal on average over its iterations"
    where = "".join(f", {name} = {value}" for name, value in pattern.values)
    return (
        f"warp {pattern.warp}{where}: {lanes} lanes reach {words} words in {banks} "
        f"bank{plural}, {spent} wavefronts instead of {ideal}{mean}"
    )


def _layout(access: Access) -> str:
    """Returns the CuTe layout that the addresses went through, as CuTe prints it."""
    use = access.layout
    if use is None or use.family != "cute":
        return ""
    if use.swizzle is None:
        return f"the layout is `{use.spelled}`"
    unit = "element offsets" if use.units == "elements" else "byte addresses"
    return f"the layout is `{use.spelled}`, its swizzle one of {unit}"


def _without_advice(access: Access) -> str:
    return f"none found: {access.unadvised}" if access.unadvised else ""


def _either_way(access: Access) -> str:
    """Returns that the conflict stands where the access's own figure may be another."""
    if access.bounds is None:
        return ""
    return "the compiler may fuse it with its neighbours: it conflicts either way"


def _fusion(access: Access, pattern: WarpPattern) -> str:
    """Returns what the compiler made one instruction of, where that is why it is so wide."""
    fusion = access.fusion
    if fusion is None or pattern.width != access.width_bytes:
        return ""
    is_load = access.kind is AccessKind.LOAD
    noun, name = ("reads", "LDS") if is_load else ("writes", "STS")
    size = f".{8 * pattern.width}" if pattern.width > WORD else ""
    lines = sorted({span.line for span in fusion.spans})
    where = f", lines {lines[0]} to {lines[-1]}" if len(lines) > 1 else ""
    each = f"{fusion.width_bytes} byte{'s' if fusion.width_bytes > 1 else ''}"
    return (
        f"the compiler makes one {name}{size} of {fusion.count} {noun} of {each}{where}: "
        f"{pattern.width} bytes a lane"
    )


RULE = BankConflict()
