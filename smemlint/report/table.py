"""`smemlint analyze` for people: one row an access site, grouped by kernel instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.visible import visible

if TYPE_CHECKING:
    from smemlint.facts import Access, Facts, KernelFacts

_HEAD = ("place", "access", "bytes", "instr", "wavefronts", "ideal", "ways", "certainty")


def table(facts: Facts) -> str:
    """All accesses, then what was not analysed."""
    parts = [_kernel(k) for k in facts.kernels if k.accesses or k.not_analysed]
    notes = [f"{n.span.path}:{n.span.line}: not analysed: {n.reason}" for n in facts.not_analysed]
    return "\n\n".join([*parts, *map(visible, notes)]) or "no shared accesses found"


def _kernel(facts: KernelFacts) -> str:
    instance = facts.instance
    shape = " x ".join(map(str, instance.block)) if instance.block is not None else "unknown"
    origin = f", {instance.origin}" if instance.origin else " (a guess: no launch gives it)"
    if instance.block is None:
        origin = ""
    title = f"{instance.title} ({instance.span.path}:{instance.span.line}), block {shape}{origin}"
    rows = [_HEAD, *(_row(a) for a in facts.accesses)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    lines = [
        "  " + "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows
    ]
    notes = [f"  line {n.span.line}: not analysed: {n.reason}" for n in facts.not_analysed]
    return "\n".join(map(visible, [title, *(lines if facts.accesses else ()), *notes]))


def _row(access: Access) -> tuple[str, ...]:
    name = access.array.name if access.array is not None and access.array.name else "?"
    certainty = str(access.certainty) + (f": {access.reason}" if access.reason else "")
    spent, ideal = access.wavefronts, access.ideal
    return (
        f"{access.span.line}:{access.span.column}",
        f"{access.kind} {name}",
        str(access.width_bytes or "?"),
        str(access.instructions),
        f"{spent.mean:.4g}" if spent is not None else "-",
        f"{ideal.mean:.4g}" if ideal is not None else "-",
        f"{access.ways:.3g}" if spent is not None else "-",
        certainty,
    )
