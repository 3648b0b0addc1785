"""``kingpost gallery``."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import KingpostError, closest
from kingpost.base.files import write_together
from kingpost.cli.command import Command
from kingpost.cli.output import ProgressBar, print_json, print_table, print_text

if TYPE_CHECKING:
    from kingpost.base.transactions import Fill
    from kingpost.gallery.entry import Document, Entry
    from kingpost.registry.pluginset import PluginSet

EVERY, MODELS = "all", "models"


class Gallery(Command):
    """Make the figures and tables of the documents again, with numbers beside those that survive in print.

    Without a document: list what there is. With one: run its entries and write pictures, all numbers (gallery.json) and a page
    (index.html); the exit status is 1 if something differs. 'all' takes every document, 'models' writes a page with a picture
    for every model. Pictures need the 'viz' extra.
    """

    name = "gallery"
    example = "kingpost gallery 004 --out gallery"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("document", nargs="?", metavar="DOCUMENT", help="000 to 004, 'all', or 'models' (default: list)")
        parser.add_argument(
            "--only",
            action="append",
            default=[],
            metavar="NUMBER",
            help="only what shows this, e.g. 6.9 or 'table 3.1'; repeatable",
        )
        parser.add_argument("--all", action="store_true", help="also run what takes more than half a minute of CPU time")
        parser.add_argument("--list", action="store_true", help="list all figures and tables of the document, and run nothing")
        parser.add_argument("--out", type=Path, metavar="DIR", help="folder for pictures and page (default: gallery/DOCUMENT)")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.gallery.catalogue import NAMES, documents

        wanted = arguments.document
        if wanted is None:
            _list_documents(documents(), arguments.json)
            return 0
        if wanted == MODELS:
            return _models(arguments, plugins)
        if wanted != EVERY and wanted not in NAMES:
            known = (*NAMES, EVERY, MODELS)
            raise KingpostError(f"there is no document '{wanted}'{closest(wanted, known)} Documents: {', '.join(known)}.")
        chosen = documents(NAMES if wanted == EVERY else [wanted])
        if arguments.list:
            _list_items(chosen, arguments.json)
            return 0
        return _reproduce(chosen, arguments)


def _list_documents(of: list[Document], as_json: bool) -> None:
    rows = []
    for doc in of:
        tables = [item for item in doc.items if item.number.startswith("T")]
        made = [item for item in doc.items if doc.entry_for(item.number)]
        row = {"document": doc.name, "about": doc.about, "figures": len(doc.items) - len(tables), "tables": len(tables)}
        rows.append({**row, "reproduced": len(made), "entries": len(doc.entries), "misprints": len(doc.misprints)})
    if as_json:
        print_json(rows)
        return
    table = [[str(row[key]) for key in ("document", "figures", "tables", "reproduced", "misprints", "about")] for row in rows]
    print_table(table, ("DOCUMENT", "FIGURES", "TABLES", "REPRODUCED", "MISPRINTS", "WHAT IT IS"))
    print()
    print_text(
        "kingpost gallery 004 --out DIR makes the figures of one; --list shows all that it has; 'models' are pages of models."
    )


def _list_items(of: list[Document], as_json: bool) -> None:
    from kingpost.gallery.page import sorted_items

    rows: list[dict[str, Any]] = []
    for doc in of:
        for item in sorted_items(doc):
            entry = doc.entry_for(item.number)
            here = item.reason if entry is None else f"by entry {entry.name}{', takes long' if entry.long else ''}"
            rows.append({"document": doc.name, "item": item.title, "kind": item.status, "here": here, "caption": item.caption})
    if as_json:
        print_json(rows)
    else:
        print_table([list(map(str, row.values())) for row in rows], ("DOCUMENT", "ITEM", "KIND", "HERE", "WHAT IT SHOWS"))


def _reproduce(of: list[Document], arguments: argparse.Namespace) -> int:
    from kingpost.base.files import json_file
    from kingpost.gallery.catalogue import entries
    from kingpost.gallery.page import gallery_page, summary
    from kingpost.gallery.running import Outcome, run_entries
    from kingpost.results.figures import check_installed

    check_installed()
    chosen = entries(of, arguments.only, arguments.all)
    out: Path = arguments.out or Path("gallery") / arguments.document
    left = [] if arguments.only or arguments.all else [_named(doc, entry) for doc in of for entry in doc.entries if entry.long]
    bar = ProgressBar("gallery")

    def done(count: int, outcome: Outcome) -> None:
        bar.close()
        if not arguments.json:
            title = _named(outcome.document, outcome.entry)
            print(f"{title}: {outcome.sentence} ({outcome.seconds:.1f} s)", flush=True)
        bar(count / len(chosen))

    bar(0.0)
    outcomes, interrupt = run_entries(chosen, done)
    bar.close()
    note = ""
    if interrupt is not None:
        note = f"Interrupted: {len(chosen) - len(outcomes)} of {len(chosen)} entries were not run."
    if outcomes:
        record = [outcome.to_dict() for outcome in outcomes]
        page = gallery_page(of, outcomes, note).encode("utf-8")
        files: dict[str, Fill] = {"index.html": lambda path: _bytes(path, page), "gallery.json": json_file(record)}
        for outcome in outcomes:
            files |= {name: partial(_bytes, data=data) for name, data in outcome.pictures.items()}
        write_together(out, files)
    if interrupt is not None:
        kept = f"; what was made is in {out}" if outcomes else ""
        raise KeyboardInterrupt(f"interrupted: {len(chosen) - len(outcomes)} of {len(chosen)} entries were not run{kept}")
    if arguments.json:
        print_json(record)
    else:
        print()
        print_text(summary(outcomes))
        if left:
            print_text(f"Left out, since they take long: {'; '.join(left)}. --all runs them, --only NUMBER one of them.")
        print_table([("page", str(out / "index.html"))])
    return 0 if all(outcome.good for outcome in outcomes) else 1


def _named(doc: Document, entry: Entry) -> str:
    """Return document, figures and tables of an entry, as a reader calls them."""
    return f"{doc.name} {', '.join(doc.item(number).title for number in entry.shows)}"


def _bytes(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _models(arguments: argparse.Namespace, plugins: PluginSet) -> int:
    from kingpost.gallery.models import built_in, write_model_pages

    names = built_in(plugins)
    for name in arguments.only:
        if name not in names:
            raise KingpostError(f"there is no model '{name}' of this package{closest(name, names)}")
    if arguments.list:
        if arguments.json:
            print_json(names)
        else:
            print("\n".join(names))
        return 0
    chosen = arguments.only or names
    out: Path = arguments.out or Path("gallery") / MODELS
    bar = ProgressBar("models")
    try:
        written = write_model_pages(out, chosen, plugins, reports=True, long=arguments.all, progress=bar)
    finally:
        bar.close()
    rows = [
        {"model": page.name, "page": str(out / f"{page.name}.html"), "report": page.report or page.no_report}
        for page in written
    ]
    if arguments.json:
        print_json(rows)
    else:
        print_table([list(row.values()) for row in rows], ("MODEL", "PAGE", "REPORT"))
        print_table([("page", str(out / "index.html"))])
    return 0
