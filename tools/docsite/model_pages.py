"""A page for every model: picture, commands, options, parameters, inputs, measures, tasks; if asked for, a live report."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

from docsite.text import from_docstring, table
from kingpost import PluginSet
from kingpost.gallery.models import built_in, describe, why_no_report, write_live_report
from kingpost.gallery.pages import model_page
from kingpost.gallery.projection import start_picture
from kingpost.modelfiles.opened import open_model

FOLDER = "models"
FIRST = """# Models

Machines to start from, each with its picture, commands and numbers. `kingpost models` lists them, and yours beside them. How to
describe a machine is in [Model files](../model-files.md); all of them as plugins, with their options, in
[the reference](../reference/plugins/models.md).

"""


def pages(reports: Collection[str] = ()) -> tuple[dict[str, str], dict[str, Callable[[], str]]]:
    """Return a page for every model and one that lists them, and what draws their pictures; ``reports`` have live ones."""
    plugins = PluginSet(entry_points=False)
    made, drawn, rows = {}, {}, []
    for name in built_in(plugins):
        page, opened = describe(name, plugins)
        if opened.mechanism.bodies:
            page = replace(page, picture=f"{name}.svg")
            drawn[f"{FOLDER}/{name}.svg"] = partial(start_picture, opened.mechanism, plugins)
        made[f"{FOLDER}/{name}.md"] = model_page(page, live(name) if name in reports else "")
        rows.append((f"[{name}]({name}.md)", from_docstring(page.summary)))
    made[f"{FOLDER}/index.md"] = FIRST + table(("model", "what it is"), rows)
    return made, drawn


def live(name: str) -> str:
    """Return the live report as a part of the page, to be opened by itself, too."""
    return (
        f'<iframe class="report" src="{name}-report.html" title="live report of {name}" loading="lazy"></iframe>\n'
        f'<p><a href="{name}-report.html">The live report by itself</a></p>'
    )


def write_reports(folder: Path, wanted: Collection[str]) -> list[str]:
    """Write live reports of models, all that can be shown unless some are named; return the names of those that have one."""
    plugins, written = PluginSet(entry_points=False), []
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    for name in wanted or built_in(plugins):
        opened = open_model(name, plugins)
        path = folder / FOLDER / f"{name}-report.html"
        why = why_no_report(opened, long=True) or write_live_report(opened, path)
        print(f"{name}: {why or f'live report of {path.stat().st_size / 1e6:.1f} MB'}", flush=True)
        written += [] if why else [name]
    return written
