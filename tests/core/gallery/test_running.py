"""Verdicts, pages and the verb, with entries that are made up."""

import json
from dataclasses import replace

import numpy as np
import pytest

from kingpost import KingpostError, PluginSet, open_model
from kingpost.cli.main import main
from kingpost.gallery import catalogue
from kingpost.gallery.entry import (
    AGREES,
    DIFFERS,
    FAILED,
    INDEPENDENT,
    PARTLY,
    REPAIRED,
    RESULT,
    Document,
    Entry,
    Misprint,
    Panel,
    Sheet,
    figures,
)
from kingpost.gallery.models import describe
from kingpost.gallery.page import gallery_page
from kingpost.gallery.projection import faces_of, start_of, start_picture
from kingpost.gallery.running import run_entries, run_entry

PLUGINS = PluginSet(entry_points=False)


def good(sheet: Sheet) -> None:
    sheet.because("to rounding")
    sheet.row("one", 1.0, 1.0, 1e-12, "m")
    sheet.draw("a line", [Panel("y", [("", [0, 1], [0, 1])])], 1)


def printed(sheet: Sheet) -> None:
    good(sheet)
    sheet.row("two", 2.0, 2.0, 0.0, printed="Fig. 1")


def bad(sheet: Sheet) -> None:
    good(sheet)
    sheet.row("three", 3.0, 3.5, 0.1)


def refused(sheet: Sheet) -> None:
    good(sheet)
    raise KingpostError("the machine cannot do this")


def interrupted(sheet: Sheet) -> None:
    raise KeyboardInterrupt


def document(make, **changes):
    entry = replace(Entry(("1",), "made up", ("double-pendulum",), "kingpost run double-pendulum", make), **changes)
    slip = Misprint("eq. (1)", "a <plus>", "a minus", "counting")
    return Document("009", "made up", figures(RESULT, "", [("1", "a line")]), {"(1)": slip}, (entry,))


def outcome_of(make, **changes):
    doc = document(make, **changes)
    return run_entry(doc, doc.entries[0])


@pytest.mark.parametrize(
    ("make", "changes", "verdict"),
    [
        (good, {}, INDEPENDENT),
        (printed, {}, AGREES),
        (printed, {"misprints": ("(1)",)}, REPAIRED),
        (bad, {}, DIFFERS),
        (printed, {"short": "half of it"}, PARTLY),
        (refused, {}, FAILED),
        (lambda sheet: None, {}, DIFFERS),
    ],
)
def test_verdicts_follow_from_the_rows(make, changes, verdict):
    outcome = outcome_of(make, **changes)
    assert outcome.verdict == verdict
    assert outcome.good == (verdict not in (DIFFERS, FAILED))


def test_sentences_count_what_they_rest_on():
    assert outcome_of(printed).sentence == f"{AGREES}: 1 of 1 that survive in print, 1 of 1 computed independently"
    assert "not so: three" in outcome_of(bad).sentence
    assert "the machine cannot do this" in outcome_of(refused).sentence


def test_an_axis_must_hold_the_curves_and_be_filled_by_them():
    sheet = Sheet()
    for top in (0.4, 0.9, 1.4, 2.1):
        sheet.axis(Panel("y", [("", [0, 1], [0.0, top])], ticks=(0, 0.5, 1)), "Fig. 1")
    assert [row.good for row in sheet.rows] == [False, True, True, False]


def test_a_page_holds_pictures_and_text_without_markup_of_theirs():
    outcome = outcome_of(printed, misprints=("(1)",))
    page = gallery_page([outcome.document], [outcome])
    assert "data:image/png;base64," in page
    assert "a &lt;plus&gt;" in page and "<plus>" not in page
    assert 'src="http' not in page and 'href="http' not in page


def broken(sheet: Sheet) -> None:
    raise RuntimeError("a slip that nobody foresaw")


def test_an_entry_that_breaks_leaves_the_others_as_they_are():
    first, second, third = document(good), document(broken), document(printed)
    outcomes, interrupt = run_entries([(doc, doc.entries[0]) for doc in (first, second, third)])
    assert interrupt is None
    assert [outcome.verdict for outcome in outcomes] == [INDEPENDENT, FAILED, AGREES]
    assert "RuntimeError: a slip that nobody foresaw" in outcomes[1].sentence


def test_what_was_made_before_an_interrupt_is_kept():
    first, second = document(good), document(interrupted)
    outcomes, interrupt = run_entries([(first, first.entries[0]), (second, second.entries[0])])
    assert len(outcomes) == 1 and isinstance(interrupt, KeyboardInterrupt)


@pytest.fixture
def made_up(monkeypatch):
    def use(make):
        monkeypatch.setattr(catalogue, "document", lambda name: document(make))

    return use


def test_the_verb_writes_pictures_numbers_and_a_page(made_up, tmp_path, capsys):
    made_up(printed)
    assert main(["gallery", "003", "--out", str(tmp_path / "g")]) == 0
    assert sorted(path.name for path in (tmp_path / "g").iterdir()) == ["009-1.png", "gallery.json", "index.html"]
    (record,) = json.loads((tmp_path / "g" / "gallery.json").read_text())
    assert record["verdict"] == AGREES and len(record["rows"]) == 2
    assert "1 figures and tables by 1 runs, 1 of them agree" in capsys.readouterr().out


def test_the_verb_names_what_it_left_out(monkeypatch, tmp_path, capsys):
    one = document(printed)
    slow = replace(one.entries[0], shows=("2",), long=True)
    both = replace(one, items=(*one.items, *figures(RESULT, "", [("2", "another line")])), entries=(*one.entries, slow))
    monkeypatch.setattr(catalogue, "document", lambda name: both)
    assert main(["gallery", "003", "--out", str(tmp_path / "g")]) == 0
    assert "Left out, since they take long: 009 Fig. 2. --all runs them" in capsys.readouterr().out


def test_the_verb_says_by_its_status_that_something_differs(made_up, tmp_path, capsys):
    made_up(bad)
    assert main(["gallery", "003", "--out", str(tmp_path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["verdict"] == DIFFERS


def test_an_interrupted_verb_keeps_nothing_half(made_up, tmp_path, capsys):
    made_up(interrupted)
    assert main(["gallery", "003", "--out", str(tmp_path / "g")]) == 130
    assert not (tmp_path / "g").exists()
    assert "1 of 1 entries were not run" in capsys.readouterr().err


def test_lists_and_wrong_words(capsys):
    assert main(["gallery", "--json"]) == 0
    rows = {row["document"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["000"]["figures"], rows["000"]["tables"]) == (74, 5)
    assert main(["gallery", "004", "--list"]) == 0
    assert "Table I" in capsys.readouterr().out
    assert main(["gallery", "modles"]) != 0
    assert "did you mean 'models'?" in capsys.readouterr().err
    assert main(["gallery", "models", "--only", "overhead-cran"]) != 0
    assert "did you mean 'overhead-crane'?" in capsys.readouterr().err


def test_bodies_stand_where_a_run_starts():
    machine = open_model("double-pendulum", PLUGINS)
    geometry, poses = start_of(machine.mechanism, PLUGINS)
    history = machine.simulate(t_end=0.01, loads=("all",), backend="vm")
    for body in geometry.masses:
        there = [history[f"{body}.pose.p{axis}"][0] for axis in "xyz"]
        np.testing.assert_allclose(poses.positions[body][0], there, atol=1e-12)


@pytest.mark.parametrize(
    "shape",
    [
        {"kind": "box", "at": [1, 2, 3], "size": [1, 2, 4]},
        {"kind": "bar", "from": [1, 2, 1], "to": [1, 2, 5], "radii": [0.5, 0.5], "round": True},
        {"kind": "drum", "at": [1, 2, 3], "axis": [0, 0, 1], "radius": 0.5, "length": 4.0},
        {"kind": "ball", "at": [1, 2, 3], "radius": 2.0},
        {"kind": "hull", "at": [1, 2, 3], "size": [1, 2, 4], "bow": True},
    ],
)
def test_faces_of_shapes_lie_about_their_middle_and_have_their_height(shape):
    points = np.concatenate(list(faces_of(shape)))
    assert (points[:, 2].min(), points[:, 2].max()) == pytest.approx((1.0, 5.0))
    low, high = points.min(axis=0), points.max(axis=0)
    assert (low + high)[1:] / 2 == pytest.approx([2.0, 3.0])


def test_a_page_of_a_model_has_its_parameters_with_units_and_its_picture():
    page, opened = describe("overhead-crane", PLUGINS)
    assert ("trolley_mass", "10 kg") in [row[:2] for row in page.tables["Parameters"]]
    assert {"Inputs", "Outputs", "Servo tasks", "Optimal tasks", "How it is run"} <= set(page.tables)
    picture = start_picture(opened.mechanism, PLUGINS)
    assert picture.startswith("<svg") and picture.count("<polygon") > 20


@pytest.mark.slow
def test_every_model_has_a_page_and_every_machine_a_picture(tmp_path):
    from kingpost.gallery.pages import write_pages

    files = write_pages(tmp_path, run=False)
    assert (tmp_path / "models" / "vessel-crane.md") in files
    for path in files:
        assert path.read_text(encoding="utf-8").startswith("# ")
    for name in ("offshore-crane", "us-navy-crane-3d", "five-bar"):
        assert start_picture(open_model(name, PLUGINS).mechanism, PLUGINS).startswith("<svg")
