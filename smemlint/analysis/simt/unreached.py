"""Shared memory that no kernel reaches, as far as was read: a note, since nothing else names it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from smemlint.analysis.simt.shared_functions import shared_variables
from smemlint.facts import KernelFacts, NotAnalysed
from smemlint.frontend.program import Function, Unit
from smemlint.reasons import Reason, ReasonCode


def unreached(unit: Unit, functions: Iterable[Function]) -> list[NotAnalysed]:
    """Returns notes on functions that have shared memory and that nothing comes to by names.

    It is declared there, or in front of all functions. Lambdas of the host are among them: which
    kernel is handed one is not followed.
    """
    variables = shared_variables(unit)
    open_ones = [
        f
        for f in functions
        if not f.is_kernel
        and ("__shared__" in f.words or (f.is_device and (variables & f.words) - f.parameter_words))
    ]
    if not open_ones:
        return []
    methods = [f for f in unit.functions if f.record and "__shared__" in f.words]
    of_local_classes = {name for f in methods for name in f.scope[:-1]}
    names = _reached_names(unit)
    return [
        NotAnalysed(
            f.span,
            f.name,
            Reason(
                ReasonCode.NOT_REACHED, "uses shared memory, and no kernel that was read calls it"
            ),
        )
        for f in open_ones
        if f.name not in of_local_classes
        if names.isdisjoint((f.record, f.name) if f.record else (f.name,)) or _is_in_lambda(f)
    ]


def _is_in_lambda(function: Function) -> bool:
    """Returns whether what shared memory a host function declares is a device lambda's."""
    return "__device__" in function.words and not function.is_device


def _reached_names(unit: Unit) -> Set[str]:
    """Returns the words of kernels and host code, and of all functions and classes they name."""
    named: dict[str, list[Function]] = {}
    for function in unit.functions:
        for name in {function.name, function.record or function.name}:
            named.setdefault(name, []).append(function)
    found: set[str] = set()
    worklist = [f for f in unit.functions if f.is_kernel or not f.is_device]
    while worklist:
        new = worklist.pop().words - found
        found |= new
        for name in new & named.keys():
            worklist += named.pop(name)
    return found


def reaches_nothing(facts: KernelFacts) -> bool:
    """Returns whether an instance comes to no shared access, and nothing says why."""
    return not (facts.accesses or facts.not_analysed)


def unreached_under_guesses(function: Function, facts: Sequence[KernelFacts]) -> list[NotAnalysed]:
    """Notes a kernel none of whose accesses is reached with any of the blocks that were guessed."""
    is_guessed = not facts[0].instance.origin
    if "__shared__" not in function.words or not (is_guessed and all(map(reaches_nothing, facts))):
        return []
    blocks = ", ".join(str(f.instance.block) for f in facts)
    text = f"the block shape is not known, and no shared access is reached with {blocks}"
    return [NotAnalysed(function.span, function.name, Reason(ReasonCode.UNKNOWN_BLOCK, text))]
