"""Lane addresses of whole kernels against what CuTe's compiled headers touch."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import copy_cases
import random_cases
from cute_recordings import Recorded, read

FIXTURES = Path(__file__).parents[3] / "fixtures" / "cute"
_, RECORDED = read(FIXTURES / "copies.xz")
BY_NAME = {case.name: case for case in RECORDED}


def differences(recorded: Recorded, case: copy_cases.Case) -> tuple[int, int]:
    """Lane accesses that are equal, of all."""
    runs, addresses = random_cases.addresses_of(case)
    assert case[0] == recorded.threads
    assert runs == recorded.runs
    equal = int((addresses == recorded.addresses).sum())
    return equal, recorded.addresses.size


def test_the_kernels_are_all_there() -> None:
    assert set(copy_cases.cases()) == set(BY_NAME)
    assert len(BY_NAME) == 65
    assert sum(case.addresses.size for case in RECORDED) == 1_261_312


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_lane_of_a_kernel(name: str) -> None:
    equal, total = differences(BY_NAME[name], copy_cases.cases()[name]())
    assert equal == total


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # facts/cute_partition.md, section 13: wavefronts of the worst instruction, by kind
        ("sgemm_1_nt", {"store 4": (1, 1), "load 4": (1, 1)}),
        ("sgemm_1_tn", {"store 4": (1, 1), "load 4": (4, 1)}),
        ("sgemm_2_nt", {"store 16": (4, 4), "load 4": (1, 1)}),
        ("sgemm_2_tn", {"store 4": (4, 1), "load 4": (1, 1)}),
        ("sgemm_sm70_tn", {"store 4": (4, 1), "load 4": (1, 1)}),
        ("sgemm_sm80_f_tn", {"cp.async 4": (4, 1), "load 4": (1, 1)}),
        ("sgemm_sm80_h_ldsm4", {"cp.async 16": (4, 4), "ldmatrix4 16": (4, 4)}),
        ("ex50_default", {"store 4": (1, 1), "load 4": (4, 1)}),
        ("ex50_autovec", {"store 4": (1, 1), "load 16": (16, 4)}),
        ("epi_f32_sw128", {"store 8": (4, 2), "load 8": (4, 2)}),
        ("epi_sw64_stsm4", {"stmatrix4 16": (4, 4), "ldmatrix4 16": (4, 4)}),
        ("op_plain", {"ldmatrix4 16": (32, 4)}),
        ("fa3_o_f32", {"store 8": (4, 2)}),
        (
            "flash_fwd_d128",
            {"cp.async 16": (4, 4), "ldmatrix4 16": (4, 4), "store 4": (1, 1), "load 16": (4, 4)},
        ),
    ],
)
def test_wavefronts_of_known_kernels(name: str, expected: dict[str, tuple[int, int]]) -> None:
    from smemlint.hardware.banks import wavefronts

    threads, instructions = copy_cases.cases()[name]()
    worst: dict[str, tuple[int, int]] = {}
    for one in instructions:
        kind = {"cp.async": "store"}.get(one.op, one.op)
        matrices = {"matrices": one.matrices} if one.matrices else {}
        warps = random_cases.addresses(one, threads).reshape(-1, 32)
        cost = wavefronts(warps, kind=kind, width=one.width, **matrices)
        key = f"{one.op}{one.matrices or ''} {one.width}"
        seen = int(cost.wavefronts.max()), int(cost.ideal.max())
        worst[key] = max(worst.get(key, (0, 0)), seen)
    assert worst == expected


def test_what_is_not_aligned_keeps_its_width() -> None:
    threads, instructions = copy_cases.cases()["st_odd"]()
    misaligned = [i for i in instructions if np.any(random_cases.addresses(i, threads) % i.width)]
    assert len(misaligned) == len(instructions) == 80
    assert {i.width for i in instructions} == {16}
