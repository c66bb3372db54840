"""How the time of a run grows with its input: `python tests/benchmarks/bench_growth.py`.

Each measure is run at three sizes, each twice the one before. The exponent is that of the size by
which the processor time grows from the first to the last: 1 is linear, 2 quadratic.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.facts import Facts
from smemlint.lint.check import run_rules
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable

Files = dict[str, str]
STORE = "s[threadIdx.x * 2 + {0}] = g[{0}];"


def kernel(name: str, body: str, template: str = "") -> str:
    """Returns a kernel with an array in shared memory."""
    return (
        f"{template}__global__ void {name}(float *g) {{ __shared__ float s[4096];\n{body}\n}}\n"
        f"{template}void run_{name}(float *g) {{ {name}<<<1, 64>>>(g); }}\n"
    )


def files(size: int) -> Files:
    """Files with a kernel each."""
    return {f"f{k}.cu": kernel(f"k{k}", STORE.format(k)) for k in range(size)}


def kernel_length(size: int) -> Files:
    """Statements of one kernel, each with a bank conflict."""
    return {"a.cu": kernel("k", "\n".join(STORE.format(k) for k in range(size)))}


def include_depth(size: int) -> Files:
    """Guarded headers, each of which includes all before it."""
    found = {"a.cu": f'#include "h{size - 1}.h"\n' + kernel("k", STORE.format(0))}
    for k in range(size):
        includes = "".join(f'#include "h{j}.h"\n' for j in range(max(0, k - 3), k))
        body = "\n".join(
            f"static inline int f{k}_{j}(int a) {{ return a + {j}; }}" for j in range(20)
        )
        found[f"h{k}.h"] = f"#ifndef H{k}\n#define H{k}\n{includes}{body}\n#endif\n"
    return found


def instances(size: int) -> Files:
    """Instances of a kernel template, whose addresses the argument decides."""
    text = (
        "template <int N> __global__ void k(float *g) { __shared__ float s[4096];"
        " s[threadIdx.x * N] = *g; }\n"
    )
    launches = " ".join(f"k<{n + 1}><<<1, 64>>>(g);" for n in range(size))
    return {"a.cu": f"{text}void run(float *g) {{ {launches} }}\n"}


def alike_instances(size: int) -> Files:
    """Statements of a kernel that is launched for types of one size."""
    body = "\n".join(STORE.format(k) for k in range(size))
    text = (
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"
        "template <class T> struct alignas(8 * sizeof(T)) V { T x[8]; };\n"
        "template <class T> __global__ void k(const V<T> *g) { __shared__ V<T> s[1024];\n"
        f"{body}\n}}\n"
    )
    types = ("half", "__nv_bfloat16", "__nv_fp8_e4m3", "__nv_fp8_e5m2")
    launches = " ".join(f"k<{t}><<<1, 64>>>((const V<{t}> *)g);" for t in types)
    return {"a.cu": f"{text}void run(void *g) {{ {launches} }}\n"}


def texts_of_hosts(size: int) -> Files:
    """Calls of a host function that names types in a text."""
    cases = " ".join(f'case {k}: return "type {k}";' for k in range(12))
    name = f'std::string name(const int t) {{ switch (t) {{ {cases} }} return "none"; }}\n'
    calls = "\n".join("text = text + name(t);" for _ in range(size))
    host = f"void run(float *g, int t) {{ std::string text;\n{calls}\nk<<<1, 64>>>(g); }}\n"
    return {"a.cu": f"#include <string>\n{kernel('k', STORE.format(0))}{name}{host}"}


def parse_errors(size: int) -> Files:
    """Statements that no parser takes, in a kernel of as many others."""
    lines = (STORE.format(k) if k % 2 else f"int x{k} = (a @@ {k};" for k in range(2 * size))
    return {"a.cu": kernel("k", "\n".join(lines))}


def expression_templates(size: int) -> Files:
    """Class templates that a base names for each of their own instances."""
    names = [f"Op{k}" for k in range(size)]
    text = "".join(f"template <class X> struct {name};\n" for name in names)
    members = " ".join(f"typedef {name}<const D> Of{name};" for name in names)
    text += f"template <class D> struct Base {{ {members} }};\n"
    text += "".join(
        f"template <class X> struct {name} : Base<{name}<X>> {{ X *x; }};\n" for name in names
    )
    leaf = "struct Leaf : Base<Leaf> { float x; };\n"
    return {"a.cu": text + leaf + kernel("k", f"Leaf l; l.x = 0; {STORE.format(0)}")}


def definitions_of_a_name(size: int) -> Files:
    """Methods of one name that call each other with what a launch needs."""
    methods = "".join(
        f"struct C{k} {{ static void run(float *g, int n) {{ C{(k + 1) % size}::run(g, n / 2);"
        " k<<<1, n>>>(g); } };\n"
        for k in range(size)
    )
    declared = "".join(f"struct C{k};\n" for k in range(size))
    main = "int main() { float *g; C0::run(g, 64); }\n"
    return {"a.cu": kernel("k", STORE.format(0)) + declared + methods + main}


MEASURES: dict[Callable[[int], Files], int] = {
    files: 10,
    kernel_length: 200,
    include_depth: 20,
    instances: 16,
    alike_instances: 100,
    texts_of_hosts: 50,
    parse_errors: 100,
    expression_templates: 10,
    definitions_of_a_name: 20,
}
"""What is measured, and its smallest size."""


def seconds(found: Files) -> float:
    """Returns the processor seconds of analysing files and judging what was found."""
    sources = [Source(path, text) for path, text in found.items()]
    began = time.process_time()
    facts, _ = analyze(sources, Settings())
    run_rules(facts if isinstance(facts, Facts) else Facts(facts), lambda path: Settings())
    return time.process_time() - began


def main() -> None:
    """Prints a row a measure."""
    seconds(files(1))  # imports
    print(f"{'measure':<22}{'sizes':>16}{'seconds':>24}{'exponent':>10}")
    for measure, smallest in MEASURES.items():
        sizes = [smallest, 2 * smallest, 4 * smallest]
        spent = [min(seconds(measure(size)) for _ in range(3)) for size in sizes]
        exponent = math.log(spent[-1] / spent[0]) / math.log(sizes[-1] / sizes[0])
        shown = "".join(f"{s:8.3f}" for s in spent)
        print(f"{measure.__name__:<22}{'/'.join(map(str, sizes)):>16}{shown:>24}{exponent:10.2f}")


if __name__ == "__main__":
    main()
