"""Calls that the compiler evaluates: of `constexpr` functions with constants, however long.

The expected blocks are what nvcc 13.5 makes of the programs.
"""

from __future__ import annotations

from conftest import facts_of

KERNEL = """
template <int N> __global__ void k(float *o) {
  __shared__ float s[2048];
  s[threadIdx.x] = o[0];
  o[0] = s[threadIdx.x ^ 1];
}
"""
NAMES = [f"row_{i}" for i in range(60)]


def table(*, specifier: str = "constexpr") -> str:
    """A table of tuning parameters, one row a statement: far more than a helper has words."""
    enum = f"enum Kind {{ {', '.join(NAMES)} }};\n"
    struct = "struct Config { int threads; int rows; };\n"
    rows = "".join(
        f"  if (kind == {name} && n == {n}) return Config{{{32 * (1 + i % 8)}, {n}}};\n"
        for i, name in enumerate(NAMES)
        for n in (8, 16, 32, 64)
    )
    body = f"static {specifier} Config config(Kind kind, int n) {{\n{rows}  return Config{{1024, 1}};\n}}\n"
    return KERNEL + enum + struct + body


def blocks(text: str) -> list[tuple[str, int | None]]:
    """Returns the template argument of each instance, and its threads; None of guesses."""
    found = []
    for kernel in facts_of(text).kernels:
        ((_, number),) = kernel.instance.template
        x, y, z = kernel.instance.block
        found.append((number, x * y * z if kernel.instance.origin else None))
    return sorted(found)


LAUNCHES = "void f(float *o) { k<1><<<1, config(row_2, 64).threads>>>(o); }\n" + (
    "void g(float *o) { const Config c = config(row_59, 64); k<2><<<1, c.threads>>>(o); }\n"
)


def test_a_long_table_tells_the_block() -> None:
    assert blocks(table() + LAUNCHES) == [("1", 96), ("2", 128)]


def test_a_function_that_the_compiler_need_not_evaluate_stays_a_helper() -> None:
    assert not {96, 128} & {threads for _, threads in blocks(table(specifier="") + LAUNCHES)}


def test_as_many_calls_as_a_run_has_statements_count_as_one_each() -> None:
    calls = "".join(
        f"  {{ int n = config(row_{i}, 64).rows; }};\n" for i in range(60) for _ in "12"
    )
    launch = "  k<2><<<1, config(row_59, 64).threads>>>(o);\n"
    found = blocks(table() + f"void f(float *o) {{\n{calls}{launch}}}\n")
    assert found == [("2", 128)]  # 120 tables take 14,000 statements, where 10,000 end a run


def test_a_call_that_takes_too_long_leaves_the_rest_of_the_run_its_statements() -> None:
    slow = (
        "constexpr int slow(int n) { int t = 0;\n"
        "  for (int i = 0; i < 12; i++) for (int j = 0; j < 12; j++) for (int l = 0; l < 12; l++)\n"
        "    t += i * j * l + n;\n"
        "  return t % 8 * 32; }\n"
    )
    calls = "".join(f"  k<1><<<1, slow({i})>>>(o);\n" for i in range(20))
    found = dict(
        blocks(KERNEL + slow + f"void f(float *o) {{\n{calls}  k<99><<<1, 64>>>(o);\n}}\n")
    )
    assert found["99"] == 64
