"""Which rules report where: the closest word decides, `ignore` among equals."""

from __future__ import annotations

import pytest

from smemlint.config.settings import Configuration, Settings
from smemlint.errors import ConfigError
from smemlint.lint.selection import Selection, require_known_rules

CONFLICT, CONTENTION = ("SML101", "bank-conflict"), ("SML102", "atomic-contention")


@pytest.mark.parametrize(
    ("settings", "conflict", "contention"),
    [
        ({}, True, True),
        ({"select": ("SML1",)}, True, True),
        ({"select": ("bank-conflict",)}, True, False),
        ({"select": ("SML3",)}, False, False),
        ({"ignore": ("SML101",)}, False, True),
        ({"ignore": ("ALL",)}, False, False),
        ({"select": ("SML101",), "ignore": ("SML1",)}, True, False),
        ({"select": ("SML1",), "ignore": ("bank-conflict",)}, False, True),
        ({"select": ("SML1",), "ignore": ("SML1",)}, False, False),
        ({"select": ("SML3",), "extend_select": ("SML102",)}, False, True),
        ({"ignore": ("SML1",), "extend_select": ("SML101",)}, True, False),
        ({"select": ("SML1",), "extend_ignore": ("SML102",)}, True, False),
        ({"per_file_ignores": {"old/*": ("SML1",)}}, False, False),
        ({"per_file_ignores": {"k.cu": ("bank-conflict",)}}, False, True),
        ({"per_file_ignores": {"other/*": ("ALL",)}}, True, True),
        ({"per_file_ignores": {"k.cu": ("SML101",)}, "root": "src"}, False, True),
    ],
)
def test_the_closest_word_decides(settings, conflict, contention):
    selection = Selection(Settings(**settings))
    path = f"{settings.get('root', '.')}/old/k.cu".removeprefix("./")
    assert selection.reports(*CONFLICT, path) is conflict
    assert selection.reports(*CONTENTION, path) is contention


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("select", ["bank-conflit"], "unknown rule `bank-conflit`\n  hint: did you mean `bank-conflict`?"),
        ("ignore", ["SML777"], "unknown rule `SML777`\n  hint: `smemlint rule` lists them"),
        ("extend-select", "SML101,nope", "unknown rule `nope`\n  hint: `smemlint rule` lists them"),
        ("per-file-ignores", {"*.h": ["SML1", "banks"]}, "unknown rule `banks`\n  hint: did you mean `bank-conflict`?"),
        ("max-ways", {"SML101": 2, "bank": 2}, "unknown rule `bank`\n  hint: did you mean `bank-conflict`?"),
        ("max-ways", {"SML1": 2}, "unknown rule `SML1`\n  hint: `smemlint rule` lists them"),
    ],
)  # fmt: skip
def test_a_rule_that_does_not_exist_is_an_error_with_the_nearest(option, value, message):
    with pytest.raises(ConfigError) as raised:
        Configuration({option: [value]}, isolated=True, require_rules=require_known_rules).for_file(
            "k.cu"
        )
    assert str(raised.value) == f"--{option}: {message}"
