"""Which rules report in which file: `select` and `ignore` by code, prefix or name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from smemlint.config.settings import Settings
from smemlint.errors import ConfigError
from smemlint.lazy_dataclasses import dataclass
from smemlint.lint.registry import known_rules, nearest_rule, rule_of
from smemlint.sources.discovery import matches


def is_known(word: str) -> bool:
    """Returns whether a word is a code, a prefix of codes, a name, or `ALL`."""
    return any(specificity(word, *rule) for rule in known_rules())


def specificity(word: str, code: str, name: str) -> int:
    """Returns how closely a word names a rule: 0 not, 1 for `ALL`, most for code and name."""
    upper = word.upper()
    if upper == "ALL":
        return 1
    if word == name or upper == code:
        return len("SML000") + 1
    return len(upper) if upper.startswith("S") and code.startswith(upper) else 0


@dataclass(frozen=True, slots=True)
class Selection:
    """What one file's settings let through."""

    settings: Settings

    def reports(self, code: str, name: str, path: str) -> bool:
        """Returns whether findings of a rule are shown in a file.

        The word that names the rule most closely decides; of equals, `ignore` does.
        """
        s = self.settings
        expected = _closest((*(s.select or ("ALL",)), *s.extend_select), code, name)
        if _closest((*s.ignore, *s.extend_ignore), code, name) >= expected:
            return False
        return not any(
            _closest(words, code, name)
            for pattern, words in s.per_file_ignores.items()
            if matches(path, (pattern,), s.root)
        )


def require_known_rules(read: Any, where: str) -> None:
    """Looks at every rule that the value of an option names.

    Args:
        read: words, or a table with words for its values (`per-file-ignores`) or with the codes or
            names of single rules for its keys (`max-ways`).
        where: the place of the option.

    Raises:
        ConfigError: one does not exist.
    """
    is_known_here: Callable[[str], object] = is_known
    words = list(read)
    if isinstance(read, dict):
        if all(isinstance(value, tuple) for value in read.values()):
            words = [word for value in read.values() for word in value]
        else:
            is_known_here = rule_of
    for word in words:
        if word != "*" and not is_known_here(word):
            raise ConfigError(f"unknown rule `{word}`", where=where, hint=nearest_rule(word))


def _closest(words: Iterable[str], code: str, name: str) -> int:
    return max((specificity(word, code, name) for word in words), default=0)
