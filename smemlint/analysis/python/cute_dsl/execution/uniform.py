"""Values that all threads of a kernel share: what the host computed before the launch."""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.python.interpreter.values import Instance, Unknown, Value
from smemlint.limits.budgets import MAX_UNIFORM_OBJECTS
from smemlint.reasons import Reason, ReasonCode


def as_uniform(value: Value) -> Value:
    """Returns an argument of a launch; what is not known in it is marked as one for all threads.

    Attributes of objects are marked in place, those of the objects that they hold as well.
    """
    if isinstance(value, Unknown):
        return replace(value, is_uniform=True)
    if type(value) is tuple:
        return tuple(
            replace(item, is_uniform=True) if isinstance(item, Unknown) else item for item in value
        )
    worklist = [value]
    for owner in worklist:
        if not isinstance(owner, Instance):
            continue
        for name, held in owner.attributes.items():
            if isinstance(held, Unknown) and not held.is_uniform:
                text = f"the attribute `{name}` is not known"
                reason = held.reason or Reason(ReasonCode.UNKNOWN_VALUE, text)
                owner.attributes[name] = Unknown(reason, is_uniform=True)
            if isinstance(held, Instance) and all(held is not o for o in worklist):
                worklist += [held][: MAX_UNIFORM_OBJECTS - len(worklist)]
    return value
