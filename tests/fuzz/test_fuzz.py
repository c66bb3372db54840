"""A short run of the fuzzer, and every input that once broke `check`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from fuzz_server import session
from targets import HOSTILE, KINDS, Input, feed, input_number

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())


def test_inputs_are_the_same_in_every_run_and_of_every_kind():
    inputs = [input_number(7, i) for i in range(200)]
    assert inputs == [input_number(7, i) for i in range(200)]
    assert {m.kind for m in inputs} == set(KINDS)
    assert len({m.data for m in inputs}) > 150


def test_inputs_of_grammars_are_the_same_in_every_run_and_of_every_kind():
    inputs = [input_number(7, i, is_hostile=True) for i in range(200)]
    assert inputs == [input_number(7, i, is_hostile=True) for i in range(200)]
    assert {m.kind for m in inputs} == set(HOSTILE) and len({m.data for m in inputs}) > 190


@pytest.mark.slow
def test_some_inputs_break_nothing():
    for number in range(300):
        feed(input_number(11, number))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_once_broke_check_does_no_more(path):
    kind = path.name.split("-")[0]
    feed(Input(kind, path.suffix, path.read_bytes()))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pygls") is None, reason="pygls is not installed")
def test_some_messages_break_no_server():
    client = session(5, 0, 150)
    assert client.counts["messages"] > 150 and client.counts["answers"] > 20
