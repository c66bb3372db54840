"""The words of fixes and of advice on a layout."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.facts import Access, AccessKind, SharedArray
from smemlint.finding import Fix
from smemlint.fix.padding import Padding, Usage
from smemlint.fix.spacing import Spacing
from smemlint.fix.verify_by_analysis import Comparison, Padded
from smemlint.layout.swizzle import Swizzle
from smemlint.sources.languages import is_python_path


def padding_fix(array: SharedArray, usage: Usage, padded: Padded, after: Access) -> Fix:
    """Returns the fix of a finding whose access becomes `after`."""
    still = len(padded.comparison.conflicting_sites(array.span))
    if usage.is_misaligned:
        conflicts = " and removes their bank conflicts" if usage.has_conflicts and not still else ""
        removes = f"aligns the vectors of {_all(usage)}{conflicts}"
        return _padded(array, padded, after, removes)
    removes = f"removes the bank conflicts of {_all(usage)}"
    if still:
        removes = f"removes the bank conflict of this access; {still} of {usage.sites} keep some"
    return _padded(array, padded, after, removes)


def _padded(array: SharedArray, padded: Padded, after: Access, what: str) -> Fix:
    return Fix(
        f"pad the rows: {padded.spelled} {what}",
        (padded.edit,),
        why_unsafe=f"`{array.name}` grows by {padded.added_bytes} bytes",
        after=after,
    )


def trade_off(array: SharedArray, usage: Usage, padded: Padded) -> str:
    """Returns what the best padding achieves where it does not free an access; empty if nothing."""
    before, after = padded.comparison.wavefronts(array.span)
    if after >= before:
        return ""
    kept = " that keeps vectors whole" if usage.may_be_fused else ""
    return (
        f"no padding{kept} is free of conflicts here; with {padded.spelled} all accesses of "
        f"`{array.name}` take {after:.0f} wavefronts instead of {before:.0f}"
    )


def constant_advice(array: SharedArray, change: str, comparison: Comparison, *, line: int) -> str:
    """Returns what another value of a constant achieves, which frees an access."""
    before, after = comparison.wavefronts(array.span)
    return (
        f"{change} (line {line}) removes the bank conflict of this access: all accesses of "
        f"{array.shown} take {after:.0f} wavefronts instead of {before:.0f}"
    )


def shape_advice(array: SharedArray, usage: Usage, padding: Padding) -> str:
    """Returns the shape that frees all accesses, for a declaration that is no C declarator."""
    shape = ", ".join(map(str, padding.dims(array)))
    return (
        f"pad the rows: `{array.name}` of shape ({shape}) removes the bank conflicts of "
        f"{_all(usage)}"
    )


def spacing_advice(array: SharedArray, usage: Usage, spacing: Spacing) -> str:
    """Returns the index that leaves elements free behind every run of them."""
    run, extra = spacing.run, spacing.extra
    last = array.dims[-1] or 0
    rows = "[y]" * (len(array.dims) - 1)
    extent = f"{spacing.extent(last)} instead of {last} elements{' a row' if rows else ''}"
    return (
        f"leave {extra} elements free behind every {run}: `{array.name}{rows}[x + x / {run} * "
        f"{extra} + j]` in place of `x + j`, `j` a constant that passes no multiple of {run}, with "
        f"{extent}, removes the bank conflicts of {_all(usage)}"
    )


def pitch_advice(array: SharedArray, usage: Usage, spacing: Spacing) -> str:
    """Returns the same for an array that the launch sizes, with the size that is reached.

    In a Python file, which may hold C++, the index is one of both languages; none if there is none.
    """
    run, extra = spacing.run, spacing.extra
    quotient = f"i / {run}"
    if is_python_path(array.span.path):
        if run & (run - 1):
            return ""
        quotient = f"(i >> {run.bit_length() - 1})"
    times = f" * {extra}" if extra > 1 else ""
    reached = max(a.array.bytes or 0 for a in usage.accesses if a.array is not None)
    more = (reached - 1) // (run * array.element_bytes) * extra * array.element_bytes
    return (
        f"a pitch of {run + extra} instead of {run} elements, `i + {quotient}{times}` in place of "
        f"each element offset `i` of `{array.name}`, and {more} bytes more in the launch, removes "
        f"the bank conflicts of {_all(usage)}"
    )


def swizzle_advice(array: SharedArray, usage: Usage, swizzle: Swizzle) -> str:
    """Returns the swizzle as an expression, in coordinates where rows are powers of two."""
    columns = {a.array.dims[-1:] for a in usage.accesses if a.array is not None}
    index = _expression(array, swizzle, has_rows=len(columns) == 1)
    return (
        f"swizzle the index: {index} removes the bank conflicts of "
        f"{_all(usage)}; it is {swizzle} of the element offset"
    )


def why_none(array: SharedArray, usage: Usage, unfollowed: Sequence[int]) -> str:
    """Returns why nothing is suggested, where no other layout was found."""
    open_ = sorted({a.line for a in usage.accesses if not a.certainty.is_decided})
    if open_:
        see = _lines(open_)
        return f"none found, as not every access of {array.shown} is decided: see {see}"
    if unfollowed:
        see = _lines(unfollowed)
        return f"none found, as what is not followed may use {array.shown} as well: see {see}"
    if not array.bytes or not all(array.dims):
        return f"none found: {array.shown} declares no rows to pad, its indexes compute them"
    if usage.is_decided and usage.is_complete and array.element_bytes:
        kept = "that keeps vectors whole, is worth its memory and"
        tried = "worth its memory and no further swizzle that"
        return (
            f"none found: {array.shown} has no padding "
            f"{kept if usage.may_be_fused or usage.takes_pitch else tried} frees {_all(usage)}"
        )
    if any(a.layout is not None for a in usage.accesses):
        return f"none looked for: a swizzle says where the elements of {array.shown} lie"
    if any(a.kind is AccessKind.ATOMIC for a in usage.accesses):
        return f"none looked for, as atomics update {array.shown}"
    return f"none found, as not every address of {array.shown} is known"


def _lines(lines: Sequence[int]) -> str:
    more = f" and {len(lines) - 3} more" if len(lines) > 3 else ""
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:3]))}{more}"


def _all(usage: Usage) -> str:
    return {1: "its only access", 2: "both accesses"}.get(
        usage.sites, f"all {usage.sites} accesses"
    )


def _expression(array: SharedArray, swizzle: Swizzle, *, has_rows: bool) -> str:
    """Spells `tile[y][x ^ (y & 31)]`, or `s[i ^ ((i & 992) >> 5)]` of the element offset."""
    columns = array.dims[-1] or 0
    bits = max(columns.bit_length() - 1, 0)
    splits = columns == 1 << bits and swizzle.z_mask < columns <= swizzle.y_mask & -swizzle.y_mask
    if has_rows and len(array.dims) == 2 and splits:
        moved = _shifted(f"y & {swizzle.y_mask >> bits}", swizzle.shift - bits)
        if is_python_path(array.span.path):  # which may hold C++
            return f"`x ^ {moved}` in place of each column `x` in row `y` of `{array.name}`"
        return f"`{array.name}[y][x ^ {moved}]`"
    moved = _shifted(f"i & {swizzle.y_mask:#x}", swizzle.shift)
    return f"`i ^ {moved}` in place of each element offset `i` of `{array.name}`"


def _shifted(term: str, right: int) -> str:
    if right == 0:
        return f"({term})"
    return f"(({term}) {'>>' if right > 0 else '<<'} {abs(right)})"
