"""Pages of the gallery and of all models in Markdown, with their pictures, for a documentation site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kingpost.base.files import write_whole
from kingpost.gallery.catalogue import documents, entries
from kingpost.gallery.entry import Document
from kingpost.gallery.models import ModelPage, built_in, describe, table_of, why_no_report, write_live_report
from kingpost.gallery.page import sorted_items, state_of, summary
from kingpost.gallery.projection import start_picture
from kingpost.gallery.running import Outcome, run_entries
from kingpost.registry.pluginset import PluginSet


def write_pages(
    folder: str | Path, *, run: bool = True, long: bool = False, reports: bool = False, plugins: PluginSet | None = None
) -> list[Path]:
    """Write Markdown pages and pictures below ``folder``: gallery/*.md and models/*.md, each with an index.md.

    Parameters
    ----------
    folder
        A folder, which may have other pages; those of the gallery are written anew.
    run
        Run the entries. Without it pages have the inventory, the commands and the misprints, and no pictures of results.
    long
        Also run what takes more than half a minute of CPU time.
    reports
        Write a live report beside the page of each model that is quick to run.
    plugins
        The plugins whose models are described; those of this package by default.

    Returns
    -------
    The files, in the order of a table of contents.

    """
    folder, plugins = Path(folder), plugins or PluginSet(entry_points=False)
    outcomes = run_entries(entries(documents(), long=long))[0] if run else []
    files = _gallery(folder / "gallery", outcomes)
    return files + _models(folder / "models", plugins, reports)


def _gallery(folder: Path, outcomes: Sequence[Outcome]) -> list[Path]:
    rows = []
    files = [folder / "index.md"]
    for doc in documents():
        made = [outcome for outcome in outcomes if outcome.document.name == doc.name]
        for outcome in made:
            for name, data in outcome.pictures.items():
                _write(folder / name, data)
        tables = sum(item.number.startswith("T") for item in doc.items)
        reproduced = sum(doc.entry_for(item.number) is not None for item in doc.items)
        rows.append(
            f"| [{doc.name}]({doc.name}.md) | {doc.about} | {len(doc.items) - tables} | {tables} | {reproduced} | "
            f"{len(doc.misprints)} |"
        )
        files.append(folder / f"{doc.name}.md")
        _write(files[-1], document_page(doc, made).encode("utf-8"))
    said = f"{summary(outcomes)}\n\n" if outcomes else ""
    head = "| document | what it is | figures | tables | reproduced | misprints |\n|---|---|---|---|---|---|\n"
    text = f"# Gallery\n\n{said}{head}" + "\n".join(rows) + "\n"
    _write(files[0], text.encode("utf-8"))
    return files


def document_page(doc: Document, made: Sequence[Outcome]) -> str:
    """Return the page of a document: entries, inventory, misprints."""
    by_name = {outcome.entry.name: outcome for outcome in made}
    parts = [f"# Document {doc.name}", f"{doc.about[0].upper()}{doc.about[1:]}."]
    for entry in doc.entries:
        titles = ", ".join(doc.item(number).title for number in entry.shows)
        parts.append(f"## {titles}: {entry.title}")
        outcome = by_name.get(entry.name)
        if outcome is not None:
            parts.append(f"**{outcome.sentence}** ({outcome.seconds:.1f} s of CPU time)")
            parts += [f"![{titles}]({name})" for name in outcome.pictures]
        parts.append(f"```sh\n{entry.command}\n```")
        sentences = [f"Ours falls short: {entry.short}."] if entry.short else []
        sentences += [f"Assumed: {words}." for words in entry.assumed] + list(outcome.notes if outcome else ())
        for misprint in (doc.misprints[key] for key in entry.misprints):
            sentences.append(f"Misprint, {misprint.place}: {misprint.printed}; correct: {misprint.correct} ({misprint.known}).")
        parts.append("\n".join(f"* {_plain(sentence)}" for sentence in sentences))
        if outcome is not None and outcome.rows:
            rows = [
                f"| {_plain(row.what)} | {' | '.join(map(_plain, row.words))} | {row.unit} | {row.printed} | "
                f"{'yes' if row.good else 'NO'} |"
                for row in outcome.rows
            ]
            parts.append(
                "| what | found | wanted | tolerance | unit | printed | agrees |\n|---|---|---|---|---|---|---|\n"
                + "\n".join(rows)
            )
    rows = [
        f"| {item.title} | {_plain(item.caption)} | {item.status} | "
        f"{_plain(state_of(doc, item, _made(doc, item.number, by_name)))} |"
        for item in sorted_items(doc)
    ]
    parts.append("## All figures and tables\n\n| | what it shows | kind | here |\n|---|---|---|---|\n" + "\n".join(rows))
    rows = [f"| {m.place} | {_plain(m.printed)} | {_plain(m.correct)} | {_plain(m.known)} |" for m in doc.misprints.values()]
    parts.append("## Misprints\n\n| where | printed | correct | known from |\n|---|---|---|---|\n" + "\n".join(rows))
    return "\n\n".join(part for part in parts if part) + "\n"


def _made(doc: Document, number: str, by_name: dict[str, Outcome]) -> bool:
    entry = doc.entry_for(number)
    return entry is not None and entry.name in by_name


def _models(folder: Path, plugins: PluginSet, reports: bool) -> list[Path]:
    files, pages = [folder / "index.md"], []
    for name in built_in(plugins):
        page, opened = describe(name, plugins)
        if opened.mechanism.bodies:
            page = replace(page, picture=f"{name}.svg")
            _write(folder / page.picture, start_picture(opened.mechanism, plugins).encode("utf-8"))
        if reports and not why_no_report(opened, long=False) and not write_live_report(opened, folder / f"{name}-report.html"):
            page = replace(page, report=f"{name}-report.html")
        files.append(folder / f"{name}.md")
        _write(files[-1], model_page(page).encode("utf-8"))
        pages.append(page)
    _write(files[0], models_page(pages).encode("utf-8"))
    return files


def models_page(pages: Sequence[ModelPage]) -> str:
    """Return the page of all models."""
    rows = [f"| [{page.name}]({page.name}.md) | {_plain(page.summary)} |" for page in pages]
    return "# Models\n\n| model | what it is |\n|---|---|\n" + "\n".join(rows) + "\n"


def model_page(page: ModelPage, live: str = "") -> str:
    """Return the page of a model; its picture and its report are names of files beside it, ``live`` stands below commands."""
    parts = [f"# {page.name}", _plain(page.summary)]
    if page.picture:
        parts.append(f"![{page.name} at the start]({page.picture})")
    parts += [_plain(text) for text in page.about]
    long = max(len(command) for command, _ in page.commands)
    parts.append("```sh\n" + "\n".join(f"{command:{long}}  # {purpose}" for command, purpose in page.commands) + "\n```")
    if live:
        parts.append(live)
    elif page.report:
        parts.append(f"[Live report: animation, loads, curves]({page.report})")
    for heading, rows in page.tables.items():
        titles, *others = table_of(heading, rows)
        lines = [titles, ["---"] * len(titles), *([_plain(cell) for cell in row] for row in others)]
        parts.append(f"## {heading}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines))
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """Return a text that a table of Markdown leaves as it is."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").replace("\n", " ")


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda beside: _fill(beside, data))


def _fill(path: Path, data: bytes) -> None:
    path.write_bytes(data)
