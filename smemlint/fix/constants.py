"""Constants that pad rows: `#define PAD 1` of `As[BK][BM + PAD]`, or a template parameter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from smemlint.facts import Instance, Span
from smemlint.finding import Edit
from smemlint.fix.declarator import Declarator, decimal, is_added
from smemlint.frontend.cuda.lexer.tokens import LineMap
from smemlint.lazy_dataclasses import dataclass
from smemlint.sources.source import Source

_DEFINITION = r"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+(\d+)[ \t]*(?=$|//|/\*)"
_VARIABLE = r"\b(?:constexpr|const)\b[\w \t:]{{0,80}}?\b{name}[ \t]*=[ \t]*(\d+)[ \t]*(?=[;,])"


@dataclass(frozen=True, slots=True)
class PaddingConstant:
    """A constant that the text adds to an extent.

    Attributes:
        number: where the file defines it; None of a template parameter, or where that is not clear.
        is_alone: nothing else of the run names it, so that to change it is to change the extent.
    """

    name: str
    value: int
    number: Span | None
    is_alone: bool

    def changed(self, extra: int) -> Edit | None:
        """Returns the edit of its definition that makes it larger by `extra`."""
        return None if self.number is None else Edit(self.number, str(self.value + extra))

    def phrase(self, extra: int) -> str:
        """Returns the change in words: `PAD` = 4 instead of 1."""
        return f"`{self.name}` = {self.value + extra} instead of {self.value}"


def padding_constant(
    source: Source,
    found: Declarator,
    axis: int,
    instances: Iterable[Instance],
    sources: Sequence[Source],
) -> PaddingConstant | None:
    """Returns the constant that stands behind a `+` at the end of an extent.

    Args:
        source: the file of the declaration.
        found: the declaration.
        axis: the extent.
        instances: of kernels that have it, with the values of template parameters.
        sources: of the run.
    """
    tokens = found.extents[axis]
    if not is_added(tokens) or tokens[-1].kind != "identifier":
        return None
    name = tokens[-1].text
    values = {dict(i.template).get(name) for i in instances}
    if None not in values:
        value = decimal(values.pop() or "") if len(values) == 1 else None
        return PaddingConstant(name, value, None, False) if value is not None else None
    defined = _definition(source, name)
    if defined is None:
        return None
    start, end = defined
    value = decimal(source.text[start:end])
    if value is None:
        return None
    lines = LineMap(source.text)
    number = Span(source.path, *lines(start), *lines(end))
    word = re.compile(rf"\b{re.escape(name)}\b")
    uses = sum(len(word.findall(s.text)) for s in sources if name in s.text)
    return PaddingConstant(name, value, number, uses == 2)


def _definition(source: Source, name: str) -> tuple[int, int] | None:
    """Returns where the number of the only definition of a constant stands in the text."""
    found = [
        match.span(1)
        for pattern in (_DEFINITION, _VARIABLE)
        for match in re.finditer(pattern.format(name=re.escape(name)), source.text, re.M)
    ]
    words = re.findall(rf"#[ \t]*(?:define|undef)[ \t]+{re.escape(name)}\b", source.text)
    return found[0] if len(found) == 1 and len(words) <= 1 else None
