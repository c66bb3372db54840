"""Other layouts for CuTe tensors that conflict: found by the solver, shown by evaluation.

A tensor's copies and elements decide their widths by its layout, so what another layout achieves is
not computed from the addresses that were seen: the kernel is evaluated again with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from smemlint.analysis.simt.cute.swizzle_advice import (
    all_of,
    best_swizzle,
    may_lack_patterns,
    offsets_of,
)
from smemlint.facts import (
    Access,
    AccessKind,
    KernelFacts,
    LayoutUse,
    NotAnalysed,
    SharedArray,
    Span,
)
from smemlint.layout import cute
from smemlint.layout.cute import AnyLayout
from smemlint.layout.solver import best_padding
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_ADVISED_PATTERNS, MAX_LAYOUT_TRIALS, MAX_STEPS_OF_A_TRIAL
from smemlint.limits.steps import spend
from smemlint.reasons import ReasonCode
from smemlint.sources.languages import is_python_path

Evaluate = Callable[["LayoutTrial"], KernelFacts | None]
_Place = tuple[tuple[Span, int, str], int]
_Form = tuple[int, tuple[int, int, int] | None, str]
_Key = tuple[_Place, _Form]


_CHUNK = 16
"""Bytes that swizzles of TMA and of MMA descriptors move together."""


@dataclass(frozen=True, slots=True)
class LayoutTrial:
    """Another layout for the tensors that begin at one place.

    Attributes:
        array, base: the place: a shared array and a byte of it.
        replaces: the swizzle of the tensors that get it; None for none.
        swizzle: takes its place; None for none.
        units: `elements` where it is composed with the layouts, `bytes` where it is the pointers'.
        pitch, padding: elements of a row, and how many each row gets besides.
    """

    array: SharedArray
    base: int
    replaces: Swizzle | None
    swizzle: Swizzle | None = None
    units: str = "elements"
    pitch: int = 0
    padding: int = 0

    def concerns(self, array: SharedArray | None, at: int | None) -> bool:
        """Returns whether a tensor at a byte of an array gets the other layout.

        The array may not have its name yet, which the DSL takes from the first variable.
        """
        if array is None or at != self.base:
            return False
        mine = self.array
        is_alike = array.span == mine.span and array.base == mine.base
        return is_alike and array.name in ("", mine.name)

    def applied(
        self, layout: AnyLayout, swizzle: Swizzle | None
    ) -> tuple[AnyLayout, Swizzle | None]:
        """Returns what takes the place of a tensor's layout and of its pointer's swizzle.

        Raises:
            CuteError: the strides are not those of rows, the layout is a slice of a swizzled one,
                or its swizzle is of other units.
        """
        if (swizzle is not None) != (self.units == "bytes"):
            raise cute.CuteError("a swizzle of other units")
        own = layout.swizzle if isinstance(layout, cute.ComposedLayout) else swizzle
        if own != self.replaces:
            return layout, swizzle  # other data, at another time
        if self.units == "bytes":
            return layout, self.swizzle
        if isinstance(layout, cute.ComposedLayout) and layout.offset != 0:
            raise cute.CuteError("a slice of a swizzled layout")
        plain = layout.plain
        if self.swizzle is not None:
            return cute.compose_swizzle(self.swizzle, plain), None
        return cute.Layout(plain.shape, self._padded(plain.stride)), None

    def _padded(self, stride: cute.IntTuple) -> cute.IntTuple:
        if isinstance(stride, tuple):
            return tuple(map(self._padded, stride))
        if not isinstance(stride, int) or (stride >= self.pitch and stride % self.pitch):
            raise cute.CuteError("a stride that is no multiple of a row")
        return stride // self.pitch * (self.pitch + self.padding) + stride % self.pitch


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """What goes through the layouts that begin at one place.

    Attributes:
        array, base: the place.
        accesses: of it.
        is_fixed: TMA moves it or an MMA reads it by descriptor: its layout must be one of theirs.
    """

    array: SharedArray
    base: int
    accesses: tuple[Access, ...]
    is_fixed: bool

    @property
    def uses(self) -> list[LayoutUse]:
        """Their layouts."""
        return [a.layout for a in self.accesses if a.layout is not None]

    @property
    def use(self) -> LayoutUse:
        """The layout of the first one."""
        return self.uses[0]

    @property
    def rows(self) -> list[int]:
        """The strides of rows, in units of the layouts."""
        unit = self.use.element_bytes if self.use.units == "bytes" else 1
        return sorted({min(rest) for u in self.uses if (rest := [s for s in u.stride if s > unit])})

    @property
    def extent(self) -> int:
        """The elements or bytes up to the end of the last element."""
        rest = self.use.element_bytes - 1 if self.use.units == "bytes" else 0
        return rest + max(_cosize(u.shape, u.stride) for u in self.uses)

    @property
    def range(self) -> range:
        """The bytes from the first to the end of the last element."""
        first = self.array.base + self.base
        unit = 1 if self.use.units == "bytes" else self.use.element_bytes
        return range(first, first + self.extent * unit)


@dataclass(frozen=True, slots=True)
class _Advice:
    """What to write instead, or why nothing is known; see `Access.advised` on the swizzle."""

    words: str = ""
    why: str = ""
    swizzle: tuple[int, int, int] | None = None


def with_layout_advice(facts: KernelFacts, evaluate: Evaluate) -> KernelFacts:
    """Returns the facts; conflicts name a layout that frees their tensor, or why none does."""
    advice: dict[_Key | None, _Advice] = {}
    groups = _groups(facts)
    for key, group in groups.items():
        if any(_needs_advice(a) for a in group.accesses):
            why = _hindrance(group, facts, groups)
            advice[key] = _Advice(why=why) if why else _advice(group, facts, evaluate)
    if not advice:
        return facts
    return replace(facts, accesses=tuple(_advised(a, advice.get(_key(a))) for a in facts.accesses))


def _advised(access: Access, found: _Advice | None) -> Access:
    if found is None or not _needs_advice(access):
        return access
    return replace(access, advice=found.words, unadvised=found.why, advised=found.swizzle)


def _needs_advice(access: Access) -> bool:
    """Returns whether an access conflicts; what copies wait for in global memory has other help."""
    return access.ways > 1 and access.kind is not AccessKind.ASYNC_COPY


def _place(array: SharedArray) -> tuple[Span, int, str]:
    return array.span, array.base, array.name


def _begin(access: Access) -> _Place | None:
    """Returns the place of the tensor that an access goes through; None where it is not known."""
    use, array = access.layout, access.array
    if use is None or array is None or use.family != "cute" or use.base is None:
        return None
    return _place(array), use.base


def _key(access: Access) -> _Key | None:
    """Returns the same with the layout's form: what is stored in one is not read in another."""
    begin = _begin(access)
    return (begin, _form(access.layout)) if begin and access.layout is not None else None


def _groups(facts: KernelFacts) -> dict[_Key | None, _Group]:
    found: dict[_Key, list[Access]] = {}
    for access in facts.accesses:
        key = _key(access)
        if key is not None:
            found.setdefault(key, []).append(access)
    fixed = {
        _place(n.array)
        for n in facts.not_analysed
        if n.array is not None and n.reason.code is ReasonCode.NO_LANES
    }
    groups: dict[_Key | None, _Group] = {}
    for key, accesses in found.items():
        array = accesses[0].array
        assert array is not None
        (place, base), _ = key
        groups[key] = _Group(array, base, tuple(accesses), place in fixed)
    return groups


def _hindrance(group: _Group, facts: KernelFacts, groups: Mapping[_Key | None, _Group]) -> str:
    """Returns why no other layout is looked for; empty where nothing stands against it."""
    shown = group.array.shown
    unknown = next((n for n in facts.not_analysed if _may_use(n, group.array)), None)
    if unknown is not None:
        return f"line {unknown.span.line} is not analysed and may use {shown} too"
    if facts.steps > MAX_STEPS_OF_A_TRIAL:
        return "evaluating the kernel again takes too long"
    return _stranger(group, facts.accesses, groups)


def _may_use(note: NotAnalysed, array: SharedArray) -> bool:
    """Returns whether what is not followed may need the layout that an array has."""
    if note.array is None:
        return True
    return note.reason.code is not ReasonCode.NO_LANES and _place(note.array) == _place(array)


def _stranger(
    group: _Group, accesses: Sequence[Access], groups: Mapping[_Key | None, _Group]
) -> str:
    """Returns which access of the bytes of a group is not known to go through its layout."""
    mine, use = group.accesses, group.use
    here = [a for a in accesses if a.array is not None and _place(a.array) == _place(group.array)]
    open_ = next((a for a in here if not a.certainty.is_decided or not a.patterns), None)
    if open_ is not None:
        return f"the access in line {open_.span.line} is not decided"
    for access in here:
        line = access.span.line
        if access.layout is not None and _holds_other_data(access.layout, use):
            continue
        if access in mine:
            if not _lies_inside(access, group.range):
                return f"line {line} reaches beyond the layout"
        elif not _lies_outside(access, group.range) or (
            may_lack_patterns(access) and not _are_apart(groups.get(_key(access)), group)
        ):
            return f"line {line} reaches the same bytes in another way"
    return ""


def _form(use: LayoutUse) -> _Form:
    return use.element_bytes, use.swizzle, use.units


def _holds_other_data(one: LayoutUse, other: LayoutUse) -> bool:
    """Returns whether two layouts of the same bytes are two uses of a buffer, one after the other.

    So it is where both are swizzled and the swizzles move the bytes differently.
    """
    if one.swizzle is None or other.swizzle is None or one.swizzle == other.swizzle:
        return False
    return _in_bytes(one) != _in_bytes(other)


def _in_bytes(use: LayoutUse) -> Swizzle:
    swizzle = Swizzle(*use.swizzle or (0, 0, 0))
    if use.units == "bytes":
        return swizzle
    return replace(swizzle, base=swizzle.base + use.element_bytes.bit_length() - 1)


def _are_apart(one: _Group | None, other: _Group) -> bool:
    """Returns whether two tensors have no byte in common; one of no known place may have any."""
    return one is not None and (
        one.range.stop <= other.range.start or other.range.stop <= one.range.start
    )


def _lies_outside(access: Access, place: range) -> bool:
    reached = [p.addresses[p.active] + at for p in access.patterns for at in (0, p.reach - 1)]
    return all(not ((r >= place.start) & (r < place.stop)).any() for r in reached)


def _lies_inside(access: Access, place: range) -> bool:
    reached = [p.addresses[p.active] for p in access.patterns]
    return all(((r >= place.start) & (r < place.stop)).all() for r in reached)


def _advice(group: _Group, facts: KernelFacts, evaluate: Evaluate) -> _Advice:
    """Returns what to write instead, or why nothing is known that is better."""
    for trial in islice(_trials(group), MAX_LAYOUT_TRIALS):
        spend(facts.steps)
        after = evaluate(trial)
        if after is not None and _is_freed(group, facts, after, trial):
            return _Advice(_words(group, trial), swizzle=_parameters(group, trial))
    if group.is_fixed:
        shown = group.array.shown
        return _Advice(why=f"TMA and MMA descriptors allow few layouts of {shown}, none is free")
    return _Advice(why=f"no swizzle or padding that was evaluated frees {all_of(group.accesses)}")


def _parameters(group: _Group, trial: LayoutTrial) -> tuple[int, int, int] | None:
    """Returns those that the layout's swizzle gets; None without one or where more is to change."""
    swizzle = trial.swizzle
    if swizzle is None or group.use.swizzle is None:
        return None
    if trial.units == "bytes" and not _is_aligned(group, swizzle):
        return None
    return swizzle.bits, swizzle.base, swizzle.shift


def _is_aligned(group: _Group, swizzle: Swizzle) -> bool:
    """Returns whether a group begins where `swizzle-base-alignment` asks it to."""
    return group.array.alignment % swizzle.period == 0 == group.base % swizzle.period


def _words(group: _Group, trial: LayoutTrial) -> str:
    freed = f"that removes the bank conflicts of {all_of(group.accesses)}"
    if trial.swizzle is None:
        padded = trial.pitch + trial.padding
        without = f"leave {trial.replaces} away and " if trial.replaces is not None else ""
        return (
            f"{without}give its rows a stride of {padded} elements instead of {trial.pitch}: "
            f"{freed}, and the array grows with `cosize`"
        )
    written = str(trial.swizzle)
    if is_python_path(group.array.span.path):
        s = trial.swizzle
        written = f"`cute.make_swizzle({s.bits}, {s.base}, {s.shift})`"
    if trial.units == "bytes":
        is_aligned = _is_aligned(group, trial.swizzle)
        aligned = "" if is_aligned else f" and align it to {trial.swizzle.period} bytes"
        return f"give its pointer {written} instead{aligned}: {freed}"
    instead = " instead" if group.use.swizzle is not None else ""
    return f"compose the layout with {written}{instead}: {freed}"


def _trials(group: _Group) -> Iterator[LayoutTrial]:
    """Yields what may free a group, by the addresses that were seen."""
    array, use = group.array, group.use
    size = use.element_bytes if use.units == "elements" else 1
    begin = array.base + group.base if use.units == "elements" else 0
    own = Swizzle(*use.swizzle) if use.swizzle is not None else None
    before = own if own is not None else Swizzle(0, 0, 0)
    patterns = [p for a in group.accesses for p in offsets_of(a, begin, size, before)]
    if len(patterns) > MAX_ADVISED_PATTERNS:
        return
    try:
        if group.is_fixed:
            swizzle = _swizzle_of_hardware(group, size)
        else:
            swizzle = best_swizzle(patterns, size, group.extent)
        if swizzle is not None:
            yield LayoutTrial(array, group.base, own, swizzle, use.units)
        for pitch in group.rows if use.units == "elements" and not group.is_fixed else ():
            padding, achieved = best_padding(patterns, size, pitch)
            if achieved.is_free and padding:
                yield LayoutTrial(array, group.base, own, pitch=pitch, padding=padding)
    except ValueError:
        return


def _swizzle_of_hardware(group: _Group, unit: int) -> Swizzle | None:
    """Returns the swizzle that TMA and descriptors have for rows of this length; None if none."""
    rows = {unit * row for row in group.rows}
    bits = next((b for b in (1, 2, 3) if rows == {_CHUNK << b}), None)
    begin = group.array.base + group.base
    if bits is None or _CHUNK % unit or begin % (8 * (_CHUNK << bits)):
        return None
    return Swizzle(bits, (_CHUNK // unit).bit_length() - 1, 3)


def _cosize(shape: tuple[int, ...], stride: tuple[int, ...]) -> int:
    return 1 + sum((n - 1) * abs(d) for n, d in zip(shape, stride, strict=True))


def _is_freed(group: _Group, before: KernelFacts, facts: KernelFacts, trial: LayoutTrial) -> bool:
    """Returns whether a trial's evaluation shows the same accesses, none slower and all free."""
    known = {(n.span, n.reason) for n in before.not_analysed}
    if any((n.span, n.reason) not in known for n in facts.not_analysed):
        return False
    begin = _place(trial.array), trial.base
    after = {(a.span, a.kind): a for a in facts.accesses if _begin(a) == begin}
    for access in before.accesses:
        if _begin(access) == begin and access not in group.accesses:
            after.pop((access.span, access.kind), None)
    for access in group.accesses:
        other = after.pop((access.span, access.kind), None)
        if other is None or not other.certainty.is_decided or not other.patterns:
            return False
        if other.width_bytes != access.width_bytes or other.instructions != access.instructions:
            return False
        most = access.ways if access.kind is AccessKind.ASYNC_COPY else 1
        if other.ways > most or any((p.addresses % p.width).any() for p in other.patterns):
            return False
    return not after
