"""The shared addresses of straight-line PTX, for every lane of some warps.

Evaluates the integer instructions of a kernel in order, as numpy arrays over (warps, 32); pointers
to global memory and `%ctaid` are 0, what is loaded from memory is not followed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LANES = 32
_LINE = re.compile(r"(?:@!?(%\w+)\s+)?([a-z][\w.:]*)\s+(.*?);")


@dataclass(frozen=True, slots=True, eq=False)
class SharedAccess:
    """One shared instruction: its kind, bytes a lane, matrices, and addresses (warps, 32)."""

    kind: str
    width: int
    matrices: int
    addresses: NDArray[np.int64]
    is_predicated: bool
    line: int = 0


def shared_accesses(text: str, warps: int, *, skip: bool = False) -> list[SharedAccess]:
    """All loads, stores, `ldmatrix`, `stmatrix` and `cp.async` of a PTX text, in order.

    Loops are not followed: what they change has the value of their first iteration. With `skip`,
    addresses that cannot be followed are left out.

    Raises:
        ValueError: an address cannot be followed.
    """
    lanes = np.broadcast_to(np.arange(warps * LANES).reshape(warps, LANES), (warps, LANES))
    known: dict[str, Any] = {"%tid.x": lanes, "global_smem": 0, "%laneid": lanes % LANES}
    found = []
    body = text[text.index(".entry") :]
    source_line = 0
    for line in body.splitlines():
        location = re.match(r"\s*\.loc\s+\d+\s+(\d+)", line)
        if location is not None:
            source_line = int(location[1])
        match = _LINE.match(line.split("//")[0].strip().removeprefix("{").strip())
        if match is None:
            continue
        predicate, operation, rest = match.groups()
        words = [w.strip() for w in _split(rest)]
        try:
            access = _access(operation, words, known, bool(predicate), (warps, LANES))
        except ValueError:
            if not skip:
                raise
            continue
        if access is not None:
            found.append(replace(access, line=source_line))
        elif words and words[0].startswith("%"):
            value = _value(operation, words[1:], known)
            if value is None:
                known.pop(words[0], None)
            else:
                known[words[0]] = value
    return found


def _access(
    operation: str,
    words: list[str],
    known: dict[str, Any],
    is_predicated: bool,
    shape: tuple[int, int],
) -> SharedAccess | None:
    parts = operation.split(".")
    if not any(p.startswith("shared") for p in parts):
        return None
    if parts[0] in ("ld", "st"):
        kind = "load" if parts[0] == "ld" else "store"
        vector = next((int(p[1:]) for p in parts if re.fullmatch(r"v\d+", p)), 1)
        width, matrices = int(parts[-1][1:]) // 8 * vector, 0
        spelled = words[1] if kind == "load" else words[0]
    elif parts[0] in ("ldmatrix", "stmatrix"):
        kind, width = parts[0], 16
        matrices = next(int(p[1:]) for p in parts if re.fullmatch(r"x\d", p))
        spelled = words[1] if kind == "ldmatrix" else words[0]
    elif operation.startswith("cp.async.c") and len(words) > 2:
        kind, matrices, spelled = "async_copy", 0, words[0]
        width = int(words[2], 0)
    else:
        return None
    base, _, offset = spelled.strip("[] ").partition("+")
    base = base.strip()
    if base not in known:
        raise ValueError(f"unknown address {spelled} of {operation}")
    total = (np.asarray(known[base]) + int(offset.strip() or "0", 0)) & 0xFFFFFFFF
    addresses = np.broadcast_to(total, shape)
    return SharedAccess(kind, width, matrices, addresses.astype(np.int64), is_predicated)


def _value(operation: str, words: list[str], known: dict[str, Any]) -> Any:
    """The result of an integer instruction; None where it is not known."""
    values = [_operand(w, known) for w in words]
    if any(v is None for v in values):
        return None
    name, *rest = operation.split(".")
    kind = rest[-1] if rest else ""
    if kind.startswith("f") or (name == "ld"):
        return None
    bits = int(re.sub(r"\D", "", kind) or 1)
    mask = (1 << min(bits, 62)) - 1
    match name, values:
        case ("mov" | "cvta", [x]):
            return x
        case "cvt", [x]:
            return x & ((1 << min(int(rest[0][1:]), 62)) - 1)
        case "add", [x, y]:
            return (x + y) & mask
        case "sub", [x, y]:
            return (x - y) & mask
        case "mul", [x, y]:
            return (x * y) & mask
        case "mad", [x, y, z]:
            return (x * y + z) & mask
        case "shl", [x, y]:
            return (x << y) & mask
        case "shr", [x, y]:
            return x >> y
        case "and", [x, y]:
            return x & y
        case "or", [x, y]:
            return x | y
        case "xor", [x, y]:
            return x ^ y
        case "neg", [x]:
            return -x & mask
        case "not", [x]:
            return ~x & mask
        case "bfe", [x, at, count]:
            field = (x >> at) & ((1 << count) - 1)
            if kind.startswith("s"):
                field = np.where(field >> (count - 1) & 1, field - (1 << count), field) & mask
            return field
        case "bfi", [x, y, at, count]:
            hole = ((1 << count) - 1) << at
            return (y & ~hole) | ((x << at) & hole)
        case "lop3", [x, y, z, table]:
            result: Any = 0
            for row in range(8):
                if int(table) >> row & 1:
                    terms = [v if row >> s & 1 else ~v for v, s in ((x, 2), (y, 1), (z, 0))]
                    result = result | (terms[0] & terms[1] & terms[2])
            return result & mask
        case "prmt", [x, y, selector]:
            bytes_ = [(x >> 8 * i) & 255 for i in range(4)] + [(y >> 8 * i) & 255 for i in range(4)]
            chosen = [bytes_[selector >> 4 * i & 7] for i in range(4)]
            if selector & 0x8888:
                return None
            return chosen[0] | chosen[1] << 8 | chosen[2] << 16 | chosen[3] << 24
        case "setp", [x, y]:
            return {"eq": x == y, "ne": x != y, "lt": x < y, "gt": x > y}.get(rest[0])
        case "selp", [x, y, chosen]:
            return np.where(chosen, x, y)
    if name == "shfl":
        return values[0]  # the warp's number, which all lanes share
    return None


def _operand(word: str, known: dict[str, Any]) -> Any:
    if word in known:
        return known[word]
    if re.fullmatch(r"-?\d+", word):
        return int(word)
    if word.startswith("0x"):
        return int(word.rstrip("U"), 16)
    return 0 if word.startswith(("%ctaid", "%nctaid", "%clusterid")) else None


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for c in text:
        depth += (c in "[{(") - (c in ")}]")
        if c == "," and not depth:
            parts.append(current)
            current = ""
        else:
            current += c
    return [*parts, current]
