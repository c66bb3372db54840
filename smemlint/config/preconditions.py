"""What the user says of a kernel's integer arguments: `K % 8 == 0`, `n > 0`, `K == 1024`."""

from __future__ import annotations

from smemlint.lazy_dataclasses import dataclass
from smemlint.lazy_patterns import pattern

_FORM = pattern(
    r"\s*(?P<name>[A-Za-z_]\w*)\s*"
    r"(?:%\s*(?P<modulus>\d{1,15})\s*==\s*0|(?P<sign>==|>=|<=|>|<)\s*(?P<bound>-?\d{1,15}))\s*"
)


@dataclass(frozen=True, slots=True)
class Precondition:
    """One condition that holds for one argument.

    Attributes:
        multiple: a number that divides it.
        least, most: it lies between them, both inclusive; None for no bound.
    """

    text: str
    name: str
    multiple: int = 1
    least: int | None = None
    most: int | None = None


def read_precondition(text: str) -> Precondition:
    """Returns the condition that a pragma or a configuration spells.

    Raises:
        ValueError: it has no form that can be used; says which do.
    """
    found = _FORM.fullmatch(text)
    if found is None or (found["modulus"] is not None and not int(found["modulus"])):
        raise ValueError(
            f"`{text.strip()}` cannot be assumed: write NAME % 8 == 0, or NAME and a number "
            "compared by ==, >=, >, <= or <"
        )
    spelled = " ".join(text.split())
    if found["modulus"] is not None:
        return Precondition(spelled, found["name"], int(found["modulus"]))
    sign, bound = found["sign"], int(found["bound"])
    least = {"==": bound, ">=": bound, ">": bound + 1}.get(sign)
    most = {"==": bound, "<=": bound, "<": bound - 1}.get(sign)
    return Precondition(spelled, found["name"], 1, least, most)
