"""Loads that are answered from the register of a store, from events built directly."""

from __future__ import annotations

import pytest
from traces import ALL, LANES, access, lanes, shared

from smemlint.analysis.simt.codegen.store_forwarding import forwarded
from smemlint.analysis.simt.domain.trace import Fence
from smemlint.facts import AccessKind
from smemlint.frontend import ir

LOAD, STORE, ATOMIC = AccessKind.LOAD, AccessKind.STORE, AccessKind.ATOMIC


def issued(*between, load=None, store=None) -> list[int]:
    """How often each item is issued: a store, what stands between, and a load of its place."""
    array, node = shared(), ir.ID("s")
    written = access(STORE, array, lanes(4), node=node, **(store or {}))
    read = access(LOAD, array, lanes(4), node=node, **(load or {}))
    items = [written, *(make(array) for make in between), read]
    return [item.issued for item in forwarded(items) if not isinstance(item, Fence)]


def test_a_load_of_what_was_stored_needs_no_instruction():
    assert issued() == [1, 0]
    assert issued(lambda _: Fence("block")) == [1, 0]


@pytest.mark.parametrize(
    "between",
    [
        lambda _: Fence("barrier"),
        lambda array: access(ATOMIC, array, lanes(4, 128)),
    ],
    ids=["barrier", "atomic"],
)
def test_what_may_change_the_place_lets_it_be_loaded(between):
    assert issued(between)[-1] == 1


def test_a_store_that_is_provably_elsewhere_changes_nothing():
    assert issued(lambda array: access(STORE, array, lanes(4, 128)))[-1] == 0


def test_other_loads_and_other_arrays_change_nothing():
    other = shared("t")
    assert issued(lambda array: access(LOAD, array, lanes(4, 128)))[-1] == 0
    assert issued(lambda _: access(STORE, other, lanes(4)))[-1] == 0


def test_threads_that_did_not_store_load():
    half = LANES < 16
    assert issued(store={"mask": half}) == [1, 1]
    assert issued(store={"mask": half}, load={"mask": half}) == [1, 0]
    assert issued(store={"mask": ALL}, load={"mask": half}) == [1, 0]


def test_volatile_and_other_widths_load():
    assert issued(store={"volatile": True}) == [1, 1]
    assert issued(load={"volatile": True}) == [1, 1]
    assert issued(load={"width": 8}) == [1, 1]


def test_what_a_loop_stores_that_may_not_run_is_loaded_again_behind_it():
    """Rodinia's lud: of `for (j < i) s[t] -= ..;` and `s[t] /= d` behind it, s[t] is an LDS."""
    array, node = shared(), ir.ID("s")
    begin, end = Fence("block", guard=1), Fence("block", guard=-2)
    store = access(STORE, array, lanes(4), node=node)
    load = access(LOAD, array, lanes(4), node=ir.ID("s"))
    items = forwarded([begin, store, end, load])
    assert [item.issued for item in items if not isinstance(item, Fence)] == [1, 1]


def test_a_store_is_not_dead_for_one_in_a_loop_that_may_not_run():
    begin, end = Fence("block", guard=1), Fence("block", guard=-2)
    array, node = shared(), ir.ID("s")
    first = access(STORE, array, lanes(4), node=node)
    again = access(STORE, array, lanes(4), node=node)
    load = access(LOAD, array, lanes(4), node=node)
    items = forwarded([first, begin, again, end, load])
    assert [item.issued for item in items if not isinstance(item, Fence)] == [1, 1, 0]


def test_what_was_held_before_a_loop_is_held_behind_it():
    assert issued(lambda _: Fence("block", guard=1), lambda _: Fence("block", guard=-2))[-1] == 0


def test_registers_hold_as_many_stores_as_loads():
    """`s[t + 32 * i] += x` of 128 unrolled iterations, then all loaded: LDS x128 (13.5.37)."""
    array, node = shared(), ir.ID("s")
    places = [lanes(4, 128 * i) for i in range(128)]
    kinds = [k for i in range(128) for k in (LOAD, STORE)]
    sums = [access(k, array, places[i // 2], node=node) for i, k in enumerate(kinds)]
    again = [access(LOAD, array, place, node=node) for place in places]
    counts = [item.issued for item in forwarded([*sums, *again])]
    assert (sum(counts[:256]), sum(counts[256:])) == (256, 0)
