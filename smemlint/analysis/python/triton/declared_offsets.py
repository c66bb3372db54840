"""Offsets that a comment of a Triton kernel declares to go to shared memory, as accesses.

A `# smemlint: swizzle(3, 3, 3) shared(offs, dtype=fp16, block=(8, 64), vec=8)` asks what the lanes
of a warp cost that move `offs`: the expression is evaluated where the comment stands.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from smemlint.analysis.pricing import on_architecture, stat_of
from smemlint.analysis.python.interpreter import Interpreter, OverBudget
from smemlint.analysis.python.interpreter.calls import call
from smemlint.analysis.python.interpreter.dispatch import STATEMENTS
from smemlint.analysis.python.interpreter.values import Function, Unknown
from smemlint.analysis.python.triton.offset_model import OffsetModel, OffsetTile
from smemlint.analysis.python.warp_patterns import Undecided, patterns_of
from smemlint.analysis.simt.domain.swizzled import declared_use
from smemlint.facts import (
    Access,
    AccessKind,
    Certainty,
    Instance,
    KernelFacts,
    NotAnalysed,
    SharedArray,
)
from smemlint.frontend.python.parameters import parameters_of
from smemlint.hardware.arch import LANES
from smemlint.layout.declared_offsets import DeclaredOffsets, offsets_in
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_OFFSETS, MAX_PATTERNS
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic
from smemlint.sources.languages import CommentStyle
from smemlint.sources.pragmas import Pragma, pragmas_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from smemlint.analysis.python.interpreter.values import Scope, Scopes, Value
    from smemlint.config.settings import Settings
    from smemlint.facts import LayoutUse, WarpPattern
    from smemlint.frontend.python.python_source import PythonText

_NO_OFFSETS = Reason(ReasonCode.NOT_MODELLED, "it is not made of `tl.arange`s and numbers")
_BASE = 1024
"""Bytes that offset 0 is taken to lie on a multiple of: the longest period of a named swizzle."""


def kernels_of(
    text: PythonText, settings: Settings
) -> tuple[list[KernelFacts], list[LayoutUse], list[NotAnalysed]]:
    """Returns the accesses that pragmas declare, their swizzles, and notes on undecided ones."""
    kernels: list[KernelFacts] = []
    layouts: list[LayoutUse] = []
    notes: list[NotAnalysed] = []
    for pragma in pragmas_in(text.text, CommentStyle.PYTHON):
        if pragma.name != "shared" or pragma.problem:
            continue
        place = _Place.of(text, pragma)
        try:
            if place is None:
                raise Undecided(
                    Reason(
                        ReasonCode.WRONG_PRAGMA,
                        "this `shared` stands at no statement of a function",
                    )
                )
            kernel = place.facts(settings)
        except Undecided as undecided:
            name = place.function.name if place is not None else ""
            notes.append(NotAnalysed(pragma.span(text.path), name, undecided.reason))
            continue
        kernels.append(kernel)
        layouts += kernel.layouts
    return kernels, layouts, notes


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A pragma, and the simple statement behind which its expression is evaluated."""

    text: PythonText
    pragma: Pragma
    function: ast.FunctionDef
    statement: ast.stmt

    @staticmethod
    def of(text: PythonText, pragma: Pragma) -> _Place | None:
        """Returns the place of a pragma; None where it stands at no statement of a function."""
        found: _Place | None = None
        for function in _functions(text.tree):
            if not function.lineno <= pragma.target <= (function.end_lineno or 0):
                continue
            for node in ast.walk(function):  # an inner function comes after the outer one
                if not isinstance(node, ast.stmt) or hasattr(node, "body"):
                    continue
                if node.lineno <= pragma.target <= (node.end_lineno or 0):
                    found = _Place(text, pragma, function, node)
        return found

    def facts(self, settings: Settings) -> KernelFacts:
        """Returns the declared access.

        Raises:
            Undecided: it has no figure.
        """
        declared = offsets_in(self.pragma.text)
        tile = self._tile(declared)
        span = self.pragma.span(self.text.path)
        instance = Instance(self.function.name, self.text.span(self.function))
        array = SharedArray(
            declared.expression, span, declared.element, declared.element_bytes, (), 0, None, _BASE
        )
        use = None
        if declared.declared is not None:
            use = replace(
                declared_use(array, declared.declared, instance.kernel),
                span=span, is_bound=True, alignment=_BASE, address=0,
            )  # fmt: skip
        patterns = _patterns(declared, tile, settings.arch)
        access = self._access(declared, instance, array, patterns, use)
        layouts = (use,) if use is not None else ()
        priced = on_architecture(access, settings.arch)
        return KernelFacts(instance, (array,), (priced,), layouts=layouts)

    def _access(
        self,
        declared: DeclaredOffsets,
        instance: Instance,
        array: SharedArray,
        patterns: list[WarpPattern],
        use: LayoutUse | None,
    ) -> Access:
        has_figure = all(p.ideal for p in patterns)
        stores = any(
            isinstance(n, ast.Call) and ast.unparse(n.func).endswith("store")
            for n in ast.walk(self.statement)
        )
        return Access(
            span=array.span,
            instance=instance,
            array=array,
            kind=AccessKind.STORE if stores else AccessKind.LOAD,
            width_bytes=declared.width,
            instructions=sum(p.count for p in patterns),
            wavefronts=stat_of([(p.wavefronts, p.count) for p in patterns]) if has_figure else None,
            ideal=stat_of([(p.profiler_ideal, p.count) for p in patterns]) if has_figure else None,
            certainty=Certainty.ASSUMED,
            assumptions=_assumptions(declared, use),
            patterns=tuple(sorted(patterns, key=lambda p: -p.ways)[:MAX_PATTERNS]),
            expression=declared.expression,
            line=self.statement.lineno,
            layout=use,
            omitted=max(len(patterns) - MAX_PATTERNS, 0),
        )

    def _tile(self, declared: DeclaredOffsets) -> NDArray[np.int64]:
        """Returns the offsets of all elements, in the declared block's shape."""
        value = _Watch(self.statement, declared.expression).value_in(self)
        if isinstance(value, Unknown):
            why = value.reason or _NO_OFFSETS
            text = f"`{declared.expression}` is not known: {why}"
            raise Undecided(Reason(why.code, text))
        if not isinstance(value, OffsetTile) or value.values.dtype == np.bool_:
            raise Undecided(
                Reason(
                    ReasonCode.UNKNOWN_VALUE,
                    f"`{declared.expression}` is not known here, or no tensor of offsets",
                )
            )
        shape = declared.block or value.values.shape
        if prod(shape) > MAX_OFFSETS:
            raise Undecided(
                Reason(ReasonCode.TOO_LARGE, f"a block of more than {MAX_OFFSETS} elements")
            )
        try:
            tile = np.broadcast_to(value.values.astype(np.int64, copy=False), shape)
        except ValueError:
            raise Undecided(
                Reason(
                    ReasonCode.WRONG_PRAGMA,
                    f"`{declared.expression}` has shape {value.values.shape}, its block {shape}",
                )
            ) from None
        if (tile < 0).any():
            raise Undecided(
                Reason(ReasonCode.WRONG_PRAGMA, f"`{declared.expression}` has negative offsets")
            )
        return tile


class _Watch:
    """Interprets a function and records the value of an expression behind one statement."""

    def __init__(self, statement: ast.stmt, expression: str) -> None:
        self._statement = statement
        self._expression = ast.parse(expression, mode="eval").body
        self._values: list[Value] = []

    def value_in(self, place: _Place) -> Value:
        """Returns the one value that the expression has there.

        Raises:
            Undecided: it has none, or several.
        """
        scope: Scope = {}
        module = [n for n in place.text.tree.body if not isinstance(n, ast.Expr)]
        values = offsets_in(place.pragma.text).values
        statements = {**STATEMENTS, type(self._statement): self._execute}
        interpreter = Interpreter(OffsetModel(), statements=statements)
        function = Function(place.function, (scope,), is_kernel=False)
        try:
            interpreter.run(module, (scope,))
            interpreter.steps = 0
            call(interpreter, function, (), _arguments(place, values))
        except (OverBudget, RecursionError):
            raise Undecided(
                Reason(ReasonCode.STEP_LIMIT, "its function takes too long to follow")
            ) from None
        if not self._values:
            raise Undecided(
                Reason(ReasonCode.NOT_REACHED, "the statement of this `shared` was not reached")
            )
        first = self._values[0]
        for other in self._values[1:]:
            if not _is_same(first, other):
                raise Undecided(
                    Reason(ReasonCode.UNKNOWN_VALUE, "its offsets change from one time to the next")
                )
        return first

    def _execute(self, interpreter: Interpreter, node: ast.stmt, scopes: Scopes) -> bool:
        """Executes a statement; behind the watched one it takes down the expression's value."""
        handler = STATEMENTS.get(type(node))
        reaches_end = True if handler is None else handler(interpreter, node, scopes)
        if node is self._statement:
            self._values.append(interpreter.evaluate(self._expression, scopes))
        return reaches_end


def _is_same(one: Value, other: Value) -> bool:
    if isinstance(one, OffsetTile) and isinstance(other, OffsetTile):
        return np.array_equal(one.values, other.values)
    return one is other


def _arguments(place: _Place, values: dict[str, int]) -> Scope:
    """Returns the values of the pragma; for other parameters, how to give them."""
    required = [p.name for p in parameters_of(place.function.args) if p.default is None]
    found: Scope = {
        n: Unknown.because(ReasonCode.UNKNOWN_VALUE, f"say what `{n}` is: shared(.., {n}=64)")
        for n in required
    }
    return found | values


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    yield from (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))


def _patterns(declared: DeclaredOffsets, tile: NDArray[np.int64], arch: str) -> list[WarpPattern]:
    """Returns the patterns of lanes with `vec` elements each, along the order's first dimension."""
    order = declared.order or tuple(reversed(range(tile.ndim)))
    if sorted(order) != list(range(tile.ndim)):
        raise Undecided(
            Reason(ReasonCode.WRONG_PRAGMA, f"`order` {order} is not one of {tile.ndim} dimensions")
        )
    flat = tile.transpose(order[::-1]).reshape(-1)
    if flat.size % declared.vec:
        raise Undecided(
            Reason(
                ReasonCode.WRONG_PRAGMA, f"{flat.size} elements are no vectors of {declared.vec}"
            )
        )
    vectors = flat.reshape(-1, declared.vec)
    if (vectors != vectors[:, :1] + np.arange(declared.vec)).any():
        raise Undecided(
            Reason(
                ReasonCode.WRONG_PRAGMA,
                f"the {declared.vec} elements of a lane are not consecutive",
            )
        )
    first = vectors[:, 0] * declared.element_bytes
    if declared.declared is not None:
        first = declared.declared.in_bytes(declared.element_bytes)(first)
    # Lanes beyond the last element hold it again, as Triton's do.
    lanes = np.resize(first, (-(-first.size // LANES), 1, LANES))
    try:
        return patterns_of(lanes, kind="load", width=declared.width, arch=arch)
    except ValueError as error:
        raise Undecided(Reason(ReasonCode.NOT_MEASURED, str(error))) from None


def _assumptions(declared: DeclaredOffsets, use: LayoutUse | None) -> tuple[Assumption, ...]:
    each = "one element" if declared.vec == 1 else f"{declared.vec} elements"
    dims = f" in order {declared.order}" if declared.order else ", the last dimension first"
    moved = f"each lane moves {each} of `{declared.expression}`{dims}, as the comment declares"
    return (
        *(use.assumptions if use is not None else ()),
        Assumption(Topic.LAYOUT, moved, declared.expression),
        *(
            Assumption(Topic.ARGUMENT, f"`{name}` is {value}, as the comment says", name)
            for name, value in declared.values.items()
        ),
        Assumption(Topic.ALIGNMENT, f"offset 0 lies on a multiple of {_BASE} bytes"),
    )
