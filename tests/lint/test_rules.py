"""Every rule: its bad kernels give the marked findings and figures, its good ones none."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from smemlint.config.options import option_named
from smemlint.lint.registry import entries, entry

if TYPE_CHECKING:
    from pathlib import Path

THEMSELVES = {"SML901", "SML902", "SML903", "SML904"}
"""Rules whose message is what there is to do, or the reason why nothing is known."""
SECTIONS = (
    "What it does", "Why is this bad?", "Example", "Use instead", "Fix safety", "How sure",
    "Options", "References",
)  # fmt: skip
ENTRIES = entries()
NAMES = [e.rule.name for e in ENTRIES]


def kernels_of(folder: Path, kind: str) -> list[Path]:
    """The `bad` or `good` kernels of a rule, in CUDA C++ and in Python."""
    return sorted(p for p in folder.glob(f"{kind}*") if p.suffix in (".cu", ".py"))


def expected(text: str) -> list[tuple[int, str, str]]:
    """(line, code, text that message or notes hold) of each `//~ CODE text` or `# ~` marker.

    A line has several where each but the last ends before another `~`.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        marker = re.search(r"(?://|# ?)(~ SML\d+ .*)$", line)
        for code, message in re.findall(r"~ (SML\d+) ([^~]*)", marker[1] if marker else ""):
            found.append((number, code, message.strip()))
    return found


@pytest.mark.parametrize(
    ("left_out", "judged"), [("of_layouts", "check_layout"), ("of_products", "check_dot")]
)
def test_rules_are_left_out_that_judge_nothing_of_a_run(left_out, judged):
    def judges(rule):
        return {name for name in vars(type(rule)) if name.startswith("check")}

    kept = {e.rule.code for e in entries(**{left_out: False})}
    assert kept == {e.rule.code for e in ENTRIES if judges(e.rule) != {judged}}


@pytest.mark.parametrize("found", ENTRIES, ids=NAMES)
def test_bad_kernels_give_exactly_the_marked_findings(found, smemlint):
    for kernel in kernels_of(found.folder, "bad"):
        marked = expected(kernel.read_text())
        assert marked, "a bad kernel has at least one marker"
        _, out, _ = smemlint("check", str(kernel), "--output-format", "json")
        got = json.loads(out)["findings"]
        assert [(f["line"], f["code"]) for f in got] == [(n, c) for n, c, _ in marked]
        for finding, (_, _, message) in zip(got, marked, strict=True):
            assert finding["help"] or finding["fix"] or finding["code"] in THEMSELVES, finding
            figures = finding["message"], *finding["notes"]
            if re.fullmatch(r"\d+/\d+", message):
                spent, ideal = message.split("/")
                assert any(f"{spent} wavefronts instead of {ideal}" in t for t in figures)
            else:
                assert any(message in text for text in figures), figures


@pytest.mark.parametrize("found", ENTRIES, ids=NAMES)
def test_good_kernels_are_silent(found, smemlint):
    kernels = kernels_of(found.folder, "good")
    assert kernels
    for kernel in kernels:
        code, out, err = smemlint("check", str(kernel))
        assert (code, out) == (0, ""), out
        assert "0 not" in err


@pytest.mark.parametrize("found", ENTRIES, ids=NAMES)
def test_pages_have_all_sections(found):
    assert re.findall(r"^## (.*)$", found.page, re.M) == list(SECTIONS)
    assert found.page.startswith(f"# {found.rule.code} {found.rule.name}\n")


def code_blocks(page: str, section: str) -> list[str]:
    body = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    assert body is not None
    return re.findall(r"^```\w+\n(.*?)^```$", body[1], re.M | re.S)


def statements(text: str) -> list[str]:
    """Lines without comments and layout; a line of nothing but dots or a comment says nothing."""
    bare = (re.sub(r"\s+", "", re.sub(r"(//|#(?!\w)).*", "", line)) for line in text.splitlines())
    return [line for line in bare if line and set(line) != {"."}]


def holds_in_order(whole: list[str], part: list[str]) -> bool:
    lines = iter(whole)
    return all(line in lines for line in part)


@pytest.mark.parametrize("found", ENTRIES, ids=NAMES)
def test_the_examples_of_a_page_are_its_kernels(found):
    """Each line of an example stands, in that order, in a kernel that the tests above check."""
    for section, pattern in (("Example", "bad*.*"), ("Use instead", "good*.*")):
        blocks = code_blocks(found.page, section)
        assert blocks, f"{section} shows no code"
        kernels = [statements(k.read_text()) for k in sorted(found.folder.glob(pattern))]
        for block in blocks:
            assert statements(block)
            assert any(holds_in_order(kernel, statements(block)) for kernel in kernels), block


@pytest.mark.parametrize("found", ENTRIES, ids=NAMES)
def test_the_options_of_a_page_exist(found):
    body = found.page.split("## Options\n")[1].split("\n## ")[0]
    named = re.findall(r"^- `([a-z-]+)`", body, re.M)
    assert all(option_named(name) is not None for name in named)
    assert re.search(r"^- .", found.page.split("## References\n")[1], re.M)


def test_a_rule_is_explained_and_all_are_listed(smemlint):
    page = entry("SML101").page
    for name in ("SML101", "sml101", "bank-conflict"):
        assert smemlint("rule", name) == (0, page.rstrip() + "\n", "")
    _, text, _ = smemlint("rule", "--all")
    assert [line.split()[0] for line in text.splitlines()] == [e.rule.code for e in ENTRIES]
    _, table, _ = smemlint("rule", "--all", "--output-format", "markdown")
    assert table.splitlines()[2] == (
        "| [SML101](rules/bank_conflict/README.md) | bank-conflict | warning "
        "| lanes of one warp reach different words of one bank |"
    )
    _, out, _ = smemlint("rule", "--all", "--output-format", "json")
    assert [r["page"] for r in json.loads(out)["rules"]] == [e.page for e in ENTRIES]


def test_the_advised_padding_heals_the_bad_kernel(smemlint, tmp_path):
    bad = (entry("SML101").folder / "bad.cu").read_text()
    (tmp_path / "k.cu").write_text(bad.replace("tile[32][32]", "tile[32][33]"))
    code, out, _ = smemlint("check", "k.cu")
    assert (code, out) == (0, "")


def test_the_bytes_that_out_of_bounds_asks_for_are_those_of_all_warps(smemlint, tmp_path):
    kernel = "__global__ void k() { __shared__ float s[32]; s[threadIdx.x] = 1; }\n"
    text = kernel + "void f() { k<<<1, 128>>>(); }\n"
    (tmp_path / "k.cu").write_text(text)
    _, out, _ = smemlint("check", "k.cu", "--output-format", "json")
    (found,) = json.loads(out)["findings"]
    assert (found["code"], re.findall(r"(\d+) bytes", found["help"])) == ("SML401", ["512"])
    (tmp_path / "k.cu").write_text(text.replace("[32]", "[128]"))
    assert smemlint("check", "k.cu")[0] == 0


def test_a_box_without_elements_is_not_told_to_be_several(smemlint, tmp_path):
    bad = (entry("SML207").folder / "bad.cu").read_text()
    helps = []
    for box in ("{0, 64}", "{512, 64}"):
        (tmp_path / "k.cu").write_text(bad.replace("{128, 64}", box))
        _, out, _ = smemlint("check", "k.cu", "--output-format", "json")
        (found,) = json.loads(out)["findings"]
        assert found["code"] == "SML207"
        helps.append(found["help"])
    assert ["several" in text for text in helps] == [False, True] and all(helps)
