"""Assignment to names, items and attributes."""

from __future__ import annotations

import ast
from contextlib import suppress

from smemlint.analysis.python.interpreter.constant_folding import forget
from smemlint.analysis.python.interpreter.interpreter import Interpreter
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Class,
    DType,
    Instance,
    Scopes,
    Unknown,
    Value,
)
from smemlint.limits.errors import TooLarge
from smemlint.limits.sizes import require_tree


def assign(interpreter: Interpreter, target: ast.expr, value: Value, scopes: Scopes) -> None:
    """Gives a target its value; other targets than names, items and attributes have none."""
    interpreter.policy.assigned(target)
    match target:
        case ast.Name():
            outer = interpreter.frames[-1].outer if interpreter.frames else {}
            if target.id in outer:
                scope = outer[target.id]
                scope[target.id] = UNKNOWN if interpreter.open_paths else value
            else:
                scopes[-1][target.id] = interpreter.model.named(value, target.id)
        case ast.Tuple() | ast.List():
            fits = isinstance(value, tuple | list) and len(value) == len(target.elts)
            items = value if fits and isinstance(value, tuple | list) else ()
            for i, part in enumerate(target.elts):
                assign(interpreter, part, items[i] if fits else _part_of(value), scopes)
        case ast.Subscript():
            _assign_item(interpreter, target, value, scopes)
        case ast.Attribute():
            owner = interpreter.evaluate(target.value, scopes)
            if isinstance(owner, Instance):
                may_be_skipped = interpreter.open_paths > owner.open_paths
                interpreter.model.assign_attribute(
                    owner, target.attr, value, may_be_skipped=may_be_skipped
                )
            elif isinstance(owner, Class):
                owner.members[target.attr] = UNKNOWN if interpreter.open_paths else value


def _part_of(value: Value) -> Value:
    """Returns a part of what cannot be unpacked: alike in all threads if that is, and itself."""
    is_alike = isinstance(value, Unknown) and value.is_uniform
    return Unknown(value.reason, is_uniform=True) if is_alike else UNKNOWN  # type: ignore[union-attr]


def _assign_item(
    interpreter: Interpreter, target: ast.Subscript, value: Value, scopes: Scopes
) -> None:
    """Assigns an item of a container; one at an unknown place makes all of them unknown."""
    owner = interpreter.evaluate(target.value, scopes)
    key = interpreter.evaluate(target.slice, scopes)
    if not isinstance(owner, list | dict):
        return
    is_changed = interpreter.model.changes(owner, may_be_skipped=interpreter.open_paths > 0)
    if not isinstance(key, int | str | DType) or not is_changed:
        forget(owner)
        return
    with suppress(IndexError, TooLarge):
        require_tree((owner, value))
        if isinstance(owner, list):
            if isinstance(key, int):
                owner[key] = value
        else:
            owner[key] = value
