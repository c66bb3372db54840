"""The lattice of the Python interpreter, path sensitivity, and constants as expressions."""

from __future__ import annotations

import ast
import itertools

import pytest

from smemlint.analysis.python.gluon.values import Tensor
from smemlint.analysis.python.interpreter import Interpreter, LibraryModel, OverBudget, Policy
from smemlint.analysis.python.interpreter.arguments import BoundArguments, integers
from smemlint.analysis.python.interpreter.calls import arguments_by_name
from smemlint.analysis.python.interpreter.constant_folding import (
    call_builtin,
    fold_membership,
    item_of,
    slice_of,
)
from smemlint.analysis.python.interpreter.dispatch import EXPRESSIONS, evaluates
from smemlint.analysis.python.interpreter.module_constants import module_constants
from smemlint.analysis.python.interpreter.path_sensitive import PathSensitive
from smemlint.analysis.python.interpreter.pytest_parameters import parametrizations
from smemlint.analysis.python.interpreter.values import (
    REST,
    SEVERAL,
    UNKNOWN,
    DType,
    Symbol,
    Unknown,
    is_known,
    join,
)
from smemlint.frontend.python.python_source import PythonText
from smemlint.sources.source import Source

HALF = DType("float16", 16)
VALUES = [0, 1, True, 1.0, "a", None, (1, 2), [1], {"a": 1}, HALF, Symbol("m.x"), UNKNOWN, SEVERAL]


@pytest.mark.parametrize("value", VALUES)
def test_join_is_idempotent_and_has_a_top(value):
    assert join(value, value) is value
    assert join(value, UNKNOWN) is UNKNOWN
    assert join(UNKNOWN, value) is UNKNOWN


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(VALUES, 2)))
def test_join_is_commutative(one, other):
    assert join(one, other) is join(other, one)


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        (1, 2, SEVERAL),
        (1, True, SEVERAL),  # equal, but not of one type
        ("a", SEVERAL, SEVERAL),
        ((1, 2), (1, 2), (1, 2)),
        (Symbol("m.x"), Symbol("m.x"), Symbol("m.x")),
        (Symbol("m.x"), Symbol("m.y"), UNKNOWN),
        (1, Symbol("m.x"), UNKNOWN),
        (Tensor((4,), None, HALF), Tensor((4,), None, None), Tensor((4,), None, None)),
        (Tensor((4,), None, HALF), Tensor((8,), None, HALF), Tensor(None, None, HALF)),
        (Unknown("a"), Unknown("b"), UNKNOWN),
    ],
)
def test_join_keeps_what_both_have(one, other, result):
    assert join(one, other) == result


def test_constants_are_known_through_and_through():
    assert is_known([1, (2, {"a": None})])
    assert not is_known([1, (2, {"a": UNKNOWN})])
    assert not is_known(Symbol("m.x"))


@pytest.mark.parametrize(
    ("item", "container", "result"),
    [
        (1, (1, 2), True),
        (3, range(4), True),
        ("a", {"a": 1}, True),
        ("b", "abc", True),
        (1, "abc", None),
        ([1], {"a": 1}, None),
        (300, b"abc", None),
        (1, 2, None),
        (UNKNOWN, (1, 2), None),
    ],
)
def test_membership_that_python_refuses_is_not_known(item, container, result):
    assert fold_membership(item, container) is result


def test_items_and_slices_that_are_not_there_are_not_known():
    assert (item_of((1, 2), -1), item_of([1], 1), item_of({"a": 1}, "b")) == (2, UNKNOWN, UNKNOWN)
    assert slice_of("abcd", [None, None, 2]) == "ac"
    assert slice_of([1, 2], [None, None, 0]) is UNKNOWN
    assert slice_of([1, 2], [None, UNKNOWN, None]) is UNKNOWN
    assert call_builtin("range", [0, 8, 0]) is UNKNOWN


def test_arguments_behind_an_unpacked_sequence_are_not_known():
    assert arguments_by_name(("a", "b", "c"), (1, REST)) == {"a": 1, "b": UNKNOWN, "c": UNKNOWN}
    given = BoundArguments([[2, 3]], {"order": (1, UNKNOWN), "n": 4})
    assert (given.shape(0, "shape"), given.shape(1, "order"), given.get(2, "n")) == (
        (2, 3),
        None,
        4,
    )
    assert given.shapes("shape", "order") is None
    assert (integers((1, 1 << 31)), integers(5), integers(())) == (None, None, ())


def final(text: str, policy: Policy | None = None) -> object:
    """Returns what a function `f(c, d)` of unknown arguments returns, `...` where unknown."""
    scope = {"c": UNKNOWN, "d": UNKNOWN}
    interpreter = Interpreter(LibraryModel(), policy=policy)
    interpreter.run(ast.parse(f"{text}\nx = f(c, d)").body, (scope,))
    return scope["x"] if is_known(scope["x"]) else ...


PATHS = [
    ("a = 1\n if c: a = 2\n b = 3\n if c: b = a\n return b - a if c else 0", 0),
    ("a = 1\n if c: a = 2\n c = d\n return 2 * a if c else 2 * a", ...),
    ("a = [1]\n if c: a[0] = 2\n return a[0]", ...),
    ("a = []\n if c: a.append(1)\n else: a.append(1)\n return len(a)", 1),
    ("if c: return 1\n if not d: return 1\n return 1", 1),
    ("for i in (1, 2):\n  if c: break\n return i", ...),
]


@pytest.mark.parametrize(("body", "value"), PATHS)
def test_a_condition_has_one_outcome_on_a_path(body, value):
    assert final(f"def f(c, d):\n {body}", PathSensitive()) == value


def test_without_paths_the_first_of_them_is_not_known():
    assert final(f"def f(c, d):\n {PATHS[0][0]}") is ...


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("a = []\n a.append(1)\n return len(a)", 1),
        ("a = [1, 2]\n a.pop()\n return len(a)", 1),
        ("a = [1, 2]\n a.remove(1)\n return len(a)", ...),
        ("a = [1, 2]\n del a[0]\n return a[0]", ...),
        ("a = {'k': 1}\n a.update(k=2)\n return a['k']", ...),
        ("a = dict(k=1, l=c)\n return a['k']", 1),
        ("a = dict({'k': 1}, l=2)\n return a['k'] + a['l']", 3),
        ("a = dict(k=1, **d)\n return a['k']", ...),
        ("a = dict(k=c)\n return 1 if a is None else 2", 2),
        ("a = [c]\n return 1 if a is not None else 2", 1),
        ("return 1 if c is None else 2", ...),
        ("a = {'k': 1}\n if c: a.clear()\n return a.get('k')", ...),
        ("a = {}\n a.update(d)\n return 'k' in a", ...),
        ("a = {}\n a.update(d)\n a['k'] = 1\n return a['k']", 1),
        ("a = {}\n a.update(d)\n return [k for k in a.keys()]", ...),
        ("a = {'k': 1}\n return a.get('k', 2) + a.get('l', 2)", 3),
        ("a = {'k': 1, 'l': 2}\n return [v for k, v in a.items()]", [1, 2]),
        ("a = 1\n del a\n return a", ...),
    ],
)
def test_what_methods_leave_in_a_container_is_known_or_forgotten(body, value):
    assert final(f"def f(c, d):\n {body}") == value


def test_many_open_conditions_do_not_multiply():
    branches = "\n".join(f" if c[{i}]: a += {i}" for i in range(200))
    interpreter = Interpreter(LibraryModel(), policy=PathSensitive())
    body = ast.parse(f"def f(c):\n a = 0\n{branches}\n return a\nx = f(c)").body
    with pytest.raises(OverBudget):
        for _ in range(100):
            interpreter.run(body, ({"c": UNKNOWN},))
    assert interpreter.steps == 60_001


def test_a_handler_may_be_overlaid():
    def constant(interpreter, node, scopes):
        return 7

    overlay = {**EXPRESSIONS, ast.Constant: constant}
    scope = {}
    Interpreter(LibraryModel(), expressions=overlay).run(ast.parse("x = 1 + 1").body, (scope,))
    assert scope["x"] == 14
    assert evaluates()(constant) is constant


def test_constants_of_a_module_are_expressions_of_their_values():
    source = Source(
        "m.py", "N = 4\nM = N * 2\nS = (N, M)\nT = 1\nT = 2\nU = f()\nimport k\nV = k.w\n"
    )
    found = {n: ast.unparse(e) for n, e in module_constants(PythonText.of(source)).items()}
    assert found == {"N": "4", "M": "8", "S": "(4, 8)", "V": "k.w"}


def test_parametrizations_are_a_product_of_a_few_rows():
    text = """
@pytest.mark.parametrize("a", [1, 2, 3, 4])
@pytest.mark.parametrize("b, c", [(1, 2), (3, 4)])
def test(a, b, c): pass
"""
    (function,) = ast.parse(text).body
    found, left = parametrizations(function, lambda node: ast.literal_eval(node))
    assert (len(found), left) == (6, 2)
    assert found[0] == {"a": 1, "b": 1, "c": 2}
    assert found[-1] == {"a": 3, "b": 3, "c": 4}
