"""`smemlint swizzle show|check|solve|convert`: what a `Swizzle<B,M,S>` does, and which one to use.

Numbers on the command line are in elements unless `--units bytes` says otherwise.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from smemlint.cli.swizzle_notation import (
    READ_HELP,
    SWIZZLE_HELP,
    access_of,
    mode_of,
    swizzle_in_bytes,
    triple_of,
)
from smemlint.errors import SmemlintError
from smemlint.files.replace import replace_file
from smemlint.layout.swizzle import Swizzle
from smemlint.report.phrases import plural

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
    _add_swizzle(show)
    _add_units(show)
    _add_tile(show)
    show.add_argument("--read", action="append", default=[], metavar="ACCESS", help=READ_HELP)
    show.add_argument("--at", type=int, default=0, metavar="N", help="which of these accesses")
    show.add_argument("--svg", metavar="FILE", help="draw it there")
    show.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    _add_format(show)
    show.set_defaults(run=_guarded(_show))

    check = commands.add_parser("check", help="say whether CuTe accepts a swizzle, and why not")
    _add_swizzle(check)
    _add_units(check)
    _add_dtype(check)
    _add_format(check)
    check.set_defaults(run=_guarded(_check))

    solve = commands.add_parser("solve", help="find the smallest swizzle and padding")
    _add_tile(solve)
    solve.add_argument("--read", action="append", default=[], metavar="ACCESS", help=READ_HELP)
    solve.add_argument("--write", action="append", default=[], metavar="ACCESS", help="the same")
    _add_format(solve)
    solve.set_defaults(run=_guarded(_solve))

    convert = commands.add_parser("convert", help="the same swizzle in every notation")
    convert.add_argument(
        "swizzle", nargs="+", metavar="SWIZZLE",
        help=f"{SWIZZLE_HELP}; or triton VEC PER_PHASE MAX_PHASE",
    )  # fmt: skip
    _add_units(convert)
    _add_dtype(convert)
    convert.add_argument("--columns", type=int, metavar="N", help="elements of a row, for Triton")
    _add_format(convert)
    convert.set_defaults(run=_guarded(_convert))


_NOTES = (
    "Colour and number: the bank where that part of the tile is kept. Outlined: read together.",
    "A bank hands out one word at a time: the highest bar is how often it must be asked.",
)


def _add_swizzle(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("swizzle", nargs="+", metavar="SWIZZLE", help=SWIZZLE_HELP)


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output-format", "--format", choices=("text", "json"), default="text",
                        help="text or json")  # fmt: skip


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
    """Returns what the layout modules refuse is the user's to mend: exit code 2, no traceback."""

    def guarded(arguments: argparse.Namespace) -> int:
        try:
            return run(arguments)
        except ValueError as error:
            raise SmemlintError(str(error)) from error

    return guarded


# ---- commands


def _show(arguments: argparse.Namespace) -> int:
    from smemlint.report.heatmap import svg, terminal_map
    from smemlint.report.terminal import terminal

    tile = _tile(arguments)
    size = tile.element_bytes
    swizzle = swizzle_in_bytes(arguments.swizzle, arguments.units, size).in_elements(size)
    reads = [access_of(tile, name, arguments.vector) for name in arguments.read or ["column"]]
    panels, records = [], []
    for access in reads:
        offsets, _ = access.lanes()
        if not 0 <= arguments.at < len(offsets):
            raise ValueError(f"--at {arguments.at}: there are {len(offsets)} such accesses")
        for title, one in (("without a swizzle", Swizzle(0, 4, 3)), (f"with {swizzle}", swizzle)):
            panel = _panel(title, tile, access, arguments.at, one, arguments.banks)
            panels.append(panel)
            records.append({"read": access.name, "swizzle": _triple(one), "words": panel.words})
    if arguments.output_format == "json":
        _print_json(arguments, {"tile": _tile_record(tile, arguments), "panels": records})
    else:
        term = terminal(arguments.color)
        print(f"{_described(swizzle, size)}\non a {_tile_text(tile, arguments)}\n")
        cells = panels[0].cell_banks
        first = "bank" if cells == 1 else f"first of {cells} banks"
        print(f"number and colour: the {first} where that part is kept; >: read together\n")
        print(terminal_map(panels, colour=term.colour, unicode=term.unicode))
    if arguments.svg:
        heading = f"{swizzle} on a {_tile_text(tile, arguments)}"
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

    size = parse_dtype(arguments.dtype)
    triple, is_bytes = triple_of(arguments.swizzle), arguments.units == "bytes"
    if triple is None:
        named = Swizzle.named(arguments.swizzle[0])
        triple, is_bytes = (named.bits, named.base, named.shift), True
    spelled = "Swizzle<{},{},{}>".format(*triple)
    reason = Swizzle.why_invalid(*triple)
    record: dict[str, Any] = {"swizzle": list(triple), "valid": reason is None, "reason": reason}
    lines = [f"{spelled} is valid" if reason is None else f"{spelled} is invalid: {reason}"]
    if reason is None:
        swizzle, unit = Swizzle(*triple), 1 if is_bytes else size
        noun = "bytes" if is_bytes else f"elements of {size} bytes"
        in_bytes = swizzle.in_bytes(unit)
        moves_banks = bool(in_bytes.z_mask & _BANK_BITS)
        record |= {
            "units": "bytes" if is_bytes else "elements", "reads_mask": swizzle.y_mask,
            "changes_mask": swizzle.z_mask, "group_bytes": swizzle.group * unit,
            "period_bytes": swizzle.period * unit, "in_bytes": _triple(in_bytes),
            "mode": in_bytes.mode, "changes_banks": moves_banks,
        }  # fmt: skip
        if swizzle.is_identity:
            lines.append("  it is the identity: nothing moves")
        else:
            period = swizzle.period * unit
            lines += [
                f"  reads bits    {_bits(swizzle.y_mask)} of the offset in {noun}",
                f"  changes bits  {_bits(swizzle.z_mask)}",
                f"  keeps together {swizzle.group * unit} bytes: no wider vector may go through it",
                f"  repeats every {period} bytes: align the array to {period} when swizzling the "
                "pointer",
            ]
            if not moves_banks:
                lines.append(
                    "  cannot remove conflicts: none of the changed bits is a bank bit "
                    "(2 to 6 of a byte)"
                )
    _print(arguments, record, lines)
    return _VALID if reason is None else _INVALID


def _solve(arguments: argparse.Namespace) -> int:
    from smemlint.layout.solver import score, solve

    tile = _tile(arguments)
    named = [("load", n) for n in arguments.read] + [("store", n) for n in arguments.write]
    patterns = [
        access_of(tile, n, arguments.vector, kind) for kind, n in named or [("load", "column")]
    ]
    found = solve(
        patterns, tile.element_bytes, pitch=tile.columns, extent=tile.size, banks=arguments.banks
    )
    lines = [f"question   {_tile_text(tile, arguments)}", f"as it is   {_scored(found.plain)}"]
    record: dict[str, Any] = {
        "tile": _tile_record(tile, arguments), "accesses": [],
        "plain": _score_record(found.plain), "swizzle": None, "padding": None,
    }  # fmt: skip
    longest = max(len(pattern.name) for pattern in patterns)
    for pattern in patterns:
        one = score([pattern], tile.element_bytes, Swizzle(0, 0, 0), banks=arguments.banks)
        verb = "write" if pattern.kind == "store" else "read"
        name = pattern.name.ljust(longest)
        noun = "byte " if pattern.width == 1 else "bytes"
        lines.append(f"    {verb:5} {name} {pattern.width:2} {noun}  {one.ways:g}-way")
        record["accesses"].append(
            {"kind": verb, "name": pattern.name, "bytes": pattern.width, "ways": one.ways}
        )
    if found.plain.is_free:
        _print(arguments, record, [*lines, "nothing to repair"])
        return _VALID
    if found.swizzled < found.plain:
        lines += [
            f"swizzle    {_scored(found.swizzled)}",
            f"    {_described(found.swizzle, tile.element_bytes)}",
            f"    {_expression(found.swizzle)}",
        ]
        in_bytes = found.swizzle.in_bytes(tile.element_bytes)
        record["swizzle"] = {
            "elements": _triple(found.swizzle), "bytes": _triple(in_bytes), "mode": in_bytes.mode,
            **_score_record(found.swizzled),
        }  # fmt: skip
    else:
        lines.append("swizzle    no swizzle of the offsets that CuTe accepts does better")
    if found.padding is not None and found.padded is not None and found.padded < found.plain:
        extra = found.padding * tile.rows * tile.element_bytes
        lines += [
            f"padding    {_scored(found.padded)}",
            f"    tile[{tile.rows}][{tile.columns + found.padding}]  (+{extra} bytes)",
        ]
        record["padding"] = {
            "elements": found.padding, "extra_bytes": extra, **_score_record(found.padded),
        }  # fmt: skip
    else:
        lines.append("padding    no padding of the rows does better")
    _print(arguments, record, lines)
    return _VALID


def _convert(arguments: argparse.Namespace) -> int:
    from smemlint.layout.tiles import parse_dtype
    from smemlint.layout.triton import SwizzledShared

    size = parse_dtype(arguments.dtype)
    words = arguments.swizzle
    if words[0].lower() == "triton":
        if arguments.columns is None:
            raise ValueError("Triton's phases count rows: say --columns")
        one = SwizzledShared(*_integers(words[1:])).as_swizzle(arguments.columns)
        in_bytes = one.in_bytes(size)
    else:
        in_bytes = swizzle_in_bytes(words, arguments.units, size)
    record: dict[str, Any] = {
        "bytes": _triple(in_bytes), "mode": in_bytes.mode, "dtype": arguments.dtype,
        "elements": None, "triton": None,
    }  # fmt: skip
    lines = [f"bytes      {in_bytes}" + (f"  (mode {in_bytes.mode})" if in_bytes.mode else "")]
    if in_bytes.loses_bits_when_upcast(size):
        lines.append(f"elements   none: it moves parts of elements of {size} bytes")
        _print(arguments, record, lines)
        return _VALID
    elements = in_bytes.in_elements(size)
    record["elements"] = _triple(elements)
    lines.append(f"elements   {elements}  of {arguments.dtype}")
    if arguments.columns is not None:
        try:
            triton = SwizzledShared.from_swizzle(elements, arguments.columns)
        except ValueError as error:
            lines.append(f"triton     none: {error}")
        else:
            parameters = (
                f"vec={triton.vec}, per_phase={triton.per_phase}, max_phase={triton.max_phase}"
            )
            lines.append(f"triton     SwizzledSharedLayout({parameters}, order=[1, 0])")
            record["triton"] = [triton.vec, triton.per_phase, triton.max_phase]
    _print(arguments, record, lines)
    return _VALID


# ---- parts


def _print(arguments: argparse.Namespace, record: dict[str, Any], lines: list[str]) -> None:
    """Prints an answer in the format that was asked for."""
    if arguments.output_format == "json":
        _print_json(arguments, record)
    else:
        print("\n".join(lines))


def _print_json(arguments: argparse.Namespace, record: dict[str, Any]) -> None:
    import json

    command = arguments.swizzle_command
    print(json.dumps({"version": 1, "command": command, **record}, indent=1))


def _tile_text(tile: Tile, arguments: argparse.Namespace) -> str:
    return f"{tile.rows}x{tile.columns} tile of {arguments.dtype}"


def _tile_record(tile: Tile, arguments: argparse.Namespace) -> dict[str, Any]:
    return {"rows": tile.rows, "columns": tile.columns, "dtype": arguments.dtype}


def _triple(swizzle: Swizzle) -> list[int]:
    return [swizzle.bits, swizzle.base, swizzle.shift]


def _score_record(score: Score) -> dict[str, Any]:
    return {"ways": score.ways, "wavefronts": score.wavefronts}


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


def _panel(title: str, tile: Tile, access: Pattern, at: int, swizzle: Swizzle, banks: int) -> Panel:
    """Returns the tile in cells of what a lane moves, at least a word, each with its bank."""
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
            f"{plural(achieved.wavefronts, 'wavefront')}: {cost}"
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
        return f"free of conflicts ({plural(score.wavefronts, 'wavefront')} in all)"
    return f"{score.ways:g}-way at worst ({plural(score.wavefronts, 'wavefront')} in all)"


def _described(swizzle: Swizzle, size: int) -> str:
    in_bytes = swizzle.in_bytes(size)
    return f"{swizzle} of elements = {in_bytes} of bytes{mode_of(in_bytes)}"


def _expression(swizzle: Swizzle) -> str:
    """Returns the same by hand: in C, on the element offset."""
    mask = f"i & {swizzle.y_mask:#x}"
    arrow = ">>" if swizzle.shift > 0 else "<<"
    return f"by hand: i ^ (({mask}) {arrow} {abs(swizzle.shift)})  for the element offset i"


def _bits(mask: int) -> str:
    low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
    return str(low) if low == high else f"{low} to {high}"
