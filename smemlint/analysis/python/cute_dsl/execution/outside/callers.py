"""Calls in other files of the run of what an executed file defines, and the way that leads there.

A class of a kernel gets its arguments where it is constructed, often in another module. That is
read and executed like the file itself: never imported. Conditions on the way to a call that are
not known are taken to let it be reached.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from smemlint.analysis.python.cute_dsl.execution.libraries.torch import dtype_named
from smemlint.analysis.python.cute_dsl.execution.modules import ImportedFiles
from smemlint.analysis.python.importers import module_of
from smemlint.analysis.python.interpreter.values import Value
from smemlint.frontend.python.imports import Imports, dotted
from smemlint.frontend.python.module_files import files_of
from smemlint.frontend.python.parameters import parameters_of
from smemlint.frontend.python.python_source import PythonText
from smemlint.frontend.python.syntax_walk import leaves, suites, walk
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_CALL_SITES, MAX_CALLING_FILES
from smemlint.sources.source import Source

COMPILES = "cute.compile("
_LAUNCHES = (".launch(", COMPILES, "cute.kernel", "cute.jit")
_SITES_OF_A_FILE = 2


@dataclass(frozen=True, slots=True, eq=False)
class CallSite:
    """A call, or another use, of what the executed file defines.

    Attributes:
        text: the file that it stands in.
        function: the function around it.
        owner: the class of that function; None for one of the module.
        use: the call, or the name.
        outcomes: conditions on the way, and what they are taken to be.
    """

    text: PythonText
    function: ast.FunctionDef
    owner: ast.ClassDef | None
    use: ast.expr
    outcomes: Mapping[ast.expr, bool]


class Callers:
    """Looks for calls of what a file defines.

    Args:
        home: the file.
        importers: returns the files of the run whose imports name the module of a path.

    Attributes:
        searched: modules that were looked for -> files whose imports name them.
        files: those that were read.
    """

    def __init__(self, home: PythonText, importers: Callable[[str], Sequence[Source]]) -> None:
        self.home = home
        self.searched: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.files = ImportedFiles(home)
        self._outcomes: dict[ast.expr, bool] = {}
        self._importers = importers

    @cached_property
    def sites(self) -> list[CallSite]:
        """Returns calls in other files, those of the nearest file first."""
        found: list[CallSite] = []
        for text, names in self._calling_files():
            found += _sites(text, names)
        chosen = found[:MAX_CALL_SITES]
        return [replace(s, outcomes={**self._outcomes, **s.outcomes}) for s in chosen]

    @cached_property
    def defaults(self) -> dict[str, Value]:
        """Returns the defaults of extents and types that callers and their constructors take."""
        found: dict[str, Value] = {}
        for site in self.sites:
            makers = [n for n in site.owner.body if _is_constructor(n)] if site.owner else []
            for function in (site.function, *makers):
                for parameter in parameters_of(function.args):  # type: ignore[attr-defined]
                    default = _extents(parameter.default) or _type_of(parameter.default)
                    if default is not None:
                        found.setdefault(parameter.name, default)
        return found

    def _calling_files(self) -> Iterator[tuple[PythonText, set[str]]]:
        """Yields files that may call what the file defines, with what they call it.

        A package hands names on; a class that derives from one of the file stands for it.
        """
        exports = {posixpath.normpath(self.home.path): self._entries}
        worklist = list(exports)
        looked_at: set[str] = set()
        for path in worklist:
            importing = self._importers(path)
            self.searched[(module_of(path),)] = tuple(s.path for s in importing)
            for source in importing:
                at = posixpath.normpath(source.path)
                if at in looked_at or len(looked_at) >= MAX_CALLING_FILES:
                    continue
                if not any(name in source.text for name in exports[path]):
                    continue
                looked_at.add(at)
                text = self.files.text_of(source)
                names = _bound(text, exports) if text is not None else set()
                if text is None or not names:
                    continue
                makers = _made_of(text.tree, names)
                for way in makers.values():
                    self._outcomes |= way
                handed_on = names if at.endswith("__init__.py") else set(makers)
                if handed_on and at not in exports:
                    exports[at] = handed_on
                    worklist.append(at)
                yield text, names

    @cached_property
    def _entries(self) -> set[str]:
        """Names of functions and classes of the file that lead to a kernel."""
        nodes = [n for n in self.home.tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        texts = {n.name: self.home.segment(n) for n in nodes}
        for node in nodes:
            texts[node.name] += "".join(f"@{ast.unparse(d)}" for d in node.decorator_list)
        found = {name for name, text in texts.items() if any(word in text for word in _LAUNCHES)}
        left = texts.keys() - found
        while left:
            pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, found)) + r")\b")
            more = {name for name in left if found and pattern.search(texts[name])}
            if not more:
                break
            found |= more
            left -= more
        return found


def _is_constructor(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "__init__"


def _extents(node: ast.expr | None) -> Value:
    """Returns a positive number, or a tuple of such, that is written out; else None."""
    match node:
        case ast.Constant(value=int(value)) if value > 0 and not isinstance(value, bool):
            return value
        case ast.Tuple(elts=parts):
            found = tuple(map(_extents, parts))
            return found if found and None not in found else None
    return None


def _type_of(node: ast.expr | None) -> Value:
    """Returns the element type that a dotted name is; else None."""
    return dtype_named(node.attr) if isinstance(node, ast.Attribute) else None


def _bound(text: PythonText, exports: Mapping[str, set[str]]) -> set[str]:
    """Returns the names, dotted ones among them, by which a file calls what others export."""
    found: set[str] = set()
    for local, target in Imports.of(text.tree).targets.items():
        last = target.rpartition(".")[2]
        for path in map(posixpath.normpath, files_of(text.path, target)):
            if last in exports.get(path, ()):
                found.add(local)
        for path in map(posixpath.normpath, files_of(text.path, f"{target}.x")):
            found.update(f"{local}.{name}" for name in exports.get(path, ()))
    return found


def _made_of(tree: ast.Module, names: set[str]) -> dict[str, dict[ast.expr, bool]]:
    """Returns the classes of a file that derive from others, or construct one in their place.

    Each has the conditions on the way to where it constructs the other.
    """
    found: dict[str, dict[ast.expr, bool]] = {}
    for node in (n for n in tree.body if isinstance(n, ast.ClassDef)):
        if not {dotted(base) for base in node.bases}.isdisjoint(names | found.keys()):
            found[node.name] = {}
        for maker in node.body:
            if isinstance(maker, ast.FunctionDef) and maker.name == "__new__":
                use = next(_uses(maker, names), None)
                if use is not None:
                    found[node.name] = dict(_way(maker.body, use))
    return found


def _sites(text: PythonText, names: set[str]) -> list[CallSite]:
    """Returns uses of these names in the functions of a file: of each the first call, or a name.

    Functions that compile a kernel come first, and calls, also those of attributes that a class
    holds them in.
    """
    names = names | _made_of(text.tree, names).keys()
    found: list[CallSite] = []
    for node in text.tree.body:
        owner = node if isinstance(node, ast.ClassDef) else None
        known = names | _held_in(owner, names) if owner is not None else names
        for function in owner.body if owner is not None else [node]:
            if isinstance(function, ast.FunctionDef) and function.name != "__new__":
                use = next(iter(sorted(_uses(function, known), key=_is_no_call)), None)
                if use is not None:
                    way = dict(_way(function.body, use))
                    found.append(CallSite(text, function, owner, use, way))
    compiles = {site: COMPILES in text.segment(site.function) for site in found}
    return sorted(found, key=lambda s: (not compiles[s], _is_no_call(s.use)))[:_SITES_OF_A_FILE]


def _held_in(owner: ast.ClassDef, names: set[str]) -> set[str]:
    """Returns the attributes that methods of a class assign one of the names to: `self.kernel`."""
    return {
        name
        for node in ast.walk(owner)
        if isinstance(node, ast.Assign) and dotted(node.value) in names
        for target in node.targets
        if isinstance(target, ast.Attribute) and (name := dotted(target))
    }


def _uses(function: ast.FunctionDef, names: set[str]) -> Iterator[ast.expr]:
    """Yields calls of these names, and names that are no types of anything."""
    for statement in function.body:
        for node in walk(statement, into=lambda n: not isinstance(n, ast.arguments)):
            if isinstance(node, ast.Call):
                if dotted(node.func) in names:
                    yield node
                elif dotted(node.func) in ("isinstance", "issubclass"):
                    continue
            elif isinstance(node, ast.Name | ast.Attribute) and dotted(node) in names:
                yield node


def _is_no_call(use: ast.expr) -> bool:
    return not isinstance(use, ast.Call)


# ---- the way to a use


def _way(body: Sequence[ast.stmt], use: ast.expr) -> Iterator[tuple[ast.expr, bool]]:
    """Yields the conditions on the way to an expression, with the outcomes that lead there."""
    for statement in body:
        is_here = _holds(statement, use)
        if isinstance(statement, ast.If):
            outcome = _side(statement, use) if is_here else _only_side_that_goes_on(statement)
            if outcome is not None:
                yield statement.test, outcome
        if is_here:
            blocks = [b for b in suites(statement) if any(_holds(inner, use) for inner in b)]
            for block in blocks:
                yield from _way(block, use)
            if not blocks:
                yield from _way_inside(statement, use)
            return


def _way_inside(statement: ast.stmt, use: ast.expr) -> Iterator[tuple[ast.expr, bool]]:
    """Yields the conditions of `x if condition else y` on the way to an expression."""
    for node in walk(statement):
        if isinstance(node, ast.IfExp) and not _holds(node.test, use):
            if _holds(node.body, use):
                yield node.test, True
            elif _holds(node.orelse, use):
                yield node.test, False


def _holds(node: ast.AST, use: ast.expr) -> bool:
    return any(inner is use for inner in walk(node))


def _side(statement: ast.If, use: ast.expr) -> bool | None:
    """Returns the outcome of a branch that leads to a use; None where its condition is one."""
    if any(_holds(inner, use) for inner in statement.body):
        return True
    return False if any(_holds(inner, use) for inner in statement.orelse) else None


def _only_side_that_goes_on(statement: ast.If) -> bool | None:
    """Returns the outcome of a branch whose other side never comes to its end; None for others."""
    ends, other_ends = leaves(statement.body), leaves(statement.orelse)
    return None if ends == other_ends else other_ends
