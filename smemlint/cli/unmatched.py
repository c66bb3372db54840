"""What a closing line would hide: names that match no kernel, kernels that no source decides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from smemlint.config.settings import Settings
from smemlint.lazy_patterns import pattern
from smemlint.lint.result import Result
from smemlint.report.phrases import plural
from smemlint.sources.source import Source

_KERNEL = pattern(r"__global__\b([^;{}]{0,300})|^def (\w+)\(", re.M)
_CALLED = pattern(r"(\w+)\s*\(")
"""Names in front of a bracket: one of them is the kernel's, which is good enough for a hint."""


def unmatched_kernels(
    settings: Settings, sources: Sequence[Source], paths: Sequence[str]
) -> Iterator[str]:
    """Yields a warning for each name that stands in no file of the run.

    Only where a folder was named: a hook that is given single files sees a part of the kernels.
    """
    if not settings.kernels or not any(Path(path).is_dir() for path in paths or ["."]):
        return
    texts = [source.text for source in sources]
    for name in settings.kernels:
        word = re.compile(rf"\b{re.escape(name)}\b")
        if any(name in text and word.search(text) for text in texts):
            continue
        from difflib import get_close_matches

        found = {name for text in texts for name in _names(text)}
        near = get_close_matches(name, sorted(found), n=1)
        hint = f": did you mean `{near[0]}`?" if near else ""
        yield f"smemlint: warning: `kernels.{name}` names no kernel of this run{hint}"


def triton_remark(result: Result, sources: Sequence[Source]) -> Iterator[str]:
    """Yields what a run without any shared access has to say where Triton makes them all."""
    if result.sites:
        return
    count = sum("triton.jit" in source.text for source in sources)
    if count:
        yield (
            f"smemlint: note: {plural(count, 'file')} with Triton kernels: its compiler places "
            "their shared memory, compiled code shows it (smemlint check ~/.triton/cache FOLDER)"
        )


def _names(text: str) -> Iterator[str]:
    for head, function in _KERNEL.findall(text):
        yield from _CALLED.findall(head)
        if function:
            yield function
