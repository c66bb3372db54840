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
        passed: words of calls that tell parameters, see `_Reading._passed`.
        sets: of such words, one of each.
        open: parameters by function, kernel, and the names of what it calls to launch.
    """

    bodies: dict[tuple[Function, frozenset[str]], Dependences] = field(default_factory=dict)
    words: Words = field(default_factory=Words)
    passed: dict[tuple[_Call, Function, frozenset[str]], frozenset[str]] = field(
        default_factory=dict
    )
    sets: dict[frozenset[str], frozenset[str]] = field(default_factory=dict)
    open: dict[tuple[Function, Function, frozenset[str]], OpenParameters] = field(
        default_factory=dict
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
    flows = flows or Flows()
    key = function, kernel, launching
    if key not in flows.open:
        reading = _Reading(kernel, launching, functions_named, flows, variables)
        flows.open[key] = reading.of(function)
    return flows.open[key]


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
        self._reading = _Reading(None, launching, functions_named, flows, variables)
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

    def _named(self, name: str) -> Sequence[Function]:
        """Returns the definitions of a name, asked for once."""
        if name not in self.named:
            self.named[name] = self.functions_named(name)
        return self.named[name]

    def of(self, function: Function) -> OpenParameters:
        """Returns the parameters of one function; none of one that is being read."""
        if id(function) not in self.known:
            self.known[id(function)] = OpenParameters()
            self.known[id(function)] = self._read(function)
        return self.known[id(function)]

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
        key = function, self.launching & function.words
        flow = self.flows.bodies.get(key)
        if flow is None:
            flow = Dependences(self.launching, self.functions_named, self.flows.words)
            self.flows.bodies[key] = flow
            flow.read(tree.body, ())
            flow.note_types(parameters_of(tree), {p.name for p in function.template})
        shape: set[str] = set()
        arguments: set[str] = set()
        for call in flow.launches:
            of_shape, of_arguments = self._words_of(call)
            shape |= of_shape
            arguments |= of_arguments
        return flow, shape, arguments

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
        shape: set[str] = set()
        arguments: set[str] = set()
        passed = self.flows.passed
        variables = self.variables
        for function in self._named(name):
            needed = self.known.get(id(function)) or self.of(function)
            for result, names in ((shape, needed.shape), (arguments, needed.arguments)):
                result |= names & variables
                if parameters := names - variables:
                    key = call, function, parameters
                    result |= passed.get(key) or self._passed(call, function, parameters)
        return shape, arguments

    def _deduced(self, call: ir.Launch) -> set[str]:
        """Returns the words of arguments whose types tell template arguments of the kernel."""
        name = ir.called_name(call.kernel)
        kernels = self._named(name) if self.kernel is None else (self.kernel,)
        found: set[str] = set()
        for kernel in kernels:
            if kernel.name == name:
                names = frozenset(p.name for p in kernel.template)
                found |= self._passed(call, kernel, names)
        return found

    def _passed(self, call: _Call, function: Function, needed: frozenset[str]) -> frozenset[str]:
        """Returns the words of a call that tell some parameters of the function that it calls."""
        key = call, function, needed
        known = self.flows.passed.get(key)
        if known is None:
            found = frozenset(self._read_passed(call, function, needed))
            known = self.flows.passed[key] = self.flows.sets.setdefault(found, found)
        return known

    def _read_passed(self, call: _Call, function: Function, needed: frozenset[str]) -> set[str]:
        """Returns the same, read from the call."""
        tree = function.parse_head().tree
        if not needed or tree is None:
            return set()
        callee, given = (call.kernel if isinstance(call, ir.Launch) else call.name), call.args
        words = self.flows.words
        found: set[str] = set()
        of_template = needed & {p.name for p in function.template}
        if of_template:
            found |= words.of(callee)
        if THIS in needed:
            found |= words.of(callee) | {THIS}
        params = parameters_of(tree)
        for index, param in enumerate(params):
            is_needed = param.name in needed or not of_template.isdisjoint(words.of(param.type))
            is_last = index == len(params) - 1
            if is_needed:
                passed = given[index:] if is_last else given[index : index + 1]
                found |= words.of(*passed) if passed else {CONSTANT}
        return found
