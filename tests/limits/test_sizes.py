"""Values are measured before they are built: no source makes the program take memory or time."""

from __future__ import annotations

import ast
import time
import tracemalloc

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.analysis.python.interpreter.constant_folding import call_builtin, fold
from smemlint.analysis.python.interpreter.values import UNKNOWN, is_known, join
from smemlint.config.settings import Settings
from smemlint.limits import sizes
from smemlint.limits.errors import TooLarge
from smemlint.limits.steps import step_limit
from smemlint.sources.source import Source

HEAD = "import cupy\nfrom string import Template\ns = 'a'\nx = [1, 2]\nt = (1, 2)\nd = {'a': 1}\n"
TAIL = "k = cupy.RawKernel('__shared__' + s, 'k')\n"
BOMBS = [
    "s = s + s",
    "s += s",
    "s = f'{s}{s}{s}{s}'",
    "s = '{0}{0}{0}{0}'.format(s)",
    "s = '%s%s%s%s' % (s, s, s, s)",
    "s = s.join([s, s, s, s])",
    "s = s.replace('a', 'aaaa')",
    "s = Template('$x$x$x$x').substitute(x=s)",
    "s = s * 4",
    "x = x + x",
    "t = t + t",
    "x = [x, x]",
    "t = (t, t, t)",
    "d = {'a': d, 'b': d}",
    "x.append(x[:])",
    "s = 10 ** 10 ** 8",
    "s = '%1000000000d' % 1",
    "s = s.join([s for i in range(4096)])",
]


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_takes_neither_memory_nor_time(bomb):
    source = Source("b.py", HEAD + f"{bomb}\n" * 60 + TAIL)
    began = time.process_time()
    analyze([source], Settings())
    assert time.process_time() - began < 20  # without the tracer, which takes ten times as long
    tracemalloc.start()
    facts, crashed = analyze([source], Settings())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not crashed
    assert peak < 200 << 20
    assert not any(note.reason.code == "memory-limit" for note in facts.not_analysed)


@pytest.mark.parametrize("number", ["0x" + "f" * 5_000, "1" * 4_000])
@pytest.mark.parametrize("use", ["f'{n}'", "'{}'.format(n)", "'%d' % n", "str(n)"])
def test_numbers_with_more_digits_than_python_writes_are_not_known(number, use):
    source = Source("n.py", f"import cupy\nn = {number}\nk = cupy.RawKernel({use}, 'k')\n")
    facts, crashed = analyze([source], Settings())
    assert (crashed, len(facts.not_analysed)) == (False, 1)


def test_limits_are_where_they_say():
    sizes.require_text((sizes.MAX_TEXT - 1, 1))
    sizes.require_items(sizes.MAX_ITEMS)
    assert sizes.decimal((1 << sizes.MAX_NUMBER_BITS) - 1) == str((1 << sizes.MAX_NUMBER_BITS) - 1)
    for measure, too_much in [
        (sizes.require_text, (sizes.MAX_TEXT, 1)),
        (sizes.require_items, sizes.MAX_ITEMS + 1),
        (sizes.decimal, 1 << sizes.MAX_NUMBER_BITS),
    ]:
        with pytest.raises(TooLarge):
            measure(too_much)


def test_sequences_that_hold_themselves_are_too_large():
    own: list[object] = []
    own.append(own)
    with pytest.raises(TooLarge):
        sizes.require_tree(own)


def _filled_from_the_outside_in(levels: int) -> list[object]:
    """Returns a list of 2**levels items, of which no list is large when it becomes an item."""
    outermost: list[object] = []
    innermost = outermost
    for _ in range(levels):
        items: list[object] = []
        innermost += [items, items]
        innermost = items
    return outermost


def test_lists_that_are_filled_from_the_outside_in_take_bounded_steps():
    one, other = (_filled_from_the_outside_in(60) for _ in range(2))
    with step_limit(10_000) as steps:
        assert not is_known(one)
        assert join(one, other) is UNKNOWN
    assert steps.spent == 3 * sizes.MAX_LEAVES // 128
    small = _filled_from_the_outside_in(8)
    assert is_known(small)
    assert join(small, _filled_from_the_outside_in(8)) is small


DSL_HEAD = """import cutlass
import cutlass.cute as cute

@cute.kernel
def kernel(n: cutlass.Int32):
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32)), 16)
    x = [1]
"""
DSL_TAIL = """    if x == [n]:
        y = x
    f(x)
    y = cute.make_layout(x)
    s[lane] = 1.0

@cute.jit
def host():
    kernel(3).launch(grid=[1, 1, 1], block=[32, 1, 1])

host()
"""
FROM_THE_OUTSIDE_IN = "".join(
    f"    b{i + 1} = []\n    b{i}.append(b{i + 1})\n    b{i}.append(b{i + 1})\n" for i in range(60)
)


@pytest.mark.parametrize(
    "bombs",
    [
        "    x = {x, x}\n" * 60,
        "    x = [x for _ in range(2)]\n" * 60,
        "    x = zip(x, x)\n" * 60,
        "    b0 = []\n" + FROM_THE_OUTSIDE_IN + "    x = b0\n",
    ],
)
def test_values_of_the_dsl_that_double_take_bounded_steps(bombs):
    source = Source("b.py", DSL_HEAD + bombs + DSL_TAIL)
    with step_limit(100_000):
        facts, crashed = analyze([source], Settings())
    (kernel,) = facts.kernels
    assert (crashed, kernel.decided, len(kernel.accesses)) == (False, 1, 1)


def test_what_is_small_is_computed():
    assert fold(ast.Add(), "a" * 100, "b") == "a" * 100 + "b"
    assert fold(ast.Mult(), (1, 2), 3) == (1, 2, 1, 2, 1, 2)
    assert fold(ast.Pow(), 2, 64) == 1 << 64
    assert fold(ast.Mod(), 7, 4) == 3
    assert call_builtin("sum", [[1, 2, 3]]) == 6
    assert call_builtin("sum", [[[1], [2]], []]) is UNKNOWN or call_builtin(
        "sum", [[[1], [2]], []]
    ) == [1, 2]
