"""Facts of the kernels that an edit does not touch are kept from one analysis to the next.

A kernel is evaluated from all texts of the run, but never from the body of another kernel. So what
is known of it holds as long as everything outside of those bodies stays, and stays where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from smemlint.frontend.cuda.tokens import LineMap
from smemlint.pragmas import MARK
from smemlint.source import lines_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from smemlint.config import Settings
    from smemlint.evaluate.kernel import Task
    from smemlint.facts import KernelFacts
    from smemlint.frontend.cuda.unit import Unit
    from smemlint.source import Source

    Evaluation = Callable[[Unit, Task, str], KernelFacts]

_MOST_KERNELS = 1_000
_REACHES_OUT = ("#", "<<<", "cudaLaunch", MARK)
"""What a body may hold that counts outside of it: directives, launches, pragmas."""


class Memory:
    """What is known of kernel instances, the last used at the end."""

    def __init__(self) -> None:
        self._known: dict[Hashable, KernelFacts] = {}
        self.hits = 0

    def evaluation(self, path: str, sources: Sequence[Source], settings: Settings) -> Evaluation:
        """`evaluate_kernel` for one analysis.

        Args:
            path: of the document that is edited.
            sources: all files of the run, as they are now.
            settings: that they are evaluated under.
        """
        from smemlint.evaluate.kernel import evaluate_kernel

        texts = {s.path: s.text for s in sources}
        if MARK in texts[path] and "swizzle" in texts[path]:
            return evaluate_kernel  # it takes note of the declarations that were of use
        beside = _digest(
            repr(settings), *(t for p in sorted(texts) if p != path for t in (p, texts[p]))
        )
        contexts: dict[int, dict[int, bytes]] = {}

        def evaluated(unit: Unit, task: Task, arch: str) -> KernelFacts:
            if id(unit) not in contexts:
                contexts[id(unit)] = _contexts(unit, path, texts)
            context = contexts[id(unit)].get(id(task.function))
            if context is None:
                return evaluate_kernel(unit, task, arch)
            key = (context, beside, unit.path, task.instance, task.assumptions, arch)
            facts = self._known.pop(key, None)
            if facts is None:
                facts = evaluate_kernel(unit, task, arch)
            else:
                self.hits += 1
            self._known[key] = facts
            if len(self._known) > _MOST_KERNELS:
                del self._known[next(iter(self._known))]
            return facts

        return evaluated


def _contexts(unit: Unit, path: str, texts: Mapping[str, str]) -> dict[int, bytes]:
    """For each kernel of a unit, by identity, a digest of all that its evaluation may see.

    Of a document's text that is everything but the bodies of other kernels.
    """
    from smemlint.frontend.cuda.load import CudaFunction, CudaUnit

    if not isinstance(unit, CudaUnit):
        return {}
    text, kernels = texts[path], [f for f in unit.functions if f.is_kernel]
    lines = LineMap(text)
    bodies: dict[int, tuple[int, int]] = {}
    for kernel in kernels:
        if not isinstance(kernel, CudaFunction) or not kernel.pieces.body:
            continue
        first, last = kernel.pieces.body[0], kernel.pieces.body[-1]
        begin, end = unit.token_span(first), unit.token_span(last)
        if first.macro is not None or last.macro is not None or {begin.path, end.path} != {path}:
            continue
        start = lines.offset(begin.line, begin.column)
        stop = lines.offset(end.end_line, end.end_column)
        if not any(word in text[start:stop] for word in _REACHES_OUT):
            bodies[id(kernel)] = start, stop
    outside = _digest(*(_state(file) for file in unit.files if file not in texts), *unit.not_found)
    found = {}
    for kernel in kernels:
        others = sorted(range for key, range in bodies.items() if key != id(kernel))
        pieces, at = [], 0
        for start, stop in others:
            if start < at:
                continue  # defined twice by one text
            pieces += [text[at:start], _blank(text[start:stop])]
            at = stop
        found[id(kernel)] = _digest("".join((*pieces, text[at:]))) + outside
    return found


def _blank(body: str) -> str:
    """As many lines as the body, the last one as long, so that what follows stays in place."""
    rows = lines_of(body)
    return "\n" * (len(rows) - 1) + " " * len(rows[-1])


def _state(file: str) -> str:
    """What tells whether a file on disk changed."""
    try:
        status = Path(file).stat()
    except OSError:
        return file
    return f"{file} {status.st_mtime_ns} {status.st_size}"


def _digest(*texts: str) -> bytes:
    digest = blake2b(digest_size=32)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d " % len(data))
        digest.update(data)
    return digest.digest()
