"""The inventory of the gallery: nothing is missing, nothing is there twice, and every command can be typed."""

import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from kingpost import KingpostError, PluginSet
from kingpost.cli.main import make_parser
from kingpost.gallery.catalogue import NAMES, documents, entries, number_of
from kingpost.gallery.entry import DATA, RESULT, STATUSES
from kingpost.gallery.page import sorted_items
from kingpost.modelfiles.opened import open_model
from tests.core.gallery.captions import CAPTIONS

PLUGINS = PluginSet(entry_points=False)
DOCUMENTS = {doc.name: doc for doc in documents()}


@pytest.mark.parametrize("name", NAMES)
def test_every_caption_is_in_the_inventory_once(name):
    assert sorted(item.number for item in DOCUMENTS[name].items) == sorted(CAPTIONS[name])


@pytest.mark.parametrize("name", NAMES)
def test_items_and_entries_fit_together(name):
    doc = DOCUMENTS[name]
    shown = Counter(number for entry in doc.entries for number in entry.shows)
    assert set(shown.values()) == {1}
    for item in doc.items:
        assert item.status in STATUSES
        # What is a result or data has an entry; what has none says why.
        assert (item.number in shown) == (item.status in (RESULT, DATA)), item
        assert bool(item.reason) == (item.number not in shown), item
        assert item.caption and not item.caption.endswith(".")
        if item.model:
            PLUGINS.models.get(item.model.split(":")[0])
    for entry in doc.entries:
        assert set(entry.misprints) <= set(doc.misprints), entry.name


@pytest.mark.parametrize("name", NAMES)
def test_commands_can_be_typed_and_tasks_are_there(name):
    parser = make_parser(PLUGINS)
    for entry in DOCUMENTS[name].entries:
        program, *words = shlex.split(entry.command)
        assert program == "kingpost"
        typed = parser.parse_args(words)
        opened = open_model(typed.model, PLUGINS)
        if getattr(typed, "task", None):
            assert typed.task in (*opened.tasks, *opened.optimal_tasks), entry.command
        assert all(open_model(model, PLUGINS).mechanism for model in entry.models)


def test_the_page_of_the_gallery_names_every_figure_and_table():
    text = (Path(__file__).parents[3] / "docs" / "gallery.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| 00")]
    found = {(row[0], title): row for row in rows for cell in row[1:3] for title in cell.split(", ")}
    for doc in DOCUMENTS.values():
        for item in doc.items:
            entry = doc.entry_for(item.number)
            row = found[doc.name, item.title]
            said = f"{entry.title}{', takes long' if entry.long else ''}" if entry else item.reason
            assert said in row, item
    items = sum(len(doc.items) for doc in DOCUMENTS.values())
    runs = [entry for doc in DOCUMENTS.values() for entry in doc.entries]
    shown = sum(len(entry.shows) for entry in runs)
    sentence = f"have {items} figures and tables; {len(runs)} entries show {shown} of them, and {items - shown} are named"
    assert sentence in text


def test_items_are_sorted_by_their_numbers():
    titles = [item.title for item in sorted_items(DOCUMENTS["000"])]
    assert titles[:2] == ["Fig. 2.1", "Fig. 2.2"]
    assert titles.index("Fig. 2.9") + 1 == titles.index("Fig. 2.10")
    assert titles[-1] == "Table 4.1"


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("6.9", "6.9"),
        ("Fig. 6.9", "6.9"),
        ("figure 6.9", "6.9"),
        ("table 3.1", "T3.1"),
        ("T3.1", "T3.1"),
        ("Table I", "TI"),
        ("nonsense", "nonsense"),
    ],
)
def test_what_readers_call_figures_and_tables(words, number):
    assert number_of(words) == number


def test_entries_are_found_by_the_figures_they_show():
    found = entries([DOCUMENTS["000"]], ["6.9", "Fig. 6.10", "table 3.1"])
    assert [entry.name for _, entry in found] == ["6.7", "T3.1"]
    # A long entry is run if it is named, and left out otherwise.
    one = DOCUMENTS["004"]
    slow = replace(one, entries=(replace(one.entries[0], long=True), *one.entries[1:]))
    assert [entry.name for _, entry in entries([slow])] == [entry.name for entry in one.entries[1:]]
    assert len(entries([slow], long=True)) == len(one.entries)
    number = one.entries[0].shows[0]
    assert [entry.shows for _, entry in entries([slow], [f"table {number[1:]}" if number[0] == "T" else number])] == [
        one.entries[0].shows
    ]


def test_wrong_names_are_answered_with_the_nearest():
    with pytest.raises(KingpostError, match=r"'6.91' is no figure or table of document 000; did you mean '6.9'\?"):
        entries([DOCUMENTS["000"]], ["6.91"])
    with pytest.raises(KingpostError, match="Fig. 6.1 of document 000 is not reproduced: a machine, drawn"):
        entries([DOCUMENTS["000"]], ["6.1"])
    with pytest.raises(KingpostError, match="there is no document '03'; did you mean '003'"):
        documents(["03"])
