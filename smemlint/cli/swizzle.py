"""`smemlint swizzle show|check|solve|convert`: what a `Swizzle<B,M,S>` does, and which one to use.

Numbers on the command line are in elements unless `--units bytes` says otherwise.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from smemlint.errors import SmemlintError
from smemlint.files.replace import replace_file
from smemlint.layout.swizzle import Swizzle

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from smemlint.layout.solver import Pattern, Score
    from smemlint.layout.tiles import Tile
    from smemlint.report.heatmap import Panel

_VALID, _INVALID = 0, 1
_BANK_BITS = 0x7C
"""Bits 2 to 6 of a byte address choose the bank."""


def add_arguments(swizzle: argparse.ArgumentParser) -> None:
    """Adds the four commands of `swizzle`."""
    commands = swizzle.add_subparsers(dest="swizzle_command", required=True, metavar="COMMAND")

    show = commands.add_parser("show", help="draw where a tile lands in the banks")
    _add_triple(show)
    _add_units(show)
    _add_tile(show)
    show.add_argument("--read", default="column", metavar="ACCESS", help=_READ_HELP)
    show.add_argument("--at", type=int, default=0, metavar="N", help="which of these accesses")
    show.add_argument("--svg", metavar="FILE", help="draw it there")
    show.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    show.set_defaults(run=_guarded(_show))

    check = commands.add_parser("check", help="say whether CuTe accepts a swizzle, and why not")
    _add_triple(check)
    _add_units(check)
    _add_dtype(check)
    check.set_defaults(run=_guarded(_check))

    solve = commands.add_parser("solve", help="find the smallest swizzle and padding")
    _add_tile(solve)
    solve.add_argument("--read", action="append", default=[], metavar="ACCESS", help=_READ_HELP)
    solve.add_argument("--write", action="append", default=[], metavar="ACCESS", help="the same")
    solve.set_defaults(run=_guarded(_solve))

    convert = commands.add_parser("convert", help="the same swizzle in every notation")
    convert.add_argument(
        "swizzle", nargs="+", metavar="SWIZZLE",
        help="B M S; none, 32B, 64B or 128B; or triton VEC PER_PHASE MAX_PHASE",
    )  # fmt: skip
    _add_units(convert)
    _add_dtype(convert)
    convert.add_argument("--columns", type=int, metavar="N", help="elements of a row, for Triton")
    convert.set_defaults(run=_guarded(_convert))


_READ_HELP = "column, row, ldmatrix, stmatrix, or MxN lanes; default column"


_NOTES = (
    "Colour and number: the bank where that part of the tile is kept. Outlined: read together.",
    "A bank hands out one word at a time: the highest bar is how often it must be asked.",
)


def _add_triple(parser: argparse.ArgumentParser) -> None:
    for name, said in (("B", "bits"), ("M", "MBase"), ("S", "shift")):
        parser.add_argument(name.lower(), type=int, metavar=name, help=said)


def _add_dtype(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dtype", default="f32", help="element type: f16, f32, u8, ...")


def _add_units(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--units", choices=("elements", "bytes"), default="elements",
                        help="what B, M, S count in")  # fmt: skip


def _add_tile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--shape", metavar="RxC", help="of the row-major tile; 8 rows of 128 bytes")
    _add_dtype(parser)
    parser.add_argument("--vector", type=int, metavar="BYTES", help="what a lane moves; 1 element")
    parser.add_argument("--banks", type=int, default=32, metavar="N",
                        help="fewer, for textbook examples of one-word elements")  # fmt: skip


def _guarded(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """What the layout modules refuse is the user's to mend: exit code 2, no traceback."""

    def guarded(arguments: argparse.Namespace) -> int:
        try:
            return run(arguments)
        except ValueError as error:
            raise SmemlintError(str(error)) from error

    return guarded


# ---- commands


def _show(arguments: argparse.Namespace) -> int:
    from smemlint.layout.tiles import accesses
    from smemlint.report.heatmap import svg, terminal_map
    from smemlint.report.terminal import terminal

    tile = _tile(arguments)
    swizzle = _in_elements(arguments, tile.element_bytes)
    access = accesses(tile, arguments.read, arguments.vector or tile.element_bytes)
    offsets, _ = access.lanes()
    if not 0 <= arguments.at < len(offsets):
        raise ValueError(f"--at {arguments.at}: there are {len(offsets)} such accesses")
    panels = [
        _panel(title, tile, access, arguments.at, one, arguments.banks)
        for title, one in (("without a swizzle", Swizzle(0, 4, 3)), (f"with {swizzle}", swizzle))
    ]
    term = terminal(arguments.color)
    print(f"{_described(swizzle, tile.element_bytes)}\n")
    first = "bank" if panels[0].cell_banks == 1 else f"first of {panels[0].cell_banks} banks"
    print(f"number and colour: the {first} where that part of the tile is kept; >: read together\n")
    print(terminal_map(panels, colour=term.colour, unicode=term.unicode))
    if arguments.svg:
        heading = f"{swizzle} on a {tile.rows}x{tile.columns} tile of {arguments.dtype}"
        try:
            replace_file(arguments.svg, svg(panels, heading, _NOTES).encode())
        except OSError as error:
            raise SmemlintError(
                f"cannot be written: {error.strerror}", where=arguments.svg
            ) from error
        print(f"drawn to {arguments.svg}", file=sys.stderr)
    return _VALID


def _check(arguments: argparse.Namespace) -> int:
    from smemlint.layout.tiles import parse_dtype

    triple = (arguments.b, arguments.m, arguments.s)
    spelled = "Swizzle<{},{},{}>".format(*triple)
    reason = Swizzle.why_invalid(*triple)
    if reason is not None:
        print(f"{spelled} is invalid: {reason}")
        return _INVALID
    swizzle, size = Swizzle(*triple), parse_dtype(arguments.dtype)
    print(f"{spelled} is valid")
    if swizzle.is_identity:
        print("  it is the identity: nothing moves")
        return _VALID
    unit = 1 if arguments.units == "bytes" else size
    noun = "bytes" if arguments.units == "bytes" else f"elements of {size} bytes"
    print(f"  reads bits    {_bits(swizzle.y_mask)} of the offset in {noun}")
    print(f"  changes bits  {_bits(swizzle.z_mask)}")
    print(f"  keeps together {swizzle.group * unit} bytes: no wider vector may go through it")
    print(f"  repeats after {swizzle.period * unit} bytes: a pointer swizzle's base is so aligned")
    in_bytes = swizzle.in_bytes(unit)
    if not in_bytes.z_mask & _BANK_BITS:
        print("  cannot free banks: none of the changed bits is a bank bit (2 to 6 of a byte)")
    return _VALID


def _solve(arguments: argparse.Namespace) -> int:
    from smemlint.layout.solver import score, solve
    from smemlint.layout.tiles import accesses

    tile = _tile(arguments)
    vector = arguments.vector or tile.element_bytes
    named = [("load", n) for n in arguments.read] + [("store", n) for n in arguments.write]
    patterns = [accesses(tile, n, vector, kind) for kind, n in named or [("load", "column")]]
    found = solve(
        patterns, tile.element_bytes, pitch=tile.columns, extent=tile.size, banks=arguments.banks
    )
    print(f"as it is   {_scored(found.plain)}")
    for pattern in patterns:
        one = score([pattern], tile.element_bytes, Swizzle(0, 0, 0), banks=arguments.banks)
        verb = "write" if pattern.kind == "store" else "read"
        print(f"    {verb:5} {pattern.name:9} {one.ways:g}-way")
    if found.plain.is_free:
        print("nothing to repair")
        return _VALID
    if found.swizzled < found.plain:
        print(f"swizzle    {_scored(found.swizzled)}")
        print(f"    {_described(found.swizzle, tile.element_bytes)}")
        print(f"    {_expression(found.swizzle)}")
    else:
        print("swizzle    no swizzle of the offsets that CuTe accepts does better")
    if found.padding is not None and found.padded is not None and found.padded < found.plain:
        extra = found.padding * tile.rows * tile.element_bytes
        print(f"padding    {_scored(found.padded)}")
        print(f"    tile[{tile.rows}][{tile.columns + found.padding}]  (+{extra} bytes)")
    else:
        print("padding    no padding of the rows does better")
    return _VALID


def _convert(arguments: argparse.Namespace) -> int:
    from smemlint.layout.tiles import parse_dtype
    from smemlint.layout.triton import SwizzledShared

    size = parse_dtype(arguments.dtype)
    words = arguments.swizzle
    if len(words) == 1:
        in_bytes = Swizzle.named(words[0])
    elif words[0].lower() == "triton":
        if arguments.columns is None:
            raise ValueError("Triton's phases count rows: say --columns")
        one = SwizzledShared(*_integers(words[1:])).as_swizzle(arguments.columns)
        in_bytes = one.in_bytes(size)
    else:
        one = Swizzle(*_integers(words))
        in_bytes = one if arguments.units == "bytes" else one.in_bytes(size)
    print(f"bytes      {in_bytes}" + (f"  (mode {in_bytes.mode})" if in_bytes.mode else ""))
    if in_bytes.loses_bits_when_upcast(size):
        print(f"elements   none: it moves parts of elements of {size} bytes")
        return _VALID
    elements = in_bytes.in_elements(size)
    print(f"elements   {elements}  of {arguments.dtype}")
    if arguments.columns is not None:
        try:
            triton = SwizzledShared.from_swizzle(elements, arguments.columns)
        except ValueError as error:
            print(f"triton     none: {error}")
        else:
            said = f"vec={triton.vec}, per_phase={triton.per_phase}, max_phase={triton.max_phase}"
            print(f"triton     SwizzledSharedLayout({said}, order=[1, 0])")
    return _VALID


# ---- parts


def _integers(words: list[str]) -> tuple[int, int, int]:
    try:
        first, second, third = (int(word) for word in words)
    except ValueError:
        raise ValueError(f"{' '.join(words)!r} is not three integers") from None
    return first, second, third


def _tile(arguments: argparse.Namespace) -> Tile:
    from smemlint.layout.tiles import Tile, parse_dtype, parse_shape

    size = parse_dtype(arguments.dtype)
    rows, columns = parse_shape(arguments.shape) if arguments.shape else (8, 128 // size)
    return Tile(rows, columns, size)


def _in_elements(arguments: argparse.Namespace, size: int) -> Swizzle:
    one = Swizzle(arguments.b, arguments.m, arguments.s)
    return one.in_elements(size) if arguments.units == "bytes" else one


def _panel(title: str, tile: Tile, access: Pattern, at: int, swizzle: Swizzle, banks: int) -> Panel:
    """The tile in cells of what a lane moves, at least a word, each with its bank."""
    import numpy as np

    from smemlint.hardware.banks import bank_words
    from smemlint.layout.solver import score
    from smemlint.report.heatmap import Panel

    size, row_bytes = tile.element_bytes, tile.columns * tile.element_bytes
    cell = max(access.width, 4)
    starts = np.arange(tile.rows)[:, None] * row_bytes + np.arange(0, row_bytes, cell)
    offsets, active = access.lanes()
    lanes = offsets[at][active[at]]
    single = type(access)([lanes], access.width, access.kind, None, access.matrices, access.name)
    achieved = score([single], size, swizzle, banks=banks)
    moved = np.asarray(swizzle(lanes)) * size
    words = bank_words(moved, access.width) if banks == 32 else _few_banks(moved, banks)
    if achieved.ways == float("inf"):
        verdict = f"torn: vectors of {access.width} bytes are wider than the swizzle's groups"
    else:
        cost = "no conflict" if achieved.is_free else f"{achieved.ways:g}-way conflict"
        verdict = (
            f"{access.name} {at}: {len(lanes)} lanes of {access.width} bytes take "
            f"{_plural(achieved.wavefronts, 'wavefront')}: {cost}"
        )
    return Panel(
        title=title,
        banks=(np.asarray(swizzle(starts // size)) * size // 4 % banks).tolist(),
        read=frozenset(
            (int(x) * size // row_bytes, int(x) * size % row_bytes // cell) for x in lanes
        ),
        words=words.tolist(),
        verdict=verdict,
        cell_banks=cell // 4,
    )


def _few_banks(addresses: Any, banks: int) -> Any:
    import numpy as np

    return np.bincount(np.unique(addresses // 4) % banks, minlength=banks)


def _scored(score: Score) -> str:
    if score.is_free:
        return f"free of conflicts ({_plural(score.wavefronts, 'wavefront')} in all)"
    return f"{score.ways:g}-way at worst ({_plural(score.wavefronts, 'wavefront')} in all)"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _described(swizzle: Swizzle, size: int) -> str:
    in_bytes = swizzle.in_bytes(size)
    mode = f", the {in_bytes.mode} mode" if in_bytes.mode else ""
    return f"{swizzle} of elements = {in_bytes} of bytes{mode}"


def _expression(swizzle: Swizzle) -> str:
    """The same by hand: in C, on the element offset."""
    mask = f"i & {swizzle.y_mask:#x}"
    arrow = ">>" if swizzle.shift > 0 else "<<"
    return f"by hand: i ^ (({mask}) {arrow} {abs(swizzle.shift)})  for the element offset i"


def _bits(mask: int) -> str:
    low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
    return str(low) if low == high else f"{low} to {high}"
