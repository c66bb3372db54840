"""Sums and operations as C writes them: with the parentheses that they need, and no others."""

from __future__ import annotations

import random

import pytest

from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.spelling import abbreviated, operation, sum_of_products
from smemlint.analysis.simt.domain.values import AffineInt

NAMES = {"n": 37, "m": 90, "k": 1001}
OPERATORS = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>")


@pytest.mark.parametrize(
    ("terms", "constant", "text"),
    [
        ([], 0, "0"),
        ([("n", 1)], 0, "n"),
        ([("n", 1), ("m", -2)], 3, "n + 3 - 2 * m"),
        ([("n & 3", 1)], 0, "n & 3"),
        ([("n & 3", 4)], 1, "4 * (n & 3) + 1"),
        ([("n + m", -1)], 8, "8 - (n + m)"),
        ([("n", 1), ("n & 3", -1)], 0, "n & ~3"),
        ([("n", 4), ("n & 7", -4)], 1, "4 * (n & ~7) + 1"),
        ([("n", 4), ("n & 7", -1)], 0, "4 * n - (n & 7)"),
        ([("n", None)], None, "lanes + lanes * n"),
        ([("a[i + 1]", 2), ("max(n, m)", 1)], 0, "2 * a[i + 1] + max(n, m)"),
    ],
)
def test_a_sum_is_written_as_c_writes_it(terms, constant, text):
    assert sum_of_products(terms, constant) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("k / (16 * (n + 1))", "k / (16 * (n + 1))"),
        ("16 * ((" + "k / 16 / " * 9 + "8) / g) * rows[k] / 16", "16 * (..) * rows[..] / 16"),
        ("k * (n + " * 30, "k * (.."),  # what a name was cut off to
        ("k + " * 30 + "k", "k + " * 15 + ".."),
    ],
)
def test_a_long_expression_is_shown_without_what_is_in_brackets(text, shown):
    assert abbreviated(text) == shown


def test_two_unknowns_of_one_name_both_count():
    assert sum_of_products([("x", 1), ("x", 1)]) == "x + x"


def test_random_expressions_have_the_value_of_what_they_spell():
    choose = random.Random(7)
    domain = AffineDomain()
    values = {name: domain.symbol(name, name) for name in NAMES}
    for _ in range(300):
        op = choose.choice(OPERATORS)
        (left, a), (right, b) = (choose.choice(list(values.items())) for _ in range(2))
        if choose.random() < 0.5:
            right = choose.choice(("1", "3", "4", "10"))
            b = AffineInt(int(right))
        text = f"({left}) {op} ({right})"
        value = domain.operate(op, a, b)
        try:
            expected = eval(text.replace("/", "//"), {}, dict(NAMES))
        except (ZeroDivisionError, ValueError):
            continue
        if not isinstance(value, AffineInt) or not 0 <= expected < 1 << 20:
            continue
        spelled = repr(value)
        assert eval(spelled.replace("/", "//"), {}, dict(NAMES)) == expected, (text, spelled)
        assert eval(operation(op, left, right).replace("/", "//"), {}, dict(NAMES)) == expected
        if len(spelled) < 60:
            values[spelled] = value
    assert len(values) > 50
