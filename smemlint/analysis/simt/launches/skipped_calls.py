"""What is known of calls that runs of host code skip: what they may tell, launch or write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from smemlint.analysis.simt.builtins.ends import ENDS
from smemlint.analysis.simt.calls.operands import operand_value
from smemlint.analysis.simt.domain.environment import LValue, Operand
from smemlint.analysis.simt.domain.values import Aggregate, CallableValue, Pointer, Space, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import parameters_of, signature_of, type_words
from smemlint.frontend import ir
from smemlint.frontend.program import Function
from smemlint.limits.budgets import MAX_HELPER_WORDS

_ENDS = ENDS | {"throw"}
_BRANCHES = frozenset(("if", "switch", "while", "for", "return", "goto", "try"))
_TEXTS = frozenset(("std::string", "string", "std::string_view", "string_view"))
"""Classes of texts: what one holds is never followed."""


def forget_arguments(ev: Evaluator, function: Function, operands: Sequence[Operand]) -> None:
    """Forgets what a call that is not run to its end may write.

    What it takes by value or as a constant is none of it, but what that leads to is; nor what it
    takes any number of.
    """
    params = signature_of(function).parameters
    named = params[:-1] if any(p.is_pack for p in function.template) else params
    for param, operand in zip(named, operands, strict=False):
        contents: list[object] = [p for p in _held(ev, operand) if isinstance(p, Pointer)]
        if not _is_only_read(param.type):
            contents += [operand.place, operand_value(ev, operand)]
        for content in contents:
            if isinstance(content, LValue | Pointer) and content.object.space is Space.LOCAL:
                ev.state.memory.forget(content.object, f"was given to `{function.name}`")


def _is_only_read(ctype: ir.Node) -> bool:
    """Returns whether a parameter of a type is a value, or refers to what stays as it is."""
    is_constant = isinstance(ctype, ir.PtrDecl) and "const" in getattr(ctype.type, "quals", ())
    return isinstance(ctype, ir.TypeDecl) or is_constant


def only_tells(function: Function) -> bool:
    """Returns whether a function gives nothing or a text, of which no shape is computed."""
    tree = function.parse_head().tree
    if tree is None:
        return False
    result = tree.type.type
    return (_is_void(result) or is_text(result)) and only_reads(parameters_of(tree))


def is_text(result: ir.Node) -> bool:
    """Returns whether a type is a class of texts."""
    return not _TEXTS.isdisjoint(type_words(result))


def only_reads(parameters: Iterable[ir.Decl]) -> bool:
    """Returns whether none of some parameters refers to what may be written."""
    return all(_is_only_read(parameter.type) for parameter in parameters)


def leads_on(ev: Evaluator, operand: Operand) -> bool:
    """Returns whether an operand is a function or holds places: a call may launch or write."""
    return isinstance(operand_value(ev, operand), CallableValue) or bool([*_held(ev, operand)])


def _held(ev: Evaluator, operand: Operand) -> Iterator[Pointer | CallableValue]:
    """Yields the functions and the places of the caller that an object holds that is given."""
    value = operand_value(ev, operand)
    if isinstance(value, Pointer) and value.object.space is Space.LOCAL:
        yield from _parts_of(value.object.cells.values())
    elif isinstance(value, Aggregate):
        yield from _parts_of(value.cells.values())


def _parts_of(values: Iterable[Value]) -> Iterator[Pointer | CallableValue]:
    for value in values:
        if isinstance(value, Aggregate):
            yield from _parts_of(value.cells.values())
        elif isinstance(value, CallableValue) or (
            isinstance(value, Pointer) and value.object.space is Space.LOCAL
        ):
            yield value


def may_compute(function: Function, *, sets_members: bool) -> bool:
    """Returns whether a call can tell something of a launch: small, and it computes.

    One of any number of arguments makes a text of them, as messages of failed checks do.

    Args:
        function: what is called.
        sets_members: there is an object that it may write to, as constructors do.
    """
    if len(function.words) > MAX_HELPER_WORDS or any(p.is_pack for p in function.template):
        return False
    tree = function.parse_head().tree
    if tree is None:
        return False
    gives = not _is_void(tree.type.type)
    return gives or sets_members or any(isinstance(p.type, ir.PtrDecl) for p in parameters_of(tree))


def surely_ends(function: Function) -> bool:
    """Returns whether a call ends the program, as a function that reports an error does."""
    return not _ENDS.isdisjoint(function.words) and _BRANCHES.isdisjoint(function.words)


def _is_void(result: ir.Node) -> bool:
    return isinstance(result, ir.TypeDecl) and type_words(result) == ["void"]
