"""Values are measured before they are built: no source makes the program take memory or time."""

from __future__ import annotations

import ast
import time
import tracemalloc

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.analysis.python.interpreter.constant_folding import call_builtin, fold
from smemlint.analysis.python.interpreter.values import UNKNOWN
from smemlint.config.settings import Settings
from smemlint.limits import sizes
from smemlint.limits.errors import TooLarge
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


def test_what_is_small_is_computed():
    assert fold(ast.Add(), "a" * 100, "b") == "a" * 100 + "b"
    assert fold(ast.Mult(), (1, 2), 3) == (1, 2, 1, 2, 1, 2)
    assert fold(ast.Pow(), 2, 64) == 1 << 64
    assert fold(ast.Mod(), 7, 4) == 3
    assert call_builtin("sum", [[1, 2, 3]]) == 6
    assert call_builtin("sum", [[[1], [2]], []]) is UNKNOWN or call_builtin(
        "sum", [[[1], [2]], []]
    ) == [1, 2]
