"""Variables of a program that hold one value, unless another of its files writes them."""

from __future__ import annotations

import pytest
from figures import facts_in

MAIN = """
%s
__global__ void k(float *g) { __shared__ float s[1024]; s[2 * threadIdx.x] = g[0]; }
int main() { k<<<1, threads>>>(nullptr); }
"""
DEFINED = "int threads = 96;"


@pytest.mark.parametrize(
    ("declared", "other", "is_known"),
    [
        (DEFINED, "", True),
        (DEFINED, "extern int threads; void set(int n) { threads = n; }", True),  # main does not
        (DEFINED, "extern int threads; int get() { return threads; }", True),
        (f"extern int threads;\n{DEFINED}", "void set(int n) { threads = n; }", True),
        (f"static {DEFINED}", "extern int threads; void set(int n) { threads = n; }", True),
        (DEFINED, "int threads = 32; int main() { return threads; }", True),
        (DEFINED, "int set(int threads) { threads = 3; return threads; }", True),
    ],
)
def test_what_another_file_may_write_is_open(declared, other, is_known):
    facts = facts_in(main_cu=MAIN % declared, other_cu=other)
    found = [k.instance.block for k in facts.kernels if k.instance.place is not None]
    assert found == ([(96, 1, 1)] if is_known else [])


CONFIGURED = """
struct Shape { int threads = 64, rows = 2; };
%s
__global__ void k(float *g) { __shared__ float s[1024]; s[2 * threadIdx.x] = g[0]; }
void run() { dim3 block(shape.threads, shape.rows); k<<<1, block>>>(nullptr); }
int main() { %s run(); }
"""
SETS = "static Shape shape; void set(int n) { shape.threads = n; } void more(int n) { set(2 * n); }"


@pytest.mark.parametrize(
    ("declared", "body", "block"),
    [
        (SETS, "", (64, 2, 1)),
        (SETS, "set(32);", (32, 2, 1)),
        (SETS, "more(32); shape.rows = 4;", (64, 4, 1)),
        (f"{SETS} struct Sets {{ Sets() {{ set(96); }} }}; static Sets sets;", "", None),
        (f"{SETS} int begun() {{ set(96); return 1; }} int is_begun = begun();", "", None),
        (f"{SETS} struct Sets {{ Sets() {{ set(96); }} }};", "Sets sets;", (96, 2, 1)),
        (f"{SETS} void elsewhere();", "set(32); elsewhere();", None),
        (f"{SETS} void fill(Shape *);", "set(32); fill(&shape);", None),
        ("Shape shape{32, 4}; void fill(Shape &s) { s.rows = 8; }", "fill(shape);", None),
    ],
)
def test_what_a_program_sets_before_it_launches(declared, body, block):
    facts = facts_in(main_cu=CONFIGURED % (declared, body))
    found = [k.instance.block for k in facts.kernels if k.instance.place is not None]
    assert found == ([block] if block else [])


def test_what_a_function_of_another_file_sets():
    main = MAIN.replace("{ k", "{ set(32); k") % f"{DEFINED} void set(int n);"
    facts = facts_in(main_cu=main, other_cu="extern int threads; void set(int n) { threads = n; }")
    found = [k.instance.block for k in facts.kernels if k.instance.place is not None]
    assert found == [(32, 1, 1)]
