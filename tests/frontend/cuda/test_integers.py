"""Integer literals of C++ [lex.icon]."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemlint.frontend.cuda.lexer.integers import IntegerLiteral, read_integer


@pytest.mark.parametrize(
    ("text", "value", "is_decimal", "is_unsigned", "is_long"),
    [
        ("0", 0, False, False, False),
        ("42", 42, True, False, False),
        ("052", 42, False, False, False),
        ("0x2A", 42, False, False, False),
        ("0X2aULL", 42, False, True, True),
        ("0b101010", 42, False, False, False),
        ("1'000'000", 1_000_000, True, False, False),
        ("0xFF'FFu", 65_535, False, True, False),
        ("42z", 42, True, False, True),
        ("0u", 0, False, True, False),
        ("00", 0, False, False, False),
    ],
)
def test_literals(text, value, is_decimal, is_unsigned, is_long):
    assert read_integer(text) == IntegerLiteral(value, is_decimal, is_unsigned, is_long)


@pytest.mark.parametrize(
    "text", ["", "1.0", "09", "0x", "1e3", "1f", "-1", "0b2", "x", "u", "9" * 5_000]
)
def test_other_texts(text):
    assert read_integer(text) is None


@given(st.integers(0, 1 << 64), st.sampled_from(("{}", "{:#x}", "{:#b}", "0{:o}")))
def test_every_base_gives_the_number(value, form):
    assert read_integer(form.format(value)).value == value
