"""Lanes that move by different multiples of an unknown: priced where no value matters."""

from __future__ import annotations

import pytest
from conftest import accesses_of
from figures import kernel

from smemlint.facts import Certainty


@pytest.mark.parametrize(
    ("index", "wavefronts"),
    [
        ("t / 16 * (n + 1) * 64 + t % 16 * 4", 4),  # each half: 16 words in 8 banks, other rows
        ("t / 16 * (n + 1) * 32 + t % 16 + 16 * (t / 16)", 1),
        ("t * (n + 1) * 32", 32),
        ("t / 16 * n * 64 + t % 16 * 4", None),  # n = 0: both halves read the same words
        ("t / 16 * (n + 1) * 16 + t % 16 * 4", None),  # an odd n changes banks
    ],
)
def test_figures(index, wavefronts):
    (access,) = accesses_of(kernel(f"s[{index}] = 1;", params="float *g, unsigned n"))
    if wavefronts is None:
        assert access.certainty is Certainty.UNKNOWN
    else:
        assert access.wavefronts.mean == wavefronts
