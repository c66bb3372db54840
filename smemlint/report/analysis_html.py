"""`smemlint analyze` as a page: what each kernel and each line of it takes, in sortable tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import starmap

from smemlint.facts import Facts, KernelFacts
from smemlint.lint.cost import total
from smemlint.report.page import cell, page, plain, table
from smemlint.report.table import HEAD, row, title, total_text


def analysis_html(parts: Mapping[str, Facts]) -> str:
    """Returns the page: all kernels by what they waste, then the accesses of each."""
    kernels = [k for facts in parts.values() for k in facts.kernels if k.accesses]
    kernels.sort(key=lambda k: total(k).ideal - total(k).wavefronts)
    name = "smemlint: kernels and their shared-memory accesses"
    body = [f"<h1>{name}</h1>", f"<p class='quiet'>{escape(', '.join(parts))}</p>"]
    return page(name, [*body, _overview(kernels), *starmap(_kernel, enumerate(kernels))])


def _overview(kernels: Sequence[KernelFacts]) -> str:
    """Returns a row for each kernel instance, which leads to its accesses."""
    rows = []
    for number, kernel in enumerate(kernels):
        all_of_it = total(kernel)
        link = f"<a href='#k{number}'>{plain(kernel.instance.title)}</a>"
        wasted = all_of_it.wavefronts - all_of_it.ideal
        figures = (f"{n:.6g}" for n in (all_of_it.wavefronts, all_of_it.ideal, wasted))
        cells = (link, *figures, f"{all_of_it.efficiency:.0%}")
        rows.append("".join(map(cell, cells)))
    head = ("kernel", "wavefronts a block", "ideal", "wasted", "efficiency")
    return table(head, rows, is_contents=True)


def _kernel(number: int, kernel: KernelFacts) -> str:
    """Returns the accesses of a kernel instance, line by line."""
    everything = total(kernel)
    rows = []
    for access in kernel.accesses:
        place, *cells = map(plain, row(access, everything))
        order = access.span.line + access.span.column / 10_000
        rows.append(cell(place, order) + "".join(map(cell, cells)))
    heading = f"<h2>{plain(title(kernel.instance))}</h2><p>{plain(total_text(kernel))}</p>"
    return f"<article id='k{number}'>{heading}{table(HEAD, rows)}</article>"
