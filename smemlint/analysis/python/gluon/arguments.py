"""Arguments of Gluon's layout classes, read as what they say."""

from __future__ import annotations

from smemlint.analysis.python.gluon.values import Tensor
from smemlint.analysis.python.interpreter.arguments import BoundArguments, integers
from smemlint.analysis.python.interpreter.values import Unknown, Value
from smemlint.reasons import Reason

_CLUSTER_NAMES = ("cga_layout", "ctas_per_cga", "block_bases")


def is_clustered(given: BoundArguments, start: int) -> bool:
    """Returns whether arguments from a position on, or named ones, span several CTAs."""
    spread = [*given.positional[start:], *(given.named.get(n) for n in _CLUSTER_NAMES)]
    return any(not is_one_cta(v) for v in spread)


def is_one_cta(value: Value) -> bool:
    """Returns whether an argument that spreads a layout over blocks of a cluster names one."""
    if value is None or value == [] or value == ():
        return True
    return isinstance(value, list | tuple) and all(v in (0, 1) for v in value)


def bases(value: Value) -> tuple[tuple[int, ...], ...] | None:
    """Returns a sequence of sequences of integers; None where it is none or not known."""
    if not isinstance(value, list | tuple):
        return None
    rows = [integers(v) for v in value]
    found = tuple(row for row in rows if row is not None)
    return found if len(found) == len(rows) else None


def reason_of(value: Value) -> Reason | None:
    """Returns why a value is not known; None where nothing says so."""
    return value.reason if isinstance(value, Unknown | Tensor) else None
