"""`check --fix`, `--unsafe-fixes` and `--diff` on files and standard input."""

from __future__ import annotations

import os
import subprocess

import pytest
from kernels import TRANSPOSE, kernel

FIXED = TRANSPOSE.replace("[TILE][TILE]", "[TILE][TILE + 1]")
UNUSED = "// smemlint: ignore[bank-conflict] nothing conflicts\n"
BOTH = ("check", "--fix", "--unsafe-fixes")


def closing(err: str) -> str:
    """What the closing line says of fixes."""
    return err.splitlines()[-1].partition(" suppressed)")[2]


def test_fixes_are_counted_applied_and_applied_once(smemlint, tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(TRANSPOSE)
    code, _, err = smemlint("check", "k.cu")
    assert (code, closing(err)) == (1, "; 1 fixable with --fix --unsafe-fixes")
    code, _, err = smemlint("check", "--fix", "k.cu")
    assert (code, closing(err)) == (1, "; 0 findings fixed; 1 more with --unsafe-fixes")
    assert path.read_text() == TRANSPOSE
    code, out, err = smemlint(*BOTH, "k.cu")
    assert (code, out, closing(err)) == (0, "", "; 1 finding fixed")
    assert path.read_text() == FIXED
    changed = path.stat().st_mtime_ns
    code, out, err = smemlint(*BOTH, "k.cu")
    assert (code, out, closing(err)) == (0, "", "; 0 findings fixed")
    assert path.stat().st_mtime_ns == changed


def test_safe_fixes_need_one_flag(smemlint, tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(UNUSED + TRANSPOSE)
    _, _, err = smemlint("check", "k.cu")
    assert closing(err) == "; 1 fixable with --fix, 1 more with --fix --unsafe-fixes"
    _, _, err = smemlint("check", "--fix", "k.cu")
    assert closing(err) == "; 1 finding fixed; 1 more with --unsafe-fixes"
    assert path.read_text() == TRANSPOSE


def test_the_setting_may_stand_in_a_configuration(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(TRANSPOSE)
    (tmp_path / "smemlint.toml").write_text("unsafe-fixes = true\n")
    assert smemlint("check", "--fix", "k.cu")[0] == 0
    assert (tmp_path / "k.cu").read_text() == FIXED
    (tmp_path / "smemlint.toml").write_text("fix = true\n")
    assert smemlint("check", "k.cu")[0] == 2


@pytest.mark.skipif(not os.access("/usr/bin/patch", os.X_OK), reason="no patch program")
def test_a_diff_of_a_name_with_blanks_is_applied_by_patch(smemlint, tmp_path):
    path = tmp_path / "my kernel.cu"
    path.write_text(TRANSPOSE)
    _, out, _ = smemlint("check", "--diff", "--unsafe-fixes", "my kernel.cu")
    assert out.startswith("--- my kernel.cu\t\n+++ my kernel.cu\t\n@@ ")
    subprocess.run(["/usr/bin/patch", "-p0"], input=out.encode(), cwd=tmp_path, check=True)
    assert path.read_text() == FIXED


def test_a_diff_writes_nothing_and_patch_applies_it(smemlint, tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(TRANSPOSE)
    code, out, err = smemlint("check", "--diff", "k.cu")
    assert (code, out) == (0, "")
    assert err == "would fix 0 findings in 0 files; 1 more with --unsafe-fixes\n"
    code, out, err = smemlint("check", "--diff", "--fix", "--unsafe-fixes", "k.cu")
    assert (code, err) == (1, "would fix 1 finding in 1 file\n")
    assert out.splitlines()[:2] == ["--- k.cu", "+++ k.cu"]
    assert [line for line in out.splitlines()[2:] if line[0] in "+-"] == [
        "-  __shared__ float tile[TILE][TILE];", "+  __shared__ float tile[TILE][TILE + 1];",
    ]  # fmt: skip
    assert path.read_text() == TRANSPOSE
    assert smemlint("check", "--diff", "--unsafe-fixes", "--exit-zero", "k.cu")[0] == 0
    if not os.access("/usr/bin/patch", os.X_OK):
        pytest.skip("no patch program: applying the diff is not tried")
    subprocess.run(["/usr/bin/patch", "-p0"], input=out.encode(), cwd=tmp_path, check=True)
    assert path.read_text() == FIXED


@pytest.mark.parametrize(
    ("encoding", "newline", "comment"),
    [
        ("utf-8", "\r\n", "caf\u00e9 \U0001f600"),
        ("utf-8-sig", "\n", "caf\u00e9"),
        ("utf-8-sig", "\r\n", ""),
        ("latin-1", "\n", "caf\u00e9 \u00b5s \u00ff"),
        ("latin-1", "\r\n", "\u00e2\u0082x"),
    ],
)
def test_bytes_stay(smemlint, tmp_path, encoding, newline, comment):
    path = tmp_path / "k.cu"
    around = f"/* {comment} */ float tile"

    def written(text: str) -> bytes:
        return text.replace("float tile", around).replace("\n", newline).encode(encoding)

    path.write_bytes(written(TRANSPOSE))
    code, _, err = smemlint(*BOTH, "k.cu")
    assert (code, closing(err)) == (0, "; 1 finding fixed")
    assert path.read_bytes() == written(FIXED)


def test_standard_input_becomes_standard_output(smemlint):
    text = ("\ufeff" + TRANSPOSE.replace("\n", "\r\n")).encode()
    code, out, err = smemlint(*BOTH, "-", stdin=text)
    assert (code, out.encode()) == (0, text.replace(b"[TILE][TILE]", b"[TILE][TILE + 1]"))
    assert closing(err) == "; 1 finding fixed"
    code, out, err = smemlint("check", "--fix", "--output-format", "concise", "-", stdin=text)
    assert (code, out.encode()) == (1, text)
    assert "stdin.cu:7:20: SML101" in err
    code, out, _ = smemlint("check", "--diff", "--unsafe-fixes", "-", stdin=text)
    assert (code, out.splitlines()[0]) == (1, "--- stdin.cu")


def test_a_file_that_cannot_be_written_is_said(smemlint, tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(TRANSPOSE)
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        pytest.skip("everything may be written here")
    code, _, err = smemlint(*BOTH, "k.cu")
    assert code == 2
    assert "k.cu: cannot be written" in err and "Traceback" not in err


def test_fixes_that_are_too_much_together_are_applied_one_by_one(smemlint, tmp_path):
    # Each array may grow by 768 bytes below the limit of 48 KiB, both may not.
    declaration = "__shared__ float a[192][32], b[184][32];"
    body = "for (int i = 0; i < 6; i++) a[i * 32 + threadIdx.x][0] = 1;"
    body += " for (int i = 0; i < 5; i++) b[i * 32 + threadIdx.x][0] = 1;"
    path = tmp_path / "k.cu"
    path.write_text(kernel(declaration, body))
    code, out, err = smemlint(*BOTH, "--output-format", "concise", "k.cu")
    assert (code, closing(err)) == (1, "; 1 finding fixed")
    assert "writing `b`" in out and out.count("\n") == 1
    assert path.read_text() == kernel(declaration.replace("[192][32]", "[192][33]"), body)


def test_two_arrays_of_one_declaration_are_fixed_in_one_round(smemlint, tmp_path):
    declaration = "__shared__ float a[32][32],\n      b[32][64];"
    body = "a[threadIdx.x][0] = 1; b[threadIdx.x][n] = 1;"
    path = tmp_path / "k.cu"
    path.write_text(kernel(declaration, body))
    _, _, err = smemlint(*BOTH, "k.cu")
    assert closing(err) == "; 2 findings fixed"
    after = declaration.replace("[32][32]", "[32][33]").replace("[64]", "[65]")
    assert path.read_text() == kernel(after, body)


def test_only_what_edits_bear_on_is_evaluated_again(tmp_path, monkeypatch):
    from smemlint.cli.fix_modes import applied
    from smemlint.cli.inputs import Inputs
    from smemlint.config.settings import Configuration
    from smemlint.driver import tasks
    from smemlint.driver.run import check_run
    from smemlint.sources.discovery import find_sources

    for i in range(4):
        own = TRANSPOSE.replace("transpose", f"transpose{i}").replace("launch", f"launch{i}")
        (tmp_path / f"k{i}.cu").write_text(own)
    fixed = (tmp_path / "k3.cu").read_text().replace("[TILE][TILE]", "[TILE][TILE + 1]")
    (tmp_path / "k3.cu").write_text(fixed)
    evaluated = []
    original = tasks.UnitTask.__call__
    monkeypatch.setattr("smemlint.driver.schedule._FEW", 100)
    monkeypatch.setattr(
        tasks.UnitTask, "__call__", lambda s, r: evaluated.append(r) or original(s, r)
    )
    monkeypatch.chdir(tmp_path)
    configuration = Configuration({"unsafe-fixes": True})

    def session(*, name):
        evaluated.clear()
        sources = find_sources(["."], configuration)
        return applied(Inputs(configuration.for_file("x"), configuration, sources), name)

    edited = ["k0.cu", "k1.cu", "k2.cu"]
    cold = session(name="cold")
    assert evaluated == [*edited, "k3.cu", *edited]
    check_run(find_sources(["."]), configuration, configuration.for_file("x"), name="warm")
    warm = session(name="warm")
    assert evaluated == edited
    assert warm.after == cold.after and warm.fixed == cold.fixed == 3
    assert sorted(warm.after) == edited and not warm.result.findings
