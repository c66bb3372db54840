"""Cubins on the command line, with a recorded disassembly in the place of nvdisasm's."""

from __future__ import annotations

import json
import shlex
import struct
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "fixtures" / "sass" / "kernels.sass"
"""Of nvcc 13.0.88 and nvdisasm 13.5.37."""
SOURCE = ROOT / "fixtures" / "sass" / "kernels.cu"
SECTION = struct.Struct("<IIQQQQIIQQ")
TRANSPOSE = "_Z9transposePfPKfi"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="starts a shell script")


def cubin(**sections: bytes) -> bytes:
    """A 64-bit ELF file for CUDA (machine 190) with the sections, their names in a table."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in ("names", *sections))
    bodies = [names, *sections.values()]
    rows, at, body_at, name_at = [bytes(SECTION.size)], 64, 64, 1
    for name, body in zip(("names", *sections), bodies, strict=True):
        rows.append(SECTION.pack(name_at, 1, 0, 0, body_at, len(body), 0, 0, 1, 0))
        name_at += len(name) + 1
        body_at += len(body)
        at += len(body)
    head = struct.pack(
        "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, at, 0, 64, 56, 0, SECTION.size, len(rows), 1
    )
    return b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7) + head + b"".join(bodies) + b"".join(rows)


def required_block(x: int, y: int) -> bytes:
    """The attribute of `__block_size__`, as `cuobjdump -elf` numbers it."""
    return struct.pack("<BBHIII", 4, 0x10, 12, x, y, 1)


@pytest.fixture
def disassembler(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """Puts a program called nvdisasm on the PATH, by the body of a shell script."""
    folder = tmp_path_factory.mktemp("bin")

    def install(body: str) -> None:
        program = folder / "nvdisasm"
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    install(f"cat {shlex.quote(str(RECORDED))}")
    return install


def analysed(out: str) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = json.loads(out)
    return found


def test_findings_stand_on_the_lines_of_the_source(smemlint, tmp_path, disassembler):
    (tmp_path / "kernels.cubin").write_bytes(cubin(**{f".nv.info.{TRANSPOSE}": b""}))
    code, out, _ = smemlint(
        "analyze", "kernels.cubin", "--block-dim", "32,8", "--output-format", "json"
    )
    rows = [a for a in analysed(out)["accesses"] if a["kernel"] == "transpose"]
    figures = [(a["line"], a["kind"], a["instructions"], a["wavefronts"]["mean"]) for a in rows]  # type: ignore[index]
    assert (code, figures) == (0, [(7, "store", 8, 1.0), (9, "load", 8, 32.0)])
    assert {(a["from"], a["array"]) for a in rows} == {("kernels.cubin (sm_90)", "")}
    code, out, _ = smemlint(
        "check", "kernels.cubin", "--block-dim", "32,8", "--output-format", "concise"
    )
    assert (code, "kernels.cu:9:1: SML101 warning: 32-way " in out) == (1, True)


def test_the_required_block_shape_needs_no_option(smemlint, tmp_path, disassembler):
    sections = {f".nv.info.{TRANSPOSE}": required_block(32, 4)}
    (tmp_path / "kernels.cubin").write_bytes(cubin(**sections))
    _, out, _ = smemlint("analyze", "kernels.cubin", "--output-format", "json")
    document = analysed(out)
    assert {(a["kernel"], *a["block"]) for a in document["accesses"]} == {("transpose", 32, 4, 1)}  # type: ignore[misc]
    assert {a["certainty"] for a in document["accesses"]} == {"proved"}
    assert "division" in {n["kernel"] for n in document["not_analysed"]}  # its block is not known


def test_source_and_cubin_are_joined(smemlint, tmp_path, disassembler):
    (tmp_path / "kernels.cu").write_text(SOURCE.read_text())
    (tmp_path / "kernels.cubin").write_bytes(cubin())
    arguments = ("--block-dim", "32,8", "--output-format", "json")
    _, out, _ = smemlint("analyze", "kernels.cu", "kernels.cubin", *arguments)
    rows = [a for a in analysed(out)["accesses"] if a["kernel"] == "transpose"]
    assert [(a["line"], a["confirmed"], a["array"]) for a in rows] == [
        (7, True, "tile"), (9, True, "tile"),
    ]  # fmt: skip


def test_one_line_with_two_accesses_is_compared_as_a_whole(smemlint, tmp_path):
    """Compiled code shows 32 and 1 wavefronts as 16.5 on average: so does the source."""
    body = "tile[t] = 0; __syncthreads(); out[t] = tile[t * 32] + tile[t];"
    (tmp_path / "k.cu").write_text(
        f"__global__ void k(float* out) {{ __shared__ float tile[1024]; int t = threadIdx.x;\n{body} }}"
    )
    (tmp_path / "k.ptx").write_text(
        '.version 8.7\n.target sm_90\n.address_size 64\n.file 1 "k.cu"\n'
        ".visible .entry k(.param .u64 p) .reqntid 32\n{\n.reg .b32 %r<9>;\n"
        ".shared .align 4 .b8 tile[4096];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, tile;\n"
        "mad.lo.s32 %r3, %r1, 4, %r2;\nmad.lo.s32 %r4, %r1, 128, %r2;\n.loc 1 2 1\n"
        "st.shared.u32 [%r3], 0;\nbar.sync 0;\nld.shared.u32 %r5, [%r4];\n"
        "ld.shared.u32 %r6, [%r3];\nadd.s32 %r7, %r5, %r6;\nst.shared.u32 [%r3], %r7;\nret;\n}\n"
    )
    arguments = ("--block-dim", "32", "--output-format", "json")
    _, out, _ = smemlint("analyze", "k.cu", "k.ptx", *arguments)
    loads = [a for a in analysed(out)["accesses"] if a["kind"] == "load"]
    assert [(a["wavefronts"]["mean"], a["confirmed"]) for a in loads] == [(32.0, True), (1.0, True)]  # type: ignore[index]


def test_without_nvdisasm_it_is_said_and_none_of_the_checkout_is_run(
    smemlint, tmp_path, disassembler, monkeypatch
):
    own = tmp_path / "nvdisasm"
    own.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    own.chmod(0o755)
    (tmp_path / "k.cubin").write_bytes(cubin())
    for path in (f"{tmp_path}:/usr/bin", ".:/usr/bin", "/usr/bin"):
        monkeypatch.setenv("PATH", path)
        code, out, _ = smemlint("check", "k.cubin", "--output-format", "concise")
        assert (code, "SML901" in out, "PATH" in out) == (0, True, True)
    assert not (tmp_path / "started").exists()


def test_a_folder_starts_nothing(smemlint, tmp_path, disassembler):
    disassembler(f"touch {tmp_path}/started")
    (tmp_path / "k.cubin").write_bytes(cubin())
    code, _, err = smemlint("check", ".")
    assert (code, "1 cubins" in err, (tmp_path / "started").exists()) == (0, True, False)
    (tmp_path / "k.ptx").write_text(".version 8.7\n.target sm_90\n")
    assert "cubins" not in smemlint("check", ".")[2]


@pytest.mark.parametrize(
    "body",
    [
        "echo 'nvdisasm fatal   : Memory allocation failure' >&2; exit 255",
        "echo '.target sm_80'",
        "echo",
        "kill -11 $$",
        "head -c 300000000 /dev/zero",
    ],
)
def test_a_disassembler_that_fails_costs_the_file(smemlint, tmp_path, disassembler, body):
    disassembler(body)
    (tmp_path / "k.cubin").write_bytes(cubin())
    code, out, _ = smemlint("check", "k.cubin", "--output-format", "concise")
    assert (code, out.count("SML901")) == (0, 1)


@pytest.mark.parametrize("size", [0, 5, 30, 64, 150])
def test_cut_files(smemlint, tmp_path, disassembler, size):
    (tmp_path / "k.cubin").write_bytes(cubin(**{f".nv.info.{TRANSPOSE}": b""})[:size])
    code, out, _ = smemlint("check", "k.cubin", "--output-format", "concise")
    assert (code, out.count("SML901")) == (0, 1)


def test_objects_and_fat_binaries_say_what_to_run(smemlint, tmp_path):
    (tmp_path / "k.o").write_bytes(b"\x7fELF\x02\x01" + bytes(60))
    (tmp_path / "k.fatbin").write_bytes(b"\x50\xed\x55\xba" + bytes(60))
    (tmp_path / "k.bin").write_bytes(cubin())
    code, out, _ = smemlint("check", "k.o", "k.fatbin", "--output-format", "concise")
    assert (code, out.count("cuobjdump -xelf")) == (0, 2)
    _, out, _ = smemlint("check", "k.bin", "--output-format", "concise")
    assert "ending .cubin" in out
