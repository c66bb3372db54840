"""Which instances of a kernel there are: block shapes and template values, found before asked for.

Order of trust: pragma, configuration and command line; launch sites of the unit and of files that
mention its launching functions; `__launch_bounds__`; the shape of the code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from smemlint.evaluate.interpret import Interpreter
from smemlint.evaluate.kernel import Task, guessed_scope
from smemlint.evaluate.launch import Host, Launch, is_known, scope_text
from smemlint.evaluate.machine import Frame, Geometry, Scope
from smemlint.evaluate.trace import Trace
from smemlint.evaluate.values import Int, Value
from smemlint.facts import Instance, NotAnalysed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from smemlint.evaluate.project import Project
    from smemlint.frontend.cuda.unit import Function, Unit

MAX_INSTANCES = 8
"""Instances of one kernel that are evaluated."""
_MAX_ANCESTRY = 6
_LAUNCH_WORDS = frozenset(("<<<", "cudaLaunchKernel", "cudaLaunchCooperativeKernel"))
_FLAT_SHAPES = ((256, 1, 1), (128, 1, 1), (512, 1, 1))
_PLANE_SHAPES = ((32, 8, 1), (16, 16, 1), (32, 32, 1))

Block = tuple[int, int, int]


class Instances:
    """Finds the instances of the kernels of one unit."""

    def __init__(self, project: Project, unit: Unit) -> None:
        self._project = project
        self._unit = unit
        self._launches: list[Launch] | None = None
        self._launching: frozenset[str] = frozenset()

    def of(self, function: Function) -> tuple[list[list[Task]], list[NotAnalysed]]:
        """Groups of tasks: a group of one is an instance; of several, guesses at one instance."""
        forced = self._forced_block(function)
        launches = [la for la in self.launches() if self._is_of(la, function)]
        groups: dict[object, list[Task]] = {}
        if forced is not None and not launches:
            scope, said = self._guess(function)
            return [[self._task(function, scope, forced, "given", said)]], []
        for launch in launches:
            block = forced or launch.block
            scope, said = self._completed(function, launch.scope)
            place = f"{launch.span.path.rsplit('/', 1)[-1]}:{launch.span.line}"
            said = (*said, *(f"{d}" for d in launch.assumed))
            if block is None:
                tasks = self._guessed(function, scope, said)
            else:
                tasks = [
                    self._task(function, scope, block, f"launch at {place}", said, launch.arguments)
                ]
            text = scope_text(scope, function)
            groups.setdefault((text, tasks[0].instance.block, block is None), tasks)
        known = [g for g in groups.values() if len(g) == 1 and g[0].instance.origin]
        chosen = known or list(groups.values())
        if not chosen:
            scope, said = self._guess(function)
            chosen = [self._guessed(function, scope, said)]
        notes: list[NotAnalysed] = []
        if len(chosen) > MAX_INSTANCES:
            more = len(chosen) - MAX_INSTANCES
            notes.append(
                NotAnalysed(
                    function.span, function.name, f"{more} further instances are not evaluated"
                )
            )
        return chosen[:MAX_INSTANCES], notes

    # ---- launches

    def launches(self) -> list[Launch]:
        """All launches that host code of the unit and of files that call it makes."""
        if self._launches is None:
            self._launches = self._find_launches()
        return self._launches

    def _find_launches(self) -> list[Launch]:
        kernels = [f.name for f in self._unit.functions if f.is_kernel]
        paths = [
            p
            for p in self._project.mentioning(kernels, self._unit.path)
            if p not in self._unit.files
        ]
        units = [self._unit, *(self._project.unit(p) for p in paths[:6])]
        starters = [
            f for u in units for f in u.functions if _is_host(f) and f.words & _LAUNCH_WORDS
        ]
        names = [f.name for f in starters]
        for path in self._project.mentioning(names, self._unit.path)[:6]:
            if not any(path in u.files for u in units):
                units.append(self._project.unit(path))
        owners = {id(f): u for u in units for f in u.functions}
        hosts = [f for u in units for f in u.functions if _is_host(f)]
        found: list[Launch] = []
        reached: set[str] = set()
        tops, launching = _ancestors(starters, hosts)
        self._launching = launching
        for top in tops:
            launched = self._run(owners[id(top)], units, top)
            found += launched
            reached.update(la.kernel for la in launched if la.block is not None)
        for starter in starters:
            mentioned = {k for k in kernels if k in starter.words}
            if mentioned - reached:
                found += self._run(owners[id(starter)], units, starter)
        return found

    def _run(self, unit: Unit, units: Sequence[Unit], function: Function) -> list[Launch]:
        """Launches that hold on every path; where the block is open, those of the default path."""
        strict = Host(unit, units, launching=self._launching)
        strict.run(function)
        if all(la.block is not None for la in strict.launches):
            return strict.launches
        known = {(la.kernel, la.span) for la in strict.launches if la.block is not None}
        default = Host(unit, units, launching=self._launching, default_path=True)
        default.run(function)
        more = [la for la in default.launches if (la.kernel, la.span) not in known]
        return [la for la in strict.launches if (la.kernel, la.span) in known] + more

    def _is_of(self, launch: Launch, function: Function) -> bool:
        if launch.kernel != function.name:
            return False
        return (
            launch.function.span == function.span or launch.function.span.path != function.span.path
        )

    # ---- what no launch says

    def _machine(self) -> Interpreter:
        machine = Interpreter(self._unit, Geometry.of((1, 1, 1)), Trace(1))
        machine.frames.append(Frame("file", [{}]))
        return machine

    def _guess(self, function: Function) -> tuple[Scope, tuple[str, ...]]:
        return guessed_scope(self._machine(), function)

    def _completed(self, function: Function, scope: Scope) -> tuple[Scope, tuple[str, ...]]:
        if is_known(scope, function):
            return scope, ()
        guess, said = self._guess(function)
        known = {k: v for k, v in scope.items() if not (isinstance(v, Int) and v.constant is None)}
        missing = tuple(s for s in said if not any(f"`{k}`" in s for k in known))
        return {**guess, **known}, missing

    def _guessed(self, function: Function, scope: Scope, said: tuple[str, ...]) -> list[Task]:
        bound = self._launch_bound(function, scope)
        if bound is not None:
            shape = (bound, 1, 1) if not _uses_plane(function) else (32, max(bound // 32, 1), 1)
            return [self._task(function, scope, shape, "__launch_bounds__", said)]
        shapes = _PLANE_SHAPES if _uses_plane(function) else _FLAT_SHAPES
        said = (*said, "no launch was found: the figure is the same for several block shapes")
        return [self._task(function, scope, s, "", said) for s in shapes]

    def _launch_bound(self, function: Function, scope: Scope) -> int | None:
        if not function.launch_bounds:
            return None
        machine = self._machine()
        machine.frames.append(Frame("bounds", [scope]))
        value = machine.value_argument(function.launch_bounds[0])
        limit = value.constant if isinstance(value, Int) else None
        return limit if limit is not None and 0 < limit <= 1024 else None

    def _forced_block(self, function: Function) -> Block | None:
        own = self._project.settings.kernels.get(function.name)
        block = getattr(own, "block", None) or self._project.settings.block_dim
        return tuple(block) if block is not None else None  # type: ignore[return-value]

    def _task(
        self,
        function: Function,
        scope: Scope,
        block: Block,
        origin: str,
        said: tuple[str, ...],
        arguments: Mapping[str, Value] | None = None,
    ) -> Task:
        instance = Instance(
            function.name, function.span, scope_text(scope, function), block, origin
        )
        where = f" ({origin})" if origin else ""
        shape = ", ".join(map(str, block))
        return Task(
            function, instance, scope, (f"block ({shape}){where}", *said), dict(arguments or {})
        )


def _is_host(function: Function) -> bool:
    return not function.is_kernel and (not function.is_device or "__host__" in function.specifiers)


def _ancestors(
    starters: Sequence[Function], hosts: Sequence[Function]
) -> tuple[list[Function], frozenset[str]]:
    """Host functions that reach a launch and that no other calls; names of all that reach one."""
    level = list(starters)
    reached = {id(f): f for f in starters}
    tops: dict[int, Function] = {}
    for _ in range(_MAX_ANCESTRY):
        following: list[Function] = []
        for function in level:
            callers = [h for h in hosts if function.name in h.words and h is not function]
            if not callers:
                tops[id(function)] = function
            for caller in callers:
                if id(caller) not in reached:
                    reached[id(caller)] = caller
                    following.append(caller)
        level = following
        if not level:
            break
    return list(tops.values()), frozenset(f.name for f in reached.values())


def _uses_plane(function: Function) -> bool:
    """Whether the kernel names `threadIdx.y` or `blockDim.y`."""
    found = False

    class Finder(c_ast.NodeVisitor):  # type: ignore[misc]
        def visit_StructRef(self, node: c_ast.StructRef) -> None:
            nonlocal found
            name = getattr(node.name, "name", "")
            if name in ("threadIdx", "blockDim") and node.field.name in ("y", "z"):
                found = True
            self.generic_visit(node)

    tree = function.parse().tree
    if tree is not None:
        Finder().visit(tree)
    return found
