"""Functions of integers applied to values of the affine domain: exact on known lanes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.data_ranges import agrees_by_warp, one_for_a_warp
from smemlint.analysis.simt.domain.integer_functions import IntegerFunction
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.lanes import digest, settled
from smemlint.analysis.simt.domain.scev import CONSTANT, Scev, atom
from smemlint.analysis.simt.domain.values import AffineInt, Unknown, Value, depends_on
from smemlint.reasons import Reason, ReasonCode


def applied(
    domain: AffineDomain, name: str, function: IntegerFunction, operands: Sequence[Value]
) -> AffineInt | Unknown:
    """Returns what a function gives.

    Returns:
        The exact value where the operands are known in all threads, an unknown of its own where
        they are equal in all threads, else `Unknown`.
    """
    integers = [v for v in operands if isinstance(v, AffineInt)]
    if len(integers) < len(operands):
        return _of_unknown(name, operands)
    if all(v.is_concrete for v in integers):
        lanes = np.broadcast_arrays(*(np.asarray(v.base, np.int64) for v in integers))
        result = function.compute(*lanes).astype(np.int64)
        exact = AffineInt(settled(result if result.ndim else int(result)), function.result)
        wrapped = domain.convert(exact, function.result)
        if isinstance(wrapped, AffineInt):
            wrapped.form = _form(name, integers)
        return wrapped
    if all(v.is_uniform for v in integers):
        key = f"({name} {' '.join(v.identity() for v in integers)})"
        text = f"{name}({', '.join(map(repr, integers))})"
        return domain.symbol(key, text, function.result)
    return Unknown(depends_on(*integers))


def _form(name: str, operands: Sequence[AffineInt]) -> Scev:
    forms = [scev_of(v) for v in operands]
    if not any(form.terms for form in forms):
        return CONSTANT
    parts = (*(v.identity() for v in operands), *(str(form.terms) for form in forms))
    key = digest(" ".join(parts).encode())
    return atom(f"({name} {key})", is_divergent=any(form.is_divergent for form in forms))


def _of_unknown(name: str, operands: Sequence[Value]) -> Unknown:
    unknown = next((v for v in operands if isinstance(v, Unknown)), None)
    is_data = unknown is None or any(isinstance(v, Unknown) and v.is_data for v in operands)
    is_uniform = all(getattr(v, "is_uniform", False) for v in operands)
    reason = unknown.reason if unknown else Reason(ReasonCode.DATA, f"`{name}` of no integer")
    result = Unknown(reason, is_data, is_uniform)
    is_one = not is_uniform and all(map(agrees_by_warp, operands))
    return one_for_a_warp(result) if is_one else result
