"""Chooses the branch of each `#if` chain that is read, and names what that assumes.

It is optimistic: a condition that depends on an unknown name is assumed true and the first such
branch wins, because kernels behind `#ifdef SOME_FEATURE` are to be seen. A name whose definition
stands there as a comment is off until somebody edits the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from smemlint.frontend.cuda.preprocessor.conditions import (
    NOTHING_DEFINED,
    Assumptions,
    Condition,
    truth,
)
from smemlint.frontend.cuda.preprocessor.directives import PreparedFile
from smemlint.frontend.cuda.preprocessor.hip import NVIDIA_PLATFORM
from smemlint.frontend.cuda.preprocessor.macros import Expander
from smemlint.frontend.cuda.preprocessor.options import SPECIFIERS, UNDEFINED
from smemlint.frontend.heuristics import states_a_version, switches_cuda, switches_hip
from smemlint.limits.budgets import MAX_BRANCHES

_KNOWN_QUESTIONS = frozenset(
    ("__has_include", "__has_attribute", "__has_cpp_attribute", "__has_builtin")
)
_MAX_CONDITION_TEXT = 160
_OF_THE_DEVICE = "__CUDA_ARCH__"


class BranchChoice:
    """Decides conditions of one unit, with what the unit defined and assumed so far.

    Args:
        expander: the macros of the unit.
        undefines: names that are known not to be macros.

    Attributes:
        headers_are_missing: one that could define macros was not read.
    """

    def __init__(self, expander: Expander, undefines: Iterable[str]) -> None:
        self._macros = expander.macros
        self._expand = expander.expand
        self._assumptions = Assumptions()
        self._undefined = set(undefines)
        self._own_names: set[str] = set()
        self._feature_names: set[str] = set()
        self._not_chosen: set[str] = set()
        self._passed: set[str] = set()
        self.headers_are_missing = False

    def enter(self, prepared: PreparedFile) -> None:
        """Takes note of the names that a file defines, has switched off, and switches code with."""
        self._own_names |= prepared.own_names
        self._feature_names |= prepared.feature_names
        for name in prepared.switched_off:
            if not switches_cuda(name):
                self._assumptions.assume(("name", f"defined {name}"), False)

    def undefine(self, name: str) -> None:
        """Takes note of an `#undef`."""
        self._undefined.add(name)

    def choose(self, prepared: PreparedFile, k: int) -> tuple[int, tuple[str, ...]]:
        """Returns the branch of the chain at `k` to read, -1 for none, and what it assumes."""
        chosen, assumed = self._choose(prepared, k)
        branch = k
        while assumed and branch < prepared.directives[k].end:
            if branch != chosen:
                self._passed.update(prepared.defined_in(prepared.branch(branch)))
            branch = prepared.directives[branch].next
        return chosen, assumed

    def _choose(self, prepared: PreparedFile, k: int) -> tuple[int, tuple[str, ...]]:
        directives = prepared.directives
        first, end = k, directives[k].end
        against: list[str] = []  # conditions that an assumption made false
        while k < end:
            if directives[k].name == "else":
                return k, tuple(against)
            condition = self.condition(prepared, k)
            value, is_assumed = truth(condition, self._assumptions)
            text = self.text(prepared, k)
            if value is None and (
                _is_for_the_host(condition)
                or _is_for_other_parsers(prepared, k)
                or self._default_build_reads_another(prepared, k, end)
                or self._is_of_another_choice(prepared, k, end)
            ):
                self._assumptions.assume(_question(condition), False)
                against.append(f"!({text})")
            elif value is None and not self._only_picks_a_value(prepared, k, end):
                self._assumptions.assume(condition)
                if _name_asked_for(condition):
                    self._not_chosen.update(self._names_behind(prepared, k, end))
                return k, (*against, text)
            if value:
                grounds = self._grounds(prepared, k)
                return k, (*against, text) if is_assumed else (*against, *grounds)
            if value is False and is_assumed:
                against.append(f"!({text})")
            k = directives[k].next
        return (first if self._launches_from_the_host(prepared, first) else -1), ()

    def _launches_from_the_host(self, prepared: PreparedFile, k: int) -> bool:
        """Returns whether the only branch of a chain has launches and is read for the host alone.

        nvcc reads a file for the device and, without `__CUDA_ARCH__`, for the host.
        """
        is_asked_for = any(t.text == _OF_THE_DEVICE for t in prepared.arguments(k))
        if not is_asked_for or prepared.directives[k].next != prepared.directives[k].end:
            return False
        condition = prepared.condition(
            k, lambda name: name != _OF_THE_DEVICE and self._is_defined(name), self._expand
        )
        return truth(condition, self._assumptions)[0] is True and prepared.has_launches(k)

    def condition(self, prepared: PreparedFile, k: int) -> Condition:
        """Returns the condition of a directive under the macros so far."""
        return prepared.condition(k, self._is_defined, self._expand)

    def condition_of_any_build(self, prepared: PreparedFile, k: int) -> Condition:
        """Returns a condition where branches that define macros may be read that were passed."""
        return prepared.condition(k, self._is_defined_in_any_build, self._expand)

    def _is_defined_in_any_build(self, name: str) -> bool | None:
        is_open = name in self._passed - self._undefined and name not in self._macros
        return None if is_open else self._is_defined(name)

    def text(self, prepared: PreparedFile, k: int) -> str:
        """Returns the condition of a directive as it is written."""
        text = prepared.text(k)
        match prepared.directives[k].name:
            case "ifdef" | "elifdef":
                text = f"defined({text})"
            case "ifndef" | "elifndef":
                text = f"!defined({text})"
        return text if len(text) <= _MAX_CONDITION_TEXT else text[:_MAX_CONDITION_TEXT] + "..."

    def _grounds(self, prepared: PreparedFile, k: int) -> tuple[str, ...]:
        """Returns what was assumed where the macros of a condition were defined."""
        macros = self._macros
        return tuple(
            text
            for token in prepared.arguments(k)
            if token.text in macros
            for text in macros[token.text].assumed
        )

    def _only_picks_a_value(self, prepared: PreparedFile, k: int, end: int) -> bool:
        """Returns whether an unknown condition only selects what a name stands for, with a default.

        `#ifdef X / #define N X / #else / #define N 16 / #endif`: nobody who builds without -DX
        gets the first branch, and no code is lost with it. A name that elsewhere switches code is
        a feature and stays assumed.
        """
        if prepared.has_code(k, end):
            return False
        if truth(self.condition(prepared, k), NOTHING_DEFINED)[0]:  # `#ifndef X`: the default
            return False
        names = {t.text for t in prepared.arguments(k) if t.kind == "identifier"}
        if names & self._feature_names:
            return False
        other = self._default_of(prepared, k, end)
        if other is None:
            return False
        alternatives = prepared.defined_in(prepared.branch(other))
        return not set(alternatives).isdisjoint(prepared.defined_in(prepared.branch(k)))

    def _default_build_reads_another(self, prepared: PreparedFile, k: int, end: int) -> bool:
        """Returns whether a chain has an alternative for builds without a macro.

        `#ifdef FAST / a = b; / #else / a = c; / #endif`: nobody who builds without -DFAST gets the
        first branch. Where a header that was not read may define the macro, and where the macro
        elsewhere adds code that no other branch replaces, it stays assumed, unless the branch
        needs the macro's value, which nothing that was read has: `#ifdef N / int n = N;`.
        """
        condition = self.condition(prepared, k)
        question = _question(condition)
        name = _name_asked_for(question)
        if not name or switches_cuda(name):
            return False
        if question is not condition or prepared.has_token(k, name):
            if states_a_version(name):
                return False
        elif self.headers_are_missing or name in prepared.added_by:
            return False
        other = self._default_of(prepared, k, end)
        if other is None:
            return False
        has_code = prepared.has_code(other, prepared.directives[other].next)
        return has_code or any(prepared.defined_in(prepared.branch(other)))

    def _is_of_another_choice(self, prepared: PreparedFile, k: int, end: int) -> bool:
        """Returns whether a condition asks for what was not chosen where another branch is left.

        Of `#if defined(A) / #elif defined(B) / #endif` A is chosen for the unit, and of
        `#ifdef B / #else / #endif` the other branch. Where there is none, code would be lost.
        """
        if not self._not_chosen or self._default_of(prepared, k, end) is None:
            return False
        undefined = {f"defined {name}": False for name in self._not_chosen}
        assumptions = Assumptions(undefined | self._assumptions.truth)
        return truth(self.condition(prepared, k), assumptions)[0] is False

    def _names_behind(self, prepared: PreparedFile, k: int, end: int) -> Iterator[str]:
        """Yields the names that the branches of a chain behind `k` ask for."""
        while (k := prepared.directives[k].next) < end:
            if prepared.directives[k].name != "else":
                yield _name_asked_for(self.condition(prepared, k))

    def _default_of(self, prepared: PreparedFile, k: int, end: int) -> int | None:
        """Returns the branch that is read when all unknown conditions from `k` on are false."""
        directives = prepared.directives
        other = directives[k].next
        for _ in range(MAX_BRANCHES):
            if other >= end:
                return None
            if directives[other].name == "else":
                return other
            if truth(self.condition(prepared, other), self._assumptions)[0]:
                return other
            other = directives[other].next
        return None

    def _is_defined(self, name: str) -> bool | None:
        if name in self._macros or name in SPECIFIERS or name in _KNOWN_QUESTIONS:
            return True
        if name in self._undefined or name in self._own_names:
            return False
        if switches_hip(name) and not self._macros.keys().isdisjoint(NVIDIA_PLATFORM):
            return True  # what includes HIP's headers is built with HIP, here over CUDA
        if UNDEFINED.fullmatch(name):
            return False
        return None


def _question(condition: Condition) -> Condition:
    """Returns `defined X` of `defined X && X > 1`, which asks for a value; others as they are."""
    match condition:
        case "&&", ("name", question), (_, ("name", name), _) if question == f"defined {name}":
            return ("name", question)
    return condition


def _name_asked_for(condition: Condition) -> str:
    """Returns `X` of a condition `defined X`; an empty text of all others."""
    text = str(condition[1]) if condition[0] == "name" else ""
    return text[8:] if text.startswith("defined ") else ""


def _is_for_the_host(condition: Condition) -> bool:
    """Returns whether a condition holds where a project is built without CUDA only."""
    return condition[0] == "!" and switches_cuda(_name_asked_for(cast("Condition", condition[1])))


def _is_for_other_parsers(prepared: PreparedFile, k: int) -> bool:
    """Returns whether a branch itself defines what nvcc gives, as for an editor's parser."""
    at, directives = k + 1, prepared.directives
    while at < directives[k].next:
        if not SPECIFIERS.isdisjoint(prepared.defined_in(range(at, at + 1))):
            return True
        at = max(at, directives[at].end) + 1  # behind a chain that is in the branch
    return False
