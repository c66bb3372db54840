"""Dependences of a function's names on each other, of data and of control, read from its text.

Names are followed without regard to order and paths.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from typing import TypeAlias

from smemlint.analysis.simt.launches.launch import LAUNCHERS
from smemlint.analysis.simt.loops.mod_ref import root_of
from smemlint.analysis.simt.types.overloads import signature_of
from smemlint.frontend import ir
from smemlint.frontend.heuristics import launches_kernel
from smemlint.frontend.program import Function

CONSTANT = "__constant"
"""Stands for literals among the words of an expression."""
_NOTHING: frozenset[str] = frozenset()
_WORD = re.compile(r"[A-Za-z_]\w*")
_JUMPS = (ir.Break, ir.Continue, ir.Goto, ir.Return)
_Control: TypeAlias = "tuple[frozenset[str], ...]"


class Words:
    """Gives the words in expressions and types, but for names of members; each is read once."""

    def __init__(self) -> None:
        self._known: dict[ir.Node, frozenset[str]] = {}

    def of(self, *nodes: ir.Node | None) -> frozenset[str]:
        """Returns the words of some nodes together."""
        found = [self._of_one(node) for node in nodes if node is not None]
        return found[0] if len(found) == 1 else _NOTHING.union(*found)

    def _of_one(self, root: ir.Node) -> frozenset[str]:
        """Returns the words of a tree; those of calls below are known for themselves, too."""
        known = self._known.get(root)
        if known is not None:
            return known
        found: set[str] = set()
        worklist = [root]
        while worklist:
            node = worklist.pop()
            match node:
                case ir.ID(name=text):
                    found.update(_WORD.findall(text))
                case ir.IdentifierType():
                    for text in node.names:
                        found.update(_WORD.findall(text))
                case ir.Constant():
                    found.add(CONSTANT)
                case ir.StructRef():
                    worklist.append(node.name)
                case ir.FuncCall() if node is not root:
                    found |= self._of_one(node)
                case _:
                    worklist += node.children()
        self._known[root] = frozenset(found)
        return self._known[root]


class Dependences:
    """What the names of a function's body may depend on.

    Args:
        launching: names of the functions that are called to launch.
        functions_named: definitions of functions.
        words: of expressions.
    """

    def __init__(
        self,
        launching: frozenset[str],
        functions_named: Callable[[str], Sequence[Function]],
        words: Words,
    ) -> None:
        self._functions_named = functions_named
        self._words = words
        self.launches: list[ir.FuncCall | ir.Launch] = []
        self._launching = launching
        self._sources: dict[str, set[str]] = {}
        self._declared: dict[str, int] = {}
        self._pointing: set[str] = set()  # pointers and references: what they name may be another's
        self._given: dict[ir.Node, set[str | None]] = {}  # what choices give values to; None: any
        self._around: list[set[str | None]] = []  # what each condition around gives values to

    @property
    def declared(self) -> Set[str]:
        """Names of the body's own variables."""
        return self._declared.keys()

    def closure(self, words: Iterable[str]) -> set[str]:
        """Returns all names that some names may depend on."""
        found: set[str] = set()
        worklist = set(words)
        while worklist:
            word = worklist.pop()
            found.add(word)
            worklist |= self._sources.get(word, set()) - found
        return found

    def irrelevant_choices(self, words: Set[str], parameters: Set[str]) -> frozenset[ir.Node]:
        """Returns the choices that give no value to what some words may depend on."""
        outer = self._sources.keys() - (self._declared.keys() - self._pointing) - parameters
        reached = {None, *self.closure(words | outer)}
        return frozenset(node for node, given in self._given.items() if given.isdisjoint(reached))

    def note_types(self, parameters: Iterable[ir.Decl], names: set[str]) -> None:
        """Notes which of some template parameters the types of a function's parameters name."""
        for parameter in parameters:
            self._note(parameter.name, self._words.of(parameter.type) & names, ())

    def read(self, node: ir.Node, control: _Control, target: str | None = None) -> None:
        """Reads a statement or expression.

        Args:
            node: the tree.
            control: the words of each condition that it stands under, outermost first.
            target: the variable that it gives a value to; None where that may be any.
        """
        outer = len(control)
        match node:
            case ir.Decl(name=str(name)):
                self._declared[name] = len(control)
                if isinstance(node.type, ir.PtrDecl):
                    self._pointing.add(name)
                self._note(name, self._words.of(node.init, node.type), control)
                self._note_parameters((node.init,), frozenset((name,)))
                target = name
            case ir.Typedef():
                self._note(node.name, self._words.of(node.type), ())
            case ir.Struct(name=str(name)) | ir.Union(name=str(name)):
                self._note(name, self._words.of(*(node.decls or ())), ())
            case ir.Assignment():
                target = root_of(node.lvalue)
                self._note(target, self._words.of(node.lvalue, node.rvalue), control)
            case ir.UnaryOp(op="++" | "--" | "p++" | "p--"):
                self._note(root_of(node.expr), _NOTHING, control)
            case ir.Launch():
                self.launches.append(node)
            case ir.FuncCall():
                self._read_call(node, control)
                target = None
            case ir.TernaryOp():
                self._given[node] = {target}
            case ir.If() | ir.For() | ir.While() | ir.DoWhile() | ir.Switch():
                control = (*control, self._words.of(node.cond))
                self._around.append(set())
                if isinstance(node, ir.If):
                    self._given[node] = self._around[-1]
            case _ if isinstance(node, _JUMPS):
                self._give(None)
        for child in node.children():
            self.read(child, control, target)
        del self._around[outer:]

    def _read_call(self, node: ir.FuncCall, control: _Control) -> None:
        inner = node.name
        name = ir.called_name(inner)
        is_launcher = name in LAUNCHERS or launches_kernel(name)
        if is_launcher or name in self._launching:
            self.launches.append(node)
            return
        words = self._words.of(node)
        self._note_parameters((inner, *node.args), words)
        if isinstance(inner, ir.StructRef):
            self._note(root_of(inner.name), words, control)
        elif name in self._declared:
            self._note(name, words, control)
        for index, argument in enumerate(node.args):
            is_address = isinstance(argument, ir.UnaryOp) and argument.op == "&"
            if is_address or self._is_written(name, index):
                self._note(root_of(argument), words, control)

    def _note_parameters(self, nodes: Iterable[ir.Node | None], words: frozenset[str]) -> None:
        """Notes what parameters of lambdas depend on: the lambda's variable, or a call with it."""
        for node in nodes:
            for parameter in node.params if isinstance(node, ir.Lambda) else ():
                self._note(parameter.name, words, ())

    def _is_written(self, name: str, index: int) -> bool:
        """Returns whether a function that was read takes a reference there that is not constant."""
        found = (signature_of(f).parameters[index:] for f in self._functions_named(name))
        return any(_is_writable(params[0].type) for params in found if params)

    def _note(self, name: str | None, words: frozenset[str], control: _Control) -> None:
        """Notes what a variable depends on, and the conditions since it was declared."""
        self._give(name)
        if name is not None:
            inner = control[self._declared.get(name, 0) :]
            self._sources.setdefault(name, set()).update(words, *inner)

    def _give(self, name: str | None) -> None:
        """Notes what the conditions since its declaration give a value to."""
        for given in self._around[self._declared.get(name or "", 0) :]:
            given.add(name)


def _is_writable(node: ir.Node) -> bool:
    """Returns whether a parameter refers to what is no constant."""
    if not (isinstance(node, ir.PtrDecl) and {"&", "&&"} & set(node.quals or ())):
        return False
    return "const" not in (getattr(node.type, "quals", None) or ())
