"""Enumerators: those of the unit, and of local enums."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.environment import Scope
from smemlint.analysis.simt.domain.values import AffineInt, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.state import Frame
from smemlint.frontend import ir


def enumerators(ev: Evaluator) -> dict[str, Value]:
    """Returns the enumerators of every enum of the unit."""
    lexicon = ev.state.resolution.cache
    if lexicon.enumerators is None:
        lexicon.enumerators = {}
        try:
            for node in _enums(ev):
                lexicon.enumerators.update(enumerator_values(ev, node))
        except BaseException:
            lexicon.enumerators = None  # a budget ended it half way
            raise
    return lexicon.enumerators


def _enums(ev: Evaluator) -> Iterator[ir.Enum]:
    """Yields every enum of the unit, to be read outside of functions."""
    state = ev.state
    for group in list(state.unit.declarations.values()):
        for declaration in group:
            node = declaration.parse() if declaration.kind == "enum" else None
            enum = getattr(node, "type", node)
            if isinstance(enum, ir.Enum):
                frames, state.frames = state.frames, [Frame("file", [{}])]
                try:
                    yield enum
                finally:
                    state.frames = frames


def enumerator_values(ev: Evaluator, node: ir.Enum) -> dict[str, Value]:
    """Returns name -> value of one enum."""
    state = ev.state
    values: dict[str, Value] = {}
    scope: Scope = {}
    state.frame.enter_scope(scope)
    following: Value = AffineInt(0)
    try:
        for item in node.enumerators or ():
            value = ev.evaluate(item.value) if item.value is not None else following
            values[item.name] = value
            state.bind(item.name, value)
            if isinstance(value, AffineInt):
                following = state.domain.add(value, AffineInt(1))
    finally:
        state.frame.leave_scope()
    return values


def bind_enumerators(ev: Evaluator, node: ir.Enum) -> None:
    """Declares a local enum's names, with and without that of the enum, and the enum itself."""
    values = enumerator_values(ev, node)
    for name, value in values.items():
        ev.state.bind(name, value)
    if node.name:
        ev.state.bind(node.name, I32)
        for name, value in values.items():
            ev.state.bind(f"{node.name}::{name}", value)
