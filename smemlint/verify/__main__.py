"""`python -m smemlint.verify replay`: measures one pattern on a GPU, without any code."""

from __future__ import annotations

import argparse
import sys

from smemlint.errors import SmemlintError
from smemlint.finding import Verdict
from smemlint.verify.device import engine_process, measure
from smemlint.verify.plan import ALL, Pattern, normal
from smemlint.verify.replay_kernels import forms
from smemlint.verify.verdict import judged, predicted


def main() -> int:
    """Measures a pattern; 0 where the GPU agrees with the model, 1 where not, 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m smemlint.verify")
    commands = parser.add_subparsers(dest="command", required=True)
    replaying = commands.add_parser("replay", help="measure one pattern, without any code")
    replaying.add_argument("form", choices=sorted(forms()), metavar="FORM", help="e.g. load_4")
    replaying.add_argument("--mask", default=f"{ALL:08x}", help="active lanes, hexadecimal")
    replaying.add_argument("--predicted", type=int, help="by default what the model says now")
    replaying.add_argument("offsets", help="byte offsets of the 32 lanes, with commas")
    replaying.add_argument("--device", type=int, default=0)
    replaying.add_argument("--timeout", type=float, default=600.0, help="in seconds")
    chosen = parser.parse_args()
    try:
        return _replay(chosen)
    except SmemlintError as error:
        print(f"smemlint: error: {error}", file=sys.stderr)
        return 2


def _replay(chosen: argparse.Namespace) -> int:
    pattern = _pattern(chosen)
    expected = chosen.predicted if chosen.predicted is not None else predicted(pattern)
    measured = measure([pattern], chosen.device, engine_process(chosen.timeout))
    found = judged(expected, pattern, measured)
    figure = "none" if found.measured is None else f"{found.measured:.3f} +/- {found.spread:.3f}"
    print(f"{pattern.form.name} {pattern.digest}: predicted {expected}, measured {figure}")
    print(f"{found.verdict}{': ' * bool(found.reason)}{found.reason}")
    print(", ".join(f"{key} {value}" for key, value in measured.about.items()))
    return 0 if found.verdict is Verdict.CONFIRMED else 1


def _pattern(chosen: argparse.Namespace) -> Pattern:
    try:
        offsets = [int(part) for part in chosen.offsets.split(",")]
        mask = int(chosen.mask, 16)
    except ValueError as error:
        raise SmemlintError(f"cannot be read: {error}") from None
    if len(offsets) != 32 or min(offsets) < 0 or not 0 < mask <= ALL:
        raise SmemlintError("a pattern is 32 offsets of at least 0 and a mask of at most 32 bits")
    pattern = normal(forms()[chosen.form], offsets, mask, "sm_90")
    if isinstance(pattern, str):
        raise SmemlintError(pattern)
    return pattern


if __name__ == "__main__":
    sys.exit(main())
