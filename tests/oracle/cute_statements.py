"""The C++ statements that ask CuTe's headers what random cases ask the engine."""

from __future__ import annotations

from typing import Any

import random_cases

TYPES = {8: "int8_t", 16: "recorded::half", 32: "float", 64: "double", 128: "uint128_t"}


def cpp(tree: Any) -> str:
    if isinstance(tree, list | tuple):
        return f"cute::tuple<{','.join(map(cpp, tree))}>"
    return f"Int<{tree}>"


def layout(pair: Any) -> str:
    return f"Layout<{cpp(pair[0])},{cpp(pair[1])}>"


def smem(data: dict[str, Any], bits: int) -> str:
    if data["swizzle"] is None:
        return f"{layout(data['layout'])}{{}}"
    swizzle = "Swizzle<{},{},{}>".format(*data["swizzle"])
    offset = f"smem_ptr_flag_bits<{bits}>" if data["pointer"] else "Int<0>"
    return f"ComposedLayout<{swizzle},{offset},{layout(data['layout'])}>{{}}"


def copy_op(name: str, bits: int) -> str:
    if name == "UniversalCopy":
        return f"UniversalCopy<uint_bit_t<{bits}>>"
    if name == "AutoVectorizingCopyWithAssumedAlignment":
        return f"{name}<{bits}>"
    if name.startswith("SM80_CP_ASYNC"):
        return f"{name}<uint_bit_t<{bits}>>"
    return name


def atom(data: dict[str, Any], type_: str) -> str:
    return f"Copy_Atom<{copy_op(data['op'], data['op_bits'])}, {type_}>{{}}"


def tiled(data: dict[str, Any], type_: str) -> str:
    return (
        f"make_tiled_copy({atom(data, type_)}, {layout(data['threads'])}{{}}, "
        f"{layout(data['values'])}{{}})"
    )


def mma_op(name: str, type_: str = "float") -> str:
    if name == "UniversalFMA":
        return f"UniversalFMA<{type_},{type_},{type_},{type_}>"
    if "_SS" in name or "_RS" in name:
        if "S32" in name:
            return name
        return f"{name}<>" if name.endswith("_TN") else f"{name}<GMMA::Major::K,GMMA::Major::K>"
    return name


def mma(data: dict[str, Any], type_: str = "float") -> str:
    modes = ",".join(
        "Underscore" if p is None else f"Int<{p}>" if isinstance(p, int) else layout(p)
        for p in data["permutation"]
    )
    return f"make_tiled_mma({mma_op(data['op'], type_)}{{}}, {layout(data['atoms'])}{{}}, Tile<{modes}>{{}})"


ARGUMENTS = {
    "stores": "smem tiled", "operands": "a b atom_a atom_b mma", "partitions": "a b mma",
    "locals": "smem threads tile", "results": "smem atom mma", "cooperative": "smem gmem",
    "derived": "smem tiled to from", "epilogues": "smem mma to from",
    "cotiled": "smem atom order data", "incoming": "smem tiled stride", "stages": "smem tiled",
    "tiles": "smem tiled tile", "projected": "a b threads", "multiplied": "a b mma",
    "transposed": "smem view atom mma", "accumulated": "smem mma",
}  # fmt: skip
"""By form, the arguments of its function in `forms.hpp` behind name and type."""


def copy_statement(name: str, case: dict[str, Any]) -> str:
    form = case["form"]
    type_ = {"half": "recorded::half"}.get(case["type"], case["type"])
    bits = random_cases.BITS[case["type"]]
    given = {n: _argument(n, case[n], type_, bits) for n in ARGUMENTS[form].split()}
    template = ""
    if form == "cooperative":
        template = f"<{case['threads']}, {case['vector']}>"
    elif form == "tiles":
        template = f"<uint_bit_t<{case['wide']}>>"
    return f'{form}{template}("{name}", {type_}{{}}, {", ".join(given.values())});'


def _argument(name: str, data: Any, type_: str, bits: int) -> str:
    match name:
        case "smem" | "a" | "b":
            return smem(data, bits)
        case "tiled":
            return tiled(data, type_)
        case "mma":
            return mma(data, type_)
        case "atom" | "atom_a" | "atom_b" | "to" | "from":
            return atom(data, type_)
        case "tile":
            return f"{cpp(data)}{{}}"
        case "stride":
            modes = ("at_run_time(999)" if d is None else f"Int<{d}>{{}}" for d in data)
            return f"make_stride({', '.join(modes)})"
    return f"{layout(data)}{{}}"


def algebra_statement(operation: str, arguments: list[Any]) -> str:
    match operation:
        case "copy_traits":
            type_ = f"Copy_Atom<{arguments[0]}, {TYPES[arguments[2]]}>"
            names = ("ValLayoutSrc", "ValLayoutDst", "ValLayoutRef")
            return show(*(f"typename {type_}::{n}{{}}" for n in names))
        case "mma_traits":
            type_ = f"MMA_Traits<{mma_op(arguments[0])}>"
            return show(
                *(f"typename {type_}::{n}{{}}" for n in ("ThrID", "ALayout", "BLayout", "CLayout"))
            )
        case "thread_value":
            return f"auto m = {mma(arguments[0])}; " + show(
                *(f"m.get_layout{x}_TV()" for x in "ABC")
            )
        case "tiled_copy":
            text = f"auto c = {tiled(arguments[0], TYPES[arguments[0]['bits']])}; "
            return text + show(
                "typename decltype(c)::TiledLayout_TV{}", "c.get_layoutS_TV()", "c.get_layoutD_TV()"
            )
    name = {"filter_layout": "filter"}.get(operation, operation)
    if operation in ("upcast", "downcast"):
        return show(f"{name}<{arguments[1]}>({value(arguments[0])})")
    return show(f"{name}({', '.join(map(value, arguments))})")


def value(argument: Any) -> str:
    if isinstance(argument, dict):
        return f"{layout(argument['layout'])}{{}}"
    return f"{cpp(argument)}{{}}"


def show(*expressions: str) -> str:
    return ' printf(" ");'.join(f" print({e});" for e in expressions) + ' printf("\\n");'
