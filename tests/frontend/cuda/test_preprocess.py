"""The preprocessor: macros, three-valued conditions, includes."""

from __future__ import annotations

import pytest

from smemlint.frontend.cuda.preprocessor.directives import prepare
from smemlint.frontend.cuda.preprocessor.options import LoadOptions
from smemlint.frontend.cuda.preprocessor.preprocess import Preprocessed, preprocess


def run(text: str, files: dict[str, str] | None = None, **options: object) -> Preprocessed:
    found = files or {}
    return preprocess("a.cu", text, LoadOptions(read=found.get, **options))  # type: ignore[arg-type]


def out(text: str, files: dict[str, str] | None = None, **options: object) -> str:
    return " ".join(token.text for token in run(text, files, **options).tokens)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define N 4\nN NN", "4 NN"),
        ("#define F(x) (x+1)\nF(2) F (F(a)) F", "( 2 + 1 ) ( ( a + 1 ) + 1 ) F"),
        ("#define F(x, ...) x(__VA_ARGS__)\nF(a) F(a, 1, 2)", "a ( ) a ( 1 , 2 )"),
        ("#define F(x, r...) x(0, ##r)\nF(a) F(a, 1)", "a ( 0 ) a ( 0 , 1 )"),
        ("#define F(x, ...) x(0 __VA_OPT__(,) __VA_ARGS__)\nF(a) F(a, 1)", "a ( 0 ) a ( 0 , 1 )"),
        ('#define S(x) #x\nS(a + "b")', '"a + \\"b\\""'),
        ("#define C(a, b) a##b\n#define D(a, b) C(a, b)\n#define X 1\nC(X, 2) D(X, 2)", "X2 12"),
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define F(x) F(x)\nF(F(1))", "F ( F ( 1 ) )"),
        ("#define G F\n#define F(x) x\nG(3)", "3"),
        ("#define F(x) x\nF(a\n#pragma unroll\nb)", "a unroll b"),
        ("#define U 4\n#pragma unroll U\nx\n#pragma omp U", "unroll 4 x omp U"),
        ('_Pragma("unroll 2") for', "unroll 2 for"),
        ("#define X 1\n#undef X\nX\n#ifdef X\na\n#endif", "X"),
    ],
)
def test_macros(text: str, expected: str) -> None:
    assert out(text) == expected


def test_places_of_what_macros_make() -> None:
    text = "#define AT(i, j) s[(i) * LD + (j)]\nx = AT(t, 3);"
    tokens = run(text).tokens
    s, t = tokens[2], next(token for token in tokens if token.text == "t")
    assert (text[s.start : s.end], s.macro) == ("AT(t, 3)", "AT")
    assert (text[t.start : t.end], t.macro) == ("t", None)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("0x10 == 16 && 010 == 8 && 'a' == 97 && 1'000u == 1000", "yes"),
        ("-7 / 2 == -3 && -7 % 2 == -1 && (8 >> 1) == 4 && ~0 == -1", "yes"),
        ("1 ? 0 : 1", "no"),
        ("1 / 0", "yes"),  # undefined: unknown
        ("defined(__CUDACC__) && !defined _WIN32 && !USE_ROCM", "yes"),
        ("defined(SYCL_LANGUAGE_VERSION) || defined(MY_USING_SYCL) || MY_SYCL_BACKEND", "no"),
        ("UNKNOWN && 0", "no"),
        ("UNKNOWN > 3 || 1", "yes"),
        ("!(UNKNOWN || 1)", "no"),
        ("__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000", "yes"),
        ("FUNCTION(3) && 0", "no"),
        ("&&", "yes"),
    ],
)
def test_conditions(condition: str, expected: str) -> None:
    assert out(f"#if {condition}\nyes\n#else\nno\n#endif") == expected


def test_the_target_decides_the_architecture() -> None:
    text = "#if __CUDA_ARCH__ >= 800\nyes\n#endif\n__CUDA_ARCH__"
    assert out(text, arch="sm_75") == "750"
    assert out(text, arch="sm_100a") == "yes 1000"


@pytest.mark.parametrize(
    ("condition", "branch", "read"),
    [
        ("ifndef __CUDA_ARCH__", "k<<<1, 2>>>();", "k <<< 1 , 2 > > > ( ) ;"),
        ("if defined(YES) && !defined(__CUDA_ARCH__)", "k<<<1, 2>>>();", "k <<< 1 , 2 > > > ( ) ;"),
        ("ifndef __CUDA_ARCH__", "k<<<1, 2>>>();\n#else\nd", "d"),
        ("ifndef __CUDA_ARCH__", "host();", ""),
        ("if __CUDA_ARCH__ < 700", "k<<<1, 2>>>();", ""),
        ("if defined(YES) && __CUDA_ARCH__ > 1000", "k<<<1, 2>>>();", ""),
    ],
)
def test_launches_of_the_pass_for_the_host_are_read(condition: str, branch: str, read: str) -> None:
    assert out(f"#define YES\n#{condition}\n{branch}\n#endif") == read


def assumed(text: str, word: str, **options: object) -> tuple[str, ...]:
    result = run(text, **options)
    token = next(token for token in result.tokens if token.text == word)
    return result.regions.at(token.file, token.start)


def test_an_unknown_condition_is_assumed_and_named() -> None:
    text = "#ifdef A\nx\n#if B > 2\ny\n#endif\n#endif\nw"
    assert out(text) == "x y w"
    assert assumed(text, "x") == ("defined(A)",)
    assert assumed(text, "y") == ("defined(A)", "B > 2")
    assert assumed(text, "w") == ()
    assert out(text, undefines=frozenset({"A"})) == "w"
    assert assumed(text, "x", defines={"A": "1"}) == ()


def test_of_two_alternatives_the_one_of_a_build_without_macros_is_read() -> None:
    text = "#ifdef A\nx\n#else\ny\n#endif\n#if defined(A)\n#else\nz\n#endif\nw"
    assert out(text) == "y z w"
    assert assumed(text, "y") == assumed(text, "z") == ("!(defined(A))",)
    assert out(text, defines={"A": "1"}) == "x w"
    for before in ("#ifdef A\nmore\n#endif\n", '#include "missing.h"\n', "#include <lib/a.h>\n"):
        assert out(before + text).endswith("x w")
    assert out("#include <thrust/sort.h>\n" + text) == "y z w"


@pytest.mark.parametrize("condition", ["#ifdef N", "#if defined(N) && N > 1"])
def test_a_branch_that_needs_a_value_which_nothing_has_is_not_read(condition: str) -> None:
    text = f'#include "missing.h"\n{condition}\nint n = N;\n#else\nint n = 64;\n#endif\n'
    assert out(text) == "int n = 64 ;"
    assert assumed(text, "64")[0].startswith("!(defined(N)")
    assert out(text, defines={"N": "8"}) == "int n = 8 ;"
    assert out(text.replace("#else\nint n = 64;\n", "")) == "int n = N ;"  # no default is left
    version = text.replace("N", "LIB_VERSION")
    assert out(version) == "int n = LIB_VERSION ;"  # a header has it, not a command line


def test_alternatives_of_one_chain_are_not_chosen_beside_each_other() -> None:
    text = "#if defined(A)\na\n#elif defined(B)\nb\n#elif defined(C)\nc\n#endif\n"
    text += "#if defined(B) || defined(C)\nbc\n#else\nx\n#endif\n#ifdef C\nonly\n#endif\n"
    assert out(text) == "a x"
    assert assumed(text, "x") == ("!(defined(B) || defined(C))",)
    lone = "#if defined(A)\na\n#elif defined(B)\nb\n#endif\n#ifdef B\nonly\n#endif\n"
    assert out(lone) == "a only"  # what no other branch replaces is read


def test_a_unit_is_read_in_one_way() -> None:
    text = "#ifdef A\nx\n#endif\n#ifndef A\ny\n#endif\n#if !defined(A)\n#else\nz\n#endif"
    assert out(text) == "x z"
    assert assumed(text, "z") == ("!(!defined(A))",)


@pytest.mark.parametrize(
    "text",
    [
        "#ifndef A_H\n#define A_H\nx\n#endif",
        "#if !defined(A_H)\n#define A_H 1\nx\n#endif",
        "#ifdef N\n#else\nx\n#endif\n#ifndef N\n#define N 3\n#endif",
        "#undef Q\n#ifndef Q\nx\n#endif",
        "#ifndef __clang__\nx\n#endif",
    ],
)
def test_what_the_unit_itself_decides_is_no_assumption(text: str) -> None:
    assert assumed(text, "x") == ()


@pytest.mark.parametrize(
    "text",
    [
        "#ifndef __global__\n#define __global__\n#define __shared__\n#endif\n__global__ __shared__",
        "#if !defined(__shared__) || !defined(__device__)\ny\n#endif\n__global__ __shared__",
        "#ifdef MY_EDITOR\n#if 1\n#endif\n#define __global__\ny\n#endif\n__global__ __shared__",
        "#ifdef __CDT_PARSER__\n#define PARSES 1\n#endif\n"
        "#if PARSES == 1\n#define __shared__\n#endif\n__global__ __shared__",
    ],
)
def test_what_hides_specifiers_from_other_compilers_is_not_read(text: str) -> None:
    assert out(text) == "__global__ __shared__"


def test_a_feature_around_such_a_branch_stays_assumed() -> None:
    hidden = "#ifdef MY_EDITOR\n#define __global__\n#endif\n"
    assert out(f"#ifdef MY_GPU\n{hidden}__global__\n#endif") == "__global__"


def test_a_value_with_a_default_takes_the_default() -> None:
    text = (
        "#ifdef SIZE_0\n#define N SIZE_0\n#elif defined(SIZE_1)\n#define N SIZE_1\n"
        "#else\n#define N 16\n#endif\nN"
    )
    assert out(text) == "16"
    assert assumed(text, "16") == ()
    assert out(text, defines={"SIZE_1": "8"}) == "8"


def test_a_feature_that_switches_code_stays_assumed() -> None:
    text = "#ifdef HOPPER\n#define N 2\n#else\n#define N 1\n#endif\n#ifdef HOPPER\ncode N\n#endif"
    assert out(text) == "code 2"


@pytest.mark.parametrize("plain", ["#ifndef NO_WIDE", "#if !defined(NO_WIDE) && 1"])
def test_a_name_that_takes_code_away_is_not_assumed(plain: str) -> None:
    text = f"#ifdef NO_WIDE\n#define N 1\n#else\n#define N 2\n#endif\n{plain}\ncode N\n#endif"
    assert out(text) == "code 2"
    alternatives = text.replace("#define N 1", "one").replace("#define N 2", "two")
    assert out(alternatives) == "two code N"
    assert out(text, defines={"NO_WIDE": ""}) == ""


def test_includes() -> None:
    files = {
        "d/b.h": '#pragma once\n#include "c.h"\nb',
        "d/c.h": "#ifndef C\n#define C\nc M\n#endif",
        "inc/e.h": "e",
        "list.h": "X(1)",
    }
    text = (
        '#define M 5\n#include "d/b.h"\n#include "d/b.h"\n#include <f.h>\n#include "e.h"\n'
        '#define X(i) x##i\n#include "list.h"\n#include "list.h"\n#include "none.h"\n'
    )
    result = run(text, files)
    assert " ".join(t.text for t in result.tokens) == "c 5 b e x1 x1"
    assert result.not_found == ("none.h",)
    assert [f.path for f in result.files.values()] == [
        "a.cu", "d/b.h", "d/c.h", "inc/e.h", "list.h", "list.h",
    ]  # fmt: skip


def test_an_include_whose_path_a_macro_makes() -> None:
    macros = "#define S1(x) #x\n#define S(x) S1(x)\n#define DIR d\n#define FILE x.h\n"
    assert out(macros + "#include S(DIR/FILE)\n", {"d/x.h": "found"}) == "found"
    assert run(macros + "#include S(DIR/FILE)\n").not_found == ("d/x.h",)


@pytest.mark.parametrize(
    ("opening", "guard"),
    [
        ("#ifndef G\n#define G\n", "G"),
        ("#if !defined(G)\n#define G\n", "G"),
        ("#if !defined G\n#define G\n", "G"),
        ("// comment\n#ifndef G\n#define G\n", "G"),
        ("#ifdef G\n", ""),
        ("#if !defined(G) || X\n", ""),
        ("x\n#ifndef G\n", ""),
        ("#ifndef G\n#else\n", ""),
    ],
)
def test_include_guards(opening: str, guard: str) -> None:
    assert prepare("a.h", f"{opening}a\n#ifdef B\n#endif\n#endif\n").guard == guard
    assert not prepare("a.h", f"{opening}a\n#endif\nb").guard
    assert not prepare("a.h", f"{opening}a").guard


def test_a_guarded_header_is_read_once_and_again_when_its_guard_is_gone() -> None:
    header = "#ifndef G\n#define G\na\n#endif"
    includes = '#include "g.h"\n' * 3
    result = run(f"{includes}#undef G\n{includes}", {"g.h": header})
    assert " ".join(t.text for t in result.tokens) == "a a"
    assert [f.path for f in result.files.values()] == ["a.cu", "g.h", "g.h"]


def test_folders_of_includes_are_searched_for_those_behind_and_for_brackets_before() -> None:
    files = {"far/x.h": '#include "y.h"\nx', "far/y.h": "y", "far/lib/z.h": "z"}
    asked: list[str] = []

    def home(name: str) -> str | None:
        asked.append(name)
        return "far" if f"far/{name}" in files else None

    result = run('#include "none.h"\n#include "x.h"\n#include "y.h"\n', files, home=home)
    assert " ".join(t.text for t in result.tokens) == "y x y"
    assert asked == ["none.h", "x.h"]
    assert result.not_found == ("none.h",)
    result = run('#include <lib/z.h>\n#include "x.h"', files, home=home)
    assert " ".join(t.text for t in result.tokens) == "z y x"


def test_an_include_under_a_condition_is_assumed() -> None:
    result = run('#ifdef A\n#include "b.h"\n#endif\n#include "b.h"', {"b.h": "x"})
    first, second = result.tokens
    assert result.regions.at(first.file, first.start) == ("defined(A)",)
    assert result.regions.at(second.file, second.start) == ()


def test_quotes_around_a_header_of_the_toolkit_are_no_news() -> None:
    names = ("cuda_fp16.h", "thrust/sort.h", "assert.h", "cuda_utils.h", "utils/math.h")
    text = "".join(f'#include "{name}"\n' for name in names)
    assert run(text, {}).not_found == ("cuda_utils.h", "utils/math.h")
    own = run('#include "cuda.h"\n', {"cuda.h": "mine"})
    assert [t.text for t in own.tokens] == ["mine"]


def test_endless_includes_end() -> None:
    result = run('#include "b.h"\n#include "b.h"\nend', {"b.h": '#include "b.h"\n#include "b.h"\n'})
    assert result.tokens[-1].text == "end"
    assert result.notices[0].reason.code == "too-large"


def test_unbalanced_conditionals_are_said() -> None:
    assert [n.reason.code for n in run("#endif\nx").notices] == ["syntax"]
    assert [n.reason.code for n in run("#if 1\nx").notices] == ["syntax"]
    assert out("#if 0\nx") == "" and out("#else\nx\n#elif 1\ny") == "x y"


def test_a_build_without_cuda_is_not_read() -> None:
    assert out("#ifdef K2_WITH_CUDA\ncuda\n#else\nfake\n#endif") == "cuda"
    assert out("#ifndef USE_CUDA\nfake\n#else\ncuda\n#endif") == "cuda"
    assert out("#ifdef FAST\nfast\n#else\nplain\n#endif") == "plain"
    assert out("#undef USE_CUDA\n#ifdef USE_CUDA\ncuda\n#else\nfake\n#endif") == "fake"
