"""What the README and `docs` show of the program: `python tests/readme.py` brings it up to date.

`<!-- output: ARGUMENTS -->` stands before a code block that has what `smemlint ARGUMENTS` prints, and
`<!-- table: ARGUMENTS -->` before a table. The arguments of `main job` are those of the README's
first command. The picture is cut out of the HTML report on the same file.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
PICTURE = ROOT / "docs" / "banks.svg"
_SHOWN = re.compile(
    r"(?P<mark><!-- output: (?P<output>.*?) -->\n```\w*\n)(?P<text>.*?)(?=^```$)"
    r"|(?P<head><!-- table: (?P<table>.*?) -->\n)(?P<rows>(?:\|[^\n]*\n)*)",
    re.M | re.S,
)


def current() -> str:
    """The README as it is."""
    return README.read_text(encoding="utf-8")


def command(readme: str, name: str) -> str:
    """The code block under `<!-- command: NAME -->`."""
    found = re.search(rf"<!-- command: {name} -->\n```\w*\n(.*?)```", readme, re.S)
    assert found is not None, name
    return found[1]


def updated(readme: str) -> str:
    """The README with every output and table as the program prints them now."""

    def replace(match: re.Match[str]) -> str:
        arguments = match["output"] or match["table"]
        if arguments == "main job":
            arguments = command(readme, "main job").rsplit("smemlint ", 1)[1]
        return (match["mark"] or match["head"]) + printed(arguments.split())

    return _SHOWN.sub(replace, readme)


def picture() -> str:
    """The bank maps of the HTML report on the README's first file, now and with the fix."""
    page = printed(["check", "fixtures/transpose.cu", "--output-format", "html"])
    style = re.search(r"<style>\n(.*?)</style>", page, re.S)
    hatch = re.search(r"<defs>.*?</defs>", page)
    figures = re.findall(r"<figcaption>(.*?)</figcaption><svg class='map' (.*?)</svg>", page)
    assert style is not None and hatch is not None and len(figures) == 2
    variables = style[1][: style[1].index("body {")]
    rules = re.findall(r"^\.(?:map text|grid|cool|hot|line|crowded) .*$", style[1], re.M)
    parts = [
        f"<text class='title' x='{440 * i + 44}' y='24'>{heading}</text>"
        f"<svg x='{440 * i}' y='32' class='map' {drawing}</svg>"
        for i, (heading, drawing) in enumerate(figures)
    ]
    title = ".title { fill: var(--ink); font: 600 14px system-ui, sans-serif; }"
    font = ".map text { font-family: ui-monospace, Menlo, Consolas, monospace; }"
    return "\n".join(
        (
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 860 420' width='860' "
            "height='420'>",
            f"<style>\n{variables}{font}\n" + "\n".join(rules) + f"\n{title}\n</style>",
            hatch[0],
            "<rect width='860' height='420' fill='var(--paper)'/>",
            *parts,
            "</svg>\n",
        )
    )


def printed(arguments: list[str]) -> str:
    """What smemlint prints on both streams."""
    env = {"PYTHONUTF8": "1", "PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "smemlint", *arguments],
        cwd=ROOT, capture_output=True, encoding="utf-8", check=False, env=env,
    )  # fmt: skip
    return done.stdout + done.stderr


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(), encoding="utf-8")
    for page in (README, *PAGES):
        page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")
