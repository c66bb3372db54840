"""Accumulations: one unknown stands for many, and what divides them all still divides it."""

from __future__ import annotations

from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.ctypes import I32, U32
from smemlint.analysis.simt.domain.scev import atom, scaled, sum_of
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.limits.budgets import MAX_SUMMED


def accumulated(kind, times, factor=1, multiple=1):
    domain = AffineDomain()
    total = AffineInt(0, kind)
    for i in range(times):
        total = domain.multiply(total, AffineInt(factor, kind))
        total = domain.add(total, domain.symbol(f"load{i}", f"a[{i}]", kind, multiple=multiple))
    return total


def test_few_unknowns_are_kept_apart():
    assert len(accumulated(I32, MAX_SUMMED).terms) == MAX_SUMMED


def test_a_sum_of_many_unknowns_is_one_of_few_with_their_common_multiple():
    total = accumulated(I32, 1_000, multiple=12)
    assert len(total.terms) <= MAX_SUMMED
    # 12 = 4 * 3: what may have wrapped around keeps the power of two alone.
    assert {s.multiple % 4 for s, _ in total.terms} == {0}


def test_factors_stay_within_64_bits():
    total = accumulated(U32, 300, factor=31)
    assert max(abs(factor) for _, factor in total.terms) < 1 << 63


def test_the_same_accumulation_is_the_same_unknown():
    domain = AffineDomain()
    difference = domain.add(accumulated(I32, 100), accumulated(I32, 100), -1)
    assert (difference.base, difference.terms) == (0, ())


def test_forms_of_many_atoms_are_one_of_their_alignment():
    form = atom("x0", 16)
    for i in range(1, 100):
        form = sum_of(form, scaled(atom(f"x{i}", 2), 4))
    assert len(form.terms) <= MAX_SUMMED
    assert form.alignment == 8
