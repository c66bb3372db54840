"""What of included files is expanded once for all units that include them."""

import pytest

from smemlint.frontend.cuda.preprocessor import expansions, macros, preprocess
from smemlint.frontend.cuda.preprocessor.options import LoadOptions
from smemlint.limits.errors import OutOfSteps
from smemlint.limits.steps import current, step_limit

HEADER = """
#define TWICE(x) x x
#define GROW(x) TWICE(x) LAST
int a[] = { GROW(1) 9 };
"""


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """Begins with nothing that is kept."""
    kept = expansions.Expansions(1000)
    monkeypatch.setattr(preprocess, "EXPANSIONS", kept)
    return kept


def read(text, header=HEADER, **defines):
    options = LoadOptions(defines=defines, read={"h.cuh": header}.get)
    return preprocess.preprocess("main.cu", '#include "h.cuh"\n' + text, options)


def texts(unit):
    return [token.text for token in unit.tokens]


def test_units_share_the_tokens_that_macros_make():
    first, second = read("int b;"), read("int c;")
    assert texts(first)[:-3] == texts(second)[:-3]
    assert "".join(texts(first)) == "inta[]={11LAST9};intb;"
    assert [x is y for x, y in zip(first.tokens, second.tokens, strict=True)][:-3] == [True] * 12


@pytest.mark.parametrize(
    ("before", "made"),
    [("#define LAST 5", "5"), ("#define LAST TWICE(4)", "44"), ("#define a b", "LAST")],
)
def test_a_macro_that_one_unit_has_makes_another_expansion(before, made):
    read("")
    options = LoadOptions(read={"h.cuh": HEADER}.get)
    unit = preprocess.preprocess("main.cu", f'{before}\n#include "h.cuh"', options)
    assert f"11{made}9" in "".join(texts(unit))
    assert ("b" in texts(unit)) == ("a b" in before)
    assert "".join(texts(read(""))) == "inta[]={11LAST9};"


def test_definitions_of_the_command_line_are_the_same_to_all_units():
    first, second = read("", LAST="7"), read("", LAST="7")
    assert all(x is y for x, y in zip(first.tokens, second.tokens, strict=True))
    assert texts(read("", LAST="8")) != texts(first)


def test_an_argument_that_another_branch_continues_is_expanded_anew():
    header = "#define F(x) x\nint a = F(\n#ifdef LONG\n1 +\n#endif\n2);\nint b = F(3);"
    long, short = read("", header, LONG="1"), read("#undef LONG", header + "\n")
    assert "".join(texts(long)) == "inta=1+2;intb=3;"
    again = read("", header, LONG="1")
    assert texts(again) == texts(long)
    assert texts(short)


def test_sharing_takes_as_many_steps_as_expanding():
    header = "#define F(x) x x x x x x x x\n#define G(x) F(F(F(x)))\nint a[] = { G(1) };"
    spent = []
    for _ in range(2):
        before = current().spent
        read("", header)
        spent.append(current().spent - before)
    assert spent[0] == spent[1] > 0
    with pytest.raises(OutOfSteps), step_limit(spent[0] - 1):
        read("", header)


def test_what_is_too_much_for_a_unit_is_not_taken_from_another(monkeypatch):
    header = "#define F(x) x x x x x x x x\nint a[] = { F(1) F(2) };"
    assert texts(read("", header)).count("1") == 8
    monkeypatch.setattr(macros, "MAX_TOKENS_OF_MACROS", 30)
    unit = read("", header)
    assert (texts(unit).count("1"), texts(unit).count("2")) == (8, 1)
    assert len(unit.notices) == 2


def test_where_there_is_no_room_what_is_kept_is_forgotten(monkeypatch):
    monkeypatch.setattr(preprocess, "EXPANSIONS", expansions.Expansions(20))
    first, other, again = read(""), read("", HEADER + "int z = GROW(2);"), read("")
    assert texts(first) == texts(again)
    assert first.tokens[-1] is again.tokens[-1]  # lexed, not made
    assert first.tokens[5] is again.tokens[5]
    assert texts(other)[-1] == ";"


def test_what_macros_swallow_takes_room(monkeypatch):
    kept = expansions.Expansions(200)
    monkeypatch.setattr(preprocess, "EXPANSIONS", kept)
    for k in range(9):
        header = f"#define IGNORE(x)\n#define F{k}\nIGNORE({'1 ' * 60})"
        assert texts(read("", header)) == []
    assert sum(len(e.tokens) for e in kept._kept.values()) <= 200


def test_conditions_around_a_definition_are_those_of_the_unit():
    header = "#define F 1\nint a = F;"
    options = LoadOptions(read={"h.cuh": header}.get)
    for _ in range(2):
        for name in ("X", "Y", ""):
            around = f'#if {name} > 2\n#include "h.cuh"\n#endif' if name else '#include "h.cuh"'
            unit = preprocess.preprocess("main.cu", around, options)
            made = [token for token in unit.tokens if token.text == "1"]
            assert [name in str(token.assumed) for token in made] == [True] * len(made)
            assert len(made) == 1 or name
