"""`smemlint swizzle` as its users meet it: words, numbers, exit codes."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING

import pytest

from smemlint.cli.main import main
from smemlint.layout.tiles import Tile, accesses, parse_dtype

if TYPE_CHECKING:
    from pathlib import Path


def run(capsys: pytest.CaptureFixture[str], command: str) -> tuple[int, list[str], str]:
    code = main(["swizzle", *command.split()])
    output = capsys.readouterr()
    return code, output.out.splitlines(), output.err


def test_show_draws_the_banks_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, _ = run(capsys, "show 3 3 3 --dtype f16 --shape 8x64 --read ldmatrix")
    assert code == 0
    assert lines[0] == "Swizzle<3,3,3> of elements = Swizzle<3,4,3> of bytes, the 128B mode"
    rows = [line for line in lines if line.startswith("  row")]
    assert rows[3] == "  row   3 > 0  4  8 12 16 20 24 28"
    assert rows[8 + 3] == "  row   3 >12  8  4  0 28 24 20 16"
    strips = [line for line in lines if "words needed" in line]
    assert strips == [
        f"  words needed of each bank  |{'████' + ' ' * 28}| up to 8",
        f"  words needed of each bank  |{'▁' * 32}| up to 1",
    ]
    verdicts = [line.strip() for line in lines if line.startswith("  ldmatrix")]
    assert verdicts == [
        "ldmatrix 0: 8 lanes of 16 bytes take 8 wavefronts: 8-way conflict",
        "ldmatrix 0: 8 lanes of 16 bytes take 1 wavefront: no conflict",
    ]


def test_show_in_colour_and_in_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    plain = run(capsys, "show 3 3 3 --dtype f16 --color never")[1]
    assert run(capsys, "show 3 4 3 --units bytes --dtype f16 --color never")[1] == plain
    painted = run(capsys, "show 3 3 3 --dtype f16 --color always")[1]
    assert sum(line.count("\x1b[1;4;") for line in painted) == 16
    assert sum(line.count("\x1b[0m") for line in painted) == 2 * 8 * 32


def test_show_says_when_vectors_are_torn(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "show 1 0 3 --read row --vector 16")[1]
    assert lines[-1].strip() == "torn: vectors of 16 bytes are wider than the swizzle's groups"


def test_the_drawing_is_well_formed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "map.svg"
    code, _, error = run(capsys, f"show 2 0 3 --shape 8x4 --banks 8 --svg {target}")
    assert (code, error) == (0, f"drawn to {target}\n")
    root = ElementTree.parse(target).getroot()
    name = "{http://www.w3.org/2000/svg}"
    texts = [t.text for t in root.iter(f"{name}text")]
    assert "column 0: 8 lanes of 4 bytes take 4 wavefronts: 4-way conflict" in texts
    outlined = [r for r in root.iter(f"{name}rect") if r.get("stroke") == "#000"]
    assert len(outlined) == 16
    assert len({r.get("fill") for r in outlined[:8]}) == 2
    assert len({r.get("fill") for r in outlined[8:]}) == 8


@pytest.mark.parametrize(
    ("command", "code", "expected"),
    [
        ("check 3 4 3 --units bytes", 0, "repeats every 1024 bytes"),
        ("check 3 2 3 --dtype f32", 0, "keeps together 16 bytes"),
        ("check 3 0 2", 1, "|SShift| must be at least BBits, or the two fields overlap: 2 < 3"),
        ("check 2 14 3", 0, "cannot remove conflicts"),
        ("check 0 4 3", 0, "it is the identity"),
        ("check 3 0 -3", 0, "reads bits    0 to 2"),
    ],
)
def test_check(capsys: pytest.CaptureFixture[str], command: str, code: int, expected: str) -> None:
    found, lines, _ = run(capsys, command)
    assert found == code
    assert any(expected in line for line in lines), lines


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "--shape 32x32 --read column --write row",
            ["Swizzle<5,0,5> of elements", "i ^ ((i & 0x3e0) >> 5)", "tile[32][33]  (+128 bytes)"],
        ),
        (
            "--shape 16x64 --dtype f16 --read ldmatrix --write row --vector 16",
            ["Swizzle<3,3,3> of elements", "the 128B mode", "tile[16][72]  (+256 bytes)"],
        ),
        ("--shape 8x8 --banks 8 --read column", ["Swizzle<3,0,3> of elements"]),
        ("--shape 8x32 --banks 8 --read column", ["Swizzle<3,0,5> of elements"]),
        ("--shape 8x4 --banks 8 --read column", ["Swizzle<2,0,3> of elements"]),
        ("--shape 8x8 --banks 8 --read 4x2", ["Swizzle<2,1,2> of elements"]),
        ("--shape 8x9 --banks 8 --read 4x2", ["2-way at worst", "tile[8][10]"]),
        ("--shape 8x32 --read row", ["nothing to repair"]),
        ("--shape 3x33 --read column", ["nothing to repair"]),
    ],
)
def test_solve(capsys: pytest.CaptureFixture[str], command: str, expected: list[str]) -> None:
    code, lines, _ = run(capsys, f"solve {command}")
    assert code == 0
    for words in expected:
        assert any(words in line for line in lines), lines


def test_convert(capsys: pytest.CaptureFixture[str]) -> None:
    every = [
        "bytes      Swizzle<3,4,3>  (mode 128B)",
        "elements   Swizzle<3,3,3>  of f16",
        "triton     SwizzledSharedLayout(vec=8, per_phase=1, max_phase=8, order=[1, 0])",
    ]
    for spelled in ("128B", "3 3 3", "3 4 3 --units bytes", "triton 8 1 8"):
        assert run(capsys, f"convert {spelled} --dtype f16 --columns 64")[1] == every
    torn = run(capsys, "convert 3 1 3 --units bytes --dtype f32")[1]
    assert torn[1] == "elements   none: it moves parts of elements of 4 bytes"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("show 3 0 2", "Swizzle<3,0,2> is not a valid swizzle: |SShift|"),
        ("show 3 3 3 --shape 8by8", "'8by8' is not a shape such as 8x64"),
        ("show 3 3 3 --dtype f17", "'f17' is not an element type"),
        ("show 3 3 3 --read diagonal", "'diagonal' is none of column, row"),
        ("show 3 3 3 --read 8x8", "a block of 1 to 32 lanes wanted"),
        ("show 3 3 3 --at 99", "--at 99: there are 32 such accesses"),
        ("show 3 3 3 --svg /nowhere/at/all.svg", "cannot be written"),
        ("solve --shape 9999x9999", "a tile of 9999x9999"),
        ("solve --banks 8 --dtype f16", "8 banks serve single elements"),
        ("convert 3 3", "'3 3' is not three integers"),
        ("convert triton 8 1 8", "say --columns"),
        ("convert triton 3 1 8 --columns 64", "vec = 3 is not a power of two"),
    ],
)
def test_what_cannot_be_done(
    capsys: pytest.CaptureFixture[str], command: str, message: str
) -> None:
    code, _, error = run(capsys, command)
    assert code == 2
    assert message in error
    assert "Traceback" not in error


def test_accesses_by_name() -> None:
    tile = Tile(16, 64, 2)
    assert accesses(tile, "column", 2).lanes()[1].sum() == 64 * 16
    assert accesses(tile, "row", 16).lanes()[0].tolist()[1][:2] == [256, 264]
    first = accesses(tile, "ldmatrix", 2)
    assert (first.width, len(first.lanes()[0])) == (16, 16)
    assert first.lanes()[0][0][:8].tolist() == [row * 64 for row in range(8)]
    assert accesses(tile, "stmatrix", 2).kind == "store"
    assert [parse_dtype(t) for t in ("f16", "bf16", "tf32", "u8", "double", "e4m3")] == [
        2, 2, 4, 1, 8, 1,
    ]  # fmt: skip


@pytest.mark.parametrize("command", ["show", "check", "convert"])
def test_every_notation_means_the_same(capsys: pytest.CaptureFixture[str], command: str) -> None:
    rest = "--dtype f16" + (" --shape 8x64 --read ldmatrix" if command == "show" else "")
    spelled = ("3 3 3", "3,3,3", "Swizzle<3,3,3>", "swizzle<3,3,3>")
    elements = {tuple(run(capsys, f"{command} {words} {rest}")[1]) for words in spelled}
    assert len(elements) == 1
    in_bytes = run(capsys, f"{command} 128B {rest}")[1]
    assert in_bytes == run(capsys, f"{command} 3 4 3 --units bytes {rest}")[1]
    if command != "check":  # which speaks of the parameters as they are given
        assert in_bytes == list(elements.pop())


def test_accesses_have_widths_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    command = "solve --shape 64x64 --dtype f16 --read ldmatrix.trans --read column:4 --write row:16"
    answer = json.loads("\n".join(run(capsys, f"{command} --format json")[1]))
    assert [(a["kind"], a["name"], a["bytes"], a["ways"]) for a in answer["accesses"]] == [
        ("read", "ldmatrix.trans", 16, 8), ("read", "column", 4, 32), ("write", "row", 16, 1),
    ]  # fmt: skip
    assert answer["tile"] == {"rows": 64, "columns": 64, "dtype": "f16"}
    # 8 x 64 matrices, 32 columns of 64 rows in two halves of 32 ways, and 16 rows of 4 wavefronts
    assert answer["plain"] == {"ways": 32, "wavefronts": 512 + 2048 + 64}
    lines = run(capsys, command)[1]
    assert "64x64 tile of f16" in lines[0]
    plain = "solve --shape 64x64 --dtype f16 --read ldmatrix --write row"
    assert run(capsys, f"{plain} --vector 16")[1] == run(capsys, f"{plain}:16")[1]


def test_several_reads_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "show 128B --dtype f16 --shape 64x64 --read ldmatrix --read column:4")[1]
    assert sum("words needed" in line for line in lines) == 4


@pytest.mark.parametrize(
    ("command", "key", "value"),
    [
        ("check 3 0 2", "valid", False),
        ("check 128B", "group_bytes", 16),
        ("check 3 3 3 --dtype f16", "in_bytes", [3, 4, 3]),
        ("convert 128B --dtype f16", "elements", [3, 3, 3]),
        ("convert 3 3 3 --dtype f16 --columns 64", "triton", [8, 1, 8]),
        ("solve --shape 32x32 --read column", "padding", {
            "elements": 1, "extra_bytes": 128, "ways": 1, "wavefronts": 32,
        }),
    ],
)  # fmt: skip
def test_answers_as_json(
    capsys: pytest.CaptureFixture[str], command: str, key: str, value: object
) -> None:
    _, lines, _ = run(capsys, f"{command} --format json")
    answer = json.loads("\n".join(lines))
    assert (answer["version"], answer["command"], answer[key]) == (1, command.split()[0], value)


EVERY_OTHER = {
    "64x32 --read column/2": (32, 2048, 64),
    "64x64 --dtype f16 --read column/2:16": (8, 512, 64),
}


@pytest.mark.parametrize("question", EVERY_OTHER)
def test_a_column_of_every_other_row(capsys: pytest.CaptureFixture[str], question: str) -> None:
    """Rows 0, 2, 4, .. of 128 bytes all begin in bank 0, as all rows do."""
    code, lines, _ = run(capsys, f"solve --shape {question} --format json")
    found = json.loads("\n".join(lines))
    assert code == 0
    plain, swizzled = found["plain"], found["swizzle"]
    assert (plain["ways"], plain["wavefronts"], swizzled["wavefronts"]) == EVERY_OTHER[question]


def test_rows_to_leave_out_are_those_of_lanes_that_go_down(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for access in ("row/2", "column/33", "column/0", "column/x"):
        assert run(capsys, f"solve --shape 32x32 --read {access}")[0] == 2


def test_every_row_is_read_once_whatever_is_left_out() -> None:
    tile = Tile(64, 32, 4)
    for name in ("column/2", "column/4", "8x4/2", "16x2/3"):
        offsets = sorted(o for lanes in accesses(tile, name, 4).offsets for o in lanes)
        rows = 48 if name.endswith("3") else 64
        assert offsets == list(range(rows * 32))
