"""`std::numeric_limits`, of which kernels take the first element of a minimum or maximum."""

from __future__ import annotations

from smemlint.analysis.simt.domain.ctypes import FloatType, IntType
from smemlint.analysis.simt.domain.values import AffineInt, FloatValue, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.template_arguments import type_argument
from smemlint.reasons import Reason, ReasonCode

_MEMBERS = frozenset(("max", "min", "lowest", "epsilon", "infinity", "quiet_NaN", "denorm_min"))


def numeric_limit(ev: Evaluator, name: str) -> Value | None:
    """Returns what `numeric_limits<T>::max()` and the like give; None for another name.

    Args:
        ev: the evaluator.
        name: as spelled, without the call's parentheses.
    """
    prefix, _, member = name.rpartition("::")
    if member not in _MEMBERS or "numeric_limits" not in prefix:
        return None
    owner, arguments = ev.state.unit.template_arguments(prefix)
    if owner.rpartition("::")[2] != "numeric_limits" or len(arguments) != 1:
        return None
    kind = type_argument(ev, arguments[0])
    if isinstance(kind, FloatType):
        return FloatValue(kind)
    if not isinstance(kind, IntType):
        return Unknown(Reason(ReasonCode.UNKNOWN_TYPE, f"`{arguments[0]}` is not known"))
    bits = 1 if kind.is_bool else kind.bits - kind.signed
    extremes = {"max": (1 << bits) - 1, "min": -(1 << bits) * kind.signed}
    extremes["lowest"] = extremes["min"]
    return AffineInt(extremes.get(member, 0), kind)
