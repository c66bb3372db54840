"""Figures of random kernels beside what their threads do."""

from __future__ import annotations

from shutil import which

import pytest
from differential import figures, measure
from programs import program


@pytest.mark.slow
@pytest.mark.skipif(which("g++") is None, reason="no C++ compiler (g++) to run the threads with")
def test_figures_of_random_kernels_are_what_their_threads_do(tmp_path):
    programs = {k: program(1, k, has_members=k >= 40) for k in range(60)}
    measured = measure(programs, tmp_path)
    compared = [
        f for k, generated in programs.items() for f in figures(k, generated.cuda, measured)
    ]
    assert len(compared) > 50
    assert [f for f in compared if f.is_wrong] == []
