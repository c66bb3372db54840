"""The rules there are, loaded from `smemlint.rules` or from the checkout's `rules` folder."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from smemlint.errors import ConfigError
from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from types import ModuleType

    from smemlint.lint.rule import Rule

NAMESPACE = "smemlint.rules"
PAGES = "https://smemlint.github.io/smemlint/rules/"
_PREFIX = re.compile(r"SML\d+", re.I)


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule and the folder that it lives in."""

    rule: Rule
    folder: Path

    @property
    def page(self) -> str:
        """Its README."""
        return (self.folder / "README.md").read_text(encoding="utf-8")


def folder_of_rules() -> Path:
    """Returns where the rules lie."""
    return Path(str(_package().__file__)).parent


def _package() -> ModuleType:
    """Returns the rules: installed as `smemlint.rules`, in a checkout the folder beside `smemlint`.

    Never a `rules` package of the working directory.
    """
    try:
        return importlib.import_module(NAMESPACE)
    except ModuleNotFoundError as error:
        if error.name != NAMESPACE:
            raise
    folder = Path(__file__).resolve().parents[2] / "rules"
    spec = importlib.util.spec_from_file_location(
        NAMESPACE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAMESPACE] = module
    spec.loader.exec_module(module)
    return module


@cache
def entries(*, of_layouts: bool = True, of_products: bool = True) -> tuple[Entry, ...]:
    """Returns all rules, by code.

    Args:
        of_layouts: also those that judge layouts alone.
        of_products: also those that judge matrix products alone.
    """
    package = _package()
    folder = Path(str(package.__file__)).parent
    names = list(package.OF_FACTS)
    names += package.OF_LAYOUTS if of_layouts else ()
    names += package.OF_PRODUCTS if of_products else ()
    found = []
    for name in names:
        module = importlib.import_module(f"{NAMESPACE}.{name}.rule")
        found.append(Entry(module.RULE, folder / name))
    return tuple(sorted(found, key=lambda e: e.rule.code))


def entry(name: str) -> Entry:
    """Returns the rule of a code or name.

    Raises:
        ConfigError: there is none.
    """
    for found in entries():
        if name.lower() in (found.rule.code.lower(), found.rule.name):
            return found
    raise ConfigError(f"unknown rule `{name}`", hint=nearest_rule(name))


def page_url(code: str) -> str:
    """Returns where a rule's page can be read."""
    return f"{PAGES}{code}/"


def entries_of(word: str) -> tuple[Entry, ...]:
    """Returns the rule of a code or name, or all rules of a prefix of their codes.

    Raises:
        ConfigError: there is none.
    """
    found = tuple(e for e in entries() if is_prefix(word, e.rule.code))
    return found or (entry(word),)


def is_prefix(word: str, code: str) -> bool:
    """Returns whether a word is the beginning of a code with a digit at least, as `SML1` is."""
    return _PREFIX.fullmatch(word) is not None and code.startswith(word.upper())


def known_rules() -> list[tuple[str, str]]:
    """Returns the code and name of everything that can be selected or ignored."""
    return [(e.rule.code, e.rule.name) for e in entries()]


def rule_of(word: str) -> tuple[str, str] | None:
    """Returns the code and name of the one rule that a word names."""
    return next((rule for rule in known_rules() if word in rule), None)


def rules_of(word: str) -> list[tuple[str, str]]:
    """Returns code and name of the rules that a pragma's word names: one, or of a prefix."""
    return [rule for rule in known_rules() if word in rule or is_prefix(word, rule[0])]


def nearest_rule(word: str) -> str:
    """Returns a hint for a word that names no rule."""
    near = nearest_name(word)
    return f"did you mean `{near}`?" if near else "`smemlint rule` lists them"


def nearest_name(word: str) -> str:
    """Returns the name spelled most like a word; empty for none: of codes none is nearer."""
    from difflib import get_close_matches

    names = [name for _, name in known_rules()]
    return next(iter(get_close_matches(word.lower(), names, n=1, cutoff=0.4)), "")
