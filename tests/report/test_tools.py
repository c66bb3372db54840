"""Reports for tools: JSON, SARIF, GitHub, GitLab and JUnit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest
from samples import KERNEL, report, result_of, run_of, sample

from smemlint.cli.main import main
from smemlint.cli.output import write
from smemlint.config.options import FORMATS
from smemlint.facts import Facts, Span
from smemlint.finding import Edit, Finding, Fix, Severity
from smemlint.lint.fingerprints import fingerprints
from smemlint.lint.registry import entries
from smemlint.lint.result import Result
from smemlint.report.context import repository_root
from smemlint.report.formats import rendered

ROOT = Path(__file__).resolve().parents[2]
PLACES = [p / "shared/schemas/sarif-schema-2.1.0.json" for p in ROOT.parents]
SCHEMA = next((p for p in PLACES if p.is_file()), None)
PAGE = ROOT / "smemlint/report/README.md"


def bare(*findings: Finding, text: str = "") -> object:
    """A run of findings on one text."""
    return run_of(Result(findings, (), Facts(), 1), lambda _: text)


ODD = Finding(
    "SML998",
    "odd-name",
    Severity.ERROR,
    "100% of `a[0], b`:\r\nworse <&> \x1b",
    Span("dir, 1/k:%.cu", 2, 3, 4, 5),
)


# ---- JSON


def test_json_has_everything_that_is_known():
    document = json.loads(report("json"))
    note, finding = document["findings"]
    assert document["version"] == 1 and document["arch"] == "sm_90"
    assert (note["code"], note["access"], note["fix"], note["measurement"]) == (
        "SML901", None, None, None,
    )  # fmt: skip
    assert finding["fix"] == {
        "title": "pad the rows of `tile` to 33 elements",
        "safe": False,
        "why_unsafe": "128 bytes more shared memory",
        "edits": [
            {"file": "k.cu", "line": 2, "column": 29, "end_line": 2, "end_column": 31, "text": "33"}
        ],
    }
    assert finding["measurement"] == {
        "verdict": "confirmed", "predicted": 32, "measured": 32.0, "spread": 0.25,
        "device": "NVIDIA H200, sm_90", "reason": None, "patterns": 1, "command": None,
        "after_fix": None,
    }  # fmt: skip
    assert finding["access"]["wavefronts"] == {"min": 32, "max": 32, "mean": 32.0}
    assert document["summary"] == {
        "files": 1, "accesses_decided": 3, "accesses_not_decided": 1, "suppressed": 1,
        "exit_code": 1,
    }  # fmt: skip


def test_every_key_of_the_json_is_documented():
    documented = set(re.findall(r"`([a-z_]+)(?:\[\])?`", PAGE.read_text()))
    documented |= {k for dotted in re.findall(r"`([a-z_.\[\]]+)`", PAGE.read_text())
                   for k in re.split(r"[.\[\]]+", dotted) if k}  # fmt: skip

    def keys(value: object, name: str = "") -> set[str]:
        if isinstance(value, dict) and name != "access":
            return set(value) | {x for k, v in value.items() for x in keys(v, k)}
        if isinstance(value, list):
            return {x for v in value for x in keys(v)}
        return set()

    assert keys(json.loads(report("json"))) <= documented
    assert set(FORMATS["check"]) <= documented


def test_what_is_hidden_does_not_renumber_its_twins():
    again = "__syncthreads(); out[1] = tile[threadIdx.x][0]"
    text = KERNEL.replace("out[1] = tile[threadIdx.x][8]", again)
    swapped = text.replace('  // smemlint: ignore[bank-conflict] cold, "once" <a block>', "")
    prints = []
    for source in (text, swapped):
        run = run_of(result_of(source), lambda _, source=source: source)
        for name in ("json", "sarif"):
            document = json.loads(rendered(name, run))
            found = document.get("findings") or document["runs"][0]["results"]
            keys = [f.get("fingerprint") or f["partialFingerprints"]["smemlint/v1"] for f in found]
            prints.append(keys)
    shown, with_hidden, both, all_of_both = prints
    assert shown == with_hidden[: len(shown)] == both[: len(shown)]
    assert with_hidden == both == all_of_both and len(set(both)) == 3


# ---- SARIF


def test_sarif_follows_the_official_schema():
    jsonschema = pytest.importorskip("jsonschema")
    if SCHEMA is None:
        pytest.skip(f"needs the schema, e.g. at {PLACES[0]}")
    schema = json.loads(SCHEMA.read_text())
    validator = jsonschema.validators.validator_for(schema)(schema)
    for run in (sample(), bare(ODD), bare()):
        document = json.loads(rendered("sarif", run))
        assert [e.message for e in validator.iter_errors(document)] == []
    document["runs"][0]["columnKind"] = "bytes"
    assert len(list(validator.iter_errors(document))) == 1


def test_sarif_has_what_github_requires():
    document = json.loads(report("sarif"))
    assert document["$schema"] and document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [r["id"] for r in rules] == [e.rule.code for e in entries()]
    for rule in rules:
        for key in ("shortDescription", "fullDescription", "help"):
            assert rule[key]["text"].strip(), rule["id"]
        assert len(rule["shortDescription"]["text"]) <= 1024
        assert rule["help"]["markdown"].startswith(f"# {rule['id']} ")
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert len(rule["properties"]["tags"]) <= 10
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert not urlsplit(uri).scheme and not uri.startswith("/")
        region = location["physicalLocation"]["region"]
        assert set(region) == {"startLine", "startColumn", "endLine", "endColumn"}
        assert re.fullmatch(r"\w+:\d+", result["partialFingerprints"]["primaryLocationLineHash"])


def test_sarif_says_where_how_and_what_instead():
    (run,) = json.loads(report("sarif"))["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": Path.cwd().as_uri() + "/"}}
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 1}]
    note, finding, suppressed = run["results"]
    assert (note["level"], finding["level"]) == ("note", "warning")
    assert finding["relatedLocations"][0]["message"]["text"] == "`tile` is declared here."
    (change,) = finding["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 2, "startColumn": 29, "endLine": 2, "endColumn": 31},
            "insertedContent": {"text": "33"},
        }
    ]
    measurement = finding["properties"].pop("measurement")
    assert (measurement["verdict"], measurement["measured"]) == ("confirmed", 32.0)
    assert finding["properties"] == {
        "certainty": "assumed", "wavefronts": 32, "ideal": 1,
    }  # fmt: skip
    assert "suppressions" not in finding
    assert suppressed["suppressions"] == [
        {"kind": "inSource", "status": "accepted", "justification": 'cold, "once" <a block>'}
    ]


def test_sarif_of_a_finding_without_a_page_and_with_an_odd_path():
    (run,) = json.loads(rendered("sarif", bare(ODD)))["runs"]
    (result,) = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (rule["id"], rule["help"]["text"]) == ("SML998", "Odd name.")
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri) == "dir, 1/k:%.cu" and uri == "dir%2C%201/k%3A%25.cu"


def test_a_fix_in_two_files_is_two_changes():
    edits = (Edit(Span("b.cuh", 1, 1, 1, 1), "x"), Edit(Span("a.cu", 1, 1, 1, 2), "y"))
    (run,) = json.loads(rendered("sarif", bare(replace(ODD, fix=Fix("do", edits, True)))))["runs"]
    changes = run["results"][0]["fixes"][0]["artifactChanges"]
    assert [c["artifactLocation"]["uri"] for c in changes] == ["b.cuh", "a.cu"]


def test_paths_for_tools_begin_at_the_repository(tmp_path, smemlint):
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "k.cu").write_text(KERNEL)
    outside = tmp_path.parent / f"{tmp_path.name}_outside.cu"
    outside.write_text(KERNEL)
    code, out, _ = smemlint(
        "check", "k.cu", str(outside), "--output-format", "sarif", cwd=tmp_path / "sub"
    )
    assert code == 1
    (run,) = json.loads(out)["runs"]
    places = [r["locations"][0]["physicalLocation"]["artifactLocation"] for r in run["results"]]
    assert {p["uri"]: p.get("uriBaseId") for p in places} == {
        "sub/k.cu": "%SRCROOT%",
        outside.as_uri(): None,
    }
    assert repository_root(tmp_path / "sub") == tmp_path


# ---- GitHub


def test_github_annotations():
    note, warning = report("github").splitlines()
    assert note == (
        "::notice file=k.cu,line=1,col=17,endColumn=23,endLine=1,title=SML901 not-analysed"
        "::not fully analysed: `column`, 1 undecided%0Aline 6: a value read from global memory"
    )
    assert warning.startswith("::warning file=k.cu,line=5,col=22,endColumn=42,endLine=5,")
    assert (
        "%0Ameasured: predicted 32, measured 32.0 +/- 0.25 (NVIDIA H200, sm_90): confirmed%0A"
        in warning
    )


def test_github_escapes_and_leaves_columns_out_over_several_lines():
    assert rendered("github", bare(ODD)) == (
        "::error file=dir%2C 1/k%3A%25.cu,line=2,endLine=4,title=SML998 odd-name"
        "::100%25 of `a[0], b`:\u240d\u240aworse <&> \u241b"
    )


# ---- GitLab


def test_gitlab_issues_are_unique_over_files_of_equal_text():
    result = result_of({"a.cu": KERNEL, "b.cu": KERNEL})
    issues = json.loads(rendered("gitlab", run_of(result, lambda _: KERNEL)))
    assert [(i["location"]["path"], i["severity"], i["check_name"]) for i in issues] == [
        ("a.cu", "info", "not-analysed"),
        ("a.cu", "major", "bank-conflict"),
        ("b.cu", "info", "not-analysed"),
        ("b.cu", "major", "bank-conflict"),
    ]
    assert len({i["fingerprint"] for i in issues}) == 4
    prints = fingerprints(result.findings, lambda _: KERNEL)
    assert len(set(prints)) == 2
    assert issues[1]["location"]["positions"] == {
        "begin": {"line": 5, "column": 22}, "end": {"line": 5, "column": 42},
    }  # fmt: skip
    assert rendered("gitlab", bare()) == "[]"


# ---- JUnit


def test_junit_fails_on_warnings_passes_notes_and_skips_what_is_suppressed():
    root = ElementTree.fromstring(report("junit"))
    assert root.attrib == {"name": "smemlint", "tests": "3", "failures": "1"}
    (suite,) = root
    assert suite.attrib == {"name": "k.cu", "tests": "3", "failures": "1", "skipped": "1"}
    assert [(case.get("line"), case[0].tag) for case in suite] == [
        ("1", "system-out"), ("5", "failure"), ("7", "skipped"),
    ]  # fmt: skip
    assert suite[1][0].get("message") == "32-way bank conflict reading `tile`"
    assert "2 +   __shared__ float tile[32][33];" in (suite[1][0].text or "")
    assert suite[2][0].get("message") == 'cold, "once" <a block>'


def test_junit_is_xml_whatever_the_text():
    root = ElementTree.fromstring(rendered("junit", bare(ODD, text="\x00\x1b<]]>\ufffe\n" * 5)))
    assert root[0].get("name") == "dir, 1/k:%.cu"
    empty = ElementTree.fromstring(rendered("junit", bare()))
    assert empty.get("failures") == "0" and len(empty[0]) == 1


# ---- all


@pytest.mark.parametrize("name", FORMATS["check"])
def test_every_format_goes_to_a_file_and_leaves_the_summary(
    name, tmp_path, monkeypatch, capfdbinary
):
    (tmp_path / "k.cu").write_text(KERNEL)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "k.cu", "--output-format", name]) == 1
    shown = capfdbinary.readouterr().out
    assert main(["check", "k.cu", "--output-format", name, "--output-file", "report"]) == 1
    out, err = capfdbinary.readouterr()
    assert out == b"" and err == (
        b"checked 1 file: 3 shared accesses decided, 1 not; 1 warning, 1 note (1 suppressed)\n"
    )
    assert shown and (tmp_path / "report").read_bytes() == shown


@pytest.mark.parametrize("name", FORMATS["check"])
def test_names_that_are_no_text_reach_terminals_that_know_no_unicode(name, tmp_path):
    kernel = KERNEL.replace("// smemlint: ignore[bank-conflict]", "// \u6f22")
    for path in (b"\xff k.cu", "\u00e9#%.cu".encode(), b"-x\n.cu"):
        (tmp_path / os.fsdecode(path)).write_text(kernel, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "smemlint", "check", ".", "--output-format", name],
        cwd=tmp_path, capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    text = done.stdout.decode("utf-8")
    assert text.count("32-way") >= 3
    if name in ("json", "sarif", "gitlab"):
        json.loads(text)
    if name == "junit":
        ElementTree.fromstring(text)
    if name == "sarif":
        (run,) = json.loads(text)["runs"]
        places = [r["locations"][0]["physicalLocation"] for r in run["results"]]
        uris = {p["artifactLocation"]["uri"] for p in places}
        assert uris == {"%FF%20k.cu", "%C3%A9%23%25.cu", "-x%0A.cu"}


def test_a_file_of_a_report_is_utf8_whatever_its_text(tmp_path):
    write("\udcff \u6f22", str(tmp_path / "report"))
    assert (tmp_path / "report").read_bytes() == "? \u6f22\n".encode()


@pytest.mark.parametrize("name", FORMATS["check"])
def test_every_format_survives_no_findings_and_odd_ones(name):
    assert isinstance(rendered(name, bare()), str)
    assert "SML998" in rendered(name, bare(ODD, text="a\n\u2028b"))
