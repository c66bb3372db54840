"""Arguments of compilers: what they define, undefine and include, and for which target."""

from __future__ import annotations

import pytest

from smemlint.frontend.cuda.build_system.flags import BuildFlags, flags_of, split_command


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("-DA -D B=2 --define-macro=C=x", BuildFlags({"A": "1", "B": "2", "C": "x"})),
        ("-DA=1 -UA", BuildFlags({}, frozenset({"A"}))),
        ("-UA -DA=1", BuildFlags({"A": "1"})),
        ("-Ia -I b -isystem c -isystemd --include-path=e -Ia", BuildFlags({}, frozenset(), ("a", "b", "c", "d", "e"))),
        ("-include pre.h --pre-include=p.h", BuildFlags({}, frozenset(), (), ("pre.h", "p.h"))),
        ("-arch=sm_80", BuildFlags(archs=("sm_80",))),
        ("-gencode arch=compute_80,code=sm_80 --generate-code=arch=compute_90a,code=[compute_90a,sm_90a]", BuildFlags(archs=("sm_80", "sm_90a"))),
        ("--cuda-gpu-arch=sm_75", BuildFlags(archs=("sm_75",))),
        ("-std=c++20", BuildFlags({"__cplusplus": "202002L"})),
        ("-Xcompiler -DHOST -o -DX -c k.cu -O3 -DY=\\\"a\\ b\\\"", BuildFlags({"Y": '"a b"'})),
        ("-D", BuildFlags()),
        ("", BuildFlags()),
    ],
)  # fmt: skip
def test_what_a_command_says(command, expected):
    assert flags_of(split_command(command)) == expected


def test_a_file_of_options_is_read_once():
    texts = {"a.rsp": "-Iinc --options-file=a.rsp -DA=2"}
    found = flags_of(["--options-file", "a.rsp", "-DB"], texts.get)
    assert found == BuildFlags({"A": "2", "B": "1"}, frozenset(), ("inc",))
    assert flags_of(["--options-file", "none.rsp"], texts.get) == BuildFlags()


@pytest.mark.parametrize(
    ("archs", "preferred", "expected"),
    [((), "sm_90", "sm_90"), (("sm_80", "sm_90"), "sm_90", "sm_90"), (("sm_75", "sm_120", "sm_80"), "sm_90", "sm_120")],
)  # fmt: skip
def test_the_target_is_the_preferred_one_or_the_newest(archs, preferred, expected):
    assert BuildFlags(archs=archs).arch(preferred) == expected


def test_quotes_that_do_not_close_are_no_command():
    assert split_command('nvcc "-DA') == []
