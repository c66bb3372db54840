"""Classic Triton: verdicts on dot operands and pipelines agree with what triton compiled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.sources.source import Source

ROOT = Path(__file__).parents[3]
RECORD = json.loads((ROOT / "fixtures" / "triton" / "dots.json").read_text())
MORE = json.loads((ROOT / "fixtures" / "triton" / "attention.json").read_text())
TILES = [row for row in MORE["tiles"] if row["type"] != "fp8e4nv"]
TYPES = {"i8": "int8", "fp8e4nv": "float8_e4m3fn", "fp16": "float16", "fp32": "float32"}
BAD = (ROOT / "rules" / "dot_operand_major" / "bad.py").read_text()


def codes_of(text: str, arch: str = "sm_90") -> list[str]:
    return [f.code for f in check([Source("k.py", text)], Settings(arch=arch)).findings]


def findings(kind: str, major: str, arch: str, stages: int = 3) -> list[str]:
    shape = "(n, k)" if major == "k" else "(k, n)"
    turned = ".T" if major == "k" else ""
    text = BAD.replace("float8_e4m3fn", TYPES[kind]).replace("num_stages=3", f"num_stages={stages}")
    old = f'b = torch.empty((k, n), device="cuda", dtype=torch.{TYPES[kind]})'
    assert old in text
    return codes_of(text.replace(old, old.replace("(k, n)", shape) + turned), arch)


@pytest.mark.parametrize("row", RECORD["dots"], ids=lambda r: f"{r['arch']}-{r['type']}-{r['b']}")
def test_a_major_is_reported_where_the_ptx_conflicts(row):
    conflicts = max(worst for _, worst in row["shared"].values()) > 1
    scalars = sum(row["shared"].get(f"load {width}", [0])[0] for width in (1, 4))
    found = findings(row["type"], row["b"], row["arch"])
    named = [code for code in found if code == "SML501"]  # a ring may not fit, too
    assert named == (["SML501"] if conflicts or scalars > 100 else [])


@pytest.mark.parametrize("row", RECORD["rings"], ids=lambda r: f"{r['arch']}-{r['stages']}")
def test_a_ring_is_reported_where_its_bytes_do_not_fit(row):
    limit = {"sm_80": 166_912, "sm_90": 232_448, "sm_100": 232_448}[row["arch"]]
    found = findings("fp16", "n", row["arch"], row["stages"])
    assert found == (["SML502"] if row["bytes"] > limit else [])


SIGNATURES = {
    "none": "",
    "sbn: tl.int64": "    sbn: tl.int64,\n",
    "sbk: tl.int64": "    sbk: tl.int64,\n",
    "sbk: tl.int64, sbn: tl.int64": "    sbk: 'i64',\n    sbn: int,\n",
}


@pytest.mark.parametrize("row", RECORD["strides"], ids=lambda r: f"{r['arch']}-{r['marks']}")
def test_a_stride_is_reported_where_the_ptx_has_lost_its_vectors(row):
    text = BAD.replace("float8_e4m3fn", "float16").replace(
        "b = torch.empty((k, n)", "b = torch.empty((64, 128)"
    )
    marks = row["marks"]
    if marks.startswith("do_not"):
        options = marks.replace("[", "['").replace("]", "']")
        text = text.replace("@triton.jit", f"@triton.jit({options})")
    for line in SIGNATURES.get(marks, "").splitlines():
        name = line.strip().partition(":")[0]
        text = text.replace(f"    {name},\n", f"{line}\n")
    assert codes_of(text, row["arch"]) == (["SML503"] if "store 2" in row["shared"] else [])


HIDDEN = (ROOT / "rules" / "hidden_stride" / "bad_always.py").read_text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sbn: int", "sbn"),  # perhaps it is 1
        ("sbn: int", "sbn: tl.constexpr"),
        ('do_not_specialize=["sbk"]', 'do_not_specialize=["K"]'),
        ("    rows = ", "    tl.assume(sbn == 1)\n    rows = "),
        ("product[(1,)](a", "other(a"),  # a function that kernels call: constants reach it
        ("columns[None, :] * sbn", "columns[None, :] * (sbn + K)"),
        ("depth[:, None] * sbk", "index(K)"),
    ],
)
def test_strides_that_may_be_told_are_silent(old, new):
    assert old in HIDDEN
    assert codes_of(HIDDEN) == ["SML503"]
    assert codes_of(HIDDEN.replace(old, new)) == []


def test_a_row_of_unknown_length_and_a_hint_are_silent():
    text = BAD.replace("float8_e4m3fn", "float16")
    text = text.replace("@triton.jit", "@triton.jit(do_not_specialize=['sbk'])")
    known = text.replace("b = torch.empty((k, n)", "b = torch.empty((64, 128)")
    hinted = known.replace("* sbk +", "* tl.multiple_of(sbk, 16) +")
    odd = text.replace("b = torch.empty((k, n)", "b = torch.empty((64, 100)")
    for source, codes in ((text, 0), (known, 1), (hinted, 0), (odd, 0)):
        assert codes_of(source).count("SML503") == codes


def test_an_unknown_type_or_stride_is_silent():
    for old, new in (
        ('b = torch.empty((k, n), device="cuda", dtype=torch.float8_e4m3fn)', "b = make(k, n)"),
        ("b.stride(1), ", "given, "),
        ("num_stages=3", "num_stages=3, num_warps=1"),
    ):
        assert old in BAD
        assert codes_of(BAD.replace(old, new)) == []


@pytest.mark.parametrize("shape", ["shape", "*shape", "k, *shape"])
def test_a_tensor_of_unknown_rank_has_no_known_stride(shape):
    text = BAD.replace("torch.empty((k, n), device", "torch.empty((n, k), device")
    text = text.replace("b.stride(0), b.stride(1)", "b.stride(1), b.stride(0)")
    assert codes_of(text) == []
    given = text.replace("(m, k)", shape).replace("(m, n, k)", "(m, n, k, shape)")
    assert codes_of(given) == []


@pytest.mark.parametrize("row", TILES, ids=lambda r: f"{r['arch']}-{r['type']}-{r['tile']}")
def test_the_ways_of_a_tile_are_those_of_its_ptx(row):
    m, n, depth = row["tile"]
    text = BAD.replace("float8_e4m3fn", TYPES[row["type"]])
    extents = "M=128, N=128, BK=64,"
    assert extents in text
    text = text.replace(extents, f"M={m}, N={n}, BK={depth}, num_warps={row['warps']},")
    finding = check([Source("k.py", text)], Settings(arch=row["arch"])).findings[0]
    worst = max(worst for _, worst in row["shared"].values())
    assert finding.notes[0].endswith((f", {worst}-way", ", with bank conflicts"))
    assert ("-way" in finding.notes[0]) == (row["tile"] != [256, 64, 32] or row["type"] == "fp32")


ATTENTION = """
import torch, triton
import triton.language as tl

@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, L, svk, svn, M: tl.constexpr, N: tl.constexpr,
              D: tl.constexpr):
    rows, keys, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + depth[None, :])
    k_tile = k_ptr + keys[None, :] * D + depth[:, None]
    v_tile = v_ptr + keys[:, None] * svk + depth[None, :] * svn
    total = tl.zeros((M, D), dtype=tl.float32)
    for _ in range(0, L, N):
        k = tl.load(k_tile)
        p = tl.exp2(tl.dot(q, k))
        v = tl.load(v_tile)
        total += tl.dot(p.to(v.dtype), v)
        k_tile += N * D
        v_tile += N * svk
    tl.store(o_ptr + rows[:, None] * D + depth[None, :], total)

def run():
    q, k = (torch.empty((4096, DEPTH), device="cuda", dtype=TYPE) for _ in range(2))
    v = torch.empty(SHAPE, device="cuda", dtype=TYPE)TURN
    o = torch.empty((4096, DEPTH), device="cuda")
    attention[(32,)](q, k, v, o, 4096, v.stride(0), v.stride(1), 128, 64, DEPTH, num_stages=2)
"""


@pytest.mark.parametrize(
    "row", MORE["attention"], ids=lambda r: f"{r['arch']}-{r['type']}-{r['v']}-{r['D']}"
)
def test_the_second_product_of_an_attention_agrees_with_its_ptx(row):
    """Its left operand is computed: only the right one, V, comes through shared memory."""
    depth = row["D"]
    shape, turn = (f"(4096, {depth})", "") if row["v"] == "n" else (f"({depth}, 4096)", ".T")
    text = ATTENTION.replace("SHAPE", shape).replace("TURN", turn).replace("DEPTH", str(depth))
    text = text.replace("TYPE", f"torch.{TYPES[row['type']]}")
    found = check([Source("k.py", text)], Settings(arch=row["arch"])).findings
    worst = max(worst for _, worst in row["shared"].values())
    scalars = row["shared"].get("load 4", [0])[0] > 100
    assert [f.span.line for f in found] == ([17] if worst > 1 or scalars else [])
    if worst > 1:
        assert found[0].notes[0].endswith(f", {worst}-way")
