"""`std::numeric_limits` in index arithmetic: the value of a member is an index here."""

from __future__ import annotations

import pytest
from conftest import facts_of
from figures import expected_lanes, kernel, lanes


@pytest.mark.parametrize(
    ("index", "start"),
    [
        ("std::numeric_limits<signed char>::max()", 127),
        ("std::numeric_limits<signed char>::lowest() + 130", 2),
        ("std::numeric_limits<unsigned char>::max()", 255),
        ("numeric_limits<bool>::max()", 1),
        ("(std::numeric_limits<int>::min() >> 24) + 128", 0),
        ("(int)(cuda::std::numeric_limits<unsigned>::max() >> 27)", 31),
        ("std::numeric_limits<int>::epsilon()", 0),
    ],
)
def test_members_of_integer_types(index, start):
    (facts,) = facts_of(kernel(f"s[t + {index}] = 1;")).kernels
    (access,) = facts.accesses
    assert lanes(access) == expected_lanes(lambda t: t + start, 32)


def test_members_of_floating_point_types_and_of_unknown_ones_are_followed_by_no_note():
    body = "float a = std::numeric_limits<float>::max(); s[t] = a + std::numeric_limits<X>::max();"
    (facts,) = facts_of(kernel(body)).kernels
    assert not facts.not_analysed
    assert [a.ways for a in facts.accesses] == [1]
