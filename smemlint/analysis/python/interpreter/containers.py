"""Containers and texts: how they are written, and what is read of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from smemlint.analysis.python.interpreter.assignments import assign
from smemlint.analysis.python.interpreter.calls import call
from smemlint.analysis.python.interpreter.constant_folding import call_builtin, item_of, slice_of
from smemlint.analysis.python.interpreter.dispatch import evaluates
from smemlint.analysis.python.interpreter.interpreter import Interpreter
from smemlint.analysis.python.interpreter.objects import item_getter
from smemlint.analysis.python.interpreter.values import (
    REST,
    REST_OF_NAMES,
    UNKNOWN,
    Key,
    Scope,
    Scopes,
    Value,
    is_key,
)
from smemlint.limits.budgets import MAX_ITEMS
from smemlint.limits.sizes import require_tree

_Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp


@evaluates(ast.Tuple, ast.List)
def evaluate_sequence(
    interpreter: Interpreter, node: ast.Tuple | ast.List, scopes: Scopes
) -> Value:
    """Returns a tuple or list, unless its length is not known."""
    items = list(items_of(interpreter, node.elts, scopes))
    if REST in items:
        return UNKNOWN
    require_tree(items)
    return tuple(items) if isinstance(node, ast.Tuple) else items


def items_of(
    interpreter: Interpreter, nodes: Sequence[ast.expr], scopes: Scopes
) -> Iterator[Value]:
    """Yields values; `REST` ends them where the length of an unpacked one is not known."""
    for node in nodes:
        if isinstance(node, ast.Starred):
            value = interpreter.evaluate(node.value, scopes)
            if not isinstance(value, tuple | list):
                yield REST
                return
            yield from value
        else:
            yield interpreter.evaluate(node, scopes)


def keywords_of(
    interpreter: Interpreter, keywords: Sequence[ast.keyword], scopes: Scopes
) -> dict[str, Value]:
    """Returns values by name; `REST_OF_NAMES` among them where an unpacked table is not known."""
    named: dict[str, Value] = {}
    for keyword in keywords:
        value = interpreter.evaluate(keyword.value, scopes)
        if keyword.arg is not None:
            named[keyword.arg] = value
        elif isinstance(value, dict):
            named |= {k: v for k, v in value.items() if isinstance(k, str)}
        else:
            named[REST_OF_NAMES] = UNKNOWN
    return named


@evaluates(ast.Dict)
def evaluate_dict(interpreter: Interpreter, node: ast.Dict, scopes: Scopes) -> Value:
    """Returns a dictionary, unless one of its keys is not known."""
    found: dict[Key, Value] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        if key is None:  # `**table`
            table = interpreter.evaluate(item, scopes)
            if not isinstance(table, dict):
                return UNKNOWN
            found |= table
            continue
        name = interpreter.evaluate(key, scopes)
        if not is_key(name):
            return UNKNOWN
        found[name] = interpreter.evaluate(item, scopes)
    require_tree(found.values())
    return found


@evaluates(ast.Subscript)
def evaluate_subscript(interpreter: Interpreter, node: ast.Subscript, scopes: Scopes) -> Value:
    """Returns an item or a slice of a container, or what its class or the model says of it."""
    owner = interpreter.evaluate(node.value, scopes)
    index = node.slice
    getter = item_getter(owner)
    if getter is not None:
        return call(interpreter, getter, (owner, interpreter.evaluate(index, scopes)), {})
    if not isinstance(owner, tuple | list | dict | range | str):
        key = UNKNOWN if isinstance(index, ast.Slice) else interpreter.evaluate(index, scopes)
        return interpreter.model.subscript(owner, index, key)
    if not isinstance(index, ast.Slice):
        return item_of(owner, interpreter.evaluate(index, scopes))
    ends = [
        interpreter.evaluate(part, scopes) if part is not None else None
        for part in (index.lower, index.upper, index.step)
    ]
    return slice_of(owner, ends)


@evaluates(ast.ListComp, ast.GeneratorExp, ast.SetComp)
def evaluate_comprehension(interpreter: Interpreter, node: _Comprehension, scopes: Scopes) -> Value:
    """Returns the items of a comprehension whose sources and conditions are all known."""
    found: list[Value] = []
    inner: Scope = {}
    is_complete = _generate(interpreter, node, list(node.generators), (*scopes, inner), found)
    require_tree(found)
    if is_complete and isinstance(node, ast.SetComp):
        return call_builtin("set", [found])
    return found if is_complete else UNKNOWN


def _generate(
    interpreter: Interpreter,
    node: _Comprehension,
    sources: list[ast.comprehension],
    scopes: Scopes,
    found: list[Value],
) -> bool:
    """Appends what the sources generate, the first of them outermost; False where one is open."""
    if not sources:
        found.append(interpreter.evaluate(node.elt, scopes))
        return len(found) <= MAX_ITEMS
    source, *others = sources
    items = interpreter.evaluate(source.iter, scopes)
    if not isinstance(items, range | list | tuple | str) or len(items) > MAX_ITEMS:
        return False
    for item in items:
        assign(interpreter, source.target, item, scopes)
        tests = [interpreter.truth(test, scopes) for test in source.ifs]
        if None in tests:
            return False
        if all(tests) and not _generate(interpreter, node, others, scopes, found):
            return False
    return True


@evaluates(ast.DictComp)
def evaluate_dict_comprehension(
    interpreter: Interpreter, node: ast.DictComp, scopes: Scopes
) -> Value:
    """Returns the entries of a comprehension whose keys and sources are all known."""
    pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
    items = ast.copy_location(ast.ListComp(pair, node.generators), node)
    found = evaluate_comprehension(interpreter, items, scopes)
    if not isinstance(found, list):
        return UNKNOWN
    pairs = [(item[0], item[1]) for item in found if isinstance(item, tuple)]
    known = {k: v for k, v in pairs if is_key(k)}
    are_known = len(pairs) == len(found) and all(is_key(k) for k, _ in pairs)
    return known if are_known else UNKNOWN


@evaluates(ast.JoinedStr)
def evaluate_f_string(interpreter: Interpreter, node: ast.JoinedStr, scopes: Scopes) -> Value:
    """Returns a text with texts and numbers in it that are not formatted in another way."""
    parts: list[str] = []
    for part in node.values:
        is_plain = isinstance(part, ast.FormattedValue) and part.conversion == -1
        if isinstance(part, ast.FormattedValue) and is_plain and part.format_spec is None:
            value = interpreter.evaluate(part.value, scopes)
        else:
            value = interpreter.evaluate(part, scopes)
        if not isinstance(value, str | int) or isinstance(value, bool):
            return UNKNOWN
        parts.append(str(value))
    text = "".join(parts)
    require_tree((text,))
    return text
