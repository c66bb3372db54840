"""Frames of deep calls lie in one chunk of memory: no call asks the system for another one."""

from __future__ import annotations

import pytest

from smemlint.limits.frame_stack import with_deep_stack

resource = pytest.importorskip("resource", reason="page faults are counted on Linux and macOS")

_DEPTHS = 400
"""Frames of some 100 bytes: more than one chunk of 16 KiB, whose end one of these depths meets."""
_CALLS = 100


def _calls_at(depth: int) -> None:
    if depth:
        _calls_at(depth - 1)
    for _ in range(_CALLS):
        _nothing()


def _nothing() -> None:
    pass


@with_deep_stack
def _on_one_chunk(depth: int) -> None:
    _calls_at(depth)


def _page_faults(depth: int) -> int:
    _on_one_chunk(depth)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    _on_one_chunk(depth)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_no_depth_maps_memory_at_every_call() -> None:
    faults = _page_faults(_DEPTHS)
    assert faults < _CALLS, faults


def test_arguments_and_answers_pass() -> None:
    @with_deep_stack
    def pair(a: int, *, b: int = 2) -> tuple[int, int]:
        return a, b

    assert (pair(1), pair(a=3, b=4)) == ((1, 2), (3, 4))
