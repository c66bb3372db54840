"""Methods that launch: a call with the values of an earlier one is not run again."""

from __future__ import annotations

import pytest

from smemlint.analysis.simt.launches.host_runs import Host, launches_of
from smemlint.frontend.cuda.unit import LoadOptions, load_unit

KERNEL = "__global__ void k(float *g) { __shared__ float s[64]; s[threadIdx.x] = g[0]; }\n"
CHECK = (
    "int e = 0; for (int i = 0; i < lib::rows(); ++i) for (int j = 0; j < lib::rows(); ++j) ++e;"
)
BENCH = """
struct Bench {{
  lib::Size size;
  {member}
  int one({parameters}) {{ k<<<1, {block}>>>(nullptr); {check} {after} return e; }}
}};
void all() {{ Bench b; {before} for (int i = 0; i < {trips}; ++i) b.one({given}); }}
"""


def run_of(
    trips: int = 2,
    *,
    member: str = "",
    parameters: str = "lib::Size at",
    block: str = "64",
    after: str = "",
    before: str = "",
    given: str = "lib::size(i)",
):
    """Returns what a loop over calls of a method launches."""
    text = KERNEL + BENCH.format(
        member=member,
        parameters=parameters,
        block=block,
        check=CHECK,
        after=after,
        before=before,
        trips=trips,
        given=given,
    )
    unit = load_unit("a.cu", text, LoadOptions())
    (function,) = unit.functions_named("all")
    return launches_of(Host(unit, (), function, frozenset(("one",))))


def test_calls_with_the_same_values_take_no_steps_of_their_own():
    few, many = run_of(2), run_of(10)
    assert not many.is_cut
    assert len(few.launches) == len(many.launches) == 1
    assert many.launches[0].block == (64, 1, 1)
    assert many.steps < 2 * few.steps


def test_what_a_constant_reference_leads_to_is_compared():
    run = run_of(
        given="shape", parameters="const dim3 &shape", block="shape", before="dim3 shape(64);"
    )
    assert [launch.block for launch in run.launches] == [(64, 1, 1)]
    run = run_of(
        given="shape",
        parameters="const dim3 &shape",
        block="shape",
        before="dim3 shape(64); b.one(shape); shape.x = 32;",
    )
    assert {launch.block for launch in run.launches} == {(64, 1, 1), (32, 1, 1)}


@pytest.mark.parametrize(
    ("parameters", "given", "expected"),
    [("int n", "32 << i", {32, 64}), ("int &n", "n", {32, 64}), ("int *n", "&n", {32, 64})],
)
def test_other_values_and_places_that_are_written_are_run_for(parameters, given, expected):
    name = "*n" if "*" in parameters else "n"
    run = run_of(
        parameters=parameters,
        given=given,
        block=name,
        after=f"{name} *= 2;",
        before="int n = 32;",
    )
    assert {launch.block[0] for launch in run.launches if launch.block} == expected


def test_an_object_that_holds_a_number_is_run_for_each_time():
    run = run_of(member="int n = 32;", before="b.n = 32;", block="n", after="n *= 2;")
    assert {launch.block[0] for launch in run.launches if launch.block} == {32, 64}


@pytest.mark.parametrize(
    "member", ["int seed = lib::get();", "static constexpr int kRows = 4 * 2;"]
)
def test_a_number_that_is_not_known_and_a_constant_of_the_class_run_nothing_again(member):
    few = run_of(2, member=member, after="seed = lib::get();" if "seed" in member else "")
    many = run_of(10, member=member, after="seed = lib::get();" if "seed" in member else "")
    assert [launch.block for launch in many.launches] == [(64, 1, 1)] * len(few.launches)
    assert many.steps < 2 * few.steps


def test_what_a_call_that_is_not_run_again_sets_is_not_what_it_was():
    """The grid of the last launch is one of the number that the second call leaves."""
    run = run_of(
        3,
        member="int n = lib::get();",
        after="n = lib::get(); if (n == at) { k<<<1, 32>>>(nullptr); }",
        parameters="int at",
        given="b.n",
    )
    assert {launch.block[0] for launch in run.launches if launch.block} == {32, 64}
