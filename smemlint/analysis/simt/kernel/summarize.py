"""From a trace to access facts: the distinct warp patterns of every site and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.pricing import Group, costliest, on_architecture, priced_patterns, stat_of
from smemlint.analysis.simt.domain.data_lanes import data_addresses, lanes_of_any_data
from smemlint.analysis.simt.domain.environment import WARP
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt, Unknown
from smemlint.analysis.simt.kernel.alternatives import (
    alternative_offsets,
    offsets_by_residue,
    warps,
)
from smemlint.analysis.simt.kernel.array_extent import within_array
from smemlint.analysis.simt.kernel.async_sources import copy_of
from smemlint.analysis.simt.kernel.fusion_bounds import fusion_bounds
from smemlint.analysis.simt.kernel.packed_rows import columns_read
from smemlint.analysis.simt.library_calls import at_users_call, is_of_cub
from smemlint.facts import (
    Access,
    AccessKind,
    Caller,
    CallLine,
    Certainty,
    DataAddresses,
    Fusion,
    Instance,
    LayoutUse,
    SharedArray,
    Span,
    WarpPattern,
)
from smemlint.frontend import ir
from smemlint.frontend.program import Unit
from smemlint.hardware.arch import WORD
from smemlint.hardware.atomics import has_varying_turns
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_CALL_CHAINS
from smemlint.limits.steps import spend
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic

_Chain = tuple[tuple[str, ir.Node], ...]
"""A value of an unknown at which lanes that move by different multiples of it lie far apart."""


@dataclass(slots=True, eq=False)
class _Site:
    """All events at one place of the source."""

    span: Span
    kind: AccessKind
    expression: str
    array: SharedArray | None
    matrices: int
    operation: str
    line: int
    groups: dict[tuple[int, bytes, bytes, bytes], Group] = field(default_factory=dict)
    undecided: Unknown | None = None
    layout: LayoutUse | None = None
    assumptions: dict[Assumption, None] = field(default_factory=dict)
    taken: dict[Assumption, None] = field(default_factory=dict)
    issued: int = 0
    has_alternatives: bool = False
    depends_on_data: bool = False
    calls: dict[Span, _Site] = field(default_factory=dict)
    issued_under: dict[tuple[Assumption, ...], set[int]] = field(default_factory=dict)
    chains: dict[_Chain, int] = field(default_factory=dict)
    widest: Event | None = None
    repeats: bool = False
    warps: set[int] = field(default_factory=set)
    may_fuse: bool = False
    may_part: bool = False
    may_sink: bool = False
    may_stagger: bool = False
    may_thin: bool = False
    may_be_packed: bool = False
    data: DataAddresses | None = None
    is_of_library: bool = False
    whole: int = 0

    def chain_of(self, event: Event) -> int:
        """Returns the number of the calls that an event is reached through."""
        return self.chains.setdefault(event.callers, len(self.chains))

    def conditions(self) -> tuple[Assumption, ...]:
        """Returns the assumptions that the figures hang on, in the order in which they were met.

        What is issued under an assumption, and just so without it, does not hang on it.
        """
        return tuple(a for a in self.assumptions if self._hangs_on(a))

    def _hangs_on(self, assumption: Assumption) -> bool:
        with_it: set[int] = set()
        without: set[int] = set()
        for assumptions, groups in self.issued_under.items():
            (with_it if assumption in assumptions else without).update(groups)
        return not without or with_it != without


_NO_SOURCE = Unknown.because(
    ReasonCode.UNKNOWN_ADDRESS, "what a copy costs hangs on global addresses that were not followed"
)


_GUESSES = (Topic.NAME, Topic.JUMP)
_NOT_PRICED = Unknown.because(ReasonCode.NOT_MODELLED, "which threads make it is not known")


class AccessSummary:
    """Collects events (of one or of several traces, one per residue) and makes facts of them."""

    def __init__(
        self, unit: Unit, instance: Instance, assumptions: Sequence[Assumption], arch: str
    ) -> None:
        self._unit = unit
        self._instance = instance
        self._assumptions = tuple(assumptions)
        self._arch = arch
        self._sites: dict[tuple[Span, AccessKind, str, int], _Site] = {}
        self._traces = 0
        self._of_cub: dict[ir.Node, bool] = {}
        self._columns: Mapping[str, tuple[int, int]] = {}

    def add(self, events: Iterable[Event]) -> None:
        """Adds the events of one evaluation."""
        self._traces += 1
        events = tuple(events)
        self._columns = columns_read(events)
        for event in events:
            event = within_array(event)
            node = event.node
            if node not in self._of_cub:  # few nodes make all the events
                self._of_cub[node] = is_of_cub(self._unit, node)
            if self._of_cub[node]:
                event = at_users_call(self._unit, event)
            self._add_event(event).is_of_library |= self._of_cub[node]

    def facts(self) -> tuple[Access, ...]:
        """Returns the accesses, in source order."""
        found = [self._access(site) for site in self._sites.values()]
        return tuple(sorted(found, key=lambda a: (a.span, a.kind)))

    # ---- events

    def _site(self, event: Event) -> _Site:
        span = self._unit.span(event.node)
        name = event.object.name if event.object is not None else ""
        key = (span, event.kind, name, event.matrices)
        if key not in self._sites:
            array = event.object.shared if event.object is not None else None
            text = " ".join(self._unit.text(span).split())
            self._sites[key] = _Site(
                span,
                event.kind,
                text,
                array,
                event.matrices,
                event.operation,
                self._unit.line(event.line_node or event.node),
            )
        return self._sites[key]

    def _add_event(self, event: Event) -> _Site:
        site = self._site(event)
        self._add_to(site, event)
        if event.call is not None:
            call = self._unit.span(event.call)
            part = replace(
                site, span=call, groups={}, undecided=None, issued=0, calls={}, issued_under={}
            )
            self._add_to(site.calls.setdefault(call, part), event)
        return site

    def _add_to(self, site: _Site, event: Event) -> None:
        site.layout = site.layout or event.layout
        site.depends_on_data |= event.depends_on_data
        for assumption in event.assumptions:
            site.assumptions.setdefault(assumption)
        site.issued += warps(event.mask) * event.issued
        site.chain_of(event)
        site.repeats |= event.repeats
        site.may_fuse |= bool(event.may_fuse)
        site.may_part |= event.may_part
        site.may_sink |= event.may_sink
        site.may_stagger |= event.may_stagger
        site.may_thin |= event.may_thin
        site.whole = max(site.whole, event.whole)
        site.warps.update(np.flatnonzero(event.mask.reshape(-1, WARP).any(axis=1)).tolist())
        if event.fused and (site.widest is None or event.width > site.widest.width):
            site.widest = event
        offset = event.offset
        if isinstance(offset, Unknown):
            if not event.issued:
                return  # the compiler deletes it, wherever it is
            if residues := offsets_by_residue(offset, event):
                self._add_alternatives(site, event, residues)
                return
            lanes = lanes_of_any_data(event)
            if lanes is not None:
                self._add_lanes(site, event, lanes)
                return
            data = data_addresses(event)
            site.data = data if site.undecided is None else site.data and data and site.data
            site.undecided = site.undecided or offset
            return
        if event.width not in (1, 2, 4, 8, 16):
            site.undecided = site.undecided or Unknown.because(
                ReasonCode.NOT_MEASURED, f"an access of {event.width} bytes"
            )
            return
        if event.kind is AccessKind.ASYNC_COPY:
            self._add_copy(site, event)
            return
        alternatives = alternative_offsets(offset, event)
        if isinstance(alternatives, Unknown):
            site.undecided = site.undecided or alternatives
            return
        self._add_alternatives(site, event, alternatives)

    def _add_alternatives(
        self, site: _Site, event: Event, alternatives: list[NDArray[np.int64]]
    ) -> None:
        site.has_alternatives |= len(alternatives) > 1
        for base in alternatives:
            self._add_lanes(site, event, base)

    def _add_copy(self, site: _Site, event: Event) -> None:
        copy = copy_of(event, self._columns)
        if isinstance(copy, Unknown):
            site.undecided = site.undecided or copy
            return
        site.may_be_packed |= copy.is_open
        for assumption in copy.assumptions:
            site.taken.setdefault(assumption)
        self._add_lanes(site, event, copy.to, copy.source)

    def _add_lanes(
        self,
        site: _Site,
        event: Event,
        base: NDArray[np.int64],
        source: NDArray[np.int64] | None = None,
    ) -> None:
        spend()
        addresses = np.where(event.mask, base, 0)
        read = source.tobytes() if source is not None else b""
        key = (event.width, addresses.tobytes(), event.mask.tobytes(), read)
        group = site.groups.get(key)
        if group is None:
            exact = isinstance(event.offset, AffineInt) and not event.offset.terms
            group = Group(addresses, event.mask, event.width, event.values, exact, event.spare)
            group.source, group.chain = source, site.chain_of(event)
            site.groups[key] = group
        site.issued_under.setdefault(event.assumptions, set()).add(id(group))
        group.is_reached |= event.is_reached
        group.spare = min(group.spare, event.spare)
        group.count += event.issued
        if event.may_fuse or event.may_part:
            group.narrowest = min(part.width for part in event.fused or (event,))
            group.widest = max(group.widest, event.may_fuse, event.width)

    # ---- facts

    def _access(self, site: _Site) -> Access:
        patterns, undecided = self._decided(site)
        turns_vary = undecided is None and _has_varying_turns(site)
        priced = [p for p in patterns if p.ideal]
        has_figure = bool(priced) and len(priced) == len(patterns)
        if site.kind is AccessKind.ASYNC_COPY and patterns and not has_figure:
            undecided = undecided or _NO_SOURCE
        taken = (*self._assumptions, *site.conditions(), *site.taken)
        if site.may_thin and any(_hangs_on_threads(p, site.kind) for p in priced):
            site.may_stagger = True
        is_guess = any(a.topic in _GUESSES for a in site.assumptions)
        is_one_of_several = is_guess or turns_vary or site.may_stagger or site.may_be_packed
        is_sample = site.may_part or is_one_of_several or _may_fuse(site, priced)
        issued = sum(p.count for p in patterns)
        if site.has_alternatives or not issued:  # only one of those that are priced is issued
            issued = site.issued
        if issued and not patterns:  # one that faults has a pattern, and no figure
            undecided = undecided or _NOT_PRICED
        certainty = _certainty(undecided, is_sample=is_sample, has_assumptions=bool(taken))
        widths = [g.width for g in site.groups.values()]
        kept = costliest(patterns)
        bounds = None
        if is_sample and has_figure and not is_one_of_several and not site.has_alternatives:
            sure = _certainty(None, is_sample=False, has_assumptions=bool(taken))
            bounds = fusion_bounds(site.groups.values(), partial(self._priced, site), sure)
        access = Access(
            span=site.span,
            instance=self._instance,
            array=site.array,
            kind=site.kind,
            width_bytes=max(widths, default=0),
            instructions=-(-issued // max(self._traces, 1)),
            wavefronts=stat_of([(p.wavefronts, p.count) for p in priced]) if has_figure else None,
            ideal=stat_of([(p.profiler_ideal, p.count) for p in priced]) if has_figure else None,
            certainty=certainty,
            assumptions=taken,
            reason=_why_open(site, undecided, certainty, turns_vary=turns_vary),
            patterns=kept,
            omitted=len(patterns) - len(kept),
            matrices=site.matrices,
            note=site.operation,
            expression=site.expression,
            line=site.line,
            conditions=tuple(site.assumptions),
            layout=site.layout,
            calls=tuple(self._calls(site)) if has_figure else (),
            repeats=site.repeats,
            warps=len(site.warps),
            fusion=self._fusion(site),
            data=site.data if certainty is Certainty.DATA_DEPENDENT else None,
            bounds=bounds if certainty is Certainty.SAMPLED else None,
            chains=tuple(map(self._chain, islice(site.chains, MAX_CALL_CHAINS)))
            if any(site.chains)
            else (),
            is_of_library=site.is_of_library,
            whole_bytes=site.whole,
        )
        return on_architecture(access, self._arch)

    def _decided(self, site: _Site) -> tuple[list[WarpPattern], Unknown | None]:
        """Returns the patterns of a site, or why they are not known."""
        if site.undecided is not None:
            return [], site.undecided
        patterns = self._patterns(site)
        if isinstance(patterns, Unknown):
            return [], patterns
        if site.depends_on_data and any(_hangs_on_threads(p, site.kind) for p in patterns):
            # Fewer threads may not conflict at all; where all of them do not, none ever will.
            text = "which threads take part depends on data or changes with the iteration"
            return [], Unknown.because(ReasonCode.DATA, text, is_data=True)
        if site.may_sink and any(_hangs_on_threads(p, site.kind) for p in patterns):
            text = "the compiler may load it only in the threads that read it"
            return [], Unknown.because(ReasonCode.COMPILER, text)
        return patterns, None

    def _fusion(self, site: _Site) -> Fusion | None:
        """Returns what the widest instruction of a site stands for, if several accesses."""
        if site.widest is None:
            return None
        parts = site.widest.fused
        spans = dict.fromkeys(self._unit.span(part.node) for part in parts)
        return Fusion(len(parts), parts[0].width, tuple(spans))

    def _chain(self, calls: _Chain) -> tuple[Caller, ...]:
        return tuple(Caller(name, self._unit.span(call)) for name, call in calls)

    def _calls(self, site: _Site) -> Iterator[CallLine]:
        """Yields the parts of a site that the profiler shows at calls."""
        for call in site.calls.values():
            part = self._access(call)
            if part.wavefronts is not None and part.ideal is not None:
                yield CallLine(part.span, part.instructions, part.wavefronts, part.ideal)

    def _patterns(self, site: _Site) -> list[WarpPattern] | Unknown:
        """Returns the distinct warp patterns of a site, priced."""
        try:
            return self._priced(site, list(site.groups.values()))
        except ValueError as error:
            return Unknown.because(ReasonCode.NOT_MEASURED, str(error))

    def _priced(self, site: _Site, groups: Sequence[Group]) -> list[WarpPattern]:
        return priced_patterns(
            groups,
            kind=site.kind,
            matrices=site.matrices,
            operation=site.operation,
            arch=self._arch,
        )


def _hangs_on_threads(pattern: WarpPattern, kind: AccessKind) -> bool:
    """Returns whether fewer threads may have fewer wavefronts, or fewer turns of an atomic."""
    if pattern.wavefronts > pattern.profiler_ideal:
        return True
    words = pattern.addresses[pattern.active] // WORD
    return kind is AccessKind.ATOMIC and len(np.unique(words)) < len(words)


def _has_varying_turns(site: _Site) -> bool:
    """Returns whether turns of a wide atomic hang on the timing of warps that meet on a word."""
    return any(
        has_varying_turns(
            group.addresses.reshape(-1, WARP), group.mask.reshape(-1, WARP), site.operation
        )
        for group in site.groups.values()
    )


def _may_fuse(site: _Site, priced: Sequence[WarpPattern]) -> bool:
    """Returns whether the compiler may fuse accesses that conflict as they are."""
    return site.may_fuse and any(p.wavefronts > p.profiler_ideal for p in priced)


def _certainty(undecided: Unknown | None, *, is_sample: bool, has_assumptions: bool) -> Certainty:
    """Returns how sure an access's figure is."""
    if undecided is not None:
        return Certainty.DATA_DEPENDENT if undecided.is_data else Certainty.UNKNOWN
    if is_sample:
        return Certainty.SAMPLED
    return Certainty.ASSUMED if has_assumptions else Certainty.PROVED


def _why_open(
    site: _Site, undecided: Unknown | None, certainty: Certainty, *, turns_vary: bool
) -> Reason | None:
    """Returns why an access has no figure, or one that may be another."""
    if undecided is not None:
        return undecided.reason
    if turns_vary:
        text = "how often warps that meet on a word try again is a matter of their timing"
        return Reason(ReasonCode.NOT_MODELLED, text)
    guess = next((a for a in site.assumptions if a.topic in _GUESSES), None)
    if guess is not None:
        return Reason(ReasonCode.NOT_MODELLED, guess.text)
    if site.may_be_packed:
        text = (
            "rows of global memory may lie one behind the other, and are read as whole lines then"
        )
        return Reason(ReasonCode.UNKNOWN_VALUE, text)
    if site.may_stagger:
        text = "in which iterations threads of a warp are at a time is not modelled"
        return Reason(ReasonCode.COMPILER, text)
    if certainty is Certainty.SAMPLED:
        text = "which neighbours the compiler makes one instruction of is not modelled"
        return Reason(ReasonCode.COMPILER, text)
    return None
