"""TOML and JSON are measured before they are parsed."""

from __future__ import annotations

import json
import time

import pytest

from smemlint.config.files import parse_toml
from smemlint.errors import ConfigError
from smemlint.limits.budgets import MAX_DOCUMENT_DEPTH
from smemlint.limits.documents import check_json, check_toml
from smemlint.limits.errors import TooLarge
from smemlint.lint.baseline import Baseline

QUOTES = "'" * 3


@pytest.mark.parametrize(
    "text",
    [
        "a." * 50_000 + "b = 1",
        '"a" . ' * 50_000 + "b = 1",
        "[" + "a." * 50_000 + "b]",
        "x = " + "[" * 50_000,
        "x = " + "{a = " * 50_000,
        "\n".join(["x = 1"] * 10 + ["[t]", "y." * 51 + "z = 2"]),
        "# " + "x" * (1 << 20),
    ],
)
def test_what_would_take_gigabytes_is_refused_at_once(text):
    began = time.process_time()
    with pytest.raises(ConfigError):
        parse_toml(text, "smemlint.toml")
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * MAX_DOCUMENT_DEPTH + "]" * MAX_DOCUMENT_DEPTH,
        ".".join("a" * MAX_DOCUMENT_DEPTH) + " = 1",
        f'x = "{"." * 500}{"[" * 500}" # {"." * 500}{"{" * 500}',
        f"x = {QUOTES}\n{'a.' * 500}\n{QUOTES}\ny = [{'1.5, ' * 500}]",
        "\n".join(f"[a.b.c{i}]\nx = 1.5" for i in range(500)),
    ],
)
def test_ordinary_documents_pass(text):
    check_toml(text)
    parse_toml(text, "smemlint.toml")


def test_json_is_measured_too(tmp_path):
    check_json(json.dumps({"a": "[" * 1_000 + '\\"' + "{" * 1_000}))
    with pytest.raises(TooLarge):
        check_json("[" * 51)
    with pytest.raises(TooLarge):
        check_json(" " * 11, most_bytes=10)
    path = tmp_path / "baseline.json"
    path.write_text("[" * 100_000)
    with pytest.raises(ConfigError):
        Baseline.read(str(path))
