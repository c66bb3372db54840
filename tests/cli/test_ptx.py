"""PTX on the command line: alone, from Triton's cache, beside its source."""

from __future__ import annotations

import json
from pathlib import Path

from tests import triton_ptx

ROOT = Path(__file__).resolve().parents[2]
PTX = ROOT / "tests" / "analysis" / "compiled" / "ptx" / "transpose.ptx"
SOURCE = ROOT / "fixtures" / "kernels" / "transpose.cu"
TRITON = triton_ptx.column()


def accesses(out: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(out)["accesses"]
    return found


def test_findings_stand_on_the_line_that_the_kernel_was_compiled_from(smemlint, tmp_path):
    (tmp_path / "kernel.ptx").write_text(TRITON)
    code, out, _ = smemlint("check", "kernel.ptx", "--output-format", "concise")
    assert code == 1
    assert out.startswith("/somewhere/else/kernel.py:7:22: SML101 warning: 32-way ")
    (finding,) = json.loads(smemlint("check", ".", "--output-format", "json")[1])["findings"]
    cost = finding["cost"]
    assert (cost["warps"], cost["warps_of_block"], cost["executions_of_a_warp"]) == (2, 2, 1)
    assert finding["related"] == []  # PTX does not tell where the array is declared
    code, out, _ = smemlint("analyze", ".", "--output-format", "json")
    (access,) = accesses(out)
    assert (access["file"], access["line"], access["block"]) == (
        "/somewhere/else/kernel.py", 7, [64, 1, 1],
    )  # fmt: skip
    assert (access["array"], access["from"]) == ("global_smem", "kernel.ptx (sm_90a)")
    assert (access["wavefronts"], access["certainty"]) == (
        {"min": 32, "max": 32, "mean": 32.0}, "proved",
    )  # fmt: skip


def test_a_line_of_a_file_that_is_not_named_stands_in_the_ptx(smemlint, tmp_path):
    cut = TRITON[: TRITON.index(".file")]  # as of a file whose end is missing
    (tmp_path / "kernel.ptx").write_text(cut)
    line = cut[: cut.index("st.shared")].count("\n") + 1
    _, out, _ = smemlint("check", "kernel.ptx", "--output-format", "concise")
    assert out.startswith(f"kernel.ptx:{line}:1: SML101 ")


def test_a_file_that_only_ptx_names_is_not_shown(smemlint, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("\n".join(f"secret {n}" for n in range(20)))
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "kernel.ptx").write_text(TRITON.replace("/somewhere/else/kernel.py", str(secret)))
    for form in ("full", "json", "sarif", "html", "gitlab", "junit", "github"):
        _, out, err = smemlint("check", "cache", "--output-format", form)
        assert "secret 7" not in out + err, form
        assert "secret 6" not in out + err, form


def test_a_file_of_the_run_is_shown_and_its_pragmas_count(smemlint, tmp_path):
    text = "\n" * 6 + "    store(column)  # smemlint: ignore[bank-conflict] small\n"
    (tmp_path / "kernel.py").write_text(text)
    (tmp_path / "kernel.ptx").write_text(TRITON)
    code, _, err = smemlint("check", ".")
    assert (code, "1 suppressed" in err) == (0, True)


def test_the_launch_comes_from_the_file_beside(smemlint, tmp_path):
    text = TRITON.replace(".reqntid 64\n", "")
    (tmp_path / "column.ptx").write_text(text)
    code, out, _ = smemlint("check", "column.ptx", "--output-format", "concise")
    assert (code, "SML901" in out) == (0, True)
    (tmp_path / "column.json").write_text(json.dumps({"num_warps": 8, "shared": 4096}))
    _, out, _ = smemlint("analyze", "column.ptx", "--output-format", "json")
    (access,) = accesses(out)
    assert (access["block"], access["instructions"]) == ([256, 1, 1], 8)
    (tmp_path / "column.json").write_text('{"num_warps": 99999}')
    _, out, _ = smemlint("analyze", "column.ptx", "--output-format", "json")
    assert accesses(out) == []


def test_source_and_ptx_confirm_each_other(smemlint, tmp_path):
    (tmp_path / "transpose.cu").write_text(SOURCE.read_text())
    (tmp_path / "transpose.ptx").write_text(PTX.read_text())
    _, out, _ = smemlint("analyze", "transpose.cu", "--output-format", "json")
    alone = accesses(out)
    arguments = ("--ptx", "transpose.ptx", "--block-dim", "32,8")
    _, out, _ = smemlint("analyze", "transpose.cu", *arguments, "--output-format", "json")
    both = accesses(out)
    assert len(alone) == len(both) == 10
    assert {(a["confirmed"], a["from"]) for a in both} == {(True, None)}


def test_where_they_differ_both_are_said(smemlint, tmp_path):
    text = SOURCE.read_text()
    assert "[TILE + 1]" in text
    (tmp_path / "transpose.cu").write_text(text.replace("[TILE + 1]", "[TILE]"))
    (tmp_path / "transpose.ptx").write_text(PTX.read_text())
    _, out, _ = smemlint("analyze", ".", "--block-dim", "32,8", "--output-format", "json")
    differing = [a for a in accesses(out) if a["confirmed"] is False]
    figures = {(a["from"], a["wavefronts"]["mean"]) for a in differing}  # type: ignore[index]
    assert figures == {(None, 32.0), ("transpose.ptx (sm_90)", 1.0)}


STRIDED = """
.version 8.7
.target sm_90
.address_size 64
.visible .entry column(.param .u64 column_param_0, .param .u32 column_param_1)
{
.reg .b32 %r<6>;
.shared .align 4 .b8 tile[8192];
mov.u32 %r1, %tid.x;
ld.param.u32 %r2, [column_param_1];
mul.lo.s32 %r3, %r1, %r2;
shl.b32 %r3, %r3, 2;
mov.u32 %r4, tile;
add.s32 %r5, %r4, %r3;
st.shared.u32 [%r5], %r1;
ret;
}
"""
LAUNCH = """
__global__ void column(float *out, int step) {
    __shared__ float tile[2048];
    tile[threadIdx.x * step] = threadIdx.x;
    out[threadIdx.x] = tile[threadIdx.x];
}
int main() { column<<<1, 64>>>(nullptr, STEP); }
"""


def test_arguments_come_from_the_launch_in_the_sources(smemlint, tmp_path):
    def figures() -> list[tuple[object, ...]]:
        _, out, _ = smemlint("analyze", ".", "--block-dim", "64", "--output-format", "json")
        return [
            (a["certainty"], a["wavefronts"] and a["wavefronts"]["mean"])  # type: ignore[index]
            for a in accesses(out)
            if a["from"] is not None
        ]

    (tmp_path / "column.ptx").write_text(STRIDED)
    assert figures() == [("unknown", None)]
    for step, ways in ((4, 4.0), (32, 32.0)):
        (tmp_path / "column.cu").write_text(LAUNCH.replace("STEP", str(step)))
        assert figures() == [("assumed", ways)]


def test_a_kept_result_of_a_source_does_not_hide_its_launch(smemlint, tmp_path):
    (tmp_path / "column.cu").write_text(LAUNCH.replace("STEP", "4"))
    for array in ("tile", "other"):  # compiled again, and the source is as it was
        (tmp_path / "column.ptx").write_text(STRIDED.replace("tile", array))
        _, out, _ = smemlint("check", ".", "--output-format", "concise")
        assert out.count("4-way") == 2
        assert "SML901" not in out


def test_a_block_that_was_tried_for_the_source_is_no_launch(smemlint, tmp_path):
    """matrixMulDynlinkJIT of the CUDA samples, whose PTX got (32, 8), has blocks of (16, 16)."""
    body = LAUNCH[: LAUNCH.index("int main")].replace("* step", "* 32 % 2048")
    (tmp_path / "column.cu").write_text(body)
    (tmp_path / "column.ptx").write_text(STRIDED)
    _, out, _ = smemlint("analyze", ".", "--output-format", "json")
    assert [a["wavefronts"]["max"] for a in accesses(out)] == [32, 1]  # the source's
    assert {a["from"] for a in accesses(out)} == {None}
    (note,) = json.loads(out)["not_analysed"]
    assert (note["file"], note["kernel"]) == ("column.ptx", "column")


def test_standard_input_and_what_is_no_ptx(smemlint):
    code, out, _ = smemlint(
        "check", "-", "--stdin-filename", "k.ptx", "--output-format", "concise",
        stdin=TRITON.encode(),
    )  # fmt: skip
    assert (code, "SML101" in out) == (1, True)
    for text in ("hello", TRITON[:330], TRITON.replace("shl.b32 %r2, %r1, 7;", "shl.b32 %r2, ,;")):
        code, out, _ = smemlint(
            "check", "-", "--stdin-filename", "k.ptx", "--output-format", "concise",
            stdin=text.encode(),
        )  # fmt: skip
        assert (code, "SML901" in out) == (0, True)


def test_an_unknown_instruction_makes_what_it_writes_unknown(smemlint):
    text = TRITON.replace("shl.b32 %r2, %r1, 7;", "frobnicate.b32 %r2, %r1, 7;")
    _, out, _ = smemlint(
        "analyze", "-", "--stdin-filename", "k.ptx", "--output-format", "json", stdin=text.encode()
    )
    (access,) = accesses(out)
    assert (access["certainty"], access["wavefronts"]) == ("unknown", None)
    assert "frobnicate" in str(access["reason"])


def test_one_name_in_several_folders_is_told_by_its_path(smemlint, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kernel.py").write_text("\n" * 9)
    (tmp_path / "kernel.ptx").write_text(TRITON.replace("/somewhere/else/", "/built/b/"))
    _, out, _ = smemlint("analyze", ".", "--output-format", "json")
    assert [a["file"] for a in accesses(out)] == ["b/kernel.py"]
    (tmp_path / "kernel.ptx").write_text(TRITON)
    _, out, _ = smemlint("analyze", ".", "--output-format", "json")
    assert [a["file"] for a in accesses(out)] == ["/somewhere/else/kernel.py"]  # neither for sure


def test_code_of_a_library_alone_stands_on_its_line(smemlint, tmp_path):
    library = "/opt/cutlass/include/cutlass/arch/memory.h"
    (tmp_path / "kernel.ptx").write_text(TRITON.replace("/somewhere/else/kernel.py", library))
    _, out, _ = smemlint("analyze", "kernel.ptx", "--output-format", "json")
    assert [(a["file"], a["line"]) for a in accesses(out)] == [(library, 7)]


def test_the_callers_in_llvms_comments_are_read(smemlint, tmp_path):
    """Triton 3.6 writes no `inlined_at`: the line of the user stands in the comment alone."""
    text = TRITON.replace(
        ".loc 1 7 22",
        ".loc 2 263 15 // standard.py:263:15 @[ standard.py:293:36 @[ kernel.py:8:30 ] ]",
    )
    text += '.file 2 "/env/site-packages/triton/language/standard.py"\n'
    (tmp_path / "kernel.ptx").write_text(text)
    _, out, _ = smemlint("analyze", "kernel.ptx", "--output-format", "json")
    (access,) = accesses(out)
    assert (access["file"], access["line"], access["column"]) == (
        "/somewhere/else/kernel.py",
        8,
        30,
    )
    (tmp_path / "kernel.ptx").write_text(text + '.file 3 "/another/kernel.py"\n')
    _, out, _ = smemlint("analyze", "kernel.ptx", "--output-format", "json")
    (access,) = accesses(out)
    assert str(access["file"]).endswith("/standard.py")  # which of the two is not known


def test_a_fixed_source_is_not_compared_with_the_code_of_before(smemlint, tmp_path):
    (tmp_path / "transpose.cu").write_text(SOURCE.read_text())
    (tmp_path / "transpose.ptx").write_text(PTX.read_text())
    arguments = ("transpose.cu", "--ptx", "transpose.ptx", "--block-dim", "32,8")
    _, before, _ = smemlint("check", *arguments)
    _, after, errors = smemlint("check", *arguments, "--fix", "--unsafe-fixes")
    assert (tmp_path / "transpose.cu").read_text() != SOURCE.read_text()
    assert ("transpose.ptx" in before, "transpose.ptx" in after) == (True, False)
    assert "1 file of compiled code left aside" in errors
