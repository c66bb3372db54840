"""Random layouts, tilers and atoms against CuTe's compiled headers (tests/oracle)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import random_cases
from recorded import read

FIXTURE = Path(__file__).parents[3] / "fixtures" / "cute" / "random.xz"
HEADER, RECORDED = read(FIXTURE)


def test_there_are_a_thousand() -> None:
    assert HEADER["refused"] == []
    assert len(HEADER["algebra"]) + len(HEADER["copies"]) >= 1000
    assert len(RECORDED) == len(HEADER["copies"]) >= 300


def test_algebra_and_traits_print_as_cute_prints_them() -> None:
    differences = []
    for operation, arguments, expected in HEADER["algebra"]:
        answer = random_cases.algebra_answer(operation, arguments)
        if expected is None or answer != re.sub(r"\s+", " ", expected):
            differences.append((operation, arguments, answer, expected))
    assert differences == []


@pytest.mark.parametrize("index", range(len(RECORDED)))
def test_every_lane_of_a_copy(index: int) -> None:
    recorded = RECORDED[index]
    threads, instructions = random_cases.build(HEADER["copies"][index])
    runs, addresses = random_cases.addresses_of((threads, instructions))
    assert (threads, runs) == (recorded.threads, recorded.runs)
    # Threads beyond a remainder log nothing where the engine says that lanes may be left out.
    left_out = recorded.addresses < 0
    predicated = np.array([i.is_predicated for i in instructions], dtype=bool)
    assert not left_out[~predicated].any()
    assert np.array_equal(addresses[~left_out], recorded.addresses[~left_out])
