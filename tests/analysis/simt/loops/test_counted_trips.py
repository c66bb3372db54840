"""Trips that arithmetic counts are those that running the head counts."""

from __future__ import annotations

import random

import pytest

from smemlint.analysis.simt.domain.environment import Geometry
from smemlint.analysis.simt.domain.trace import Trace
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.interpreter import Interpreter
from smemlint.analysis.simt.loops import known_trips
from smemlint.analysis.simt.loops.counted_trips import counted_trips
from smemlint.analysis.simt.loops.known_trips import LoopParts, foresee_trips
from smemlint.frontend import ir
from smemlint.frontend.cuda.unit import LoadOptions, load_unit


def trips(monkeypatch, head, *, counts=True):
    """Returns the trips of `for (head) ;` foreseen for 64 threads, with or without arithmetic."""
    text = f"__global__ void k() {{ int n = 40; for ({head}) ; }}"
    unit = load_unit("k.cu", text, LoadOptions())
    tree = unit.functions[0].parse().tree
    declared, loop = tree.body.block_items
    assert isinstance(loop, ir.For)
    ev = Interpreter(unit, Geometry.of((64, 1, 1)), Trace(100))
    ev.state.frames.append(Frame("k", [{}]))
    ev.execute(declared)
    ev.execute(loop.init)
    if counts is None:
        assert counted_trips(ev, loop.cond, loop.next) is None
    elif counts:
        assert counted_trips(ev, loop.cond, loop.next) is not None
    else:
        monkeypatch.setattr(known_trips, "counted_trips", lambda *parts: None)
    found = foresee_trips(ev, LoopParts(loop, loop.cond, loop.next, loop.stmt))
    monkeypatch.undo()
    return found


@pytest.mark.parametrize(
    ("head", "count"),
    [
        ("int i = 0; i < 8; ++i", 8),
        ("int i = 0; i < 9; i += 4", 3),
        ("int i = 1; i <= 9; i += 4", 3),
        ("int i = 7; i >= 0; --i", 8),
        ("int i = 8; i > 0; i -= 3", 3),
        ("int i = 3; i != 9; i += 2", 3),
        ("int i = 9; i < 3; i++", 0),
        ("unsigned i = 2; i < n / 2; i++", 18),
        ("int i = threadIdx.x; i < 100; i += 32", 4),
        ("int i = threadIdx.x; i >= 0; i -= 32", 2),
        ("int i = 0; i < 1000000; i++", None),
        ("int i = 0; i < n; i += n / 5", 5),
        ("int i = threadIdx.x; i < 4 * n; i += 2 * n", 2),
        ("int i = n; i > 0; i -= n - 30", 4),
        ("int i = 0; i < 8; i += 010", 1),
    ],
)
def test_counted(monkeypatch, head, count):
    assert trips(monkeypatch, head) == count
    assert trips(monkeypatch, head, counts=False) == count


@pytest.mark.parametrize(
    "head",
    [
        "unsigned char i = 0; i < 300; i++",
        "unsigned i = 5; i >= 0; i--",
        "int i = 0; i < 2147483647; i += 4",
        "int i = 0; i != 5; i += 2",
        "int i = 1; i < 8; i *= 2",
        "int i = 0; i < n; n--",
        "int i = 0; i < 8; i += 2.5f",
        "int i = 1; i < 8; i += i",
        "int i = 0; i < 8; i += threadIdx.x + 1",
        "int i = 0; i < 8; i -= 3 - n",
        "int i = 0; i < n; i += n++",
    ],
)
def test_not_counted(monkeypatch, head):
    with pytest.raises(AssertionError):
        trips(monkeypatch, head)


def test_an_end_that_refers_to_the_counter_moves(monkeypatch):
    assert trips(monkeypatch, "int i = 0, &r = i; i < 8 - r; i++", counts=None) == 4


def test_random_heads(monkeypatch):
    rng = random.Random(1)
    for _ in range(200):
        op = rng.choice(("<", "<=", ">", ">="))
        sign = "+" if "<" in op else "-"
        start = rng.choice(("", "threadIdx.x + ")) + str(rng.randrange(60))
        step = rng.choice((f"i {sign}= {rng.randrange(1, 9)}", f"{sign}{sign}i"))
        head = f"int i = {start}; i {op} {rng.randrange(60)}; {step}"
        assert trips(monkeypatch, head) == trips(monkeypatch, head, counts=False), head
