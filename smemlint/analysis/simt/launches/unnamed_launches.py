"""Launches of kernels that are not known: `table[i].kernel<<<..>>>(..)` where no entry is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from smemlint.analysis.simt.types.overloads import signature_of
from smemlint.facts import Span
from smemlint.frontend.program import Function
from smemlint.reasons import Line

_BEHIND_VALUE = r"\b{}\s*+(?:<[^;{{}}]{{0,200}}?>\s*+)?(?:[,;)}}\]:]|\.\.\.)"
"""A function's name where it is neither called nor launched, nor declared."""


def may_launch(
    kernel: Function, unnamed: Mapping[Span, int | None], texts: Iterable[str]
) -> tuple[Line, ...]:
    """Returns the places of launches that may be of a kernel, which its name does not tell.

    They pass as much as it takes, and its name is a value somewhere.

    Args:
        kernel: what may be launched.
        unnamed: see `HostRun`.
        texts: of the files that may name the kernel.
    """
    signature = signature_of(kernel)
    fitting = [n for n, k in unnamed.items() if k is None or signature.least <= k <= signature.most]
    pattern = re.compile(_BEHIND_VALUE.format(re.escape(kernel.name)))
    if not fitting or not any(map(pattern.search, texts)):
        return ()
    return tuple(dict.fromkeys(Line(span.path, span.line) for span in fitting))
