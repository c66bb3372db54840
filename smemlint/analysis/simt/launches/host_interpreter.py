"""Host code: executed with unknown arguments, so that it comes to its launches.

The same interpreter as for kernels executes it with one thread. What a library call returns is
unknown; where an unknown condition would replace a known number by an unknown one (`if (flag given)
threads = parse(..)`), the known one is kept: that is the default path, and the launch says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace

from smemlint.analysis.simt.builtins.ends import end_threads
from smemlint.analysis.simt.calls.lambdas import closure_of
from smemlint.analysis.simt.calls.operands import operand_value
from smemlint.analysis.simt.domain.ctypes import CType, IntType, RecordType, unreferenced
from smemlint.analysis.simt.domain.environment import Binding, Operand
from smemlint.analysis.simt.domain.values import AffineInt, Object, Pointer, Space, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator, Policy
from smemlint.analysis.simt.launches.equal_conditions import TakenConditions
from smemlint.analysis.simt.launches.launch import LAUNCHERS
from smemlint.analysis.simt.launches.skipped_calls import (
    forget_arguments,
    is_text,
    leads_on,
    may_compute,
    only_reads,
    only_tells,
    surely_ends,
)
from smemlint.analysis.simt.launches.valuation import OpenDefaults, Results, Valuation
from smemlint.analysis.simt.launches.written_variables import FileVariables
from smemlint.analysis.simt.types.overloads import unqualified
from smemlint.frontend import ir
from smemlint.frontend.heuristics import writes_arguments
from smemlint.frontend.program import Declaration, Function, Unit
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_CONSTANT_STEPS, MAX_HELPER_STEPS
from smemlint.reasons import PLACE, Assumption, Line, ReasonCode, Topic

_LOOPS = (ir.For, ir.RangeFor, ir.While, ir.DoWhile)
_STATEMENTS = (*_LOOPS, ir.If, ir.Switch, ir.Assignment, ir.FuncCall, ir.Decl)


class _CallTooLong(Exception):
    """A called function does more than compute a launch configuration."""


@dataclass(frozen=True, slots=True, eq=False)
class HostPaths:
    """Which way host code is run, and what is known of its launches before.

    Attributes:
        launching: names of functions that launch, themselves or through others.
        default_path: known numbers win over unknown ones where control flow joins.
        open_defaults: the symbols that stand for these numbers then; None where these do.
        taken: open choices that are made, and which alternative is taken.
        irrelevant_choices: returns those of a function that no launch's shape hangs on, see
            `open_parameters.IrrelevantChoices`.
        followed: variables of files that shapes of launches may rest on, beside those of `dim3`.
    """

    launching: frozenset[str] = frozenset()
    default_path: bool = False
    open_defaults: OpenDefaults | None = None
    taken: Mapping[ir.Node, int] = field(default_factory=dict)
    irrelevant_choices: Callable[[str], Set[ir.Node]] = lambda name: frozenset()
    followed: frozenset[str] = frozenset()


NO_PATHS = HostPaths()


class HostPolicy(Policy):
    """The policy of host code; subclasses say what becomes of the calls that launch.

    Attributes:
        asked: names that were looked for in `launching`, and whether they are there.
        variables: of files, that functions find as others left them.
        valuation: what the unknowns stand for that it comes to.
    """

    tracks_scev = False
    follows_lists = True
    is_given_null = True

    def __init__(self, unit: Unit, linked: Sequence[Unit], paths: HostPaths) -> None:
        self.linked = (unit, *(u for u in linked if u is not unit))
        self.paths = paths
        self.asked: dict[str, bool] = {}
        self.steps = 0
        self.domain = Results()
        self.has_default_path = False  # a known number met an unknown one
        self.defaults: dict[Assumption, None] = {}
        self.variables = FileVariables(self.linked, paths.followed, self.defaults)
        self.valuation = Valuation(self.domain, paths.open_defaults, self.defaults)
        self.alternatives: dict[ir.Node, int] = {}  # widths of choices between numbers
        self.irrelevant: set[ir.Node] = set()  # of these, those that no launch's shape hangs on
        self._taken = TakenConditions()
        self._widths: dict[ir.Node, int] = {}  # alternatives of statements that choose
        self._chosen: set[str] = set()  # the keys of what open choices between numbers give
        self._loses_code = False  # a jump leads back, or a statement was not parsed
        self._jumps: dict[tuple[str, str], bool] = {}  # labels: whether nothing else led there
        self._call_limit: int | None = None
        self._in_constant = False  # a call that the compiler evaluates is under way
        self._too_long: set[Function] = set()  # of which such a call was cut
        self._paths_asked = 0
        self._owner: dict[int, Unit] = {}
        self._idle_nests: dict[ir.Node, bool] = {}
        self._lambdas: dict[ir.Lambda, bool] = {}  # whether they launch

    def is_launching(self, name: str) -> bool:
        """Returns whether functions of a name launch."""
        found = self.asked[name] = name in self.paths.launching
        return found

    def _gives_launch(self, ev: Evaluator, operands: Sequence[Operand]) -> bool:
        """Returns whether a call gives what launches where it is called: a lambda or an object."""
        closures = (closure_of(operand) for operand in operands)
        return any(c is not None and self.launches_in(ev, c.node) for c in closures) or (
            self.is_launching("operator()") and any(self._is_called(ev, o) for o in operands)
        )

    def _is_called(self, ev: Evaluator, operand: Operand) -> bool:
        """Returns whether an operand is an object of a class that can be called."""
        ctype = unreferenced(operand.type)
        if not isinstance(ctype, RecordType):
            return False
        classes = {record.name for record in ctype.with_bases() if record.record is not None}
        return any(f.record in classes for f in self.functions(ev, "operator()"))

    def on_unread(self, ev: Evaluator, name: str, operands: Sequence[Operand]) -> None:
        """Forgets what another file may set that declares a function, and that was not read."""
        declared = (True for unit in self.linked for _ in unit.prototypes(unqualified(name)))
        if self.variables.shapes and any(declared):
            self.variables.forget(ev, name)

    def on_end(self, ev: Evaluator) -> None:
        """Sees that the function which is executed first has ended."""

    def launches_in(self, ev: Evaluator, node: ir.Lambda) -> bool:
        """Returns whether the body of a lambda launches."""
        known = self._lambdas.get(node)
        if known is None:
            spelled = map(ev.state.unit.template_arguments, ev.state.node_facts.names_in(node.body))
            names = {name.rsplit("::", 1)[-1] for name, _ in spelled}
            known = any(isinstance(each, ir.Launch) for each in node.body.walk())
            known = known or not names.isdisjoint(LAUNCHERS) or any(map(self.is_launching, names))
            self._lambdas[node] = known
        return known

    def leaves(self, ev: Evaluator, node: ir.Lambda, operands: Sequence[Operand]) -> bool:
        """Returns whether a lambda without captures only makes a text of what it is given."""
        if node.captures or node.result is None or not is_text(node.result):
            return False
        leads = any(leads_on(ev, operand) for operand in operands)
        sets = not self.variables.shapes.isdisjoint(ev.state.node_facts.names_in(node.body))
        return only_reads(node.params) and not (leads or sets or self.launches_in(ev, node))

    def on_jump(self, ev: Evaluator, node: ir.Goto | ir.Label) -> None:
        """Notes labels that are come to, and jumps back, or on to labels that nothing leads to."""
        label = ev.state.frame.function, node.name
        if isinstance(node, ir.Goto):
            self._jumps.setdefault(label, True)
            self._loses_code |= self._jumps[label] is False
        else:
            self._jumps[label] = False

    @property
    def loses_code(self) -> bool:
        """Whether a jump leads back, or on to a label that nothing else leads to.

        Also where a statement of what launches could not be parsed.
        """
        return self._loses_code or any(self._jumps.values())

    # ---- linking

    @property
    def kept(self) -> Set[str]:
        """Variables that other files may write and that none of the linked units does."""
        return self.variables.kept

    def functions(self, ev: Evaluator, name: str) -> Iterator[Function]:
        """Yields definitions in any of the linked units."""
        last = name.rsplit("::", 1)[-1]
        for unit in self.linked:
            for function in unit.functions_named(last):
                self._owner[id(function)] = unit
                yield function

    def owner(self, function: Function) -> Unit:
        """Returns the unit that a function was found in."""
        return self._owner[id(function)]

    def units(self, ev: Evaluator) -> Sequence[Unit]:
        """Returns the unit that is read, then all linked ones."""
        return (ev.state.unit, *self.linked)

    def bind_global(self, ev: Evaluator, declaration: Declaration, found: Binding) -> Binding:
        """Follows shapes of launches from function to function."""
        return self.variables.bind(ev, declaration, found)

    def keeps_initial_value(self, ev: Evaluator, name: str, type: CType) -> bool:
        """Returns whether no unit writes to a number, an object or a table that it has."""
        return self.variables.keeps_initial_value(ev, name, type)

    def convert_unknown(self, ev: Evaluator, value: Unknown, type: IntType) -> Value:
        """Returns a fresh symbol, which a `case` can name."""
        ev.state.sequence += 1
        return self.domain.symbol(f"host{ev.state.sequence}", value.reason.text, type)

    def may_write(self, name: str, type: CType, *, is_used: bool) -> bool:
        """Returns whether a function that was not read may write a shape, or a number for it."""
        return writes_arguments(name, is_object=isinstance(type, RecordType), is_used=is_used)

    # ---- budgets

    def max_trips(self, ev: Evaluator, loop: ir.Node) -> int:
        """Returns 1 for a nest of loops that launches nothing: it is not counted through.

        In a small helper a loop may take what is left of the statements of the call.
        """
        if self._is_idle_nest(ev, loop):
            return 1
        most = ev.state.budget.max_trips
        if self._call_limit is None:
            return most
        statements = ev.state.node_facts.told(_statements_in, loop)
        return max(most, (self._call_limit - ev.state.budget.steps) // statements)

    def _is_idle_nest(self, ev: Evaluator, loop: ir.Node) -> bool:
        if loop not in self._idle_nests:
            names = ev.state.node_facts.names_in(loop)
            launching = [name for name in names if self.is_launching(name)]
            is_idle = not launching and names.isdisjoint(LAUNCHERS) and _is_nest(loop)
            self._idle_nests[loop] = is_idle
        return self._idle_nests[loop]

    def holds(self, ev: Evaluator, steps: int) -> bool:
        """Returns whether a call of so many statements is within the budget of the call around."""
        return self._call_limit is None or ev.state.budget.steps + steps <= self._call_limit

    def marks(self) -> tuple[object, ...]:
        """Returns how many defaults, choices and numbers of cases were noted."""
        kept = len(self.defaults), len(self._taken), len(self._chosen), len(self.valuation)
        choices = len(self.alternatives), len(self.irrelevant), len(self._widths)
        return self.has_default_path, self._paths_asked, *kept, *choices

    def may_end(self, ev: Evaluator) -> bool:
        """Returns whether the program ends; where defaults lead to that, others are given."""
        return not self.paths.default_path

    def on_step(self, ev: Evaluator) -> None:
        """Counts a statement against the budget of the call under way."""
        if self._call_limit is not None and ev.state.budget.steps > self._call_limit:
            raise _CallTooLong

    def run_inlined(
        self,
        ev: Evaluator,
        function: Function,
        operands: Sequence[Operand],
        this: Pointer | None,
        run: Callable[[], Value],
    ) -> Value:
        """Executes a called function in its own unit; device code is of no interest.

        Args:
            ev: executes.
            function: what is called.
            operands: its operands, evaluated.
            this: the object of a method or constructor, which may set its members.
            run: executes it.
        """
        if not function.is_host:
            return Unknown.because(ReasonCode.NOT_MODELLED, "device code")
        is_launching = self.is_launching(function.name) or self._gives_launch(ev, operands)
        made = this.object if this is not None and this.object.space is Space.LOCAL else None
        is_constant = not is_launching and self._is_constant(ev, function, operands, this)
        tells = is_launching or is_constant or self._may_tell(ev, function, operands, made)
        if not tells and function.name not in self.variables.setters:
            self._forget_results(ev, function, operands, made)
            if surely_ends(function):
                end_threads(ev)
            return Unknown.because(ReasonCode.NOT_MODELLED, f"`{function.name}` is not run")
        state = ev.state
        before, limit, depth = state.unit, self._call_limit, state.memory.depth
        begun, is_within = state.budget.steps, self._in_constant
        is_outermost = (limit is None and not is_launching) or (is_constant and not is_within)
        self._loses_code |= is_launching and bool(function.parse().dropped)
        if is_outermost:
            self._call_limit = begun + (MAX_CONSTANT_STEPS if is_constant else MAX_HELPER_STEPS)
        self._in_constant |= is_constant
        ev.types.enter(self._owner.get(id(function), before))
        try:
            value = run()
            if is_constant and not is_within:
                state.budget.steps = begun + 1  # as the compiler evaluates it
            return value
        except _CallTooLong:
            if not is_outermost:
                raise
            if is_constant:
                self._too_long.add(function)
            state.memory.commit_to(depth)
            self._forget_results(ev, function, operands, made)
            return Unknown.because(
                ReasonCode.NOT_MODELLED, f"`{function.name}` is not run to its end"
            )
        finally:
            ev.types.enter(before)
            self._call_limit, self._in_constant = limit, is_within

    def _forget_results(
        self, ev: Evaluator, function: Function, operands: Sequence[Operand], made: Object | None
    ) -> None:
        """Forgets what a call may write that is not run, or not to its end."""
        forget_arguments(ev, function, operands)
        if function.name in self.variables.setters:
            self.variables.forget(ev, function.name)
        if made is not None:
            ev.state.memory.forget(made, f"was left to `{function.name}`")

    def _may_tell(
        self, ev: Evaluator, function: Function, operands: Sequence[Operand], made: Object | None
    ) -> bool:
        """Returns whether a helper may tell something of a launch; `made`: the object it sets."""
        if not may_compute(function, sets_members=made is not None):
            return False
        is_report = made is None and only_tells(function)
        return not is_report or any(leads_on(ev, operand) for operand in operands)

    def _is_constant(
        self, ev: Evaluator, function: Function, operands: Sequence[Operand], this: Pointer | None
    ) -> bool:
        """Returns whether the compiler evaluates a call: a `constexpr` function's, of constants."""
        return (
            this is None
            and "constexpr" in function.specifiers
            and function not in self._too_long
            and all(_is_number(operand_value(ev, operand)) for operand in operands)
        )

    # ---- which way it goes

    def path_through(
        self, ev: Evaluator, node: ir.Node, alternatives: Sequence[Assumption]
    ) -> int | None:
        """Returns which alternative of an open choice is taken; None for all of them.

        It is the one that an equal condition took before.
        """
        self._paths_asked += 1
        if self.paths.open_defaults is not None:
            self.paths.open_defaults.release(ev, node, self.domain.made_of)
        path = self._taken.known(ev, node, alternatives)
        if path is None:
            path = self.paths.taken.get(node)
        if path is not None:
            self._taken.take(ev, node, alternatives, path)
        if path is None:
            self._widths[node] = len(alternatives)
        else:
            taken = alternatives[path]
            self._assume(ev, taken.wording, node, taken.subject)
            if isinstance(node, ir.If) and node.is_constexpr:  # template arguments tell it
                self.defaults.setdefault(replace(taken, topic=Topic.TEMPLATE))
        return path

    def prefer(self, ev: Evaluator, a: Value, b: Value, node: ir.Node) -> Value | None:
        """Returns a known number rather than an unknown one, on the default path."""
        if isinstance(a, AffineInt) and isinstance(b, AffineInt) and self._is_choice(a, b):
            self.alternatives[node] = self._widths.get(node, 0)  # 0: of a call, which chooses none
            if self._is_irrelevant(ev, node):
                self.irrelevant.add(node)
            self._chosen.add(self.domain.key_of_choice(a, b, node.at))
            return None
        if any(loop.is_general for loop in ev.state.loops):
            return None  # what iterations that were not run make of a number is no default
        for known, other in ((a, b), (b, a)):
            is_open = not isinstance(other, AffineInt) or bool(other.terms)
            if isinstance(known, AffineInt) and self._is_default(known) and is_open:
                self.has_default_path = self.has_default_path or not self._is_irrelevant(ev, node)
                return self._default(ev, known, node) if self.paths.default_path else None
        return None

    def _is_default(self, value: AffineInt) -> bool:
        is_open = self.paths.open_defaults is not None and self.paths.open_defaults.holds(value)
        return value.constant is not None or is_open

    def _default(self, ev: Evaluator, known: AffineInt, node: ir.Node) -> AffineInt:
        """Returns the number of the default path, or the symbol that stands for it."""
        assumption = _assumed(ev, "with the default that the host code takes", node)
        if self.paths.open_defaults is not None:
            symbol = self.paths.open_defaults.symbol(self.domain, known, node, assumption)
            self._chosen.add(symbol.terms[0][0].key)
            return symbol
        self.defaults.setdefault(assumption)
        return known

    def _is_irrelevant(self, ev: Evaluator, node: ir.Node) -> bool:
        """Returns whether no launch's shape hangs on a choice of the function that is run."""
        return node in self.paths.irrelevant_choices(ev.state.frame.function)

    def _assume(self, ev: Evaluator, what: str, node: ir.Node, subject: str = "") -> None:
        """Notes what is assumed where a node stands."""
        self.defaults.setdefault(_assumed(ev, what, node, subject))

    def _is_choice(self, a: AffineInt, b: AffineInt) -> bool:
        """Returns whether two numbers differ and are known, but for other such choices.

        Of conditions none is: which way a statement goes is a choice of its own.
        """
        if a.type.is_bool and b.type.is_bool:
            return False
        keys = {symbol.key for value in (a, b) for symbol, _ in value.terms}
        return keys <= self._chosen and a.identity() != b.identity()

    def refine(self, value: Value, known: Value | None) -> None:
        """Takes the switched number as that of the case around."""
        self.valuation.refine(value, known)


def _assumed(ev: Evaluator, what: str, node: ir.Node, subject: str = "") -> Assumption:
    """Returns that something is assumed where a node stands."""
    span = ev.state.unit.span(node)
    place = Line(span.path, span.line)
    return Assumption(Topic.HOST, f"{what} at {PLACE}", subject, place)


def _is_number(value: Value) -> bool:
    return isinstance(value, AffineInt) and value.constant is not None


def _statements_in(loop: ir.Node) -> int:
    return sum(isinstance(node, _STATEMENTS) for node in loop.walk())


def _is_nest(loop: ir.Node) -> bool:
    """Returns whether a loop has another one in it, and no launch."""
    below = list(loop.walk())[1:]
    is_launching = any(isinstance(node, ir.Launch) for node in below)
    return not is_launching and any(isinstance(node, _LOOPS) for node in below)
