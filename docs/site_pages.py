"""Gives the documentation site its pages outside of `docs`: the README, the rules, the change log.

MkDocs calls `on_config` and `on_files` (`hooks` in `mkdocs.yml`). Links of the README and of the
rules are those of the repository; here they are turned into links of the site, or of GitHub.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parent.parent
_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "ARCHITECTURE.md": "architecture.md",
    "smemlint/report/README.md": "json.md",
}
_LINK = re.compile(r"(!?\[[^\]]*\])\((?!https?://|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the pages in order."""
    rules = sorted(page for page in _pages().values() if page.startswith("rules/"))
    config.nav = [
        {"smemlint": "index.md"},
        {"How to read a finding": "reading-a-finding.md"},
        {"Swizzles on one tile": "swizzles.md"},
        {"Limits": "limits.md"},
        {"Architectures": "architectures.md"},
        {"JSON output": "json.md"},
        {"Rules": [{PurePosixPath(page).stem: page} for page in rules]},
        {"Security": "security.md"},
        {"Changes": "changelog.md"},
        {"Development": ["contributing.md", "architecture.md"]},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that lie outside of `docs`."""
    pages = _pages()
    for source, page in pages.items():
        text = _LINK.sub(
            lambda match, source=source, page=page: _link(match, source, page, pages),
            (ROOT / source).read_text(encoding="utf-8"),
        )
        files.append(File.generated(config, page, content=text))
    return files


def _pages() -> dict[str, str]:
    """Path in the repository -> path in the site. A rule's page has the rule's code as its name."""
    rules = {}
    for path in sorted((ROOT / "rules").glob("*/README.md")):
        code = path.read_text(encoding="utf-8").split(maxsplit=2)[1]
        rules[path.relative_to(ROOT).as_posix()] = f"rules/{code}.md"
    return _PAGES | rules


def _link(match: re.Match[str], source: str, page: str, pages: dict[str, str]) -> str:
    target = _normal(PurePosixPath(source).parent / match[2])
    folder = PurePosixPath(page).parent
    if target in pages:
        found = _relative(pages[target], folder)
    elif target.startswith("docs/"):
        found = _relative(target.removeprefix("docs/"), folder)
    else:
        found = f"https://github.com/smemlint/smemlint/blob/main/{target}"
    return f"{match[1]}({found}{match[3] or ''})"


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _relative(page: str, folder: PurePosixPath) -> str:
    return "../" * len(folder.parts) + page
