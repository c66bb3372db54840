"""What the fuzzer feeds: one function a kind of input; what one raises is a finding."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import gettempdir
from typing import TYPE_CHECKING

from grammar import bomb, kernel, tree
from mutations import mutated
from python_mutations import mutated_program
from seeds import BASELINES, CONFIGURATIONS, PRAGMAS, Seeds, seeds

from smemlint.config.files import read_config
from smemlint.config.options import FORMATS
from smemlint.config.settings import Configuration, Settings, from_file
from smemlint.driver.run import check_run
from smemlint.errors import SmemlintError
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from smemlint.lint.result import Result
    from smemlint.reasons import Reason

KINDS = ("cuda", "python", "pragma", "config", "baseline")
_WEIGHTS = (45, 25, 12, 12, 6)
HOSTILE = ("kernel", "bomb", "tree")
_HOSTILE_WEIGHTS = (80, 16, 4)
_KERNEL = """\
__global__ void k(float *out, int n) {
  __shared__ float tile[32][%d];
  %s
  out[n] = tile[threadIdx.x][0]; %s
}
"""
_PLAIN = _KERNEL % (32, "", "")
_COMMENTED = "import cupy\nk = cupy.RawKernel(r'''\n%s\n''', 'k')\n%s\n"


class InternalError(AssertionError):
    """An error that `check` caught and reported as its own."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the fuzzer: `kind` is of `KINDS`, `suffix` that of the file it would be in."""

    kind: str
    suffix: str
    data: bytes


def input_number(
    seed: int, number: int, *, is_real: bool = False, is_hostile: bool = False
) -> Input:
    """The input with a number: the same in every run over the same seeds.

    Args:
        seed: of the run.
        number: of the input.
        is_real: real files are among the seeds, where they lie beside the repository.
        is_hostile: made by grammars, of `HOSTILE` kinds; else mutated, of `KINDS`.
    """
    random = Random(f"{seed}:{number}")
    choices = (HOSTILE, _HOSTILE_WEIGHTS) if is_hostile else (KINDS, _WEIGHTS)
    kind = random.choices(*choices)[0]
    suffix, text = _MADE[kind](random, seeds(is_real and not is_hostile))
    data = text.encode("utf-8", "surrogatepass")
    if random.random() < 0.03 and data and kind != "tree":  # bytes that are no text
        at = random.randrange(len(data))
        data = data[:at] + random.randbytes(random.choice((1, 2, 7))) + data[at + 1 :]
    return Input(kind, suffix, data)


def feed(given: Input, limit: float = 30.0) -> str:
    """Runs an input as `check` would; returns what became of it: one of few words.

    Args:
        given: the input.
        limit: seconds, as `--time-limit`.

    Raises:
        InternalError: `check` caught an error of its own.
        Exception: it did not; arithmetic that numpy warns of is one, too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return _FED[given.kind](given, limit)


def _program(suffix: str) -> Callable[[Random, Seeds], tuple[str, str]]:
    def generate(random: Random, known: Seeds) -> tuple[str, str]:
        short = known.short[suffix]
        pool = random.choice((known.own[suffix], short))
        seed = min(random.choices(pool, k=2), key=len)  # short ones cost less and break as well
        if random.random() < 0.005:
            seed = random.choice(known.whole[suffix])
        if suffix == ".py" and random.random() < 0.8:
            return suffix, mutated_program(random, seed, short, known.short[".cu"])
        return suffix, mutated(random, seed, short)

    return generate


def _pragma(random: Random, known: Seeds) -> tuple[str, str]:
    one, two = (mutated(random, random.choice(PRAGMAS), PRAGMAS) for _ in range(2))
    text = _KERNEL % (random.choice((32, 33, 33, 33)), one, two)
    if random.random() < 0.2:
        return ".py", _COMMENTED % (text, one.replace("//", "#"))
    return ".cu", text


def _config(random: Random, known: Seeds) -> tuple[str, str]:
    return ".toml", mutated(random, random.choice(CONFIGURATIONS), CONFIGURATIONS)


def _baseline(random: Random, known: Seeds) -> tuple[str, str]:
    return ".json", mutated(random, random.choice(BASELINES), BASELINES)


def _feed_program(given: Input, limit: float) -> str:
    configuration = Configuration({"time-limit": limit}, isolated=True)
    report = FORMATS["check"][len(given.data) % 8]
    return _outcome(check(f"k{given.suffix}", given.data, configuration, report))


def _feed_config(given: Input, limit: float) -> str:
    path = _scratch("smemlint.toml")
    path.write_bytes(given.data.replace(b"[tool.smemlint]", b"").replace(b"[tool.smemlint.", b"["))
    try:
        found = read_config(path)
        assert found is not None
        from_file(Settings(), found)
    except SmemlintError as error:
        assert str(error)
        return "refused"
    configuration = Configuration({"time-limit": limit}, given=[str(path)])
    return _outcome(check("k.cu", _PLAIN.encode(), configuration, "concise"))


def _feed_baseline(given: Input, limit: float) -> str:
    from smemlint.cli.baseline_modes import without_known

    path = _scratch("baseline.json")
    path.write_bytes(given.data)
    try:
        without_known(_known(), Settings(baseline=str(path)), ["k.cu"], lambda path: _PLAIN)
    except SmemlintError as error:
        assert str(error)
        return "refused"
    return "read"


def _feed_tree(given: Input, limit: float) -> str:
    """A folder of the input's number, through the walk and `check` as on the command line."""
    from tempfile import TemporaryDirectory

    from smemlint.sources.discovery import find_sources

    with TemporaryDirectory(dir=_scratch("").parent) as name:
        tree(Random(given.data.decode()), Path(name))
        try:
            configuration = Configuration({"time-limit": limit, "no-cache": True})
            settings = configuration.for_folder(Path(name))
            result = check_run(find_sources([name], configuration), configuration, settings)
        except SmemlintError as error:
            assert str(error)
            return "refused"
    caught = _caught(result)
    if result.crashed or caught:
        raise InternalError("; ".join(caught) or "crashed")
    return _outcome(result)


def _caught(result: Result) -> list[str]:
    """What internal errors cost: code that is not analysed, fixes that are not known."""
    reasons = [f.no_fix for f in result.findings if f.no_fix is not None]
    reasons += _gaps(result)
    return [reason.text for reason in reasons if reason.code == "internal-error"]


def _gaps(result: Result) -> list[Reason]:
    return [gap.reason for finding in result.findings for gap in finding.gaps]


def _outcome(result: Result) -> str:
    if any(reason.code == "time-limit" for reason in _gaps(result)):
        return "stopped by the time limit"
    if result.sites:
        return "accesses evaluated"
    return "said to be not analysed" if result.findings else "nothing found"


def check(path: str, data: bytes, configuration: Configuration, report: str) -> Result:
    """One file through `check` in this process, and its report.

    Raises:
        InternalError: an error was caught on the way.
    """
    source = Source(path, data)
    settings = configuration.for_file(path)
    result = check_run([source], configuration, settings)
    caught = _caught(result)
    if result.crashed or caught:
        raise InternalError("; ".join(caught) or "crashed")
    if result.findings or result.hidden:
        from smemlint.report.context import Run
        from smemlint.report.formats import rendered
        from smemlint.report.terminal import Terminal

        run = Run(result, settings.arch, lambda path: source.text, 0, Terminal(), Path.cwd())
        rendered(report, run)
    return result


_cached: dict[str, object] = {}


def _known() -> Result:
    if "known" not in _cached:
        _cached["known"] = check("k.cu", _PLAIN.encode(), Configuration(isolated=True), "concise")
    return _cached["known"]  # type: ignore[return-value]


def _scratch(name: str) -> Path:
    if "scratch" not in _cached:
        from tempfile import TemporaryDirectory

        shm = Path("/dev/shm")
        _cached["scratch"] = TemporaryDirectory(dir=shm if shm.is_dir() else gettempdir())
    return Path(_cached["scratch"].name) / name  # type: ignore[attr-defined]


_MADE: dict[str, Callable[[Random, Seeds], tuple[str, str]]] = {
    "cuda": _program(".cu"),
    "python": _program(".py"),
    "pragma": _pragma,
    "config": _config,
    "baseline": _baseline,
    "kernel": lambda random, known: (".cu", kernel(random)),
    "bomb": lambda random, known: (".py", bomb(random)),
    "tree": lambda random, known: (".tree", str(random.random())),
}
_FED: dict[str, Callable[[Input, float], str]] = {
    "cuda": _feed_program,
    "python": _feed_program,
    "pragma": _feed_program,
    "config": _feed_config,
    "baseline": _feed_baseline,
    "kernel": _feed_program,
    "bomb": _feed_program,
    "tree": _feed_tree,
}
