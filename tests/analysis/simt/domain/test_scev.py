"""Scalar evolution: terms and the alignment that they prove, against arithmetic on numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemlint.analysis.simt.domain.scev import CONSTANT, Scev, atom, power_of_two, scaled, sum_of

FACTORS = st.integers(-64, 64)
FORMS = st.lists(st.tuples(st.sampled_from("xyz"), FACTORS), max_size=4)


def form_of(parts: list[tuple[str, int]]) -> Scev:
    form = CONSTANT
    for key, factor in parts:
        form = sum_of(form, scaled(atom(key), factor))
    return form


@given(FORMS, st.fixed_dictionaries({key: st.integers(0, 1000) for key in "xyz"}))
def test_terms_are_the_sum_and_the_alignment_divides_it(parts, values):
    form = form_of(parts)
    total = sum(factor * values[key] for key, factor in parts)
    assert sum(factor * values[key] for key, factor in form.terms) == total
    assert total % form.alignment == total % form.ptxas_alignment == 0
    assert all(factor for _, factor in form.terms)


@given(FORMS, FORMS)
def test_a_difference_of_one_form_is_a_constant(one, other):
    assert sum_of(form_of(one), form_of(one), -1).terms == ()
    assert sum_of(form_of(one), form_of(other)).terms == sum_of(form_of(other), form_of(one)).terms


@pytest.mark.parametrize(
    ("number", "divisor"), [(0, 1024), (1, 1), (-8, 8), (48, 16), (4096, 1024)]
)
def test_the_power_of_two_of_a_number(number, divisor):
    assert power_of_two(number) == divisor


def test_what_is_proved_is_what_is_computed_not_what_it_adds_up_to():
    x = atom("x")  # (9 - x) * 17 + x moves by multiples of 16
    assert sum_of(scaled(sum_of(CONSTANT, x, -1), 17), x) == Scev((("x", -16),), 1, False, 1)


def test_what_tells_lanes_apart_stays_divergent():
    lane = atom("threadIdx.x", is_divergent=True)
    assert sum_of(scaled(atom("n"), 4), scaled(lane, 8)) == Scev(
        (("n", 4), ("threadIdx.x", 8)), 4, is_divergent=True, ptxas_alignment=4
    )
    assert scaled(lane, 0) == CONSTANT
