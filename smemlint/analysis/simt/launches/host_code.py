"""The host functions of some units: what each names, and which of them come to a launch."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Set
from functools import cached_property

from smemlint.analysis.simt.launches.launch import LAUNCHERS
from smemlint.analysis.simt.types.overloads import unqualified
from smemlint.facts import Span
from smemlint.frontend.heuristics import KERNEL_LAUNCHERS
from smemlint.frontend.program import Function, Unit
from smemlint.limits.budgets import MAX_LAUNCHING_BESIDE

LAUNCH_WORDS = LAUNCHERS | KERNEL_LAUNCHERS | {"<<<"}


class UnitHostCode:
    """The host functions of one unit by the words of their bodies."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.functions = [f for f in unit.functions if f.is_host]
        self.starters = [f for f in self.functions if f.words & LAUNCH_WORDS]
        self.by_name: dict[str, list[Function]] = defaultdict(list)
        self.by_word: dict[str, list[Function]] = defaultdict(list)
        for function in self.functions:
            self.by_name[function.name].append(function)
            for word in function.words:
                name = "operator()" if word == "operator" else word
                self.by_word[name].append(function)

    def may_mean(self, function: Function) -> bool:
        """Returns whether the unit may mean a function by its name.

        It reads the class of a method, and defines no other function of the name.
        """
        if function.owner is not None and home_of(function) not in self._files:
            return False
        own = [f for f in self.by_name.get(function.name, ()) if f.scope == function.scope]
        return not own or any(f.span == function.span for f in own)

    @cached_property
    def _files(self) -> frozenset[str]:
        return frozenset(map(posixpath.normpath, self.unit.files))

    @cached_property
    def tables(self) -> dict[str, list[str]]:
        """Variables of files by the words of their declarations: tables that kernels stand in."""
        found: dict[str, list[str]] = defaultdict(list)
        for name, declarations in self.unit.declarations.items():
            for declaration in declarations:
                if declaration.kind == "variable":
                    for word in declaration.specifiers - {name}:
                        found[word].append(name)
        return found

    @cached_property
    def derived(self) -> dict[str, set[str]]:
        """Classes by the names of their bases."""
        found: dict[str, set[str]] = defaultdict(set)
        for record in (r for same in self.unit.records.values() for r in same):
            for base in record.bases:
                found[unqualified(base).strip()].add(record.name)
        return found


class HostCode:
    """The host functions of some units."""

    def __init__(self, units: Iterable[UnitHostCode]) -> None:
        self._units = tuple(units)
        self._named: dict[str, list[Function]] = {}
        self._callers: dict[Function, list[Function]] = {}

    def owner(self, function: Function) -> Unit:
        """Returns the unit that a function was read in."""
        return next(u.unit for u in self._units if function in u.by_name.get(function.name, ()))

    def named(self, name: str) -> list[Function]:
        """Returns the functions of a name; of one that units share, the first."""
        if name not in self._named:
            found = (f for u in self._units for f in u.by_name.get(name, ()))
            self._named[name] = distinct(found)
        return self._named[name]

    def is_in_a_table(self, name: str) -> bool:
        """Returns whether a variable of a file is declared with a function's name."""
        return any(name in u.tables for u in self._units)

    def naming(self, word: str) -> list[Function]:
        """Returns the functions whose bodies have a word; of one that units share, the first."""
        if len(self._units) == 1:
            return self._units[0].by_word.get(word, [])
        found = (f for u in self._units for f in u.by_word.get(word, ()))
        return list({f.span: f for f in reversed(list(found))}.values())[::-1]

    def callers(self, function: Function) -> list[Function]:
        """Returns the other functions that name a function, and not another one of the name.

        A qualified name means the function of that namespace or class, where there is one, that of
        a member of an object a method, and one without the method of the own class, if it has one,
        and none of another. Of an `operator()`, they are those that name its class and call an
        object.
        """
        if function in self._callers:
            return self._callers[function]
        name, scope = function.name, function.scope
        units = HostCode(u for u in self._units if u.may_mean(function))
        others = {f.scope[-1] for f in self.named(name) if f.scope} - {*scope}
        if function.record is None:
            others.add(".")
        having_another = {f.record for f in self.named(name)} - {function.record}
        if function.record not in (None, name):
            having_another.add(None)

        def may_mean(caller: Function) -> bool:
            unmeant = others | {""} if caller.record in having_another else others
            return not caller.qualifiers(name) <= unmeant

        found = [f for f in units.naming(name) if f is not function]
        if name != "operator()":
            found = [f for f in found if may_mean(f)]
        elif function.record is not None:
            found += units._calling_objects_of(function.record)
        self._callers[function] = found
        return found

    @cached_property
    def launching(self) -> frozenset[str]:
        """Names of the functions that launch, themselves or through others."""
        worklist = [f for u in self._units for f in u.starters]
        found = {f.span: f.name for f in worklist}
        while worklist:
            callers = {c.span: c for function in worklist for c in self.callers(function)}
            worklist = [c for span, c in callers.items() if span not in found]
            found |= {c.span: c.name for c in worklist}
        return frozenset(found.values())

    @cached_property
    def _called_classes(self) -> frozenset[str]:
        """Classes whose objects launch where they are called, and those derived from them."""
        classes = self._launching_classes(self.launching)
        return classes.union(*map(self._derived_from, classes))

    def _launching_classes(self, launching: Set[str]) -> frozenset[str]:
        """Returns the classes whose `operator()` launches or calls one of some functions."""
        words = LAUNCH_WORDS | launching - {"operator()"}
        called = (f for u in self._units for f in u.by_name.get("operator()", ()))
        return frozenset(f.record for f in called if f.record and not words.isdisjoint(f.words))

    def _calling_objects_of(self, record: str) -> list[Function]:
        """Returns the functions that may call an object of a class or of one derived from it.

        They name such a class from outside.
        """
        classes, worklist = {record}, [record]
        while worklist:
            new = self._derived_from(worklist.pop()) - classes
            classes |= new
            worklist += new
        found = (f for name in sorted(classes) for f in self.naming(name))
        return list(dict.fromkeys(f for f in found if f.record not in classes))

    def _derived_from(self, name: str) -> frozenset[str]:
        """Returns the classes that have one of a name as a base."""
        return frozenset().union(*(u.derived.get(name, ()) for u in self._units))

    def launchers_of(self, kernel: str) -> tuple[list[Function], frozenset[str]]:
        """Returns the functions nearest to a kernel's name that come to a launch, and their givers.

        They name the kernel, or a table that holds it; a function that comes to no launch gives the
        kernel to those that call it.
        """
        level = list(dict.fromkeys((*self.naming(kernel), *self._naming_tables(kernel))))
        found: dict[Function, None] = {}
        givers: dict[Function, None] = {}
        while level:
            launchers = [f for f in level if self._comes_to_a_launch(f)]
            found.update(dict.fromkeys(launchers))
            giving = dict.fromkeys(f for f in level if f not in found)
            givers.update(giving)
            callers = dict.fromkeys(
                c for f in giving for c in (*self.callers(f), *self._naming_tables(f.name))
            )
            level = [c for c in callers if c not in found and c not in givers]
        return list(found), frozenset(f.name for f in givers)

    def _naming_tables(self, name: str) -> list[Function]:
        """Returns the functions that name a table with a word in it."""
        tables = dict.fromkeys(table for u in self._units for table in u.tables.get(name, ()))
        return [f for table in tables for f in self.naming(table)]

    def _comes_to_a_launch(self, function: Function) -> bool:
        return not (
            function.words.isdisjoint(LAUNCH_WORDS) and function.words.isdisjoint(self.launching)
        )

    def launching_below(self, functions: Iterable[Function]) -> frozenset[str]:
        """Returns the names of the functions that launch and that these may call."""
        found: set[str] = set()
        worklist = list(functions)
        while worklist:
            function = worklist.pop()
            new = self.without_itself(function, function.words & self.launching) - found
            if not function.words.isdisjoint(self._called_classes):
                new |= {"operator()"} - found
            found |= new
            worklist += (f for name in new for f in self.named(name))
        return frozenset(found)

    def without_itself(self, function: Function, names: frozenset[str]) -> frozenset[str]:
        """Returns names of functions without that of one, unless others have its name, too."""
        return names - {function.name} if len(self.named(function.name)) < 2 else names

    def launching_beside(self, functions: Iterable[Function]) -> frozenset[str]:
        """Returns the names of functions that launch and stand beside these, as few do.

        A function of the same file calls both. Where all are run, one run of what calls that one
        serves the kernels of all: `backward()` that calls `backward_dq()` and `backward_dk()`.
        """
        found: set[str] = set()
        for function in functions:
            path = function.span.path
            own = {f.name for u in self._units for f in u.starters if f.span.path == path}
            for caller in self.callers(function):
                beside = own & caller.words if caller.span.path == path else frozenset()
                if len(beside) <= MAX_LAUNCHING_BESIDE:
                    found |= beside
        return frozenset(found)


def home_of(function: Function) -> str:
    """Returns the file that makes a function known: of a method, that of its class."""
    return posixpath.normpath((function.owner or function.span).path)


def distinct(functions: Iterable[Function]) -> list[Function]:
    """Returns the functions without those that another unit reads alike from the same place."""
    found: dict[tuple[Span, frozenset[str]], Function] = {}
    for function in functions:
        found.setdefault((function.span, function.words), function)
    return list(found.values())
