"""Every `Swizzle<B, M, S>` that a unit writes down, wherever it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from smemlint.analysis.simt.domain.environment import Geometry
from smemlint.analysis.simt.domain.trace import Trace
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.interpreter import Interpreter
from smemlint.analysis.simt.types.template_arguments import value_argument
from smemlint.facts import LayoutUse, Span
from smemlint.frontend.program import Unit

MENTION = re.compile(r"\bSwizzle\s*<")
_WORD = re.compile(r"[A-Za-z_]\w*")


def written_swizzles(unit: Unit) -> Iterator[LayoutUse]:
    """Yields the swizzles whose parameters are the same for every instance of their code.

    A class of that name that is not CuTe's yields nothing.
    """
    if not _means_cute(unit):
        return
    ev: Interpreter | None = None
    bound = _template_parameters(unit)
    for found in unit.template_ids("Swizzle"):
        if found.qualifier not in ("", "cute") or len(found.arguments) not in (2, 3):
            continue
        words = {w for a in found.arguments for w in _WORD.findall(a)}
        if words & bound or words - unit.assigned_once:
            continue
        if ev is None:
            ev = Interpreter(unit, Geometry.of((1, 1, 1)), Trace(1))
            ev.state.frames.append(Frame("file", [{}]))
        values = [value_argument(ev, a) for a in found.arguments]
        numbers = [
            v.constant for v in values if isinstance(v, AffineInt) and v.constant is not None
        ]
        if len(numbers) != len(values):
            continue
        b, m, s = (*numbers, numbers[0])[:3]
        first, last = unit.token_span(found.first), unit.token_span(found.last)
        span = Span(first.path, first.line, first.column, last.end_line, last.end_column)
        yield LayoutUse(span, "cute", found.spelled, swizzle=(b, m, s))


def _means_cute(unit: Unit) -> bool:
    own = unit.records.get("Swizzle", ())
    if any(record.scope[:1] != ("cute",) for record in own):
        return False
    return bool(own) or unit.mentions("cute")


def _template_parameters(unit: Unit) -> frozenset[str]:
    heads = [f.template for f in unit.functions]
    heads += [r.template for group in unit.records.values() for r in group]
    heads += [d.template for group in unit.declarations.values() for d in group]
    return frozenset(p.name for head in heads for p in head)
