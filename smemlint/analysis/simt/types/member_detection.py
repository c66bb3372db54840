"""What a type asks of classes, which is none where they lack it: `decltype(T::x)`, `void_t<..>`."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate

from smemlint.frontend import ir

_CALL = r"(?:\([^()]*\))?"
_OBJECT = re.compile(rf"(?:std::)?declval<(?:const )?(\w+) ?&?&?>\(\)\.(\w+){_CALL}")
_MEMBER = re.compile(rf"(?<![\w:>])(?!std::)(\w+(?:::\w+)+)\b(?!::){_CALL}")
_WORD = re.compile(r"[A-Za-z_]\w*")
_PLAIN = frozenset((
    "decltype", "typename", "void_t", "void", "std", "const", "bool", "char", "short", "int",
    "long", "unsigned", "signed", "float", "double", "uint32_t", "int32_t", "size_t",
    "true", "false",
))  # fmt: skip


def detected(spelling: str, is_parameter: Callable[[str], bool]) -> ir.Requires:
    """Returns `requires { T::a; T::a::x; }` of a type that names members of template parameters.

    It has no operands where the type names none. An expression that does more than name members,
    build numbers and cast adds what is not known.
    """
    asked: list[ir.ID] = []

    def note(found: re.Match[str]) -> str:
        first, *others = "::".join(filter(None, found.groups())).split("::")
        if not is_parameter(first):
            return found[0]
        asked.extend(map(ir.ID, accumulate(others, "{}::{}".format, initial=first)))
        return ""

    rest = _MEMBER.sub(note, _OBJECT.sub(note, spelling))
    if asked and not _PLAIN.issuperset(_WORD.findall(rest)):
        asked.append(ir.ID(""))
    return ir.Requires(tuple(n for n in asked if not is_parameter(n.name)))
