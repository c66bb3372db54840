"""Nothing decides on a sentence: codes and topics are compared, texts are only printed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from syntax_trees import tree_of

from smemlint.driver.failures import Failure
from smemlint.limits.errors import OutOfSteps, OutOfTime, crash_reason, stop_reason
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic, outcome

ROOT = Path(__file__).resolve().parents[1]
SENTENCES = frozenset(("message", "help", "remark", "why_unsafe", "summary"))
"""Attributes of findings, fixes and accesses that hold sentences."""
TYPED = frozenset(("reason", "assumption", "taken"))
"""What holds a `Reason` or an `Assumption`, whose `text` is a sentence."""
NAMES = re.compile(rf"\b({'|'.join(sorted(SENTENCES | TYPED))})\b")
SEARCHES = frozenset(("startswith", "endswith", "find", "index", "search", "match", "split"))


def is_sentence(node: ast.expr) -> bool:
    """Whether an expression is a text for people."""
    match node:
        case ast.Attribute(attr="text", value=ast.Attribute(attr=owner) | ast.Name(id=owner)):
            return owner in TYPED
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in SENTENCES
        case ast.Call(func=ast.Name(id="str"), args=[ast.Attribute(attr=name) | ast.Name(id=name)]):
            return name in TYPED
    return False


def decisions(tree: ast.Module) -> Iterator[int]:
    """The lines on which a sentence is compared or searched."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            sides = [node.func.value, *node.args] if node.func.attr in SEARCHES else []
        else:
            continue
        if any(map(is_sentence, sides)) and not all(map(is_sentence, sides)):
            yield node.lineno


def test_no_module_compares_a_text_for_people():
    paths = [*(ROOT / "smemlint").rglob("*.py"), *(ROOT / "rules").rglob("rule.py")]
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in paths
        if NAMES.search(path.read_text(encoding="utf-8"))
        for line in decisions(tree_of(path))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        'access.reason.text == "x"',
        'note.reason.text.startswith("x")',
        'str(reason) != "x"',
        '"x" in finding.message',
        're.search("x", assumption.text)',
    ],
)
def test_a_decision_is_found(text):
    assert list(decisions(ast.parse(text))) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "access.reason.code == 'x'",
        "token.text == 'x'",
        "print(finding.message)",
        "finding.message != other.message",  # what is shown twice
    ],
)
def test_codes_tokens_and_two_sentences_may_be_compared(text):
    assert list(decisions(ast.parse(text))) == []


def test_only_bounds_of_work_end_an_evaluation():
    assert {code for code in ReasonCode if code.ends_evaluation} == {
        "time-limit", "step-limit", "memory-limit", "nesting-limit",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OutOfSteps("spent"), "step-limit"),
        (OutOfTime("spent"), "time-limit"),
        (MemoryError(), "memory-limit"),
        (RecursionError("deep"), "nesting-limit"),
    ],
)
def test_a_limit_has_its_code(error, code):
    assert stop_reason(error).code == code
    assert not Failure(stop_reason(error)).is_crash


def test_a_defect_is_told_from_a_limit():
    reason = crash_reason(ValueError("x"), "`gluon`")
    assert reason.code is ReasonCode.INTERNAL_ERROR
    assert Failure(reason).is_crash
    assert "ValueError: x" in reason.text and "`gluon`" in reason.text


def test_a_condition_names_what_it_is_about():
    assert {a.subject for a in (outcome("n > 5", True), outcome("n > 5", False))} == {"n > 5"}
    assert outcome("n > 5", True) != outcome("n > 5", False)
    assert outcome("n > 5", True).topic is Topic.CONDITION


def test_both_print_as_their_text():
    assert f"{Reason(ReasonCode.DATA, 'a')} {Assumption(Topic.BLOCK, 'b')}" == "a b"
