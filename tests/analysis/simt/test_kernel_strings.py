"""Kernels in strings of C++: evaluated where they stand, named where the text is not theirs alone."""

from __future__ import annotations

import pytest
from conftest import facts_of

KERNEL = """__global__ void k(float *o) {
  __shared__ float s[1024];
  o[0] = s[threadIdx.x * 4];
}
"""
PLAIN = "\n".join(f'  "{line}\\n"' for line in KERNEL.splitlines())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f'const char *p = R"({KERNEL})";', 3),
        (f'#define SOURCE R"({KERNEL})"', 3),
        (f'int a;\nconst char *p =\n    R"x(\n{KERNEL})x";\nint b;', 6),
        (f"const char *p =\n{PLAIN};", 4),
        (f'nvrtcCreateProgram(&p, R"({KERNEL})", "k.cu", 0, nullptr, nullptr);', 3),
        (f"#define CODE(...) #__VA_ARGS__\nconst char *p = CODE(\n{KERNEL});", 5),
        ("#define TEXT(...) #__VA_ARGS__\n#define CODE(...) TEXT(__VA_ARGS__)\n"
         f"const char *p = CODE({KERNEL});", 5),
        (f"#define CODE(x) \\\n  #x\nstd::string p =\n  CODE({KERNEL});", 6),
        (f'#include "strings.h"\nconst char *p = TEXT(extern "C"\n{KERNEL});', 5),
        (KERNEL.replace("(float", '(float *i, const char *n = "R", float') , 3),
    ],
)  # fmt: skip
def test_a_kernel_in_a_string_is_evaluated_at_its_place(text, line):
    facts = facts_of(text)
    ((access,),) = (kernel.accesses for kernel in facts.kernels)
    assert (access.line, access.wavefronts.mean, access.ideal.mean) == (line, 4.0, 1.0)
    assert access.span.line == line
    assert text.splitlines()[line - 1][access.span.column - 1 :].startswith("s[")


@pytest.mark.parametrize(
    "text",
    [
        f'f(R"({KERNEL})" + std::to_string(n));',
        'f("__global__ void k(float *o) { __shared__ float s[" + size + "]; o[0] = s[0]; }");',
        f'out << R"({KERNEL})" << 3;',
        'f("#define N 4\\n__global__ void k(float *o) { __shared__ float s[N]; o[0] = s[0]; }");',
        f'const char *p[] = {{R"({KERNEL[:-3]})", "}}"}};',
        "#define STR(x) #x\nconst char *p = STR("
        + KERNEL.replace("o[0]", "\n#define N 4\no[0]")
        + ");",
    ],
)
def test_a_text_that_is_put_together_is_named(text):
    facts = facts_of(text)
    assert not facts.kernels
    line = 2 if "#define STR" in text else 1
    notes = [(n.span.line, n.reason.code) for n in facts.not_analysed]
    assert (line, "not-modelled") in notes


@pytest.mark.parametrize(
    "text",
    [
        'f("a __global__ function must not have __shared__ members");',
        'f("__global__ void k() {}");',
    ],
)
def test_other_strings_are_passed_over(text):
    facts = facts_of(text)
    assert not facts.kernels
    assert not facts.not_analysed
