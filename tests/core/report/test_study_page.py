"""The page of a study: one file, text as data, and in a browser silent, sorted, keyed."""

import json
import re

import pytest

from kingpost.report.study_page import SCRIPTS, study_content, study_file
from kingpost.studies.folder import write_results
from kingpost.studies.running import UNITS, begin, carry_out, check_steps, summary_of
from kingpost.studies.store import Store
from tests.core.report.browsers import in_a_browser
from tests.core.studies.synthetic import LOADS, TEXT, synthetic_plan, synthetic_runs

EVIL = "</script><img src=x onerror=alert(1)>"


def fails(case):
    return f"{EVIL} exploded at t = 12.3 s" if case.labels["seed"] == 5 and case.labels["Hs"] == 3 else ""


def leaves(case):
    return f"{EVIL} tilts by up to 42 deg" if case.labels["seed"] == 2 and case.labels["Hs"] == 3 else ""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    plan = synthetic_plan(folder / "in", TEXT.replace("deck lifts", "deck <lifts>").replace("seeds = 12", "seeds = 6"))
    with Store(folder) as store:
        begin(plan, store)
        store.note(UNITS, {**{name: "N.m" if ".M" in name else "N" for name in LOADS}, "tip.z": "m"})
        carry_out(plan, store, synthetic_runs(fails, leaves))
        check_steps(plan, store, synthetic_runs())
        return write_results(folder, plan, summary_of(plan, store), {"on": "here"}, study_file)


def test_the_page_is_one_file_that_asks_for_nothing(written):
    page = next(path for path in written.files if path.name == "study.html").read_text()
    assert not re.findall(r"(?:src|href)=\"(?!data:,)[^\"#{]", page)
    assert page.count("</script>") == 2
    assert "deck &lt;lifts&gt;" in page
    assert "default-src &#x27;none&#x27;" in page
    assert all(f"// --- {name} ---" in page for name in SCRIPTS)


def test_its_facts_are_those_of_the_record(written):
    record = json.loads(next(path for path in written.files if path.name == "study.json").read_text())
    facts = dict(study_content(record, {"columns": [], "rows": [], "cells": [], "note": ""})["facts"])
    assert facts["Runs"] == "88 of 96 done, 4 failed, 4 outside linear theory, 600 s each"
    assert facts["Not counted"] == "4 % of the time, in which runs left linear theory"
    assert facts["Left out"] == "the first 60 s of every run, from all numbers"
    assert facts["Workable"].startswith(f"{record['operability']['percent_of_year']:.4g} % of the year")
    assert facts["Shortest life"].endswith("at ring")


def shown(browser, written, **how):
    from tests.core.report.chromium import Page

    page = Page(browser, **how)
    page.open(next(path for path in written.files if path.name == "study.html"))
    return page


def silent(page):
    page.settle()
    assert page.messages == []
    assert len(page.requests) == 1
    page.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
@in_a_browser[0]
@in_a_browser[1]
def test_it_opens_in_silence_and_nothing_sticks_out(browser, written, width, scheme):
    page = shown(browser, written, width=width, scheme=scheme)
    page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.settle()
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("document.documentElement.dataset.theme") == scheme
    names = page.run("[...document.querySelectorAll('canvas, button, select')].filter(e => "
                     "!(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label'))).length")  # fmt: skip
    assert names == 0
    titles = page.run("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    for title in (
        "Sea states",
        "Fatigue",
        "Extreme loads",
        "Worst runs",
        "Step check",
        "Failed runs (4)",
        "Outside linear theory (4)",
        "Record",
    ):
        assert title in titles
    silent(page)


@in_a_browser[0]
@in_a_browser[1]
def test_a_sea_state_shows_its_runs_and_arrows_go_on(browser, written):
    page = shown(browser, written)
    heading = "document.querySelector('#runs h3').textContent"
    rows = "document.querySelectorAll('#runs .runs tbody tr').length"
    assert (page.run(heading), page.run(rows)) == ("All 96 runs", 96)
    page.run("document.querySelector('.map button').click()")
    assert page.run(heading) == "Runs in Hs 3 m, Tp 8 s: 24"
    assert page.run(rows) == 24
    page.run("document.querySelector('.map button').focus()")
    page.run("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}))")
    assert page.run("document.activeElement.getAttribute('aria-label')").startswith("Hs 2 m, Tp 8 s: within limits")
    page.run("document.activeElement.click()")
    assert page.run(heading) == "Runs in Hs 2 m, Tp 8 s: 24"
    # Sorted by a column of numbers, the largest first.
    column = "[...document.querySelectorAll('#runs .runs tbody tr')].map(r => r.children[8].textContent)"
    page.run("document.querySelectorAll('#runs .runs thead button')[8].click()")
    values = [float(text.replace("\u2212", "-")) for text in page.run(column)]
    assert values == sorted(values, reverse=True)
    silent(page)


@in_a_browser[0]
@in_a_browser[1]
def test_the_map_and_the_extremes_can_be_chosen(browser, written):
    page = shown(browser, written)
    choose = (
        "(() => {{ const e = document.querySelector({0!r}); e.selectedIndex = {1}; e.dispatchEvent(new Event('change')); }})()"
    )
    shares = "[...document.querySelectorAll('.map button')].map(b => parseFloat(b.textContent))"
    page.run(choose.format("#runs select", 1))
    assert sum(page.run(shares)) == pytest.approx(100, abs=1.5)  # shares of damage, rounded
    assert page.run("document.querySelectorAll('#extremes select option').length") == 14
    page.run(choose.format("#extremes select", 1))
    assert page.run("document.querySelector('#extremes h4').textContent").startswith("Smallest slew.Mx")
    assert "exploded" in page.run("document.querySelector('#failed').textContent")
    silent(page)
