"""Which instances of a kernel there are: block shapes and template values, found before asked for.

Order of trust: pragma, configuration and command line; launch sites of the unit and of files that
mention its launching functions; `__launch_bounds__`; the shape of the code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce
from math import prod
from operator import and_

from smemlint.analysis.program.memo import Memo
from smemlint.analysis.program.roots import MainFiles
from smemlint.analysis.program.units import ProgramIndex
from smemlint.analysis.program.user_input import UserInput
from smemlint.analysis.simt.domain.environment import MAX_THREADS, Geometry, Scope
from smemlint.analysis.simt.domain.trace import Trace
from smemlint.analysis.simt.domain.values import AffineInt, number
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.interpreter import Interpreter
from smemlint.analysis.simt.kernel.consensus import LAUNCH_BOUNDS
from smemlint.analysis.simt.kernel.parameters import guessed_scope
from smemlint.analysis.simt.kernel.task import KernelTask, Passed
from smemlint.analysis.simt.launches.bindings import is_bound, is_known, scope_text, shown_scope
from smemlint.analysis.simt.launches.block_shapes import (
    CUBE_SHAPES,
    FLAT_SHAPES,
    PLANE_SHAPES,
    SHORT_ROWS,
    Block,
    at_limits,
    axes_named,
    blocks_of,
    filled,
    within,
)
from smemlint.analysis.simt.launches.climb import FoundLaunches, Wanted
from smemlint.analysis.simt.launches.host_runs import HostRun
from smemlint.analysis.simt.launches.instantiations import compiled_scopes, written_instantiations
from smemlint.analysis.simt.launches.launch import Launch
from smemlint.analysis.simt.launches.search import LaunchSearch
from smemlint.analysis.simt.launches.written_calls import may_launch
from smemlint.analysis.simt.types.template_arguments import template_argument, value_argument
from smemlint.config.options import read_block
from smemlint.facts import Instance
from smemlint.frontend.cuda.preprocessor.cutlass_headers import is_cutlass_header
from smemlint.frontend.program import Function, Unit
from smemlint.reasons import PLACE, Assumption, Line, Topic

_LAUNCH = f"launch at {PLACE}"

_Text = tuple[tuple[str, str], ...]
_Group = tuple[_Text, Block | None, bool]


class Instances:
    """Finds the instances of the kernels of one unit."""

    def __init__(
        self, index: ProgramIndex, user: UserInput, memo: Memo, unit: Unit, mains: MainFiles
    ) -> None:
        self._index = index
        self._user = user
        self._unit = unit
        self._search = LaunchSearch(index, memo, unit, mains)
        self._launches = FoundLaunches(self._search)
        self._axes: dict[int, frozenset[str]] = {}
        self._bounds: dict[tuple[object, ...], int | None] = {}
        self._left: dict[int, int] = {}
        self._cut: set[int] = set()
        self._open: dict[int, tuple[Line, ...]] = {}
        self._failing: dict[int, tuple[Line, ...]] = {}
        self._unnamed: dict[int, tuple[Line, ...]] = {}

    def left(self, function: Function) -> int:
        """Returns how many instantiations are in none of the groups that `of` returned."""
        return self._left.get(id(function), 0)

    def is_cut(self, function: Function) -> bool:
        """Returns whether a host function that launches the kernel was not followed to its end."""
        return id(function) in self._cut

    def left_open(self, function: Function) -> tuple[Line, ...]:
        """Returns launches of unknown blocks that none of the groups that `of` returned is for."""
        return self._open.get(id(function), ())

    def failing(self, function: Function) -> tuple[Line, ...]:
        """Returns launches of blocks that are too large."""
        return self._failing.get(id(function), ())

    def unnamed(self, function: Function) -> tuple[Line, ...]:
        """Returns launches of kernels that are not known, which may be of this one."""
        return self._unnamed.get(id(function), ())

    @property
    def unsearched(self) -> int:
        """How many files name a kernel of the unit, may launch it, and were not looked through."""
        return len(self._search.unsearched)

    def of(self, function: Function) -> list[list[KernelTask]]:
        """Returns groups of tasks: one alone is an instance; several are guesses at one."""
        forced, given, template = self._override(function)
        if template:
            return [self._specialized(function, forced, given, template)]
        found = self._launches.of(function)
        launches = [n for n in found.launches if not _is_unused(n, function)]
        if not launches and is_cutlass_header(function.span.path):
            naming = (f for f in self._unit.functions if f.is_host and function.name in f.words)
            own = (f.span for f in naming if not is_cutlass_header(f.span.path))
            self._unnamed[id(function)] = tuple(Line(span.path, span.line) for span in own)
            return []
        # A template that nothing instantiates is not compiled: it counts where nothing else does.
        launches = [launch for launch in launches if not launch.is_uninstantiated] or launches
        units, ev = self._search.units_of(function), self._evaluator()
        launches = [
            replace(launch, scope=scope, left=max(launch.left, compiled.left))
            for launch in launches
            for compiled in (compiled_scopes(ev, units, function, launch.scope),)
            for scope in compiled.scopes
        ]
        if forced is not None and not launches:
            scope, assumptions = self._guess(function)
            return [[self._task(function, scope, forced, given, assumptions)]]
        groups: dict[_Group, list[KernelTask]] = {}
        launched: set[_Text] = set()
        keys: dict[Launch, _Group] = {}
        for launch in launches:
            block = forced or launch.block
            scope, assumptions = self._completed(function, launch.scope)
            assumptions = (*assumptions, *launch.assumed)
            if block is None:
                tasks = self._with_known_extents(function, scope, assumptions, launch)
                tasks = tasks or self._guessed(function, scope, assumptions, launch)
            else:
                tasks = [self._task(function, scope, block, given or _LAUNCH, assumptions, launch)]
            text = scope_text(scope, function)
            keys[launch] = text, tasks[0].instance.block, block is None
            groups.setdefault(keys[launch], tasks)
            if is_known(launch.scope, function):
                launched.add(text)
        trusted = _trusted(groups, launched)
        self._left[id(function)] = max((launch.left for launch in launches), default=0)
        if found.is_cut:
            self._cut.add(id(function))
        is_left = {launch: keys[launch] not in trusted for launch in launches}
        failing = dict.fromkeys(_line(n) for n in launches if n.fails and forced is None)
        left = (_line(n) for n in launches if is_left[n] or (n.is_also_open and forced is None))
        self._failing[id(function)] = tuple(failing)
        self._open[id(function)] = tuple(n for n in dict.fromkeys(left) if n not in failing)
        launched = {text for text, *_ in trusted}
        unnamed = self._unnamed_launches(function, found)
        written = self._written(function) if unnamed or not trusted else []
        if not trusted:
            return written or self._never_launched(function)
        return [*trusted.values(), *(g for g in written if g[0].instance.template not in launched)]

    def _unnamed_launches(self, function: Function, found: HostRun) -> tuple[Line, ...]:
        paths = {path: None for u in self._search.units_of(function) for path in u.files}
        texts = (self._index.read(path) or "" for path in paths)
        places = dict.fromkeys(may_launch(function, found.unnamed, texts))
        for unit in self._search.units_of(function):
            for declaration in (d for ds in unit.declarations.values() for d in ds):
                if {function.name, "<<<"} <= declaration.specifiers:  # in a lambda, in a table
                    places[Line(declaration.span.path, declaration.span.line)] = None
        self._unnamed[id(function)] = tuple(places)
        return self._unnamed[id(function)]

    def _written(self, function: Function) -> list[list[KernelTask]]:
        """Guesses at each list of template arguments that is written behind a kernel's name.

        Explicit instantiations and tables of kernels spell them.
        """
        units = self._search.units_of(function)
        written, left = written_instantiations(self._evaluator(), units, function)
        if written:
            self._left[id(function)] = left
        return [self._guessed(function, scope, ()) for scope in written]

    def _never_launched(self, function: Function) -> list[list[KernelTask]]:
        """Guesses at a kernel without a launch."""
        scope, assumptions = self._guess(function)
        return [self._guessed(function, scope, assumptions)]

    def uncalled_launchers(self, function: Function) -> list[Function]:
        """Returns the functions of headers that come to launch a kernel, if the unit calls none."""
        return self._search.uncalled_launchers(function)

    def arguments(self, function: Function, launch: Launch) -> list[Passed]:
        """Returns the numbers that the launch passes, as far as its callers tell.

        Behind them stand those that launches of the same block and template pass, each once; where
        less of the same is known, it is left out.
        """
        launches = self._launches.of(function, Wanted.ARGUMENTS).launches
        same = [other for other in launches if other.block in (launch.block, None)]
        nearest = [other for other in same if other.span == launch.span] or same or [launch]
        first = max(nearest, key=lambda found: len(found.arguments))
        text = scope_text(launch.scope, function)
        others = [
            other
            for other in launches
            if other.block == launch.block and scope_text(other.scope, function) == text
        ]
        always = frozenset(first.arguments).intersection(*(other.arguments for other in others))
        return _fullest(Passed(found.arguments, _line(found), always) for found in (first, *others))

    # ---- what no launch says

    def _evaluator(self) -> Interpreter:
        ev = Interpreter(self._unit, Geometry.of((1, 1, 1)), Trace(1))
        ev.state.frames.append(Frame("file", [{}]))
        return ev

    def _guess(self, function: Function) -> tuple[Scope, tuple[Assumption, ...]]:
        return guessed_scope(self._evaluator(), function)

    def _completed(self, function: Function, scope: Scope) -> tuple[Scope, tuple[Assumption, ...]]:
        if is_known(scope, function):
            return scope, ()
        guess, assumptions = self._guess(function)
        known = {
            k: v for k, v in scope.items() if not (isinstance(v, AffineInt) and v.constant is None)
        }
        missing = tuple(s for s in assumptions if s.subject not in known)
        return {**guess, **known}, missing

    def _guessed(
        self,
        function: Function,
        scope: Scope,
        assumptions: tuple[Assumption, ...],
        launch: Launch | None = None,
    ) -> list[KernelTask]:
        """Guesses at a block of which no launch, or none with a known size, says more."""
        bound = self._launch_bound(function, scope)
        _, y, z = launch.extents if launch is not None else (None, None, None)
        axes = self._axes_of(function) if not y == z == 1 else frozenset()
        if bound is not None:
            counted = blocks_of(bound, axes) if axes else [(bound, 1, 1)]
            known, origin = f"`{LAUNCH_BOUNDS}` counts {bound} threads", LAUNCH_BOUNDS
            return self._for_shapes(function, scope, counted, known, assumptions, None, origin)
        several: Sequence[Block] = CUBE_SHAPES if "z" in axes and z != 1 else PLANE_SHAPES
        shapes = several if axes else FLAT_SHAPES
        known = "no launch was found"
        if launch is not None:
            shapes = (*shapes, SHORT_ROWS) if shapes is PLANE_SHAPES else shapes
            fitting = within(shapes, launch.limits) or at_limits(launch.extents, launch.limits)
            shapes = fitting or shapes
            known = f"the {_LAUNCH} has a block size that is known only at run time"
            if launch.fails:
                known = f"the {_LAUNCH} fails, as its block is too large"
        place = _line(launch) if launch is not None else None
        tied = launch.tied if launch is not None else ()
        return self._for_shapes(function, scope, shapes, known, assumptions, place, tied=tied)

    def _for_shapes(
        self,
        function: Function,
        scope: Scope,
        shapes: Sequence[Block],
        known: str,
        assumptions: tuple[Assumption, ...],
        place: Line | None,
        origin: str = "",
        launch: Launch | None = None,
        tied: Iterable[tuple[str, int]] = (),
    ) -> list[KernelTask]:
        """Returns a task for each shape, of which what they agree on is reported."""
        if not shapes:
            return []
        blocks = [f"({', '.join(map(str, shape))})" for shape in shapes]
        listed = f"{', '.join(blocks[:-1])} and {blocks[-1]}" if blocks[1:] else blocks[0]
        text = f"{known}: the figure is the same for blocks of {listed}"
        text += ", those that stay in its arrays" if origin else ""
        if shapes[1:] or not origin:
            assumptions = (Assumption(Topic.BLOCK, text, place=place), *assumptions)
        scopes = [{**scope, **{name: number(s[axis]) for name, axis in tied}} for s in shapes]
        return [
            self._task(function, own, s, origin, assumptions, launch)
            for own, s in zip(scopes, shapes, strict=True)
        ]

    def _with_known_extents(
        self, function: Function, scope: Scope, assumptions: tuple[Assumption, ...], launch: Launch
    ) -> list[KernelTask]:
        """Guesses at a block whose rows are as long as the launch says, if it does.

        There is one guess where `__launch_bounds__` says of how many threads it is.
        """
        x, y, z = launch.extents
        bound = self._launch_bound(function, scope)
        whole = filled(launch.extents, bound) if bound is not None else None
        if whole is not None and within([whole], launch.limits):
            return [self._task(function, scope, whole, LAUNCH_BOUNDS, assumptions, launch)]
        if x is None or x < 1 or (y is not None and z is not None):
            return []
        guesses = {
            (x, given_y or y or 1, given_z or z or 1)
            for given_y, given_z in ((y, z), (y or 2, z), (y or 4, z or 2), (y or 8, z))
        }
        fitting = [s for s in guesses if prod(s) <= MAX_THREADS]
        shapes = sorted(within(fitting, launch.limits), reverse=True)
        shape = ", ".join("?" if n is None else str(n) for n in launch.extents)
        known = f"the {_LAUNCH} has a block of ({shape})"
        return self._for_shapes(
            function, scope, shapes, known, assumptions, _line(launch), launch=launch
        )

    def _axes_of(self, function: Function) -> frozenset[str]:
        if id(function) not in self._axes:
            self._axes[id(function)] = axes_named(self._unit, function)
        return self._axes[id(function)]

    def _launch_bound(self, function: Function, scope: Scope) -> int | None:
        if not function.launch_bounds:
            return None
        key = (function, scope_text(scope, function))
        if key not in self._bounds:
            self._bounds[key] = self._evaluated_bound(function, scope)
        return self._bounds[key]

    def _evaluated_bound(self, function: Function, scope: Scope) -> int | None:
        ev = self._evaluator()
        with ev.state.within("bounds", scope, function.scope):
            value = value_argument(ev, function.launch_bounds[0])
        limit = value.constant if isinstance(value, AffineInt) else None
        return limit if limit is not None and 0 < limit <= MAX_THREADS else None

    def _override(self, function: Function) -> tuple[Block | None, str, Mapping[str, str]]:
        """Returns the block that the user gives and where, and the template values.

        A pragma comes before the kernel's table, and that before the block of all kernels.
        """
        settings = self._index.settings
        own = settings.kernels.get(function.name)
        block, given = settings.block_dim, "given by `block-dim`"
        if own is not None and own.block is not None:
            block, given = own.block, f"given by `kernels.{function.name}.block`"
        template = dict(own.template) if own is not None else {}
        pragma = self._user.launch_pragma(function)
        if pragma is not None:
            shape = pragma.values.get("block") or next(iter(pragma.arguments), "")
            with suppress(ValueError):  # a malformed pragma is reported
                if shape:
                    block, given = read_block(shape), "given by its `launch` pragma"
            names = {p.name for p in function.template}
            template.update({k: v for k, v in pragma.values.items() if k in names})
        return block, given if block is not None else "", template

    def _specialized(
        self, function: Function, block: Block | None, given: str, template: Mapping[str, str]
    ) -> list[KernelTask]:
        """Returns the instance with the template values that the user gives."""
        ev = self._evaluator()
        scope, assumptions = guessed_scope(ev, function)
        for parameter in function.template:
            if parameter.name in template:
                bound = template_argument(ev, template[parameter.name], parameter)
                if bound is not None:
                    scope[parameter.name] = bound
        assumptions = tuple(s for s in assumptions if s.subject not in template)
        if block is None:
            return self._guessed(function, scope, assumptions)
        return [self._task(function, scope, block, given, assumptions)]

    def _task(
        self,
        function: Function,
        scope: Scope,
        block: Block,
        origin: str,
        assumptions: tuple[Assumption, ...],
        launch: Launch | None = None,
    ) -> KernelTask:
        place = _line(launch) if launch is not None else None
        instance = Instance(
            function.name,
            function.span,
            shown_scope(scope, function),
            block,
            origin,
            place if origin == _LAUNCH else None,
        )
        shape = ", ".join(map(str, block))
        arguments = partial(self.arguments, function, launch) if launch is not None else list
        declared = partial(self._user.declared_swizzle, function.name)
        given = self._user.preconditions(function)
        known = Assumption(Topic.BLOCK, f"block ({shape}) ({origin})", place=instance.place)
        is_given = origin and all(a.topic is not Topic.BLOCK for a in assumptions)
        assumed = (
            *((known,) if is_given else ()),
            *assumptions,
            *self._index.built_with(self._unit),
        )
        assumed += tuple(
            Assumption(Topic.ARGUMENT, f"`{p.text}` (your assumption)", p.name) for p in given
        )
        shared = launch.shared if launch is not None else None
        return KernelTask(function, instance, scope, assumed, arguments, declared, shared, given)


def _is_unused(launch: Launch, kernel: Function) -> bool:
    """Returns whether CUTLASS would launch a kernel in a template that nothing is known to use."""
    return is_cutlass_header(launch.span.path) and not is_bound(launch.scope, kernel)


def _trusted(
    groups: Mapping[_Group, list[KernelTask]], launched: set[_Text]
) -> dict[_Group, list[KernelTask]]:
    """Returns the instances whose blocks launches tell; guesses count where those say nothing."""
    known = {key for key, g in groups.items() if len(g) == 1 and g[0].instance.origin}
    texts = {text for text, *_ in known}
    return {
        key: group
        for key, group in groups.items()
        if not known or key in known or (key[0] in launched and key[0] not in texts)
    }


def _line(launch: Launch) -> Line:
    return Line(launch.span.path, launch.span.line)


def _fullest(launches: Iterable[Passed]) -> list[Passed]:
    """Returns what launches pass, each once, but for what is a part of what knows the most."""
    found: dict[frozenset[tuple[str, int]], Passed] = {}
    for passed in launches:
        found.setdefault(frozenset(passed.numbers.items()), passed)
    most = max(map(len, found))
    fullest = [known for known in found if len(known) == most]
    holders: defaultdict[tuple[str, int], int] = defaultdict(int)  # bit k: the k-th passes it
    for k, known in enumerate(fullest):
        for item in known:
            holders[item] |= 1 << k
    every = (1 << len(fullest)) - 1
    return [
        passed
        for known, passed in found.items()
        if len(known) == most or not reduce(and_, (holders.get(item, 0) for item in known), every)
    ]
