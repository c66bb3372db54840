"""The dialects of Python: one analysis for each way to write kernels.

A dialect has a module with `analyze(source, settings) -> (Facts, Dependencies)`; one whose kernels
get their arguments in other files is given those that import from the file, too. It is imported
only for a file with one of the dialect's marks; what is linted is never imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

from smemlint.analysis.program.dependencies import Dependencies
from smemlint.analysis.python.importers import Importers
from smemlint.config.settings import Settings
from smemlint.facts import Facts, NotAnalysed, Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.errors import crash_reason
from smemlint.reasons import Reason, ReasonCode
from smemlint.sources.source import Source


@dataclass(frozen=True, slots=True)
class Dialect:
    """A way to write kernels in Python.

    Attributes:
        module: its name in this package.
        marks: words; a file without any of them holds no kernel of this dialect.
        reads_callers: its analysis takes `importers` as well.
    """

    module: str
    marks: tuple[str, ...]
    reads_callers: bool = False

    def is_wanted(self, text: str) -> bool:
        """Returns whether a file of this text can hold kernels of this dialect."""
        return any(mark in text for mark in self.marks)


DIALECTS = (
    Dialect("gluon.analysis", ("experimental.gluon", "experimental import gluon")),
    Dialect(
        "cute_dsl.analysis",
        ("make_swizzle(", "autovec_copy(", "cutlass.cute", "@cute.", "from cutlass import"),
        True,
    ),
    Dialect("triton.analysis", ("triton.language", "import triton")),
    Dialect("cupy.jit", ("jit.shared_memory", "import shared_memory", "shared.array"), True),
    Dialect(
        "cupy.analysis",
        (
            "RawKernel(", "RawModule(", "ElementwiseKernel(", "ReductionKernel(", "SourceModule(",
            "load_inline(", "cpp_extension", "_compile_kernel(", "from cuda.core",
            "import cuda.core", "from cuda import core", "__shared__", "LOCAL_MEM",
        ),
    ),
)  # fmt: skip


def holds_marks(text: str) -> bool:
    """Returns whether some dialect is analysed in a file of this text."""
    return any(dialect.is_wanted(text) for dialect in DIALECTS)


def analyze_python(
    source: Source, settings: Settings, crashed: Callable[[NotAnalysed], None], importers: Importers
) -> tuple[Facts, Dependencies]:
    """Returns the facts of a Python file, and the other files that they depend on."""
    parts: list[Facts] = []
    dependencies = Dependencies()
    for dialect in DIALECTS:
        if not dialect.is_wanted(source.text):
            continue
        try:
            module = import_module(f"smemlint.analysis.python.{dialect.module}")
            others = (importers,) if dialect.reads_callers else ()
            facts, read = module.analyze(source, settings, *others)
            parts.append(facts)
            dependencies.add(read)
        except RecursionError:
            parts.append(
                _not_analysed(source, Reason(ReasonCode.NESTING_LIMIT, "nested too deeply"))
            )
        except MemoryError:
            parts.append(
                _not_analysed(
                    source, Reason(ReasonCode.MEMORY_LIMIT, "evaluation stopped: out of memory")
                )
            )
        except Exception as error:
            what = crash_reason(error, f"`{dialect.module}`")
            crashed(NotAnalysed(Span(source.path, 1, 1, 1, 1), "", what))
    parts.append(Facts(not_analysed=tuple(_refused(source, dependencies))))
    return Facts.joined(parts), dependencies


def _refused(source: Source, dependencies: Dependencies) -> Iterator[NotAnalysed]:
    """Yields a note for each file that exists, is imported from and must not be read."""
    for path in dependencies.reads:
        refusal = source.sandbox.refusal(path)
        if refusal:
            yield NotAnalysed(
                Span(source.path, 1, 1, 1, 1),
                "",
                Reason(ReasonCode.REFUSED, f"`{path}` is not read: {refusal}"),
            )


def _not_analysed(source: Source, reason: Reason) -> Facts:
    return Facts(not_analysed=(NotAnalysed(Span(source.path, 1, 1, 1, 1), "", reason),))
