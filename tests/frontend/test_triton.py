"""Classic Triton: verdicts on dot operands and pipelines agree with what triton compiled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / "fixtures" / "triton" / "dots.json").read_text())
TYPES = {"fp8e4nv": "float8_e4m3fn", "fp16": "float16", "fp32": "float32"}
BAD = (ROOT / "rules" / "dot_operand_major" / "bad.py").read_text()


def findings(smemlint, tmp_path, kind: str, major: str, arch: str, stages: int = 3) -> list[str]:
    shape = "(n, k)" if major == "k" else "(k, n)"
    turned = ".T" if major == "k" else ""
    text = BAD.replace("float8_e4m3fn", TYPES[kind]).replace("num_stages=3", f"num_stages={stages}")
    old = f'b = torch.empty((k, n), device="cuda", dtype=torch.{TYPES[kind]})'
    assert old in text
    (tmp_path / "k.py").write_text(text.replace(old, old.replace("(k, n)", shape) + turned))
    _, out, _ = smemlint("check", "k.py", "--arch", arch, "--output-format", "json")
    return [f["code"] for f in json.loads(out)["findings"]]


@pytest.mark.parametrize("row", RECORD["dots"], ids=lambda r: f"{r['arch']}-{r['type']}-{r['b']}")
def test_a_major_is_reported_where_the_ptx_conflicts(row, smemlint, tmp_path):
    conflicts = max(worst for _, worst in row["shared"].values()) > 1
    found = findings(smemlint, tmp_path, row["type"], row["b"], row["arch"])
    assert found == (["SML501"] if conflicts else [])


@pytest.mark.parametrize("row", RECORD["rings"], ids=lambda r: f"{r['arch']}-{r['stages']}")
def test_a_ring_is_reported_where_its_bytes_do_not_fit(row, smemlint, tmp_path):
    limit = {"sm_80": 166_912, "sm_90": 232_448, "sm_100": 232_448}[row["arch"]]
    found = findings(smemlint, tmp_path, "fp16", "n", row["arch"], row["stages"])
    assert found == (["SML502"] if row["bytes"] > limit else [])


def test_an_unknown_type_or_stride_is_silent(smemlint, tmp_path):
    for old, new in (
        ('b = torch.empty((k, n), device="cuda", dtype=torch.float8_e4m3fn)', "b = make(k, n)"),
        ("b.stride(1), ", "given, "),
        ("num_stages=3", "num_stages=3, num_warps=1"),
    ):
        assert old in BAD
        (tmp_path / "k.py").write_text(BAD.replace(old, new))
        assert smemlint("check", "k.py")[:2] == (0, "")
