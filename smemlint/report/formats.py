"""The formats of `smemlint check`: each is a module with `render`, imported when asked for."""

from __future__ import annotations

from importlib import import_module

from smemlint.report.context import Run

_MODULES = {
    "full": "full",
    "concise": "concise",
    "json": "findings_json",
    "sarif": "sarif",
    "github": "github",
    "gitlab": "gitlab",
    "junit": "junit",
    "html": "html",
}


def rendered(name: str, run: Run) -> str:
    """Renders a run in one of `options.FORMATS["check"]`, without a final line end."""
    text: str = import_module(f"smemlint.report.{_MODULES[name]}").render(run)
    return text
