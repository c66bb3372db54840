"""Which parameters of a host function the launches in it may depend on, read from its text.

An over-approximation, as `dependences` are: a parameter that is not among them cannot make a launch
known, whoever calls the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import field
from typing import TypeAlias

from smemlint.analysis.simt.launches.dependences import CONSTANT, Dependences, Words
from smemlint.analysis.simt.launches.launch import spelled_launch
from smemlint.analysis.simt.types.overloads import parameters_of
from smemlint.frontend import ir
from smemlint.frontend.program import Function
from smemlint.lazy_dataclasses import dataclass

THIS = "this"

_NOTHING: frozenset[str] = frozenset()
_Call: TypeAlias = ir.FuncCall | ir.Launch


@dataclass(slots=True)
class Flows:
    """What was read of host functions.

    Attributes:
        bodies: of functions, by those that they call to launch.
        words: of their expressions.
        places: of calls that tell parameters of a function.
        readings: by kernel, and the names of what is called to launch.
    """

    bodies: dict[tuple[Function, frozenset[str]], Dependences] = field(default_factory=dict)
    words: Words = field(default_factory=Words)
    places: dict[tuple[Function, frozenset[str]], _Places] = field(default_factory=dict)
    readings: dict[tuple[Function | None, frozenset[str]], _Reading] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Places:
    """Which parts of a call tell what the called function needs.

    Attributes:
        words: that every call has.
        of_callee: its name with what stands before it, and template arguments.
        arguments: their numbers, and whether all behind them do, too.
    """

    words: frozenset[str] = _NOTHING
    of_callee: bool = False
    arguments: frozenset[tuple[int, bool]] = frozenset()

    def __or__(self, other: _Places) -> _Places:
        return _Places(
            self.words | other.words,
            self.of_callee or other.of_callee,
            self.arguments | other.arguments,
        )


@dataclass(frozen=True, slots=True)
class OpenParameters:
    """Parameters and variables of files that what a launch leaves open may depend on.

    `this` is the parameter of a method.

    Attributes:
        shape: that its block and its template arguments depend on.
        arguments: that the kernel's arguments depend on.
        are_passed_on: nothing but parameters, as they are, tells what is launched: running the
            function adds nothing to running what it calls.
    """

    shape: frozenset[str] = _NOTHING
    arguments: frozenset[str] = _NOTHING
    are_passed_on: bool = False


def open_parameters(
    function: Function,
    kernel: Function,
    launching: frozenset[str],
    functions_named: Callable[[str], Sequence[Function]],
    flows: Flows | None = None,
    variables: frozenset[str] = _NOTHING,
) -> OpenParameters:
    """Returns the parameters of a host function that the launches in it may depend on.

    Args:
        function: host code.
        kernel: whose launches these are.
        launching: names of the functions that it calls to launch.
        functions_named: their definitions.
        flows: what was read of bodies with the same definitions, which is added to.
        variables: of files, that other functions may set.
    """
    reading = _reading(kernel, launching, functions_named, flows or Flows(), variables)
    return reading.of(function)


class IrrelevantChoices:
    """Open choices of host functions on which the shape of no launch hangs.

    Args:
        launching: names of the functions that launch.
        functions_named: definitions of functions and kernels.
        flows: what was read of bodies with the same definitions, which is added to.
        variables: of files, that other functions may set.
    """

    def __init__(
        self,
        launching: frozenset[str],
        functions_named: Callable[[str], Sequence[Function]],
        flows: Flows,
        variables: frozenset[str] = _NOTHING,
    ) -> None:
        self._reading = _reading(None, launching, functions_named, flows, variables)
        self._known: dict[str, frozenset[ir.Node]] = {}

    def of(self, name: str) -> frozenset[ir.Node]:
        """Returns those of the functions of a name: none of functions that launch nothing."""
        if name not in self._known:
            found = map(self._reading.irrelevant_choices, self._reading.functions_named(name))
            self._known[name] = frozenset(node for nodes in found for node in nodes)
        return self._known[name]

    def variables_of(self, functions: Iterable[Function]) -> frozenset[str]:
        """Returns the variables of files that the shapes of what functions launch may rest on."""
        asked = self._reading.variables
        found = (self._reading.of(f).shape for f in functions if asked and not f.is_kernel)
        return _NOTHING.union(*found) & asked


def _reading(
    kernel: Function | None,
    launching: frozenset[str],
    functions_named: Callable[[str], Sequence[Function]],
    flows: Flows,
    variables: frozenset[str],
) -> _Reading:
    key = kernel, launching
    if key not in flows.readings:
        flows.readings[key] = _Reading(kernel, launching, functions_named, flows, variables)
    return flows.readings[key]


@dataclass(slots=True)
class _Reading:
    """Reads functions, each once; launches of any kernel count where none is given."""

    kernel: Function | None
    launching: frozenset[str]
    functions_named: Callable[[str], Sequence[Function]]
    flows: Flows
    variables: frozenset[str] = _NOTHING
    known: dict[int, OpenParameters] = field(default_factory=dict)
    named: dict[str, Sequence[Function]] = field(default_factory=dict)
    needed: dict[str, tuple[_Places, _Places]] = field(default_factory=dict)

    def _named(self, name: str) -> Sequence[Function]:
        """Returns the definitions of a name, asked for once."""
        if name not in self.named:
            self.named[name] = self.functions_named(name)
        return self.named[name]

    def of(self, function: Function) -> OpenParameters:
        """Returns the parameters of one function, which those that it calls to launch tell."""
        if id(function) not in self.known:
            callers: dict[str, list[Function]] = {}
            level = self._unknown_below(function, callers)
            self.known |= dict.fromkeys(map(id, level), OpenParameters())
            while level:
                found = [(f, self._read(f)) for f in level]
                changed = {f.name: None for f, told in found if told != self.known[id(f)]}
                self.known |= {id(f): told for f, told in found}
                for name in changed:
                    self.needed.pop(name, None)
                level = list(dict.fromkeys(f for n in changed for f in callers.get(n, ())))
        return self.known.setdefault(id(function), OpenParameters())

    def _unknown_below(
        self, function: Function, callers: dict[str, list[Function]]
    ) -> list[Function]:
        """Returns a function and what it comes to call to launch, callees first, if not known."""
        found: dict[Function, None] = {}
        worklist = [function]
        while worklist:
            function = worklist.pop()
            tree = function.parse().tree
            if function in found or id(function) in self.known or tree is None:
                continue
            found[function] = None
            for name in dict.fromkeys(map(self._follows, self._body_of(function, tree).launches)):
                if name not in callers:
                    worklist += self._named(name)
                callers.setdefault(name, []).append(function)
        return [*reversed(found)]

    def _follows(self, call: _Call) -> str:
        """Returns the name of a function that is called to launch; empty for a launch."""
        name = ir.called_name(call.name) if isinstance(call, ir.FuncCall) else ""
        is_launch = not name or spelled_launch(name, call.args, self._named(name)) is not None
        return "" if is_launch else name

    def _read(self, function: Function) -> OpenParameters:
        tree = function.parse().tree
        if tree is None:
            return OpenParameters()
        flow, shape, arguments = self._flow_of(function, tree)
        parameters = parameters_of(tree)
        own = {p.name for p in parameters} | {p.name for p in function.template}
        own |= self.variables - flow.declared
        if function.record is not None:
            own.add(THIS)

        def among(words: set[str]) -> frozenset[str]:
            reached = flow.closure(words)
            is_of_method = function.record is not None and bool(words)
            return frozenset((reached | {THIS} if is_of_method else reached) & own)

        are_passed_on = bool(flow.launches) and shape | arguments <= own
        return OpenParameters(among(shape), among(arguments), are_passed_on)

    def irrelevant_choices(self, function: Function) -> frozenset[ir.Node]:
        """Returns the choices that give no value to what the shape of a launch may rest on.

        What a function writes beyond its own variables may count for its caller.
        """
        tree = function.parse().tree if not function.is_kernel else None
        if tree is None or function.record is not None:
            return frozenset()
        flow, shape, _ = self._flow_of(function, tree)
        by_value = (p.name for p in parameters_of(tree) if not isinstance(p.type, ir.PtrDecl))
        return flow.irrelevant_choices(shape, frozenset(by_value)) if flow.launches else frozenset()

    def _flow_of(
        self, function: Function, tree: ir.FuncDef
    ) -> tuple[Dependences, set[str], set[str]]:
        """Returns what a body does, and the words that shapes and arguments of launches rest on."""
        flow = self._body_of(function, tree)
        shape: set[str] = set()
        arguments: set[str] = set()
        for call in flow.launches:
            of_shape, of_arguments = self._words_of(call)
            shape |= of_shape
            arguments |= of_arguments
        return flow, shape, arguments

    def _body_of(self, function: Function, tree: ir.FuncDef) -> Dependences:
        key = function, self.launching & function.words
        flow = self.flows.bodies.get(key)
        if flow is None:
            flow = Dependences(self.launching, self.functions_named, self.flows.words)
            self.flows.bodies[key] = flow
            flow.read(tree.body, ())
            flow.note_types(parameters_of(tree), {p.name for p in function.template})
        return flow

    def _words_of(self, call: _Call) -> tuple[Set[str], Set[str]]:
        """Returns the words that the shape, and the arguments, of what a call launches rest on."""
        words = self.flows.words
        if isinstance(call, ir.Launch):
            spelled = words.of(call.kernel, *call.configuration[1:2])
            return spelled | self._deduced(call), words.of(*call.args)
        name = ir.called_name(call.name)
        launch = spelled_launch(name, call.args, self._named(name))
        if launch is not None:
            return words.of(launch.kernel, launch.block), words.of(*call.args)
        shape, arguments = self._needed_of(name)
        return self._told(call, shape), self._told(call, arguments)

    def _needed_of(self, name: str) -> tuple[_Places, _Places]:
        """Returns what the shapes, and the arguments, of what functions of a name launch need."""
        if name not in self.needed:
            shape = arguments = _Places()
            for function in self._named(name):
                told = self.known.get(id(function)) or self.of(function)
                shape |= self._places(function, told.shape)
                arguments |= self._places(function, told.arguments)
            self.needed[name] = shape, arguments
        return self.needed[name]

    def _deduced(self, call: ir.Launch) -> Set[str]:
        """Returns the words of arguments whose types tell template arguments of the kernel."""
        name = ir.called_name(call.kernel)
        kernels = self._named(name) if self.kernel is None else (self.kernel,)
        places = _Places()
        for kernel in kernels:
            if kernel.name == name:
                places |= self._places(kernel, frozenset(p.name for p in kernel.template))
        return self._told(call, places)

    def _told(self, call: _Call, places: _Places) -> Set[str]:
        """Returns the words of a call in some places."""
        words, given = self.flows.words, call.args
        callee = call.kernel if isinstance(call, ir.Launch) else call.name
        found = set(places.words)
        if places.of_callee:
            found |= words.of(callee)
        for index, is_last in places.arguments:
            passed = given[index:] if is_last else given[index : index + 1]
            found |= words.of(*passed) if passed else {CONSTANT}
        return found

    def _places(self, function: Function, needed: frozenset[str]) -> _Places:
        """Returns which places of a call tell parameters of a function, or variables of files."""
        key = function, needed
        if key not in self.flows.places:
            self.flows.places[key] = self._read_places(function, needed)
        return self.flows.places[key]

    def _read_places(self, function: Function, needed: frozenset[str]) -> _Places:
        tree = function.parse_head().tree
        asked = needed - self.variables
        if not asked or tree is None:
            return _Places(needed & self.variables)
        of_template = asked & {p.name for p in function.template}
        params = parameters_of(tree)
        arguments = frozenset(
            (index, index == len(params) - 1)
            for index, param in enumerate(params)
            if param.name in asked or not of_template.isdisjoint(self.flows.words.of(param.type))
        )
        this = asked & {THIS}
        return _Places(needed & self.variables | this, bool(of_template | this), arguments)
