"""The folder tree is the pipeline: imports go one way, without circles, and classes stay shallow."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from syntax_trees import tree_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "smemlint"

LAYERS = (
    (
        "digests", "errors", "facts", "finding", "lazy_dataclasses", "limits", "reasons", "registration",
        "relocation", "visible",
    ), ("files",), ("hardware",), ("layout",),
    ("config",), ("sources",), ("frontend",), ("analysis",), ("lint",), ("fix",), ("driver",),
    ("report", "verify"), ("lsp",), ("cli",),
)  # fmt: skip
"""A module imports from its own layer and from those before it."""
MAX_DEPTH = 3
MAX_MODULES = 25
MAX_LINES, MAX_FUNCTION_LINES = 450, 60
"""Of a module that is more than a table of constants; of a function with its docstring."""


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax tree of every module, by its name below `smemlint`."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(p for p in parts if p != "__init__")
        found[name] = tree_of(path)
    return found


@cache
def imports(name: str) -> frozenset[str]:
    """The modules that a module imports, within functions and for type checkers, too."""
    found = set()
    for node in ast.walk(modules()[name]):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("smemlint"):
            module = (node.module or "").removeprefix("smemlint").lstrip(".")
            for alias in node.names:
                inner = f"{module}.{alias.name}".lstrip(".")
                found.add(inner if inner in modules() else module)
    return frozenset(found - {name, ""})


def circles(graph: dict[str, frozenset[str]]) -> list[set[str]]:
    """The strongly connected components of several modules."""
    reached = {name: _reached(name, graph) for name in graph}
    found: list[set[str]] = []
    for name in graph:
        circle = {other for other in reached[name] if name in reached[other]}
        if len(circle) > 1 and circle not in found:
            found.append(circle)
    return found


def _reached(name: str, graph: dict[str, frozenset[str]]) -> set[str]:
    seen: set[str] = set()
    worklist = [name]
    while worklist:
        for other in graph[worklist.pop()] - seen:
            seen.add(other)
            worklist.append(other)
    return seen


def depths() -> dict[str, int]:
    """How many classes of the package a class inherits from in a line, itself included."""
    bases: dict[str, list[str]] = {}
    for module, tree in modules().items():
        homes = {
            alias.asname or alias.name: f"{(node.module or '').removeprefix('smemlint.')}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names = [base.id for base in node.bases if isinstance(base, ast.Name)]
                bases[f"{module}.{node.name}"] = [f"{homes.get(n, module)}.{n}" for n in names]

    def depth(name: str) -> int:
        return 1 + max((depth(base) for base in bases[name] if base in bases), default=0)

    return {name: depth(name) for name in bases}


def test_imports_go_one_way() -> None:
    order = {package: k for k, layer in enumerate(LAYERS) for package in layer}
    against = {
        (name, other)
        for name in modules()
        for other in imports(name)
        if name.split(".")[0] in order
        and order.get(other.split(".")[0], -1) > order[name.split(".")[0]]
    }
    assert against == set()


def test_pycparser_stays_in_the_parser() -> None:
    """All others see the intermediate representation."""
    users = {
        module.rsplit(".", 1)[0]
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (getattr(node, "module", None), *(alias.name for alias in node.names))
        if (name or "").split(".")[0] == "pycparser"
    }
    assert users == {"frontend.cuda.parser", "frontend.cuda.parser.to_ir"}


def test_there_are_no_import_circles() -> None:
    graph = {name: imports(name) for name in modules()}
    assert circles(graph) == []


def test_inheritance_is_shallow() -> None:
    assert [name for name, depth in depths().items() if depth > MAX_DEPTH] == []


def test_the_python_interpreter_is_typed() -> None:
    untyped = {
        name
        for name, tree in modules().items()
        if name.startswith("analysis.python.interpreter")
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == "Any"
    }
    assert untyped == set()


def test_folders_and_modules_are_small() -> None:
    for folder in (p for p in PACKAGE.rglob("*") if p.is_dir()):
        names = [p.name for p in folder.glob("*.py") if p.name != "__init__.py"]
        assert len(names) <= MAX_MODULES, folder


def test_modules_and_functions_are_short() -> None:
    long = []
    for path in (*PACKAGE.rglob("*.py"), *(ROOT / "rules").rglob("rule.py")):
        functions = [n for n in ast.walk(tree_of(path)) if isinstance(n, ast.FunctionDef)]
        lengths = [(f.name, (f.end_lineno or 0) - f.lineno + 1) for f in functions]
        long += [(path, name, n) for name, n in lengths if n > MAX_FUNCTION_LINES]
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if functions and lines > MAX_LINES:
            long.append((path, "", lines))
    assert long == []


def test_files_of_tests_have_names_of_their_own() -> None:
    """Pytest imports them by name: of two it stops, where both folders are run in one process."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(set(names)) == len(names) > 100


def test_the_document_shows_the_tree_as_it_is() -> None:
    """Every folder of the package stands in ARCHITECTURE.md, and no other."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    tree = text.split("<!-- tree -->")[1].split("```")[1]
    shown = set()
    parents: list[str] = []
    for row in tree.splitlines():
        match = re.match(r"(\s*)([\w/]+)/(?:\s|$)", row)
        if match is None:
            continue
        level = len(match[1]) // 2
        parents = [*parents[:level], match[2]]
        shown.add("/".join(parents))
    packages = {p.parent.relative_to(ROOT).as_posix() for p in PACKAGE.rglob("__init__.py")}
    assert shown == packages


def test_every_module_that_the_documents_name_exists() -> None:
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for name in re.findall(r"`([\w./]+/[\w.]*)`", text):
            places = (
                ROOT / name,
                PACKAGE / name,
                PACKAGE / "analysis/simt" / name,
                ROOT / "tests" / name,
            )
            assert any(place.exists() for place in places), f"{page}: {name}"


def test_dataclasses_are_compiled_on_demand():
    """Each class of the library's decorator costs every start of the program half a millisecond."""
    eager = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if any(alias.name == "dataclass" for alias in node.names)
    }
    assert eager == {"lazy_dataclasses"}  # for type checkers
