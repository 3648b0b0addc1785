"""The gallery as one HTML file, with all pictures inside, in the colours of a report."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from kingpost.gallery.entry import Document, Item
from kingpost.gallery.running import Outcome

FOLDER = Path(__file__).parent
#: Light or dark as the reader's system has it, until somebody presses the button.
SCRIPT = """
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const show = (name) => { root.dataset.theme = name; };
show(dark.matches ? "dark" : "light");
dark.addEventListener("change", () => show(dark.matches ? "dark" : "light"));
document.querySelector("button.theme").addEventListener("click", () => show(root.dataset.theme === "dark" ? "light" : "dark"));
"""


def style() -> str:
    """Return the colours of a report and what is the gallery's own."""
    report = FOLDER.parent / "report" / "page.css"
    return report.read_text(encoding="utf-8") + (FOLDER / "gallery.css").read_text(encoding="utf-8")


def whole_page(title: str, body: str) -> str:
    """Return an HTML page that asks for nothing from outside."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style()}</style></head><body><main>"
        f'<button class="theme" type="button">light / dark</button>{body}</main><script>{SCRIPT}</script></body></html>\n'
    )


def gallery_page(of: Sequence[Document], outcomes: Sequence[Outcome], note: str = "") -> str:
    """Return the page of documents with what was run of them."""
    parts = ["<h1>Gallery</h1>", f'<p class="muted">{escape(summary(outcomes))}{" " + escape(note) if note else ""}</p>']
    if len(of) > 1:
        parts.append("<nav>" + "".join(f'<a href="#d{doc.name}">document {doc.name}</a>' for doc in of) + "</nav>")
    for doc in of:
        made = {outcome.entry.name: outcome for outcome in outcomes if outcome.document.name == doc.name}
        parts.append(f'<h2 id="d{doc.name}">Document {doc.name}: {escape(doc.about)}</h2>')
        parts += [card(outcome) for outcome in made.values()]
        parts.append(_inventory(doc, made))
        parts.append(_misprints(doc))
    return whole_page("Gallery", "\n".join(parts))


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return how many figures and tables agree."""
    items = sum(len(outcome.entry.shows) for outcome in outcomes)
    good = sum(len(outcome.entry.shows) for outcome in outcomes if outcome.good)
    rows = [row for outcome in outcomes for row in outcome.rows]
    printed = [row for row in rows if row.printed]
    seconds = sum(outcome.seconds for outcome in outcomes)
    return (
        f"{items} figures and tables by {len(outcomes)} runs, {good} of them agree; "
        f"{sum(row.good for row in printed)} of {len(printed)} numbers and statements that survive in print, "
        f"{sum(row.good for row in rows if not row.printed)} of {len(rows) - len(printed)} computed independently; "
        f"{seconds:.0f} s of CPU time."
    )


def card(outcome: Outcome) -> str:
    """Return an entry: pictures, command, verdict and numbers."""
    entry, doc = outcome.entry, outcome.document
    titles = ", ".join(doc.item(number).title for number in entry.shows)
    tone = "good" if outcome.good else "bad"
    parts = [f'<section class="card" id="{doc.name}-{escape(entry.name)}"><h3>{escape(titles)}: {escape(entry.title)}</h3>']
    parts.append(f'<p class="verdict {tone}">{escape(outcome.sentence)}</p>')
    for name, data in outcome.pictures.items():
        parts.append(f'<img alt="{escape(name)}" src="data:image/png;base64,{base64.b64encode(data).decode()}">')
    parts.append(f"<code>{escape(entry.command)}</code>")
    sentences = [f"Ours falls short: {entry.short}."] if entry.short else []
    sentences += [f"Assumed: {words}." for words in entry.assumed] + list(outcome.notes)
    sentences += [
        f"Misprint, {m.place}: {m.printed}; correct: {m.correct} ({m.known})."
        for m in (doc.misprints[key] for key in entry.misprints)
    ]
    if sentences:
        parts.append("<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>")
    if outcome.rows:
        names = ("what", "found", "wanted", "tolerance", "unit", "printed", "why so close", "")
        head = "<tr>" + "".join(f"<th>{name}</th>" for name in names) + "</tr>"
        body = "".join(
            f"<tr><td>{escape(row.what)}</td>"
            + "".join(f'<td class="number">{escape(text)}</td>' for text in row.words)
            + f"<td>{escape(row.unit)}</td><td>{escape(row.printed)}</td><td class='muted'>{escape(row.reason)}</td>"
            + f'<td class="{"good" if row.good else "bad"}">{"agrees" if row.good else "differs"}</td></tr>'
            for row in outcome.rows
        )
        opened = "" if outcome.good else " open"
        parts.append(
            f"<details{opened}><summary>{len(outcome.rows)} numbers</summary>"
            f'<div class="wide"><table>{head}{body}</table></div></details>'
        )
    parts.append(
        f'<p class="muted">{outcome.seconds:.1f} s of CPU time; models {escape(", ".join(entry.models))}</p></section>'
    )
    return "\n".join(parts)


def state_of(doc: Document, item: Item, made: bool) -> str:
    """Say in a few words what the gallery has of an item."""
    entry = doc.entry_for(item.number)
    if entry is None:
        return item.reason
    if made:
        return "reproduced"
    return "takes long; not run without --all" if entry.long else "not run"


def sorted_items(doc: Document) -> list[Item]:
    """Return figures, then tables, by their numbers."""

    def key(item: Item) -> tuple[bool, list[int]]:
        digits = item.number.removeprefix("T")
        return item.number.startswith("T"), [int(part) if part.isdigit() else 0 for part in digits.split(".")]

    return sorted(doc.items, key=key)


def _inventory(doc: Document, made: dict[str, Outcome]) -> str:
    rows = []
    for item in sorted_items(doc):
        entry = doc.entry_for(item.number)
        done = entry is not None and entry.name in made
        title = f'<a href="#{doc.name}-{escape(entry.name)}">{item.title}</a>' if done and entry is not None else item.title
        rows.append(
            f"<tr><td>{title}</td><td>{escape(item.caption)}</td><td>{item.status}</td>"
            f"<td>{escape(state_of(doc, item, done))}</td></tr>"
        )
    return (
        f"<details><summary>All {len(doc.items)} figures and tables of document {doc.name}</summary><table>"
        "<tr><th></th><th>what it shows</th><th>kind</th><th>here</th></tr>" + "".join(rows) + "</table></details>"
    )


def _misprints(doc: Document) -> str:
    rows = "".join(
        f"<tr><td>{escape(m.place)}</td><td>{escape(m.printed)}</td><td>{escape(m.correct)}</td><td>{escape(m.known)}</td></tr>"
        for m in doc.misprints.values()
    )
    return (
        f"<details><summary>{len(doc.misprints)} misprints and statements that do not hold</summary><table>"
        f"<tr><th>where</th><th>printed</th><th>correct</th><th>known from</th></tr>{rows}</table></details>"
    )
