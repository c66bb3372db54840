"""Kernel instances: what the analysis assumed, and how the compiler spells the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
_CAST = re.compile(r"\((?:[\w:]+ ?)+\)(?=-?\d)")
_LAYOUT_NUMBER = re.compile(r"\?|\b(?:int|long)\b|(?<!\w)_?\d+\b")
_POINTER_FLAG = re.compile(r"\bsmem_ptr_flag_bits<\d+>")
_OFFSET = re.compile(r"(?<=>)o(\d+)o(?=\()")
"""Of a swizzled layout: `Swizzle<3,3,3> o 0 o (8,64):(64,1)`."""
_SPELLINGS = {
    "unsigned": "unsigned int",
    "uint": "unsigned int",
    "uint32_t": "unsigned int",
    "int32_t": "int",
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "uchar": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "ushort": "unsigned short",
    "int64_t": "long",
    "uint64_t": "unsigned long",
    "long long": "long",
    "unsigned long long": "unsigned long",
    "size_t": "unsigned long",
    "half": "__half",
    "half2": "__half2",
    "nv_bfloat16": "__nv_bfloat16",
    "c10::Half": "__half",
    "c10::BFloat16": "__nv_bfloat16",
    "half_t": "__half",
    "bfloat16_t": "__nv_bfloat16",
}


UNKNOWN = "?"
"""A template argument that the analysis does not know."""


@dataclass(frozen=True, slots=True, order=True)
class Instance:
    """One kernel with the template arguments and the block that the analysis assumed.

    Attributes:
        origin: the file that launches it; where none is named, the file of an access.
        kernel: its unqualified name.
        template: parameter names and values, as the analysis spells them.
        block: extents; None where the analysis knew none.
    """

    origin: str
    kernel: str
    template: tuple[tuple[str, str], ...]
    block: tuple[int, int, int] | None

    @property
    def spelling(self) -> str:
        """The kernel with explicit template arguments."""
        values = ", ".join(value for _, value in self.template)
        return f"{self.kernel}<{values}>" if self.template else self.kernel


def base_name(demangled: str) -> str:
    """Returns the unqualified name of a function that c++filt spelled."""
    head = _without_brackets(demangled.replace("(anonymous namespace)::", ""))
    words = head.split("(")[0].split()
    return words[-1].split("::")[-1] if words else demangled


def template_arguments(demangled: str) -> tuple[str, ...]:
    """Returns the function's own template arguments, spelled uniformly."""
    name = base_name(demangled)
    start = demangled.find(name + "<")
    if start < 0:
        return ()
    return tuple(
        normalized(part) for part in split_arguments(_bracketed(demangled, start + len(name)))
    )


def normalized(argument: str) -> str:
    """Returns one spelling for all spellings of a type or a number."""
    text = _CAST.sub("", argument.strip())
    text = re.sub(r"\b(?:typename|class|struct|const|std::|cuda::|cute::|cutlass::)\s*", "", text)
    text = _SUFFIX.sub(r"\1", text).strip()
    text = re.sub(r"\btrue\b", "1", re.sub(r"\bfalse\b", "0", text))
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    text = _SPELLINGS.get(text, text)
    return re.sub(r"\s+", "", text)


def split_arguments(text: str) -> list[str]:
    """Returns the parts of a list, split at commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        if character in "<([{":
            depth += 1
        elif character in ">)]}":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]] if text.strip() else []


def matching(
    instance: Instance, demangled: dict[str, str], others: Iterable[Instance] = ()
) -> list[str]:
    """Returns the mangled names of the compiled functions that are this instance.

    Args:
        instance: what the analysis assumed.
        demangled: the compiled functions, by mangled name.
        others: further instances. A type that no compiled function spells is an alias: of those
            that fit otherwise, the functions that are one of the others are left out.
    """
    same = {
        name: _flat(template_arguments(text))
        for name, text in demangled.items()
        if base_name(text) == instance.kernel
    }
    spelled = _spelled(instance)
    if not spelled:
        return [name for name, arguments in same.items() if not arguments]
    known = {argument for arguments in same.values() for argument in arguments}
    exact = [n for n, arguments in same.items() if _fits(spelled, arguments, known, False)]
    if not exact:
        numbers = [layout_numbers(w) for w in spelled]
        alike = [n for n, found in same.items() if _has_layouts(spelled, numbers, found, known)]
        if len(alike) == 1:
            return alike
    if exact or not all(w in known or w[:1].isalpha() or w == UNKNOWN for w in spelled):
        return exact
    taken = {
        name
        for other in others
        if other.kernel == instance.kernel and other.template != instance.template
        for name, arguments in same.items()
        if _fits(_spelled(other), arguments, known, False)
    }
    loose = [n for n, arguments in same.items() if _fits(spelled, arguments, known, True)]
    left = [n for n in loose if n not in taken]
    return left if len(left) == 1 else []


def _spelled(instance: Instance) -> tuple[str, ...]:
    return tuple(normalized(value) for _, value in instance.template)


def _fits(
    spelled: tuple[str, ...], arguments: tuple[str, ...], known: set[str], with_aliases: bool
) -> bool:
    """Whether the leading arguments are those wanted; an alias may be any type."""
    return len(spelled) <= len(arguments) and all(
        w in (a, UNKNOWN) or (with_aliases and _is_alias(w, known))
        for w, a in zip(spelled, arguments, strict=False)
    )


def _is_alias(argument: str, known: set[str]) -> bool:
    return argument not in known and argument[:1].isalpha()


def layout_numbers(argument: str) -> tuple[str, ...]:
    """Returns the integers of a layout, a tiled copy or a tiled MMA of CuTe's, in their order.

    The analysis prints `(128,8):(8,?)` for what c++filt spells
    `cute::Layout<cute::tuple<cute::C<128>, cute::C<8> >, cute::tuple<cute::C<8>, int> >`.
    """
    text = _OFFSET.sub(r" \1 ", _POINTER_FLAG.sub("", argument))
    found = _LAYOUT_NUMBER.findall(text)
    return tuple(number.lstrip("_") if number[-1].isdigit() else UNKNOWN for number in found)


def _has_layouts(
    spelled: tuple[str, ...],
    numbers: list[tuple[str, ...]],
    arguments: tuple[str, ...],
    known: set[str],
) -> bool:
    """Whether the leading arguments have the numbers of those wanted; an alias may be any type."""
    return len(spelled) <= len(arguments) and all(
        mine == layout_numbers(theirs) if mine else w == theirs or _is_alias(w, known)
        for w, mine, theirs in zip(spelled, numbers, arguments, strict=False)
    )


def _flat(arguments: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        part for a in arguments for part in (split_arguments(a[1:-1]) if a[:1] == "{" else [a])
    )


def _without_brackets(text: str) -> str:
    """The text outside of template brackets, up to the parameter list."""
    kept, depth = [], 0
    text = text.replace("(anonymous namespace)", "anonymous")
    for character in text:
        if character == "<":
            depth += 1
        elif character == ">":
            depth -= 1
        elif character == "(" and depth == 0:
            break
        elif depth == 0:
            kept.append(character)
    return "".join(kept)


def _bracketed(text: str, start: int) -> str:
    depth = 0
    for i in range(start, len(text)):
        if text[i] == "<":
            depth += 1
        elif text[i] == ">":
            depth -= 1
            if depth == 0:
                return text[start + 1 : i]
    return ""
