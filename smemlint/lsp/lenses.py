"""Above each kernel: what its block takes in shared memory, and how much of it is needed."""

from __future__ import annotations

from lsprotocol import types

from smemlint.facts import KernelFacts, Span
from smemlint.lint.cost import total
from smemlint.lsp.analysis import Analysis
from smemlint.lsp.positions import Places
from smemlint.report.table import total_text


def lenses(analysis: Analysis, places: Places) -> list[types.CodeLens]:
    """Returns a line for each kernel of the document, of its least efficient instance."""
    kernels: dict[Span, list[KernelFacts]] = {}
    for kernel in analysis.facts.kernels:
        if kernel.accesses and kernel.instance.span.path == analysis.path:
            kernels.setdefault(kernel.instance.span, []).append(kernel)
    found = []
    for span, instances in sorted(kernels.items()):
        worst = min(instances, key=lambda kernel: total(kernel).efficiency)
        title = total_text(worst)
        if len(instances) > 1:
            title += f" (`{worst.instance.title}`, the worst of {len(instances)} instances)"
        # without a command of its own: it is shown, and nothing happens on a click
        found.append(types.CodeLens(places.range(span), types.Command(title, "")))
    return found
