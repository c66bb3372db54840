"""What the comparison with logged launches says of each, without a compiler: the log is written here."""

from __future__ import annotations

import shutil

import pytest

from tests.oracle.launches.compare import Verdict, compared
from tests.oracle.launches.runtime import Launched, Program, programs

SOURCE = """
template <int N> __global__ void k(float *g) { g[threadIdx.x] = N; }
__global__ void open(float *g) { g[threadIdx.x] = 0; }
int main(int argc, char **argv) {
  k<1><<<1, 64, 128>>>(nullptr);
  k<2><<<1, 96>>>(nullptr);
  open<<<1, argc * 32>>>(nullptr);
}
"""
K1, K2, K3, OPEN = "_Z1kILi1EEvPf", "_Z1kILi2EEvPf", "_Z1kILi3EEvPf", "_Z4openPf"

pytestmark = pytest.mark.skipif(shutil.which("c++filt") is None, reason="c++filt is not installed")


@pytest.fixture
def program(tmp_path):
    (tmp_path / "main.cu").write_text(SOURCE)
    (found,) = programs(tmp_path)
    return found


@pytest.mark.parametrize(
    ("launched", "verdict"),
    [
        ((K1, (64, 1, 1), 128), Verdict.SAME),
        ((K1, (32, 1, 1), 128), Verdict.OTHER_BLOCK),
        ((K1, (64, 1, 1), 256), Verdict.OTHER_SIZE),
        ((K3, (64, 1, 1), 128), Verdict.NO_INSTANCE),
        ((OPEN, (32, 1, 1), 0), Verdict.GUESSED),
        (("_Z5otherPf", (32, 1, 1), 0), Verdict.NO_KERNEL),
    ],
)
def test_a_launch_has_a_verdict(program, launched, verdict):
    first, *_ = compared(program, [Launched(*launched)])
    assert first.verdict is verdict


def test_instances_that_are_never_launched_are_listed(program):
    rows = compared(program, [Launched(K1, (64, 1, 1), 128)])
    assert [row.verdict for row in rows] == [Verdict.SAME, Verdict.NEVER]


def test_a_program_has_what_lies_beside_its_only_main(tmp_path):
    (tmp_path / "main.cu").write_text(SOURCE)
    (tmp_path / "more.cu").write_text("void more() {}")
    main, more = tmp_path / "main.cu", tmp_path / "more.cu"
    assert programs(tmp_path) == [Program(main, (more,))]
    (tmp_path / "second.cu").write_text("int main() { return 0; }")
    assert {program.others for program in programs(tmp_path)} == {()}
