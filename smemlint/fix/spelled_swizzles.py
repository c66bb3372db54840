"""CuTe swizzles that a text spells, to be written with other parameters."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.facts import Span
from smemlint.finding import Edit
from smemlint.fix.padding import ROW_BYTES, Usage
from smemlint.frontend.cuda.lexer.tokens import LineMap
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass
from smemlint.lazy_patterns import pattern
from smemlint.limits.budgets import MAX_CONSTANT_TRIALS
from smemlint.sources.languages import is_python_path
from smemlint.sources.source import Source

_PARAMETERS = r"\s*(\w+)\s*,\s*(\w+)\s*,\s*(\w+)\s*"
_CPP = pattern(rf"\bSwizzle\s*<{_PARAMETERS}>")
_PYTHON = pattern(rf"\bmake_swizzle\s*\({_PARAMETERS}\)")


@dataclass(frozen=True, slots=True)
class SpelledSwizzle:
    """A swizzle as a text spells it.

    Attributes:
        spans: of its three parameters.
        parameters: numbers or names.
    """

    spans: tuple[Span, ...]
    parameters: tuple[str, ...]

    @property
    def line(self) -> int:
        """The line that it begins in."""
        return self.spans[0].line

    def changed(self, swizzle: Swizzle) -> tuple[Edit, ...]:
        """Returns the edits that give it other parameters."""
        new = map(str, (swizzle.bits, swizzle.base, swizzle.shift))
        pairs = zip(self.spans, self.parameters, new, strict=True)
        return tuple(Edit(span, number) for span, old, number in pairs if old != number)

    def phrase(self, swizzle: Swizzle) -> str:
        """Returns the change in words: `Swizzle<3,3,3>` instead of `Swizzle<B,M,S>`."""
        return f"`{swizzle}` instead of `Swizzle<{','.join(self.parameters)}>`"


def spelled_swizzles(source: Source) -> Iterator[SpelledSwizzle]:
    """Yields the swizzles that a file spells, comments included."""
    pattern = _PYTHON if is_python_path(source.path) else _CPP
    lines = LineMap(source.text)
    for match in pattern.finditer(source.text):
        spans = [Span(source.path, *lines(match.start(k)), *lines(match.end(k))) for k in (1, 2, 3)]
        yield SpelledSwizzle(tuple(spans), match.groups())


def only_one_of(source: Source, swizzle: tuple[int, int, int]) -> SpelledSwizzle | None:
    """Returns the swizzle of these parameters; None where the file spells none or several."""
    expected = tuple(map(str, swizzle))
    found = [s for s in spelled_swizzles(source) if s.parameters == expected]
    return found[0] if len(found) == 1 else None


def only_one_between(source: Source, first: int, last: int) -> SpelledSwizzle | None:
    """Returns the swizzle that stands in these lines; None where they have none or several."""
    found = [s for s in spelled_swizzles(source) if first <= s.line <= last]
    return found[0] if len(found) == 1 else None


def of_all_banks(usage: Usage) -> list[Swizzle]:
    """Returns swizzles of element offsets that spread whole vectors over all banks.

    The first is that of rows of as many bytes as all banks have, the next those of longer rows.
    There are none where an access takes less than an element, or the size of one is not known.
    """
    chunk = max(a.width_bytes for a in usage.accesses)
    size = max(a.array.element_bytes for a in usage.accesses if a.array is not None)
    elements = chunk // size if size else 0
    if not elements:
        return []
    bits, base = (ROW_BYTES // chunk).bit_length() - 1, elements.bit_length() - 1
    return [Swizzle(bits, base, bits + longer) for longer in range(MAX_CONSTANT_TRIALS)]
