"""How shared atomics serialize, by operation, as far as it was measured (H200, sm_90)."""

from __future__ import annotations

from enum import Enum


class Serialization(Enum):
    """What makes the lanes of an atomic take turns."""

    BY_LANE = "every active lane of a bank takes a turn: lanes on one word serialize"
    BY_WORD = "every distinct word of a bank takes a turn: lanes on one word are counted together"


_ONE_INSTRUCTION = ("add", "inc", "dec", "min", "max", "exch", "and", "or", "xor", "cas")
_TYPES = ("u32", "s32", "b32")

MEASURED: dict[str, Serialization] = {
    **{f"{op}.{t}": Serialization.BY_LANE for op in _ONE_INSTRUCTION for t in _TYPES},
    "add.u32.one.red": Serialization.BY_WORD,
    "add.s32.one.red": Serialization.BY_WORD,
}
"""Operation -> rule. `.one.red` is an add of the constant 1 whose result is not used, which
compiles to ATOMS.POPC.INC."""


LOOPS = frozenset({"add.f32"})
"""Operations that compile to a load and a loop around ATOMS.CAST.SPIN, which takes two rounds
(measured on 18 lines of llm.c's layernorm_backward.cu and HeCBench's scatterAdd). Lanes that meet
in a bank may try again: nobody measured how often."""


def attempts(operation: str) -> int:
    """Rounds of an operation: compare-and-swap takes two (measured, 26 of 26 patterns)."""
    return 2 if operation.startswith("cas.") or operation in LOOPS else 1


def serialization(operation: str) -> Serialization:
    """The rule of an operation.

    Raises:
        ValueError: nobody measured it, or it compiles to a loop whose retries depend on the data.
    """
    rule = Serialization.BY_LANE if operation in LOOPS else MEASURED.get(operation)
    if rule is None:
        raise ValueError(f"atomic `{operation}` was not measured or depends on the data")
    return rule
