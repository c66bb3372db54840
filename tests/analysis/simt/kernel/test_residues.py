"""Residues of unknowns that the banks can tell apart, against all values of the unknown."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import accesses_of
from figures import kernel
from traces import access, shared

from smemlint.analysis.simt.domain.values import I64, AffineInt, Symbol, Unknown, is_of_launch
from smemlint.analysis.simt.kernel import evaluate
from smemlint.analysis.simt.kernel.alternatives import alternative_offsets
from smemlint.facts import AccessKind, Certainty
from smemlint.hardware.banks import wavefronts
from smemlint.reasons import ReasonCode

LANES = np.arange(32, dtype=np.int64)


def alternatives(base, step, *, width=4, multiple=1):
    offset = AffineInt(base, I64, ((Symbol("n", "n", multiple), step),))
    return alternative_offsets(offset, access(AccessKind.LOAD, shared(), offset, width=width))


@pytest.mark.parametrize(
    ("width", "step", "multiple", "count"),
    [
        (4, 4, 1, 1),  # whole words only rotate the banks
        (4, 128, 1, 1),
        (1, 1, 1, 4),  # bytes of a word
        (1, 2, 1, 2),
        (2, 2, 1, 2),
        (2, 1, 2, 2),
        (8, 4, 1, 1),  # the misaligned half would fault
        (16, 16, 1, 1),
    ],
)
def test_how_many_residues_there_are(width, step, multiple, count):
    assert len(alternatives(LANES * width, step, width=width, multiple=multiple)) == count


@pytest.mark.parametrize(("width", "stride"), [(1, 1), (1, 3), (2, 2), (4, 8), (8, 8)])
def test_the_costs_of_the_residues_are_those_of_all_values(width, stride):
    base = LANES * stride * width
    found = {int(w) for a in alternatives(base, width, width=width) for w in cost(a, width)}
    every = {int(w) for n in range(64) for w in cost(base + n * width, width)}
    assert found == every


def cost(addresses, width):
    return np.atleast_1d(wavefronts(addresses, kind="load", width=width).wavefronts)


def test_lanes_that_move_by_different_multiples_are_unknown():
    found = alternatives(LANES * 4, LANES)
    assert isinstance(found, Unknown)
    assert found.reason.code is ReasonCode.RESIDUES


def test_rows_of_whole_banks_may_move_apart():
    (found,) = alternatives(LANES * 4, LANES * 128)
    assert int(wavefronts(found, kind="load", width=4).wavefronts) == 1


def test_an_access_is_counted_once_whatever_its_residues():
    (access_of_half,) = accesses_of(kernel("s[t + n] = 1;", shared="half s[1024]"))
    assert (access_of_half.instructions, access_of_half.wavefronts.mean) == (1, 1)


def test_residues_that_do_not_fit_are_not_tried_again(monkeypatch):
    """16 of `n` fit in 64 runs, times 16 of `m` do not: the first run and one for each of `n`."""
    splits = []

    class Run(evaluate._Run):
        def __init__(self, *given):
            splits.append(given[4])
            super().__init__(*given)

    monkeypatch.setattr(evaluate, "_Run", Run)
    body = "s[((t + n) & 15) * 8] = 1; s[((t + m) & 15) * 8] = 2;"
    first, second = accesses_of(kernel(body, params="float *g, int n, int m"))
    assert first.wavefronts.mean == 4
    assert second.wavefronts is None
    assert splits == [{}, *({"param:n": (16, residue)} for residue in range(16))]


PADDED = "int b = t + {0}; s[b + (b >> 5)] = 1;"
"""Free of conflicts where a warp begins at a multiple of 32, 2-way for the other 31 residues."""


def test_a_figure_that_residues_of_an_argument_decide_is_a_sample():
    (padded,) = accesses_of(kernel(PADDED.format("n / 2"), params="float *g, int n"))
    assert padded.certainty is Certainty.SAMPLED
    assert padded.reason.code is ReasonCode.RESIDUES
    assert (padded.wavefronts.min, padded.wavefronts.max) == (1, 2)


def test_blocks_go_through_all_residues_of_their_numbers():
    (padded,) = accesses_of(kernel(PADDED.format("blockIdx.x")))
    assert padded.certainty.is_decided
    assert padded.wavefronts.mean == 63 / 32


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("param:n", True),
        ("(/ 0;param:n*1 2)", True),
        ("sum 0;param:n*4;gridDim.x*2", True),
        ("(min 0;param:n*1 16)", True),
        ("blockIdx.x", False),
        ("(/ 0;param:n*1;blockIdx.x*1 2)", False),
        ("(>> 0;loop:i@12:iteration@9*1 1)", False),
        ("#0f3a77", False),
    ],
)
def test_what_is_one_number_in_a_launch(key, expected):
    assert is_of_launch(key) is expected
