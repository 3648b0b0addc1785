"""A page for every model of this package: picture, parameters, inputs, outputs, tasks, the command, and a live report."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from kingpost.base.errors import KingpostError
from kingpost.base.files import write_whole
from kingpost.gallery.page import whole_page
from kingpost.gallery.projection import start_picture
from kingpost.modelfiles.opened import OpenedModel, open_model
from kingpost.registry.pluginset import PluginSet
from kingpost.report.page import write_report

#: Bodies above which deriving loads and compiling takes more than some seconds.
QUICK_BODIES = 5
#: Seconds of a live report, where the model's own run is longer.
SHOWN = 10.0
#: Samples that a motion needs to be looked at; runs keep one every 0.01 s unless they are told otherwise.
FRAMES, USUAL = 100, 0.01
#: What the columns of a table are called.
COLUMNS = {
    "Options": ("option", "default", "takes"),
    "Parameters": ("parameter", "default", "meaning"),
    "Inputs": ("input", "default", "meaning"),
    "Coordinates": ("coordinate", "start", "belongs to"),
    "Outputs": ("output", "unit", "what it is"),
    "Measures": ("measure", "unit", "what it is"),
    "Servo tasks": ("task", "duration", "what is to be done"),
    "Optimal tasks": ("task", "", "what is to be done"),
    "How it is run": ("what", "unless you say otherwise", ""),
}


@dataclass(frozen=True)
class ModelPage:
    """What is to be said of a model."""

    name: str
    summary: str
    #: Heading, one of COLUMNS: rows of name, number or unit, and description.
    tables: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    #: What its documentation says beyond the summary, in paragraphs.
    about: tuple[str, ...] = ()
    #: Command lines and what each does, the one that makes a report first.
    commands: tuple[tuple[str, str], ...] = ()
    #: SVG of the machine at the start, or an empty text.
    picture: str = ""
    #: Name of the file with the live report, or why there is none.
    report: str = ""
    no_report: str = ""


def built_in(plugins: PluginSet) -> list[str]:
    """Return the names of the models of this package."""
    return [row["name"] for row in plugins.listing() if row["kind"] == "model" and row["distribution"] == "kingpost"]


def describe(name: str, plugins: PluginSet) -> tuple[ModelPage, OpenedModel]:
    """Return what is to be said of a model, without a picture or a report."""
    opened = open_model(name, plugins)
    mechanism, how, cls = opened.mechanism, opened.how(), plugins.models.get(name)
    coordinates = [
        (
            c.name,
            f"{start:.6g} {c.unit}" if isinstance(start, float) else f"{start} {c.unit}",
            f"{joint.kind} joint of '{joint.child}'",
        )
        for joint in mechanism.joints
        for c, start in zip(joint.positions, joint.start_values, strict=False)
    ]
    tables = {
        "Options": [(f.name, str(getattr(cls.Options(), f.name)), str(f.type)) for f in dataclasses.fields(cls.Options)],
        "Parameters": [(p.name, _with_unit(p.default, p.unit), p.description) for p in mechanism.shown_parameters],
        "Inputs": [(i.name, _with_unit(i.default, i.unit), i.description) for i in mechanism.inputs],
        "Coordinates": coordinates,
        "Outputs": [(o.name, o.unit, f"{o.quantity} of a point of '{o.body}'") for o in mechanism.outputs],
        "Measures": [(m.name, mechanism.measure_units[m.name], m.words) for m in mechanism.measures],
        "Servo tasks": [(key, f"{task.t_end - task.t_start:g} s", task.description) for key, task in opened.tasks.items()],
        "Optimal tasks": [(key, "", task.description) for key, task in opened.optimal_tasks.items()],
        "How it is run": [
            ("formulation", str(how.formulation or "chosen by its loops: kane, or recursive for long trees"), ""),
            ("integrator", str(how.integrator or "rk4"), ""),
            ("duration", f"{how.t_end:g} s" if how.t_end is not None else "10 s", ""),
            ("step", f"{how.step:g} s" if how.step is not None else "1e-3 s", ""),
        ],
    }
    page = ModelPage(
        name,
        mechanism.description,
        {key: rows for key, rows in tables.items() if rows},
        tuple(" ".join(part.split()) for part in (inspect.getdoc(cls) or "").split("\n\n")[1:]),
        _commands(opened, name),
    )
    return page, opened


def _commands(opened: OpenedModel, name: str) -> tuple[tuple[str, str], ...]:
    """Return what can be typed for a model, and what it does."""
    output_step = _output_step(opened)
    often = f" --output-step {output_step:g}" if output_step else ""
    found = [
        (f"kingpost run {name} --report{often}", "motion, loads, and a live report in one file"),
        (f"kingpost models {name} --toml", "as a file, to begin your own from"),
    ]
    found += [(f"kingpost inverse {name} --task {task}", "which inputs do a task") for task in list(opened.tasks)[:1]]
    found += [(f"kingpost optimise {name} --task {task}", "the best way to do one") for task in list(opened.optimal_tasks)[:1]]
    return tuple(found)


def _with_unit(number: float, unit: str) -> str:
    return f"{number:g}" if unit == "1" else f"{number:g} {unit}"


def _output_step(opened: OpenedModel) -> float | None:
    """Return the time between samples of a motion that is too short for the usual one; else nothing."""
    how = opened.how()
    t_end, step = how.t_end or SHOWN, how.step or opened.step
    if how.output_step is not None or t_end >= FRAMES * USUAL:
        return None
    return step * max(1, round(t_end / FRAMES / step))


def why_no_report(opened: OpenedModel, long: bool) -> str:
    """Say why a model gets no live report, or nothing if it does."""
    bodies = len(opened.mechanism.bodies)
    if not bodies:
        return "it has no bodies to be drawn"
    if not long and bodies > QUICK_BODIES:
        return f"{bodies} bodies take a while to be derived and compiled; --all makes it"
    return ""


def write_live_report(opened: OpenedModel, path: Path) -> str:
    """Write the report of a short run; return why there is none, if the machine refuses."""
    try:
        how = opened.how()
        t_end = min(how.t_end if how.t_end is not None else SHOWN, SHOWN)
        history = opened.simulate(t_end=t_end, loads=("all",), output_step=_output_step(opened))
        write_report(history, path, title=opened.mechanism.name)
    except KingpostError as problem:
        return f"its default run is refused: {problem}"
    return ""


def write_model_pages(
    folder: Path,
    names: Sequence[str],
    plugins: PluginSet,
    *,
    reports: bool = False,
    long: bool = False,
    progress: Callable[[float], None] | None = None,
) -> list[ModelPage]:
    """Write a page for each model, its picture and, where it is quick, a live report; and an index of all."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = []
    for k, name in enumerate(names):
        page, opened = describe(name, plugins)
        report, reason = "", "not asked for"
        if reports:
            reason = why_no_report(opened, long)
            if not reason:
                report = f"{name}-report.html"
                reason = write_live_report(opened, folder / report)
        picture = start_picture(opened.mechanism, plugins)
        page = dataclasses.replace(page, picture=picture, report="" if reason else report, no_report=reason)
        _write(folder / f"{name}.html", html_page(page))
        if page.picture:
            _write(folder / f"{name}.svg", page.picture)
        pages.append(page)
        if progress is not None:
            progress((k + 1) / len(names))
    _write(folder / "index.html", index_page(pages))
    return pages


def table_of(heading: str, rows: Sequence[tuple[str, str, str]]) -> list[list[str]]:
    """Return the titles of a table's columns and its rows, without columns in which nothing stands."""
    there = [k for k in range(len(COLUMNS[heading])) if any(row[k] for row in rows)]
    return [[row[k] for k in there] for row in (COLUMNS[heading], *rows)]


def html_page(page: ModelPage) -> str:
    """Return the page of one model."""
    parts = ['<p><a href="index.html">all models</a></p>', f"<h1>{escape(page.name)}</h1>", f"<p>{escape(page.summary)}</p>"]
    parts += [f"<p>{escape(text.replace('``', ''))}</p>" for text in page.about]
    parts.append(f'<section class="card">{page.picture or "<p>No bodies to be drawn.</p>"}')
    parts += [f"<p><code>{escape(command)}</code> {escape(purpose)}</p>" for command, purpose in page.commands]
    if page.report:
        parts.append(f'<p><a href="{escape(page.report)}">Live report: animation, loads, curves</a></p>')
    elif page.no_report:
        parts.append(f'<p class="muted">No live report here: {escape(page.no_report)}.</p>')
    parts.append("</section>")
    for heading, rows in page.tables.items():
        first, *others = table_of(heading, rows)
        head = "".join(f"<th>{escape(title)}</th>" for title in first)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in others)
        parts.append(f'<h2>{heading}</h2><div class="wide"><table><tr>{head}</tr>{body}</table></div>')
    return whole_page(page.name, "\n".join(parts))


def index_page(pages: Sequence[ModelPage]) -> str:
    """Return the page of all models."""
    cards = "".join(
        f'<a class="card" href="{escape(page.name)}.html"><h3>{escape(page.name)}</h3>'
        f"{page.picture.replace('<svg ', '<svg style=max-width:100%;height:auto ', 1)}"
        f'<p class="muted">{escape(page.summary)}</p></a>'
        for page in pages
    )
    return whole_page("Models", f'<h1>Models</h1><div class="pictures">{cards}</div>')


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda beside: _fill(beside, text))


def _fill(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
