"""`smemlint analyze --output-format json`: a contract that outside tools rely on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from smemlint.analysis.data_bounds import data_bounds
from smemlint.facts import Access, Facts, KernelFacts, NotAnalysed, Span, Stat

VERSION = 4


def analysis_json(parts: Mapping[str, Facts]) -> str:
    """Returns every shared access site of every kernel instance, flagged or not.

    Those of launches that differ from another one of the same block and template by what they pass
    stand by themselves: an instance is in `accesses` once.
    """
    notes = dict.fromkeys(
        note
        for facts in parts.values()
        for note in (*facts.not_analysed, *(n for k in facts.kernels for n in k.not_analysed))
    )
    document = {
        "version": VERSION,
        "arch": ",".join(parts),
        "accesses": _by_target(parts, _records),
        "other_launches": _by_target(parts, _records_of_other_launches),
        "not_analysed": [_note(n) for n in notes],
    }
    return json.dumps(document, indent=1)


def _records(facts: Facts) -> Iterator[dict[str, Any]]:
    for kernel in facts.kernels:
        if not kernel.instance.passed:
            yield from _records_of(kernel)


def _records_of_other_launches(facts: Facts) -> Iterator[dict[str, Any]]:
    for kernel in facts.kernels:
        if kernel.instance.passed:
            passed = dict(kernel.instance.passed)
            yield from ({**record, "arguments": passed} for record in _records_of(kernel))


def _records_of(kernel: KernelFacts) -> Iterator[dict[str, Any]]:
    for access in kernel.accesses:
        yield access_record(access)
        yield from _call_records(access)


def _by_target(
    parts: Mapping[str, Facts], records_of: Callable[[Facts], Iterable[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Returns the distinct records, of several targets each with those that it holds on."""
    found = {arch: list(records_of(facts)) for arch, facts in parts.items()}
    if len(found) == 1:
        return next(iter(found.values()))
    archs: dict[str, list[str]] = {}
    records: dict[str, dict[str, Any]] = {}
    for arch, some in found.items():
        for record in some:
            key = json.dumps(record)
            records.setdefault(key, record)
            archs.setdefault(key, []).append(arch)
    return [{**record, "archs": archs[key]} for key, record in records.items()]


def access_record(access: Access) -> dict[str, Any]:
    """Returns one access; its place begins on the line that the compiler's line table names."""
    place = span_record(access.span)
    if access.line not in (0, access.span.line):
        place["line"], place["column"] = access.line, 1
        if access.line >= access.span.end_line:
            place["end_line"], place["end_column"] = access.line + 1, 1
    instance = access.instance
    bounds = data_bounds(access)
    is_issued = access.instructions > 0  # else another access stands for it, or nothing does
    return {
        **place,
        "kernel": instance.kernel,
        "template": dict(instance.template),
        "block": list(instance.block) if instance.block is not None else None,
        "array": access.array.name if access.array is not None else None,
        "kind": str(access.kind),
        "width_bytes": access.width_bytes,
        "instructions": access.instructions,
        "wavefronts": _stat(access.wavefronts) if is_issued else None,
        "ideal": _stat(access.ideal) if is_issued else None,
        "certainty": str(access.certainty),
        "assumptions": [assumption.text for assumption in access.assumptions],
        "reason": access.reason.text if access.reason is not None else None,
        "reason_code": access.reason.code.value if access.reason is not None else None,
        "from": access.origin or None,
        "confirmed": access.is_confirmed,
        "operation": access.operation or None,
        "bounds": bounds._asdict() if bounds is not None else None,
    }


def _call_records(access: Access) -> Iterator[dict[str, Any]]:
    """Yields what the profiler shows of an access at the calls of the function that makes it."""
    record = access_record(access)
    for call in access.calls:
        figures = {
            "instructions": call.instructions,
            "wavefronts": _stat(call.wavefronts),
            "ideal": _stat(call.ideal),
        }
        yield {**record, **span_record(call.span), **figures}


def span_record(span: Span) -> dict[str, Any]:
    """Returns path, lines and columns from 1, end exclusive, in code points; a notebook's cell."""
    if ".ipynb:cell " in span.path:
        from smemlint.sources.notebook import parted

        file, cell = parted(span.path)
        return {"file": file, "cell": cell, **_range(span)}
    return {"file": span.path, **_range(span)}


def _range(span: Span) -> dict[str, int]:
    return {
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def _stat(stat: Stat | None) -> dict[str, float] | None:
    return None if stat is None else {"min": stat.min, "max": stat.max, "mean": stat.mean}


def _note(note: NotAnalysed) -> dict[str, Any]:
    return {
        **{k: v for k, v in span_record(note.span).items() if k in ("file", "cell", "line")},
        "kernel": note.kernel or None,
        "reason": note.reason.text,
        "reason_code": note.reason.code.value,
    }
