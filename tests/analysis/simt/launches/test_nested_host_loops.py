"""Nests of loops around a launch: how often the innermost body is run, and what is launched."""

from __future__ import annotations

import pytest

from smemlint.analysis.simt.launches import host_runs
from smemlint.analysis.simt.launches.host_runs import Host, launches_of
from smemlint.frontend.cuda.unit import LoadOptions, load_unit

KERNEL = "__global__ void k(float *g) { __shared__ float s[64]; s[threadIdx.x] = g[0]; }\n"
BENCH = """
struct Bench {{
  int w = 96, seed;
  bool run(int n) {{ k<<<1, {block}>>>(nullptr); seed = lib::get(); {after} return lib::is_good(); }}
}};
bool all(int m) {{ Bench b; bool ok = true; {text} return ok; }}
"""


def run_of(text: str, *, block: str = "64", after: str = ""):
    unit = load_unit(
        "a.cu", KERNEL + BENCH.format(block=block, after=after, text=text), LoadOptions()
    )
    (function,) = unit.functions_named("all")
    return launches_of(Host(unit, (), function, frozenset(("run",))))


def nest(depth: int, body: str) -> str:
    loops = (f"for (auto i{k} : lib::sizes({k})) {{ " for k in range(depth))
    return "".join(loops) + body + " }" * depth


@pytest.mark.parametrize("leave", ["", "if (!ok) return false;"])
def test_a_nest_takes_no_multiple_of_steps_for_each_loop(leave):
    steps = [run_of(nest(depth, f"ok = b.run(m); {leave}")).steps for depth in (2, 4, 8)]
    assert steps[1] < 2 * steps[0]
    assert steps[2] < 2 * steps[1]  # a loop runs its body twice, and not for each loop around it


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (nest(3, "ok = b.run(m); b.w = 32;"), {96}),
        ("b.w = 64; " + nest(2, "ok = b.run(m);") + nest(1, "b.w = 160; b.run(m);"), {64, 160}),
        ("for (int t : {32, 64, 128}) { b.w = t; " + nest(2, "ok = b.run(t);") + " }", {32, 64, 128}),
        ("for (int t : {32, 64}) { b.w = t; " + nest(1, "ok = b.run(t); b.w = 96;") + " }",
         {32, 64}),
    ],
)  # fmt: skip
def test_what_a_nest_launches_with_what_an_earlier_loop_left(text, expected):
    found = run_of(text, block="w").launches
    assert {launch.block[0] for launch in found if launch.block} == expected


def test_what_a_loop_sets_first_is_known_behind_it():
    nested = "for (auto a : lib::all()) for (auto c : lib::all()) { ok = b.run(m); "
    found = run_of(f"int n; {nested} n = 160; }} k<<<1, n>>>(nullptr);").launches
    assert {launch.block[0] for launch in found if launch.block} == {64, 160}


@pytest.mark.parametrize(
    ("block", "runs"),
    [("Traits::kThreads", 1), ("Class::kThreads", 1), ("n", 2)],
)
def test_a_block_of_constants_alone_is_looked_for_on_one_path(monkeypatch, block, runs):
    executed: list[object] = []

    def execute(policy, function, scope):
        executed.append(function)
        return real(policy, function, scope)

    real = host_runs.execute_host_function
    monkeypatch.setattr(host_runs, "execute_host_function", execute)
    text = (
        "struct Class { static constexpr int kThreads = sizeof(lib::Storage); };"
        "void all(int m) { int q = 32; if (lib::flag()) q = 64; int n = lib::get(q);"
        f" k<<<q, {block}>>>(nullptr); }}"
    )
    unit = load_unit("a.cu", KERNEL + text, LoadOptions())
    (function,) = unit.functions_named("all")
    launches_of(Host(unit, (), function, frozenset()))
    assert len(executed) == runs


def test_the_run_that_finds_nothing_new_stands_for_all_of_an_outermost_loop():
    once, loop = run_of("ok = b.run(m);"), run_of(nest(1, "ok = b.run(m);"), after="++w;")
    assert {launch.block for launch in loop.launches} == {(64, 1, 1)}
    assert loop.steps < 3.5 * once.steps  # to find the changes, and to find no further ones


@pytest.mark.parametrize("depth", [1, 3])
def test_each_further_trip_of_a_counted_loop_runs_a_nest_in_it_once(depth):
    def steps(trips: str) -> int:
        return run_of(f"for (int t : {{{trips}}}) {{ {nest(depth, 'ok = b.run(m);')} }}").steps

    first, second, third = steps("1"), steps("1, 2"), steps("1, 2, 3")
    assert third - second == second - first  # the first trip tells what the nest changes
    assert second - first < 0.6 * first


def test_what_is_written_to_a_stream_takes_no_steps():
    text = "lib::log() << m << b.w + 1 << name(m); ok = b.run(m);"
    namer = 'constexpr auto name = [](int i) -> std::string { if (i) return "a"; return "b"; };'
    unit = load_unit(
        "a.cu", KERNEL + namer + BENCH.format(block="w", after="", text=text), LoadOptions()
    )
    (function,) = unit.functions_named("all")
    written = launches_of(Host(unit, (), function, frozenset(("run",))))
    assert {launch.block for launch in written.launches} == {(96, 1, 1)}
    assert written.steps == run_of("lib::log(); ok = b.run(m);", block="w").steps


def test_what_is_written_to_a_stream_may_be_a_call_that_launches_or_an_assignment():
    found = run_of("lib::log() << (b.w = 64) << b.run(m);", block="w").launches
    assert {launch.block for launch in found} == {(64, 1, 1)}


@pytest.mark.parametrize("value", ["P{1, 2}", "P{i, 2}", "P(m, 2)", "lib::get(1.5)"])
def test_a_launcher_that_a_loop_gives_what_it_assigns_is_run_once(value):
    bench = (
        "template <typename T> struct Of { template <class P> bool run(P p)"
        " { k<<<1, 96>>>(nullptr); return lib::is_good(); } };"
    )
    body = f"P p; p = {value}; ok = b.run(p); if (!ok) return false;"
    loop = f"bool ok = true; for (auto i : lib::all()) {{ {body} }} return ok;"
    text = (
        f"template <typename T> bool all(int m) {{ using P = typename T::Shape; Of<T> b; {loop} }}"
    )
    unit = load_unit("a.cu", KERNEL + bench + text, LoadOptions())
    (function,) = unit.functions_named("all")
    run = launches_of(Host(unit, (), function, frozenset(("run",))))
    assert [launch.block for launch in run.launches] == [(96, 1, 1)]
