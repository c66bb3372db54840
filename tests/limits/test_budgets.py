"""All budgets stand in one file, each with its reason, and each is spent somewhere."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

from syntax_trees import tree_of

import smemlint

ROOT = Path(smemlint.__file__).parents[1]
BUDGETS = ROOT / "smemlint" / "limits" / "budgets.py"
NAME = re.compile(
    r"(^|_)(MAX|MOST|DEEPEST|LONGEST|LARGEST|FARTHEST|LIMIT|BUDGET|PATIENCE|HOPELESS)(_|$)"
)
NO_BUDGETS = {
    "smemlint/analysis/compiled/launch.py": {"MAX_THREADS": "of a block of the hardware"},
    "smemlint/analysis/compiled/ptx/linear.py": {"_MOST_ALIGNMENT": "that matters to a bank"},
    "smemlint/analysis/compiled/ptx/operands.py": {"_LARGEST_GRID": "of the hardware"},
    "smemlint/analysis/compiled/sass/floats.py": {"_LARGEST": "number of 32 bits"},
    "smemlint/analysis/compiled/triton_cache.py": {"_MAX_WARPS": "of a block of the hardware"},
    "smemlint/analysis/python/cute_dsl/execution/state.py": {
        "MAX_THREADS": "of a block of the hardware"
    },
    "smemlint/analysis/python/cute_dsl/execution/storage.py": {"_LARGEST_ALIGNMENT": "of the DSL"},
    "smemlint/analysis/python/cute_dsl/layouts.py": {"_LARGEST": "number of 32 bits"},
    "smemlint/analysis/python/cute_dsl/model.py": {"_MOST_ALIGNMENT": "that the DSL takes"},
    "smemlint/analysis/python/gluon/accesses.py": {"_MOST_WARPS": "of a block of the hardware"},
    "smemlint/analysis/python/interpreter/arguments.py": {"LARGEST_INTEGER": "number of 32 bits"},
    "smemlint/analysis/python/triton/offset_model.py": {"_LARGEST": "number of 32 bits"},
    "smemlint/analysis/simt/codegen/branches/arm_costs.py": {
        "MAX_COST": "of LLVM",
        "_MAX_DEPTH": "of calls",
    },
    "smemlint/analysis/simt/codegen/branches/kept_branches.py": {"_MAX_COST": "of LLVM"},
    "smemlint/analysis/simt/codegen/unroll.py": {
        "MOST_OF_A_TRIANGLE": "of LLVM",
        "MOST_OF_REGISTERS": "of LLVM",
        "_MOST_DIGITS": "of a factor that LLVM reads",
    },
    "smemlint/analysis/simt/domain/affine.py": {"_LONGEST": "name; a hash stands for longer keys"},
    "smemlint/analysis/simt/domain/environment.py": {"MAX_THREADS": "of a block of the hardware"},
    "smemlint/analysis/simt/loops/counted_trips.py": {"_LARGEST": "number of 32 bits"},
    "smemlint/analysis/simt/domain/scev.py": {"_MOST": "alignment that matters to a bank"},
    "smemlint/analysis/simt/launches/bindings.py": {"_MOST_TEXT": "that is shown of a type"},
    "smemlint/analysis/simt/launches/tensor_maps.py": {"_MAX_RANK": "of the hardware"},
    "smemlint/cli/config.py": {"_LONGEST_DEFAULT": "that is shown"},
    "smemlint/errors.py": {"_MOST_LISTED": "that are shown"},
    "smemlint/driver/cache.py": {"_MOST_PLACES": "number of 32 bits"},
    "smemlint/frontend/cuda/preprocessor/branches.py": {"_MAX_CONDITION_TEXT": "that is shown"},
    "smemlint/frontend/cuda/preprocessor/pytorch.py": {"_MOST_ADDED": "that PyTorch's macros add"},
    "smemlint/frontend/sass/cubin.py": {"_MAX_THREADS": "number of an attribute"},
    "smemlint/hardware/arch.py": {
        "LARGEST_BLOCK": "of the hardware",
        "STATIC_SHARED_LIMIT": "of the hardware",
    },
    "smemlint/layout/cute/dsl.py": {"MAX_VECTOR_BITS": "of CuTe"},
    "smemlint/layout/declared_offsets.py": {"_MOST_BYTES": "of an access of the hardware"},
    "smemlint/layout/tiles.py": {"_LARGEST": "tile that `smemlint swizzle` takes, which it says"},
    "smemlint/report/folded.py": {"_MOST_REASONS": "that are shown, with the number of the others"},
    "smemlint/report/phrases.py": {
        "_MOST_LETTERS": "that are shown",
        "_MOST_TITLES": "that are shown",
        "_LONGEST_TITLE": "that is shown",
    },
    "smemlint/report/summary.py": {
        "_MOST_KERNELS": "that are shown, with the number of the others"
    },
    "smemlint/report/frame.py": {
        "_MOST_LINES": "that are shown",
        "_MOST_COLUMNS": "that are shown",
    },
    "smemlint/report/full.py": {"_MOST_NOTES": "that are shown, with the number of the others"},
    "smemlint/verify/calls.py": {"_MOST_OF_BYTE": "guess at an argument"},
    "smemlint/verify/copies.py": {"_MOST": "of what a GPU replays, which it says"},
    "rules/dot_operand_major/rule.py": {"_LONGEST_ROW": "that was compiled"},
    "rules/not_analysed/rule.py": {"_MOST_LINES": "that are shown, with the number of the others"},
    "rules/layouts.py": {"MAX_OFFSETS": "of shared memory", "MOST_BYTES": "of an address"},
    "rules/tma_mode_mismatch/rule.py": {"_MOST": "extent of the hardware"},
}
"""What the name says is no limit of the work: a fact of hardware, format or compiler, or a display."""


def constants(path: Path) -> list[str]:
    """Names of numbers at the top of a module."""
    found = []
    for node in tree_of(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        numbers = (
            ast.walk(node.value)
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value
            else ()
        )
        if any(isinstance(n, ast.Constant) and isinstance(n.value, int | float) for n in numbers):
            found += [t.id for t in targets if isinstance(t, ast.Name)]
    return found


def modules() -> list[Path]:
    return sorted(
        [
            *(ROOT / "smemlint").rglob("*.py"),
            *(ROOT / "rules").glob("*.py"),
            *(ROOT / "rules").glob("*/rule.py"),
        ]
    )


def test_no_other_module_has_a_budget():
    found = {}
    for path in modules():
        names = {n for n in constants(path) if NAME.search(n)}
        if names and path != BUDGETS:
            found[str(path.relative_to(ROOT))] = names
    assert found == {path: set(names) for path, names in NO_BUDGETS.items()}


def test_every_budget_has_a_reason_and_is_spent():
    body = tree_of(BUDGETS).body
    named = [
        n.targets[0].id
        for n in body
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    ]
    reasons = [
        after for before, after in pairwise(body)
        if isinstance(before, ast.Assign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    ]  # fmt: skip
    assert len(named) == len(set(named)) == len(reasons) > 100
    words = {w for p in modules() if p != BUDGETS for w in re.findall(r"\w+", p.read_text())}
    assert set(named) - words == set()
