"""The Python interpreter: what is known of values behind loops, stars and objects."""

from __future__ import annotations

import ast

import pytest

from smemlint.analysis.python.interpreter import Interpreter, LibraryModel
from smemlint.analysis.python.interpreter.calls import instance_from_outside
from smemlint.analysis.python.interpreter.values import UNKNOWN, Function, Symbol, is_known


def value_of(text: str, name: str = "x") -> object:
    """What a module leaves in a name; `...` where that is not known. `n` and `f` are not."""
    scope = {"n": UNKNOWN, "f": UNKNOWN}
    Interpreter(LibraryModel()).run(ast.parse(text).body, (scope,))
    found = scope.get(name, UNKNOWN)
    return found if is_known(found) else ...


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("for x in (4, 2, 1):\n    if 6 % x == 0: break", 2),
        ("for x in (4, 2, 1):\n    if n: break", ...),
        ("x = 0\nfor i in range(4):\n    if i == 2: continue\n    x += i", 4),
        ("x = 0\nfor i in range(4):\n    if n: continue\n    x += i", ...),
        ("x = 0\nfor i in range(2):\n    pass\nelse:\n    x = 1", 1),
        ("x = 0\nfor i in range(2):\n    break\nelse:\n    x = 1", 0),
        (
            "x = 0\nfor i in range(2):\n    for j in (1, 2):\n        if j == 2: break\n    x += j",
            4,
        ),
        ("x = 1\nwhile n:\n    x = 2\n    break", ...),
        ("x = [4, 1]\nwhile x[0] * x[1] != 16:\n    x[x[0] > 8] *= 2", [16, 1]),
        ("x = 256\nwhile x > 64 or 192 % x:\n    x -= 8", 64),
        ("x = 0\nwhile x < 9:\n    x += 1\n    if x == 3: break\nelse:\n    x = 7", 3),
        ("x = 0\nwhile x < 3:\n    x += 1\n    continue\nelse:\n    x += 4", 7),
        ("x = 0\nwhile x < 3:\n    x += n", ...),
        ("x = 0\nwhile x < 999:\n    x += 1", ...),
        ("x = 0\nwhile True:\n    x += 1\n    if n: break", ...),
        ("def g(x):\n    while x < 5:\n        x += 2\n    return x\nx = g(0)", 6),
        ("x = 1\nfor i in n:\n    if f: break\n    x = 1", 1),
        (
            "def g():\n    for i in (1, 2, 3):\n        if i == 2: return i\n    return 9\nx = g()",
            2,
        ),
        ("def g():\n    for i in (1, 2):\n        if n: return i\n    return 9\nx = g()", ...),
        ("x = (*(1, 2), 3)", (1, 2, 3)),
        ("x = (*n, 3)", ...),
        ("def g(a, b=2, c=3): return c\nx = g(*n)", ...),
        ("def g(a, b=2, c=3): return c\nx = g(*n, c=4)", 4),
        ("def g(a, b=2, c=3): return a\nx = g(1, *n)", 1),
        ("def g(a, b=2, c=3): return b\nx = g(1, *n, 5)", ...),
        ("def g(a, b=2): return b\nx = g(1, **n)", ...),
        ("def g(a, b=2): return b\nx = g(1, **n, b=4)", 4),
        ("def g(a, b=2): return b\nx = g(1, **{'b': 4})", 4),
        ("def g(a, **others): return others\nx = g(1, **n)", ...),
        ("x = [a + b for a in (1, 2) for b in (10, 20) if a * b != 40]", [11, 21, 12]),
        ("x = [a for a in (1, 2) for b in n]", ...),
    ],
)
def test_a_value_is_known_where_every_way_gives_it(text, value):
    assert value_of(text) == value


CLASSES = """
class Base:
    size = 8
    def __init__(self, k=2):
        self.k = k
    @property
    def whole(self):
        return self.size * self.k
    @staticmethod
    def double(v):
        return 2 * v
    @classmethod
    def made(cls):
        return cls(5)

class Derived(Base):
    size = 16
    def __init__(self, k=3):
        super().__init__(k + 1)
        if n:
            self.open = 1
    def __call__(self, v):
        return self.double(v) + self.k

@dataclass
class Plain:
    a: int
    b: int = 7
"""


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("Base().whole", 16),
        ("Derived().whole", 64),
        ("Derived(1)(10)", 22),
        ("Base.made().k", 5),
        ("Derived.made().whole", 96),
        ("Base.size", 8),
        ("Derived().open", ...),
        ("Plain(1).b + Plain(1, 2).b + Plain(b=4, a=3).b", 13),
        ("Plain(1, *n).b", ...),
        ("Base(n).whole", ...),
        ("Unheard().size", ...),
    ],
)
def test_objects_hold_what_their_classes_say(expression, value):
    assert value_of(f"{CLASSES}\nx = {expression}") == value


def test_an_object_of_unknown_history_keeps_what_only_its_making_sets():
    scope = {"n": UNKNOWN}
    interpreter = Interpreter(LibraryModel())
    text = "class C:\n    def __init__(self):\n        self.a = 1\n        self.b = 2\n"
    text += "    def set(self):\n        self.b = 3\n"
    interpreter.run(ast.parse(text).body, (scope,))
    instance = instance_from_outside(interpreter, scope["C"])
    assert instance.attribute("a") == 1
    assert instance.attribute("b") is UNKNOWN
    assert isinstance(instance.type.member("set"), Function)
    assert instance.attribute("c") is UNKNOWN
    assert not isinstance(instance, Symbol)
