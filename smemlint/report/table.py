"""`smemlint analyze` for people: one row an access site, grouped by kernel instance."""

from __future__ import annotations

from smemlint.analysis.data_bounds import data_bounds
from smemlint.facts import Access, Facts, Instance, KernelFacts
from smemlint.lint.cost import OPEN_LOOP_TRIPS, Total, total, wavefronts
from smemlint.report.phrases import passed_text
from smemlint.visible import visible

HEAD = (
    "place", "access", "bytes", "instr", "wavefronts", "ideal", "ways", "share", "certainty",
)  # fmt: skip
"""Wavefronts and their ideal are those of an instruction, the share is of the kernel's."""


def table(facts: Facts) -> str:
    """Returns all accesses, then what was not analysed."""
    parts = [_kernel(k) for k in facts.kernels if k.accesses or k.not_analysed]
    notes = [f"{n.span.path}:{n.span.line}: not analysed: {n.reason}" for n in facts.not_analysed]
    return "\n\n".join([*parts, *map(visible, notes)]) or "no shared accesses found"


def _kernel(facts: KernelFacts) -> str:
    everything = total(facts)
    rows = [HEAD, *(row(a, everything) for a in facts.accesses)]
    widths = [max(len(r[i]) for r in rows) for i in range(len(HEAD))]
    lines = [
        "  " + "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows
    ]
    if facts.accesses:
        lines.append(f"  {total_text(facts)}")
    notes = [f"  line {n.span.line}: not analysed: {n.reason}" for n in facts.not_analysed]
    head = [title(facts.instance), *(lines if facts.accesses else ()), *notes]
    return "\n".join(map(visible, head))


def title(instance: Instance) -> str:
    """Returns a kernel instance, where it stands, and its block."""
    shape = " x ".join(map(str, instance.block)) if instance.block is not None else "unknown"
    origin = f", {instance.origin}" if instance.origin else " (a guess: no launch gives it)"
    if instance.block is None:
        origin = ""
    if instance.passed:
        origin += f" with {passed_text(instance)}"
    return f"{instance.title} ({instance.span.path}:{instance.span.line}), block {shape}{origin}"


def total_text(facts: KernelFacts) -> str:
    """Returns `1056 wavefronts a block, 64 ideal: efficiency 6%`, and what is left out of it."""
    everything = total(facts)
    if not everything.wavefronts:
        return "no wavefronts are known"
    text = (
        f"total: {everything.wavefronts:.6g} wavefronts a block, {everything.ideal:.6g} ideal: "
        f"efficiency {everything.efficiency:.0%}"
    )
    if any(a.repeats for a in facts.accesses):
        text += f", loops of unknown length counted {OPEN_LOOP_TRIPS} times"
    return text if everything.is_complete else f"{text}, of what is known"


def row(access: Access, everything: Total) -> tuple[str, ...]:
    """Returns the cells of one access, in the order of `HEAD`."""
    name = access.array.name if access.array is not None and access.array.name else "?"
    certainty = str(access.certainty) + (f": {access.reason}" if access.reason else "")
    bounds = data_bounds(access)
    certainty += f"; {bounds}" if bounds is not None else ""
    figures = access.wavefronts, access.ideal
    spent, ideal = figures if access.instructions else (None, None)
    taken, _ = wavefronts(access)
    return (
        f"{access.span.line}:{access.span.column}",
        f"{access.kind} {name}",
        str(access.width_bytes or "?"),
        str(access.instructions),
        f"{spent.mean:.4g}" if spent is not None else "-",
        f"{ideal.mean:.4g}" if ideal is not None else "-",
        f"{access.ways:.3g}" if spent is not None else "-",
        f"{taken / everything.wavefronts:.0%}" if taken else "-",
        certainty,
    )
