"""An engine that answers from fixtures/gpu/replay.json, with the readings of an H200."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from smemlint.verify.device import FEW, MANY
from smemlint.verify.plan import Pattern
from smemlint.verify.replay_kernels import COMPANION, UNROLLED, WARPS, forms
from tests.gpu.record_replay import random_patterns

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures/gpu/replay.json"
ACCESSES = (MANY - FEW) * UNROLLED * WARPS


@cache
def recording() -> dict[str, Any]:
    return json.loads(FIXTURE.read_text(encoding="utf-8"))


@cache
def readings() -> dict[str, list[float]]:
    """Median, least and most cycles per access, by digest."""
    random = recording()["random"]
    fresh = random_patterns(len(random["readings"]), random["seed"])
    drawn = {p.digest: figures for p, figures in zip(fresh, random["readings"], strict=True)}
    return {**drawn, **recording()["readings"]}


def rounds(pattern: Pattern, cycles: tuple[float, ...]) -> list[list[int]]:
    """Timings (few, many) of a warm-up and of rounds that take so many cycles per access."""
    beside = COMPANION if pattern.form.is_accompanied else 0
    return [[0, 10**9], *([1000, 1000 + round((c + beside) * ACCESSES)] for c in cycles)]


def patterns_of(launch: dict[str, Any]) -> list[Pattern]:
    """What a launch of a request replays."""
    return [
        Pattern(forms()[launch["kernel"]], tuple(o), m)
        for o, m in zip(launch["offsets"], launch["masks"], strict=True)
    ]


def recorded_engine(request: dict[str, Any]) -> dict[str, Any]:
    """Answers what was recorded; a pattern that was not is a KeyError."""
    return {
        "about": recording()["about"],
        "seconds": {"import": 0.5, "context": 0.25, "compile": 0.75, "replay": 0.5},
        "cycles": [
            [rounds(p, tuple(readings()[p.digest])) for p in patterns_of(launch)]
            for launch in request["launches"]
        ],
    }


def engine_of(cycles_of: Any, **about: str) -> Any:
    """An engine on which a pattern takes `cycles_of(pattern)` cycles; yardsticks as recorded."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        cycles = [
            [rounds(p, cycles_of(p)) for p in patterns_of(launch)] for launch in request["launches"]
        ]
        return {
            "about": {**recording()["about"], **about},
            "seconds": {"import": 1.0, "replay": 1.0},
            "cycles": cycles,
        }

    return answer
