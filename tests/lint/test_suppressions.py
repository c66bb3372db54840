"""Suppressions: what each pragma covers, which are unused or malformed, and the edits that mend them."""

from __future__ import annotations

import pytest

from smemlint.facts import Span
from smemlint.finding import Finding, Severity
from smemlint.fix.add_ignores import with_ignores
from smemlint.lint.suppressions import suppress
from smemlint.sources.languages import CommentStyle
from smemlint.sources.pragmas import pragmas_in


def finding(
    line: int, end_line: int = 0, name: str = "bank-conflict", path: str = "k.cu"
) -> Finding:
    code = {"bank-conflict": "SML101", "out-of-bounds": "SML401"}[name]
    span = Span(path, line, 3, end_line or line, 9)
    return Finding(code, name, Severity.WARNING, "message", span)


def kept(text: str, *findings: Finding, path: str = "k.cu", **options):
    return suppress(findings, [path], lambda _: text, **options)


def reported(result) -> list[tuple[str, int, str]]:
    return [(f.code, f.span.line, f.message) for f in result.findings if f.code.startswith("SML9")]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("a;\ns[i] = 0;  // smemlint: ignore[SML101] why\n", True),
        ("a;\ns[i] = 0;  /* smemlint: ignore[bank-conflict] */\n", True),
        ("// smemlint: ignore[bank-conflict]\ns[i] = 0;\n", True),
        ("// smemlint: ignore[out-of-bounds]\ns[i] = 0;\n", False),
        ("a;  // smemlint: ignore[bank-conflict]\ns[i] = 0;\n", False),
        ("// smemlint: ignore-file[bank-conflict] generated\ns[i] = 0;\n", True),
        ("// smemlint: ignore-begin[bank-conflict]\ns[i] = 0;\n// smemlint: ignore-end\n", True),
        ("s[i] = 0;\ns[i] = 0;\n// smemlint: ignore-file[SML101, SML401]", True),
        ('x;\ns[i] = "// smemlint: ignore[bank-conflict]";\n', False),
    ],
)
def test_what_each_pragma_covers(text, hidden):
    result = kept(text, finding(2))
    assert [f.code for f in result.hidden] == (["SML101"] if hidden else [])
    assert ("SML101" in [f.code for f in result.findings]) is not hidden


def test_a_pragma_that_stands_alone_speaks_of_the_code_behind_further_comments():
    text = "// smemlint: ignore[bank-conflict] one\n// more\n\n/* and\nmore */ s[i] = 0;\n"
    assert [p.target for p in pragmas_in(text)] == [5]
    assert len(kept(text, finding(5)).hidden) == 1


def test_a_block_ends_where_it_says_and_nests_by_rule():
    text = (
        "// smemlint: ignore-begin[SML101]\n"
        "// smemlint: ignore-begin[SML401] inner\n"
        "s;\n"
        "// smemlint: ignore-end[SML101]\n"
        "s;\n"
        "// smemlint: ignore-end[SML401]\n"
        "s;\n"
    )
    lines = [(f.span.line, f.code) for f in kept(
        text, *(finding(n, name=m) for n in (3, 5, 7) for m in ("bank-conflict", "out-of-bounds"))
    ).hidden]  # fmt: skip
    assert lines == [(3, "SML101"), (3, "SML401"), (5, "SML401")]


def test_a_finding_over_several_lines_is_covered_on_any_of_them():
    assert len(kept("a\nb\nc // smemlint: ignore[SML101]\n", finding(1, 3)).hidden) == 1


def test_the_reason_is_kept():
    (hidden,) = kept("s; // smemlint: ignore[SML101] bank 0 is free\n", finding(1)).hidden
    assert hidden.suppression is not None
    assert (hidden.suppression.kind, hidden.suppression.reason) == ("inSource", "bank 0 is free")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("// smemlint: ignore[SML101]\n", ("SML902", 1, "`ignore[SML101]` suppresses nothing")),
        ("s; // smemlint: ignore\n", ("SML903", 1, "`ignore` names no rule: write ignore[bank-conflict]")),
        ("s; // smemlint: ignore[SML101\n", ("SML903", 1, "`[` is not closed")),
        ("s; // smemlint: ignor[SML101]\n", ("SML903", 1, "unknown pragma `ignor`: did you mean `ignore`?")),
        ("s; // smemlint: nothing\n", ("SML903", 1, "unknown pragma `nothing`: one of ignore, ignore-begin, "
          "ignore-end, ignore-file, launch, swizzle, shared, assume")),
        ("s; // smemlint: ignore[SML777]\n", ("SML903", 1, "`SML777` is not a rule: `smemlint rule` lists them")),
        ("s;\n// smemlint: ignore-end\n", ("SML903", 2, "`ignore-end` ends nothing")),
        ("// smemlint: ignore-begin[SML101]\n", ("SML903", 1, "`ignore-begin` without an `ignore-end`: ignored")),
        ("s; // smemlint: ignore[bank-conflit]\n", ("SML903", 1, "`bank-conflit` is not a rule: did you mean `bank-conflict`?")),
    ],
)  # fmt: skip
def test_unused_and_malformed_pragmas_are_said(text, expected):
    assert reported(kept(text)) == [expected]


def test_a_rule_that_is_not_reported_makes_no_pragma_unused():
    def reports(code: str, name: str, path: str) -> bool:
        return code != "SML101"

    assert reported(kept("// smemlint: ignore[SML101, SML401]\ns;\n", reports=reports)) == [
        ("SML902", 1, "`ignore[SML401]` suppresses nothing")
    ]


def test_a_reason_can_be_required():
    text = "s; // smemlint: ignore[SML101]\nt; // smemlint: ignore[SML101] known\n"
    result = kept(text, finding(1), finding(2), require_reason=lambda path: True)
    assert reported(result) == [("SML903", 1, "`ignore` gives no reason")]


def apply(text: str, result) -> str:
    for note in result.findings:
        assert note.fix is not None and note.fix.is_safe
        for edit in note.fix.edits:
            lines = text.split("\n")
            start = sum(len(x) + 1 for x in lines[: edit.span.line - 1]) + edit.span.column - 1
            end = (
                sum(len(x) + 1 for x in lines[: edit.span.end_line - 1]) + edit.span.end_column - 1
            )
            text = text[:start] + edit.text + text[end:]
    return text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a;\n  // smemlint: ignore[SML101]\nb;\n", "a;\nb;\n"),
        ("a;  // smemlint: ignore[SML101] why\nb;\n", "a;\nb;\n"),
        ("a; /* smemlint: ignore[SML101] */ b;\n", "a; b;\n"),
        ("// smemlint: ignore-file[SML101]", ""),
    ],
)
def test_the_edit_removes_what_is_unused(before, after):
    assert apply(before, kept(before)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("s; // smemlint: ignore[SML777]\n", "s;\n"),
        ("s; // smemlint: ignore[SML777, SML101] why\n", "s; // smemlint: ignore[SML101] why\n"),
        ("s;\n// smemlint: ignore-end\nt;\n", "s;\nt;\n"),
        ("t;\ns; // smemlint: ignore odd\n", "t;\ns;\n"),
    ],
)
def test_what_cannot_mean_anything_is_removed_safely(before, after):
    result = kept(before, finding(1))
    notes = tuple(f for f in result.findings if f.code == "SML903")
    assert apply(before, type(result)(notes)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("s; // smemlint: ignroe[SML101] why\n", "s; // smemlint: ignore[SML101] why\n"),
        ("s; // smemlint: ignore[bank-conflit, SML401]\n", "s; // smemlint: ignore[bank-conflict, SML401]\n"),
        ("s; /* smemlint: ignore */ t;\n", "s; /* smemlint: ignore[bank-conflict] */ t;\n"),
        ("s; // smemlint:ignore[ ] why\n", "s; // smemlint: ignore[bank-conflict] why\n"),
    ],
)  # fmt: skip
def test_what_begins_to_hide_findings_is_no_safe_fix(before, after):
    note = next(f for f in kept(before, finding(1)).findings if f.code == "SML903")
    assert note.fix is not None and not note.fix.is_safe
    assert note.fix.why_unsafe == "the pragma begins to hide findings"
    ((edit,),) = (note.fix.edits,)
    begin, end = edit.span.column - 1, edit.span.end_column - 1
    assert before[:begin] + edit.text + before[end:] == after


@pytest.mark.parametrize("reason", ["5 % of it", "see {this}", "for $5"])
def test_a_reason_that_formatting_would_read_stays_out_of_strings(reason):
    findings = [finding(n, path="k.py") for n in (2, 6)]
    text, added, left = with_ignores(PYTHON, findings, reason, CommentStyle.PYTHON)
    assert (added, left) == (1, findings[:1])
    assert text.splitlines()[5] == f"# smemlint: ignore[bank-conflict] {reason}"


@pytest.mark.parametrize(
    "text", ["s; // smemlint: ignore[SML101\n", "// smemlint: ignore-begin[SML101]\ns;\n", "// smemlint: nothing\n"]
)  # fmt: skip
def test_what_may_mean_several_things_is_left_to_its_author(text):
    assert [f.fix for f in kept(text, finding(1)).findings if f.code == "SML903"] == [None]


def test_of_several_rules_only_the_unused_one_goes():
    text = "s[i]; // smemlint: ignore[SML401, SML101] why\n"
    result = kept(text, finding(1))
    assert reported(result) == [("SML902", 1, "`ignore[SML401]` suppresses nothing")]
    notes = [f for f in result.findings if f.code == "SML902"]
    assert apply(text, type(result)(tuple(notes))) == "s[i]; // smemlint: ignore[SML101] why\n"


PYTHON = '''\
code = r"""
s[i] = 0;  // smemlint: ignore[bank-conflict] in CUDA
// smemlint: ignore[bank-conflict]
s[j] = 0;
"""
kernel(x)  # smemlint: ignore[bank-conflict] in Python
"# smemlint: ignore[bank-conflict]"
'''


def test_python_files_have_pragmas_in_comments_and_in_cuda_text():
    found = pragmas_in(PYTHON, CommentStyle.PYTHON)
    assert [(p.line, p.target, p.reason) for p in found] == [
        (2, 2, "in CUDA"), (3, 4, ""), (6, 6, "in Python"),
    ]  # fmt: skip
    lines = (1, 2, 4, 6, 7)
    result = kept(PYTHON, *(finding(n, path="k.py") for n in lines), path="k.py")
    assert [f.span.line for f in result.hidden] == [2, 4, 6]


def test_ignores_are_added_before_the_line_with_its_indentation_and_line_end():
    text = "void f() {\r\n\ts[i] = 0;\r\n}\r\n#define M \\\r\n  s[i] = 0\r\n"
    after, added, left = with_ignores(
        text, [finding(2), finding(2, name="out-of-bounds"), finding(5)], "later", CommentStyle.C
    )
    assert after == text.replace(
        "\ts[i]", "\t// smemlint: ignore[bank-conflict, out-of-bounds] later\r\n\ts[i]", 1
    )
    assert (added, [f.span.line for f in left]) == (1, [5])
    result = kept(after, finding(3), finding(3, name="out-of-bounds"))
    assert (len(result.hidden), result.findings) == (2, ())


def test_ignores_in_python_take_the_style_of_their_place():
    after, added, _ = with_ignores(PYTHON, [finding(4), finding(6)], "", CommentStyle.PYTHON)
    assert added == 2
    lines = after.splitlines()
    assert lines[3] == "// smemlint: ignore[bank-conflict]"
    assert lines[6] == "# smemlint: ignore[bank-conflict]"


NESTED = r'''\
source = (r"""
s[i] = 0; // it's 'quoted'
""" f"""
{'one' + f"{'two'}"}
s[j] = 0;
"""
    "s[k] = 0;"  # """
    "s[l] = 0;")
'''


@pytest.mark.parametrize(
    ("line", "mark"), [(3, "//"), (4, "//"), (5, "//"), (6, "//"), (8, "#"), (9, "#")]
)
def test_ignores_in_python_tell_strings_and_what_looks_like_them_apart(line, mark):
    text = NESTED.replace("\\\n", "\n", 1)
    after, added, left = with_ignores(text, [finding(line)], "", CommentStyle.PYTHON)
    assert (added, left) == (1, [])
    assert after.splitlines()[line - 1].strip() == f"{mark} smemlint: ignore[bank-conflict]"
    assert mark == "//" or compile(after, "k.py", "exec")


@pytest.mark.parametrize("text", ["print 'two'\n", "x = (\n"])
def test_python_that_does_not_parse_gets_no_ignores(text):
    after, added, left = with_ignores(text, [finding(1)], "", CommentStyle.PYTHON)
    assert (after, added, [f.span.line for f in left]) == (text, 0, [1])


HEADER = """\
__device__ void put(float *s, float v) {
  s[threadIdx.x * 32] = v;  // smemlint: ignore[bank-conflict] known
}
__device__ void get(float *s, float *v) {
  *v = s[threadIdx.x];  // smemlint: ignore[bank-conflict] no longer
}
"""
CALLER = """\
#include "put.cuh"
__global__ void k(float *out, float v) {
  __shared__ float s[1024];
  put(s, v);
  __syncthreads();
  get(s, out + threadIdx.x);
}
void launch(float *o) { k<<<1, 32>>>(o, 1.f); }
"""


def test_pragmas_of_a_header_count_whether_it_is_named_or_included(smemlint, tmp_path):
    (tmp_path / "put.cuh").write_text(HEADER)
    (tmp_path / "k.cu").write_text(CALLER)
    code, out, err = smemlint("check", "--output-format", "concise", "k.cu")
    assert (code, out) == (0, "")
    assert "no findings (1 suppressed)" in err
    code, out, err = smemlint("check", "--output-format", "concise", "put.cuh", "k.cu")
    assert (code, out) == (
        0,
        "put.cuh:5:25: SML902 note: `ignore[bank-conflict]` suppresses nothing\n",
    )


def test_what_no_file_of_the_run_calls_has_no_unused_pragmas(smemlint, tmp_path):
    """A hook is given the files of a commit: a fix must not take out what others need."""
    (tmp_path / "put.cuh").write_text(HEADER)
    (tmp_path / "k.cu").write_text(CALLER)
    code, out, err = smemlint("check", "--fix", "put.cuh")
    assert (code, out, (tmp_path / "put.cuh").read_text()) == (0, "", HEADER)
    assert err.endswith("no findings (0 suppressed); 0 findings fixed\n")


def test_an_undecided_access_makes_no_pragma_unused(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(
        "__global__ void k(const int *at) {\n"
        "  __shared__ float s[1024];\n"
        "  s[at[threadIdx.x]] = 0;  // smemlint: ignore[bank-conflict] random\n"
        "  s[threadIdx.x] = 0;  // smemlint: ignore[bank-conflict] none\n"
        "}\n"
        "void launch(int *a) { k<<<1, 32>>>(a); }\n"
    )
    _, out, _ = smemlint("check", "--output-format", "concise", "--ignore", "SML901", "k.cu")
    assert out == "k.cu:4:24: SML902 note: `ignore[bank-conflict]` suppresses nothing\n"


def test_added_pragmas_in_included_files_are_seen_the_next_time(smemlint, tmp_path):
    (tmp_path / "put.cuh").write_text(
        HEADER.replace("  // smemlint: ignore[bank-conflict] known", "")
    )
    (tmp_path / "k.cu").write_text(CALLER)
    assert smemlint("check", "--add-ignore=old", "k.cu")[2] == "added 1 ignore pragma\n"
    code, _, err = smemlint("check", "k.cu")
    assert (code, "(1 suppressed)" in err) == (0, True)
